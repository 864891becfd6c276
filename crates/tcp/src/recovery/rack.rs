//! RACK (RFC 8985): a segment is lost when one sent sufficiently later has been delivered. Time,
//! not counting, decides, so lost retransmissions are found like any other loss.
//!
//! The reordering window starts at zero in recovery or after three SACKed segments, and grows by a
//! quarter of the lowest round-trip time with each round in which a D-SACK tells of a spurious
//! retransmission, as Linux does. Unlike RFC 8985 the timer is set for the first undecided
//! segment, not the last, so nothing is scanned.

use super::{AckView, LossDetector, Newest};
use crate::congestion::{CaState, TcpSock};
use crate::scoreboard::{Scoreboard, SendOrder, Sent};
use crate::stats::Stats;
use airtcp_core::{Duration, Instant};

/// Recoveries for which a grown window is kept (RFC 8985 section 6.2 step 4).
const PERSIST: u32 = 16;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct Rack {
    newest: SendOrder,
    rtt: Duration,
    reordering_seen: bool,
    /// The window in quarters of the lowest round-trip time.
    steps: u32,
    persist: u32,
    /// A step was made in the round that ends here.
    step_until: u64,
}

impl Default for Rack {
    fn default() -> Self {
        Rack { newest: 0, rtt: Duration::ZERO, reordering_seen: false, steps: 1, persist: 0, step_until: 0 }
    }
}

impl Rack {
    fn advance(&mut self, newest: Newest) {
        if newest.order > self.newest {
            self.newest = newest.order;
            self.rtt = newest.rtt;
        }
    }

    fn adapt(&mut self, ack: &AckView) {
        self.reordering_seen |= ack.reordering_seen;
        if ack.dsack && ack.una >= self.step_until {
            self.steps = (self.steps + 1).min(255);
            self.step_until = ack.nxt;
            self.persist = PERSIST;
        }
    }

    fn reordering_window(&self, sk: &TcpSock) -> Duration {
        if !self.reordering_seen && (sk.icsk_ca_state >= CaState::Recovery || sk.sacked_out >= sk.reordering) {
            return Duration::ZERO;
        }
        let quarter_us = if sk.rtt_min_us == u32::MAX { 0 } else { u64::from(sk.rtt_min_us) >> 2 };
        Duration::from_micros((quarter_us * u64::from(self.steps)).min(u64::from(sk.srtt_us >> 3)))
    }
}

impl LossDetector for Rack {
    fn detect(
        &mut self,
        board: &mut Scoreboard,
        sk: &mut TcpSock,
        ack: &AckView,
        stats: &mut Stats,
    ) -> Option<Instant> {
        self.adapt(ack);
        if let Some(newest) = ack.newest {
            self.advance(newest);
        }
        let wait = self.rtt.saturating_add(self.reordering_window(sk));
        let overdue = |sent_at: Instant| sent_at.saturating_add(wait) <= ack.now;
        let first = board.mark_sent_before(self.newest, sk, overdue);
        let resent = board.mark_resent_before(self.newest, sk, &mut stats.lost_retransmissions, overdue);
        let earliest = match (first, resent) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        earliest.map(|sent_at| sent_at.saturating_add(wait))
    }

    fn spares(&self, sent: &Sent, sk: &TcpSock, now: Instant) -> bool {
        sent.sent_at.saturating_add(self.rtt).saturating_add(self.reordering_window(sk)) > now
    }

    fn probes_tail(&self) -> bool {
        true
    }

    fn on_reordering(&mut self) {
        self.reordering_seen = true;
    }

    fn on_recovered(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.steps = 1;
        }
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
        for n in 0..10 {
            let sent_at = at(100 + n);
            let sent = Sent {
                start: 1 + n * 100,
                end: 101 + n * 100,
                sent_at,
                order: 0,
                first_tx_at: sent_at,
                delivered_at: sent_at,
                delivered: 0,
                flags: 0,
            };
            board.push(sent, &mut sk);
        }
        (board, sk, Rack::default())
    }

    fn sack(n: u64, now: Instant, board: &mut Scoreboard, sk: &mut TcpSock, rack: &mut Rack) -> Option<Instant> {
        board.mark_sacked(1 + n * 100, 101 + n * 100, sk, |_| {});
        let newest = Some(Newest { order: n + 1, rtt: now.saturating_since(at(100 + n)) });
        let ack = AckView {
            now,
            una_advanced: false,
            newest,
            duplicate: true,
            dsack: false,
            reordering_seen: false,
            una: 1,
            nxt: 1001,
            repeat_after: 0,
        };
        rack.detect(board, sk, &ack, &mut Stats::default())
    }

    #[test]
    fn one_sacked_segment_waits_a_quarter_round_trip_for_the_hole_before_it() {
        let (mut board, mut sk, mut rack) = setup();
        let wake = sack(1, at(141), &mut board, &mut sk, &mut rack);
        // Sent at 100, newest round trip 40 ms, a quarter of the lowest one on top.
        assert_eq!((sk.lost_out, wake), (0, Some(at(150))));
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
