//! How the congestion window shrinks: proportional rate reduction (RFC 6937) or at once
//! (RFC 6675); and the pacing rate that follows the window.

use super::Sender;
use crate::config::Reduction;
use crate::congestion::{CaEvent, CaState, Controller, TCP_INFINITE_SSTHRESH, TcpSock};

/// Counters of one reduction.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Prr {
    pub delivered: u32,
    pub out: u32,
}

impl Sender {
    /// After a loss: asks the controller for the threshold and remembers what the window was.
    pub(super) fn begin_reduction(&mut self) {
        self.begin_reduction_to(|controller, sk| controller.ssthresh(sk));
    }

    /// The same after a mark.
    pub(super) fn begin_reduction_for_mark(&mut self) {
        self.begin_reduction_to(|controller, sk| controller.ssthresh_after_mark(sk));
    }

    fn begin_reduction_to(&mut self, threshold: fn(&mut dyn Controller, &mut TcpSock) -> u32) {
        self.high_seq = self.nxt;
        self.notice.spares_window = false;
        self.probe.forget();
        self.sk.snd_cwnd_cnt = 0;
        self.sk.prior_cwnd = self.sk.snd_cwnd;
        self.prr = Prr::default();
        self.sk.snd_ssthresh = threshold(&mut *self.controller, &mut self.sk);
        self.cwr_due = self.ecn;
        if self.reduction != Reduction::Proportional && !self.has_cong_control {
            self.sk.snd_cwnd = self.sk.snd_ssthresh;
        }
    }

    /// Tells the controller what was found lost since the last time.
    #[inline]
    pub(super) fn tell_losses(&mut self) {
        if self.board.has_losses() {
            for lost in self.board.take_losses() {
                self.controller.segment_lost(&mut self.sk, &lost);
            }
        }
    }

    /// One acknowledgment's share of the reduction.
    #[inline(never)]
    pub(super) fn reduce_window(&mut self, delivered: u32, newly_lost: u32, una_advanced: bool) {
        let is_done = self.reduction != Reduction::Proportional || self.notice.spares_window;
        if is_done || delivered == 0 || self.sk.prior_cwnd == 0 {
            return;
        }
        let in_flight = self.sk.tcp_packets_in_flight();
        self.prr.delivered = self.prr.delivered.saturating_add(delivered);
        let mut count = if in_flight > self.sk.snd_ssthresh {
            let proportional = u64::from(self.sk.snd_ssthresh) * u64::from(self.prr.delivered);
            let due = proportional.div_ceil(u64::from(self.sk.prior_cwnd));
            u32::try_from(due).unwrap_or(u32::MAX).saturating_sub(self.prr.out)
        } else {
            let mut count = self.prr.delivered.saturating_sub(self.prr.out).max(delivered);
            if una_advanced && newly_lost == 0 {
                count += 1;
            }
            count.min(self.sk.snd_ssthresh - in_flight)
        };
        // The first lost segment leaves at once, whatever the window says.
        if self.prr.out == 0 {
            count = count.max(1);
        }
        self.sk.snd_cwnd = in_flight.saturating_add(count);
    }

    /// The reduction is over: the window is the threshold.
    pub(super) fn end_reduction(&mut self) {
        if core::mem::take(&mut self.notice.spares_window) || self.has_cong_control {
            return;
        }
        let counts = self.sk.icsk_ca_state == CaState::Cwr || self.undo.is_possible();
        if self.sk.snd_ssthresh < TCP_INFINITE_SSTHRESH && counts {
            self.sk.snd_cwnd = self.sk.snd_ssthresh;
            self.window_use.changed(self.sk.tcp_mstamp);
        }
        self.controller.cwnd_event(&mut self.sk, CaEvent::CompleteCwr);
    }

    /// Twice the window per round trip in slow start, 1.2 times after (Linux `tcp_update_pacing_rate()`).
    #[inline]
    pub(super) fn update_pacing_rate(&mut self) {
        let sk = &mut self.sk;
        if !self.pacer.keeps_rate || self.has_cong_control || sk.srtt_us == 0 {
            return;
        }
        let percent = if sk.snd_cwnd < sk.snd_ssthresh / 2 { 200 } else { 120 };
        // srtt_us is eight times the round-trip time in microseconds.
        let bytes = u64::from(sk.mss_cache) * u64::from(sk.snd_cwnd.max(sk.packets_out)) * percent;
        let rate = bytes.saturating_mul(8 * 1_000_000 / 100) / u64::from(sk.srtt_us);
        sk.sk_pacing_rate = rate.min(sk.sk_max_pacing_rate);
    }
}
