//! The least round trip (draft section 5.3.4): each five seconds in which no lower one is seen, half the path's volume
//! is in flight for 200 ms and a round trip; what was least in ten seconds is the model's.

use super::probe_bw::AckPhase;
use super::{Bbr3, State};
use crate::congestion::{RateSample, TcpSock};
use airtcp_core::{Duration, Instant};

/// BBR.MinRTTFilterLen
const MIN_RTT_FILTER_LEN: Duration = Duration::from_secs(10);
/// BBR.ProbeRTTInterval
const PROBE_RTT_INTERVAL: Duration = Duration::from_secs(5);
/// BBR.ProbeRTTDuration
const PROBE_RTT_DURATION: Duration = Duration::from_millis(200);

/// Two filters, of ten and of five seconds, and the phase that refreshes them.
#[derive(Clone, Debug, Default)]
pub(super) struct MinRtt {
    /// Microseconds; `u32::MAX` if unknown.
    pub us: u32,
    stamp: Instant,
    probe_us: u32,
    probe_stamp: Instant,
    is_probe_due: bool,
    /// When the phase ends; `None` until so little is in flight.
    done_stamp: Option<Instant>,
    is_round_done: bool,
}

impl MinRtt {
    pub fn new(sk: &TcpSock) -> Self {
        MinRtt {
            us: sk.rtt_min_us,
            stamp: sk.tcp_mstamp,
            probe_us: sk.rtt_min_us,
            probe_stamp: sk.tcp_mstamp,
            ..MinRtt::default()
        }
    }

    /// UpdateMinRTT()
    pub fn update(&mut self, sk: &TcpSock, rs: &RateSample) {
        let now = sk.tcp_mstamp;
        self.is_probe_due = now.saturating_since(self.probe_stamp) > PROBE_RTT_INTERVAL;
        if let Ok(rtt_us) = u32::try_from(rs.rtt_us)
            && (rtt_us < self.probe_us || self.is_probe_due)
        {
            (self.probe_us, self.probe_stamp) = (rtt_us, now);
        }
        if self.probe_us < self.us || now.saturating_since(self.stamp) > MIN_RTT_FILTER_LEN {
            (self.us, self.stamp) = (self.probe_us, self.probe_stamp);
        }
    }
}

impl Bbr3 {
    /// CheckProbeRTT()
    pub(super) fn check_probe_rtt(&mut self, sk: &mut TcpSock, rs: &RateSample) {
        if self.state != State::ProbeRtt && self.min_rtt.is_probe_due && !self.idle_restart {
            // Saved before the phase begins, as it looks at it.
            self.save_cwnd(sk);
            self.state = State::ProbeRtt;
            self.counts.probes_for_rtt += 1;
            self.min_rtt.done_stamp = None;
            self.cycle.ack_phase = AckPhase::ProbeStopping;
            self.rounds.restart(sk);
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(sk);
        }
        if rs.delivered > 0 {
            self.idle_restart = false;
        }
    }

    /// HandleProbeRTT()
    fn handle_probe_rtt(&mut self, sk: &mut TcpSock) {
        // The low rate of this phase is not the path's.
        sk.app_limited = sk.delivered.wrapping_add(sk.tcp_packets_in_flight()).max(1);
        if self.min_rtt.done_stamp.is_none() {
            if sk.tcp_packets_in_flight() <= self.probe_rtt_cwnd() {
                self.min_rtt.done_stamp = Some(sk.tcp_mstamp.saturating_add(PROBE_RTT_DURATION));
                self.min_rtt.is_round_done = false;
                self.rounds.restart(sk);
            }
            return;
        }
        self.min_rtt.is_round_done |= self.rounds.is_start;
        if self.min_rtt.is_round_done {
            self.check_probe_rtt_done(sk);
        }
    }

    /// CheckProbeRTTDone()
    pub(super) fn check_probe_rtt_done(&mut self, sk: &mut TcpSock) {
        if self.min_rtt.done_stamp.is_some_and(|done| sk.tcp_mstamp > done) {
            self.min_rtt.probe_stamp = sk.tcp_mstamp;
            self.restore_cwnd(sk);
            self.exit_probe_rtt(sk);
        }
    }

    /// ExitProbeRTT()
    fn exit_probe_rtt(&mut self, sk: &mut TcpSock) {
        self.reset_short_term_model();
        if self.full_pipe.was_reached {
            self.start_down(sk);
            self.start_cruise();
        } else {
            self.state = State::Startup;
        }
    }
}
