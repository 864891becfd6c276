//! Schemes along a path: a box at the node where it begins, before the first way, and one at the node where it ends.
//!
//! What is for one of these nodes itself meets its boxes before the node's host, in the order of the topology; each sends
//! on what it does not want. What a box sends of its own enters the path past whatever else is placed there, as control
//! messages do. Routes are static and follow the destination's node, so all of it takes the one path (DEC-20).

use crate::address::{self, Family};
use crate::element::Exit;
use crate::engine::Engine;
use crate::network::Way;
use crate::topology::{SchemeSpec, SimError, Topology};
use airtcp_core::{ByteSize, Duration};
use airtcp_schemes::{End, LinkFacts};

impl Engine<'_> {
    /// Places both boxes of a scheme; the far end's is placed on the way back.
    pub(crate) fn place_on_path(
        &mut self,
        topology: &Topology,
        spec: &SchemeSpec,
        from: usize,
        to: usize,
    ) -> Result<Vec<usize>, SimError> {
        let mut placed = Vec::new();
        for (end, node, other) in [(End::Near, from, to), (End::Far, to, from)] {
            let ways = self.ways(node, other).filter(|ways| !ways.is_empty());
            let Some((facts, first)) = ways.map(|ways| (self.facts(topology, [node, other], &ways), ways[0])) else {
                let [from, to] = [from, to].map(|node| topology.nodes[node].clone());
                return Err(SimError::NoPath { scheme: spec.name.clone(), from, to });
            };
            let element = self.make_scheme(topology, spec, node, end, facts, Exit::Way(first))?;
            self.network.locals[node].push(element);
            if end == End::Near && self.network.put_before(first, element).is_some() {
                return Err(SimError::Occupied { scheme: spec.name.clone() });
            }
            placed.push(element);
        }
        Ok(placed)
    }

    /// The ways from one node to another; none if they do not lead there.
    fn ways(&self, from: usize, to: usize) -> Option<Vec<usize>> {
        let (mut node, mut ways) = (from, Vec::new());
        while node != to {
            let way = self.network.routes.towards(node, to)?;
            ways.push(way);
            node = match self.network.way(way) {
                Way::Wire(pipe) => self.network.pipes[pipe].to,
                Way::Air(airway) => self.network.airways[airway].node,
            };
        }
        Some(ways)
    }

    fn facts(&self, topology: &Topology, nodes: [usize; 2], ways: &[usize]) -> LinkFacts {
        let out: Vec<LinkFacts> = ways.iter().map(|way| self.facts_of_way(topology, *way)).collect();
        let back = self.ways(nodes[1], nodes[0]).unwrap_or_default();
        let back = back.iter().map(|way| self.facts_of_way(topology, *way));
        let delay = |sum: Option<Duration>, facts: &LinkFacts| Some(sum? + facts.round_trip?);
        LinkFacts {
            rate: out.iter().filter_map(|facts| facts.rate).min(),
            round_trip: back.fold(out.iter().fold(Some(Duration::ZERO), delay), |sum, facts| delay(sum, &facts)),
            queue: out[0].queue,
            queue_packets: out[0].queue_packets,
            mtu: out.iter().filter_map(|facts| facts.mtu).min(),
            addresses: Some(nodes.map(|node| address::of_node(node, Family::V4))),
        }
    }

    /// One way alone: `round_trip` is its delay in this direction.
    fn facts_of_way(&self, topology: &Topology, way: usize) -> LinkFacts {
        match self.network.way(way) {
            Way::Wire(pipe) => {
                let settings = &topology.links[pipe / 2].settings[pipe % 2];
                let limit = settings.queue.limit();
                LinkFacts {
                    rate: settings.rate,
                    round_trip: Some(settings.delay),
                    queue: Some(ByteSize(limit.bytes(settings.mtu))),
                    queue_packets: limit.packets(),
                    mtu: Some(settings.mtu),
                    addresses: None,
                }
            }
            Way::Air(airway) => {
                let settings = &topology.wlans[self.network.airways[airway].cell].settings;
                LinkFacts { rate: Some(settings.rate), mtu: Some(settings.mtu), ..LinkFacts::default() }
            }
        }
    }
}
