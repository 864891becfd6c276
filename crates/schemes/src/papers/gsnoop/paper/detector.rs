//! B's loss detection of one flow (GSN-8): a gap that the next three arrivals do not fill is asked for.
//!
//! The arrival that shows the gap is the first of the three. Nothing is held: data goes on in the order
//! it arrives. Whether the repair came in time is judged here too (GSN-12).

use super::o3_counter::O3Counter;
use crate::position::{self, Position};
use crate::seq_map::SeqMap;
use airtcp_core::{Instant, SeqNum};
use alloc::vec::Vec;
use core::ops::Range;

/// Arrivals beyond a gap after which it counts as lost (GSN-8), as the sender's fast retransmit does.
const ARRIVALS_BEYOND: u8 = 3;
/// Gaps tracked per flow. What is missing beyond them is left to the sender.
const MAX_GAPS: usize = 256;

/// What is missing of one flow.
#[derive(Debug)]
pub(super) struct Detector {
    /// One past the last position that arrived.
    high: Position,
    /// Missing ranges before `high`, disjoint (GSN-U14).
    gaps: SeqMap<Gap>,
}

#[derive(Clone, Debug, Default)]
struct Gap {
    /// Arrivals beyond it, up to three.
    beyond: u8,
    o3: O3Counter,
    request: Request,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Request {
    /// Not asked for: fewer than three arrivals beyond it (GSN-X10: perhaps never).
    #[default]
    None,
    /// The repair should be here by the deadline.
    Pending { deadline: Instant, tries: u8 },
    /// The repair did not come: lost before the link, flushed at A, or lost again (GSN-12).
    GivenUp,
}

/// What an arrival led to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Arrival {
    /// The lowest gap was asked for and is filled now, at least its first bytes.
    pub repaired: Option<Repaired>,
    /// Ranges to ask for.
    pub missing: Vec<Range<Position>>,
}

/// A gap that was repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Repaired {
    /// The number that the receiver's duplicate ACKs for it carry.
    pub number: Position,
    /// How many of them there are.
    pub duplicates: u32,
}

/// What the passing of time led to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct TimedOut {
    /// Ranges to ask for once more (GSN-U12).
    pub again: Vec<Range<Position>>,
    /// Beginnings of the gaps that are given up.
    pub given_up: Vec<Position>,
}

impl Detector {
    /// A flow first seen with `sequence`.
    pub fn new(sequence: SeqNum) -> Self {
        Detector { high: position::first(sequence), gaps: SeqMap::default() }
    }

    /// One past the last position that arrived.
    pub fn high(&self) -> Position {
        self.high
    }

    /// The lowest missing position, and whether its repair is awaited.
    pub fn lowest(&self) -> Option<(Position, bool)> {
        self.gaps.first().map(|(range, gap)| (range.start, matches!(gap.request, Request::Pending { .. })))
    }

    /// Bytes `range` came off the link; the repair of whatever is asked for now is awaited until `deadline`.
    pub fn on_arrival(&mut self, range: &Range<Position>, deadline: Instant) -> Arrival {
        if range.start > self.high && self.gaps.len() < MAX_GAPS {
            self.gaps.insert(self.high..range.start, Gap::default());
        }
        self.high = self.high.max(range.end);
        if self.gaps.is_empty() {
            return Arrival::default();
        }
        let repaired = self.fill(range);
        self.count(range);
        Arrival { repaired, missing: self.ask(deadline) }
    }

    fn fill(&mut self, range: &Range<Position>) -> Option<Repaired> {
        let repaired = self.gaps.first().and_then(|(lowest, gap)| {
            let begins = range.start <= lowest.start && lowest.start < range.end;
            let was_asked_for = gap.request != Request::None;
            (begins && was_asked_for).then(|| Repaired { number: lowest.start, duplicates: gap.o3.get() })
        });
        if !self.gaps.take_out(range.clone()).is_empty() {
            // What is left of a gap behind the arrival is a hole of its own, which nothing was counted to.
            for (rest, gap) in self.gaps.iter_mut().filter(|(rest, _)| rest.start == range.end) {
                debug_assert!(rest.end > rest.start);
                gap.o3.reset();
            }
        }
        repaired
    }

    /// GSN-U10: the receiver answers an arrival beyond the lowest gap with a duplicate ACK that names that gap.
    fn count(&mut self, range: &Range<Position>) {
        for (index, (missing, gap)) in self.gaps.iter_mut().enumerate() {
            if missing.start >= range.start {
                break;
            }
            gap.beyond = gap.beyond.saturating_add(1).min(ARRIVALS_BEYOND);
            if index == 0 && gap.request != Request::GivenUp {
                gap.o3.on_arrival();
            }
        }
    }

    /// GSN-8; the O3_counter has counted since the gap was seen (GSN-10, GSN-U9).
    fn ask(&mut self, deadline: Instant) -> Vec<Range<Position>> {
        let mut missing = Vec::new();
        for (range, gap) in self.gaps.iter_mut() {
            if gap.request == Request::None && gap.beyond >= ARRIVALS_BEYOND {
                gap.request = Request::Pending { deadline, tries: 1 };
                missing.push(range);
            }
        }
        missing
    }

    /// GSN-12: what was not repaired in time is given up, or asked for once more until `deadline` (GSN-U12).
    pub fn handle_timeout(&mut self, now: Instant, ask_again: bool, deadline: Instant) -> TimedOut {
        let mut out = TimedOut::default();
        for (range, gap) in self.gaps.iter_mut() {
            let Request::Pending { deadline: due, tries } = gap.request else { continue };
            if due > now {
                continue;
            }
            if ask_again && tries < 2 {
                gap.request = Request::Pending { deadline, tries: tries + 1 };
                out.again.push(range);
            } else {
                gap.request = Request::GivenUp;
                gap.o3.reset();
                out.given_up.push(range.start);
            }
        }
        out
    }

    /// When the first awaited repair is due.
    pub fn next_timeout(&self) -> Option<Instant> {
        let due = |gap: &Gap| match gap.request {
            Request::Pending { deadline, .. } => Some(deadline),
            _ => None,
        };
        self.gaps.iter().filter_map(|(_, gap)| due(gap)).min()
    }

    /// The receiver has everything before `number`, however it came there.
    pub fn on_acknowledged(&mut self, number: Position) {
        if self.gaps.first().is_some_and(|(range, _)| range.start < number) {
            self.gaps.take_out(0..number);
        }
    }
}

#[cfg(test)]
mod tests;
