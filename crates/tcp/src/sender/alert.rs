//! The recovery state machine (Linux `tcp_fastretrans_alert()`): what an acknowledgment that is
//! not plain progress does to the state, and when fast recovery begins and ends.

use super::ack::AckFacts;
use super::blocks::MAX_REORDERING;
use super::{Sender, Step};
use crate::config::ByteCounting;
use crate::config::Reduction;
use crate::congestion::{CaState, RateSample};
use crate::sent::mark;
use crate::timers::Timer;
use airtcp_core::Duration;

/// Least wait before SACKed data at the head are taken for reneged.
const RENEGING_WAIT: Duration = Duration::from_millis(10);

impl Sender {
    /// Acts on a duplicate, selective or congestion-echoing acknowledgment, or on any while the
    /// state is not Open.
    pub(super) fn alert(&mut self, facts: &mut AckFacts, step: &mut Step) {
        self.holds_repairs = false;
        if facts.ece {
            self.sk.prior_ssthresh = 0;
        }
        if self.board.is_empty() && !self.has_sack {
            self.sk.sacked_out = 0;
        }
        if self.check_reneging(facts, step) {
            self.holds_repairs = true;
            return;
        }
        if self.sk.icsk_ca_state == CaState::Open {
            self.undo.forget_first_retransmission();
        } else if (self.una >= self.high_seq || self.ends_early(facts)) && self.leave_state(facts, step) {
            return;
        }
        match self.sk.icsk_ca_state {
            CaState::Recovery => self.in_recovery(facts, step),
            CaState::Loss => self.in_loss(facts, step),
            CaState::Open | CaState::Disorder | CaState::Cwr => self.look_for_loss(facts, step),
        }
    }

    /// [`Sender::alert`] of a duplicate that says nothing else: while a loss is repaired only recovery hears of it.
    #[inline]
    pub(super) fn alert_of_duplicate(&mut self, facts: &mut AckFacts, step: &mut Step) {
        if self.sk.icsk_ca_state == CaState::Recovery && self.una < self.high_seq {
            self.holds_repairs = false;
            self.in_recovery(facts, step);
        } else {
            self.alert(facts, step);
        }
    }

    /// Progress ends recovery although it is not complete (RFC 2581).
    fn ends_early(&self, facts: &AckFacts) -> bool {
        self.sk.icsk_ca_state == CaState::Recovery && facts.una_advanced && self.detector.ends_with_progress()
    }

    /// Everything sent before the state began is acknowledged. True if the state is held until
    /// something above is acknowledged, too.
    fn leave_state(&mut self, facts: &AckFacts, step: &mut Step) -> bool {
        match self.sk.icsk_ca_state {
            CaState::Cwr if self.una != self.high_seq => {
                self.end_reduction();
                self.set_state(CaState::Open);
            }
            CaState::Recovery => {
                if !self.has_sack {
                    self.sk.sacked_out = 0;
                }
                if self.try_undo_recovery(facts, step) {
                    return true;
                }
                self.end_reduction();
            }
            _ => {}
        }
        false
    }

    fn in_recovery(&mut self, facts: &mut AckFacts, step: &mut Step) {
        self.reduce_for_unmarked_hole(step);
        if !facts.una_advanced {
            if !self.has_sack {
                self.add_reno_sacks(facts.duplicates);
            }
        } else if self.try_undo_partial(facts, step) {
            // More was overtaken than was known: nothing more is sent again for now.
            self.holds_repairs = true;
            return;
        }
        if self.try_undo_duplicates(step) {
            self.try_to_open(facts, step);
        }
        self.detect(facts, step);
        // RFC 6582 section 3.2 step 3: a partial acknowledgment retransmits at once; under PRR, as the window allows.
        let forces = !self.has_sack && self.reduction != Reduction::Proportional;
        self.force_retransmit |= facts.una_advanced && forces;
        if self.sk.icsk_ca_state != CaState::Recovery && self.sk.lost_out > 0 {
            self.enter_recovery(facts.ece, step);
        }
    }

    fn in_loss(&mut self, facts: &mut AckFacts, step: &mut Step) {
        self.process_loss(facts, step);
        self.detect(facts, step);
        if self.sk.icsk_ca_state == CaState::Open || facts.lost_again {
            self.look_for_loss(facts, step);
        }
    }

