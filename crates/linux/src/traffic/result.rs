//! The result of a finished flow.

use super::wrap::Wrapped;
use crate::sys::tcp_info::TcpInfo;
use airtcp_core::{Duration, Rate};
use airtcp_schemes::socket::datagram::ArrivalCounts;
use hdrhistogram::Histogram;
use std::fmt::Write as _;

/// How a flow ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Every byte sent arrived, and the stream was closed in order.
    Complete,
    /// The requested time was over, and data still in flight was discarded.
    CutOff,
    /// The deadline passed first.
    TimedOut,
    /// The caller cancelled it.
    Cancelled,
    /// The connection broke; the kernel's words.
    Broken(String),
    /// No connection came about; the kernel's words.
    NotConnected(String),
}

/// One look at the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Time since the run's origin.
    pub at: Duration,
    /// What the sender's kernel reported.
    pub info: TcpInfo,
}

/// Percentiles of a time: of the sender's smoothed round-trip time over the measured window, unless said otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RttPercentiles {
    /// Half of the samples are at or below this.
    pub p50: Duration,
    /// 95 of 100 samples are.
    pub p95: Duration,
    /// 99 of 100 samples are.
    pub p99: Duration,
}

/// What became of a stream of datagrams, within the measured window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DatagramResult {
    /// How many were sent.
    pub sent: u64,
    /// What the receiver makes of their numbers.
    pub arrivals: ArrivalCounts,
    /// How long they were on their way.
    pub delay: RttPercentiles,
}

/// A finished flow. All times count from the run's origin unless they are spans.
#[derive(Clone, Debug)]
pub struct FlowResult {
    /// The name it was started with.
    pub name: String,
    /// How it ended.
    pub outcome: Outcome,
    /// When it began to connect: a moment after [`FlowSpec::start`](super::FlowSpec::start), as threads start slowly.
    pub opened_at: Option<Duration>,
    /// When the sender's handshake was done.
    pub connected_at: Option<Duration>,
    /// When the last byte reached the receiver, or the end of a stream without any.
    pub last_byte_at: Option<Duration>,
    /// Bytes handed to the sender's kernel.
    pub sent_bytes: u64,
    /// Bytes that reached the receiving application.
    pub received_bytes: u64,
    /// The part of the run that rates are taken over.
    pub window: (Duration, Duration),
    /// Bytes that reached the receiving application within the window.
    pub window_bytes: u64,
    /// Receiver's bytes in each `sample_every` since the run's origin.
    pub received_series: Vec<u64>,
    /// The sender, each `sample_every`.
    pub samples: Vec<Sample>,
    /// Segments retransmitted over the whole flow.
    pub retransmitted_segments: u64,
    /// Segments retransmitted within the window.
    pub window_retransmitted_segments: u64,
    /// Bytes retransmitted over the whole flow.
    pub retransmitted_bytes: u64,
    /// Retransmission timeouts over the whole flow; `None` before Linux 6.7.
    pub timeouts: Option<u64>,
    /// Round-trip time percentiles over the window.
    pub rtt: RttPercentiles,
    /// Longest time in which nothing reached the receiver while it should have.
    pub longest_stall: Duration,
    /// SHA-256 of the first `received_bytes` bytes the sender sent.
    pub sender_sha256: [u8; 32],
    /// SHA-256 of what the receiver got.
    pub receiver_sha256: [u8; 32],
    /// Clocks that wrapped meanwhile; looked at only where the flow asked for a wrap.
    pub wrapped: Wrapped,
    /// What a stream of datagrams tells besides.
    pub datagrams: Option<DatagramResult>,
    /// Stream offset of the first byte that arrived wrong, or the number of the first datagram that did.
    pub first_wrong_byte: Option<u64>,
}

impl FlowResult {
    /// Application bytes per time over the measured window.
    pub fn goodput(&self) -> Rate {
        rate(self.window_bytes, self.window.1.saturating_sub(self.window.0))
    }

    /// Application bytes per time from the handshake to the last byte: the figure for a
    /// transfer of fixed size.
    pub fn transfer_rate(&self) -> Rate {
        match (self.connected_at, self.last_byte_at) {
            (Some(from), Some(to)) => rate(self.received_bytes, to.saturating_sub(from)),
            _ => Rate::from_bps(0),
        }
    }

    /// True if all bytes that arrived are exactly those that were sent.
    pub fn stream_is_intact(&self) -> bool {
        self.first_wrong_byte.is_none() && self.sender_sha256 == self.receiver_sha256
    }
}

/// The percentiles of recorded nanoseconds.
pub(super) fn percentiles(times: &Histogram<u64>) -> RttPercentiles {
    let at = |quantile| Duration::from_nanos(times.value_at_quantile(quantile));
    RttPercentiles { p50: at(0.5), p95: at(0.95), p99: at(0.99) }
}

