//! What daemons answer, as the view needs it: a telling for each link to a peer, and one for each forwarder.

use crate::verbs::told::Told;
use airtcp_core::{Event, Gauge};
use airtcp_linux::forwarder;
use airtcp_linux::gateway::control::PeerState;
use airtcp_linux::gateway::divert::Wanted;
use airtcp_linux::gateway::status::{PeerStatus, Status};
use std::collections::BTreeMap;

/// Events that count packets sent before anybody missed them.
const EXTRA: [&str; 4] = ["spare_copies", "codes", "redundant_copies", "code_packets"];
/// Events by which traffic is left as it is, and what they count.
const LEFT_ALONE: [(&str, &str); 7] = [
    (Event::FLOW_PASSED.label(), "new flows (the table is full)"),
    (Event::FLOW_EVICTED.label(), "flows forgotten for others"),
    (Event::UNPROTECTED.label(), "packets without room for a shim"),
    (Event::LINK_SHARED.label(), "times repairs did harm"),
    ("frames_blocked", "times no frame arrived"),
    ("tolerant_segments", "segments of flows that a loss does not slow down"),
    ("repairs_refused", "repairs beyond their share"),
];
/// The same of a forwarder.
const REFUSED: [(&str, &str); 5] = [
    ("refused_limit", "connections (the table is full)"),
    ("refused_peer", "connections (no peer)"),
    ("refused_not_allowed", "connections (not allowed)"),
    ("refused_by_host", "connections (the host refuses)"),
    ("gave_up", "connections (given up)"),
];

/// How a link is, in a word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum State {
    #[default]
    Ok,
    /// There is something to do about it.
    Notice,
    NoPeer,
    /// No packets are taken.
    Idle,
    /// The daemon does not answer.
    Silent,
    /// Its socket is not there any more.
    Gone,
}

impl State {
    pub(super) const fn word(self) -> &'static str {
        match self {
            State::Ok => "ok",
            State::Notice => "notice",
            State::NoPeer => "no peer",
            State::Idle => "idle",
            State::Silent => "silent",
            State::Gone => "gone",
        }
    }
}

/// Counters since the daemon's start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Bytes of hosts: on their way to the peer, without repairs and redundancy.
    pub to_bytes: u64,
    /// The same of what came from the peer, if that is known.
    pub from_bytes: Option<u64>,
    /// Packets to the peer.
    pub packets: u64,
    /// Of these, those that were found missing there.
    pub lost: u64,
    pub repaired: u64,
    /// Redundancy: packets sent before anybody missed them.
    pub extra: u64,
    /// Packets from the peer that were computed from redundancy.
    pub recovered: u64,
    /// Packets from the peer that were passed on although one before them is missing.
    pub across_gaps: u64,
}

/// What one daemon tells of one link, or of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Telling {
    /// The daemon's name.
    pub name: String,
    /// One of several peers; empty where there is one.
    pub of: String,
    /// What it runs, and where.
    pub kind: String,
    /// The other end's name or address; empty if it is not known.
    pub peer: String,
    pub state: State,
    /// In a sentence, where there is more to say.
    pub why: String,
    /// At which the queue before the link is emptied.
    pub rate_bps: Option<u64>,
    /// Bytes before the link.
    pub queue_bytes: Option<u64>,
    /// The time that these take, and that packets wait in the link behind them.
    pub queue_wait_ns: Option<u64>,
    pub link_wait_ns: Option<u64>,
    pub round_trip_ns: Option<u64>,
    /// Flows that have state.
    pub flows: Option<u64>,
    /// What was left as it is, and how often.
    pub left_alone: Vec<(&'static str, u64)>,
    pub dropped: Vec<(String, u64)>,
    pub counts: Counts,
}

impl Telling {
    /// How long a packet waits until it is on the air.
    pub(super) fn wait_ns(&self) -> Option<u64> {
        match (self.queue_wait_ns, self.link_wait_ns) {
            (None, None) => None,
            (queue, link) => Some(queue.unwrap_or(0).saturating_add(link.unwrap_or(0))),
        }
    }

    /// Of a daemon of which nothing else is known.
    pub(super) fn silent(name: &str, why: &str) -> Telling {
        Telling { name: name.to_owned(), state: State::Silent, why: why.to_owned(), ..Telling::default() }
    }
}

/// What a daemon told.
pub(super) fn tellings(told: &Told) -> Vec<Telling> {
    match told {
        Told::Gateway(status) if status.peers.is_empty() => vec![of_gateway(status)],
        Told::Gateway(status) => status.peers.iter().map(|peer| of_peer(status, peer)).collect(),
        Told::Forwarder(status) => vec![of_forwarder(status)],
    }
}