    /// Linux `tcp_process_loss()`.
    fn process_loss(&mut self, facts: &AckFacts, step: &mut Step) {
        let recovered = self.una >= self.high_seq;
        if facts.una_advanced && self.try_undo_loss(facts, false, step) || self.process_frto(facts, recovered, step) {
            return;
        }
        if recovered {
            // Holds the state without SACK, so that old duplicates start no recovery (RFC 6582 section 4).
            self.try_undo_recovery(facts, step);
        } else if !self.has_sack {
            if self.nxt > self.high_seq && facts.duplicates > 0 {
                self.add_reno_sacks(facts.duplicates);
            } else if facts.una_advanced {
                self.sk.sacked_out = 0;
            }
        }
    }

    fn look_for_loss(&mut self, facts: &mut AckFacts, step: &mut Step) {
        if !self.has_sack {
            if facts.una_advanced {
                self.sk.sacked_out = 0;
            }
            self.add_reno_sacks(facts.duplicates);
        }
        if self.sk.icsk_ca_state <= CaState::Disorder {
            self.try_undo_duplicates(step);
        }
        self.detect(facts, step);
        if self.sk.lost_out == 0 {
            self.try_to_open(facts, step);
        } else {
            self.enter_recovery(facts.ece, step);
        }
    }

    fn detect(&mut self, facts: &mut AckFacts, step: &mut Step) {
        let view = self.ack_view(facts, step);
        let lost_again = step.stats.lost_retransmissions;
        let deadline = self.detector.detect(&mut self.board, &mut self.sk, &view, step.stats);
        facts.lost_again |= step.stats.lost_retransmissions != lost_again;
        if let Some(at) = deadline {
            step.timers.start_only(Timer::Reorder, step.now, at.saturating_since(step.now).min(self.rtt.rto()));
            facts.restarts_timer = false;
        }
    }

    /// The reordering window of a hole ran out without an acknowledgment (RFC 8985 section 6.3).
    pub fn handle_reorder_timeout(&mut self, step: &mut Step) {
        self.tso.look_again();
        self.sk.tcp_mstamp = step.now;
        let lost = self.sk.lost;
        self.holds_repairs = false;
        let mut facts = AckFacts { prior_una: self.una, ..AckFacts::default() };
        self.detector.look_again();
        self.detect(&mut facts, step);
        let newly_lost = self.sk.lost.wrapping_sub(lost);
        if newly_lost > 0 && self.sk.icsk_ca_state != CaState::Recovery {
            self.enter_recovery(false, step);
            if !self.has_cong_control {
                self.reduce_window(1, newly_lost, false);
            }
        }
        self.tell_losses();
        // What is not decided even now waits for an acknowledgment or for the timeout.
        self.rearm(true, step);
    }

    /// Fast recovery begins (RFC 6675 section 5 step 4, RFC 6582 section 3.2 step 2).
    pub(super) fn enter_recovery(&mut self, ece: bool, step: &mut Step) {
        step.stats.fast_recoveries += 1;
        if self.reduction == Reduction::SlowStart {
            self.enter_loss(step);
            return;
        }
        self.forget_first_retransmission_if_over();
        self.sk.prior_ssthresh = 0;
        self.undo.start(self.una, self.undo_retransmissions());
        let spares = self.is_loss_notified() && !ece && !self.sk.tcp_in_cwnd_reduction();
        if spares {
            self.high_seq = self.nxt;
            self.probe.forget();
            step.stats.spared_recoveries += 1;
        } else if !self.sk.tcp_in_cwnd_reduction() {
            if !ece {
                self.sk.prior_ssthresh = self.sk.tcp_current_ssthresh();
            }
            self.begin_reduction();
        }
        self.set_state(CaState::Recovery);
        self.notice.spares_window = spares;
        self.force_retransmit = spares || self.reduction == Reduction::AtOnce;
    }

    /// Nothing is lost: reduces for ECE, or returns to Open or Disorder.
    fn try_to_open(&mut self, facts: &AckFacts, step: &mut Step) {
        self.forget_first_retransmission_if_over();
        if facts.ece && self.sk.icsk_ca_state < CaState::Cwr {
            self.undo.stop();
            self.sk.prior_ssthresh = 0;
            self.begin_reduction_for_mark();
            self.set_state(CaState::Cwr);
            step.stats.ecn_reductions += 1;
        }
        if self.sk.icsk_ca_state != CaState::Cwr {
            self.keep_open();
        }
    }

