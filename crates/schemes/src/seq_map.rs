//! Values by range of positions, in order: a sorted deque. Insertions come at or near the back,
//! removals at or near the front, so it beats a tree in memory and time.

use crate::position::Position;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::ops::Range;

/// Values keyed by the range of positions they cover; ranges may overlap, starts are unique.
#[derive(Clone, Debug)]
pub(crate) struct SeqMap<V> {
    entries: VecDeque<(Position, Position, V)>,
}

impl<V> Default for SeqMap<V> {
    fn default() -> Self {
        SeqMap { entries: VecDeque::new() }
    }
}

impl<V> SeqMap<V> {
    /// Number of values.
    pub fn len(&self) -> usize {
        self.entries.len()
    }
    /// True without values.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
    fn index_of(&self, start: Position) -> Result<usize, usize> {
        match self.entries.back() {
            Some((last, ..)) if *last < start => Err(self.entries.len()),
            _ => self.entries.binary_search_by_key(&start, |entry| entry.0),
        }
    }
    /// Adds `value` for `range`; gives back the value that began at the same position.
    pub fn insert(&mut self, range: Range<Position>, value: V) -> Option<V> {
        match self.index_of(range.start) {
            Ok(index) => {
                let entry = &mut self.entries[index];
                entry.1 = range.end;
                Some(core::mem::replace(&mut entry.2, value))
            }
            Err(index) => {
                self.entries.insert(index, (range.start, range.end, value));
                None
            }
        }
    }
    /// The value that begins at `start`, with its end.
    pub fn get(&self, start: Position) -> Option<(Position, &V)> {
        let entry = &self.entries[self.index_of(start).ok()?];
        Some((entry.1, &entry.2))
    }
    /// Removes the value that begins at `start`.
    pub fn remove(&mut self, start: Position) -> Option<V> {
        let index = self.index_of(start).ok()?;
        self.entries.remove(index).map(|(_, _, value)| value)
    }
    /// The first range and its value.
    pub fn first(&self) -> Option<(Range<Position>, &V)> {
        self.entries.front().map(|(start, end, value)| (*start..*end, value))
    }
    /// Removes the first range.
    pub fn pop_first(&mut self) -> Option<(Range<Position>, V)> {
        self.entries.pop_front().map(|(start, end, value)| (start..end, value))
    }
    /// Everything, in order.
    pub fn iter(&self) -> impl Iterator<Item = (Range<Position>, &V)> {
        self.entries.iter().map(|(start, end, value)| (*start..*end, value))
    }
    /// Values of ranges that overlap `range`, in order, to be changed. A range that overlaps it
    /// from below is found if those between do too, as with the segments of a stream.
    pub fn overlapping_mut(&mut self, range: Range<Position>) -> impl Iterator<Item = (Range<Position>, &mut V)> {
        let mut first = self.entries.partition_point(|entry| entry.0 < range.start);
        while first > 0 && self.entries[first - 1].1 > range.start {
            first -= 1;
        }
        let after = self.entries.partition_point(|entry| entry.0 < range.end).max(first);
        self.entries.range_mut(first..after).map(|(start, end, value)| (*start..*end, value))
    }
    /// Everything, in order, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (Range<Position>, &mut V)> {
        self.entries.iter_mut().map(|(start, end, value)| (*start..*end, value))
    }
    /// Keeps what `keep` says.
    pub fn retain(&mut self, mut keep: impl FnMut(Range<Position>, &mut V) -> bool) {
        self.entries.retain_mut(|(start, end, value)| keep(*start..*end, value));
    }
    /// Gives memory back when little of it is used.
    pub fn shrink(&mut self) {
        if self.entries.capacity() > 16 && self.entries.len() * 4 < self.entries.capacity() {
            self.entries.shrink_to(self.entries.len() * 2);
        }
    }
}

impl<V: Clone> SeqMap<V> {
    /// Takes `range` out of disjoint ranges: what is left of a range keeps its value. Returns
    /// the parts taken out.
    pub fn take_out(&mut self, range: Range<Position>) -> Vec<(Range<Position>, V)> {
        let mut taken = Vec::new();
        let mut rest: [Option<(Range<Position>, V)>; 2] = [None, None];
        self.retain(|other, value| {
            if other.end <= range.start || other.start >= range.end {
                return true;
            }
            if other.start < range.start {
                rest[0] = Some((other.start..range.start, value.clone()));
            }
            if other.end > range.end {
                rest[1] = Some((range.end..other.end, value.clone()));
            }
            let part = other.start.max(range.start)..other.end.min(range.end);
            taken.push((part, value.clone()));
            false
        });
        for (piece, value) in rest.into_iter().flatten() {
            self.insert(piece, value);
        }
        taken
    }
}

impl SeqMap<()> {
    /// Adds a range to a set of disjoint ranges, joining what touches.
    pub fn add(&mut self, mut range: Range<Position>) {
        if range.is_empty() {
            return;
        }
        self.retain(|other, ()| {
            if other.end < range.start || other.start > range.end {
                return true;
            }
            range = range.start.min(other.start)..range.end.max(other.end);
            false
        });
        self.insert(range, ());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(set: &SeqMap<()>) -> Vec<Range<u64>> {
        set.iter().map(|(range, ())| range).collect()
    }

    #[test]
    fn values_stay_sorted_whatever_the_order_of_insertion() {
        let mut map = SeqMap::default();
        for start in [50, 10, 30, 20, 40, 30] {
            map.insert(start..start + 10, start);
        }
        let starts: Vec<u64> = map.iter().map(|(range, _)| range.start).collect();
        assert_eq!(starts, [10, 20, 30, 40, 50]);
        assert_eq!(map.get(30), Some((40, &30)));
        assert_eq!(map.remove(30), Some(30));
        assert_eq!(map.get(30), None);
    }

    #[test]
    fn what_overlaps_a_range_is_found_by_its_edges() {
        let mut map = SeqMap::default();
        for start in [10, 20, 30, 40] {
            map.insert(start..start + 10, start);
        }
        let mut found = |range| map.overlapping_mut(range).map(|(_, value)| *value).collect::<Vec<_>>();
        assert_eq!(found(20..30), [20]);
        assert_eq!(found(19..31), [10, 20, 30]);
        assert_eq!(found(25..26), [20]);
        assert_eq!(found(0..10), []);
        assert_eq!(found(50..60), []);
    }

    #[test]
    fn sets_join_and_split() {
        let mut set = SeqMap::default();
        set.add(10..20);
        set.add(30..40);
        set.add(20..25);
        assert_eq!(ranges(&set), [10..25, 30..40]);
        set.take_out(15..35);
        assert_eq!(ranges(&set), [10..15, 35..40]);
        set.take_out(11..12);
        assert_eq!(ranges(&set), [10..11, 12..15, 35..40]);
        set.add(0..100);
        assert_eq!(ranges(&set), std::vec![0..100]);
    }
}
