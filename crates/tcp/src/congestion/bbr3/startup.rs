//! Startup and Drain (draft section 5.3.1 and 5.3.2): the bandwidth is found when it grows no more, or when a probe
//! loses too much, and then the queue that this has made is emptied.

use super::{BBR_UNIT, Bbr3, State};
use crate::congestion::{CaState, RateSample, TCP_INFINITE_SSTHRESH, TcpSock};

/// Growth goes on while the bandwidth grows by a quarter each round trip;
const GROWTH_NUMERATOR: u64 = 5;
const GROWTH_DENOMINATOR: u64 = 4;
/// so many round trips without such growth, and the path is full.
const FULL_BW_ROUNDS: u32 = 3;
/// BBRStartupFullLossCnt: ranges lost in a round trip.
const FULL_LOSS_COUNT: u32 = 6;
/// Drain takes one round trip, and ends after so many if start-up overestimated the bandwidth.
const DRAIN_ROUNDS: u32 = 3;

/// Whether more speed delivers no more.
#[derive(Clone, Debug, Default)]
pub(super) struct FullPipe {
    /// BBR.full_bw: the bandwidth that has to be exceeded.
    pub bw: u64,
    count: u32,
    /// BBR.full_bw_now: this probe has filled the path.
    pub is_now: bool,
    /// BBR.full_bw_reached: some probe has.
    pub was_reached: bool,
}

impl FullPipe {
    /// ResetFullBW(), with a first bandwidth to exceed.
    pub fn reset(&mut self, bw: u64) {
        (self.bw, self.count, self.is_now) = (bw, 0, false);
    }
}

impl Bbr3 {
    /// CheckFullBWReached()
    pub(super) fn check_full_bw_reached(&mut self, rs: &RateSample) {
        if self.full_pipe.is_now || !self.rounds.is_start || rs.is_app_limited {
            return;
        }
        let grown = u128::from(self.delivery_rate) * u128::from(GROWTH_DENOMINATOR);
        if grown >= u128::from(self.full_pipe.bw) * u128::from(GROWTH_NUMERATOR) {
            self.full_pipe.reset(self.delivery_rate);
            return;
        }
        self.full_pipe.count += 1;
        self.full_pipe.is_now = self.full_pipe.count >= FULL_BW_ROUNDS;
        self.full_pipe.was_reached |= self.full_pipe.is_now;
    }

    /// CheckStartupDone()
    pub(super) fn check_startup_done(&mut self, sk: &mut TcpSock, rs: &RateSample) {
        self.check_startup_high_loss(sk, rs);
        if self.state == State::Startup && self.full_pipe.was_reached {
            self.state = State::Drain;
            self.drain_start_round = self.rounds.count;
            // Only for who looks: BBR does not use the threshold.
            sk.snd_ssthresh = self.inflight(sk, self.max_bw.get(), BBR_UNIT).min(TCP_INFINITE_SSTHRESH);
        }
    }

    /// CheckStartupHighLoss(): a whole round trip of fast recovery with more than 2 % lost, in several places.
    fn check_startup_high_loss(&mut self, sk: &TcpSock, rs: &RateSample) {
        let is_over = self.latest.is_round_start;
        let ranges = if is_over { core::mem::take(&mut self.latest.lost_ranges) } else { self.latest.lost_ranges };
        if self.full_pipe.was_reached || sk.icsk_ca_state != CaState::Recovery {
            return;
        }
        let is_too_much = if sk.sack_ok {
            is_over && ranges >= FULL_LOSS_COUNT && super::loss::is_too_much(sk, rs.lost, rs.tx_in_flight)
        } else {
            ranges > 0
        };
        if is_too_much {
            self.undo.state = Some(State::Startup);
            self.full_pipe.was_reached = true;
            self.inflight_longterm = self.bdp_multiple(self.bw, BBR_UNIT).max(self.latest.inflight);
        }
    }

    /// CheckDrainDone()
    pub(super) fn check_drain_done(&mut self, sk: &mut TcpSock) {
        if self.state != State::Drain {
            return;
        }
        let is_empty = sk.tcp_packets_in_flight() <= self.inflight(sk, self.bw, BBR_UNIT);
        if is_empty || self.rounds.count.wrapping_sub(self.drain_start_round) > DRAIN_ROUNDS {
            self.start_down(sk);
        }
    }
}
