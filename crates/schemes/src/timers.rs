//! The deadlines of flows, the earliest first; a flow has one at most.

use airtcp_core::Instant;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;

/// Deadlines with the slots of their flows. Each flow keeps its own deadline, so that it can be found again here.
#[derive(Debug, Default)]
pub(crate) struct Timers(BTreeSet<(Instant, u32)>);

impl Timers {
    /// Moves the deadline of the flow in `slot` from `queued`, which the flow keeps, to `due`; `None` is never.
    pub fn set(&mut self, slot: u32, queued: &mut Option<Instant>, due: Option<Instant>) {
        if *queued == due {
            return;
        }
        if let Some(old) = core::mem::replace(queued, due) {
            self.0.remove(&(old, slot));
        }
        if let Some(new) = due {
            self.0.insert((new, slot));
        }
    }

    /// The flows whose deadline has come. Whoever handles them moves each deadline with [`Timers::set`].
    pub fn due(&self, now: Instant) -> Vec<u32> {
        self.0.range(..=(now, u32::MAX)).map(|(_, slot)| *slot).collect()
    }

    /// The first of them.
    pub fn first_due(&self, now: Instant) -> Option<u32> {
        self.0.first().filter(|(due, _)| *due <= now).map(|(_, slot)| *slot)
    }

    /// The earliest deadline.
    pub fn next(&self) -> Option<Instant> {
        self.0.first().map(|(due, _)| *due)
    }

    /// Flows with a deadline.
    pub fn len(&self) -> usize {
        self.0.len()
    }
}
