//! Taking a reduction back when nothing had been lost: every retransmission was reported as a
//! duplicate (D-SACK, RFC 3708), or the acknowledgment echoes a clock older than the first
//! retransmission (Eifel, RFC 3522).

use super::ack::AckFacts;
use super::{Sender, Step};
use crate::congestion::CaState;
use crate::sent::mark;

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
    /// `in_flight` retransmissions are out already, and may yet be reported as duplicates.
    pub(super) fn start(&mut self, una: u64, in_flight: u32) {
        self.marker = Some(una);
        self.pending = Some(in_flight).filter(|count| *count > 0);
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

    /// `segments` that end at `end` arrived twice.
    pub(super) fn on_duplicate(&mut self, end: u64, segments: u32) {
        if let (Some(marker), Some(pending)) = (self.marker, self.pending)
            && end > marker
        {
            self.pending = Some(pending.saturating_sub(segments));
        }
    }

    fn all_were_duplicates(&self) -> bool {
        self.marker.is_some() && self.pending == Some(0)
    }
}

impl Sender {
    /// Something that was sent again may be in flight (Linux `tcp_any_retrans_done()`).
    pub(super) fn has_resent(&self) -> bool {
        let is_head_resent = || self.board.head().is_some_and(|head| head.has(mark::EVER_RETRANS));
        self.sk.retrans_out > 0 || self.follows_linux && is_head_resent()
    }

    pub(super) fn forget_first_retransmission_if_over(&mut self) {
        if !self.has_resent() {
            self.undo.forget_first_retransmission();
        }
    }

    /// What is acknowledged was sent before the first retransmission, or there was none, which only Linux takes for a
    /// sign (`tcp_packet_delayed()`).
    fn original_arrived(&self, facts: &AckFacts) -> bool {
        match (self.undo.first_retransmission, facts.echo) {
            (Some(first), Some(echo)) => (echo.wrapping_sub(first) as i32) < 0,
            (Some(_), None) => false,
            (None, _) => self.follows_linux && (self.has_sack || self.una < self.high_seq),
        }
    }

    fn may_undo(&self, facts: &AckFacts) -> bool {
        self.undo.is_possible() && (self.undo.all_were_duplicates() || self.original_arrived(facts))
    }

    /// Gives the window back (Linux `tcp_undo_cwnd_reduction()`).
    fn undo_reduction(&mut self, unmark: bool, by_duplicates: bool, step: &mut Step) {
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
        self.window_use.changed(self.sk.tcp_mstamp);
        self.undo.stop();
        self.detector.on_undone(by_duplicates);
        step.stats.spurious_recoveries += 1;
    }

    /// Without SACK the state is held until something above `high_seq` is acknowledged (RFC 6582 section 4).
    fn must_hold_state(&mut self) -> bool {
        let may_leave = self.sk.icsk_ca_state == CaState::Recovery && self.detector.ends_with_progress();
        let must = !self.has_sack && self.una == self.high_seq && !may_leave;
        if must {
            self.forget_first_retransmission_if_over();
        }
        must
    }

    /// At the end of recovery or loss; senders older than Linux of today learn only of duplicates then. True if the state
    /// is held.
    pub(super) fn try_undo_recovery(&mut self, facts: &AckFacts, step: &mut Step) -> bool {
        if self.undo.all_were_duplicates() || self.follows_linux && self.may_undo(facts) {
            self.undo_reduction(false, false, step);
        } else {
            self.detector.on_recovered();
        }
        if self.must_hold_state() {
            return true;
        }
        self.set_state(CaState::Open);
        false
    }

    /// On a partial acknowledgment in recovery. True if there is nothing more to do for it.
    pub(super) fn try_undo_partial(&mut self, facts: &AckFacts, step: &mut Step) -> bool {
        if !self.undo.is_possible() || !self.original_arrived(facts) {
            return false;
        }
        // The hole was filled by its first transmission: it was overtaken, not lost.
        self.check_reordering(facts.prior_una);
        if self.sk.retrans_out > 0 {
            return true;
        }
        self.forget_first_retransmission_if_over();
        self.undo_reduction(true, false, step);
        self.keep_open();
        false
    }

    /// Every retransmission was a duplicate.
    pub(super) fn try_undo_duplicates(&mut self, step: &mut Step) -> bool {
        let undone = self.undo.all_were_duplicates();
        if undone {
            self.undo_reduction(false, true, step);
        }
        undone
    }

    /// After a timeout, which `is_known_spurious` by F-RTO or by what the acknowledgment tells. True if it was.
    pub(super) fn try_undo_loss(&mut self, facts: &AckFacts, is_known_spurious: bool, step: &mut Step) -> bool {
        if !is_known_spurious && !self.may_undo(facts) {
            return false;
        }
        self.undo_reduction(true, false, step);
        self.retransmits = 0;
        if !self.must_hold_state() && (is_known_spurious || self.has_sack) {
            self.set_state(CaState::Open);
        }
        true
    }
}
