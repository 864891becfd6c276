//! RACK (RFC 8985): a segment is lost when one sent sufficiently later has been delivered. Time,
//! not counting, decides, so lost retransmissions are found like any other loss.
//!
//! All of it as Linux has it (`tcp_recovery.c`). The reordering window starts at zero in recovery or after three SACKed
//! segments. It grows by a quarter of the lowest round-trip time with each round in which a D-SACK tells of a spurious
//! retransmission, once reordering was seen. The timer is for the last undecided segment, and leaves two milliseconds
//! more than that has.

use super::{AckView, LossDetector, Newest};
use crate::congestion::{CaState, TcpSock};
use crate::scoreboard::Scoreboard;
use crate::sent::{SendOrder, Sent};
use crate::stats::Stats;
use airtcp_core::{Duration, Instant};

/// Recoveries for which a grown window is kept (RFC 8985 section 6.2 step 4).
const PERSIST: u32 = 16;
/// What the timer adds to the wait of a segment (Linux `TCP_TIMEOUT_MIN_US`).
const TIMER_ALLOWANCE: Duration = Duration::from_millis(2);

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct Rack {
    newest: SendOrder,
    rtt: Duration,
    /// Something was delivered since losses were looked for.
    has_advanced: bool,
    reordering_seen: bool,
    /// A D-SACK came that the window was not widened for yet.
    duplicate_seen: bool,
    /// The window in quarters of the lowest round-trip time.
    steps: u32,
    persist: u32,
    /// `delivered` when the window was widened last.
    widened_at: u32,
}

impl Default for Rack {
    fn default() -> Self {
        Rack {
            newest: 0,
            rtt: Duration::ZERO,
            has_advanced: false,
            reordering_seen: false,
            duplicate_seen: false,
            steps: 1,
            persist: 0,
            widened_at: 0,
        }
    }
}

impl Rack {
    fn reordering_window(&self, sk: &TcpSock) -> Duration {
        if !self.reordering_seen && (sk.icsk_ca_state >= CaState::Recovery || sk.sacked_out >= sk.reordering) {
            return Duration::ZERO;
        }
        let quarter_us = if sk.rtt_min_us == u32::MAX { 0 } else { u64::from(sk.rtt_min_us) >> 2 };
        Duration::from_micros((quarter_us * u64::from(self.steps)).min(u64::from(sk.srtt_us >> 3)))
    }
}

impl LossDetector for Rack {
    fn on_delivered(&mut self, newest: Newest) {
        self.has_advanced = true;
        self.rtt = newest.rtt;
        self.newest = self.newest.max(newest.order);
    }

    fn detect(
        &mut self,
        board: &mut Scoreboard,
        sk: &mut TcpSock,
        ack: &AckView,
        stats: &mut Stats,
    ) -> Option<Instant> {
        if !core::mem::take(&mut self.has_advanced) {
            return None;
        }
        let wait = self.rtt.saturating_add(self.reordering_window(sk));
        let overdue = |sent_at: Instant| sent_at.saturating_add(wait) <= ack.now;
        let first = board.mark_sent_before(self.newest, sk, overdue);
        let resent = board.mark_resent_before(self.newest, sk, &mut stats.lost_retransmissions, overdue);
        let latest = first.into_iter().chain(resent).max();
        latest.map(|sent_at| sent_at.saturating_add(wait).saturating_add(TIMER_ALLOWANCE))
    }

    fn spares(&self, sent: &Sent, now: Instant) -> bool {
        sent.sent_at.saturating_add(self.rtt) > now
    }

    fn limits_repairs(&self) -> bool {
        true
    }

    fn reads_order(&self) -> bool {
        true
    }

    fn probes_tail(&self) -> bool {
        true
    }

    fn on_reordering(&mut self) {
        self.reordering_seen = true;
    }

    fn on_duplicate(&mut self) {
        self.duplicate_seen |= self.reordering_seen;
    }