/// The same together with `more` times that were longer than any, each of them `longest`.
pub(super) fn percentiles_with(times: &Histogram<u64>, more: u64, longest: Duration) -> RttPercentiles {
    let at = |per_cent: u64| {
        let rank = ((times.len() + more) * per_cent).div_ceil(100);
        // Half a rank lower, so that no rounding makes it the next one.
        let quantile = (rank as f64 - 0.5) / times.len() as f64;
        if rank > times.len() { longest } else { Duration::from_nanos(times.value_at_quantile(quantile)) }
    };
    RttPercentiles { p50: at(50), p95: at(95), p99: at(99) }
}

/// A hash as people print it.
pub fn hex(hash: &[u8; 32]) -> String {
    hash.iter().fold(String::with_capacity(64), |mut text, byte| {
        write!(text, "{byte:02x}").expect("writing to a string");
        text
    })
}

fn rate(bytes: u64, span: Duration) -> Rate {
    if span.is_zero() {
        return Rate::from_bps(0);
    }
    Rate::from_bps((u128::from(bytes) * 8_000_000_000 / u128::from(span.as_nanos())) as u64)
}

/// Percentiles of the smoothed round-trip time of the samples within `window`.
pub(super) fn rtt_percentiles(samples: &[Sample], window: (Duration, Duration)) -> RttPercentiles {
    let mut rtts: Vec<Duration> = samples
        .iter()
        .filter(|sample| (window.0..=window.1).contains(&sample.at))
        .map(|sample| sample.info.smoothed_rtt)
        .collect();
    rtts.sort_unstable();
    let at = |percent: usize| {
        let rank = (rtts.len() * percent).div_ceil(100).max(1);
        rtts.get(rank - 1).copied().unwrap_or_default()
    };
    RttPercentiles { p50: at(50), p95: at(95), p99: at(99) }
}

/// Segments retransmitted between the first and the last sample of `window`.
pub(super) fn window_retransmissions(samples: &[Sample], window: (Duration, Duration)) -> u64 {
    let count_at = |time: Duration| {
        let before = samples.iter().take_while(|sample| sample.at <= time).last();
        before.map_or(0, |sample| u64::from(sample.info.retransmitted_segments))
    };
    count_at(window.1) - count_at(window.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(at_ms: u64, rtt_ms: u64, retransmitted: u32) -> Sample {
        let info = TcpInfo {
            smoothed_rtt: Duration::from_millis(rtt_ms),
            retransmitted_segments: retransmitted,
            ..TcpInfo::default()
        };
        Sample { at: Duration::from_millis(at_ms), info }
    }

    #[test]
    fn percentiles_leave_the_warm_up_out() {
        let samples: Vec<_> = (0..=100).map(|i| sample(i * 100, i, 0)).collect();
        let window = (Duration::from_millis(100), Duration::from_secs(10));
        let rtt = rtt_percentiles(&samples, window);
        assert_eq!(rtt.p50, Duration::from_millis(50));
        assert_eq!(rtt.p99, Duration::from_millis(99));
        assert_eq!(rtt_percentiles(&[], window), RttPercentiles::default());
    }

    #[test]
    fn what_took_longer_than_any_stands_behind_all_others() {
        let mut times = Histogram::new_with_bounds(1, 1_000_000_000, 3).expect("constants in range");
        (1..=94).for_each(|ms: u64| times.record(ms * 1_000_000).expect("in range"));
        let longest = Duration::from_secs(20);
        let with = |more| percentiles_with(&times, more, longest);
        assert_eq!(with(0), percentiles(&times));
        assert_eq!((with(6).p50, with(6).p95), (Duration::from_nanos(times.value_at_quantile(0.53)), longest));
        assert!(with(4).p95 < Duration::from_millis(95) && with(4).p99 == longest);
        let none = Histogram::new_with_bounds(1, 1_000_000_000, 3).expect("constants in range");
        assert_eq!(percentiles_with(&none, 0, longest), RttPercentiles::default());
        assert_eq!(percentiles_with(&none, 1, longest).p50, longest, "nothing came at all");
    }

    #[test]
    fn retransmissions_are_counted_between_the_windows_ends() {
        let samples = [sample(0, 1, 5), sample(100, 1, 7), sample(200, 1, 7), sample(300, 1, 20)];
        let window = (Duration::from_millis(50), Duration::from_millis(250));
        assert_eq!(window_retransmissions(&samples, window), 2);
    }

    #[test]
    fn a_hash_prints_as_64_hexadecimal_digits() {
        let mut hash = [0; 32];
        hash[0] = 0xab;
        assert_eq!(hex(&hash).len(), 64);
        assert!(hex(&hash).starts_with("ab00"));
    }
}
