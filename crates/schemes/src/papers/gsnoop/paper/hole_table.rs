//! A's table of sequence numbers of one flow (GSN-2): what is missing of what should have come.
//!
//! A gap between arrivals is a hole; a later arrival fills it. A packet that A's own FIFO drops did
//! arrive and yet never reached the link: it is put into the table by hand (GSN-X4). Numbers are
//! ranges of bytes, so that a sender may cut its stream anew (GSN-U14).

use crate::position::{self, Position};
use crate::seq_map::SeqMap;
use airtcp_core::SeqNum;
use core::ops::Range;

/// Holes remembered per flow; the lowest make room, since their sender knows of them longest.
const MAX_HOLES: usize = 256;

/// The holes of one flow.
#[derive(Debug)]
pub(super) struct HoleTable {
    /// One past the last position that arrived from the sender.
    arrived: Position,
    holes: SeqMap<()>,
    /// Holes that an ICN was asked for (GSN-U13).
    notified: SeqMap<()>,
}

/// What the table says of a range that B misses.
#[derive(Debug)]
pub(super) struct LookUp {
    /// Some of it is in a hole: lost before the link.
    pub is_hole: bool,
    /// Some of it is in a hole that was not asked for before.
    pub is_new: bool,
    /// What is in no hole.
    pub elsewhere: SeqMap<()>,
}

impl HoleTable {
    /// A flow first seen with `sequence`.
    pub fn new(sequence: SeqNum) -> Self {
        HoleTable { arrived: position::first(sequence), holes: SeqMap::default(), notified: SeqMap::default() }
    }

    /// One past the last position that arrived.
    pub fn arrived(&self) -> Position {
        self.arrived
    }

    /// GSN-2: a gap before an arrival is a hole, and an arrival fills the hole it was missing from.
    pub fn on_arrival(&mut self, range: &Range<Position>) {
        if range.start > self.arrived {
            self.add(self.arrived..range.start);
        } else if range.start < self.arrived {
            self.holes.take_out(range.clone());
            self.notified.take_out(range.clone());
        }
        self.arrived = self.arrived.max(range.end);
    }

    /// GSN-X4: what the own FIFO drops was lost before the link.
    pub fn on_local_drop(&mut self, range: Range<Position>) {
        self.add(range);
    }

    fn add(&mut self, range: Range<Position>) {
        self.holes.add(range);
        if self.holes.len() > MAX_HOLES {
            self.holes.pop_first();
        }
    }

    /// What the receiver acknowledged is no hole any more.
    pub fn on_acknowledged(&mut self, number: Position) {
        for ranges in [&mut self.holes, &mut self.notified] {
            while ranges.first().is_some_and(|(range, ())| range.end <= number) {
                ranges.pop_first();
            }
        }
    }

    /// What of `asked` is in a hole, and what is not. Marks the holes as asked for.
    pub fn look_up(&mut self, asked: &Range<Position>) -> LookUp {
        let mut found = LookUp { is_hole: false, is_new: false, elsewhere: SeqMap::default() };
        found.elsewhere.add(asked.clone());
        for (hole, ()) in self.holes.iter().filter(|(hole, ())| hole.start < asked.end && asked.start < hole.end) {
            let hit = hole.start.max(asked.start)..hole.end.min(asked.end);
            found.is_hole = true;
            found.is_new |= !self.notified.iter().any(|(old, ())| old.start <= hit.start && hit.end <= old.end);
            found.elsewhere.take_out(hit.clone());
            self.notified.add(hit);
        }
        found
    }

    /// Number of holes, for bounds.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.holes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Starts just below the wrap of the sequence space.
    fn table() -> (HoleTable, Position) {
        let start = SeqNum(u32::MAX - 1500);
        (HoleTable::new(start), position::first(start))
    }

    fn is_hole(table: &mut HoleTable, range: Range<Position>) -> bool {
        table.look_up(&range).is_hole
    }

    #[test]
    fn gsn_2_a_missing_packet_is_a_hole_until_it_arrives() {
        let (mut table, at) = table();
        table.on_arrival(&(at..at + 1000));
        table.on_arrival(&(at + 2000..at + 3000));
        assert!(is_hole(&mut table, at + 1000..at + 2000));
        assert!(!is_hole(&mut table, at..at + 1000) && !is_hole(&mut table, at + 2000..at + 3000));
        table.on_arrival(&(at + 1000..at + 2000));
        assert!(!is_hole(&mut table, at + 1000..at + 2000));
    }

    #[test]
    fn gsn_u14_a_hole_may_be_filled_in_other_pieces() {
        let (mut table, at) = table();
        table.on_arrival(&(at..at + 1000));
        table.on_arrival(&(at + 3000..at + 4000));
        table.on_arrival(&(at + 1000..at + 1700));
        let found = table.look_up(&(at + 1000..at + 3000));
        assert!(found.is_hole);
        assert_eq!(found.elsewhere.first().map(|(range, ())| range), Some(at + 1000..at + 1700));
        table.on_arrival(&(at + 1700..at + 3000));
        assert!(!is_hole(&mut table, at + 1000..at + 3000));
    }

    #[test]
    fn gsn_u13_a_hole_is_new_once() {
        let (mut table, at) = table();
        table.on_arrival(&(at..at + 1000));
        table.on_arrival(&(at + 2000..at + 3000));
        assert!(table.look_up(&(at + 1000..at + 2000)).is_new);
        assert!(!table.look_up(&(at + 1000..at + 2000)).is_new);
    }

    #[test]
    fn holes_are_bounded() {
        let (mut table, at) = table();
        for n in 0..10_000 {
            table.on_arrival(&(at + n * 2000..at + n * 2000 + 1000));
        }
        assert!(table.len() <= MAX_HOLES);
    }
}