type Table = BTreeMap<String, u64>;

fn count(table: &Table, key: &str) -> u64 {
    table.get(key).copied().unwrap_or(0)
}

/// Those that are not zero, and their names in `words`.
fn named(table: &Table, words: &[(&'static str, &'static str)]) -> Vec<(&'static str, u64)> {
    words.iter().map(|(key, words)| (*words, count(table, key))).filter(|(_, count)| *count > 0).collect()
}

fn not_zero(table: &Table) -> Vec<(String, u64)> {
    table.iter().filter(|(_, count)| **count > 0).map(|(key, count)| (key.clone(), *count)).collect()
}

/// The tables that a gateway with one peer has for itself, and one with several has for each.
struct Hop<'a> {
    state: Option<&'a PeerState>,
    takes: Wanted,
    packets: &'a Table,
    events: &'a Table,
    discarded: &'a Table,
    gauges: &'a Table,
    devices: &'a BTreeMap<String, Table>,
    notice: Option<&'a String>,
}

fn of_gateway(status: &Status) -> Telling {
    let hop = Hop {
        state: status.peer_state.as_ref(),
        takes: status.takes,
        packets: &status.packets,
        events: &status.events,
        discarded: &status.discarded,
        gauges: &status.gauges,
        devices: &status.devices,
        notice: status.broken.as_ref().or(status.advice.as_ref()),
    };
    let peer = status.peer.clone().unwrap_or_default();
    Telling { peer, ..of_hop(status, &hop) }
}

fn of_peer(status: &Status, peer: &PeerStatus) -> Telling {
    let hop = Hop {
        state: peer.peer_state.as_ref(),
        takes: peer.takes.unwrap_or(status.takes),
        packets: &peer.packets,
        events: &peer.events,
        discarded: &peer.discarded,
        gauges: &peer.gauges,
        devices: &peer.devices,
        notice: peer.broken.as_ref().or(peer.advice.as_ref()),
    };
    Telling { of: peer.name.clone(), peer: peer.name.clone(), ..of_hop(status, &hop) }
}

fn of_hop(status: &Status, hop: &Hop<'_>) -> Telling {
    let gauge = |gauge: Gauge| hop.gauges.get(gauge.label()).copied();
    let (state, why) = state_of(status, hop);
    // A circuit sends a window in a round trip.
    let round_trip_ns = gauge(Gauge::LINK_RTT_NS).filter(|time| *time > 0);
    let window = hop.gauges.get("circuit_window_bytes").copied();
    let of_window = window.zip(round_trip_ns).map(|(bytes, time)| bytes.saturating_mul(8_000_000_000) / time);
    let rate_bps = gauge(Gauge::RATE_BPS).or(of_window).filter(|rate| *rate > 0);
    let queue_bytes = gauge(Gauge::QUEUE_BYTES);
    let queue_wait = queue_bytes.zip(rate_bps).map(|(bytes, rate)| bytes.saturating_mul(8_000_000_000) / rate);
    let mut left_alone = named(hop.events, &LEFT_ALONE);
    left_alone.extend(named(hop.packets, &[("passed_unread", "packets that are no IP")]));
    Telling {
        name: status.name.clone(),
        kind: format!("{} on {}", status.scheme, status.link),
        state,
        why,
        rate_bps,
        queue_bytes,
        queue_wait_ns: queue_wait,
        link_wait_ns: gauge(Gauge::LINK_WAIT_NS),
        round_trip_ns,
        flows: gauge(Gauge::FLOWS),
        left_alone,
        dropped: not_zero(hop.discarded),
        counts: counts(hop),
        ..Telling::default()
    }
}

fn counts(hop: &Hop<'_>) -> Counts {
    let event = |event: Event| count(hop.events, event.label());
    let device = |way, key| hop.devices.get(way).map_or(0, |device| count(device, key));
    let of_hosts = Counts {
        to_bytes: device("out", "received_bytes"),
        from_bytes: Some(device("in", "sent_bytes")),
        packets: count(hop.packets, "received_inner"),
        lost: event(Event::REPAIR) + event(Event::GIVEN_UP),
        repaired: event(Event::REPAIR),
        extra: EXTRA.iter().map(|label| count(hop.events, label)).sum(),
        recovered: event(Event::RECOVERED),
        across_gaps: event(Event::RELEASED_ACROSS_GAP),
    };
    match count(hop.events, "header_packets") {
        0 => of_hosts,
        // What a trunk learns of the path, it learns from these.
        packets => Counts { packets, lost: count(hop.events, "header_retransmissions"), ..of_hosts },
    }
}

