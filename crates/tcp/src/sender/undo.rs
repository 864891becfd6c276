//! Taking a reduction back when nothing had been lost: every retransmission was reported as a
//! duplicate (D-SACK, RFC 3708), or the acknowledgment echoes a clock older than the first
//! retransmission (Eifel, RFC 3522).

use super::ack::AckFacts;
use super::{Sender, Step};
use crate::congestion::CaState;

/// What must be known to undo the present reduction.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Undo {
    /// `una` when the reduction began; none if it must stay.
    marker: Option<u64>,
    /// Retransmissions not reported as duplicates; none if there was no retransmission yet.
    pending: Option<u32>,
    /// Our clock at the first retransmission.
    first_retransmission: Option<u32>,
}

impl Undo {
    pub(super) fn start(&mut self, una: u64, retrans_out: u32) {
        self.marker = Some(una);
        self.pending = Some(retrans_out).filter(|count| *count > 0);
    }

    pub(super) fn stop(&mut self) {
        self.marker = None;
    }

    pub(super) fn is_possible(&self) -> bool {
        self.marker.is_some()
    }

    pub(super) fn forget_first_retransmission(&mut self) {
        self.first_retransmission = None;
    }

    pub(super) fn on_retransmission(&mut self, clock: u32) {
        self.first_retransmission.get_or_insert(clock);
        self.pending = Some(self.pending.unwrap_or(0).saturating_add(1));
    }

    fn on_duplicate(&mut self, end: u64, prior_una: u64) {
        if let (Some(marker), Some(pending)) = (self.marker, self.pending)
            && end <= prior_una
            && end > marker
        {
            self.pending = Some(pending.saturating_sub(1));
        }
    }

    fn all_were_duplicates(&self) -> bool {
        self.marker.is_some() && self.pending == Some(0)
    }

    /// The acknowledged copy was sent before the first retransmission.
    fn original_arrived(&self, echo: Option<u32>) -> bool {
        let (Some(first), Some(echo)) = (self.first_retransmission, echo) else { return false };
        self.marker.is_some() && (echo.wrapping_sub(first) as i32) < 0
    }
}

impl Sender {
    /// A D-SACK of a range that ends at `end`.
    pub(super) fn count_duplicate(&mut self, end: u64, prior_una: u64) {
        self.undo.on_duplicate(end, prior_una);
    }

    /// Gives the window back (Linux `tcp_undo_cwnd_reduction()`).
    fn undo_reduction(&mut self, unmark: bool, step: &mut Step) {
        if unmark {
            self.board.unmark_lost(&mut self.sk);
        }
        if self.sk.prior_ssthresh > 0 {
            self.sk.snd_cwnd = self.controller.undo_cwnd(&mut self.sk).min(self.sk.snd_cwnd_clamp);
            if self.sk.prior_ssthresh > self.sk.snd_ssthresh {
                self.sk.snd_ssthresh = self.sk.prior_ssthresh;
                self.cwr_due = false;
            }
        }
        self.undo.stop();
        step.stats.spurious_recoveries += 1;
    }

    /// At the end of recovery or loss. True if the state is held (without SACK, at `high_seq`).
    pub(super) fn try_undo_recovery(&mut self, step: &mut Step) -> bool {
        if self.undo.all_were_duplicates() {
            self.undo_reduction(false, step);
        }
        let may_leave = self.sk.icsk_ca_state == CaState::Recovery && self.detector.ends_with_progress();
        if !self.has_sack && self.una == self.high_seq && !may_leave {
            if self.sk.retrans_out == 0 {
                self.undo.forget_first_retransmission();
            }
            return true;
        }
        self.set_state(CaState::Open);
        false
    }

    /// On a partial acknowledgment in recovery. True if there is nothing more to do for it.
    pub(super) fn try_undo_partial(&mut self, facts: &AckFacts, step: &mut Step) -> bool {
        if !self.undo.original_arrived(facts.echo) {
            return false;
        }
        // The hole was filled by its first transmission: it was overtaken, not lost.
        self.detector.on_reordering();
        self.raise_reordering(facts.prior_una, facts.highest_before);
        if self.sk.retrans_out > 0 {
            return true;
        }
        self.undo.forget_first_retransmission();
        self.undo_reduction(true, step);
        self.keep_open();
        false
    }

    /// Every retransmission was a duplicate.
    pub(super) fn try_undo_duplicates(&mut self, step: &mut Step) -> bool {
        let undone = self.undo.all_were_duplicates();
        if undone {
            self.undo_reduction(false, step);
        }
        undone
    }

    /// After a timeout. True if the timeout proved spurious.
    pub(super) fn try_undo_loss(&mut self, facts: &AckFacts, step: &mut Step) -> bool {
        let is_spurious = self.undo.all_were_duplicates() || self.undo.original_arrived(facts.echo);
        if is_spurious {
            self.undo_timeout(step);
        }
        is_spurious
    }

    /// The timeout was spurious: everything is as before it.
    pub(super) fn undo_timeout(&mut self, step: &mut Step) {
        self.undo_reduction(true, step);
        self.retransmits = 0;
        if self.has_sack || self.una != self.high_seq {
            self.set_state(CaState::Open);
        }
    }
}
