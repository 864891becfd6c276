//! What a forwarder tells of itself.

use super::association::Association;
use super::exchange::Exchange;
use super::streams::Streams;
use crate::gateway::control::{Ignored, PeerState};
use crate::gateway::exposition::{Format, Page, seconds};
use crate::gateway::reload::Reloads;
use crate::gateway::status::{Report, table};
use airtcp_core::Instant;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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
    /// What became of reloads.
    #[serde(default)]
    pub reloads: Reloads,
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
    pub reloads: &'a Reloads,
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
            reloads: facts.reloads.clone(),
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

    fn metrics(&self, format: Format) -> String {
        let mut page = Page::new("forwarder", &self.name, format);
        let prefix = "airtcp_forwarder";
        page.single(&format!("{prefix}_uptime_seconds"), "gauge", "Since its start.", seconds(self.uptime_ns));
        let up = u8::from(self.peer_state.up);
        page.single(&format!("{prefix}_up"), "gauge", "1: the other forwarder answers.", up);
        for (name, level) in &self.gauges {
            page.single(&format!("{prefix}_{name}"), "gauge", "A level of the forwarder.", level);
        }
        for (name, count) in &self.counters {
            page.single(&format!("{prefix}_{name}_total"), "counter", "What the forwarder counted.", count);
        }
        let (asked, refused) = (self.reloads.asked, self.reloads.refused);
        page.single(&format!("{prefix}_reloads_total"), "counter", "Reloads that were asked for.", asked);
        page.single(&format!("{prefix}_reloads_refused_total"), "counter", "Reloads after which all stayed.", refused);
        let last = u8::from(self.reloads.last_refused);
        page.single(&format!("{prefix}_last_reload_refused"), "gauge", "1: the file is not what runs.", last);
        page.counters(&format!("{prefix}_reset_total"), "error", "Connections that were reset.", &self.broken);
        page.counters(&format!("{prefix}_ignored_total"), "reason", "Datagrams ignored.", &self.ignored);
        page.finish()
    }
}
