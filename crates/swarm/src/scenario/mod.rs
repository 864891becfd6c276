//! A random network from a seed: topology, links with faults that end, schemes, flows.
//!
//! After TigerBeetle's simulator: first everything may go wrong, then all links *heal* at once, and from there on
//! progress is demanded: each file arrives complete and unchanged within a time that follows from its size, its path and
//! its timers ([`bound`]), each endless flow still delivers in the last part of the run ([`judge`]).

pub mod bound;
mod circuit;
mod describe;
mod flow;
pub mod judge;
mod link;
pub mod shrink;
mod socket;
mod trunk;

pub(crate) use describe::differing;
pub use socket::SocketPlan;

use crate::Tables;
use crate::draw::Draw;
use airtcp_core::Duration;
use airtcp_link::LinkSettings;
use airtcp_schemes::{SchemeChoice, SchemeEntry};
use airtcp_sim::{Flow, RunSettings, Topology};
use airtcp_tcp::Config;

/// A network, what happens on it, and until when things go wrong.
#[derive(Clone)]
pub struct Scenario {
    /// Seed of every random stream of the run.
    pub seed: u64,
    /// Number of nodes.
    pub nodes: usize,
    /// Links; they form a tree.
    pub links: Vec<LinkPlan>,
    /// Flows.
    pub flows: Vec<FlowPlan>,
    /// A scheme along a path.
    pub trunk: Option<TrunkPlan>,
    /// When every link heals.
    pub heal: Duration,
    /// Sequence numbers and timestamps begin just below the wrap.
    pub near_wrap: bool,
}

/// A link and what sits on it.
#[derive(Clone)]
pub struct LinkPlan {
    /// Nodes it connects.
    pub ends: [usize; 2],
    /// Settings from the first end to the second, and back.
    pub directions: [LinkSettings; 2],
    /// The scheme on it.
    pub scheme: Option<SchemePlan>,
}

/// A scheme with the parameters that differ from the defaults.
#[derive(Clone)]
pub struct SchemePlan {
    /// Its line in the table.
    pub entry: SchemeEntry,
    /// Key and value as text.
    pub settings: Vec<(String, String)>,
}

impl SchemePlan {
    pub(crate) fn choice(&self) -> SchemeChoice {
        let settings = self.settings.iter().map(|(key, value)| (key, value));
        self.entry.with(settings).expect("settings were drawn that the scheme takes")
    }
}

/// A scheme along a path.
#[derive(Clone)]
pub struct TrunkPlan {
    /// Where the path begins and ends.
    pub ends: [usize; 2],
    /// What it is.
    pub scheme: SchemePlan,
}

/// A flow.
#[derive(Clone)]
pub struct FlowPlan {
    /// Sender and receiver.
    pub ends: [usize; 2],
    /// What carries it.
    pub socket: SocketPlan,
    /// Parameters of both ends.
    pub tcp: Config,
    /// When it connects.
    pub start: Duration,
    /// Bytes of the file; endless if none.
    pub size: Option<u64>,
    /// IPv6 instead of IPv4.
    pub ipv6: bool,
}

/// The scenario of a seed: schemes and controllers come from `tables`.
pub fn scenario(seed: u64, tables: &Tables<'_>) -> Scenario {
    let draw = &mut Draw::new(seed, "swarm/scenario");
    let heal = draw.span(Duration::from_millis(500), Duration::from_secs(4));
    let near_wrap = draw.percent(30);
    let nodes = draw.between(2, 8) as usize;
    let flow_count = draw.magnitude(1, 12) as usize;
    let edges = edges(draw, nodes);
    let links = edges.into_iter().map(|ends| link::draw_link(draw, ends, flow_count, heal, tables)).collect();
    let mut scenario = Scenario { seed, nodes, links, flows: Vec::new(), trunk: None, heal, near_wrap };
    for _ in 0..flow_count {
        let flow = flow::draw_flow(draw, &scenario, tables);
        scenario.flows.push(flow);
    }
    scenario.trunk = trunk::draw_trunk(draw, &scenario, tables);
    circuit::fit_circuits(&mut scenario);
    circuit::fit_queues(&mut scenario);
    flow::repeat_within_reason(&mut scenario);
    flow::outlast_waits(&mut scenario);
    flow::shorten(&mut scenario);
    scenario
}

