//! TCP Vegas (Brakmo & Peterson, IEEE JSAC 13(8), 1995), as Linux's `tcp_vegas`: the round trip against the shortest ever
//! seen says how many of the window's segments wait in queues, and the window is kept where two to four do, or as many as
//! `alpha` says: who sends over a path that delays by chance takes such delays for waiting.
//!
//! The paper takes the window for what is in flight, and Linux does not look: there it also grows while nobody uses it.
//! `validated = true` lets it grow only if it was what limited the sender (RFC 7661): a trunk's control TCP is often
//! limited by its data, and what the window had become meanwhile would fill the bottleneck when there are more.
//!
//! It leaves queues empty, so among senders that fill them it gets next to nothing. It is for what has a bottleneck to
//! itself: a trunk's control TCP, whose data then wait before the trunk and not in the bottleneck.

use super::{AckSample, CaEvent, CaState, Controller, TcpSock};
use airtcp_core::SeqNum;
use core::num::NonZeroU8;

/// Segments that wait at most in slow start (Linux's gamma).
const GAMMA: u32 = 1;
/// No round-trip time yet, microseconds.
const UNKNOWN: u32 = 0x7fff_ffff;

airtcp_core::parameters! {
    /// Parameters of Vegas.
    pub struct Settings {
        /// Segments that wait in the path's queues at least; at most twice as many do.
        pub alpha: NonZeroU8 = NonZeroU8::MIN.saturating_add(1), "Brakmo & Peterson section 3.3; Linux tcp_vegas: 2, and beta 4";
        /// Grow only if the window was what limited the sender, as RFC 7661 has it of Reno.
        pub validated: bool = false, "the paper takes every window for used, Linux does not look; true is ours";
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Vegas {
    settings: Settings,
    doing_vegas_now: bool,
    /// When this is acknowledged, a round trip is over.
    beg_snd_nxt: SeqNum,
    cnt_rtt: u16,
    /// Least round trip of the last round.
    min_rtt: u32,
    /// Least round trip of all.
    base_rtt: u32,
}

impl Default for Vegas {
    fn default() -> Self {
        Vegas::new(Settings::default())
    }
}

impl Vegas {
    /// One with `settings`.
    pub fn new(settings: Settings) -> Self {
        let beg_snd_nxt = SeqNum(0);
        Vegas { settings, doing_vegas_now: true, beg_snd_nxt, cnt_rtt: 0, min_rtt: UNKNOWN, base_rtt: UNKNOWN }
    }

    fn may_grow(&self, sk: &TcpSock) -> bool {
        !self.settings.validated || sk.tcp_is_cwnd_limited()
    }

    fn enable(&mut self, sk: &TcpSock) {
        self.doing_vegas_now = true;
        self.beg_snd_nxt = sk.snd_nxt;
        self.cnt_rtt = 0;
        self.min_rtt = UNKNOWN;
    }

    /// Once a round trip; `tcp_vegas_cong_avoid` in Linux.
    fn adjust(&mut self, sk: &mut TcpSock, acked: u32) {
        let (rtt, base) = (self.min_rtt, self.base_rtt.max(1));
        let alpha = u64::from(self.settings.alpha.get());
        let waiting = u64::from(sk.snd_cwnd) * u64::from(rtt.saturating_sub(base)) / u64::from(base);
        if sk.tcp_in_slow_start() {
            if waiting > u64::from(GAMMA) {
                // Slow start has filled the path: leave it with the window that fills it and no more.
                let target = u64::from(sk.snd_cwnd) * u64::from(base) / u64::from(rtt.max(1));
                sk.snd_cwnd = sk.snd_cwnd.min(target as u32 + 1);
                sk.snd_ssthresh = sk.snd_ssthresh.min(sk.snd_cwnd.saturating_sub(1)).max(2);
            } else if self.may_grow(sk) {
                sk.tcp_slow_start(acked);
            }
        } else if waiting > 2 * alpha {
            sk.snd_cwnd -= 1;
            sk.snd_ssthresh = sk.snd_ssthresh.min(sk.snd_cwnd.saturating_sub(1)).max(2);
        } else if waiting < alpha && self.may_grow(sk) {
            sk.snd_cwnd += 1;
        }
        sk.snd_cwnd = sk.snd_cwnd.max(2).min(sk.snd_cwnd_clamp);
        sk.snd_ssthresh = sk.tcp_current_ssthresh();
    }
}

impl Controller for Vegas {
    fn init(&mut self, sk: &mut TcpSock) {
        self.base_rtt = UNKNOWN;
        self.enable(sk);
    }

    fn pkts_acked(&mut self, _sk: &mut TcpSock, sample: &AckSample) {
        let Ok(rtt) = u32::try_from(sample.rtt_us) else { return };
        let rtt = rtt.saturating_add(1);
        self.base_rtt = self.base_rtt.min(rtt);
        self.min_rtt = self.min_rtt.min(rtt);
        self.cnt_rtt = self.cnt_rtt.saturating_add(1);
    }

    fn set_state(&mut self, sk: &mut TcpSock, new: CaState) {
        if new == CaState::Open {
            self.enable(sk);
        } else {
            self.doing_vegas_now = false;
        }
    }

    fn cwnd_event(&mut self, sk: &mut TcpSock, event: CaEvent) {
        if matches!(event, CaEvent::CwndRestart | CaEvent::TxStart) {
            self.init(sk);
        }
    }

    fn cong_avoid(&mut self, sk: &mut TcpSock, acked: u32) {
        if !self.doing_vegas_now {
            return sk.tcp_reno_cong_avoid(acked);
        }
        if sk.snd_una.after(self.beg_snd_nxt) {
            self.beg_snd_nxt = sk.snd_nxt;
            // One sample may be that of a delayed acknowledgment: fewer than three tell too little.
            if self.cnt_rtt <= 2 {
                sk.tcp_reno_cong_avoid(acked);
            } else {
                self.adjust(sk, acked);
            }
            self.cnt_rtt = 0;
            self.min_rtt = UNKNOWN;
        } else if sk.tcp_in_slow_start() && self.may_grow(sk) {
            sk.tcp_slow_start(acked);
        }
    }

    fn ssthresh(&mut self, sk: &mut TcpSock) -> u32 {
        (sk.snd_cwnd >> 1).max(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airtcp_core::Rng;

    /// A window of `cwnd` behind a base round trip of 100 ms, and `rounds` of acknowledgments at `rtt_ms`.
    fn after_rounds(cwnd: u32, ssthresh: u32, rtt_ms: i64, rounds: u32) -> TcpSock {
        after_rounds_of(Settings::default(), cwnd, ssthresh, rtt_ms, rounds)
    }

    fn after_rounds_of(settings: Settings, cwnd: u32, ssthresh: u32, rtt_ms: i64, rounds: u32) -> TcpSock {
        let mut sk = TcpSock::new(Rng::derive(1, "vegas"));
        (sk.snd_cwnd, sk.snd_ssthresh, sk.is_cwnd_limited) = (cwnd, ssthresh, true);
        let mut vegas = Vegas::new(settings);
        vegas.init(&mut sk);
        let sample = |rtt_ms: i64| AckSample { pkts_acked: 1, rtt_us: rtt_ms * 1000, in_flight: 20 };
        vegas.pkts_acked(&mut sk, &sample(100));
        for _ in 0..rounds {
            for _ in 0..4 {
                vegas.pkts_acked(&mut sk, &sample(rtt_ms));
            }
            // The whole window is acknowledged at once, and the next one sent.
            sk.snd_nxt += 1000;
            sk.snd_una += 1000;
            vegas.cong_avoid(&mut sk, 0);
        }
        sk
    }

    #[test]
    fn the_window_stays_where_two_to_four_segments_wait() {
        // Of 40 segments at 108 ms 3.2 wait; the first round still has the base's own sample in it.
        assert_eq!(after_rounds(40, 10, 108, 11).snd_cwnd, 41);
        assert_eq!(after_rounds(40, 10, 101, 11).snd_cwnd, 51, "0.4 to 0.5 wait: one more each round trip");
        assert_eq!(after_rounds(40, 10, 150, 11).snd_cwnd, 31, "20 to 15 wait: one less");
    }

    #[test]
    fn as_many_segments_wait_as_alpha_says() {
        let kept = |alpha, rtt_ms| {
            let settings = Settings { alpha: NonZeroU8::new(alpha).unwrap(), ..Settings::default() };
            after_rounds_of(settings, 40, 10, rtt_ms, 11).snd_cwnd
        };
        // 3.2 of 40 wait: fewer than eight, and more than twice one; of 37, no more. The first round has the base's own sample.
        assert_eq!([kept(8, 108), kept(2, 108), kept(1, 108)], [51, 41, 37]);
        assert_eq!(kept(8, 130), 41, "9.2 wait: between eight and sixteen");
    }

    #[test]
    fn slow_start_ends_when_more_than_one_waits() {
        let sk = after_rounds(40, 1000, 110, 2);
        // 40 · 100 / 110, and one.
        assert_eq!((sk.snd_cwnd, sk.tcp_in_slow_start()), (37, false));
        assert!(after_rounds(40, 1000, 101, 5).tcp_in_slow_start());
    }

    #[test]
    fn a_window_that_nobody_uses_grows_unless_it_is_validated() {
        let grown = |validated, is_cwnd_limited| {
            let mut sk = TcpSock::new(Rng::derive(1, "vegas"));
            (sk.snd_cwnd, sk.snd_ssthresh, sk.max_packets_out) = (40, 1000, 5);
            sk.is_cwnd_limited = is_cwnd_limited;
            let mut vegas = Vegas::new(Settings { validated, ..Settings::default() });
            vegas.init(&mut sk);
            vegas.cong_avoid(&mut sk, 5);
            sk.snd_cwnd - 40
        };
        assert_eq!([grown(false, true), grown(false, false)], [5, 5], "as in the paper");
        assert_eq!([grown(true, true), grown(true, false)], [5, 0]);
    }

    #[test]
    fn a_loss_takes_half_and_until_the_state_is_open_it_is_reno() {
        let mut sk = TcpSock::new(Rng::derive(1, "vegas"));
        (sk.snd_cwnd, sk.snd_ssthresh, sk.snd_cwnd_cnt, sk.is_cwnd_limited) = (20, 10, 19, true);
        let mut vegas = Vegas::default();
        vegas.init(&mut sk);
        assert_eq!(vegas.ssthresh(&mut sk), 10);
        vegas.set_state(&mut sk, CaState::Recovery);
        vegas.cong_avoid(&mut sk, 1);
        assert_eq!(sk.snd_cwnd, 21);
    }
}
