//! What devices bring and take.

use bytes::Bytes;

/// A datagram without its header of the device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// The IP packet.
    pub bytes: Bytes,
    /// Its TCP checksum need not be looked at.
    pub checksum_is_known_good: bool,
}
