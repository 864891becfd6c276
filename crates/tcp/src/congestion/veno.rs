//! TCP Veno (Fu & Liew, IEEE JSAC 21(2), 2003), as Linux's `tcp_veno`: Vegas' estimate of the
//! backlog tells random loss from congestion. Below `BETA` segments waiting in the network a loss
//! takes a fifth of the window instead of half; above, the window grows every second round trip.

use super::{AckSample, CaEvent, CaState, Controller, TcpSock};

/// Fraction bits of the backlog.
const V_PARAM_SHIFT: u32 = 1;
/// Backlog from which the path counts as congested: 3 segments.
const BETA: u32 = 3 << V_PARAM_SHIFT;
/// No round-trip time yet, microseconds.
const UNKNOWN: u32 = 0x7fff_ffff;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct Veno {
    doing_veno_now: bool,
    cntrtt: u16,
    /// Least round trip of the last acknowledgment.
    minrtt: u32,
    /// Least round trip of all.
    basertt: u32,
    inc: bool,
    diff: u32,
}

impl Default for Veno {
    fn default() -> Self {
        Veno { doing_veno_now: true, cntrtt: 0, minrtt: UNKNOWN, basertt: UNKNOWN, inc: true, diff: 0 }
    }
}

impl Veno {
    fn enable(&mut self) {
        self.doing_veno_now = true;
        self.minrtt = UNKNOWN;
    }

    fn restart(&mut self) {
        self.basertt = UNKNOWN;
        self.inc = true;
        self.enable();
    }

    /// One segment more every second round trip.
    fn grow_slowly(&mut self, sk: &mut TcpSock, acked: u32) {
        if sk.snd_cwnd_cnt < sk.snd_cwnd {
            sk.snd_cwnd_cnt = sk.snd_cwnd_cnt.saturating_add(acked);
            return;
        }
        if self.inc && sk.snd_cwnd < sk.snd_cwnd_clamp {
            sk.snd_cwnd += 1;
            self.inc = false;
        } else {
            self.inc = true;
        }
        sk.snd_cwnd_cnt = 0;
    }

    fn veno_cong_avoid(&mut self, sk: &mut TcpSock, mut acked: u32) {
        let window = u64::from(sk.snd_cwnd) << V_PARAM_SHIFT;
        let target = window * u64::from(self.basertt) / u64::from(self.minrtt.max(1));
        self.diff = window.saturating_sub(target) as u32;
        if sk.tcp_in_slow_start() {
            acked = sk.tcp_slow_start(acked);
        }
        if acked > 0 {
            if self.diff < BETA {
                sk.tcp_cong_avoid_ai(sk.snd_cwnd, acked);
            } else {
                self.grow_slowly(sk, acked);
            }
        }
        sk.snd_cwnd = sk.snd_cwnd.max(2).min(sk.snd_cwnd_clamp);
    }
}

impl Controller for Veno {
    fn init(&mut self, _sk: &mut TcpSock) {
        self.restart();
    }

    fn pkts_acked(&mut self, _sk: &mut TcpSock, sample: &AckSample) {
        let Ok(rtt) = u32::try_from(sample.rtt_us) else { return };
        let rtt = rtt.saturating_add(1);
        self.basertt = self.basertt.min(rtt);
        self.minrtt = self.minrtt.min(rtt);
        self.cntrtt = self.cntrtt.saturating_add(1);
    }

    fn set_state(&mut self, _sk: &mut TcpSock, new: CaState) {
        if new == CaState::Open {
            self.enable();
        } else {
            self.doing_veno_now = false;
        }
    }

    fn cwnd_event(&mut self, _sk: &mut TcpSock, event: CaEvent) {
        if matches!(event, CaEvent::CwndRestart | CaEvent::TxStart) {
            self.restart();
        }
    }

    fn cong_avoid(&mut self, sk: &mut TcpSock, acked: u32) {
        if !self.doing_veno_now {
            return sk.tcp_reno_cong_avoid(acked);
        }
        if !sk.tcp_is_cwnd_limited() {
            return;
        }
        // Too few round trips are known to tell a backlog.
        if self.cntrtt <= 2 {
            sk.tcp_reno_cong_avoid(acked);
        } else {
            self.veno_cong_avoid(sk, acked);
        }
        self.minrtt = UNKNOWN;
    }

    fn ssthresh(&mut self, sk: &mut TcpSock) -> u32 {
        let kept = if self.diff < BETA { u64::from(sk.snd_cwnd) * 4 / 5 } else { u64::from(sk.snd_cwnd >> 1) };
        (kept as u32).max(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airtcp_core::Rng;

    /// A window of 20 behind a base round trip of 100 ms, and one round of acknowledgments at `rtt_ms`.
    fn after_a_round(rtt_ms: i64) -> (Veno, TcpSock) {
        let mut sk = TcpSock::new(Rng::derive(1, "veno"));
        (sk.snd_cwnd, sk.snd_ssthresh, sk.is_cwnd_limited) = (20, 10, true);
        let mut veno = Veno::default();
        veno.init(&mut sk);
        for rtt_ms in [100, 100, 100, rtt_ms] {
            veno.pkts_acked(&mut sk, &AckSample { pkts_acked: 1, rtt_us: rtt_ms * 1000, in_flight: 20 });
            veno.cong_avoid(&mut sk, 1);
        }
        (veno, sk)
    }

    #[test]
    fn a_loss_without_backlog_takes_a_fifth_and_one_with_backlog_half() {
        // 20 x 10 / 110 = 1.8 segments wait; 20 x 20 / 120 = 3.3.
        let (mut veno, mut sk) = after_a_round(110);
        assert_eq!(veno.ssthresh(&mut sk), 16);
        let (mut veno, mut sk) = after_a_round(120);
        assert_eq!(veno.ssthresh(&mut sk), 10);
    }

    #[test]
    fn with_backlog_the_window_grows_every_second_round_trip() {
        let rounds = |rtt_ms: i64| {
            let (mut veno, mut sk) = after_a_round(rtt_ms);
            for _ in 0..400 {
                veno.pkts_acked(&mut sk, &AckSample { pkts_acked: 1, rtt_us: rtt_ms * 1000, in_flight: 20 });
                veno.cong_avoid(&mut sk, 1);
            }
            sk.snd_cwnd
        };
        let (quick, slow) = (rounds(100), rounds(150));
        assert!(quick >= 33 && (27..=29).contains(&slow), "{quick} {slow}");
    }

    #[test]
    fn outside_the_open_state_it_is_reno() {
        let (mut veno, mut sk) = after_a_round(150);
        veno.set_state(&mut sk, CaState::Recovery);
        sk.snd_cwnd_cnt = 19;
        veno.cong_avoid(&mut sk, 1);
        assert_eq!(sk.snd_cwnd, 21);
    }
}
