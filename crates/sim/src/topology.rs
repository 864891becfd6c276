//! Describing a network: nodes, links, schemes on links, flows between nodes.

use crate::address::Family;
use crate::dot11::{CellSettings, Edca};
use crate::index::{FlowId, LinkId, NodeId, ProbeId, WlanId, WorkloadId};
use airtcp_core::Duration;
use airtcp_link::LinkSettings;
use airtcp_schemes::SchemeChoice;
use airtcp_schemes::socket::SocketChoice;
use airtcp_tcp::Config;
use std::sync::Arc;
use typed_index_collections::TiVec;

/// A network and what happens on it.
#[derive(Clone, Default)]
pub struct Topology {
    /// Their names, which runs and flows share, as those of links and flows.
    pub(crate) nodes: Arc<TiVec<NodeId, Arc<str>>>,
    /// Runs share them, too.
    pub(crate) links: Arc<TiVec<LinkId, LinkSpec>>,
    pub(crate) wlans: TiVec<WlanId, WlanSpec>,
    pub(crate) schemes: Vec<SchemeSpec>,
    pub(crate) flows: TiVec<FlowId, FlowSpec>,
    pub(crate) probes: TiVec<ProbeId, Probe>,
    pub(crate) workloads: TiVec<WorkloadId, Workload>,
}

#[derive(Clone)]
pub(crate) struct LinkSpec {
    pub name: Arc<str>,
    pub ends: [NodeId; 2],
    /// Many links have the same.
    pub settings: Arc<[LinkSettings; 2]>,
}

#[derive(Clone)]
pub(crate) struct WlanSpec {
    pub name: String,
    pub ap: NodeId,
    pub stations: Vec<NodeId>,
    pub settings: CellSettings,
    /// Stations with contention parameters of their own.
    pub edca: Vec<(NodeId, Edca)>,
}

/// What a scheme is placed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum On {
    /// A link: one element at its near end, or one at each.
    Link(LinkId),
    /// An 802.11 cell: an element at the access point (the near end), and one at each station (the far ends).
    Wlan(WlanId),
    /// The path that packets take from one node to another: an element at each of the two.
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

/// A flow of a topology.
#[derive(Clone)]
pub(crate) struct FlowSpec {
    pub name: Arc<str>,
    pub from: NodeId,
    pub to: NodeId,
    /// Many flows have the same.
    pub tcp: Arc<Config>,
    pub socket: Arc<SocketChoice>,
    pub start: Duration,
    pub size: Option<u64>,
    pub is_ipv6: bool,
}

/// Settings that are kept once with those of the one before, if they are equal.
fn shared<T: PartialEq>(settings: T, last: Option<&Arc<T>>) -> Arc<T> {
    last.filter(|last| ***last == settings).cloned().unwrap_or_else(|| Arc::new(settings))
}

pub(crate) fn family(is_ipv6: bool) -> Family {
    if is_ipv6 { Family::V6 } else { Family::V4 }
}

impl Flow {
    /// A TCP connection with default settings over IPv4, from the beginning of the run to its end.
    pub fn new(name: &str, from: NodeId, to: NodeId) -> Flow {
        let (socket, tcp) = (SocketChoice::default(), Config::default());
        Flow { name: name.to_owned(), from, to, socket, tcp, start: Duration::ZERO, size: None, ipv6: false }
    }
}

impl FlowSpec {
    /// The flow behind `last`.
    fn new(flow: Flow, last: Option<&FlowSpec>) -> FlowSpec {
        let Flow { name, from, to, socket, tcp, start, size, ipv6: is_ipv6 } = flow;
        let tcp = shared(tcp, last.map(|last| &last.tcp));
        let socket = shared(socket, last.map(|last| &last.socket));
        FlowSpec { name: name.into(), from, to, tcp, socket, start, size, is_ipv6 }
    }

    pub fn family(&self) -> Family {
        family(self.is_ipv6)
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

/// Requests that begin when they are due, each over a TCP connection of its own: an open loop.
#[derive(Clone)]
pub struct Workload {
    /// Name in the scenario.
    pub name: String,
    /// The server, which answers.
    pub from: NodeId,
    /// The client, which asks.
    pub to: NodeId,
    /// Both ends' TCP.
    pub tcp: Config,
    /// Bytes of what the client sends to be answered; at least one.
    pub request: u64,
    /// The requests, in the order in which they begin.
    pub arrivals: Arc<[Arrival]>,
    /// Most connections that are open at the client at one time; a request waits until there is room.
    pub connections: u32,
    /// IPv4 or IPv6.
    pub ipv6: bool,
}

impl Workload {
    /// Ports of a client; each of the server's ports has all of them once.
    pub(crate) const CLIENT_PORTS: u32 = 28_976;
    /// Ports of a server.
    pub(crate) const SERVER_PORTS: u32 = 64;
    /// Most requests that one can have: no two have the same ports.
    pub const MOST_REQUESTS: usize = (Workload::CLIENT_PORTS * Workload::SERVER_PORTS) as usize;
    /// Most workloads of a topology: then the servers' ports are used up.
    pub const MOST: usize = 64;
}

/// A request of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When it begins, since the start of the run.
    pub at: Duration,
    /// Bytes of the answer; at least one.
    pub size: u64,
}

impl Topology {
    /// An empty topology.
    pub fn new() -> Self {
        Topology::default()
    }

    /// Adds a node. Every node forwards; one named by a flow is also a host.
    pub fn node(&mut self, name: &str) -> NodeId {
        Arc::make_mut(&mut self.nodes).push_and_get_key(name.into())
    }

    /// Adds a link; `forward` is the direction from `a` to `b`.
    pub fn link(&mut self, name: &str, a: NodeId, b: NodeId, forward: LinkSettings, reverse: LinkSettings) -> LinkId {
        let settings = shared([forward, reverse], self.links.last().map(|last| &last.settings));
        Arc::make_mut(&mut self.links).push_and_get_key(LinkSpec { name: name.into(), ends: [a, b], settings })
    }

    /// Adds an 802.11 cell: stations that share one medium with their access point.
    pub fn wlan(&mut self, name: &str, ap: NodeId, stations: &[NodeId], settings: CellSettings) -> WlanId {
        let (name, stations) = (name.to_string(), stations.to_vec());
        self.wlans.push_and_get_key(WlanSpec { name, ap, stations, settings, edca: Vec::new() })
    }

    /// Gives a station of a cell contention parameters of its own.
    pub fn contend(&mut self, wlan: WlanId, station: NodeId, edca: Edca) {
        self.wlans[wlan].edca.push((station, edca));
    }

    /// Puts a scheme on a link, on a cell or along the path between two nodes.
    pub fn scheme(&mut self, name: &str, on: impl Into<On>, choice: impl Into<SchemeChoice>) {
        self.schemes.push(SchemeSpec { name: name.to_string(), on: on.into(), choice: choice.into() });
    }

    /// Every node, in the order in which they were added.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> + use<> {
        self.nodes.keys()
    }

    /// Adds a flow.
    pub fn flow(&mut self, flow: Flow) {
        let flow = FlowSpec::new(flow, self.flows.last());
        self.flows.push(flow);
    }

    /// Adds a probe; both of its ends are ends of flows, or nobody answers.
    pub fn probe(&mut self, probe: Probe) {
        self.probes.push(probe);
    }

    /// Adds a workload.
    pub fn workload(&mut self, workload: Workload) {
        self.workloads.push(workload);
    }
}
