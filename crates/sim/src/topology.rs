//! Describing a network: nodes, links, schemes on links, flows between nodes.

use crate::address::{Family, MAX_NODES};
use crate::dot11::{CellSettings, Edca};
use crate::engine::Engine;
use crate::levels::Level;
use crate::outcome::Outcome;
use crate::tap::Tap;
use airtcp_core::parameters::ParameterError;
use airtcp_core::{Duration, Instant};
use airtcp_link::LinkSettings;
use airtcp_schemes::SchemeChoice;
use airtcp_schemes::socket::SocketChoice;
use airtcp_tcp::Config;

/// A node of the topology.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub(crate) usize);

/// A link of the topology.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub(crate) usize);

/// A cell of the topology.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WlanId(pub(crate) usize);

/// A network and what happens on it.
#[derive(Clone, Default)]
pub struct Topology {
    pub(crate) nodes: Vec<String>,
    pub(crate) links: Vec<LinkSpec>,
    pub(crate) wlans: Vec<WlanSpec>,
    pub(crate) schemes: Vec<SchemeSpec>,
    pub(crate) flows: Vec<Flow>,
    pub(crate) probes: Vec<Probe>,
}

#[derive(Clone)]
pub(crate) struct LinkSpec {
    pub name: String,
    pub ends: [usize; 2],
    pub settings: [LinkSettings; 2],
}

#[derive(Clone)]
pub(crate) struct WlanSpec {
    pub name: String,
    pub ap: usize,
    pub stations: Vec<usize>,
    pub settings: CellSettings,
    /// Stations that contend in their own way.
    pub edca: Vec<(usize, Edca)>,
}

/// What a scheme is placed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum On {
    /// A link: one box at its near end, or one at each.
    Link(LinkId),
    /// An 802.11 cell: a box at the access point (the near end), and one at each station (the far ends).
    Wlan(WlanId),
    /// The way that packets take from one node to another: a box at each of the two.
    Path(NodeId, NodeId),
}

impl From<LinkId> for On {
    fn from(link: LinkId) -> Self {
        On::Link(link)
    }
}

impl From<[NodeId; 2]> for On {
    fn from([from, to]: [NodeId; 2]) -> Self {
        On::Path(from, to)
    }
}

impl From<WlanId> for On {
    fn from(wlan: WlanId) -> Self {
        On::Wlan(wlan)
    }
}

#[derive(Clone)]
pub(crate) struct SchemeSpec {
    pub name: String,
    pub on: On,
    pub choice: SchemeChoice,
}

/// A stream that one end sends to the other.
#[derive(Clone)]
pub struct Flow {
    /// Name in the scenario.
    pub name: String,
    /// Sender.
    pub from: NodeId,
    /// Receiver.
    pub to: NodeId,
    /// What carries it.
    pub socket: SocketChoice,
    /// Both ends' TCP.
    pub tcp: Config,
    /// When the sender connects.
    pub start: Duration,
    /// Bytes to send before closing; as many as fit into the run if `None`.
    pub size: Option<u64>,
    /// IPv4 or IPv6.
    pub ipv6: bool,
}

impl Flow {
    pub(crate) fn family(&self) -> Family {
        if self.ipv6 { Family::V6 } else { Family::V4 }
    }
}

/// Small datagrams between two hosts and back, in the measured part of the run.
#[derive(Clone, Debug)]
pub struct Probe {
    /// Name in the scenario.
    pub name: String,
    /// Host that asks.
    pub from: NodeId,
    /// Host that answers.
    pub to: NodeId,
    /// Time between two; zero is taken for a nanosecond.
    pub every: Duration,
    /// Bytes of the IP packet; no fewer than 36.
    pub size: u32,
}

/// How a topology is run.
#[derive(Clone, Debug)]
pub struct RunSettings {
    /// Every random stream is derived from it.
    pub seed: u64,
    /// Simulated time.
    pub duration: Duration,
    /// Left out of every rate.
    pub warmup: Duration,
    /// Distance of samples in the series; also of the checks.
    pub sample_every: Duration,
    /// Conservation, streams and bounds are checked; off only for timing.
    pub checks: bool,
    /// Initial sequence numbers and timestamps just below the wrap, to show that nothing depends on them.
    pub near_wrap: bool,
    /// Packets pass links without an event where nothing can come of it; off only to show that nothing does.
    pub express: bool,
    /// Keep the samples of every flow.
    pub series: bool,
    /// What else to record at each sample.
    pub levels: Vec<Level>,
    /// Compute SHA-256 of what fixed-size flows sent and received.
    pub digests: bool,
}

