//! BBR version 1 (Cardwell et al., CACM 60(2), 2017; draft-cardwell-iccrg-bbr-congestion-control-00),
//! as Linux's `tcp_bbr`: a model of the path, its bandwidth and least round trip, sets pacing rate
//! and window; loss does not.
//!
//! Functions and fields carry Linux's names. [`model`] estimates, [`long_term`] finds policers,
//! [`window`] turns the model into a window; this file holds the phases and the hooks.

mod long_term;
mod model;
mod window;

use super::bandwidth::{Aggregation, BBR_SCALE, BBR_UNIT, BW_SCALE, BW_UNIT, Rounds};
use super::bandwidth::{first_pacing_rate, pacing_rate, rate_bytes_per_sec};
use super::minmax::MinMax;
use super::{CaEvent, CaState, Controller, Pacing, RateSample, TCP_INFINITE_SSTHRESH, TcpSock};
use airtcp_core::{Duration, Instant};
use long_term::LongTerm;

/// Round trips that the bandwidth filter looks back.
const BW_RTTS: u32 = CYCLE_LEN as u32 + 2;
/// Time that the round-trip filter looks back.
const MIN_RTT_WIN: Duration = Duration::from_secs(10);
/// Time spent with a small window to see the least round trip.
const PROBE_RTT_MODE: Duration = Duration::from_millis(200);
/// 2/ln 2: the least gain at which the rate doubles each round trip.
const HIGH_GAIN: u32 = BBR_UNIT * 2885 / 1000 + 1;
/// Empties in one round trip the queue that start-up made.
const DRAIN_GAIN: u32 = BBR_UNIT * 1000 / 2885;
/// Room for delayed and stretched acknowledgments.
const CWND_GAIN: u32 = BBR_UNIT * 2;
const CYCLE_LEN: usize = 8;
/// Probe for more, give back, cruise.
const PACING_GAIN: [u32; CYCLE_LEN] =
    [BBR_UNIT * 5 / 4, BBR_UNIT * 3 / 4, BBR_UNIT, BBR_UNIT, BBR_UNIT, BBR_UNIT, BBR_UNIT, BBR_UNIT];
/// Phases a cycle may begin with: all but the one that gives back.
const CYCLE_RAND: u64 = 7;
/// Acknowledgments in lumps are looked for in one or two windows of so many round trips.
const EXTRA_ACKED_WIN_RTTS: u32 = 5;
/// The least window.
const CWND_MIN_TARGET: u32 = 4;
/// Below this rate, bits per second, segments leave one by one.
const MIN_TSO_RATE: u64 = 1_200_000;

/// What BBR is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mode {
    /// Doubles its rate each round trip.
    #[default]
    Startup,
    /// Empties the queue that start-up made.
    Drain,
    /// Cycles through [`PACING_GAIN`].
    ProbeBw,
    /// Sends little, to see the least round trip.
    ProbeRtt,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Bbr {
    min_rtt_us: u32,
    min_rtt_stamp: u32,
    /// When the phase with a small window ends, jiffies; `None` until the window is small.
    probe_rtt_done_stamp: Option<u32>,
    bw: MinMax,
    rounds: Rounds,
    cycle_mstamp: Instant,
    mode: Mode,
    prev_ca_state: CaState,
    packet_conservation: bool,
    idle_restart: bool,
    probe_rtt_round_done: bool,
    long_term: LongTerm,
    pacing_gain: u32,
    cwnd_gain: u32,
    full_bw_reached: bool,
    full_bw_cnt: u32,
    full_bw: u64,
    cycle_idx: usize,
    has_seen_rtt: bool,
    prior_cwnd: u32,
    aggregation: Aggregation,
}

impl Bbr {
    /// Bandwidth over the last round trips.
    fn max_bw(&self) -> u64 {
        self.bw.get()
    }

