//! The 802.11 cells of a network, and the directions between their access points and stations.

use crate::dot11::Bss;
use crate::tap::Direction;

/// One direction between an access point and one of its stations.
#[derive(Debug)]
pub struct AirHop {
    pub direction: Direction,
    /// Which cell.
    pub cell: usize,
    /// The sender's interface there.
    pub from: usize,
    /// The receiver's.
    pub to: usize,
    /// The receiver.
    pub node: usize,
    /// The scheme element that gets packets before they enter.
    pub before: Option<usize>,
    /// The scheme element that gets packets when they come out.
    pub after: Option<usize>,
}

/// A cell with its place in the network.
#[derive(Debug)]
pub struct Wlan {
    /// "wlans.wifi"
    pub name: String,
    pub bss: Bss,
    /// Node of each interface.
    pub nodes: Vec<usize>,
    /// The first of its hops: up and down for each station in turn.
    pub first_air_hop: usize,
}

impl Wlan {
    /// The hop from one interface to another, counted among all hops in the air.
    pub fn air_hop(&self, from: usize, to: usize) -> usize {
        self.first_air_hop + 2 * (from.max(to) - 1) + usize::from(from == 0)
    }
}
