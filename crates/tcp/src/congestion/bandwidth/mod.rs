//! What both versions of BBR reckon with: bandwidths and gains as fixed-point numbers, the rate, the volume and the burst
//! that follow from them, and packet-timed round trips. Names and arithmetic are those of Linux's `tcp_bbr`.
//!
//! [`aggregation`] measures acknowledgments that come in lumps.

mod aggregation;

pub use aggregation::Aggregation;

use super::{RateSample, TcpSock};

/// Fraction bits of a bandwidth, which is in segments per microsecond.
pub const BW_SCALE: u32 = 24;
/// A segment per microsecond.
pub const BW_UNIT: u64 = 1 << BW_SCALE;
/// Fraction bits of a gain.
pub const BBR_SCALE: u32 = 8;
/// A gain of one.
pub const BBR_UNIT: u32 = 1 << BBR_SCALE;
/// Paced below the link's rate by so many percent, so that queues do not grow.
const PACING_MARGIN_PERCENT: u64 = 1;
/// A burst is what leaves in 2^-10 s (Linux `sk_pacing_shift`),
const PACING_SHIFT: u32 = 10;
/// and no longer than the longest packet of a device without headers.
const BURST_MAX: u64 = 65_536 - 1 - 320;

/// Bandwidth that the sample shows; zero if it shows none.
pub fn of_sample(rs: &RateSample) -> u64 {
    if rs.delivered < 0 || rs.interval_us <= 0 {
        return 0;
    }
    u64::from(rs.delivered.unsigned_abs()) * BW_UNIT / rs.interval_us.unsigned_abs()
}

/// Bytes per second of a bandwidth times a gain, a little below.
pub fn rate_bytes_per_sec(sk: &TcpSock, bw: u64, gain: u32) -> u64 {
    let rate = (u128::from(bw) * u128::from(sk.mss_cache) * u128::from(gain)) >> BBR_SCALE;
    let rate = (rate * u128::from(1_000_000 / 100 * (100 - PACING_MARGIN_PERCENT))) >> BW_SCALE;
    u64::try_from(rate).unwrap_or(u64::MAX)
}

/// The same, within what the host allows.
pub fn pacing_rate(sk: &TcpSock, bw: u64, gain: u32) -> u64 {
    rate_bytes_per_sec(sk, bw, gain).min(sk.sk_max_pacing_rate)
}

/// The rate that lets a window out in a round trip times a gain, never zero; of a millisecond, while no round trip is
/// known.
pub fn first_pacing_rate(sk: &TcpSock, gain: u32) -> u64 {
    let rtt_us = if sk.srtt_us > 0 { u64::from((sk.srtt_us >> 3).max(1)) } else { 1000 };
    pacing_rate(sk, u64::from(sk.snd_cwnd) * BW_UNIT / rtt_us, gain).max(1)
}

/// Segments that a bandwidth times a gain carries in a round trip, rounded up.
pub fn volume(bw: u64, rtt_us: u32, gain: u32) -> u32 {
    let volume = (u128::from(bw) * u128::from(rtt_us) * u128::from(gain)) >> BBR_SCALE;
    u32::try_from(volume.div_ceil(u128::from(BW_UNIT))).unwrap_or(u32::MAX)
}

/// Segments of the burst that leaves at once.
pub fn burst(sk: &TcpSock) -> u32 {
    let bytes = (sk.sk_pacing_rate >> PACING_SHIFT).min(BURST_MAX);
    u32::try_from(bytes / u64::from(sk.mss_cache.max(1))).unwrap_or(u32::MAX)
}

/// Packet-timed round trips.
#[derive(Clone, Debug, Default)]
pub struct Rounds {
    /// A round trip began with the acknowledgment being handled.
    pub is_start: bool,
    /// So many have begun, wrapping.
    pub count: u32,
    /// The round trip ends when something is delivered that was sent after so much had been.
    end: u32,
}

impl Rounds {
    /// A round trip begins now, and is not counted.
    pub fn restart(&mut self, sk: &TcpSock) {
        self.end = sk.delivered;
    }

    /// A round trip ends when something sent after its beginning is delivered.
    pub fn update(&mut self, sk: &TcpSock, rs: &RateSample) {
        let is_sample = rs.delivered >= 0 && rs.interval_us > 0;
        self.is_start = is_sample && rs.prior_delivered.wrapping_sub(self.end) as i32 >= 0;
        if self.is_start {
            self.end = sk.delivered;
            self.count = self.count.wrapping_add(1);
        }
    }
}