    /// Bandwidth to send at: a policer's, if there is one.
    fn bbr_bw(&self) -> u64 {
        self.long_term.bw_in_use().unwrap_or_else(|| self.max_bw())
    }

    fn init_pacing_rate_from_rtt(&mut self, sk: &mut TcpSock) {
        self.has_seen_rtt |= sk.srtt_us > 0;
        sk.sk_pacing_rate = first_pacing_rate(sk, HIGH_GAIN);
    }

    fn set_pacing_rate(&mut self, sk: &mut TcpSock, bw: u64, gain: u32) {
        if !self.has_seen_rtt && sk.srtt_us > 0 {
            self.init_pacing_rate_from_rtt(sk);
        }
        let rate = pacing_rate(sk, bw, gain);
        // Without bandwidth there is no rate: the one before holds.
        if rate > 0 && (self.full_bw_reached || rate > sk.sk_pacing_rate) {
            sk.sk_pacing_rate = rate;
        }
    }

    /// Keeps the window from before a loss or a phase with a small one.
    fn save_cwnd(&mut self, sk: &TcpSock) {
        self.prior_cwnd = if self.prev_ca_state < CaState::Recovery && self.mode != Mode::ProbeRtt {
            sk.snd_cwnd
        } else {
            self.prior_cwnd.max(sk.snd_cwnd)
        };
    }

    fn advance_cycle_phase(&mut self, sk: &TcpSock) {
        self.cycle_idx = (self.cycle_idx + 1) % CYCLE_LEN;
        self.cycle_mstamp = sk.delivered_mstamp;
    }

    fn is_next_cycle_phase(&self, sk: &TcpSock, rs: &RateSample) -> bool {
        let elapsed = sk.delivered_mstamp.saturating_since(self.cycle_mstamp).as_micros();
        let is_full_length = elapsed > u64::from(self.min_rtt_us);
        if self.pacing_gain == BBR_UNIT {
            return is_full_length;
        }
        let (inflight, bw) = (self.packets_in_net_at_edt(sk, rs.prior_in_flight), self.max_bw());
        if self.pacing_gain > BBR_UNIT {
            // Until the path holds more than before, or a queue cannot.
            return is_full_length && (rs.losses > 0 || inflight >= self.inflight(sk, bw, self.pacing_gain));
        }
        is_full_length || inflight <= self.inflight(sk, bw, BBR_UNIT)
    }

    fn update_cycle_phase(&mut self, sk: &TcpSock, rs: &RateSample) {
        if self.mode == Mode::ProbeBw && self.is_next_cycle_phase(sk, rs) {
            self.advance_cycle_phase(sk);
        }
    }

    fn reset_probe_bw_mode(&mut self, sk: &mut TcpSock) {
        self.mode = Mode::ProbeBw;
        self.cycle_idx = CYCLE_LEN - 1 - sk.rng.below(CYCLE_RAND) as usize;
        self.advance_cycle_phase(sk);
    }

    fn reset_mode(&mut self, sk: &mut TcpSock) {
        if self.full_bw_reached {
            self.reset_probe_bw_mode(sk);
        } else {
            self.mode = Mode::Startup;
        }
    }

    fn check_drain(&mut self, sk: &mut TcpSock) {
        if self.mode == Mode::Startup && self.full_bw_reached {
            self.mode = Mode::Drain;
            sk.snd_ssthresh = self.inflight(sk, self.max_bw(), BBR_UNIT).min(TCP_INFINITE_SSTHRESH);
        }
        if self.mode == Mode::Drain
            && self.packets_in_net_at_edt(sk, sk.tcp_packets_in_flight()) <= self.inflight(sk, self.max_bw(), BBR_UNIT)
        {
            self.reset_probe_bw_mode(sk);
        }
    }

    fn check_probe_rtt_done(&mut self, sk: &mut TcpSock) {
        let now = sk.tcp_jiffies32();
        if self.probe_rtt_done_stamp.is_some_and(|done| is_after(now, done)) {
            self.min_rtt_stamp = now;
            sk.snd_cwnd = sk.snd_cwnd.max(self.prior_cwnd);
            self.reset_mode(sk);
        }
    }