    /// Open, or Disorder while anything is unusual.
    pub(super) fn keep_open(&mut self) {
        let unusual = self.sk.sacked_out + self.sk.lost_out > 0 || self.has_resent();
        let state = if unusual { CaState::Disorder } else { CaState::Open };
        if state != self.sk.icsk_ca_state {
            self.set_state(state);
            self.high_seq = self.nxt;
        }
    }

    /// RFC 2018 section 8: SACKed data at the head may mean that the receiver took it back. If it
    /// still does after a moment, the retransmission timer acts (Linux `tcp_check_sack_reneging()`).
    fn check_reneging(&mut self, facts: &mut AckFacts, step: &mut Step) -> bool {
        let is_reneged = facts.una_advanced && self.board.head().is_some_and(|head| head.has(mark::SACKED));
        if is_reneged {
            let half_round_trip = Duration::from_micros(u64::from(self.sk.srtt_us >> 4));
            let wait = half_round_trip.max(RENEGING_WAIT).min(self.rtt.rto());
            step.timers.start_only(Timer::Retransmit, step.now, wait);
            facts.restarts_timer = false;
        }
        is_reneged
    }

    /// Grows or reduces the window (Linux `tcp_cong_control()`).
    pub(super) fn control_window(&mut self, sample: &RateSample, facts: &AckFacts, newly_lost: u32) {
        if self.has_cong_control {
            self.controller.cong_control(&mut self.sk, sample);
            return;
        }
        if self.sk.tcp_in_cwnd_reduction() {
            self.reduce_window(sample.acked_sacked, newly_lost, facts.una_advanced);
        } else if self.may_raise_window(facts) && (self.follows_linux || sample.acked_sacked > 0) {
            let acked = if facts.after_timeout { 0 } else { facts.acked.max(1) };
            self.grow_window(sample.acked_sacked, acked);
        }
        self.update_pacing_rate();
    }

    /// Lets the controller grow the window: for the segments that were `delivered`, or those `acked` cumulatively.
    #[inline]
    pub(super) fn grow_window(&mut self, delivered: u32, acked: u32) {
        let counted = match self.byte_counting {
            ByteCounting::Delivered => delivered,
            ByteCounting::Acknowledged => acked,
            ByteCounting::Off => 1,
        };
        self.controller.cong_avoid(&mut self.sk, counted);
        self.window_use.changed(self.sk.tcp_mstamp);
    }

    /// With known reordering, any delivery is progress; else only a cumulative acknowledgment is.
    fn may_raise_window(&self, facts: &AckFacts) -> bool {
        facts.acked > 0 || facts.data_sacked && self.sk.reordering > crate::recovery::DUP_THRESH
    }

    /// A duplicate acknowledgment without SACK is an anonymous SACK of one segment.
    fn add_reno_sacks(&mut self, count: u32) {
        if count == 0 {
            return;
        }
        let before = self.sk.sacked_out;
        self.sk.sacked_out += count;
        self.limit_reno_sacks(0);
        let newly = self.sk.sacked_out.saturating_sub(before);
        self.sk.delivered = self.sk.delivered.wrapping_add(newly);
    }

    /// One segment filled the hole; the others used up duplicate acknowledgments.
    pub(super) fn remove_reno_sacks(&mut self, acked: u32) {
        let newly = acked.saturating_sub(self.sk.sacked_out).max(1);
        self.sk.delivered = self.sk.delivered.wrapping_add(newly);
        self.sk.sacked_out = self.sk.sacked_out.saturating_sub(acked - 1);
        self.limit_reno_sacks(acked);
    }

    /// More duplicates than segments can have caused mean that some were overtaken, and of how many (Linux
    /// `tcp_check_reno_reordering()`).
    fn limit_reno_sacks(&mut self, acked: u32) {
        let sk = &mut self.sk;
        let holes = sk.lost_out.max(1).min(sk.packets_out);
        if sk.sacked_out + holes > sk.packets_out {
            sk.sacked_out = sk.packets_out - holes;
            sk.reordering = (sk.packets_out + acked).min(MAX_REORDERING);
        }
    }
}
