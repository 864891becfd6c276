//! F-RTO (RFC 5682, the SACK-enhanced form as Linux has it): after a timeout, new data before more
//! retransmissions. If what was sent before the timeout and never again is acknowledged next, only
//! a delay, not a loss, had let the timer run out.

use super::ack::AckFacts;
use super::{Sender, Step};

/// Where the detection stands.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Frto {
    enabled: bool,
    /// The timeout may yet prove spurious.
    active: bool,
    /// Step 2b: retransmissions wait for the answer to new data.
    holds: bool,
}

impl Frto {
    pub(super) fn new(enabled: bool) -> Self {
        Frto { enabled, ..Frto::default() }
    }

    /// Step 1: a timeout outside any recovery, or one more.
    pub(super) fn start(&mut self, is_possible: bool) {
        self.active = self.enabled && is_possible;
        self.holds = false;
    }

    /// New data is sent before segments that are presumed lost.
    pub(super) fn holds(&self) -> bool {
        self.holds
    }
}

impl Sender {
    /// An acknowledgment in Loss. True if there is nothing more to do for it.
    pub(super) fn process_frto(&mut self, facts: &AckFacts, recovered: bool, step: &mut Step) -> bool {
        self.frto.holds = false;
        if !self.frto.active {
            return false;
        }
        // Step 3b: not all was lost.
        if facts.original_delivered {
            return self.try_undo_loss(facts, true, step);
        }
        if self.nxt > self.high_seq {
            // Step 3a: new data overtake a hole, the loss was real.
            self.frto.active = !(facts.data_sacked || facts.duplicates > 0);
        } else if facts.una_advanced && !recovered {
            self.high_seq = self.nxt;
            self.frto.active = self.unsent() > 0 && self.peer.edge > self.nxt;
            self.frto.holds = self.frto.active;
        }
        self.frto.holds
    }

    /// Nothing new could leave: retransmissions wait no longer.
    pub(super) fn give_up_frto(&mut self) {
        if self.nxt <= self.high_seq {
            self.frto.start(false);
        }
    }
}
