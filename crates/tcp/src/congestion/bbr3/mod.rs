//! BBR version 3 (draft-ietf-ccwg-bbr-06; second source: branch v3 of Google's Linux tree). As version 1 it paces by a
//! model of the path, its bandwidth and least round trip. In addition loss bounds the model: for the long term by the
//! volume at which a probe for bandwidth lost more than 2 %, for the short term by what was delivered in a round trip
//! with loss. Probes are as rare as Reno's sawtooth is long, and leave others headroom.
//!
//! Names and steps are the draft's. [`startup`] finds the bandwidth first, [`probe_bw`] cycles, [`loss`] bounds,
//! [`probe_rtt`] sees the least round trip, [`window`] turns the model into a window; this file holds states and hooks.
//!
//! Where the draft leaves a choice or contradicts itself, it is as in Google's tree:
//! - what is in flight is compared with the model as it was before the acknowledgment ([`probe_bw`]): afterwards it
//!   would never reach a bound that is the window, too;
//! - what an undo restores is saved when recovery begins, and not again with each round trip that has loss: that would
//!   save what the first one had cut;
//! - a timeout while nothing is probed takes the window from before it for the short-term bound, not the one segment
//!   that it leaves;
//! - acknowledgments in lumps are looked for in two windows of five round trips in place of one of ten.
//!
//! There is no response to ECN, which the draft leaves open: segments of this controller cannot be marked, even if ECN
//! is asked for.

mod loss;
mod probe_bw;
mod probe_rtt;
mod startup;
mod window;

use super::bandwidth::{Aggregation, BBR_UNIT, Rounds, first_pacing_rate, of_sample, pacing_rate};
use super::minmax::MinMax;
use super::{CaEvent, CaState, Controller, LostSegment, Pacing, RateSample, TCP_INFINITE_SSTHRESH, TcpSock};
use loss::{Latest, Undo};
use probe_bw::Cycle;
use probe_rtt::MinRtt;
use startup::FullPipe;

/// BBR.StartupPacingGain: 4 ln 2, the least at which the rate doubles each round trip.
const STARTUP_PACING_GAIN: u32 = BBR_UNIT * 277 / 100 + 1;
/// BBR.DrainPacingGain: half, in which start-up's queue is gone within a round trip.
const DRAIN_PACING_GAIN: u32 = BBR_UNIT / 2;
/// Of ProbeBW_UP.
const UP_PACING_GAIN: u32 = BBR_UNIT * 5 / 4;
/// Of ProbeBW_DOWN.
const DOWN_PACING_GAIN: u32 = BBR_UNIT * 90 / 100;
/// BBR.DefaultCwndGain.
const CWND_GAIN: u32 = BBR_UNIT * 2;
/// Of ProbeBW_UP, so that the window does not hold the probe back.
const UP_CWND_GAIN: u32 = BBR_UNIT * 9 / 4;
/// BBR.ProbeRTTCwndGain.
const PROBE_RTT_CWND_GAIN: u32 = BBR_UNIT / 2;
/// BBR.MaxBwFilterLen: this cycle of probes and the one before.
const MAX_BW_CYCLES: u32 = 1;
/// BBR.ExtraAckedFilterLen is ten round trips, here in two windows of five,
const EXTRA_ACKED_WIN_RTTS: u32 = 5;
/// and one until start-up is over.
const EXTRA_ACKED_STARTUP_RTTS: u32 = 1;
/// BBR.MinPipeCwnd.
const MIN_PIPE_CWND: u32 = 4;
/// No bound on segments in flight,
const NO_VOLUME: u32 = u32::MAX;
/// or on a bandwidth.
const NO_BANDWIDTH: u64 = u64::MAX;

/// What BBR is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Doubles its rate each round trip.
    #[default]
    Startup,
    /// Empties the queue that start-up made.
    Drain,
    /// ProbeBW_DOWN: sends less than is delivered, to empty queues and leave headroom.
    Down,
    /// ProbeBW_CRUISE: sends what is delivered.
    Cruise,
    /// ProbeBW_REFILL: fills the path, but no queue, before a probe.
    Refill,
    /// ProbeBW_UP: probes for more.
    Up,
    /// Sends little, to see the least round trip.
    ProbeRtt,
}

impl State {
    fn pacing_gain(self) -> u32 {
        match self {
            State::Startup => STARTUP_PACING_GAIN,
            State::Drain => DRAIN_PACING_GAIN,
            State::Down => DOWN_PACING_GAIN,
            State::Cruise | State::Refill | State::ProbeRtt => BBR_UNIT,
            State::Up => UP_PACING_GAIN,
        }
    }

