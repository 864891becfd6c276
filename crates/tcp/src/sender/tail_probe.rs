//! Tail loss probe (RFC 8985 section 7): when the tail of a window is silent for two round trips,
//! send one segment more so that an acknowledgment tells what is lost, instead of waiting for the
//! retransmission timeout.

use super::ack::AckFacts;
use super::{Sender, Step};
use crate::congestion::{CaEvent, CaState};
use crate::timers::Timer;
use airtcp_core::Duration;

/// Allowance for coarse clocks: two of Linux's jiffies at HZ = 1000.
const CLOCK_ALLOWANCE: Duration = Duration::from_millis(2);
/// Allowance for a receiver that delays the acknowledgment of a lone segment (Linux adds its minimum RTO).
const LONE_SEGMENT_ALLOWANCE: Duration = Duration::from_millis(200);

/// State of the probe.
#[derive(Clone, Copy, Debug)]
pub(super) struct TailProbe {
    enabled: bool,
    /// The next transmission is the probe.
    pub due: bool,
    /// `nxt` when the probe was sent, until its fate is known.
    high_seq: Option<u64>,
    /// The probe was a retransmission.
    is_resent: bool,
}

impl TailProbe {
    pub(super) fn new(enabled: bool) -> Self {
        TailProbe { enabled, due: false, high_seq: None, is_resent: false }
    }

    /// What detects losses is known, and whether it `probes` a silent tail.
    pub(super) fn decide(&mut self, probes: bool) {
        self.enabled &= probes;
    }

    pub(super) fn forget(&mut self) {
        self.high_seq = None;
        self.due = false;
    }

    /// `nxt` when the probe was sent that may still be in flight.
    pub(super) fn outstanding(&self) -> Option<u64> {
        self.high_seq
    }

    pub(super) fn sent(&mut self, nxt: u64, is_resent: bool) {
        self.due = false;
        self.high_seq = Some(nxt);
        self.is_resent = is_resent;
    }
}

impl Sender {
    /// Arms the probe in place of the retransmission timer; false if no probe is wanted now.
    /// `restart` is true when an acknowledgment starts the retransmission timer anew.
    #[inline]
    pub(super) fn schedule_tail_probe(&mut self, restart: bool, step: &mut Step) -> bool {
        let state_allows = || matches!(self.sk.icsk_ca_state, CaState::Open | CaState::Cwr);
        let is_wanted = self.probe.enabled && state_allows() && !self.board.is_empty();
        if is_wanted {
            self.arm_tail_probe(restart, step);
        }
        is_wanted
    }

    fn arm_tail_probe(&mut self, restart: bool, step: &mut Step) {
        let mut wait = if self.sk.srtt_us == 0 {
            Duration::from_secs(1)
        } else {
            // srtt_us is eight times the round-trip time.
            let two_round_trips = Duration::from_micros(u64::from(self.sk.srtt_us >> 2));
            let allowance = if self.sk.packets_out == 1 { LONE_SEGMENT_ALLOWANCE } else { CLOCK_ALLOWANCE };
            two_round_trips + allowance
        };
        let remaining = if restart { self.rtt.rto() } else { self.rto_remaining(step) };
        if !remaining.is_zero() {
            wait = wait.min(remaining);
        }
        let wait = wait.saturating_add(self.pacing_delay(step.now));
        step.timers.start_only(Timer::LossProbe, step.now, wait);
    }

    /// The tail was silent: the next transmission is a probe, unless one is out already.
    pub fn handle_probe_timeout(&mut self, step: &mut Step) {
        self.tso.look_again();
        self.sk.tcp_mstamp = step.now;
        self.probe.due = self.probe.high_seq.is_none() && !self.board.is_empty();
        // A probe gets the time to be answered; without one the oldest segment's time goes on.
        self.rearm(!self.probe.due, step);
    }

    /// Retransmissions in flight that may yet be reported as duplicates.
    pub(super) fn undo_retransmissions(&self) -> u32 {
        self.sk.retrans_out + u32::from(self.probe.high_seq.is_some() && self.probe.is_resent)
    }

    /// RFC 8985 section 7.4: what an acknowledgment reveals about the probe.
    #[inline]
    pub(super) fn process_tail_probe_ack(
        &mut self,
        ack: u64,
        facts: &AckFacts,
        is_plain_duplicate: bool,
        step: &mut Step,
    ) {
        if let Some(high_seq) = self.probe.high_seq.filter(|high_seq| ack >= *high_seq) {
            self.judge_tail_probe(ack > high_seq, facts, is_plain_duplicate, step);
        }
    }

    #[cold]
    fn judge_tail_probe(&mut self, is_beyond: bool, facts: &AckFacts, is_plain_duplicate: bool, step: &mut Step) {
        if !self.probe.is_resent || facts.dsack_of_probe {
            self.probe.high_seq = None;
        } else if is_beyond {
            // No duplicate was reported: the probe repaired a loss, which is a congestion signal.
            self.begin_reduction();
            self.controller.cwnd_event(&mut self.sk, CaEvent::TlpRecovery);
            self.set_state(CaState::Cwr);
            self.end_reduction();
            self.undo.stop();
            self.keep_open();
            step.stats.fast_recoveries += 1;
        } else if is_plain_duplicate && !facts.data_sacked {
            self.probe.high_seq = None;
        }
    }
}
