//! ProbeBW (draft section 5.3.3): DOWN, CRUISE, REFILL, UP, and again. A probe begins two to three seconds after the one
//! before, or after as many round trips as Reno would take to grow by the path's volume, 63 at most. It ends when more
//! speed delivers no more, when more than 2 % are lost, or, after a probe that lost so much, as soon as it reaches the
//! volume at which that was.

use super::{BBR_UNIT, Bbr3, MIN_PIPE_CWND, NO_BANDWIDTH, NO_VOLUME, State};
use crate::congestion::{RateSample, TcpSock};
use airtcp_core::{Duration, Instant};

/// A probe begins no sooner than this, by the clock,
const LEAST_WAIT: Duration = Duration::from_secs(2);
/// and by chance up to this later, microseconds.
const RANDOM_WAIT_US: u64 = 1_000_000;
/// Round trips after which a probe begins at the latest,
const MOST_ROUNDS: u32 = 63;
/// and by chance one less: what the count begins with is below this.
const RANDOM_ROUNDS: u64 = 2;
/// BBR.Headroom: of the volume that is known to be too much, percent.
const HEADROOM_PERCENT: u64 = 15;
/// Growth doubles each round trip of a probe up to 2^30.
const MOST_DOUBLINGS: u32 = 30;

/// What acknowledgments say about the last probe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum AckPhase {
    /// Nothing.
    #[default]
    Init,
    /// The path is being filled.
    Refilling,
    /// What is acknowledged left before the probe.
    ProbeStarting,
    /// What is acknowledged was sent by the probe.
    ProbeFeedback,
    /// The probe is over, and what it sent is still being acknowledged.
    ProbeStopping,
}

/// The cycle of probes.
#[derive(Clone, Debug, Default)]
pub(super) struct Cycle {
    pub ack_phase: AckPhase,
    pub rounds_since_probe_up: u32,
    /// Losses belong to a probe that was not yet answered.
    pub is_probe_sample: bool,
    /// The last probe lost too much.
    pub prev_probe_too_high: bool,
    /// The last probe ended as soon as it reached the long-term bound.
    prev_probe_precautionary: bool,
    stamp: Instant,
    wait: Duration,
    up_rounds: u32,
    up_acked: u32,
    /// Segments acknowledged for each by which the long-term bound grows; none while it does not.
    acked_per_increase: Option<u32>,
}

impl Bbr3 {
    /// UpdateProbeBWCyclePhase()
    pub(super) fn update_probe_bw_cycle_phase(&mut self, sk: &mut TcpSock, rs: &RateSample) {
        if !self.full_pipe.was_reached || self.adapt_long_term_model(sk, rs) {
            return;
        }
        let state = self.state;
        match state {
            State::Down if self.is_time_to_probe_bw(sk) => self.start_refill(sk),
            State::Down if self.is_time_to_cruise(sk, rs) => self.start_cruise(),
            State::Cruise if self.is_time_to_probe_bw(sk) => self.start_refill(sk),
            State::Refill if self.rounds.is_start => {
                self.cycle.is_probe_sample = true;
                self.start_up(sk);
            }
            State::Up if self.is_time_to_go_down(sk, rs) => {
                self.cycle.prev_probe_too_high = false;
                self.start_down(sk);
            }
            _ => {}
        }
    }

    /// StartProbeBW_DOWN()
    pub(super) fn start_down(&mut self, sk: &mut TcpSock) {
        self.latest.reset();
        self.cycle.acked_per_increase = None;
        self.cycle.rounds_since_probe_up = sk.rng.below(RANDOM_ROUNDS) as u32;
        self.cycle.wait = LEAST_WAIT + Duration::from_micros(sk.rng.below(RANDOM_WAIT_US));
        self.cycle.stamp = sk.tcp_mstamp;
        self.cycle.ack_phase = AckPhase::ProbeStopping;
        self.rounds.restart(sk);
        self.state = State::Down;
    }

    /// StartProbeBW_CRUISE()
    pub(super) fn start_cruise(&mut self) {
        self.state = State::Cruise;
    }

    /// StartProbeBW_REFILL()
    pub(super) fn start_refill(&mut self, sk: &TcpSock) {
        self.reset_short_term_model();
        (self.cycle.up_rounds, self.cycle.up_acked) = (0, 0);
        self.cycle.prev_probe_precautionary = false;
        self.cycle.ack_phase = AckPhase::Refilling;
        self.rounds.restart(sk);
        self.state = State::Refill;
    }

    /// StartProbeBW_UP()
    pub(super) fn start_up(&mut self, sk: &TcpSock) {
        self.cycle.ack_phase = AckPhase::ProbeStarting;
        self.rounds.restart(sk);
        self.full_pipe.reset(self.delivery_rate);
        self.state = State::Up;
        self.counts.probes_for_bandwidth += 1;
        self.raise_inflight_longterm_slope(sk);
    }

