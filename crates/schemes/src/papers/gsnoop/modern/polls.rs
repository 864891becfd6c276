//! When A asks after the tails of flows (POLL): one deadline a flow, the earliest first.

use airtcp_core::Instant;
use alloc::collections::BTreeSet;

/// Asking after one flow's tail.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Poll {
    due: Option<Instant>,
    pub tries: u8,
}

/// The deadlines of all flows, by slot.
#[derive(Debug, Default)]
pub(super) struct Polls(BTreeSet<(Instant, u32)>);

impl Polls {
    /// Moves the deadline of the flow in `slot`; `None` asks no more.
    pub fn schedule(&mut self, slot: u32, poll: &mut Poll, due: Option<Instant>) {
        self.cancel(slot, poll);
        poll.due = due;
        if let Some(due) = due {
            self.0.insert((due, slot));
        }
    }

    /// Forgets the deadline of a flow that goes.
    pub fn cancel(&mut self, slot: u32, poll: &Poll) {
        if let Some(old) = poll.due {
            self.0.remove(&(old, slot));
        }
    }

    /// The slot of a flow whose time has come; [`Poll::on_due`] is to be called for it.
    pub fn pop_due(&mut self, now: Instant) -> Option<u32> {
        let (due, slot) = self.0.first().copied().filter(|(due, _)| *due <= now)?;
        self.0.remove(&(due, slot));
        Some(slot)
    }

    /// The earliest deadline.
    pub fn next(&self) -> Option<Instant> {
        self.0.first().map(|(due, _)| *due)
    }
}

impl Poll {
    /// The deadline is not queued any more.
    pub fn on_due(&mut self) {
        self.due = None;
    }
}
