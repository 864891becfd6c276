//! Where a scenario can be run, and what a run tells: the same for virtual time and kernel TCP.

use crate::scenario::ResolvedScenario;
use airtcp_core::Duration;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A place that runs one cell of a scenario once.
pub trait World: Sync {
    /// `simulator` or `live`; a directory of the results and a field of every cell.
    fn name(&self) -> &'static str;

    /// True if runs do not disturb each other, so that many may go on at once.
    fn runs_in_parallel(&self) -> bool {
        true
    }

    /// Runs `cell` once with `seed`.
    ///
    /// # Errors
    /// It could not be run; see [`NotRun`].
    fn run(&self, cell: &ResolvedScenario, seed: u64) -> Result<RunOutcome, NotRun>;
}

/// Why a run gave no outcome.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotRun {
    /// This machine cannot run it; one sentence says why. The other cells go on.
    #[error("{0}")]
    Skipped(String),
    /// It should have run and did not.
    #[error("{0}")]
    Failed(String),
}

/// What one run tells.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunOutcome {
    /// In the order of the scenario.
    pub flows: Vec<FlowOutcome>,
    /// In the order of the scenario; none for a cell without a scheme.
    pub schemes: Vec<SchemeOutcome>,
    /// What the media of all 802.11 cells were used for, by the names of the metrics `wlan.<…>`; empty without a cell.
    #[serde(default)]
    pub wlan: BTreeMap<String, u64>,
    /// What was lost where, and why.
    pub drops: Vec<Drops>,
    /// What queues marked instead of dropping it (ECN).
    pub marks: Vec<Marks>,
    /// The queues before links, all together, where the world sees them.
    #[serde(default)]
    pub queue: Option<Queue>,
    /// Levels over time, by the names that figures use.
    #[serde(default)]
    pub levels: Vec<Level>,
    /// The rate over time of each link direction whose rate varies, by its name, `links.air.forward`: the mean since the
    /// sample before.
    #[serde(default)]
    pub link_rates: Vec<Level>,
    /// What the schemes' boxes that know a rate believed of their links.
    #[serde(default)]
    pub beliefs: Vec<Belief>,
    /// Name of a check and its verdict.
    pub checks: Vec<(Cow<'static, str>, Verdict)>,
    /// The simulator's own.
    pub trace: Option<Trace>,
    /// The live link emulator's self-test.
    pub emulator: Option<EmulatorReport>,
    /// In the order of the scenario.
    #[serde(default)]
    pub probes: Vec<ProbeOutcome>,
    /// In the order of the scenario.
    #[serde(default)]
    pub workloads: Vec<WorkloadOutcome>,
    /// What packets met between hosts, where the world sees both ends.
    #[serde(default)]
    pub path: Option<Path>,
    /// How the rates of flows moved; filled in once the run is over.
    #[serde(default)]
    pub dynamics: Dynamics,
}

/// How the rates of the flows without a size moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dynamics {
    /// Standard deviation over mean of a flow's rate from second to second, in millionths; of several flows the highest.
    pub rate_variation_ppm: Option<u64>,
    /// From the last start of a flow until for a second all have fair shares.
    #[serde(with = "optional_nanos")]
    pub convergence: Option<Duration>,
}

/// What became of one flow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowOutcome {
    /// Name in the scenario.
    pub name: String,
    /// Application bytes that arrived in order within the measured time.
    pub window_bytes: u64,
    /// When the part of the measured time begins in which the flow was alive, since the start of the run.
    #[serde(with = "nanos")]
    pub window_start: Duration,
    /// Length of that part.
    #[serde(with = "nanos")]
    pub window: Duration,
    /// Application bytes that arrived in order over the whole run.
    pub total_bytes: u64,
    /// Application bytes of which the sender knows that they arrived.
    #[serde(default)]
    pub acked_bytes: u64,
    /// From its start to the last byte, for a flow of fixed size that finished.
    #[serde(with = "optional_nanos")]
    pub completion: Option<Duration>,
    /// Of that, what came after the handshake, where the world knows.
    #[serde(with = "optional_nanos")]
    pub transfer: Option<Duration>,
    /// Data segments sent again in the measured time.
    pub retransmitted_segments: u64,
    /// Retransmission timeouts in the measured time.
    pub rtos: u64,
    /// Bytes acknowledged to the sender that the receiver misses at the end although later ones have come; where the
    /// world can tell.
    #[serde(default)]
    pub acknowledged_missing: Option<u64>,
    /// What the sender's congestion controller counted in the measured time, its decisions first; empty for one that
    /// counts nothing.
    #[serde(default)]
    pub controller: Vec<(String, u64)>,
    /// What the hidden control TCPs of its circuit, and a stream of datagrams, counted in the measured time, by the names
    /// with the labels of [`SocketEntry::counters`](airtcp_schemes::socket::SocketEntry).
    #[serde(default)]
    pub control: Vec<(String, u64)>,
    /// Percentiles of the sender's round-trip times.
    pub rtt: Percentiles,
    /// How long datagrams that arrived in the measured time were on their way; nothing for a byte stream.
    #[serde(default)]
    pub delay: Option<Percentiles>,
    /// Payload of a full segment, in bytes.
    pub segment_bytes: u32,
    /// Longest time without a delivered byte.
    #[serde(with = "nanos")]
    pub longest_stall: Duration,
    /// How it went, over time.
    pub series: Vec<Sample>,
}

/// Percentiles of a time, in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Percentiles {
    /// Median.
    pub p50: u64,
    /// 95 of 100 are below.
    pub p95: u64,
    /// 99 of 100 are below.
    pub p99: u64,
}