    fn cwnd_gain(self) -> u32 {
        match self {
            State::Startup | State::Drain | State::Down | State::Cruise | State::Refill => CWND_GAIN,
            State::Up => UP_CWND_GAIN,
            State::ProbeRtt => PROBE_RTT_CWND_GAIN,
        }
    }

    /// IsInAProbeBWState()
    fn is_probe_bw(self) -> bool {
        matches!(self, State::Down | State::Cruise | State::Refill | State::Up)
    }

    /// IsProbingBW(): it sends more than is known to be delivered.
    fn is_probing(self) -> bool {
        matches!(self, State::Startup | State::Refill | State::Up)
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Bbr3 {
    state: State,
    rounds: Rounds,
    /// RS.delivery_rate of the acknowledgment being handled; zero without a sample.
    delivery_rate: u64,
    max_bw: MinMax,
    /// Time of the filter: cycles of probes.
    cycle_count: u32,
    /// What it sends at: the least of `max_bw` and `bw_shortterm`.
    bw: u64,
    bw_shortterm: u64,
    inflight_shortterm: u32,
    inflight_longterm: u32,
    full_pipe: FullPipe,
    drain_start_round: u32,
    cycle: Cycle,
    latest: Latest,
    undo: Undo,
    min_rtt: MinRtt,
    aggregation: Aggregation,
    /// The window from before a loss or a phase with a small one.
    prior_cwnd: u32,
    initial_cwnd: u32,
    idle_restart: bool,
    has_seen_rtt: bool,
    counts: Counts,
}

/// What [`Controller::get_info`] tells.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    probes_for_bandwidth: u64,
    probes_too_high: u64,
    probes_for_rtt: u64,
    short_term_cuts: u64,
}

impl Default for Bbr3 {
    fn default() -> Self {
        Bbr3 {
            state: State::Startup,
            rounds: Rounds::default(),
            delivery_rate: 0,
            max_bw: MinMax::default(),
            cycle_count: 0,
            bw: 0,
            bw_shortterm: NO_BANDWIDTH,
            inflight_shortterm: NO_VOLUME,
            inflight_longterm: NO_VOLUME,
            full_pipe: FullPipe::default(),
            drain_start_round: 0,
            cycle: Cycle::default(),
            latest: Latest::default(),
            undo: Undo::default(),
            min_rtt: MinRtt::default(),
            aggregation: Aggregation::default(),
            prior_cwnd: 0,
            initial_cwnd: 0,
            idle_restart: false,
            has_seen_rtt: false,
            counts: Counts::default(),
        }
    }
}

impl Bbr3 {
    /// UpdateModelAndState()
    fn update_model_and_state(&mut self, sk: &mut TcpSock, rs: &RateSample) {
        self.delivery_rate = of_sample(rs);
        self.rounds.update(sk, rs);
        if self.rounds.is_start {
            self.cycle.rounds_since_probe_up = self.cycle.rounds_since_probe_up.saturating_add(1);
        }
        self.update_latest_delivery_signals(sk, rs);
        self.update_congestion_signals(sk, rs);
        let window = if self.full_pipe.was_reached { EXTRA_ACKED_WIN_RTTS } else { EXTRA_ACKED_STARTUP_RTTS };
        self.aggregation.update(sk, rs, self.bw, &self.rounds, window);
        self.check_full_bw_reached(rs);
        self.check_startup_done(sk, rs);
        self.check_drain_done(sk);
        self.update_probe_bw_cycle_phase(sk, rs);
        self.min_rtt.update(sk, rs);
        self.check_probe_rtt(sk, rs);
        self.advance_latest_delivery_signals(rs);
        self.bound_bw_for_model();
    }

    /// BoundBWForModel()
    fn bound_bw_for_model(&mut self) {
        self.bw = self.max_bw.get().min(self.bw_shortterm);
    }

    /// UpdateMaxBw(): if the sender had nothing to send, a sample is only a lower bound.
    fn update_max_bw(&mut self, rs: &RateSample) {
        if self.delivery_rate > 0 && (self.delivery_rate >= self.max_bw.get() || !rs.is_app_limited) {
            self.max_bw.running_max(MAX_BW_CYCLES, self.cycle_count, self.delivery_rate);
        }
    }

    fn init_pacing_rate(&mut self, sk: &mut TcpSock) {
        self.has_seen_rtt |= sk.srtt_us > 0;
        sk.sk_pacing_rate = first_pacing_rate(sk, STARTUP_PACING_GAIN);
    }

