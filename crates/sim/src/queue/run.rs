//! What a ladder has in order: all that is due before some time.

use super::chunk::{CHUNK, Chunk, Entry};
use super::key::{Key, Record};

/// Sum of the ranks of as many entries as a chunk has, if no two are equal.
const RANKS: u16 = (CHUNK * (CHUNK - 1) / 2) as u16;
/// Room for a chunk and nobody behind it.
const ROOM: usize = (CHUNK + 1).next_power_of_two();

#[derive(Debug)]
pub(super) struct Run {
    /// Sorted from `next` to `end`; nobody is there.
    entries: Vec<Entry>,
    next: usize,
    end: usize,
    /// Only what is due before.
    pub limit: u64,
}

impl Run {
    pub fn new() -> Run {
        Run { entries: vec![Entry::NOBODY; ROOM], next: 0, end: 0, limit: u64::MAX }
    }

    /// The first, if its source is due then.
    #[inline]
    pub fn first(&self, records: &[Record]) -> Option<Key> {
        self.entries[self.next].pending(self.limit, records)
    }

    /// Drops the first.
    #[inline]
    pub fn skip(&mut self) {
        self.next = self.next.wrapping_add(1);
    }

    pub fn is_over(&self) -> bool {
        self.next == self.end
    }

    pub fn len(&self) -> usize {
        self.end - self.next
    }

    /// Drops all.
    pub fn clear(&mut self) {
        self.next = self.end;
    }

    /// Takes the first `count` of a chunk, which are due less than 2^`width` ns after `start` and before `limit`. Sixteen bits of
    /// each time mostly tell the order, and the sum of the ranks whether they do.
    #[inline]
    pub fn sort(&mut self, chunk: &Chunk, count: usize, (start, width): (u64, u32), limit: u64, records: &[Record]) {
        let (low, scale, few) = (start as u32, width.saturating_sub(i16::BITS - 2), count as i16);
        let after = std::array::from_fn(|place| {
            let time = (chunk.0[place].low().wrapping_sub(low) >> (scale & 31)) as i16;
            if (place as i16) < few { time } else { i16::MAX - (CHUNK - place) as i16 }
        });
        let ranks = ranks::<i16>(&after);
        self.scatter(chunk, count, &ranks);
        self.limit = limit;
        if ranks.iter().fold(0, |sum: u16, rank| sum.wrapping_add(*rank)) != RANKS {
            self.sort_equals(chunk, count, (start, width), records);
        }
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
            if place < count { time } else { i32::MAX - (CHUNK - place) as i32 }
        });
        self.scatter(chunk, count, &ranks::<i32>(&after));
        for end in 1..count {
            let mut place = end;
            while place > 0
                && self.entries[place - 1].low() == self.entries[place].low()
                && records[self.entries[place - 1].source() as usize] > records[self.entries[place].source() as usize]
            {
                self.entries.swap(place - 1, place);
                place -= 1;
            }
        }
    }

    /// Puts each entry at its rank.
    #[inline(always)]
    fn scatter(&mut self, chunk: &Chunk, count: usize, ranks: &[u16; CHUNK]) {
        let entries: &mut [Entry; ROOM] = self.entries.first_chunk_mut().expect("there are always so many");
        for place in 0..CHUNK {
            entries[ranks[place] as usize % ROOM] = chunk.0[place];
        }
        entries[count % ROOM] = Entry::NOBODY;
        (self.next, self.end) = (0, count);
    }

    /// Takes what is due before `limit`, in any order.
    #[cold]
    pub fn set(&mut self, entries: impl Iterator<Item = Entry>, limit: u64, records: &[Record]) {
        self.entries.clear();
        self.entries.extend(entries);
        (self.next, self.end, self.limit) = (0, self.entries.len(), limit);
        self.tidy(records);
    }

    /// Puts one where it belongs, in place of any other of its source.
    pub fn insert(&mut self, key: Key, records: &[Record]) {
        let is_own = |entry: &Entry| u64::from(entry.source()) == key.source;
        if is_own(&self.entries[self.next]) {
            self.skip();
        }
        let rest = &self.entries[self.next..self.end];
        if rest.iter().any(is_own) {
            self.entries[self.end] = Entry::new(key);
            self.end += 1;
            return self.tidy(records);
        }
        let record = &records[key.source as usize];
        // Those of sources that were set anew stand anywhere.
        let is_before =
            |entry: &Entry| records[entry.source() as usize] < *record && entry.pending(self.limit, records).is_some();
        let before = rest.iter().rposition(is_before).map_or(0, |last| last + 1);
        let place = self.next + before;
        if self.next > 0 {
            self.entries.copy_within(self.next..place, self.next - 1);
            self.next -= 1;
            self.entries[place - 1] = Entry::new(key);
        } else {
            self.entries.insert(place, Entry::new(key));
            self.end += 1;
            self.entries.truncate(ROOM.max(self.end + 1));
        }
    }

    /// Leaves what is pending, each once, in order.
    #[cold]
    pub fn tidy(&mut self, records: &[Record]) {
        let limit = self.limit;
        self.entries.truncate(self.end);
        self.entries.drain(..self.next);
        self.entries.retain(|entry| entry.pending(limit, records).is_some());
        self.entries.sort_unstable_by_key(|entry| records[entry.source() as usize]);
        self.entries.dedup();
        (self.next, self.end) = (0, self.entries.len());
        self.entries.resize(ROOM.max(self.end + 1), Entry::NOBODY);
    }

    /// What is pending, after [`Self::tidy`].
    pub fn keys<'a>(&'a self, records: &'a [Record]) -> impl Iterator<Item = Key> + 'a {
        self.entries[self.next..self.end].iter().filter_map(|entry| entry.pending(self.limit, records))
    }
}

/// How many are less than each. No processor can guess which of two that is; compilers make vectors of this.
#[inline]
fn ranks<T: Copy + PartialOrd>(times: &[T; CHUNK]) -> [u16; CHUNK] {
    let times = *times;
    std::array::from_fn(|place| times.iter().map(|other| u16::from(*other < times[place])).fold(0, u16::wrapping_add))
}
