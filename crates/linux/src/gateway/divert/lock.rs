//! Names that exist once per network namespace: abstract Unix sockets, which the kernel frees when the process ends,
//! however it ends.

use super::error::DivertError;
use crate::gateway::estate::Estate;
use crate::gateway::predecessor;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// A held name; dropping it frees it.
#[derive(Debug)]
pub struct Lock(UnixDatagram);

impl Lock {
    /// Holds `name`, unless somebody else does.
    pub fn hold(name: &str) -> Option<Lock> {
        let address = SocketAddr::from_abstract_name(name).ok()?;
        UnixDatagram::bind_addr(&address).ok().map(Lock)
    }

    /// Holds the link: there is one gateway on each. An heir has it from the one before.
    ///
    /// # Errors
    /// The link has a gateway.
    pub fn link(link: &str, estate: &mut Estate) -> Result<Lock, DivertError> {
        if let Some(held) = estate.take(&estate_name(link)) {
            return Ok(Lock(held.into()));
        }
        predecessor::wait_out(|()| true, || Lock::try_link(link).ok_or(()))
            .map_err(|()| DivertError::LinkBusy(link.to_owned()))
    }

    /// What an heir needs to hold the link.
    pub fn lend(&self, link: &str) -> (String, BorrowedFd<'_>) {
        (estate_name(link), self.0.as_fd())
    }

    /// The same without waiting for a gateway that was just killed.
    pub fn try_link(link: &str) -> Option<Lock> {
        Lock::hold(&format!("airtcp-gateway-link-{link}"))
    }
}

fn estate_name(link: &str) -> String {
    format!("lock {link}")
}
