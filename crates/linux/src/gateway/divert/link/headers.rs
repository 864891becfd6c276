//! The hardware addresses that the programs keep, for a gateway that sends frames itself.

use super::program;
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use std::net::IpAddr;

/// Addresses of a frame: `struct header` of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// This machine's.
    pub near: [u8; 6],
    /// The next hop's.
    pub far: [u8; 6],
}

/// By the pair of addresses of a packet, while the link's programs run.
pub struct Headers(MapHandle);

impl Headers {
    pub(super) fn new(map: MapHandle) -> Headers {
        Headers(map)
    }

    /// Of packets between these two, if any was taken lately.
    pub fn of(&self, near: IpAddr, far: IpAddr) -> Option<Header> {
        let bytes = self.0.lookup(&program::pair(near, far), MapFlags::ANY).ok()??;
        let address = |at: usize| bytes.get(at..at + 6)?.try_into().ok();
        Some(Header { near: address(0)?, far: address(6)? })
    }
}