    /// ResetShortTermModel()
    pub(super) fn reset_short_term_model(&mut self) {
        (self.bw_shortterm, self.inflight_shortterm) = (NO_BANDWIDTH, NO_VOLUME);
    }

    /// IsTimeToProbeBW()
    pub(super) fn is_time_to_probe_bw(&self, sk: &TcpSock) -> bool {
        let is_renos_time = self.cycle.rounds_since_probe_up >= self.target_inflight(sk).min(MOST_ROUNDS);
        sk.tcp_mstamp.saturating_since(self.cycle.stamp) > self.cycle.wait || is_renos_time
    }

    /// IsTimeToCruise()
    fn is_time_to_cruise(&self, sk: &TcpSock, rs: &RateSample) -> bool {
        let in_flight = rs.prior_in_flight;
        in_flight <= self.inflight_with_headroom() && in_flight <= self.inflight(sk, self.max_bw.get(), BBR_UNIT)
    }

    /// IsTimeToGoDown()
    fn is_time_to_go_down(&mut self, sk: &TcpSock, rs: &RateSample) -> bool {
        if self.cycle.prev_probe_too_high && rs.prior_in_flight >= self.inflight_longterm {
            self.cycle.prev_probe_precautionary = true;
            return true;
        }
        if self.is_held_by_longterm_bound(sk) {
            self.full_pipe.reset(self.delivery_rate);
            return false;
        }
        self.full_pipe.is_now
    }

    fn is_held_by_longterm_bound(&self, sk: &TcpSock) -> bool {
        sk.is_cwnd_limited && sk.snd_cwnd >= self.inflight_longterm
    }

    /// TargetInflight(): the path's volume, unless congestion cut the window.
    pub(super) fn target_inflight(&self, sk: &TcpSock) -> u32 {
        self.bdp_multiple(self.bw, BBR_UNIT).min(sk.snd_cwnd)
    }

    /// InflightWithHeadroom()
    pub(super) fn inflight_with_headroom(&self) -> u32 {
        if self.inflight_longterm == NO_VOLUME {
            return NO_VOLUME;
        }
        let headroom = (u64::from(self.inflight_longterm) * HEADROOM_PERCENT / 100) as u32;
        self.inflight_longterm.saturating_sub(headroom.max(1)).max(MIN_PIPE_CWND)
    }

    /// RaiseInflightLongtermSlope(): twice as much as in the round trip before.
    fn raise_inflight_longterm_slope(&mut self, sk: &TcpSock) {
        let growth = 1 << self.cycle.up_rounds;
        self.cycle.up_rounds = (self.cycle.up_rounds + 1).min(MOST_DOUBLINGS);
        self.cycle.acked_per_increase = Some((sk.snd_cwnd / growth).max(1));
    }

    /// ProbeInflightLongtermUpward()
    pub(super) fn probe_inflight_longterm_upward(&mut self, sk: &TcpSock, rs: &RateSample) {
        let Some(per_increase) = self.cycle.acked_per_increase.filter(|_| self.is_held_by_longterm_bound(sk)) else {
            return;
        };
        let acked = self.cycle.up_acked.saturating_add(rs.acked_sacked);
        self.cycle.up_acked = acked % per_increase;
        self.inflight_longterm = self.inflight_longterm.saturating_add(acked / per_increase);
        if self.rounds.is_start {
            self.raise_inflight_longterm_slope(sk);
        }
    }

    /// AdaptLongTermModel(). True if it decided what comes next.
    fn adapt_long_term_model(&mut self, sk: &TcpSock, rs: &RateSample) -> bool {
        if self.rounds.is_start && self.cycle.ack_phase == AckPhase::ProbeStarting {
            self.cycle.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.rounds.is_start && self.cycle.ack_phase == AckPhase::ProbeStopping {
            self.cycle.is_probe_sample = false;
            self.cycle.ack_phase = AckPhase::Init;
            if self.state.is_probe_bw() && !rs.is_app_limited {
                self.cycle_count = self.cycle_count.wrapping_add(1);
            }
            let may_go_on = self.cycle.prev_probe_precautionary && !self.cycle.prev_probe_too_high;
            if self.state.is_probe_bw() && may_go_on {
                self.start_refill(sk);
                return true;
            }
        }
        if self.inflight_longterm == NO_VOLUME || super::loss::is_too_much(sk, rs.lost, rs.tx_in_flight) {
            return false;
        }
        self.inflight_longterm = self.inflight_longterm.max(rs.tx_in_flight);
        if self.state == State::Up {
            self.probe_inflight_longterm_upward(sk, rs);
        }
        false
    }
}
