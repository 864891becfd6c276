//! NewReno (RFC 6582): three duplicate acknowledgments lose the oldest segment, and during
//! recovery so does every partial acknowledgment.
//!
//! Duplicate acknowledgments are counted in `sacked_out`, as Linux does, so that "pipe" takes the
//! place of RFC 6582's inflated window: both admit the same segments.

use super::{AckView, DUP_THRESH, LossDetector};
use crate::congestion::{CaState, TcpSock};
use crate::scoreboard::Scoreboard;
use crate::sent::mark;
use crate::stats::Stats;
use airtcp_core::Instant;

/// RFC 5681 section 3.2: the third duplicate outside recovery loses the oldest segment.
pub(super) fn lose_head_on_third_duplicate(board: &mut Scoreboard, sk: &mut TcpSock) {
    lose_head_on_duplicates(DUP_THRESH, board, sk);
}

fn lose_head_on_duplicates(count: u32, board: &mut Scoreboard, sk: &mut TcpSock) {
    if sk.icsk_ca_state < CaState::Recovery && sk.sacked_out >= count {
        lose_head(board, sk);
    }
}

fn lose_head(board: &mut Scoreboard, sk: &mut TcpSock) {
    if board.head().is_some_and(|head| !head.has(mark::LOST)) {
        board.mark_lost(0, sk);
    }
}

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct NewReno {
    /// More duplicates than three are waited for where reordering was seen, as Linux does.
    pub adapts: bool,
}

impl LossDetector for NewReno {
    fn detect(&mut self, board: &mut Scoreboard, sk: &mut TcpSock, ack: &AckView, _: &mut Stats) -> Option<Instant> {
        lose_head_on_duplicates(if self.adapts { sk.reordering } else { DUP_THRESH }, board, sk);
        let partial = sk.icsk_ca_state == CaState::Recovery && ack.una_advanced;
        if partial {
            lose_head(board, sk);
        }
        None
    }
}
