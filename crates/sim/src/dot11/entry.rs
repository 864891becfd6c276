//! What an interface is given to send.

use crate::index::{ElementId, InterfaceId};
use airtcp_core::{Packet, Token};

/// Who wants to hear what became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tracked {
    /// The element.
    pub element: ElementId,
    /// Its own name for the packet.
    pub token: Token,
}

/// A packet for another station of the cell.
#[derive(Debug)]
pub struct Entry {
    /// The packet.
    pub packet: Packet,
    /// Interface that it is for.
    pub to: InterfaceId,
    /// Who is told what becomes of it.
    pub tracked: Option<Tracked>,
}

impl Entry {
    /// A packet for the interface `to`.
    pub fn new(to: InterfaceId, packet: Packet, tracked: Option<Tracked>) -> Self {
        Entry { packet, to, tracked }
    }
}
