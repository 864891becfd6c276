//! Names that exist once per network namespace: abstract Unix sockets, which the kernel frees when the process ends,
//! however it ends.

use super::error::DivertError;
use crate::gateway::predecessor;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// A held name; dropping it frees it.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "holds the name")] UnixDatagram);

impl Lock {
    /// Holds `name`, unless somebody else does.
    pub fn hold(name: &str) -> Option<Lock> {
        let address = SocketAddr::from_abstract_name(name).ok()?;
        UnixDatagram::bind_addr(&address).ok().map(Lock)
    }

    /// Holds the link: there is one gateway on each.
    ///
    /// # Errors
    /// The link has a gateway.
    pub fn link(link: &str) -> Result<Lock, DivertError> {
        predecessor::wait_out(|()| true, || Lock::try_link(link).ok_or(()))
            .map_err(|()| DivertError::LinkBusy(link.to_owned()))
    }

    /// The same without waiting for a gateway that was just killed.
    pub fn try_link(link: &str) -> Option<Lock> {
        Lock::hold(&format!("airtcp-gateway-link-{link}"))
    }
}
