//! The status of a running gateway, and the socket that serves it.

mod socket;

pub use socket::{StatusError, StatusServer, ask, names, query};

use super::config::Config;
use super::confine::Confinement;
use super::control::{Ignored, PeerState};
use super::divert::{Diversion, Method, Wanted};
use super::runtime::Runtime;
use crate::device::DeviceCounters;
use crate::sys::clock;
use airtcp_core::{Balance, Gauge, Instant};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The gauge that every element has: packets it keeps.
pub const HELD_PACKETS: &str = "held_packets";

/// A gateway's state; counters since the worker's start.
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
    /// What the worker gave up.
    pub confinement: Confinement,
}

fn table<'a>(entries: impl IntoIterator<Item = (&'a str, u64)>) -> BTreeMap<String, u64> {
    entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

impl Status {
    /// Looks at a runtime.
    pub fn of(identity: &Identity, runtime: &Runtime, diversion: &Diversion) -> Status {
        let (config, ledger) = (&identity.config, runtime.ledger());
        let (received, sent) = (ledger.received, ledger.sent);
        let control = runtime.control_counters().unwrap_or_default();
        let balance = runtime.balance();
        let [inner, link] = runtime.device_counters();
        Status {
            schema: "airtcp.status/1".into(),
            name: config.name.clone(),
            scheme: config.scheme.clone(),
            link: config.link.clone(),
            peer: config.peer.map(|peer| peer.to_string()),
            peer_state: runtime.peer_state(),
            pid: std::process::id(),
            diverting: diversion.is_diverting(),
            takes: diversion.takes(),
            method: diversion.method(),
            uptime_ns: clock::now().saturating_since(identity.started).as_nanos(),
            restarts: identity.restarts,
            packets: table([
                ("received_inner", received[0]),
                ("received_link", received[1]),
                ("sent_inner", sent[0]),
                ("sent_link", sent[1]),
                ("passed_unread", runtime.passed_unread().iter().sum()),
            ]),
            events: table(ledger.events.iter().map(|(event, count)| (event.label(), count))),
            created: table(ledger.created.iter().map(|(reason, count)| (reason.label(), count))),
            discarded: table(ledger.discarded.iter().map(|(reason, count)| (reason.label(), count))),
            gauges: gauges(runtime),
            conserved: balance.holds(),
            conservation: conservation(&balance),
            control: table([
                ("received", control.received),
                ("sent", control.sent),
                ("send_errors", control.send_errors),
                ("handshakes_received", control.handshakes_received),
                ("handshakes_sent", control.handshakes_sent),
            ]),
            control_ignored: table(Ignored::ALL.iter().map(|reason| reason.label()).zip(control.ignored)),
            link_packets: table(diversion.counters()),
            // The socket knows.
            clients: BTreeMap::new(),
            devices: [("out".to_owned(), device(&link)), ("in".to_owned(), device(&inner))].into(),
            confinement: identity.confinement.clone(),
            advice: runtime.element().advice().map(str::to_owned),
            broken: runtime.element().check().err().map(str::to_owned),
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
