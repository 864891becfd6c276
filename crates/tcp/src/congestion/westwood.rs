//! TCP Westwood+ (Grieco & Mascolo, ACM CCR 34(2), 2004), as Linux's `tcp_westwood`: after a loss the window becomes
//! what the path carries according to recent acknowledgments, instead of half.
//!
//! Bytes acknowledged are counted over at least a round trip and 50 ms and go through two low-pass
//! filters; the least round trip times that rate is the window.

use super::{AckEvent, AckSample, CaEvent, Controller, TcpSock};
use airtcp_core::{Duration, SeqNum};

/// Shortest span of a sample.
const RTT_MIN: Duration = Duration::from_millis(50);
/// Round trip while none is known.
const INIT_RTT: Duration = Duration::from_secs(20);

/// See the module. Times in jiffies, rates in bytes per jiffy.
#[derive(Clone, Copy, Debug)]
pub struct Westwood {
    /// After one filter.
    bw_ns_est: u32,
    /// After both.
    bw_est: u32,
    /// When the sample began.
    rtt_win_sx: u32,
    /// Bytes in the sample.
    bk: u32,
    snd_una: SeqNum,
    /// Bytes already counted for duplicate acknowledgments.
    accounted: u32,
    rtt: u32,
    rtt_min: u32,
    first_ack: bool,
    reset_rtt_min: bool,
}

impl Default for Westwood {
    fn default() -> Self {
        Westwood {
            bw_ns_est: 0,
            bw_est: 0,
            rtt_win_sx: 0,
            bk: 0,
            snd_una: SeqNum(0),
            accounted: 0,
            rtt: 0,
            rtt_min: 0,
            first_ack: true,
            reset_rtt_min: true,
        }
    }
}

impl Westwood {
    fn update_window(&mut self, sk: &TcpSock) {
        if core::mem::take(&mut self.first_ack) {
            self.snd_una = sk.snd_una;
        }
        let span = sk.tcp_jiffies32().wrapping_sub(self.rtt_win_sx);
        if self.rtt > 0 && span as i32 > self.rtt.max(sk.jiffies_in(RTT_MIN)) as i32 {
            self.filter(self.bk / span);
            self.bk = 0;
            self.rtt_win_sx = sk.tcp_jiffies32();
        }
    }

    fn filter(&mut self, sample: u32) {
        if self.bw_ns_est == 0 && self.bw_est == 0 {
            (self.bw_ns_est, self.bw_est) = (sample, sample);
        } else {
            self.bw_ns_est = do_filter(self.bw_ns_est, sample);
            self.bw_est = do_filter(self.bw_est, self.bw_ns_est);
        }
    }

    fn update_rtt_min(&mut self) {
        self.rtt_min = if core::mem::take(&mut self.reset_rtt_min) { self.rtt } else { self.rtt_min.min(self.rtt) };
    }

    /// Bytes that an acknowledgment stands for: a duplicate counts as one segment, which the next
    /// progress does not count again.
    fn acked_count(&mut self, sk: &TcpSock) -> u32 {
        let mss = sk.mss_cache;
        let mut acked = sk.snd_una.0.wrapping_sub(self.snd_una.0);
        if acked == 0 {
            self.accounted = self.accounted.saturating_add(mss);
            acked = mss;
        }
        if acked > mss {
            if self.accounted >= acked {
                self.accounted -= acked;
                acked = mss;
            } else {
                acked -= self.accounted;
                self.accounted = 0;
            }
        }
        self.snd_una = sk.snd_una;
        acked
    }

    /// The window that fills the path and no queue.
    fn bw_rttmin(&self, sk: &TcpSock) -> u32 {
        let segments = u64::from(self.bw_est) * u64::from(self.rtt_min) / u64::from(sk.mss_cache.max(1));
        u32::try_from(segments).unwrap_or(u32::MAX).max(2)
    }
}

/// Seven eighths of `a` and one of `b`.
fn do_filter(a: u32, b: u32) -> u32 {
    ((7 * u64::from(a) + u64::from(b)) >> 3) as u32
}

