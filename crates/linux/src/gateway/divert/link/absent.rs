//! In place of `program.rs` where this was built without the feature `bpf`: there are no programs.

use std::io;
use std::os::fd::OwnedFd;

const MISSING: &str = "this airtcp was built without the feature 'bpf'";

/// Never made here.
pub struct Program(std::convert::Infallible);

impl Program {
    pub fn load(_settings: &[u8]) -> Result<Program, String> {
        Err(MISSING.into())
    }

    pub fn fd(&self, _name: &str) -> io::Result<OwnedFd> {
        match self.0 {}
    }

    pub fn set_state(&self, _state: &[u8]) -> io::Result<()> {
        match self.0 {}
    }

    pub fn counters(&self) -> Vec<u64> {
        match self.0 {}
    }
}
