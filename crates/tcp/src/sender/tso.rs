//! New data that wait to leave in a larger burst (`tcp_tso_should_defer()` of Linux 6.18): if the window lets out less than a burst
//! and the next acknowledgment is near, it may let out more.
//!
//! The sender waits only within a millisecond of its last transmission, in a train of acknowledgments. A burst is what
//! the rate carries in a millisecond, 64 KiB at most (`tcp_tso_autosize()`), and once it leaves it is not divided. What
//! the window lets out and waits is used: the window grows as if it were full.

use super::Sender;
use crate::congestion::CaState;
use airtcp_core::{Duration, Instant};

/// So long after its last transmission a sender may wait.
const RECENT: Duration = Duration::from_millis(1);
/// The next acknowledgment is near if it is expected within this, or half a round trip.
const NEAR: Duration = Duration::from_millis(1);
/// The window divided by this is worth sending (Linux `tcp_tso_win_divisor`).
const WIN_DIVISOR: u64 = 3;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tso {
    /// Whether bursts are waited for.
    pub(super) on: bool,
    /// Segments of the burst that leaves.
    left: u32,
    /// Data wait for the next acknowledgment or timeout, whatever else happens.
    waits: bool,
}

impl Tso {
    /// No burst leaves; they are waited for if `on`.
    pub fn new(on: bool) -> Self {
        Tso { on, left: 0, waits: false }
    }

    /// An acknowledgment came, or a timer ran out: it is time to look again.
    pub fn look_again(&mut self) {
        self.waits = false;
    }
}

impl Sender {
    /// True if new data wait, of which the congestion window lets out `quota` segments. To be asked only where it is on.
    #[inline(never)]
    pub(super) fn waits_for_burst(&mut self, quota: u32, now: Instant) -> bool {
        if self.continues_burst() {
            return false;
        }
        if self.tso.waits && !self.board.is_empty() {
            return true;
        }
        if self.tso.left > 0 {
            self.tso.left -= 1;
            return false;
        }
        let segments = self.burst_segments();
        self.tso.waits = self.is_worth_waiting(quota, segments, now);
        if !self.tso.waits {
            self.tso.left = segments.min(quota).saturating_sub(1);
        } else if self.is_held_by_window(quota) {
            self.validate_window(true, now);
        }
        self.tso.waits
    }

    /// True if it is the congestion window, and neither the peer's nor the application, that lets out so little.
    fn is_held_by_window(&self, quota: u32) -> bool {
        let allowed = u64::from(quota) * u64::from(self.sk.mss_cache);
        allowed < self.peer.edge.saturating_sub(self.nxt) && allowed <= self.unsent()
    }

    /// Whatever is left of a burst has not been there to send.
    pub(super) fn end_tso_burst(&mut self) {
        self.tso.left = 0;
    }

    fn is_worth_waiting(&self, quota: u32, segments: u32, now: Instant) -> bool {
        let Some(head) = self.board.head() else { return false };
        let (mss, unsent) = (u64::from(self.sk.mss_cache), self.unsent());
        let last_at = self.sk.lsndtime.max(self.sk.tcp_wstamp);
        let is_recent = now.saturating_since(last_at) <= RECENT;
        // A last segment does not wait, nor does what the FIN follows.
        if self.sk.icsk_ca_state >= CaState::Recovery || !is_recent || unsent <= mss {
            return false;
        }
        let limit = self.peer.edge.saturating_sub(self.nxt).min(u64::from(quota) * mss);
        let window = self.peer.edge.saturating_sub(self.una).min(u64::from(self.sk.snd_cwnd) * mss);
        let round_trip = Duration::from_nanos(u64::from(self.sk.srtt_us) * 1000 / 8);
        let until_next = (head.sent_at + round_trip).saturating_since(now);
        let is_next_near = until_next <= NEAR.min(round_trip / 2);
        let is_last = limit >= unsent && self.closing;
        limit < u64::from(segments) * mss && limit < window / WIN_DIVISOR && is_next_near && !is_last
    }
}
