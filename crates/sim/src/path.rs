//! Schemes along a path: an element at the node where it begins, before the first hop, and one at the node where it ends.
//!
//! Of a scheme that knows nothing but paths (a trunk), what is for one of these nodes itself goes to its elements before the
//! node's host, in the order of the topology; each sends on what it does not want. What an element creates enters the path past
//! whatever else is placed there, as control messages do.
//!
//! All of it takes the one path (DEC-20): routes are static, and the element at the beginning gets only packets for nodes to which
//! the way begins with the whole path. The others leave the node as if it were not there. So the path is bound to a label-switched
//! path, as the paper wants it of a trunk.
//!
//! A scheme with both ends of a link takes a path for one long link, on which others may be between: each end gets what
//! leaves for nodes behind the other, and what comes from there, as live with `networks`.

use crate::address::{self, Family};
use crate::element::{Exit, SchemePlace};
use crate::engine::Engine;
use crate::error::SimError;
use crate::index::{ElementId, Hop, LinkId, NodeId};
use crate::tap::Direction;
use crate::topology::{SchemeSpec, Topology};
use airtcp_core::{ByteSize, Duration};
use airtcp_schemes::{End, LinkFacts, PathEnds, Placement};

impl Engine<'_> {
    /// Places both elements of a scheme; the far end's is placed on the path back.
    pub(crate) fn place_on_path(
        &mut self,
        topology: &Topology,
        spec: &SchemeSpec,
        from: NodeId,
        to: NodeId,
    ) -> Result<Vec<ElementId>, SimError> {
        let mut placed = Vec::new();
        for (end, node, other) in [(End::Near, from, to), (End::Far, to, from)] {
            let hops = self.hops(node, other).filter(|hops| !hops.is_empty());
            let Some(hops) = hops else {
                let [from, to] = [from, to].map(|node| topology.nodes[node].to_string());
                return Err(SimError::NoPath { scheme: spec.name.clone(), from, to });
            };
            let (facts, first) = (self.facts(topology, [node, other], &hops), hops[0]);
            let element =
                self.make_scheme(spec, SchemePlace { node, end, link: facts, forecast: None, exit: Exit::Hop(first) })?;
            let is_trunk = spec.choice.entry.placement == Placement::Path;
            let last = self.hops(other, node).and_then(|back| back.last().copied()).filter(|_| !is_trunk);
            let mut is_free = true;
            if is_trunk {
                self.network.residents[node].locals.push(element);
            }
            if end == End::Near || !is_trunk {
                is_free = self.network.put_before(first, element).is_none();
                let bound = self.network.residents.keys().map(|goal| self.leads_along(&hops, node, goal)).collect();
                self.network.bound.insert(element, bound);
            }
            is_free &= last.is_none_or(|last| self.network.put_after(last, element).is_none());
            if !is_free {
                return Err(SimError::Occupied { scheme: spec.name.clone() });
            }
            placed.push(element);
        }
        Ok(placed)
    }

    /// The hops from one node to another; none if they do not lead there.
    fn hops(&self, from: NodeId, to: NodeId) -> Option<Vec<Hop>> {
        let (mut node, mut hops) = (from, Vec::new());
        while node != to {
            let hop = self.network.routes.towards(node, to)?;
            hops.push(hop);
            node = match hop {
                Hop::Wire(pipe) => self.network.pipes[pipe].to,
                Hop::Air(air_hop) => self.network.air_hops[air_hop].node,
            };
        }
        Some(hops)
    }

    /// Whether the way from `from` to `goal` begins with `path`.
    fn leads_along(&self, path: &[Hop], from: NodeId, goal: NodeId) -> bool {
        self.hops(from, goal).is_some_and(|hops| hops.starts_with(path))
    }

    fn facts(&self, topology: &Topology, nodes: [NodeId; 2], hops: &[Hop]) -> LinkFacts {
        let out: Vec<LinkFacts> = hops.iter().map(|hop| self.facts_of_way(topology, *hop)).collect();
        let back = self.hops(nodes[1], nodes[0]).unwrap_or_default();
        let back = back.iter().map(|hop| self.facts_of_way(topology, *hop));
        let delay = |sum: Option<Duration>, facts: &LinkFacts| Some(sum? + facts.round_trip?);
        LinkFacts {
            rate: out.iter().filter_map(|facts| facts.rate).min(),
            round_trip: back.fold(out.iter().fold(Some(Duration::ZERO), delay), |sum, facts| delay(sum, &facts)),
            queue: out[0].queue,
            queue_packets: out[0].queue_packets,
            mtu: out.iter().filter_map(|facts| facts.mtu).min(),
            ends: Some(PathEnds::Nodes(nodes.map(|node| address::of_node(node, Family::V4)))),
        }
    }

    /// One hop alone: `round_trip` is its delay in this direction.
    fn facts_of_way(&self, topology: &Topology, hop: Hop) -> LinkFacts {
        match hop {
            Hop::Wire(pipe) => {
                let Direction { link, reverse } = self.network.pipes[pipe].direction();
                let settings = &topology.links[LinkId::from(link)].settings[usize::from(reverse)];
                let limit = settings.queue.limit();
                LinkFacts {
                    rate: settings.rate.constant(),
                    round_trip: Some(settings.delay.nominal()),
                    queue: Some(ByteSize(limit.bytes(settings.mtu))),
                    queue_packets: limit.packets(),
                    mtu: Some(settings.mtu),
                    ends: None,
                }
            }
            Hop::Air(air_hop) => {
                let settings = &topology.wlans[self.network.air_hops[air_hop].cell].settings;
                LinkFacts { rate: Some(settings.data_rate()), mtu: Some(settings.mtu), ..LinkFacts::default() }
            }
        }
    }
}
