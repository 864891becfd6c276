//! The event queue: pending times in order, ties by insertion.
//!
//! It holds at most one event per link direction and per element, so it stays as small as the
//! topology however many packets are in flight.

use airtcp_core::Instant;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What a popped event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The next packet of a pipe arrives, or has its turn in the queue there.
    Arrival(u32),
    /// An element's timeout.
    Timeout(u32),
    /// A full port of an element has room again.
    Ready(u32),
    /// Measure and check.
    Sample,
}

/// Pending events.
#[derive(Debug, Default)]
pub struct EventQueue {
    heap: BinaryHeap<Reverse<(Instant, u64, Kind)>>,
    inserted: u64,
}

impl EventQueue {
    /// Adds an event.
    pub fn push(&mut self, at: Instant, kind: Kind) {
        self.inserted += 1;
        self.heap.push(Reverse((at, self.inserted, kind)));
    }

    /// The earliest event, if it is not after `end`.
    pub fn pop_until(&mut self, end: Instant) -> Option<(Instant, Kind)> {
        let Reverse((at, ..)) = self.heap.peek()?;
        if *at > end {
            return None;
        }
        self.heap.pop().map(|Reverse((at, _, kind))| (at, kind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_break_by_insertion() {
        let mut queue = EventQueue::default();
        let at = Instant::from_nanos(5);
        queue.push(at, Kind::Timeout(9));
        queue.push(Instant::from_nanos(7), Kind::Sample);
        queue.push(at, Kind::Arrival(1));
        queue.push(Instant::from_nanos(1), Kind::Arrival(2));
        let order: Vec<Kind> =
            std::iter::from_fn(|| queue.pop_until(Instant::from_nanos(6)).map(|event| event.1)).collect();
        assert_eq!(order, [Kind::Arrival(2), Kind::Timeout(9), Kind::Arrival(1)]);
    }
}
