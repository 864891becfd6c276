//! Scenarios as data: nodes, links, flows, schemes, and what to vary.
//!
//! A file is read into a [`document`] in which everything knows its line, completed from its `base` and by `--set`
//! ([`merge`]), multiplied out over `[vary]` ([`vary`]), and each combination is read strictly into a
//! [`ResolvedScenario`]. Errors stand in [`error`]; nothing is built before all cells are read.

mod built_in;
mod defaults;
pub mod document;
pub mod error;
mod flow;
mod groups;
mod keys;
mod levels;
mod limits;
mod link;
mod load;
mod merge;
pub mod overlay;
mod parse;
mod place;
mod presentation;
mod probe;
mod resolve;
mod scheme;
mod section;
mod socket;
mod source;
mod topology;
mod traces;
mod vary;
mod wlan;
pub mod workload;
mod write;

pub use built_in::BUILT_IN;
pub use document::{Entry, Origin, Value};
pub use error::{Problem, ScenarioError};
pub use flow::KEYS as FLOW_KEYS;
pub use keys::Keys;
pub use levels::{FLOW_COLUMNS, LevelKind, LevelSpec, varying_rates};
pub use load::Scenario;
pub(crate) use load::fill_from_base;
pub use parse::parse;
pub use place::Place;
pub use presentation::{Across, CurveSpec, FigureSpec, PrintedSpec, TableSpec};
pub use probe::{KEYS as PROBE_KEYS, ProbeSpec};
pub use resolve::KEYS as TOP_LEVEL;
pub use scheme::scheme_settings;
pub use section::Key;
pub use source::Source;
pub use topology::{Hop, Paths, Step};
pub use traces::TraceFiles;
pub use wlan::KEYS as WLAN_KEYS;
pub use workload::KEYS as WORKLOAD_KEYS;
pub use write::{document as text_of, hash};

use airtcp_core::{ByteSize, Duration, Rate, Rng};
use airtcp_link::LinkSettings;
use airtcp_schemes::socket::{PacketSizes, SocketChoice};
use airtcp_sim::dot11::{CellSettings, Edca};
use std::borrow::Cow;

/// One combination of what varies.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Label of each varied key, in the order of the file.
    pub at: Vec<(String, String)>,
    /// What to run.
    pub scenario: ResolvedScenario,
}

/// A scenario without choices left.
#[derive(Clone, Debug)]
pub struct ResolvedScenario {
    /// Name of the scenario.
    pub name: String,
    /// Length of a run.
    pub duration: Duration,
    /// Time at the start that is left out of every rate.
    pub warmup: Duration,
    /// Names, in the order of the file.
    pub nodes: Vec<String>,
    /// In the order of the file.
    pub links: Vec<LinkSpec>,
    /// In the order of the file.
    pub wlans: Vec<WlanSpec>,
    /// In the order of the file.
    pub flows: Vec<FlowSpec>,
    /// In the order of the file.
    pub probes: Vec<ProbeSpec>,
    /// In the order of the file.
    pub workloads: Vec<WorkloadSpec>,
    /// In the order of the file, without those of kind `none`.
    pub schemes: Vec<SchemeSpec>,
    /// Distance of the samples, if the file says so.
    pub sample_every: Option<Duration>,
    /// What figures over time show besides flows.
    pub levels: Vec<LevelSpec>,
}

impl ResolvedScenario {
    /// Distance of the samples in a run's series: about 200 of them, unless the file says otherwise.
    pub fn sample_every(&self) -> Duration {
        self.sample_every.unwrap_or_else(|| Duration::from_millis((self.duration.as_millis() / 200).max(10)))
    }

    /// True for a node at which a flow or a workload starts or ends; any other forwards.
    pub fn is_host(&self, node: usize) -> bool {
        let of_flow = self.flows.iter().any(|flow| flow.from == node || flow.to == node);
        of_flow || self.workloads.iter().any(|workload| workload.from == node || workload.to == node)
    }

    /// The scenario of the run with `seed`: flows start within the time that they may.
    pub fn of_run(&self, seed: u64) -> Cow<'_, ResolvedScenario> {
        if self.flows.iter().all(|flow| flow.start_within.is_zero()) {
            return Cow::Borrowed(self);
        }
        let mut drawn = self.clone();
        for flow in &mut drawn.flows {
            let mut rng = Rng::derive(seed, &format!("flows.{}/start", flow.name));
            flow.start += Duration::from_nanos(rng.below(flow.start_within.as_nanos()));
        }
        Cow::Owned(drawn)
    }

    /// Everything that leads from one node to another: the links, then each station of each cell with its access point.
    pub fn spans(&self) -> impl Iterator<Item = Span<'_>> {
        let links = self.links.iter().map(|link| Span {
            name: format!("links.{}", link.name),
            between: link.between,
            rates: [link.forward.rate.constant(), link.reverse.rate.constant()],
            kind: "link",
            short: &link.name,
        });
        let airs = self.wlans.iter().flat_map(|wlan| {
            wlan.stations.iter().map(|station| Span {
                name: format!("wlans.{}.{}", wlan.name, self.nodes[*station]),
                between: [*station, wlan.ap],
                rates: [Some(wlan.settings.data_rate()); 2],
                kind: "wlan",
                short: &wlan.name,
            })
        });
        links.chain(airs)
    }

    /// Length of the part of a run that is measured.
    pub fn measured(&self) -> Duration {
        self.duration.saturating_sub(self.warmup)
    }
}