/// A path, a dumbbell or any other tree.
fn edges(draw: &mut Draw, nodes: usize) -> Vec<[usize; 2]> {
    match draw.below(3) {
        0 => (1..nodes).map(|node| [node - 1, node]).collect(),
        1 => (1..nodes).map(|node| [if node < 2 { 0 } else { node % 2 }, node]).collect(),
        _ => (1..nodes).map(|node| [draw.index(node), node]).collect(),
    }
}

impl Scenario {
    /// The network as the simulator takes it.
    pub fn topology(&self) -> Topology {
        let mut topology = Topology::new();
        let nodes: Vec<_> = (0..self.nodes).map(|node| topology.node(&format!("n{node}"))).collect();
        for (index, link) in self.links.iter().enumerate() {
            let [forward, reverse] = link.directions.clone();
            let id = topology.link(&format!("l{index}"), nodes[link.ends[0]], nodes[link.ends[1]], forward, reverse);
            if let Some(scheme) = &link.scheme {
                topology.scheme(&format!("s{index}"), id, scheme.choice());
            }
        }
        if let Some(TrunkPlan { ends, scheme }) = &self.trunk {
            topology.scheme("trunk", ends.map(|end| nodes[end]), scheme.choice());
        }
        for (index, flow) in self.flows.iter().enumerate() {
            topology.flow(Flow {
                name: format!("f{index}"),
                from: nodes[flow.ends[0]],
                to: nodes[flow.ends[1]],
                socket: flow.socket.choice.clone(),
                tcp: flow.tcp.clone(),
                start: flow.start,
                size: flow.size,
                ipv6: flow.ipv6,
            });
        }
        topology
    }

    /// How it is run, for `1 / divisor` of the time after healing: the last part, in which endless flows must deliver,
    /// is what counts as measured.
    pub fn run_settings(&self, divisor: u64) -> RunSettings {
        let end = self.heal + bound::end(self).saturating_sub(self.heal) / divisor;
        RunSettings {
            seed: self.seed,
            duration: end,
            warmup: end.saturating_sub(bound::last_part(self) / divisor).max(self.heal),
            near_wrap: self.near_wrap,
            digests: true,
            ..RunSettings::default()
        }
    }

    /// The directed links from one node to another: index of the link and of the direction.
    pub fn path(&self, from: usize, to: usize) -> Vec<(usize, usize)> {
        let mut before: Vec<Option<(usize, usize, usize)>> = vec![None; self.nodes];
        let mut frontier = vec![from];
        while let Some(node) = frontier.pop() {
            for (index, link) in self.links.iter().enumerate() {
                for direction in 0..2 {
                    let (tail, head) = (link.ends[direction], link.ends[1 - direction]);
                    if tail == node && head != from && before[head].is_none() {
                        before[head] = Some((node, index, direction));
                        frontier.push(head);
                    }
                }
            }
        }
        let mut hops = Vec::new();
        let mut at = to;
        while let Some((node, link, direction)) = before[at].filter(|_| at != from) {
            hops.push((link, direction));
            at = node;
        }
        hops.reverse();
        hops
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scenario_can_be_run_and_every_flow_has_a_path_its_packets_fit() {
        for seed in 0..300 {
            let scenario = scenario(seed, &Tables::built_in());
            assert_eq!(scenario.links.len(), scenario.nodes - 1);
            for link in &scenario.links {
                link.directions.iter().for_each(|direction| direction.check().unwrap());
            }
            for flow in &scenario.flows {
                let [from, to] = flow.ends;
                let hops = [scenario.path(from, to), scenario.path(to, from)].concat();
                assert!(hops.len() >= 2, "seed {seed}");
                let mtu = hops.iter().map(|(link, direction)| scenario.links[*link].directions[*direction].mtu).min();
                assert!(mtu.is_some_and(|mtu| flow.tcp.mtu <= mtu), "seed {seed}");
            }
        }
    }

    #[test]
    fn the_same_seed_draws_the_same_scenario() {
        let text = |seed| scenario(seed, &Tables::built_in()).to_string();
        assert_eq!(text(7), text(7));
        assert_ne!(text(7), text(8));
    }
}
