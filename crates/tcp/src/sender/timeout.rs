//! The retransmission timer (RFC 6298).

use super::{Limits, Sender, Step};
use crate::congestion::{CaEvent, CaState};
use crate::recovery::DUP_THRESH;
use crate::sent::mark;
use crate::timers::Timer;
use airtcp_core::Duration;

/// A timer that is due already runs out as soon as it can.
const LEAST_WAIT: Duration = Duration::from_micros(1);

impl Sender {
    /// Time until the oldest segment has waited a whole RTO; zero if it has.
    pub(super) fn rto_remaining(&self, step: &Step) -> Duration {
        let rto = self.rtt.rto();
        let Some(head) = self.board.head() else { return rto };
        head.sent_at.saturating_add(rto).saturating_since(step.now)
    }

    /// An acknowledgment made progress: starts a timer anew if segments are in flight, or stops it if none are.
    pub(super) fn restart_timer(&mut self, step: &mut Step) {
        if !self.schedule_tail_probe(true, step) {
            let replaces = step.timers.is_set(Timer::Reorder) || step.timers.is_set(Timer::LossProbe);
            self.rearm(replaces, step);
        }
    }

    /// Starts the retransmission timer. If it `replaces` another one, what has passed of it counts (Linux
    /// `tcp_rearm_rto()`).
    pub(super) fn rearm(&mut self, replaces: bool, step: &mut Step) {
        if self.board.is_empty() {
            step.timers.stop_in_flight();
            return;
        }
        let wait = if replaces { self.rto_remaining(step).max(LEAST_WAIT) } else { self.rtt.rto() };
        let wait = wait.saturating_add(self.pacing_delay(step.now));
        step.timers.start_only(Timer::Retransmit, step.now, wait);
    }

    /// The oldest segment was not acknowledged in time. False if the peer must be given up: it has acknowledged nothing
    /// for too long, or, if its window is closed, said nothing.
    pub fn handle_retransmission_timeout(&mut self, limits: &Limits, step: &mut Step) -> bool {
        self.tso.look_again();
        if self.board.is_empty() {
            return true;
        }
        let probes = self.peer.is_closed() && !self.is_orphan;
        if probes {
            if !self.retransmission_is_probe(step.now) {
                return false;
            }
        } else if self.retransmits == 0 {
            self.stalled_since = step.now;
        } else if step.now.saturating_since(self.stalled_since) >= limits.time {
            return false;
        }
        self.sk.tcp_mstamp = step.now;
        step.stats.rtos += 1;
        self.enter_loss(step);
        // The oldest segment leaves whatever the windows say.
        self.head_due = true;
        self.retransmits += u32::from(!probes);
        self.rtt.back_off();
        self.rearm(false, step);
        true
    }

    /// Everything not SACKed is presumed lost and slow start begins anew (RFC 5681 section 3.1).
    pub(super) fn enter_loss(&mut self, step: &mut Step) {
        let state = self.sk.icsk_ca_state;
        if !self.has_sack {
            self.sk.sacked_out = 0;
        }
        let Sender { board, sk, detector, .. } = self;
        let is_reneged = board.head().is_some_and(|head| head.has(mark::SACKED));
        if is_reneged {
            step.stats.renegings += 1;
            board.renege(sk);
        }
        board.mark_all_lost(sk, |sent| !is_reneged && detector.spares(sent, step.now));
        let is_first =
            state <= CaState::Disorder || self.una >= self.high_seq || state == CaState::Loss && self.retransmits == 0;
        if is_first {
            self.sk.prior_ssthresh = self.sk.tcp_current_ssthresh();
            self.sk.prior_cwnd = self.sk.snd_cwnd;
            self.sk.snd_ssthresh = self.controller.ssthresh(&mut self.sk);
            self.controller.cwnd_event(&mut self.sk, CaEvent::Loss);
            self.undo.start(self.una, self.undo_retransmissions());
        }
        self.tell_losses();
        self.sk.snd_cwnd = self.sk.tcp_packets_in_flight() + 1;
        self.sk.snd_cwnd_cnt = 0;
        self.window_use.changed(step.now);
        if state <= CaState::Disorder && self.sk.sacked_out >= DUP_THRESH {
            // So much was overtaken and yet lost: the estimate of reordering was too high.
            self.sk.reordering = self.sk.reordering.min(DUP_THRESH);
        }
        self.frto.start(state < CaState::Recovery || self.retransmits > 0);
        self.set_state(CaState::Loss);
        self.high_seq = self.nxt;
        self.probe.forget();
        self.notice.spares_window = false;
        self.cwr_due = self.ecn;
    }
}
