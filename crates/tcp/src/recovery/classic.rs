//! The senders that the papers were measured with: Tahoe (Jacobson 1988; R-1) and Reno (RFC 2001,
//! RFC 2581; R-2). Both wait for three duplicate acknowledgments and send the oldest segment again.
//! Reno halves its window and leaves recovery with the first acknowledgment that advances, so each
//! further loss of a window costs another halving, or a timeout when too little is in flight for
//! three more duplicates. Tahoe forgets what is in flight and starts slowly from one segment.
//!
//! As in ns-2's `TCP/Reno` and `TCP/Tahoe`, duplicates of what was sent before a timeout start no
//! recovery (its `bugfix_`), and after a fast retransmit they do. New data wait for the third
//! duplicate: limited transmit (RFC 3042) came later.

use super::{AckView, LossDetector, newreno};
use crate::congestion::TcpSock;
use crate::scoreboard::Scoreboard;
use crate::stats::Stats;
use airtcp_core::Instant;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct Reno;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct Tahoe;

impl LossDetector for Reno {
    fn detect(&mut self, board: &mut Scoreboard, sk: &mut TcpSock, _: &AckView, _: &mut Stats) -> Option<Instant> {
        newreno::lose_head_on_third_duplicate(board, sk);
        None
    }

    fn ends_with_progress(&self) -> bool {
        true
    }

    fn limited_transmit(&self) -> bool {
        false
    }
}

impl LossDetector for Tahoe {
    fn detect(&mut self, board: &mut Scoreboard, sk: &mut TcpSock, _: &AckView, _: &mut Stats) -> Option<Instant> {
        newreno::lose_head_on_third_duplicate(board, sk);
        None
    }

    fn limited_transmit(&self) -> bool {
        false
    }
}
