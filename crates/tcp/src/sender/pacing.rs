//! When segments of a paced connection may leave (Linux's own pacing: `tcp_pacing_check()`,
//! `tcp_tso_autosize()`, `tcp_update_skb_after_send()`): in bursts of what the rate carries in
//! about a millisecond, each when the one before would have left a wire of that rate.

use super::Sender;
use crate::congestion::Pacing;
use airtcp_core::{Duration, Instant};

/// A burst is what leaves in 2^-10 s (Linux `sk_pacing_shift`).
const PACING_SHIFT: u32 = 10;
/// The longest burst in bytes (Linux `sk_gso_max_size`).
const BURST_MAX: u64 = 65_536;
/// On short paths bursts grow by [`BURST_MAX`] halved for each so many microseconds, as a power of
/// two, of the least round trip (Linux `tcp_tso_rtt_log`).
const TSO_RTT_LOG: u32 = 9;
/// Bursts are paced from that on which this segment of the connection is in, as with Linux's `fq`.
const FIRST_PACED: u32 = 10;

/// The burst that is leaving.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pacer {
    /// Segments that may follow at once.
    burst: u32,
    /// By how much the burst left late: up to half of that is made good.
    credit: Duration,
    /// Bytes of the burst that has left so far and was not paced.
    unpaced_bytes: u32,
    /// Segments sent so far, up to [`FIRST_PACED`].
    sent: u32,
    /// Somebody asks for the rate.
    pub(super) keeps_rate: bool,
}

impl Pacer {
    /// Nothing has left; `keeps_rate` if the rate is asked for.
    pub(super) fn new(keeps_rate: bool) -> Pacer {
        Pacer { keeps_rate, ..Pacer::default() }
    }
}

impl Sender {
    /// The pacing rate is kept, even if neither pacing nor the controller asks for it.
    pub fn keep_pacing_rate(&mut self) {
        self.pacer.keeps_rate = true;
    }

    #[inline]
    pub(super) fn is_paced(&self) -> bool {
        self.sk.sk_pacing_status == Pacing::Needed && self.has_pacing_rate()
    }

    /// Apart, so that who is not paced looks at one byte only.
    #[inline(never)]
    fn has_pacing_rate(&self) -> bool {
        self.sk.sk_pacing_rate != u64::MAX
    }

    /// When the next segment may leave, if that is not now.
    pub(super) fn paced_until(&self, now: Instant) -> Option<Instant> {
        if !self.is_paced() || self.pacer.burst > 0 || now >= self.sk.tcp_wstamp {
            return None;
        }
        Some(self.sk.tcp_wstamp)
    }

    /// No more segments leave now; the rest of the burst is forgotten.
    pub(super) fn end_burst(&mut self) {
        self.pacer.burst = 0;
        self.end_tso_burst();
    }

    /// A segment leaves: the next has to wait for its time on the wire.
    #[inline]
    pub(super) fn pace(&mut self, bytes: u32, now: Instant) {
        if self.is_paced() {
            self.pace_burst(bytes, now);
        }
    }

    #[inline(never)]
    fn pace_burst(&mut self, bytes: u32, now: Instant) {
        if self.pacer.burst == 0 {
            self.pacer.burst = self.burst_segments();
            self.pacer.unpaced_bytes = 0;
            self.pacer.credit = now.saturating_since(self.sk.tcp_wstamp);
            self.sk.tcp_wstamp = self.sk.tcp_wstamp.max(now);
        }
        self.pacer.burst -= 1;
        self.pacer.sent = (self.pacer.sent + 1).min(FIRST_PACED);
        self.pacer.unpaced_bytes += bytes;
        if self.pacer.sent == FIRST_PACED {
            let bytes = core::mem::take(&mut self.pacer.unpaced_bytes);
            let nanos = u128::from(bytes) * 1_000_000_000 / u128::from(self.sk.sk_pacing_rate.max(1));
            let span = Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
            let made_good = self.pacer.credit.min(span / 2);
            self.pacer.credit = self.pacer.credit.saturating_sub(made_good);
            self.sk.tcp_wstamp = self.sk.tcp_wstamp.saturating_add(span.saturating_sub(made_good));
        }
    }

    /// The next segment leaves together with the one before, as one super-frame.
    pub fn continues_burst(&self) -> bool {
        self.pacer.burst > 0
    }

    /// By how much a timer waits longer because what is in flight was given to a paced link (Linux `tcp_pacing_delay()`).
    #[inline]
    pub(super) fn pacing_delay(&self, now: Instant) -> Duration {
        if !self.is_paced() {
            return Duration::ZERO;
        }
        // Rounded down to ticks, as nsecs_to_jiffies().
        self.sk.elapsed(Instant::ZERO, Instant::ZERO.saturating_add(self.sk.tcp_wstamp.saturating_since(now)))
    }

    pub(super) fn burst_segments(&mut self) -> u32 {
        let halvings = self.sk.rtt_min_us >> TSO_RTT_LOG;
        let near = BURST_MAX.checked_shr(halvings).unwrap_or(0);
        let bytes = (self.sk.sk_pacing_rate >> PACING_SHIFT).saturating_add(near).min(BURST_MAX);
        let least = self.controller.min_tso_segs(&mut self.sk).max(1);
        u32::try_from(bytes / u64::from(self.sk.mss_cache.max(1))).unwrap_or(u32::MAX).max(least)
    }
}
