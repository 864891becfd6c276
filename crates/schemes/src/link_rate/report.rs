//! What the receiving end reports.

use crate::hop::take;
use alloc::vec::Vec;

/// What came off the link so far, and the packet that came last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// Its name.
    pub name: u32,
    /// IP bytes that came, this packet included.
    pub received: u64,
    /// The receiving end's clock when it came, in ns.
    pub stamp: u64,
}

impl Report {
    /// Appends it, big endian.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.name.to_be_bytes());
        out.extend(self.received.to_be_bytes());
        out.extend(self.stamp.to_be_bytes());
    }

    /// Takes it off the front of `rest`.
    pub(crate) fn read(rest: &mut &[u8]) -> Option<Report> {
        let name = u32::from_be_bytes(take(rest)?);
        let (received, stamp) = (u64::from_be_bytes(take(rest)?), u64::from_be_bytes(take(rest)?));
        Some(Report { name, received, stamp })
    }
}
