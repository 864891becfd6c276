//! The status of a running gateway, and the socket that serves it.

mod door;
mod socket;

pub use door::Report;
pub use socket::{OpenError, StatusError, StatusServer, ask, names, query};

use super::config::Config;
use super::confine::Confinement;
use super::control::{Ignored, PeerState};
use super::divert::{Diversion, Method, Wanted};
use super::hops::Hops;
use super::reload::Reloads;
use super::runtime::Runtime;
use crate::device::DeviceCounters;
use crate::sys::clock;
use airtcp_core::{Balance, Gauge, Instant};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The gauge that every element has: packets it keeps.
pub const HELD_PACKETS: &str = "held_packets";

/// A gateway's state; counters since the worker's start. With several peers, what is counted is the sum of theirs, and what
/// is no sum (`peer`, `peer_state`, `gauges`, `advice`) stands in `peers` only.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names are the documentation: they are the JSON's keys")]
pub struct Status {
    pub schema: String,
    pub name: String,
    pub scheme: String,
    pub link: String,
    pub peer: Option<String>,
    /// What is known of the other gateway: whether it answers, why not, who it is.
    pub peer_state: Option<PeerState>,
    pub pid: u32,
    /// True if packets are taken: the other end is in reach, and known.
    pub diverting: bool,
    /// Which packets are diverted: in a flood that the link has room for, only what the scheme cannot do without.
    pub takes: Wanted,
    /// How packets are taken: `tcx`, `clsact`, `routed`.
    pub method: Method,
    pub uptime_ns: u64,
    pub restarts: u64,
    /// What became of reloads since the daemon's start.
    #[serde(default)]
    pub reloads: Reloads,
    /// Keys: `received_inner`, `received_link`, `sent_inner`, `sent_link`, `passed_unread`.
    pub packets: BTreeMap<String, u64>,
    pub events: BTreeMap<String, u64>,
    pub created: BTreeMap<String, u64>,
    pub discarded: BTreeMap<String, u64>,
    pub gauges: BTreeMap<String, u64>,
    pub conservation: BTreeMap<String, u64>,
    pub conserved: bool,
    pub control: BTreeMap<String, u64>,
    pub control_ignored: BTreeMap<String, u64>,
    /// What the programs at the link did with packets. Keys: `taken_out`, `taken_in`, `back_out`, `back_in`, and
    /// `homeless`: dropped, as nothing is known of their addresses.
    pub link_packets: BTreeMap<String, u64>,
    /// Clients of the status socket. Keys: `answered`, `turned_away`.
    pub clients: BTreeMap<String, u64>,
    /// Keys of the outer map: `out`, `in`.
    pub devices: BTreeMap<String, BTreeMap<String, u64>>,
    /// What the worker can still do.
    pub confinement: Confinement,
    /// What the operator should do something about, in the scheme's words.
    pub advice: Option<String>,
    /// A broken invariant of the scheme, in its own words.
    pub broken: Option<String>,
    /// Each of several peers; empty if there is one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub peers: Vec<PeerStatus>,
}

/// The state of the hop to one of several peers; keys as in [`Status`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "as in `Status`")]
pub struct PeerStatus {
    pub name: String,
    /// Where it is, as far as is known.
    pub peer: Option<String>,
    pub peer_state: Option<PeerState>,
    pub takes: Option<Wanted>,
    pub packets: BTreeMap<String, u64>,
    pub events: BTreeMap<String, u64>,
    pub created: BTreeMap<String, u64>,
    pub discarded: BTreeMap<String, u64>,
    pub gauges: BTreeMap<String, u64>,
    pub conservation: BTreeMap<String, u64>,
    pub conserved: bool,
    pub control: BTreeMap<String, u64>,
    pub control_ignored: BTreeMap<String, u64>,
    pub devices: BTreeMap<String, BTreeMap<String, u64>>,
    pub advice: Option<String>,
    pub broken: Option<String>,
}

/// The part of a status that does not change.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The configuration.
    pub config: Config,
    /// When the worker started.
    pub started: Instant,
    /// Workers before this one.
    pub restarts: u64,
    /// What became of reloads.
    pub reloads: Reloads,
    /// What the worker gave up.
    pub confinement: Confinement,
}