/// A flow at one moment; in journals, which have many of them, a list of its fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "[u64; 6]", from = "[u64; 6]")]
pub struct Sample {
    /// Since the start of the run.
    pub at: Duration,
    /// Application bytes that have arrived in order so far.
    pub delivered: u64,
    /// Application bytes acknowledged to the sender so far.
    pub acked: u64,
    /// Congestion window in bytes.
    pub cwnd: u64,
    /// Smoothed round-trip time.
    pub rtt: Duration,
    /// Repairs sent so far by all schemes.
    pub repairs: u64,
}

impl From<Sample> for [u64; 6] {
    fn from(Sample { at, delivered, acked, cwnd, rtt, repairs }: Sample) -> Self {
        [at.as_nanos(), delivered, acked, cwnd, rtt.as_nanos(), repairs]
    }
}

impl From<[u64; 6]> for Sample {
    fn from([at, delivered, acked, cwnd, rtt, repairs]: [u64; 6]) -> Self {
        let [at, rtt] = [at, rtt].map(Duration::from_nanos);
        Sample { at, delivered, acked, cwnd, rtt, repairs }
    }
}

/// What a scheme did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SchemeOutcome {
    /// Name in the scenario.
    pub name: String,
    /// Counters, and levels at the end of the run, of all its boxes together, by label.
    pub counters: BTreeMap<String, u64>,
}

/// The queues before links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Queue {
    /// Most IP bytes that waited in one of them.
    pub bytes_max: u64,
    /// When one of them dropped its first packet, since the start of the run.
    #[serde(with = "optional_nanos")]
    pub first_drop: Option<Duration>,
    /// Most header packets that waited in a header-first one; none without such a queue. (DEC-23)
    #[serde(default)]
    pub headers_max: Option<u64>,
    /// How many waited on average over the run, in the one with the most.
    #[serde(default)]
    pub headers_mean: Option<f64>,
}

/// A level over time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Level {
    /// `links.air.forward.queue_bytes`, `schemes.router.held_bytes`.
    pub name: String,
    /// Time since the start of the run in ns, and the level.
    pub samples: Vec<(u64, u64)>,
}

/// What a box of a scheme believed of the link that it sends into.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Belief {
    /// `schemes.repair.a`: scheme and node.
    pub name: String,
    /// Over time.
    pub samples: Vec<BeliefSample>,
}

/// The same at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BeliefSample {
    /// Since the start of the run.
    #[serde(with = "nanos")]
    pub at: Duration,
    /// What the link carries, in bit/s; 0 while nothing is known.
    pub rate_bps: u64,
    /// How long packets wait in the link itself.
    #[serde(with = "nanos")]
    pub link_wait: Duration,
    /// Bytes that wait in the box's own queue.
    pub queue_bytes: u64,
}

/// Packets of ECN-capable transports that were marked (RFC 3168).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marks {
    /// `links.air.forward`.
    pub place: String,
    /// How many.
    pub packets: u64,
}

/// Packets that went no further.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Drops {
    /// `links.air.forward`, `hosts.receiver`, `schemes.repair.a`.
    pub place: String,
    /// Label of the reason.
    pub reason: String,
    /// How many.
    pub packets: u64,
    /// Of these, header packets of TCP Decoupling, where a link dropped them. (DEC-12)
    #[serde(default)]
    pub headers: u64,
}

/// Outcome of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// It held.
    Passed,
    /// It could not be made here.
    NotChecked,
    /// It did not hold; a sentence.
    Failed(String),
}

/// What identifies a simulated run exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trace {
    /// Over every event in order.
    pub hash: u64,
    /// Events handled.
    pub events: u64,
}

/// What a probe found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkloadOutcome {
    /// Name in the scenario.
    pub name: String,
    /// Bytes of answers that came in order in the measured time.
    pub window_bytes: u64,
    /// When the measured time begins, since the start of the run.
    #[serde(with = "nanos")]
    pub window_start: Duration,
    /// How long it is.
    #[serde(with = "nanos")]
    pub window: Duration,
    /// Most connections that were open at one time.
    pub most_open: u64,
    /// Of all sizes.
    pub all: RequestClass,
    /// By size, the smallest first.
    pub classes: Vec<RequestClass>,
}

/// Requests of a workload that began in the measured time, with answers of some sizes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestClass {
    /// `short`, `medium`, `long`.
    pub name: String,
    /// How many.
    pub requests: u64,
    /// How many of them had no answer when the run ended.
    pub unfinished: u64,
    /// From when one was due to the last byte of its answer; `None` without requests.
    pub completion: Option<Percentiles>,
    /// The same over the time on an idle path, in thousandths; `None` where that is not known.
    pub slowdown: Option<Percentiles>,
}

/// TCP segments of all flows between their hosts, in the measured time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Path {
    /// How long segments with data waited in queues and boxes.
    pub data_wait: Percentiles,
    /// How long bare acknowledgments did.
    pub ack_wait: Percentiles,
    /// From a segment with data leaving its host to its timestamp's echo coming back.
    pub round_trip: Percentiles,
}

/// The live link emulator, asked against seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EmulatorReport {
    /// False if it did not do what it was asked; the cell then says nothing.
    pub valid: bool,
    /// |seen − asked| ÷ asked of the rate.
    pub rate_error_ratio: f64,
    /// 99th percentile of release − due.
    pub release_error_p99_ns: u64,
    /// Mean loss the scenario asks for.
    pub loss_asked_ratio: f64,
    /// Loss that was seen.
    pub loss_seen_ratio: f64,
}

/// Durations as whole nanoseconds.
mod nanos {
    use airtcp_core::Duration;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(duration.as_nanos())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_nanos)
    }
}

/// The same for a duration that may be missing.
mod optional_nanos {
    use airtcp_core::Duration;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(duration: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
        duration.map(Duration::as_nanos).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<u64>::deserialize(deserializer)?.map(Duration::from_nanos))
    }
}