/// What leads from one node to another and back.
#[derive(Clone, Debug)]
pub struct Span<'a> {
    /// `links.air`, `wlans.wifi.sta1`.
    pub name: String,
    /// Its nodes: forward is from the first to the second.
    pub between: [usize; 2],
    /// Forward and back; `None` where nothing limits it, and where it varies.
    pub rates: [Option<Rate>; 2],
    /// `link` or `wlan`.
    pub kind: &'static str,
    /// Its name in the file.
    pub short: &'a str,
}

/// An 802.11 cell.
#[derive(Clone, Debug)]
pub struct WlanSpec {
    /// Name in the file.
    pub name: String,
    /// Its access point.
    pub ap: usize,
    /// Its stations.
    pub stations: Vec<usize>,
    /// Physical layer, contention, queues.
    pub settings: CellSettings,
    /// Stations that contend in their own way.
    pub edca: Vec<(usize, Edca)>,
}

/// A link and both of its directions.
#[derive(Clone, Debug)]
pub struct LinkSpec {
    /// Name in the file.
    pub name: String,
    /// Its nodes: forward is from the first to the second.
    pub between: [usize; 2],
    /// From the first to the second.
    pub forward: LinkSettings,
    /// From the second to the first.
    pub reverse: LinkSettings,
}

/// Version of the Internet Protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IpVersion {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

/// A TCP transfer.
#[derive(Clone, Debug)]
pub struct FlowSpec {
    /// Name in the file.
    pub name: String,
    /// Node that sends.
    pub from: usize,
    /// Node that receives.
    pub to: usize,
    /// What carries it.
    pub socket: SocketChoice,
    /// Slug of the congestion controller of a TCP connection; [`airtcp_tcp::Config::controller`] is it where the simulator has it.
    pub controller: String,
    /// When it starts, at the earliest.
    pub start: Duration,
    /// It starts at a random time within this, after `start`.
    pub start_within: Duration,
    /// Application bytes; `None` sends until the end.
    pub size: Option<ByteSize>,
    /// What is its due beside the others, for the index of fairness. (AST-17)
    pub weight: u32,
    /// Which IP.
    pub ip: IpVersion,
    /// Parameters of both endpoints.
    pub config: airtcp_tcp::Config,
}

impl FlowSpec {
    /// Bytes of a full packet.
    pub fn sizes(&self) -> PacketSizes {
        self.socket.settings.sizes(&self.config, self.ip == IpVersion::V4)
    }
}

/// Requests that begin when they are due.
#[derive(Clone, Debug)]
pub struct WorkloadSpec {
    /// Name in the file.
    pub name: String,
    /// Node that answers.
    pub from: usize,
    /// Node that asks.
    pub to: usize,
    /// Slug of the congestion controller of the server.
    pub controller: String,
    /// Application bits per second of answers, on average.
    pub load: Rate,
    /// What their sizes are drawn from.
    pub sizes: workload::Sizes,
    /// Bytes of what the client sends to be answered.
    pub request: u64,
    /// When the first may begin.
    pub start: Duration,
    /// Requests that begin in the last so much of a run are not counted.
    pub grace: Duration,
    /// Most connections that the client has open at one time.
    pub connections: u32,
    /// Which IP.
    pub ip: IpVersion,
    /// Parameters of both endpoints.
    pub config: airtcp_tcp::Config,
}

/// What a scheme is on, by its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    /// A link.
    Link(usize),
    /// An 802.11 cell.
    Wlan(usize),
    /// The way from one node to another.
    Path(usize, usize),
}

/// A scheme and where it is placed.
#[derive(Clone)]
pub struct SchemeSpec {
    /// Name in the file.
    pub name: String,
    /// Slug.
    pub kind: String,
    /// What it is on.
    pub on: On,
    /// Its line in the table, and its settings.
    pub choice: airtcp_schemes::SchemeChoice,
}

impl std::fmt::Debug for SchemeSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let SchemeSpec { name, kind, on, choice } = self;
        write!(f, "{name}: {kind} on {on:?}")?;
        choice.settings.given().iter().try_for_each(|field| write!(f, " {}={}", field.name, field.value))
    }
}
