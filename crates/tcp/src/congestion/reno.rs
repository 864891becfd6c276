//! Reno (RFC 5681): slow start, then one segment per round trip; half on loss.
//!
//! As Linux's `tcp_reno`, growth counts acknowledged segments, not acknowledgments, so a receiver
//! that delays acknowledgments does not slow it.

use super::{Controller, TcpSock};

/// See the module.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reno;

impl Controller for Reno {
    fn ssthresh(&mut self, sk: &mut TcpSock) -> u32 {
        (sk.snd_cwnd >> 1).max(2)
    }

    fn cong_avoid(&mut self, sk: &mut TcpSock, acked: u32) {
        sk.tcp_reno_cong_avoid(acked);
    }

    fn reads_pacing_rate(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airtcp_core::Rng;

    fn sock(cwnd: u32, ssthresh: u32) -> TcpSock {
        let mut sk = TcpSock::new(Rng::derive(1, "reno"));
        sk.snd_cwnd = cwnd;
        sk.snd_ssthresh = ssthresh;
        sk.is_cwnd_limited = true;
        sk
    }

    #[test]
    fn slow_start_grows_by_what_was_acknowledged() {
        let mut sk = sock(10, 1000);
        Reno.cong_avoid(&mut sk, 10);
        assert_eq!(sk.snd_cwnd, 20);
    }

    #[test]
    fn growth_past_the_threshold_continues_linearly_with_what_is_left() {
        let mut sk = sock(10, 12);
        Reno.cong_avoid(&mut sk, 14);
        assert_eq!((sk.snd_cwnd, sk.snd_cwnd_cnt), (13, 0));
    }

    #[test]
    fn congestion_avoidance_adds_one_segment_per_window() {
        let mut sk = sock(20, 10);
        for _ in 0..10 {
            Reno.cong_avoid(&mut sk, 2);
        }
        assert_eq!(sk.snd_cwnd, 21);
    }

    #[test]
    fn a_window_the_application_does_not_fill_does_not_grow() {
        let mut sk = sock(20, 10);
        sk.is_cwnd_limited = false;
        Reno.cong_avoid(&mut sk, 100);
        assert_eq!(sk.snd_cwnd, 20);
    }

    #[test]
    fn loss_halves_but_leaves_two_segments() {
        assert_eq!(Reno.ssthresh(&mut sock(21, 99)), 10);
        assert_eq!(Reno.ssthresh(&mut sock(1, 99)), 2);
    }
}