    fn update_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBw if self.long_term.bw_in_use().is_some() => (BBR_UNIT, CWND_GAIN),
            Mode::ProbeBw => (PACING_GAIN[self.cycle_idx], CWND_GAIN),
            Mode::ProbeRtt => (BBR_UNIT, BBR_UNIT),
        };
    }
}

/// Linux `bbr_min_tso_segs()`.
fn min_tso_segs(sk: &TcpSock) -> u32 {
    if sk.sk_pacing_rate < MIN_TSO_RATE >> 3 { 1 } else { 2 }
}

/// True if `a` is later than `b` on a clock that wraps.
fn is_after(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}

impl Controller for Bbr {
    fn sndbuf_expand(&self) -> u32 {
        3
    }

    fn init(&mut self, sk: &mut TcpSock) {
        sk.snd_ssthresh = TCP_INFINITE_SSTHRESH;
        *self = Bbr { min_rtt_us: sk.rtt_min_us, min_rtt_stamp: sk.tcp_jiffies32(), ..Bbr::default() };
        self.rounds.restart(sk);
        self.init_pacing_rate_from_rtt(sk);
        self.long_term.reset(sk);
        self.aggregation.restart_epoch(sk.tcp_mstamp);
        self.update_gains();
        if sk.sk_pacing_status == Pacing::None {
            sk.sk_pacing_status = Pacing::Needed;
        }
    }

    fn has_cong_control(&self) -> bool {
        true
    }

    fn cong_control(&mut self, sk: &mut TcpSock, rs: &RateSample) {
        self.update_bw(sk, rs);
        let bw = self.bbr_bw();
        self.aggregation.update(sk, rs, bw, &self.rounds, EXTRA_ACKED_WIN_RTTS);
        self.update_cycle_phase(sk, rs);
        self.check_full_bw_reached(rs);
        self.check_drain(sk);
        self.update_min_rtt(sk, rs);
        self.update_gains();
        let bw = self.bbr_bw();
        self.set_pacing_rate(sk, bw, self.pacing_gain);
        self.set_cwnd(sk, rs, rs.acked_sacked, bw, self.cwnd_gain);
    }

    fn cong_avoid(&mut self, _sk: &mut TcpSock, _acked: u32) {}

    fn ssthresh(&mut self, sk: &mut TcpSock) -> u32 {
        self.save_cwnd(sk);
        sk.snd_ssthresh
    }

    fn undo_cwnd(&mut self, sk: &mut TcpSock) -> u32 {
        (self.full_bw, self.full_bw_cnt) = (0, 0);
        self.long_term.reset(sk);
        sk.snd_cwnd
    }

    fn set_state(&mut self, sk: &mut TcpSock, new: CaState) {
        if new == CaState::Loss {
            self.prev_ca_state = CaState::Loss;
            self.full_bw = 0;
            self.rounds.is_start = true;
            self.sample_long_term(sk, &RateSample { losses: 1, ..RateSample::default() });
        }
    }

    fn cwnd_event(&mut self, sk: &mut TcpSock, event: CaEvent) {
        if event != CaEvent::TxStart || sk.app_limited == 0 {
            return;
        }
        self.idle_restart = true;
        self.aggregation.restart_epoch(sk.tcp_mstamp);
        match self.mode {
            Mode::ProbeBw => self.set_pacing_rate(sk, self.bbr_bw(), BBR_UNIT),
            Mode::ProbeRtt => self.check_probe_rtt_done(sk),
            Mode::Startup | Mode::Drain => {}
        }
    }

    fn min_tso_segs(&mut self, sk: &mut TcpSock) -> u32 {
        min_tso_segs(sk)
    }
}

#[cfg(test)]
mod tests;
