//! What a forwarder tells of itself.

use super::association::Association;
use super::exchange::Exchange;
use super::streams::Streams;
use crate::gateway::control::{Ignored, PeerState};
use crate::gateway::status::{Report, table};
use airtcp_core::Instant;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Names the kind of status, and its version.
pub const SCHEMA: &str = "airtcp.forwarder/1";

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// [`SCHEMA`].
    pub schema: String,
    /// Its name.
    pub name: String,
    /// Its process.
    pub pid: u32,
    /// Nanoseconds since its start.
    pub uptime_ns: u64,
    /// The other forwarder's address.
    pub peer: String,
    /// What is known of it.
    pub peer_state: PeerState,
    /// What happens to connections now: `forwarding`, or why they are reset.
    pub state: String,
    /// Levels: connections, bytes in buffers, and so on.
    pub gauges: BTreeMap<String, u64>,
    /// What was counted of connections and circuits.
    pub counters: BTreeMap<String, u64>,
    /// Connections that ended in a reset, by the error that was their reason.
    pub broken: BTreeMap<String, u64>,
    /// Datagrams ignored, by reason.
    pub ignored: BTreeMap<String, u64>,
    /// Clients of the status socket.
    pub clients: BTreeMap<String, u64>,
}

/// What the loop knows.
pub(super) struct Facts<'a> {
    pub name: &'a str,
    pub peer: String,
    pub uptime_ns: u64,
    pub association: &'a Association,
    pub exchange: &'a Exchange,
    pub streams: &'a Streams,
    pub applications: usize,
    /// Counters of the loop.
    pub counts: Vec<(&'static str, u64)>,
}

impl Status {
    pub(super) fn of(facts: &Facts<'_>, now: Instant) -> Status {
        let Facts { association, exchange, .. } = facts;
        let peer_state = association.peer_state(now);
        let state = match (association.is_ready(), peer_state.up) {
            (true, true) => "forwarding".to_owned(),
            (true, false) => format!("the peer is silent, connections wait: {}", peer_state.why),
            (false, _) => format!("connections are reset: {}", peer_state.why),
        };
        let refused = &association.refused;
        let handshakes = Ignored::ALL.iter().zip(refused.handshakes).map(|(reason, count)| (reason.label(), count));
        let frames = [
            ("frame_malformed", refused.malformed),
            ("frame_forged", refused.forged),
            ("frame_replayed", refused.replayed),
            ("frame_early", refused.early),
        ];
        let tallies = exchange.tallies();
        let streams = facts.streams.named();
        let named = tallies.named().into_iter().chain(streams).chain(facts.counts.iter().copied());
        let (streams_out, streams_in) = facts.streams.count_open();
        Status {
            schema: SCHEMA.to_owned(),
            name: facts.name.to_owned(),
            pid: std::process::id(),
            uptime_ns: facts.uptime_ns,
            peer: facts.peer.clone(),
            peer_state,
            state,
            gauges: table([
                ("connections", exchange.len() as u64),
                ("applications", facts.applications as u64),
                ("memory", exchange.memory()),
                ("memory_max", tallies.memory_max),
                ("goodbyes", exchange.goodbyes() as u64),
                ("streams_out", streams_out as u64),
                ("streams_in", streams_in as u64),
                ("stream_window", facts.streams.window()),
                ("peer_lives", association.peer_lives),
            ]),
            counters: table(named),
            broken: tallies.broken.iter().map(|(errno, count)| (name_of(*errno), *count)).collect(),
            ignored: table(handshakes.chain(frames)),
            clients: BTreeMap::new(),
        }
    }
}

/// `ECONNRESET`
fn name_of(errno: u16) -> String {
    format!("{:?}", nix::errno::Errno::from_raw(i32::from(errno)))
}

impl Report for Status {
    fn with_clients(self, clients: BTreeMap<String, u64>) -> Status {
        Status { clients, ..self }
    }

    fn json(&self) -> String {
        serde_json::to_string(self).expect("a status has string keys and integers only") + "\n"
    }

    fn metrics(&self) -> String {
        let mut text = String::new();
        let up = [("up".to_owned(), u64::from(self.peer_state.up))].into();
        for (kind, suffix, counts) in
            [("gauge", "", &up), ("gauge", "", &self.gauges), ("counter", "_total", &self.counters)]
        {
            for (name, count) in counts {
                let name = format!("airtcp_forwarder_{name}{suffix}");
                let _ = writeln!(text, "# TYPE {name} {kind}\n{name}{{forwarder=\"{}\"}} {count}", self.name);
            }
        }
        let _ = writeln!(text, "# TYPE airtcp_forwarder_ignored_total counter");
        for (reason, count) in &self.ignored {
            let labels = format!("forwarder=\"{}\",reason=\"{reason}\"", self.name);
            let _ = writeln!(text, "airtcp_forwarder_ignored_total{{{labels}}} {count}");
        }
        text
    }
}
