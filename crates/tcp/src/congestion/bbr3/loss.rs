//! What loss says (draft section 5.5.10 and 5.5.11): a probe that loses more than 2 % of what was in flight has found the
//! long-term bound of the volume; losses at other times bound bandwidth and volume until the next probe, once a round
//! trip, by what was delivered meanwhile, but to no less than 0.7.

use super::{Bbr3, NO_BANDWIDTH, NO_VOLUME, State};
use crate::congestion::{LostSegment, RateSample, TcpSock};

/// BBR.LossThresh: a probe may lose one in so many.
const LOSS_THRESH: u64 = 50;
/// BBR.Beta: what is left at least of a bound, tenths.
const BETA_TENTHS: u64 = 7;

/// What was delivered and lost in this round trip.
#[derive(Clone, Debug, Default)]
pub(super) struct Latest {
    bw: u64,
    /// BBR.inflight_latest: the most that was delivered between sending and acknowledgment of a segment.
    pub inflight: u32,
    /// BBR.loss_round_start
    pub is_round_start: bool,
    /// BBR.loss_round_delivered: something that is sent after so much was delivered ends the round trip.
    round_end: u32,
    is_loss_in_round: bool,
    /// Ranges lost since the round trip began.
    pub lost_ranges: u32,
    /// Where the last of them ends.
    lost_end: u64,
}

impl Latest {
    /// Before the first acknowledgment.
    pub fn restart(&mut self, sk: &TcpSock) {
        self.round_end = sk.delivered;
    }

    /// ResetCongestionSignals()
    pub fn reset(&mut self) {
        (self.bw, self.inflight, self.is_loss_in_round) = (0, 0, false);
    }
}

/// What to return to if nothing was lost after all.
#[derive(Clone, Debug, Default)]
pub(super) struct Undo {
    /// The state that the losses ended.
    pub state: Option<State>,
    bw_shortterm: u64,
    inflight_shortterm: u32,
    inflight_longterm: u32,
}

/// IsInflightTooHigh(): more than 2 % of what was in flight, or anything where only one loss a round trip can be seen.
pub(super) fn is_too_much(sk: &TcpSock, lost: u32, tx_in_flight: u32) -> bool {
    u64::from(lost) * LOSS_THRESH > u64::from(tx_in_flight) || lost > 0 && !sk.sack_ok
}

/// InflightAtLoss(): what was in flight when losses crossed the threshold: before this segment, or with it.
fn inflight_at_loss(lost: &LostSegment) -> u32 {
    let before = lost.tx_in_flight.saturating_sub(1);
    let lost_before = u64::from(lost.lost.saturating_sub(1));
    let allowed = u64::from(before).saturating_sub(lost_before * LOSS_THRESH);
    before.saturating_add((allowed / (LOSS_THRESH - 1)) as u32)
}

fn beta_of(bound: u32) -> u32 {
    (u64::from(bound) * BETA_TENTHS / 10) as u32
}

fn is_sample(rs: &RateSample) -> bool {
    rs.interval_us > 0 && rs.delivered >= 0 && rs.acked_sacked > 0
}

impl Bbr3 {
    /// UpdateLatestDeliverySignals()
    pub(super) fn update_latest_delivery_signals(&mut self, sk: &TcpSock, rs: &RateSample) {
        let latest = &mut self.latest;
        latest.is_round_start = false;
        if !is_sample(rs) {
            return;
        }
        latest.bw = latest.bw.max(self.delivery_rate);
        latest.inflight = latest.inflight.max(rs.delivered.unsigned_abs());
        if rs.prior_delivered.wrapping_sub(latest.round_end) as i32 >= 0 {
            latest.round_end = sk.delivered;
            latest.is_round_start = true;
        }
    }

    /// AdvanceLatestDeliverySignals()
    pub(super) fn advance_latest_delivery_signals(&mut self, rs: &RateSample) {
        if self.latest.is_round_start {
            (self.latest.bw, self.latest.inflight) = (self.delivery_rate, rs.delivered.unsigned_abs());
        }
    }

    /// UpdateCongestionSignals()
    pub(super) fn update_congestion_signals(&mut self, sk: &TcpSock, rs: &RateSample) {
        if is_sample(rs) {
            self.update_max_bw(rs);
        }
        if self.latest.is_round_start {
            self.adapt_lower_bounds_from_congestion(sk);
            self.latest.is_loss_in_round = false;
        }
    }

