//! A rung of a ladder: buckets of equal width, one after the other in time, which are only appended to.

use super::chunk::{CHUNK, Chunk, Entry, List, Pool};
use super::key::Key;

/// Most buckets of a rung. Few enough that what is appended to stays in the caches.
pub(super) const BUCKETS: usize = 1024;
/// The bucket of all that is later than these.
pub(super) const LATER: usize = BUCKETS;
/// Logarithm of the greatest width of a bucket: of a time in it the low half tells all.
pub(super) const WIDEST: u32 = 30;
/// How far the widest buckets reach at least, in nanoseconds, wherever in the first of them that begins.
pub(super) const REACH: u64 = (BUCKETS as u64 - 1) << WIDEST;
/// No time is in a bucket of this number, nor in those behind.
const NOWHERE: u64 = 1 << 62;

#[derive(Debug)]
struct Buckets {
    /// Entries that are not in full chunks.
    lens: [u32; BUCKETS + 1],
    /// How many full chunks there are, and which.
    full: [u32; BUCKETS + 1],
    lists: [List; BUCKETS + 1],
    /// The chunk that each is appended to.
    tails: [Chunk; BUCKETS + 1],
}

impl Buckets {
    /// Adds something to a bucket unless there is no room in the chunk.
    #[inline]
    fn push(&mut self, bucket: usize, key: Key) -> bool {
        let len = self.lens[bucket] as usize;
        let Some(entry) = self.tails[bucket].0.get_mut(len) else { return false };
        *entry = Entry::new(key);
        self.lens[bucket] = len as u32 + 1;
        true
    }
}

/// A ring of buckets. A bucket's number is the time by the width, so that the numbers of those in use follow on each other
/// wherever the ring begins.
#[derive(Debug)]
pub(super) struct Rung {
    /// Logarithm of the width of a bucket.
    shift: u32,
    /// Number of the first bucket that was not taken.
    next: u64,
    /// Number behind the last that is to be taken. Those in use may go on behind it, up to `BUCKETS` from `next` on.
    end: u64,
    /// When `next` begins: what is due later belongs here.
    pub limit: u64,
    buckets: Box<Buckets>,
}

impl Rung {
    /// All is later.
    pub fn new() -> Rung {
        let buckets = Box::new(Buckets {
            lens: [0; BUCKETS + 1],
            full: [0; BUCKETS + 1],
            lists: [List::EMPTY; BUCKETS + 1],
            tails: [Chunk::default(); BUCKETS + 1],
        });
        let mut rung = Rung { shift: 0, next: 0, end: 0, limit: 0, buckets };
        rung.end(u64::MAX);
        rung
    }

    /// From now on no bucket is in use, and what is due from `limit` on is later.
    pub fn end(&mut self, limit: u64) {
        (self.shift, self.next, self.end, self.limit) = (63, NOWHERE, NOWHERE, limit);
    }

    /// From now on there are buckets of 2^`shift` ns, from that of `start` to that before `end`, which are at most as many as
    /// there may be.
    pub fn begin(&mut self, start: u64, shift: u32, end: u64) {
        self.begin_turn(start, shift);
        self.end = ((end - 1) >> self.shift) + 1;
        debug_assert!(self.end - self.next <= BUCKETS as u64, "times without a bucket");
    }

    /// From now on there are buckets of 2^`shift` ns, from that of `start` on. All that are in use are to be taken up to the
    /// end of the ring.
    pub fn begin_turn(&mut self, start: u64, shift: u32) {
        self.shift = shift.min(WIDEST);
        self.next = start >> self.shift;
        self.end = (self.next / BUCKETS as u64 + 1) * BUCKETS as u64;
        self.limit = self.next << self.shift;
    }

    /// When the next turn begins.
    pub fn turns_at(&self) -> u64 {
        self.end << (self.shift & 63)
    }