impl Controller for Westwood {
    fn init(&mut self, sk: &mut TcpSock) {
        let rtt = sk.jiffies_in(INIT_RTT);
        let rtt_win_sx = sk.tcp_jiffies32();
        *self = Westwood { rtt_win_sx, snd_una: sk.snd_una, rtt, rtt_min: rtt, ..Westwood::default() };
    }

    fn pkts_acked(&mut self, sk: &mut TcpSock, sample: &AckSample) {
        if sample.rtt_us > 0 {
            self.rtt = sk.jiffies_in(Duration::from_micros(sample.rtt_us.unsigned_abs()));
        }
    }

    fn in_ack_event(&mut self, sk: &mut TcpSock, event: AckEvent) {
        self.update_window(sk);
        if event.slow_path {
            let acked = self.acked_count(sk);
            self.bk = self.bk.saturating_add(acked);
        } else {
            self.bk = self.bk.saturating_add(sk.snd_una.0.wrapping_sub(self.snd_una.0));
            self.snd_una = sk.snd_una;
        }
        self.update_rtt_min();
    }

    fn cwnd_event(&mut self, sk: &mut TcpSock, event: CaEvent) {
        match event {
            CaEvent::CompleteCwr => {
                let window = self.bw_rttmin(sk);
                (sk.snd_cwnd, sk.snd_ssthresh) = (window.min(sk.snd_cwnd_clamp), window);
            }
            CaEvent::Loss => {
                sk.snd_ssthresh = self.bw_rttmin(sk);
                self.reset_rtt_min = true;
            }
            _ => {}
        }
    }

    fn ssthresh(&mut self, sk: &mut TcpSock) -> u32 {
        (sk.snd_cwnd >> 1).max(2)
    }

    fn cong_avoid(&mut self, sk: &mut TcpSock, acked: u32) {
        sk.tcp_reno_cong_avoid(acked);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airtcp_core::{Duration, Instant, Rng};

    /// A path of 1000 segments of 1000 bytes a second and 100 ms, acknowledged segment by segment for `seconds`.
    fn steady(seconds: u64) -> (Westwood, TcpSock) {
        let mut sk = TcpSock::new(Rng::derive(1, "westwood"));
        sk.mss_cache = 1000;
        let mut westwood = Westwood::default();
        westwood.init(&mut sk);
        for n in 0..seconds * 1000 {
            sk.tcp_mstamp = Instant::ZERO + Duration::from_millis(n);
            sk.snd_una += 1000;
            westwood.pkts_acked(&mut sk, &AckSample { pkts_acked: 1, rtt_us: 100_000, in_flight: 100 });
            westwood.in_ack_event(&mut sk, AckEvent::default());
        }
        (westwood, sk)
    }

    #[test]
    fn after_a_loss_the_window_is_what_the_path_carries() {
        let (mut westwood, mut sk) = steady(10);
        sk.snd_cwnd = 300;
        westwood.cwnd_event(&mut sk, CaEvent::CompleteCwr);
        assert!((95..=101).contains(&sk.snd_cwnd), "{}", sk.snd_cwnd);
        assert_eq!(sk.snd_ssthresh, sk.snd_cwnd);
    }

    #[test]
    fn a_timeout_sets_the_threshold_and_leaves_the_window_to_slow_start() {
        let (mut westwood, mut sk) = steady(10);
        sk.snd_cwnd = 1;
        westwood.cwnd_event(&mut sk, CaEvent::Loss);
        assert!((95..=101).contains(&sk.snd_ssthresh) && sk.snd_cwnd == 1);
    }

    #[test]
    fn duplicates_count_once() {
        let (mut westwood, mut sk) = steady(1);
        westwood.bk = 0;
        let slow = AckEvent { slow_path: true, ..AckEvent::default() };
        for _ in 0..3 {
            westwood.in_ack_event(&mut sk, slow);
        }
        sk.snd_una += 5000;
        westwood.in_ack_event(&mut sk, slow);
        assert_eq!(westwood.bk, 5000);
    }
}