impl Default for RunSettings {
    fn default() -> Self {
        RunSettings {
            seed: 1,
            duration: Duration::from_secs(20),
            warmup: Duration::from_secs(2),
            sample_every: Duration::from_millis(100),
            checks: true,
            near_wrap: false,
            express: true,
            series: true,
            levels: Vec::new(),
            digests: false,
        }
    }
}

/// Why a topology cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SimError {
    /// A scheme did not accept a parameter.
    #[error("scheme '{scheme}': {error}")]
    Scheme {
        /// Its name in the topology.
        scheme: String,
        /// What it says.
        error: ParameterError,
    },
    /// There is no way between the ends of a flow.
    #[error("flow '{flow}': no way from '{from}' to '{to}'; add a link between them")]
    Unreachable {
        /// The flow.
        flow: String,
        /// Its sender.
        from: String,
        /// Its receiver.
        to: String,
    },
    /// The address plan is exhausted.
    #[error("a topology can have at most {MAX_NODES} nodes")]
    TooManyNodes,
    /// The settings of a cell make no sense together.
    #[error("wlan '{wlan}': {reason}")]
    Wlan {
        /// Its name.
        wlan: String,
        /// What to change.
        reason: String,
    },
    /// Two schemes want the same end of a link.
    #[error("scheme '{scheme}': another scheme is on this link or cell already; it carries one")]
    Occupied {
        /// The second scheme.
        scheme: String,
    },
    /// A scheme for a path is on a link, or the other way round.
    #[error("scheme '{scheme}': '{slug}' is placed {wanted}")]
    Misplaced {
        /// Its name in the topology.
        scheme: String,
        /// Its name in the table.
        slug: &'static str,
        /// How.
        wanted: &'static str,
    },
    /// The path of a scheme leads nowhere.
    #[error("scheme '{scheme}': no way leads from '{from}' to '{to}'; name two nodes that links connect")]
    NoPath {
        /// Its name in the topology.
        scheme: String,
        /// Where it begins.
        from: String,
        /// Where it ends.
        to: String,
    },
}

impl Topology {
    /// An empty topology.
    pub fn new() -> Self {
        Topology::default()
    }

    /// Adds a node. Every node forwards; one named by a flow is also a host.
    pub fn node(&mut self, name: &str) -> NodeId {
        self.nodes.push(name.to_string());
        NodeId(self.nodes.len() - 1)
    }

    /// Adds a link; `forward` is the direction from `a` to `b`.
    pub fn link(&mut self, name: &str, a: NodeId, b: NodeId, forward: LinkSettings, reverse: LinkSettings) -> LinkId {
        let ends = [a.0, b.0];
        self.links.push(LinkSpec { name: name.to_string(), ends, settings: [forward, reverse] });
        LinkId(self.links.len() - 1)
    }

    /// Adds an 802.11 cell: stations that share one medium with their access point.
    pub fn wlan(&mut self, name: &str, ap: NodeId, stations: &[NodeId], settings: CellSettings) -> WlanId {
        let stations = stations.iter().map(|station| station.0).collect();
        self.wlans.push(WlanSpec { name: name.to_string(), ap: ap.0, stations, settings, edca: Vec::new() });
        WlanId(self.wlans.len() - 1)
    }

    /// Has a station of a cell contend in its own way.
    pub fn contend(&mut self, wlan: WlanId, station: NodeId, edca: Edca) {
        self.wlans[wlan.0].edca.push((station.0, edca));
    }

    /// Puts a scheme on a link, on a cell or along the path between two nodes.
    pub fn scheme(&mut self, name: &str, on: impl Into<On>, choice: impl Into<SchemeChoice>) {
        self.schemes.push(SchemeSpec { name: name.to_string(), on: on.into(), choice: choice.into() });
    }

    /// Every node, in the order in which they were added.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.nodes.len()).map(NodeId)
    }

    /// Adds a flow.
    pub fn flow(&mut self, flow: Flow) {
        self.flows.push(flow);
    }

    /// Adds a probe; both of its ends are ends of flows, or nobody answers.
    pub fn probe(&mut self, probe: Probe) {
        self.probes.push(probe);
    }

    /// Runs the topology.
    ///
    /// # Errors
    /// The topology cannot be run as described. Failed checks are in the outcome.
    pub fn run(&self, settings: &RunSettings) -> Result<Outcome, SimError> {
        Ok(Engine::new(self, settings, None)?.run(Instant::ZERO + settings.duration))
    }

    /// Runs the topology while `tap` looks on; the outcome is that of [`Topology::run`].
    ///
    /// # Errors
    /// The topology cannot be run as described.
    pub fn run_tapped(&self, settings: &RunSettings, tap: &mut dyn Tap) -> Result<Outcome, SimError> {
        Ok(Engine::new(self, settings, Some(tap))?.run(Instant::ZERO + settings.duration))
    }
}
