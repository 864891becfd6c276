//! What a run found.

use crate::belief::Belief;
use crate::dot11::{MediumUse, Usage};
use airtcp_core::{DropReason, Duration, Event, Gauge, Instant};
use airtcp_link::HeaderLevels;

/// Everything a run found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// One per flow, in the order of the topology.
    pub flows: Vec<FlowOutcome>,
    /// One per probe, in the order of the topology.
    pub probes: Vec<ProbeOutcome>,
    /// One per workload, in the order of the topology.
    pub workloads: Vec<WorkloadOutcome>,
    /// One per scheme, in the order of the topology.
    pub schemes: Vec<SchemeOutcome>,
    /// One per 802.11 cell, in the order of the topology.
    pub wlans: Vec<WlanOutcome>,
    /// Packets lost anywhere, by place and reason; zero rows are left out.
    pub drops: Vec<Drop>,
    /// Packets that queues marked instead of dropping them (ECN), by link; zero rows are left out.
    pub marks: Vec<Mark>,
    /// Queues in which something waited, by link.
    pub queues: Vec<QueueOutcome>,
    /// What [`crate::RunSettings::levels`] asked for.
    pub levels: Vec<LevelSample>,
    /// The checks that ran along.
    pub checks: Checks,
    /// Sum over every packet arrival and its time: equal for equal runs.
    pub trace_hash: u64,
    /// Events processed.
    pub events: u64,
    /// Time over which rates are measured.
    pub measured: Duration,
}

/// What a probe found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProbeOutcome {
    /// Name in the scenario.
    pub name: String,
    /// How many were sent.
    pub sent: u64,
    /// How many came back.
    pub received: u64,
    /// There and back.
    pub rtt: Percentiles,
    /// The same over all that were sent: one that did not come back took the whole measured time. (RFC 2681, 5.1)
    pub rtt_or_lost: Percentiles,
}

/// What became of the requests of a workload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkloadOutcome {
    /// Name in the scenario.
    pub name: String,
    /// Each of them, in the order in which they began.
    pub requests: Vec<RequestOutcome>,
    /// Bytes of answers that came in order in the measured time.
    pub measured_bytes: u64,
    /// Most connections that were open at one time.
    pub most_open: u64,
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestOutcome {
    /// When it was due, since the start of the run.
    pub at: Duration,
    /// Bytes of its answer.
    pub size: u64,
    /// From then to the last byte of the answer; `None` if that did not come.
    pub took: Option<Duration>,
}

/// What a flow achieved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowOutcome {
    /// Name in the scenario.
    pub name: String,
    /// Application bytes delivered in order in the measured time.
    pub measured_bytes: u64,
    /// Application bytes delivered in order in all.
    pub total_bytes: u64,
    /// When the sender's handshake was over.
    pub established_at: Option<Instant>,
    /// Application bytes of which the sender knows that they arrived.
    pub acked_bytes: u64,
    /// When a fixed-size flow was delivered completely.
    pub completed_at: Option<Instant>,
    /// Data segments the sender sent, retransmissions included.
    pub segments_sent: u64,
    /// Segments the sender sent again in the measured time.
    pub retransmitted_segments: u64,
    /// Retransmission timeouts in the measured time.
    pub rtos: u64,
    /// Bytes acknowledged to the sender that the receiver misses at the end although later ones have come: lost behind
    /// whoever acknowledged them, unless that one still repairs them. Nothing where only receivers acknowledge.
    pub acknowledged_missing: u64,
    /// What the sender's congestion controller counted in the measured time, by name.
    pub controller: Vec<(&'static str, u64)>,
    /// What hidden control TCPs and streams of datagrams counted in the measured time, by name.
    pub control: Vec<(&'static str, u64)>,
    /// Round-trip times the sender measured.
    pub rtt: Percentiles,
    /// How long datagrams that arrived in the measured time were on their way; nothing for a byte stream.
    pub delay: Option<Percentiles>,
    /// Longest time without a delivered byte, while the flow was not done.
    pub longest_stall: Duration,
    /// Payload bytes of a full segment.
    pub segment_bytes: u32,
    /// SHA-256 of the file as sent, where digests are asked for and the flow has a size.
    pub sent_sha256: Option<[u8; 32]>,
    /// SHA-256 of what the receiver's application read, alike.
    pub received_sha256: Option<[u8; 32]>,
    /// Levels over time.
    pub series: Vec<Sample>,
}

/// Percentiles of round-trip times in ns; zero without samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Percentiles {
    /// Median.
    pub p50: u64,
    /// 95th percentile.
    pub p95: u64,
    /// 99th percentile.
    pub p99: u64,
}

/// Levels of a flow at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// When.
    pub at: Instant,
    /// Application bytes delivered so far.
    pub delivered: u64,
    /// Application bytes acknowledged to the sender so far.
    pub acked: u64,
    /// Sender's congestion window in bytes.
    pub cwnd: u64,
    /// Sender's smoothed round-trip time.
    pub srtt: Duration,
    /// Repairs sent so far by all schemes.
    pub repairs: u64,
}

/// What a scheme did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemeOutcome {
    /// Name in the scenario.
    pub name: String,
    /// Slug.
    pub kind: &'static str,
    /// One for each element.
    pub elements: Vec<ElementOutcome>,
}

/// What one element did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElementOutcome {
    /// Node it sat on.
    pub node: String,
    /// Counts per event; zero rows are left out.
    pub events: Vec<(Event, u64)>,
    /// Levels at the end of the run.
    pub gauges: Vec<(Gauge, u64)>,
    /// What it believed of its link, over time; empty for one that knows no rate.
    pub beliefs: Vec<Belief>,
}

/// What the medium of a cell was used for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WlanOutcome {
    /// "wlans.wifi".
    pub name: String,
    /// All together.
    pub medium: MediumUse,
    /// Node and use of each interface, the access point's first.
    pub interfaces: Vec<(String, Usage)>,
}

/// Packets lost at a place for a reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drop {
    /// "links.air.forward", "schemes.repair.a", "hosts.receiver".
    pub place: String,
    /// Why.
    pub reason: DropReason,
    /// How many.
    pub packets: u64,
    /// Of these, header packets of TCP Decoupling, where a link dropped them. (DEC-12)
    pub headers: u64,
}

/// The queue before a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueOutcome {
    /// "links.air.forward".
    pub place: String,
    /// Most IP bytes that waited.
    pub bytes_max: u64,
    /// When it dropped its first packet.
    pub first_drop: Option<Instant>,
    /// The header packets that waited in it, if it is header-first. (DEC-23)
    pub headers: Option<HeaderLevels>,
}

/// Recorded levels at one time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LevelSample {
    /// When.
    pub at: Instant,
    /// One for each level that was asked for.
    pub values: Vec<u64>,
}

/// Packets marked at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// "links.air.forward".
    pub place: String,
    /// How many.
    pub packets: u64,
}

/// The checks that ran along; `Ok` where they passed, `None` where they were switched off.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checks {
    /// No packet vanished or came from nowhere.
    pub conservation: Option<Result<(), String>>,
    /// Every stream arrived byte for byte.
    pub stream: Option<Result<(), String>>,
    /// Every element kept its own bounds.
    pub bounds: Option<Result<(), String>>,
}

impl Checks {
    /// The first failure, if any.
    pub fn failure(&self) -> Option<&str> {
        [&self.conservation, &self.stream, &self.bounds]
            .into_iter()
            .find_map(|check| check.as_ref().and_then(|result| result.as_ref().err()))
            .map(String::as_str)
    }
}
