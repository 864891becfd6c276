//! Which way packets go: the path with the fewest links, the first in the file among equals.

use super::{LinkSpec, ResolvedScenario, WlanSpec};
use airtcp_link::LinkSettings;
use std::collections::VecDeque;

/// One link on a path, and whether it is passed from the first of its nodes to the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// Index of the link.
    pub link: usize,
    /// True from the first to the second.
    pub forward: bool,
}

impl Hop {
    /// The settings of the direction passed.
    pub fn settings(self, scenario: &ResolvedScenario) -> &LinkSettings {
        let link = &scenario.links[self.link];
        if self.forward { &link.forward } else { &link.reverse }
    }

    /// The same link the other way.
    pub fn back(self) -> Hop {
        Hop { forward: !self.forward, ..self }
    }
}

/// The hops from one node to another; `None` if they are not connected.
pub fn path(links: &[LinkSpec], nodes: usize, from: usize, to: usize) -> Option<Vec<Hop>> {
    let mut reached: Vec<Option<(usize, Hop)>> = vec![None; nodes];
    let mut queue = VecDeque::from([from]);
    while let Some(node) = queue.pop_front() {
        for (index, link) in links.iter().enumerate() {
            let (next, forward) = match link.between {
                [first, second] if first == node => (second, true),
                [first, second] if second == node => (first, false),
                _ => continue,
            };
            if next != from && reached[next].is_none() {
                reached[next] = Some((node, Hop { link: index, forward }));
                queue.push_back(next);
            }
        }
    }
    let mut hops = Vec::new();
    let mut node = to;
    while node != from {
        let (before, hop) = reached[node]?;
        hops.push(hop);
        node = before;
    }
    hops.reverse();
    Some(hops)
}

/// The nodes of a scenario and what connects them.
pub(super) struct Network<'a> {
    pub nodes: &'a [String],
    pub links: &'a [LinkSpec],
    pub wlans: &'a [WlanSpec],
    /// One of the nodes that each is connected with, the same for all of them.
    island: Vec<usize>,
}

impl<'a> Network<'a> {
    pub fn new(nodes: &'a [String], links: &'a [LinkSpec], wlans: &'a [WlanSpec]) -> Self {
        let mut island: Vec<usize> = (0..nodes.len()).collect();
        let of_links = links.iter().map(|link| (link.between[0], link.between[1]));
        let of_wlans = wlans.iter().flat_map(|wlan| wlan.stations.iter().map(|station| (*station, wlan.ap)));
        for (one, other) in of_links.chain(of_wlans) {
            let (joined, name) = (island[one], island[other]);
            island.iter_mut().filter(|island| **island == joined).for_each(|island| *island = name);
        }
        Network { nodes, links, wlans, island }
    }

    /// True if links lead from one node to the other.
    pub fn connects(&self, from: usize, to: usize) -> bool {
        self.island[from] == self.island[to]
    }
}