    fn on_round(&mut self, delivered_then: u32, delivered: u32) {
        // Once in a round trip.
        if (delivered_then.wrapping_sub(self.widened_at) as i32) < 0 {
            self.duplicate_seen = false;
        }
        if core::mem::take(&mut self.duplicate_seen) {
            self.steps = (self.steps + 1).min(255);
            self.widened_at = delivered;
            self.persist = PERSIST;
        }
    }

    fn on_undone(&mut self, by_duplicates: bool) {
        self.has_advanced = true;
        if by_duplicates {
            self.persist = (self.persist + 1).min(PERSIST);
        }
    }

    fn on_recovered(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.steps = 1;
        }
    }

    fn look_again(&mut self) {
        self.has_advanced = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airtcp_core::Rng;

    fn at(millis: u64) -> Instant {
        Instant::from_nanos(millis * 1_000_000)
    }

    /// Ten segments sent a millisecond apart from 100 ms on; round-trip time 40 ms.
    fn setup() -> (Scoreboard, TcpSock, Rack) {
        let (mut board, mut sk) = (Scoreboard::default(), TcpSock::new(Rng::derive(1, "rack")));
        sk.srtt_us = 40_000 << 3;
        sk.rtt_min_us = 40_000;
        board.keep_order();
        for n in 0..10 {
            let sent_at = at(100 + n);
            let sent = Sent { start: 1 + n * 100, end: 101 + n * 100, sent_at, order: 0, delivered: 0, flags: 0 };
            board.push(&sent, &mut sk);
        }
        (board, sk, Rack::default())
    }

    fn sack(n: u64, now: Instant, board: &mut Scoreboard, sk: &mut TcpSock, rack: &mut Rack) -> Option<Instant> {
        board.mark_sacked(1 + n * 100, 101 + n * 100, sk, |_, _| {});
        rack.on_delivered(Newest { order: n + 1, rtt: now.saturating_since(at(100 + n)) });
        let ack = AckView { now, una_advanced: false, duplicate: true, repeat_after: 0 };
        rack.detect(board, sk, &ack, &mut Stats::default())
    }

    #[test]
    fn one_sacked_segment_waits_a_quarter_round_trip_for_the_hole_before_it() {
        let (mut board, mut sk, mut rack) = setup();
        let wake = sack(1, at(141), &mut board, &mut sk, &mut rack);
        // Sent at 100, newest round trip 40 ms, a quarter of the lowest one on top, and two more.
        assert_eq!((sk.lost_out, wake), (0, Some(at(152))));
    }

    #[test]
    fn the_timer_is_for_the_last_undecided_segment() {
        let (mut board, mut sk, mut rack) = setup();
        let wake = sack(5, at(145), &mut board, &mut sk, &mut rack);
        assert_eq!((sk.lost_out, wake), (0, Some(at(156))));
    }

    #[test]
    fn a_duplicate_widens_the_window_only_after_reordering_and_once_in_a_round() {
        let (_, sk, mut rack) = setup();
        let quarters = |rack: &Rack| rack.reordering_window(&sk).as_millis() / 10;
        rack.on_duplicate();
        rack.on_round(5, 10);
        assert_eq!(quarters(&rack), 1);
        rack.on_reordering();
        rack.on_duplicate();
        rack.on_round(5, 10);
        rack.on_duplicate();
        rack.on_round(9, 20);
        assert_eq!(quarters(&rack), 2);
        rack.on_duplicate();
        rack.on_round(10, 20);
        assert_eq!(quarters(&rack), 3);
        (0..PERSIST).for_each(|_| rack.on_recovered());
        assert_eq!(quarters(&rack), 1);
    }

    #[test]
    fn three_sacked_segments_lose_the_hole_at_once() {
        let (mut board, mut sk, mut rack) = setup();
        for n in 1..=3 {
            sack(n, at(140 + n), &mut board, &mut sk, &mut rack);
        }
        assert_eq!(sk.lost_out, 1);
    }

    #[test]
    fn known_reordering_keeps_the_window_open() {
        let (mut board, mut sk, mut rack) = setup();
        rack.reordering_seen = true;
        for n in 1..=3 {
            sack(n, at(140 + n), &mut board, &mut sk, &mut rack);
        }
        assert_eq!(sk.lost_out, 0);
    }
}
