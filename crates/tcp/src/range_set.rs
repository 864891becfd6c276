//! A set of byte offsets as sorted, disjoint, non-touching ranges: the data that a receiver holds out of order, or that
//! it reported to the sender.

use alloc::vec::Vec;

/// `[start, end)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// First offset.
    pub start: u64,
    /// One past the last offset.
    pub end: u64,
}

impl Range {
    /// Whether `at` is in it.
    pub fn contains(self, at: u64) -> bool {
        self.start <= at && at < self.end
    }
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct RangeSet {
    ranges: Vec<Range>,
}

impl RangeSet {
    /// True without any range.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// True with one range.
    pub fn has_one(&self) -> bool {
        self.ranges.len() == 1
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.ranges.clear();
    }

    /// The ranges, lowest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Range> + '_ {
        self.ranges.iter().copied()
    }

    /// The highest range.
    pub fn last(&self) -> Option<Range> {
        self.ranges.last().copied()
    }

    /// The range that contains `at`.
    pub fn containing(&self, at: u64) -> Option<Range> {
        self.ranges.get(self.first_ending_after(at)).copied().filter(|range| range.start <= at)
    }

    /// The first range that ends after `at`, whether it contains `at` or not.
    pub fn next_from(&self, at: u64) -> Option<Range> {
        self.ranges.get(self.first_ending_after(at)).copied()
    }

    /// True if all of `[start, end)` is in the set.
    pub fn covers(&self, start: u64, end: u64) -> bool {
        self.containing(start).is_some_and(|range| range.end >= end)
    }

    /// Adds `[start, end)`; the empty range changes nothing.
    pub fn insert(&mut self, start: u64, end: u64) {
        if start >= end {
            return;
        }
        // Data mostly arrives at the top.
        if let Some(last) = self.ranges.last_mut() {
            if start == last.end {
                last.end = end;
                return;
            }
            if start > last.end {
                self.ranges.push(Range { start, end });
                return;
            }
        }
        let first = self.ranges.partition_point(|range| range.end < start);
        let past = self.ranges.partition_point(|range| range.start <= end);
        if first == past {
            self.ranges.insert(first, Range { start, end });
            return;
        }
        let merged = Range { start: start.min(self.ranges[first].start), end: end.max(self.ranges[past - 1].end) };
        self.ranges[first] = merged;
        if past > first + 1 {
            self.ranges.drain(first + 1..past);
        }
    }

    /// Removes everything below `to`.
    pub fn remove_below(&mut self, to: u64) {
        let below = self.ranges.iter().take_while(|range| range.end <= to).count();
        if below > 0 {
            self.ranges.drain(..below);
        }
        if let Some(front) = self.ranges.first_mut() {
            front.start = front.start.max(to);
        }
    }

    #[inline]
    fn first_ending_after(&self, at: u64) -> usize {
        // Data mostly arrives at the top.
        if self.ranges.last().is_none_or(|last| last.end <= at) {
            return self.ranges.len();
        }
        self.ranges.partition_point(|range| range.end <= at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn behaves_as_a_set_of_offsets(
            inserts in proptest::collection::vec((0u64..60, 0u64..12), 0..30),
            below in 0u64..70,
        ) {
            let (mut set, mut model) = (RangeSet::default(), BTreeSet::new());
            for (start, len) in inserts {
                set.insert(start, start + len);
                model.extend(start..start + len);
            }
            set.remove_below(below);
            model.retain(|offset| *offset >= below);
            let ranges: Vec<Range> = set.iter().collect();
            prop_assert!(ranges.iter().all(|range| range.start < range.end));
            prop_assert!(ranges.windows(2).all(|pair| pair[0].end < pair[1].start));
            let flat: BTreeSet<u64> = ranges.iter().flat_map(|range| range.start..range.end).collect();
            prop_assert_eq!(&flat, &model);
            for at in 0..75 {
                prop_assert_eq!(set.containing(at).is_some(), model.contains(&at));
            }
        }
    }
}
