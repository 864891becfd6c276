//! SACK-based recovery (RFC 6675): a segment is lost when three SACKed ranges, or more than two
//! full segments of SACKed bytes, lie above it.
//!
//! With nothing lost and nothing new to send, rules 3 and 4 of NextSeg send again what may be
//! lost. A lost retransmission is left to the timer, as the RFC does; RACK finds it.

use super::{AckView, DUP_THRESH, LossDetector};
use crate::congestion::TcpSock;
use crate::scoreboard::Scoreboard;
use crate::sent::mark;
use crate::stats::Stats;
use airtcp_core::Instant;

/// See the module.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sack {
    rescued: bool,
}

/// The offset below which everything not SACKed is lost: IsLost() of RFC 6675 section 4.
pub(super) fn lost_below(board: &Scoreboard, mss: u32) -> Option<u64> {
    let enough_bytes = u64::from((DUP_THRESH - 1) * mss);
    let (mut ranges, mut bytes) = (0, 0);
    for range in board.sacked().iter().rev() {
        ranges += 1;
        bytes += range.end - range.start;
        if ranges >= DUP_THRESH || bytes > enough_bytes {
            return Some(range.start);
        }
    }
    None
}

impl LossDetector for Sack {
    fn detect(&mut self, board: &mut Scoreboard, sk: &mut TcpSock, _: &AckView, _: &mut Stats) -> Option<Instant> {
        if let Some(offset) = lost_below(board, sk.mss_cache) {
            board.mark_lost_below(offset, sk);
        }
        None
    }

    fn rescue(&mut self, board: &Scoreboard, recovery_point: u64) -> Option<usize> {
        // Rule 3: the lowest hole below the highest SACKed byte.
        let highest = board.highest_sacked();
        let mut index = 0;
        while let Some(record) = board.record(index).filter(|record| record.end <= highest) {
            if !record.has(mark::SACKED | mark::EVER_RETRANS) {
                return Some(index);
            }
            index += 1;
        }
        // Rule 4: once per recovery, the last segment of the window that was lost in.
        let last = board.first_from(recovery_point).checked_sub(1)?;
        let record = board.record(last)?;
        if self.rescued || record.has(mark::SACKED | mark::EVER_RETRANS) {
            return None;
        }
        self.rescued = true;
        Some(last)
    }

    fn on_recovered(&mut self) {
        self.rescued = false;
    }
}
