//! What the medium is used for next.

use crate::index::InterfaceId;
use airtcp_core::Instant;

/// The next use of the medium, unless somebody begins earlier.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub begin: Instant,
    pub end: Instant,
    pub purpose: Purpose,
}

/// What the medium is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The winners of the contention send.
    Exchange,
    /// The access point sends a beacon.
    Beacon,
    /// The receiver of a frame sends one back (DCF+).
    Reverse {
        /// Its interface.
        from: InterfaceId,
    },
    /// The winner goes on with a further exchange (TXOP).
    Further {
        /// Its interface.
        from: InterfaceId,
        /// When it must be done.
        until: Instant,
    },
}
