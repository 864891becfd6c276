//! From the model to a window.

use super::{BBR_SCALE, BBR_UNIT, BW_SCALE, BW_UNIT, Bbr, CWND_MIN_TARGET, Mode};
use crate::congestion::{CaState, RateSample, TcpSock, bandwidth};

/// While nothing is known of the round trip (RFC 6928).
const TCP_INIT_CWND: u32 = 10;
/// Gain on what comes in lumps.
const EXTRA_ACKED_GAIN: u64 = BBR_UNIT as u64;
/// Lumps are allowed for up to so much time, microseconds.
const EXTRA_ACKED_MAX_US: u64 = 100_000;

impl Bbr {
    fn bdp(&self, bw: u64, gain: u32) -> u32 {
        if self.min_rtt_us == u32::MAX {
            return TCP_INIT_CWND;
        }
        bandwidth::volume(bw, self.min_rtt_us, gain)
    }

    /// Segments of the burst that leaves at once.
    pub(super) fn tso_segs_goal(sk: &TcpSock) -> u32 {
        bandwidth::burst(sk).max(super::min_tso_segs(sk)).min(0x7F)
    }

    /// Room for bursts at both ends and for acknowledgments of every second segment.
    fn quantization_budget(&self, sk: &TcpSock, cwnd: u32) -> u32 {
        let cwnd = cwnd.saturating_add(3 * Bbr::tso_segs_goal(sk));
        let cwnd = cwnd.saturating_add(1) & !1;
        cwnd.saturating_add(if self.mode == Mode::ProbeBw && self.cycle_idx == 0 { 2 } else { 0 })
    }

    /// Segments in flight that `gain` times the path's volume asks for.
    pub(super) fn inflight(&self, sk: &TcpSock, bw: u64, gain: u32) -> u32 {
        self.quantization_budget(sk, self.bdp(bw, gain))
    }

    /// What will be in flight when the next segment, already scheduled, leaves.
    pub(super) fn packets_in_net_at_edt(&self, sk: &TcpSock, inflight_now: u32) -> u32 {
        let interval_us = sk.tcp_wstamp.saturating_since(sk.tcp_mstamp).as_micros();
        let delivered = self.bbr_bw().saturating_mul(interval_us) >> BW_SCALE;
        let raised = if self.pacing_gain > BBR_UNIT { Bbr::tso_segs_goal(sk) } else { 0 };
        inflight_now.saturating_add(raised).saturating_sub(u32::try_from(delivered).unwrap_or(u32::MAX))
    }

    fn ack_aggregation_cwnd(&self) -> u32 {
        if !self.full_bw_reached {
            return 0;
        }
        let most = self.bbr_bw().saturating_mul(EXTRA_ACKED_MAX_US) / BW_UNIT;
        let aggregated = (EXTRA_ACKED_GAIN * u64::from(self.aggregation.most())) >> BBR_SCALE;
        u32::try_from(aggregated.min(most)).unwrap_or(u32::MAX)
    }

    /// In the first round of recovery one segment leaves for each that was delivered; afterwards the
    /// window from before returns. `Ok` is final.
    fn cwnd_to_recover_or_restore(&mut self, sk: &TcpSock, rs: &RateSample, acked: u32) -> Result<u32, u32> {
        let (before, state) = (self.prev_ca_state, sk.icsk_ca_state);
        let mut cwnd = sk.snd_cwnd;
        if rs.losses > 0 {
            cwnd = cwnd.saturating_sub(rs.losses).max(1);
        }
        if state == CaState::Recovery && before != CaState::Recovery {
            self.packet_conservation = true;
            self.rounds.restart(sk);
            cwnd = sk.tcp_packets_in_flight().saturating_add(acked);
        } else if before >= CaState::Recovery && state < CaState::Recovery {
            cwnd = cwnd.max(self.prior_cwnd);
            self.packet_conservation = false;
        }
        self.prev_ca_state = state;
        if self.packet_conservation {
            Ok(cwnd.max(sk.tcp_packets_in_flight().saturating_add(acked)))
        } else {
            Err(cwnd)
        }
    }

    pub(super) fn set_cwnd(&mut self, sk: &mut TcpSock, rs: &RateSample, acked: u32, bw: u64, gain: u32) {
        let mut cwnd = sk.snd_cwnd;
        if acked > 0 {
            cwnd = match self.cwnd_to_recover_or_restore(sk, rs, acked) {
                Ok(conserved) => conserved,
                Err(cwnd) => self.cwnd_towards_target(sk, cwnd, acked, bw, gain),
            };
        }
        sk.snd_cwnd = cwnd.min(sk.snd_cwnd_clamp);
        if self.mode == Mode::ProbeRtt {
            sk.snd_cwnd = sk.snd_cwnd.min(CWND_MIN_TARGET);
        }
    }

    fn cwnd_towards_target(&self, sk: &TcpSock, cwnd: u32, acked: u32, bw: u64, gain: u32) -> u32 {
        let target = self.bdp(bw, gain).saturating_add(self.ack_aggregation_cwnd());
        let target = self.quantization_budget(sk, target);
        let grown = cwnd.saturating_add(acked);
        let cwnd = if self.full_bw_reached {
            grown.min(target)
        } else if cwnd < target || sk.delivered < TCP_INIT_CWND {
            grown
        } else {
            cwnd
        };
        cwnd.max(CWND_MIN_TARGET)
    }
}
