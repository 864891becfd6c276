//! Recovery for a sender without a window, one segment for each trigger (DEC-32, F2 of DEC-34): the data TCP of a
//! decoupling socket.
//!
//! The oldest segment not acknowledged is sent again at the third duplicate acknowledgment, or once three SACKed
//! segments lie above it (DEC-U8), and then again each time X more duplicates have come, so that a lost retransmission
//! waits for no timeout. The caller sets X ([`crate::Connection::set_repeat_after`]), because only what limits the
//! sender knows how many segments are in flight. Without an X it is the window.
//!
//! With one hole repaired in a round trip, a path that loses more than one segment in a round trip is never repaired in
//! time. So `repair_holes = "all"` does the same for every hole that SACK shows (DEC-U9). Duplicates are then counted by
//! what they report delivered, each hole's from its own retransmission on.
//!
//! A timeout sends one segment again, too: everything else stays in flight, since nobody counts it.

use super::{AckView, DUP_THRESH, LossDetector, Repair, sack};
use crate::config::Holes;
use crate::congestion::TcpSock;
use crate::scoreboard::Scoreboard;
use crate::sent::{SendOrder, Sent, mark};
use crate::stats::Stats;
use airtcp_core::Instant;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct OneSegment {
    holes: Holes,
    again: bool,
    /// The transmission of the oldest segment that duplicates are counted for.
    head: SendOrder,
    duplicates: u32,
}

impl OneSegment {
    /// Without SACK only the first hole is known.
    pub fn new(repair: Repair, has_sack: bool) -> Self {
        let holes = if has_sack { repair.holes } else { Holes::First };
        OneSegment { holes, again: repair.again, head: 0, duplicates: 0 }
    }

    fn lose_first(&mut self, board: &mut Scoreboard, sk: &mut TcpSock, ack: &AckView, stats: &mut Stats) {
        let Some(head) = board.head() else { return };
        if head.order != self.head {
            (self.head, self.duplicates) = (head.order, 0);
        }
        self.duplicates = self.duplicates.saturating_add(u32::from(ack.duplicate));
        if !head.has(mark::EVER_RETRANS) {
            let is_overtaken = || sack::lost_below(board, sk.mss_cache).is_some_and(|offset| offset > head.start);
            if self.duplicates >= DUP_THRESH || is_overtaken() {
                board.mark_lost(0, sk);
            }
        } else if self.again && self.duplicates >= ack.repeat_after && board.mark_lost(0, sk) {
            stats.lost_retransmissions += 1;
        }
    }

    fn lose_all(self, board: &mut Scoreboard, sk: &mut TcpSock, ack: &AckView, stats: &mut Stats) {
        if let Some(offset) = sack::lost_below(board, sk.mss_cache) {
            board.mark_lost_below(offset, sk);
        }
        if self.again {
            stats.lost_retransmissions += board.mark_resent_overtaken(ack.repeat_after.max(1), sk);
        }
    }
}

impl LossDetector for OneSegment {
    fn detect(
        &mut self,
        board: &mut Scoreboard,
        sk: &mut TcpSock,
        ack: &AckView,
        stats: &mut Stats,
    ) -> Option<Instant> {
        match self.holes {
            Holes::First => self.lose_first(board, sk, ack, stats),
            Holes::All => self.lose_all(board, sk, ack, stats),
        }
        None
    }

    fn reads_order(&self) -> bool {
        true
    }

    /// Progress ends the repair of the first hole, as it ends Reno's.
    fn ends_with_progress(&self) -> bool {
        self.holes == Holes::First
    }

    /// A timeout is the oldest segment's.
    fn spares(&self, _sent: &Sent, _now: Instant) -> bool {
        true
    }
}
