//! What a ladder has in order: all that is due before some time.

use super::chunk::{CHUNK, Chunk, Entry};
use super::key::{Key, Record};
use std::cmp::Reverse;

/// Room for a chunk and nobody behind it.
const ROOM: usize = (CHUNK + 1).next_power_of_two();

#[derive(Debug)]
pub(super) struct Run {
    /// From the last to the first, which is at `next`. Nobody is at 0.
    entries: Vec<Entry>,
    next: usize,
    /// Only what is due before.
    pub limit: u64,
}

impl Run {
    pub fn new() -> Run {
        Run { entries: vec![Entry::NOBODY; ROOM], next: 0, limit: u64::MAX }
    }

    /// The first, if its source is due then.
    #[inline]
    pub fn first(&self, records: &[Record]) -> Option<Key> {
        self.entries[self.next].pending(self.limit, records)
    }

    /// Drops the first.
    #[inline]
    pub fn skip(&mut self) {
        self.next = self.next.wrapping_sub(1);
    }

    pub fn is_over(&self) -> bool {
        self.next == 0
    }

    pub fn len(&self) -> usize {
        self.next
    }

    /// Drops all.
    pub fn clear(&mut self) {
        self.next = 0;
    }

    /// Takes the first `count` of a chunk, which are due less than 2^`width` ns after `start` and before `limit`. No more are
    /// compared than whole vectors hold: that is half of the work for few, and worth a wrong guess of how many there are.
    #[inline]
    pub fn sort(&mut self, chunk: &Chunk, count: usize, (start, width): (u64, u32), limit: u64, records: &[Record]) {
        (self.next, self.limit) = (count, limit);
        let scale = width.saturating_sub(i16::BITS - 1);
        let are_different = match count {
            0..=16 => self.sort_some::<16>(chunk, count, start, scale),
            17..=24 => self.sort_some::<24>(chunk, count, start, scale),
            _ => self.sort_some::<CHUNK>(chunk, count, start, scale),
        };
        if !are_different {
            self.sort_equals(chunk, count, (start, width), records);
        }
    }

    /// Puts `count` of some in order by sixteen bits of their times, those from 2^`scale` ns on. False if two are the same; the sum of
    /// the ranks shows that.
    #[inline(always)]
    fn sort_some<const SOME: usize>(&mut self, chunk: &Chunk, count: usize, start: u64, scale: u32) -> bool {
        let after = std::array::from_fn(|place| {
            let time = (chunk.0[place].low().wrapping_sub(start as u32) >> (scale & 31)) as i16;
            // Who is not among them comes behind them.
            if (place as i16) < count as i16 { time } else { place as i16 - i16::MAX }
        });
        let ranks = ranks::<i16, SOME>(&after);
        self.scatter(chunk, &ranks);
        ranks.iter().fold(0, |sum: u16, rank| sum.wrapping_add(*rank)) == const { (SOME * (SOME + 1) / 2) as u16 }
    }

    /// The same where some are due at the same time, or nearly: by the whole time and, to be all different, the place in the chunk.
    #[inline(never)]
    fn sort_equals(&mut self, chunk: &Chunk, count: usize, (start, width): (u64, u32), records: &[Record]) {
        const DIGITS: u32 = ROOM.ilog2();
        if width + DIGITS >= i32::BITS - 1 {
            return self.set(chunk.0[..count].iter().copied(), self.limit, records);
        }
        let after = std::array::from_fn(|place| {
            let time = (chunk.0[place].low().wrapping_sub(start as u32) << DIGITS) as i32 + place as i32;
            if place < count { time } else { place as i32 - i32::MAX }
        });
        self.scatter(chunk, &ranks::<i32, CHUNK>(&after));
        for end in 2..=count {
            let mut place = end;
            while place > 1
                && self.entries[place - 1].low() == self.entries[place].low()
                && records[self.entries[place - 1].source() as usize] < records[self.entries[place].source() as usize]
            {
                self.entries.swap(place - 1, place);
                place -= 1;
            }
        }
    }

    /// Puts each entry at its rank.
    #[inline(always)]
    fn scatter<const SOME: usize>(&mut self, chunk: &Chunk, ranks: &[u16; SOME]) {
        let entries: &mut [Entry; ROOM] = self.entries.first_chunk_mut().expect("there are always so many");
        for place in 0..SOME {
            entries[ranks[place] as usize % ROOM] = chunk.0[place];
        }
    }

    /// Takes what is due before `limit`, in any order.
    #[cold]
    pub fn set(&mut self, entries: impl Iterator<Item = Entry>, limit: u64, records: &[Record]) {
        self.entries.truncate(1);
        self.entries.extend(entries);
        (self.next, self.limit) = (self.entries.len() - 1, limit);
        self.tidy(records);
    }

    /// Puts one where it belongs, in place of any other of its source.
    pub fn insert(&mut self, key: Key, records: &[Record]) {
        let is_own = |entry: &Entry| u64::from(entry.source()) == key.source;
        if is_own(&self.entries[self.next]) {
            self.skip();
        }
        let rest = &self.entries[1..=self.next];
        let has_own = rest.iter().any(is_own);
        let record = &records[key.source as usize];
        // Those of sources that were set anew stand anywhere.
        let is_before =
            |entry: &Entry| records[entry.source() as usize] < *record && entry.pending(self.limit, records).is_some();
        let place = rest.iter().position(is_before).unwrap_or(rest.len()) + 1;
        self.next += 1;
        if self.next == self.entries.len() {
            self.entries.push(Entry::NOBODY);
        }
        self.entries.copy_within(place..self.next, place + 1);
        self.entries[place] = Entry::new(key);
        if has_own {
            self.tidy(records);
        }
    }

    /// Leaves what is pending, each once, in order.
    #[cold]
    pub fn tidy(&mut self, records: &[Record]) {
        let limit = self.limit;
        self.entries.truncate(self.next + 1);
        self.entries.remove(0);
        self.entries.retain(|entry| entry.pending(limit, records).is_some());
        self.entries.sort_unstable_by_key(|entry| Reverse(records[entry.source() as usize]));
        self.entries.dedup();
        self.entries.insert(0, Entry::NOBODY);
        self.next = self.entries.len() - 1;
        self.entries.resize(ROOM.max(self.next + 1), Entry::NOBODY);
    }

    /// What is pending, after [`Self::tidy`].
    pub fn keys<'a>(&'a self, records: &'a [Record]) -> impl Iterator<Item = Key> + 'a {
        self.entries[1..=self.next].iter().filter_map(|entry| entry.pending(self.limit, records))
    }
}

/// How many are greater than each, and one for nobody. No processor can guess which of two that is; compilers make vectors of this.
#[inline]
fn ranks<T: Copy + PartialOrd, const SOME: usize>(times: &[T; SOME]) -> [u16; SOME] {
    let times = *times;
    std::array::from_fn(|place| times.iter().map(|other| u16::from(*other > times[place])).fold(1, u16::wrapping_add))
}