/// Counts by name, as a status has them.
pub(crate) fn table<'a>(entries: impl IntoIterator<Item = (&'a str, u64)>) -> BTreeMap<String, u64> {
    entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

impl Identity {
    /// The name of one of several peers.
    pub fn peer_name(&self, index: usize) -> Option<&str> {
        self.config.peers.get(index).map(|peer| peer.name.as_str())
    }

    /// How the log calls the peer of a hop; `None` if there is none.
    pub fn describe_peer(&self, index: usize, hop: &Runtime) -> Option<String> {
        let address = hop.control()?.address();
        Some(match (self.peer_name(index), address) {
            (None, address) => address?.to_string(),
            (Some(name), Some(address)) => format!("{name} ({address})"),
            (Some(name), None) => name.to_owned(),
        })
    }
}

impl PeerStatus {
    fn of(identity: &Identity, index: usize, hop: &Runtime, diversion: &Diversion) -> PeerStatus {
        let ledger = hop.ledger();
        let (received, sent) = (ledger.received, ledger.sent);
        let control = hop.control_counters().unwrap_or_default();
        let balance = hop.balance();
        let [inner, link] = hop.device_counters();
        let address = hop.control().and_then(|control| control.address());
        PeerStatus {
            name: identity.peer_name(index).unwrap_or_default().to_owned(),
            peer: address.map(|peer| peer.to_string()),
            peer_state: hop.peer_state(),
            takes: Some(diversion.takes(index)),
            packets: table([
                ("received_inner", received[0]),
                ("received_link", received[1]),
                ("sent_inner", sent[0]),
                ("sent_link", sent[1]),
                ("passed_unread", hop.passed_unread().iter().sum()),
            ]),
            events: table(ledger.events.iter().map(|(event, count)| (event.label(), count))),
            created: table(ledger.created.iter().map(|(reason, count)| (reason.label(), count))),
            discarded: table(ledger.discarded.iter().map(|(reason, count)| (reason.label(), count))),
            gauges: gauges(hop),
            conserved: balance.holds(),
            conservation: conservation(&balance),
            control: table([
                ("received", control.received),
                ("sent", control.sent),
                ("send_errors", control.send_errors),
                ("handshakes_received", control.handshakes_received),
                ("handshakes_sent", control.handshakes_sent),
                ("path_mtu_black_holes", control.path_mtu_black_holes),
            ]),
            control_ignored: ignored(control.ignored),
            devices: [("out".to_owned(), device(&link)), ("in".to_owned(), device(&inner))].into(),
            advice: diversion.advice(index).or_else(|| hop.advice()).map(str::to_owned),
            broken: hop.element().check().err().map(str::to_owned),
        }
    }

    /// All of them together: sums, and nothing of what is no sum.
    fn sum(peers: &[PeerStatus]) -> PeerStatus {
        let mut all = PeerStatus { conserved: true, ..PeerStatus::default() };
        for peer in peers {
            add(&mut all.packets, &peer.packets);
            add(&mut all.events, &peer.events);
            add(&mut all.created, &peer.created);
            add(&mut all.discarded, &peer.discarded);
            add(&mut all.conservation, &peer.conservation);
            add(&mut all.control, &peer.control);
            add(&mut all.control_ignored, &peer.control_ignored);
            peer.devices.iter().for_each(|(way, counts)| add(all.devices.entry(way.clone()).or_default(), counts));
            all.conserved &= peer.conserved;
            all.takes = all.takes.max(peer.takes);
            if let (None, Some(broken)) = (&all.broken, &peer.broken) {
                all.broken = Some(format!("{}: {broken}", peer.name));
            }
        }
        all
    }
}

fn add(sum: &mut BTreeMap<String, u64>, counts: &BTreeMap<String, u64>) {
    counts.iter().for_each(|(key, count)| *sum.entry(key.clone()).or_default() += count);
}

fn ignored(counts: impl IntoIterator<Item = u64>) -> BTreeMap<String, u64> {
    table(Ignored::ALL.iter().map(|reason| reason.label()).zip(counts))
}

impl Status {
    /// Looks at the hops.
    pub fn of(identity: &Identity, hops: &Hops, diversion: &Diversion) -> Status {
        let config = &identity.config;
        let of = |(index, hop)| PeerStatus::of(identity, index, hop, diversion);
        let mut peers: Vec<PeerStatus> = hops.iter().enumerate().map(of).collect();
        let mut whole = if config.peers.is_empty() { peers.remove(0) } else { PeerStatus::sum(&peers) };
        // Whose these messages were, nobody knows.
        add(&mut whole.control_ignored, &ignored(hops.strangers()));
        Status {
            schema: "airtcp.status/1".into(),
            name: config.name.clone(),
            scheme: config.scheme.clone(),
            link: config.link.clone(),
            peer: whole.peer,
            peer_state: whole.peer_state,
            pid: std::process::id(),
            diverting: diversion.is_diverting(),
            takes: whole.takes.unwrap_or(Wanted::Nothing),
            method: diversion.method(),
            uptime_ns: clock::now().saturating_since(identity.started).as_nanos(),
            restarts: identity.restarts,
            reloads: identity.reloads.clone(),
            packets: whole.packets,
            events: whole.events,
            created: whole.created,
            discarded: whole.discarded,
            gauges: whole.gauges,
            conserved: whole.conserved,
            conservation: whole.conservation,
            control: whole.control,
            control_ignored: whole.control_ignored,
            link_packets: table(diversion.counters()),
            // The socket knows.
            clients: BTreeMap::new(),
            devices: whole.devices,
            confinement: identity.confinement.clone(),
            advice: whole.advice,
            broken: whole.broken,
            peers,
        }
    }
}

fn gauges(runtime: &Runtime) -> BTreeMap<String, u64> {
    let mut levels = BTreeMap::new();
    runtime.element().observe(&mut |gauge: Gauge, level| {
        levels.insert(gauge.label().to_owned(), level);
    });
    let held = runtime.element().held();
    levels.insert(HELD_PACKETS.into(), held.packets as u64);
    levels
}

fn conservation(balance: &Balance) -> BTreeMap<String, u64> {
    table([
        ("received", balance.received),
        ("created", balance.created),
        ("sent", balance.sent),
        ("held", balance.held),
        ("consumed", balance.consumed),
        ("discarded", balance.discarded),
    ])
}

fn device(counters: &DeviceCounters) -> BTreeMap<String, u64> {
    table([
        ("received_packets", counters.received_packets),
        ("received_bytes", counters.received_bytes),
        ("sent_packets", counters.sent_packets),
        ("sent_bytes", counters.sent_bytes),
        ("errors_down", counters.errors_down),
        ("errors_memory", counters.errors_memory),
        ("errors_invalid", counters.errors_invalid),
        ("errors_other", counters.errors_other),
    ])
}