    /// AdaptLowerBoundsFromCongestion()
    fn adapt_lower_bounds_from_congestion(&mut self, sk: &TcpSock) {
        if self.state.is_probing() || !self.latest.is_loss_in_round {
            return;
        }
        if self.bw_shortterm == NO_BANDWIDTH {
            self.bw_shortterm = self.max_bw.get();
        }
        if self.inflight_shortterm == NO_VOLUME {
            self.inflight_shortterm = sk.snd_cwnd;
        }
        let bw = u64::try_from(u128::from(self.bw_shortterm) * u128::from(BETA_TENTHS) / 10).unwrap_or(NO_BANDWIDTH);
        self.bw_shortterm = bw.max(self.latest.bw).max(1);
        self.inflight_shortterm = beta_of(self.inflight_shortterm).max(self.latest.inflight);
        self.counts.short_term_cuts += 1;
    }

    /// NoteLoss()
    fn note_loss(&mut self, sk: &TcpSock) {
        if !self.latest.is_loss_in_round {
            self.latest.round_end = sk.delivered;
        }
        self.latest.is_loss_in_round = true;
    }

    /// HandleLostPacket()
    pub(super) fn handle_lost_segment(&mut self, sk: &mut TcpSock, lost: &LostSegment) {
        self.note_loss(sk);
        if lost.start != self.latest.lost_end {
            self.latest.lost_ranges = self.latest.lost_ranges.saturating_add(1);
        }
        self.latest.lost_end = lost.end;
        if self.cycle.is_probe_sample && is_too_much(sk, lost.lost, lost.tx_in_flight) {
            self.handle_inflight_too_high(sk, inflight_at_loss(lost), lost.is_app_limited);
        }
    }

    /// A tail loss probe repaired the loss of one segment (Google's `bbr_run_loss_probe_recovery()`).
    pub(super) fn handle_repaired_tail(&mut self, sk: &mut TcpSock) {
        self.note_loss(sk);
        let in_flight = self.latest.inflight.saturating_add(1);
        if self.cycle.is_probe_sample && is_too_much(sk, 1, in_flight) {
            self.handle_inflight_too_high(sk, in_flight, sk.app_limited != 0);
        }
    }

    /// HandleInflightTooHigh()
    fn handle_inflight_too_high(&mut self, sk: &mut TcpSock, tx_in_flight: u32, is_app_limited: bool) {
        self.cycle.prev_probe_too_high = true;
        self.cycle.is_probe_sample = false;
        self.counts.probes_too_high += 1;
        if !is_app_limited {
            self.inflight_longterm = tx_in_flight.max(beta_of(self.target_inflight(sk)));
        }
        if self.state == State::Up {
            self.undo.state = Some(State::Up);
            self.start_down(sk);
        }
    }

    /// SaveStateUponLoss()
    pub(super) fn save_state_upon_loss(&mut self, sk: &TcpSock) {
        self.save_cwnd(sk);
        self.undo = Undo {
            state: None,
            bw_shortterm: self.bw_shortterm,
            inflight_shortterm: self.inflight_shortterm,
            inflight_longterm: self.inflight_longterm,
        };
    }

    /// HandleSpuriousLossDetection()
    pub(super) fn handle_spurious_loss_detection(&mut self, sk: &mut TcpSock) {
        self.restore_cwnd(sk);
        self.latest.is_loss_in_round = false;
        self.full_pipe.reset(0);
        self.bw_shortterm = self.bw_shortterm.max(self.undo.bw_shortterm);
        self.inflight_shortterm = self.inflight_shortterm.max(self.undo.inflight_shortterm);
        self.inflight_longterm = self.inflight_longterm.max(self.undo.inflight_longterm);
        match self.undo.state.take() {
            Some(State::Startup) if self.state != State::Startup => {
                self.full_pipe.was_reached = false;
                if self.state != State::ProbeRtt {
                    self.state = State::Startup;
                }
            }
            Some(State::Up) if self.state != State::Up && self.state != State::ProbeRtt => self.start_refill(sk),
            _ => {}
        }
    }
}
