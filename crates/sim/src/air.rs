//! The 802.11 cells of a network, and the directions between their access points and stations.

use crate::dot11::Bss;
use crate::index::{AirHopId, ElementId, InterfaceId, NodeId, WlanId};
use crate::tap::Direction;
use airtcp_core::Instant;
use typed_index_collections::TiVec;

/// One direction between an access point and one of its stations.
#[derive(Debug)]
pub struct AirHop {
    pub direction: Direction,
    /// Which cell.
    pub cell: WlanId,
    /// The sender's interface there.
    pub from: InterfaceId,
    /// The receiver's.
    pub to: InterfaceId,
    /// The receiver.
    pub node: NodeId,
    /// The scheme element that gets packets before they enter.
    pub before: Option<ElementId>,
    /// The scheme element that gets packets when they come out.
    pub after: Option<ElementId>,
}

/// A cell with its place in the network.
#[derive(Debug)]
pub struct Wlan {
    /// "wlans.wifi"
    pub name: String,
    pub bss: Bss,
    /// Node of each interface.
    pub nodes: TiVec<InterfaceId, NodeId>,
    /// Whether each node is one of its stations.
    pub is_station: TiVec<NodeId, bool>,
    /// The first of its hops: up and down for each station in turn.
    pub first_air_hop: AirHopId,
    /// When the queue has its event; the end of time for never.
    pub due: Instant,
    /// An exchange ends: when the next one does is looked up once all that follows from it is done.
    pub is_ending: bool,
}

impl Wlan {
    /// The hop from one interface to another, counted among all hops in the air.
    pub fn air_hop(&self, from: InterfaceId, to: InterfaceId) -> AirHopId {
        let before = 2 * (usize::from(from.max(to)) - 1) + usize::from(from == InterfaceId::AP);
        AirHopId::from(usize::from(self.first_air_hop) + before)
    }
}
