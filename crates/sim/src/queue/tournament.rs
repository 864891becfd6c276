//! A tournament: the earliest of four places goes on to the next level, up to a single winner, or until the same goes on as
//! before. Which of two is earlier is nothing that a processor would have to guess.

use super::Source;
use super::key::{Key, NOBODY, Record};
use std::ops::Range;

/// The four that play for one place of the next level: a cache line, each key in two words.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Group([u64; 8]);

impl Group {
    /// Nobody.
    fn new() -> Group {
        let mut group = Group([u64::MAX; 8]);
        (0..4).for_each(|place| group.0[2 * place] -= place as u64);
        group
    }

    /// The key whose first word is `index`.
    #[inline]
    fn key(&self, index: usize) -> Key {
        Key { at: self.0[index], source: self.0[index + 1] }
    }

    /// The key at `place` is `key` now. Returns the earliest of the four.
    #[inline]
    fn put(&mut self, place: usize, key: Key, records: &[Record]) -> Key {
        let index = place % 4 * 2;
        let pair = self.key(index ^ 4).earlier(self.key(index ^ 6), records);
        let others = pair.earlier(self.key(index ^ 2), records);
        (self.0[index], self.0[index + 1]) = (key.at, key.source);
        key.earlier(others, records)
    }
}

/// Some of the sources, numbered from `from` on.
#[derive(Debug)]
pub(super) struct Tournament {
    pub from: usize,
    /// Level after level, the sources' own places first.
    groups: Vec<Group>,
    /// Index of the first group of each level above these.
    upper: Vec<usize>,
    pub first: Key,
}

impl Tournament {
    /// Of sources none of which has an event.
    pub fn new(sources: Range<usize>) -> Tournament {
        let mut width = sources.len().div_ceil(4).max(1);
        let (mut upper, mut groups) = (Vec::new(), width);
        while width > 1 {
            upper.push(groups);
            width = width.div_ceil(4);
            groups += width;
        }
        let mut all = Tournament { from: sources.start, groups: vec![Group::new(); groups], upper, first: NOBODY };
        sources.for_each(|source| all.put(Key::never(source as Source), &[]));
        all
    }

    #[inline]
    pub fn put(&mut self, key: Key, records: &[Record]) {
        let place = key.source() as usize - self.from;
        let group = &mut self.groups[place / 4];
        if group.key(place % 4 * 2) == key {
            return self.put_again(key, records);
        }
        let (mut place, mut first) = (place / 4, group.put(place, key, records));
        for start in &self.upper {
            let group = &mut self.groups[start + place / 4];
            if group.key(place % 4 * 2) == first {
                return; // The same goes on as before, so nothing changes above.
            }
            first = group.put(place, first, records);
            place /= 4;
        }
        self.first = first;
    }

    /// Puts a key that is there. An event may have another place among those at its time now, which the same key would not show.
    #[cold]
    fn put_again(&mut self, key: Key, records: &[Record]) {
        if key.is_due() {
            self.put(Key::never(key.source()), records);
            self.put(key, records);
        }
    }
}
