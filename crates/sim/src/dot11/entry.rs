//! A packet that is given to an interface.

use super::airtime::FrameKind;
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

/// A packet for another station of the cell. While it waits nobody need look into it: among many stations it would not be in the near
/// caches.
#[derive(Debug)]
pub struct Entry {
    /// The packet.
    pub packet: Packet,
    /// Its length on the medium.
    pub bytes: u32,
    /// What a frame with it is.
    pub kind: FrameKind,
    /// Interface that it is for.
    pub to: InterfaceId,
    /// Who is told what becomes of it.
    pub tracked: Option<Tracked>,
}

impl Entry {
    /// A packet for the interface `to`.
    pub fn new(to: InterfaceId, packet: Packet, tracked: Option<Tracked>) -> Self {
        let (bytes, kind) = (packet.wire_len(), FrameKind::of(&packet));
        Entry { packet, bytes, kind, to, tracked }
    }
}