fn state_of(status: &Status, hop: &Hop<'_>) -> (State, String) {
    match (hop.state, hop.notice) {
        (Some(peer), _) if !peer.up => (State::NoPeer, peer.why.clone()),
        (_, Some(notice)) => (State::Notice, notice.clone()),
        _ if !status.diverting || hop.takes == Wanted::Nothing => {
            (State::Idle, "no packets are taken, the kernel forwards".to_owned())
        }
        _ if status.reloads.last_refused => {
            (State::Notice, format!("the last reload was refused: {}", status.reloads.last))
        }
        _ => (State::Ok, String::new()),
    }
}

fn of_forwarder(status: &forwarder::Status) -> Telling {
    let counter = |key: &str| count(&status.counters, key);
    let (state, why) = match (status.peer_state.up, status.reloads.last_refused) {
        (false, _) => (State::NoPeer, status.state.clone()),
        (true, true) => (State::Notice, format!("the last reload was refused: {}", status.reloads.last)),
        (true, false) => (State::Ok, String::new()),
    };
    Telling {
        name: status.name.clone(),
        kind: "forwarder".into(),
        peer: status.peer.clone(),
        state,
        why,
        queue_bytes: status.gauges.get("memory").copied(),
        flows: status.gauges.get("connections").copied(),
        left_alone: named(&status.counters, &REFUSED),
        dropped: status.broken.iter().map(|(errno, count)| (format!("reset by {errno}"), *count)).collect(),
        counts: Counts {
            to_bytes: counter("virtual_bytes") + counter("guaranteed_bytes"),
            packets: counter("header_packets"),
            lost: counter("headers_resent"),
            repaired: counter("data_resent"),
            ..Counts::default()
        },
        ..Telling::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airtcp_schemes::SCHEMES;

    fn table(pairs: &[(&str, u64)]) -> Table {
        pairs.iter().map(|(key, count)| ((*key).to_owned(), *count)).collect()
    }

    /// As a worker would tell it.
    fn status(change: serde_json::Value) -> Status {
        let mut text = serde_json::json!({
            "schema": "airtcp.status/1", "name": "air", "scheme": "local-recovery", "link": "wlan0", "peer": "10.9.0.2:4791",
            "peer_state": {"up": true, "why": "", "secured": true, "introduction": null},
            "pid": 1, "diverting": true, "takes": "all", "method": "tcx", "uptime_ns": 1, "restarts": 0, "packets": {}, "events": {},
            "created": {}, "discarded": {}, "gauges": {}, "conservation": {}, "conserved": true, "control": {},
            "control_ignored": {}, "link_packets": {}, "clients": {}, "devices": {}, "confinement": null, "advice": null,
            "broken": null
        });
        text["confinement"] = serde_json::to_value(airtcp_linux::gateway::confine::Confinement::default()).unwrap();
        text.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        serde_json::from_value(text).unwrap()
    }

    fn of(change: serde_json::Value) -> Telling {
        tellings(&Told::Gateway(Box::new(status(change)))).remove(0)
    }

    #[test]
    fn every_event_that_is_looked_for_is_one_that_a_scheme_has() {
        let of_schemes = SCHEMES.iter().flat_map(|scheme| scheme.reports.events).chain(Event::COMMON);
        let known: Vec<&str> = of_schemes.map(|event| event.label()).collect();
        let looked_for = LEFT_ALONE.iter().map(|(label, _)| *label).chain(EXTRA);
        for label in looked_for.chain(["header_packets", "header_retransmissions"]) {
            assert!(known.contains(&label), "no scheme has the event {label}");
        }
        let gauges: Vec<&str> =
            SCHEMES.iter().flat_map(|scheme| scheme.reports.gauges).map(|gauge| gauge.label()).collect();
        assert!(gauges.contains(&"circuit_window_bytes"));
    }

    #[test]
    fn a_gateway_tells_its_rate_its_queue_and_what_was_lost() {
        let told = of(serde_json::json!({
            "gauges": {"rate_bps": 8_000_000, "queue_bytes": 10_000, "link_wait_ns": 3_000_000, "link_rtt_ns": 30_000_000},
            "events": {"repairs": 20, "given_up": 1, "codes": 5, "spare_copies": 2, "unprotected": 3, "recovered": 4},
            "packets": {"received_inner": 1000, "passed_unread": 2},
            "discarded": {"aqm": 0, "queue_full": 7},
            "devices": {"out": {"received_bytes": 500, "sent_bytes": 900}, "in": {"received_bytes": 80, "sent_bytes": 70}},
        }));
        assert_eq!((told.state, told.kind.as_str()), (State::Ok, "local-recovery on wlan0"));
        assert_eq!(
            (told.rate_bps, told.queue_wait_ns, told.wait_ns()),
            (Some(8_000_000), Some(10_000_000), Some(13_000_000))
        );
        let Counts { to_bytes, from_bytes, packets, lost, repaired, extra, recovered, .. } = told.counts;
        assert_eq!(
            (to_bytes, from_bytes, packets, lost, repaired, extra, recovered),
            (500, Some(70), 1000, 21, 20, 7, 4)
        );
        assert_eq!(told.left_alone, [("packets without room for a shim", 3), ("packets that are no IP", 2)]);
        assert_eq!(told.dropped, [("queue_full".to_owned(), 7)]);
    }

    #[test]
    fn a_trunk_believes_what_its_windows_allow_and_counts_its_header_packets() {
        let told = of(serde_json::json!({
            "scheme": "decoupling",
            "gauges": {"circuit_window_bytes": 125_000, "link_rtt_ns": 100_000_000},
            "events": {"header_packets": 200, "header_retransmissions": 4},
            "packets": {"received_inner": 3000},
        }));
        assert_eq!((told.rate_bps, told.counts.packets, told.counts.lost), (Some(10_000_000), 200, 4));
    }

    #[test]
    fn each_of_several_peers_has_a_telling() {
        let peer = |name: &str| PeerStatus { name: name.into(), takes: Some(Wanted::All), ..PeerStatus::default() };
        let hub = Status { peers: vec![peer("east"), peer("west")], ..status(serde_json::json!({})) };
        let told = tellings(&Told::Gateway(Box::new(hub)));
        let named: Vec<_> = told.iter().map(|told| (told.name.as_str(), told.of.as_str(), told.state.word())).collect();
        assert_eq!(named, [("air", "east", "ok"), ("air", "west", "ok")]);
    }

    #[test]
    fn the_state_of_a_link_is_a_word_and_a_reason() {
        let peer =
            |up: bool| serde_json::json!({"up": up, "why": "nothing is heard", "secured": true, "introduction": null});
        let said = |told: Telling| (told.state, told.why);
        assert_eq!(
            said(of(serde_json::json!({"peer_state": peer(false)}))),
            (State::NoPeer, "nothing is heard".into())
        );
        assert_eq!(said(of(serde_json::json!({"advice": "send less"}))), (State::Notice, "send less".into()));
        assert_eq!(of(serde_json::json!({"diverting": false})).state, State::Idle);
        assert_eq!(of(serde_json::json!({"takes": "nothing"})).state, State::Idle);
        let reloads = serde_json::json!({"asked": 1, "refused": 1, "last": "line 3: no", "last_refused": true});
        let refused = said(of(serde_json::json!({"reloads": reloads})));
        assert!(refused.0 == State::Notice && refused.1.contains("line 3"), "{refused:?}");
    }

    #[test]
    fn a_forwarder_tells_its_connections_and_whom_it_refused() {
        let up = PeerState { up: true, why: String::new(), secured: true, introduction: None };
        let status = forwarder::Status {
            schema: "airtcp.forwarder/1".into(),
            name: "forward".into(),
            pid: 1,
            uptime_ns: 1,
            peer: "10.9.0.2:4791".into(),
            peer_state: up,
            state: "forwarding".into(),
            gauges: table(&[("connections", 3), ("memory", 4_000)]),
            counters: table(&[
                ("virtual_bytes", 1_000),
                ("header_packets", 10),
                ("headers_resent", 1),
                ("refused_peer", 2),
            ]),
            broken: table(&[("ECONNRESET", 1)]),
            ignored: Table::new(),
            clients: Table::new(),
            reloads: Default::default(),
        };
        let told = tellings(&Told::Forwarder(Box::new(status))).remove(0);
        assert_eq!((told.flows, told.queue_bytes, told.state), (Some(3), Some(4_000), State::Ok));
        assert_eq!((told.counts.to_bytes, told.counts.packets, told.counts.lost), (1_000, 10, 1));
        assert_eq!(told.left_alone, [("connections (no peer)", 2)]);
        assert_eq!(told.dropped, [("reset by ECONNRESET".to_owned(), 1)]);
    }
}
