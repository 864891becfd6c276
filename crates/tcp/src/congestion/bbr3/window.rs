//! From the model to a window (draft section 5.6.4).

use super::{Bbr3, MIN_PIPE_CWND, NO_VOLUME, PROBE_RTT_CWND_GAIN, State};
use crate::congestion::{TcpSock, bandwidth};

/// Segments of a burst at least (SetSendQuantum()).
const LEAST_QUANTUM: u32 = 2;
/// Bursts that may be under way at the two ends (UpdateOffloadBudget()).
const OFFLOAD_QUANTA: u32 = 3;

impl Bbr3 {
    /// BDPMultiple()
    pub(super) fn bdp_multiple(&self, bw: u64, gain: u32) -> u32 {
        if self.min_rtt.us == u32::MAX {
            return self.initial_cwnd;
        }
        bandwidth::volume(bw, self.min_rtt.us, gain)
    }

    /// QuantizationBudget()
    fn quantization_budget(&self, sk: &TcpSock, volume: u32) -> u32 {
        let budget = OFFLOAD_QUANTA * bandwidth::burst(sk).max(LEAST_QUANTUM);
        let volume = volume.max(budget).max(MIN_PIPE_CWND);
        volume.saturating_add(if self.state == State::Up { 2 } else { 0 })
    }

    /// Inflight()
    pub(super) fn inflight(&self, sk: &TcpSock, bw: u64, gain: u32) -> u32 {
        self.quantization_budget(sk, self.bdp_multiple(bw, gain))
    }

    /// ProbeRTTCwnd()
    pub(super) fn probe_rtt_cwnd(&self) -> u32 {
        self.bdp_multiple(self.bw, PROBE_RTT_CWND_GAIN).max(MIN_PIPE_CWND)
    }

    /// SetCwnd()
    pub(super) fn set_cwnd(&self, sk: &mut TcpSock, newly_acked: u32) {
        let wanted = self.bdp_multiple(self.bw, self.state.cwnd_gain()).saturating_add(self.aggregation.most());
        let max_inflight = self.quantization_budget(sk, wanted);
        let grown = sk.snd_cwnd.saturating_add(newly_acked);
        let mut cwnd = sk.snd_cwnd;
        if self.full_pipe.was_reached {
            cwnd = grown.min(max_inflight);
        } else if cwnd < max_inflight || sk.delivered < self.initial_cwnd {
            cwnd = grown;
        }
        cwnd = cwnd.max(MIN_PIPE_CWND);
        if self.state == State::ProbeRtt {
            cwnd = cwnd.min(self.probe_rtt_cwnd());
        }
        sk.snd_cwnd = cwnd.min(self.volume_cap()).min(sk.snd_cwnd_clamp);
    }

    /// BoundCwndForModel()
    fn volume_cap(&self) -> u32 {
        let longterm = match self.state {
            State::Down | State::Refill | State::Up => self.inflight_longterm,
            State::Cruise | State::ProbeRtt => self.inflight_with_headroom(),
            State::Startup | State::Drain => NO_VOLUME,
        };
        longterm.min(self.inflight_shortterm).max(MIN_PIPE_CWND)
    }
}
