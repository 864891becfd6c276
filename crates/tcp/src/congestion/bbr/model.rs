//! What BBR knows of the path: bandwidth, whether start-up has found it, and least round trip.

use super::is_after;
use super::{BBR_SCALE, BBR_UNIT, BW_RTTS, Bbr, CWND_MIN_TARGET, MIN_RTT_WIN, Mode, PROBE_RTT_MODE};
use crate::congestion::{RateSample, TcpSock, bandwidth};

/// Start-up goes on while the bandwidth grows by a quarter each round trip.
const FULL_BW_THRESH: u32 = BBR_UNIT * 5 / 4;
/// Round trips without such growth after which the path counts as full.
const FULL_BW_CNT: u32 = 3;

impl Bbr {
    pub(super) fn update_bw(&mut self, sk: &mut TcpSock, rs: &RateSample) {
        self.rounds.update(sk, rs);
        if rs.delivered < 0 || rs.interval_us <= 0 {
            return;
        }
        self.packet_conservation &= !self.rounds.is_start;
        self.sample_long_term(sk, rs);
        let bw = bandwidth::of_sample(rs);
        // If the sender had nothing to send, the sample is only a lower bound.
        if !rs.is_app_limited || bw >= self.max_bw() {
            self.bw.running_max(BW_RTTS, self.rounds.count, bw);
        }
    }

    pub(super) fn check_full_bw_reached(&mut self, rs: &RateSample) {
        if self.full_bw_reached || !self.rounds.is_start || rs.is_app_limited {
            return;
        }
        let threshold = (self.full_bw * u64::from(FULL_BW_THRESH)) >> BBR_SCALE;
        if self.max_bw() >= threshold {
            (self.full_bw, self.full_bw_cnt) = (self.max_bw(), 0);
            return;
        }
        self.full_bw_cnt += 1;
        self.full_bw_reached = self.full_bw_cnt >= FULL_BW_CNT;
    }

    pub(super) fn update_min_rtt(&mut self, sk: &mut TcpSock, rs: &RateSample) {
        let now = sk.tcp_jiffies32();
        let filter_expired = is_after(now, self.min_rtt_stamp.wrapping_add(sk.jiffies_in(MIN_RTT_WIN)));
        if let Ok(rtt_us) = u32::try_from(rs.rtt_us)
            && (rtt_us < self.min_rtt_us || filter_expired && !rs.is_ack_delayed)
        {
            (self.min_rtt_us, self.min_rtt_stamp) = (rtt_us, now);
        }
        if filter_expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            // Saved before the phase begins, as it looks at it.
            self.save_cwnd(sk);
            self.mode = Mode::ProbeRtt;
            self.probe_rtt_done_stamp = None;
        }
        if self.mode == Mode::ProbeRtt {
            self.probe_rtt(sk, now);
        }
        if rs.delivered > 0 {
            self.idle_restart = false;
        }
    }

    /// Stays 200 ms and one round trip at the least window.
    fn probe_rtt(&mut self, sk: &mut TcpSock, now: u32) {
        // The low rate of this phase is not the path's.
        sk.app_limited = sk.delivered.wrapping_add(sk.tcp_packets_in_flight()).max(1);
        if self.probe_rtt_done_stamp.is_none() {
            if sk.tcp_packets_in_flight() <= CWND_MIN_TARGET {
                self.probe_rtt_done_stamp = Some(now.wrapping_add(sk.jiffies_in(PROBE_RTT_MODE)));
                self.probe_rtt_round_done = false;
                self.rounds.restart(sk);
            }
        } else {
            self.probe_rtt_round_done |= self.rounds.is_start;
            if self.probe_rtt_round_done {
                self.check_probe_rtt_done(sk);
            }
        }
    }
}
