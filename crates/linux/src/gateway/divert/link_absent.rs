//! In place of `link` where this was built without the feature `bpf`: there are no programs.

#![allow(missing_docs, reason = "as in `link`")]

use super::Wanted;
use super::error::DivertError;
use super::method::Method;
use crate::gateway::config::Config;
use crate::gateway::estate::Estate;
use airtcp_core::{Instant, OwnSegments};
use std::io;
use std::net::IpAddr;
use std::os::fd::BorrowedFd;

const MISSING: &str = "this airtcp was built without the feature 'bpf'";

/// Never made here.
pub struct LinkDiversion(std::convert::Infallible);

/// As in `link`.
pub const MARK: u32 = 0x4154_4350;

/// Addresses of a frame.
#[derive(Clone, Copy, Debug)]
pub struct Header {
    pub near: [u8; 6],
    pub far: [u8; 6],
}

/// Never made here.
pub struct Headers(std::convert::Infallible);

impl Headers {
    pub fn of(&self, _near: IpAddr, _far: IpAddr) -> Option<Header> {
        match self.0 {}
    }
}

pub fn check() -> Result<(), String> {
    Err(MISSING.into())
}

pub fn has_addresses(_header: u16) -> bool {
    true
}

pub fn describe(_config: &Config) -> String {
    MISSING.into()
}

pub fn remove_leftovers(_link: &str) {}

impl LinkDiversion {
    pub fn start(
        config: &Config,
        _method: Option<Method>,
        _own: &[Option<OwnSegments>],
        _estate: &mut Estate,
    ) -> Result<LinkDiversion, DivertError> {
        Err(DivertError::NoPrograms { link: config.link.clone(), reason: MISSING.into() })
    }

    pub fn lend(&self) -> Vec<(String, BorrowedFd<'_>)> {
        match self.0 {}
    }

    pub fn take_over(&self) -> Result<(), DivertError> {
        match self.0 {}
    }

    pub fn beat(
        &mut self,
        _now: Instant,
        _wanted: &[Wanted],
        _addresses: &[Option<IpAddr>],
    ) -> Result<(), DivertError> {
        match self.0 {}
    }

    pub fn headers(&self) -> io::Result<Headers> {
        match self.0 {}
    }

    pub fn knows_whose(&self, _peer: usize) -> bool {
        match self.0 {}
    }

    pub fn advice(&self, _peer: usize) -> Option<&'static str> {
        match self.0 {}
    }

    pub fn method(&self) -> Method {
        match self.0 {}
    }

    pub fn counters(&self) -> Vec<(&'static str, u64)> {
        match self.0 {}
    }

    pub fn stop(&mut self) {
        match self.0 {}
    }
}