    /// How many entries there are in buckets when all of this turn were taken, and how many buckets ahead, in sum.
    pub fn ahead(&self) -> (usize, u64) {
        if self.next == NOWHERE {
            return (0, 0);
        }
        let Buckets { lens, full, .. } = &*self.buckets;
        let counts = lens[..BUCKETS].iter().zip(full).map(|(len, full)| full * CHUNK as u32 + len);
        let sum =
            |(count, sum), (distance, more): (u32, u32)| (count + more, sum + u64::from(distance) * u64::from(more));
        let (count, sum) = (0..).zip(counts).fold((0, 0), sum);
        (count as usize, sum)
    }

    /// Goes on with the buckets of another turn when all of this one were taken.
    pub fn turn(&mut self) {
        self.end += BUCKETS as u64;
        self.limit = self.next << (self.shift & 63);
    }

    /// Logarithm of the width of a bucket.
    #[inline]
    pub fn shift(&self) -> u32 {
        self.shift
    }

    /// Adds what is due at `limit` or later.
    #[inline]
    pub fn push(&mut self, key: Key, pool: &mut Pool) {
        debug_assert!(key.at >= self.limit, "its time is over");
        let bucket = self.bucket(key.at).unwrap_or(LATER);
        if !self.buckets.push(bucket, key) {
            let Buckets { lens, full, lists, tails } = &mut *self.buckets;
            pool.add(&tails[bucket], &mut lists[bucket]);
            full[bucket] += 1;
            tails[bucket].0[0] = Entry::new(key);
            lens[bucket] = 1;
        }
    }

    /// Adds something unless it does not belong into a bucket of this rung, or there is no room in the chunk.
    #[inline]
    pub fn push_quickly(&mut self, key: Key) -> bool {
        self.bucket(key.at).is_some_and(|bucket| self.buckets.push(bucket, key))
    }

    /// Where something belongs that is due when there are buckets.
    #[inline]
    fn bucket(&self, at: u64) -> Option<usize> {
        let number = at >> (self.shift & 63);
        (number.wrapping_sub(self.next) < BUCKETS as u64).then_some(number as usize % BUCKETS)
    }

    /// Goes on behind the next bucket with something in it. Returns that and when it begins.
    #[inline]
    pub fn advance(&mut self) -> Option<(usize, u64)> {
        while self.next < self.end {
            let from = self.next as usize % BUCKETS;
            let most = BUCKETS - from;
            let rest = usize::try_from(self.end - self.next).map_or(most, |rest| rest.min(most));
            match self.buckets.lens[from..from + rest].iter().position(|len| *len > 0) {
                Some(empty) => {
                    let number = self.next + empty as u64;
                    self.next = number + 1;
                    self.limit = self.next << (self.shift & 63);
                    return Some((from + empty, number << (self.shift & 63)));
                }
                None => self.next += rest as u64,
            }
        }
        None
    }

    /// How many entries there are in a bucket.
    pub fn count(&self, bucket: usize) -> usize {
        self.buckets.full[bucket] as usize * CHUNK + self.buckets.lens[bucket] as usize
    }

    /// The chunk of a bucket that has but one, which is left empty, and how many are in it.
    #[inline]
    pub fn take_only(&mut self, bucket: usize) -> Option<(&Chunk, usize)> {
        let Buckets { lens, full, tails, .. } = &mut *self.buckets;
        (full[bucket] == 0).then(|| (&tails[bucket], std::mem::take(&mut lens[bucket]) as usize))
    }

    /// What is in the chunk that is appended to, and more that is in it no longer or does not belong to it.
    #[inline]
    pub fn peek(&self, bucket: usize) -> &Chunk {
        &self.buckets.tails[bucket]
    }

    /// Takes all of a bucket.
    pub fn take(&mut self, bucket: usize, pool: &mut Pool, mut each: impl FnMut(Entry, &mut Pool)) {
        let Buckets { lens, full, lists, tails } = &mut *self.buckets;
        let len = std::mem::take(&mut lens[bucket]) as usize;
        for entry in &tails[bucket].0[..len] {
            each(*entry, pool);
        }
        full[bucket] = 0;
        while let Some(chunk) = pool.take(&mut lists[bucket]) {
            for entry in chunk.0 {
                each(entry, pool);
            }
        }
    }
}
