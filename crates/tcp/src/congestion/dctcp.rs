//! Data Center TCP (RFC 8257; Alizadeh et al., SIGCOMM 2010), as Linux's `tcp_dctcp`: Reno that takes from its window not
//! half but as much as the network is congested, alpha / 2, where alpha is a moving average of the share of segments that
//! were marked in a window of data.
//!
//! It is for queues that mark each packet beyond a few that wait: `queue = { kind = "red", min = "20packets", max =
//! "20packets", weight = "100%", gentle = false, ecn = true }`. It asks for ECN by itself, all its segments can be
//! marked, and the receiver, where the same controller is, echoes each mark ([`Controller::needs_ecn`]). A loss is
//! answered as by Reno (RFC 8257 section 3.4), also if marks had been answered in the same window.
//!
//! Segments are counted when they are delivered, selectively or not, as in Linux; alpha has 64 fraction bits (Linux: 10).

use super::{AckEvent, CaState, Controller, TcpSock};
use airtcp_core::{Probability, SeqNum};

airtcp_core::parameters! {
    /// Parameters of DCTCP.
    pub struct Settings {
        /// Weight of the last window in alpha; at 0 % alpha stays what it was first.
        pub g: Probability = Probability::ratio(1, 16), "RFC 8257 3.3; Linux dctcp_shift_g";
        /// Alpha before the first window has been acknowledged.
        pub first_alpha: Probability = Probability::ALWAYS, "Linux dctcp_alpha_on_init";
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Dctcp {
    settings: Settings,
    alpha: Probability,
    /// When more than this is acknowledged, a window of data is over.
    window_end: SeqNum,
    /// `delivered` at the last acknowledgment.
    delivered: u32,
    window: Counts,
    /// Since the beginning.
    all: Counts,
    windows: u64,
    /// Sum over windows of alpha in millionths.
    alpha_sum: u64,
}

/// Segments.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    acknowledged: u64,
    marked: u64,
}

impl Counts {
    fn add(&mut self, segments: u32, is_marked: bool) {
        self.acknowledged += u64::from(segments);
        self.marked += if is_marked { u64::from(segments) } else { 0 };
    }
}

impl Dctcp {
    /// One with `settings`.
    pub fn new(settings: Settings) -> Self {
        let (window, all) = (Counts::default(), Counts::default());
        let alpha = settings.first_alpha;
        Dctcp { settings, alpha, window_end: SeqNum(0), delivered: 0, window, all, windows: 0, alpha_sum: 0 }
    }

    /// `alpha = (1 - g) alpha + g M`, M the share of the window that was marked.
    fn end_window(&mut self, sk: &TcpSock) {
        let Counts { acknowledged, marked } = core::mem::take(&mut self.window);
        self.window_end = sk.snd_nxt;
        if acknowledged == 0 {
            return;
        }
        let (g, share) = (self.settings.g, Probability::ratio(marked, acknowledged));
        let (old, new) = (g.complement().and(self.alpha), g.and(share));
        self.alpha = Probability::from_fixed(old.fixed().saturating_add(new.fixed()));
        self.windows += 1;
        self.alpha_sum += self.alpha.parts_per_billion() / 1000;
    }
}

fn half(window: u32) -> u32 {
    (window >> 1).max(2)
}

impl Controller for Dctcp {
    fn needs_ecn(&self) -> bool {
        true
    }

    fn init(&mut self, sk: &mut TcpSock) {
        self.alpha = self.settings.first_alpha;
        self.window = Counts::default();
        (self.window_end, self.delivered) = (sk.snd_una, sk.delivered);
    }

    fn in_ack_event(&mut self, sk: &mut TcpSock, event: AckEvent) {
        let newly = sk.delivered.wrapping_sub(self.delivered);
        self.delivered = sk.delivered;
        self.window.add(newly, event.ece);
        self.all.add(newly, event.ece);
        if sk.snd_una.after(self.window_end) {
            self.end_window(sk);
        }
    }

    fn cong_avoid(&mut self, sk: &mut TcpSock, acked: u32) {
        sk.tcp_reno_cong_avoid(acked);
    }

    fn ssthresh(&mut self, sk: &mut TcpSock) -> u32 {
        half(sk.snd_cwnd)
    }

    /// RFC 8257 section 3.3: `cwnd (1 - alpha / 2)`.
    fn ssthresh_after_mark(&mut self, sk: &mut TcpSock) -> u32 {
        let cut = (u128::from(sk.snd_cwnd) * (u128::from(self.alpha.fixed()) + 1)) >> 65;
        (sk.snd_cwnd - cut as u32).max(2)
    }

    /// A loss in a window whose marks were answered takes what a loss takes, from the window as it was before.
    fn set_state(&mut self, sk: &mut TcpSock, new: CaState) {
        if sk.icsk_ca_state == CaState::Cwr && new >= CaState::Recovery {
            sk.snd_ssthresh = sk.snd_ssthresh.min(half(sk.prior_cwnd));
            sk.snd_cwnd = sk.snd_cwnd.min(sk.snd_ssthresh);
        }
    }

    fn get_info(&self, see: &mut dyn FnMut(&'static str, u64)) {
        see("segments_acknowledged", self.all.acknowledged);
        see("segments_marked", self.all.marked);
        see("windows", self.windows);
        see("alpha_millionths_sum", self.alpha_sum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airtcp_core::Rng;

    fn sock(cwnd: u32) -> TcpSock {
        let mut sk = TcpSock::new(Rng::derive(1, "dctcp"));
        (sk.snd_cwnd, sk.snd_ssthresh, sk.is_cwnd_limited) = (cwnd, 2, true);
        sk
    }

    fn alpha(dctcp: &Dctcp) -> f64 {
        dctcp.alpha.fixed() as f64 / 2f64.powi(64)
    }

    fn at_work(settings: Settings, cwnd: u32) -> (Dctcp, TcpSock) {
        let (mut dctcp, mut sk) = (Dctcp::new(settings), sock(cwnd));
        dctcp.init(&mut sk);
        (dctcp, sk)
    }

    /// Acknowledges a whole window at once, so that `in_ack_event` ends one each time.
    fn windows(dctcp: &mut Dctcp, sk: &mut TcpSock, count: u32, is_marked: bool) {
        for _ in 0..count {
            sk.snd_nxt += 10;
            sk.snd_una += 10;
            sk.delivered = sk.delivered.wrapping_add(10);
            dctcp.in_ack_event(sk, AckEvent { ece: is_marked, ..AckEvent::default() });
        }
    }

    #[test]
    fn alpha_begins_at_one_and_loses_a_sixteenth_with_each_window_without_marks() {
        let (mut dctcp, mut sk) = at_work(Settings::default(), 10);
        windows(&mut dctcp, &mut sk, 1, false);
        assert!((alpha(&dctcp) - 15.0 / 16.0).abs() < 1e-9);
        windows(&mut dctcp, &mut sk, 9, false);
        assert!((alpha(&dctcp) - (15.0f64 / 16.0).powi(10)).abs() < 1e-9);
        windows(&mut dctcp, &mut sk, 1000, false);
        assert!(alpha(&dctcp) < 1e-9, "and does not stop at what ten bits hold");
    }

    #[test]
    fn alpha_gains_a_sixteenth_of_the_share_that_was_marked() {
        let settings = Settings { first_alpha: Probability::NEVER, ..Settings::default() };
        let (mut dctcp, mut sk) = at_work(settings.clone(), 10);
        windows(&mut dctcp, &mut sk, 1, true);
        assert!((alpha(&dctcp) - 1.0 / 16.0).abs() < 1e-9);
        let (mut dctcp, mut sk) = at_work(settings, 20);
        // 20 are out, and 5 of them were marked; the one behind them ends the window.
        sk.snd_nxt += 20;
        dctcp.window_end = sk.snd_nxt;
        for n in 0..21 {
            sk.snd_una += 1;
            sk.delivered += 1;
            dctcp.in_ack_event(&mut sk, AckEvent { ece: n < 5, ..AckEvent::default() });
        }
        assert!((alpha(&dctcp) - 5.0 / 21.0 / 16.0).abs() < 1e-9, "{}", alpha(&dctcp));
    }

    #[test]
    fn a_mark_takes_half_of_alpha_and_a_loss_half() {
        for (first_alpha, left) in [("100%", 50), ("50%", 75), ("10%", 95), ("0%", 100)] {
            let settings = Settings { first_alpha: first_alpha.parse().unwrap(), ..Settings::default() };
            let (mut dctcp, mut sk) = at_work(settings, 100);
            assert_eq!(dctcp.ssthresh_after_mark(&mut sk), left, "{first_alpha}");
            assert_eq!(dctcp.ssthresh(&mut sk), 50);
        }
        let (mut dctcp, mut sk) = at_work(Settings::default(), 2);
        assert_eq!((dctcp.ssthresh_after_mark(&mut sk), dctcp.ssthresh(&mut sk)), (2, 2));
    }

    #[test]
    fn a_loss_in_a_window_whose_marks_were_answered_takes_half_of_what_the_window_was() {
        for new in [CaState::Recovery, CaState::Loss] {
            let settings = Settings { first_alpha: "10%".parse().unwrap(), ..Settings::default() };
            let (mut dctcp, mut sk) = at_work(settings, 100);
            sk.prior_cwnd = 100;
            sk.snd_ssthresh = dctcp.ssthresh_after_mark(&mut sk);
            dctcp.set_state(&mut sk, CaState::Cwr);
            sk.icsk_ca_state = CaState::Cwr;
            assert_eq!(sk.snd_ssthresh, 95);
            dctcp.set_state(&mut sk, new);
            assert_eq!((sk.snd_ssthresh, sk.snd_cwnd), (50, 50), "{new:?}");
        }
    }

    /// The paper's section 3.3: one flow's window swings between W (1 - alpha / 2) and W + 1, where the queue begins to
    /// mark at W, and the segments of the last round trip are marked, so alpha^2 (1 - alpha / 4) = (2 W + 1) / (W + 1)^2.
    /// Its equation 15 says how small g has to be, that alpha does not swing: no more than 1.386 / sqrt(2 W).
    #[test]
    fn with_one_flow_before_a_step_alpha_is_what_the_fluid_model_says() {
        for (marked_beyond, g) in [(100u32, 64), (400, 128), (1600, 256)] {
            let settings = Settings { g: Probability::ratio(1, g), ..Settings::default() };
            let (mut dctcp, mut sk) = at_work(settings, marked_beyond);
            let mut sum = 0.0;
            for round in 0..20_000 {
                let cwnd = sk.snd_cwnd;
                let is_marked = cwnd > marked_beyond;
                sk.snd_nxt += cwnd;
                sk.snd_una += cwnd;
                sk.delivered = sk.delivered.wrapping_add(cwnd);
                dctcp.in_ack_event(&mut sk, AckEvent { ece: is_marked, ..AckEvent::default() });
                if is_marked {
                    sk.snd_cwnd = dctcp.ssthresh_after_mark(&mut sk);
                } else {
                    dctcp.cong_avoid(&mut sk, cwnd);
                }
                sum += if round >= 10_000 { alpha(&dctcp) } else { 0.0 };
            }
            let (seen, w) = (sum / 10_000.0, f64::from(marked_beyond));
            let model = |alpha: f64| alpha * alpha * (1.0 - alpha / 4.0) - (2.0 * w + 1.0) / (w + 1.0).powi(2);
            let (mut low, mut high) = (0.0, 1.0);
            for _ in 0..60 {
                let middle = (low + high) / 2.0;
                if model(middle) < 0.0 { low = middle } else { high = middle }
            }
            assert!((seen / low - 1.0).abs() < 0.15, "W = {w}: {seen}, not {low}, about {}", (2.0 / w).sqrt());
        }
    }
}