    /// SetPacingRateWithGain()
    fn set_pacing_rate(&mut self, sk: &mut TcpSock, gain: u32) {
        if !self.has_seen_rtt && sk.srtt_us > 0 {
            self.init_pacing_rate(sk);
        }
        let rate = pacing_rate(sk, self.bw, gain);
        // Without bandwidth there is no rate: the one before holds.
        if rate > 0 && (self.full_pipe.was_reached || rate > sk.sk_pacing_rate) {
            sk.sk_pacing_rate = rate;
        }
    }

    /// SaveCwnd()
    fn save_cwnd(&mut self, sk: &TcpSock) {
        self.prior_cwnd = if sk.icsk_ca_state < CaState::Recovery && self.state != State::ProbeRtt {
            sk.snd_cwnd
        } else {
            self.prior_cwnd.max(sk.snd_cwnd)
        };
    }

    /// RestoreCwnd()
    fn restore_cwnd(&self, sk: &mut TcpSock) {
        sk.snd_cwnd = sk.snd_cwnd.max(self.prior_cwnd);
    }
}

impl Controller for Bbr3 {
    fn sndbuf_expand(&self) -> u32 {
        3
    }

    fn init(&mut self, sk: &mut TcpSock) {
        sk.snd_ssthresh = TCP_INFINITE_SSTHRESH;
        *self = Bbr3 { initial_cwnd: sk.snd_cwnd, min_rtt: MinRtt::new(sk), ..Bbr3::default() };
        self.rounds.restart(sk);
        self.latest.restart(sk);
        self.aggregation.restart_epoch(sk.tcp_mstamp);
        self.init_pacing_rate(sk);
        if sk.sk_pacing_status == Pacing::None {
            sk.sk_pacing_status = Pacing::Needed;
        }
    }

    fn has_cong_control(&self) -> bool {
        true
    }

    fn cong_control(&mut self, sk: &mut TcpSock, rs: &RateSample) {
        self.update_model_and_state(sk, rs);
        self.set_pacing_rate(sk, self.state.pacing_gain());
        self.set_cwnd(sk, rs.acked_sacked);
    }

    fn cong_avoid(&mut self, _sk: &mut TcpSock, _acked: u32) {}

    /// OnEnterFastRecovery(), OnEnterRTO()
    fn ssthresh(&mut self, sk: &mut TcpSock) -> u32 {
        self.save_state_upon_loss(sk);
        sk.snd_ssthresh
    }

    fn wants_losses(&self) -> bool {
        true
    }

    fn segment_lost(&mut self, sk: &mut TcpSock, lost: &LostSegment) {
        self.handle_lost_segment(sk, lost);
    }

    fn answers_marks(&self) -> bool {
        false
    }

    fn undo_cwnd(&mut self, sk: &mut TcpSock) -> u32 {
        self.handle_spurious_loss_detection(sk);
        sk.snd_cwnd
    }

    fn set_state(&mut self, sk: &mut TcpSock, new: CaState) {
        if new == CaState::Loss {
            if !self.state.is_probing() && self.inflight_shortterm == NO_VOLUME {
                self.inflight_shortterm = sk.snd_cwnd.max(self.prior_cwnd);
            }
        } else if sk.icsk_ca_state >= CaState::Recovery && new < CaState::Recovery {
            self.restore_cwnd(sk);
        }
    }

    /// HandleRestartFromIdle(), and what a tail loss probe repaired.
    fn cwnd_event(&mut self, sk: &mut TcpSock, event: CaEvent) {
        match event {
            CaEvent::TxStart if sk.app_limited != 0 => {
                self.idle_restart = true;
                self.aggregation.restart_epoch(sk.tcp_mstamp);
                if self.state.is_probe_bw() {
                    self.set_pacing_rate(sk, BBR_UNIT);
                } else if self.state == State::ProbeRtt {
                    self.check_probe_rtt_done(sk);
                }
            }
            CaEvent::TlpRecovery => self.handle_repaired_tail(sk),
            _ => {}
        }
    }

    fn get_info(&self, see: &mut dyn FnMut(&'static str, u64)) {
        see("probes_for_bandwidth", self.counts.probes_for_bandwidth);
        see("probes_too_high", self.counts.probes_too_high);
        see("probes_for_rtt", self.counts.probes_for_rtt);
        see("short_term_cuts", self.counts.short_term_cuts);
    }
}

#[cfg(test)]
mod tests;
