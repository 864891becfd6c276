//! What BBR knows of the path: bandwidth, whether start-up has found it, least round trip, and how
//! much acknowledgments come in lumps.

use super::is_after;
use super::{BBR_SCALE, BBR_UNIT, BW_RTTS, BW_UNIT, Bbr, CWND_MIN_TARGET, MIN_RTT_WIN, Mode, PROBE_RTT_MODE};
use crate::congestion::{RateSample, TcpSock};
use airtcp_core::Instant;

/// Start-up goes on while the bandwidth grows by a quarter each round trip.
const FULL_BW_THRESH: u32 = BBR_UNIT * 5 / 4;
/// Round trips without such growth after which the path counts as full.
const FULL_BW_CNT: u32 = 3;

impl Bbr {
    pub(super) fn update_bw(&mut self, sk: &mut TcpSock, rs: &RateSample) {
        self.round_start = false;
        if rs.delivered < 0 || rs.interval_us <= 0 {
            return;
        }
        // A round trip ends when something sent after its beginning is delivered.
        if rs.prior_delivered.wrapping_sub(self.next_rtt_delivered) as i32 >= 0 {
            self.next_rtt_delivered = sk.delivered;
            self.rtt_cnt = self.rtt_cnt.wrapping_add(1);
            self.round_start = true;
            self.packet_conservation = false;
        }
        self.sample_long_term(sk, rs);
        let bw = u64::from(rs.delivered.unsigned_abs()) * BW_UNIT / rs.interval_us.unsigned_abs();
        // If the sender had nothing to send, the sample is only a lower bound.
        if !rs.is_app_limited || bw >= self.max_bw() {
            self.bw.running_max(BW_RTTS, self.rtt_cnt, bw);
        }
    }

    pub(super) fn check_full_bw_reached(&mut self, rs: &RateSample) {
        if self.full_bw_reached || !self.round_start || rs.is_app_limited {
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
                self.next_rtt_delivered = sk.delivered;
            }
        } else {
            self.probe_rtt_round_done |= self.round_start;
            if self.probe_rtt_round_done {
                self.check_probe_rtt_done(sk);
            }
        }
    }
}

/// Segments acknowledged in a lump beyond what the bandwidth explains.
#[derive(Clone, Debug, Default)]
pub(super) struct Aggregation {
    epoch_mstamp: Instant,
    epoch_acked: u32,
    /// The most in this window of round trips and in the one before.
    extra_acked: [u32; 2],
    win_rtts: u32,
    win_idx: usize,
}

/// Length of a window, round trips.
const EXTRA_ACKED_WIN_RTTS: u32 = 5;
/// An epoch ends before its counter overflows.
const EPOCH_ACKED_RESET_THRESH: u32 = 1 << 20;

impl Aggregation {
    pub fn restart_epoch(&mut self, now: Instant) {
        (self.epoch_mstamp, self.epoch_acked) = (now, 0);
    }

    pub fn most(&self) -> u32 {
        self.extra_acked[0].max(self.extra_acked[1])
    }

    pub fn update(&mut self, sk: &TcpSock, rs: &RateSample, bw: u64, round_start: bool) {
        if rs.acked_sacked == 0 || rs.delivered < 0 || rs.interval_us <= 0 {
            return;
        }
        if round_start {
            self.win_rtts += 1;
            if self.win_rtts >= EXTRA_ACKED_WIN_RTTS {
                self.win_rtts = 0;
                self.win_idx = 1 - self.win_idx;
                self.extra_acked[self.win_idx] = 0;
            }
        }
        let elapsed_us = sk.delivered_mstamp.saturating_since(self.epoch_mstamp).as_micros();
        let mut expected = u32::try_from(bw.saturating_mul(elapsed_us) / BW_UNIT).unwrap_or(u32::MAX);
        // A new epoch once acknowledgments are no faster than the bandwidth.
        if self.epoch_acked <= expected || self.epoch_acked + rs.acked_sacked >= EPOCH_ACKED_RESET_THRESH {
            self.restart_epoch(sk.delivered_mstamp);
            expected = 0;
        }
        self.epoch_acked = (self.epoch_acked + rs.acked_sacked).min(0xF_FFFF);
        let extra = self.epoch_acked.saturating_sub(expected).min(sk.snd_cwnd);
        self.extra_acked[self.win_idx] = self.extra_acked[self.win_idx].max(extra);
    }
}
