//! A rung of a ladder: buckets of equal width, one after the other in time, which are only appended to.

use super::chunk::{CHUNK, Chunk, Entry, List, Pool};
use super::key::{Key, NEVER};
use std::hint;

/// Most buckets of a rung. Few enough that what is appended to stays in the caches.
pub(super) const BUCKETS: usize = 1024;
/// The bucket of all that is later than these.
pub(super) const LATER: usize = BUCKETS;
/// Logarithm of the greatest width of a bucket: of a time in it the low half tells all.
const WIDEST: u32 = 30;
/// How far the widest buckets reach, in nanoseconds.
pub(super) const REACH: u64 = (BUCKETS as u64) << WIDEST;

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

#[derive(Debug)]
pub(super) struct Rung {
    start: u64,
    /// Logarithm of the width of a bucket.
    shift: u32,
    /// Buckets in use.
    width: usize,
    /// The first bucket that was not taken.
    next: usize,
    /// When that begins: what is due later belongs here.
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
        let mut rung = Rung { start: 0, shift: 0, width: 0, next: 0, limit: 0, buckets };
        rung.end(u64::MAX);
        rung
    }

    /// From now on no bucket is in use, and what is due from `limit` on is later.
    pub fn end(&mut self, limit: u64) {
        (self.start, self.shift, self.width, self.next, self.limit) = (NEVER, 0, 0, 0, limit);
    }

    /// From now on there are buckets of 2^`shift` ns from `start` on, until `end` or as many as there may be.
    pub fn begin(&mut self, start: u64, shift: u32, end: u64) {
        let shift = shift.min(WIDEST);
        let width = ((end - start - 1) >> shift).min(BUCKETS as u64 - 1) as usize + 1;
        (self.start, self.shift, self.width, self.next, self.limit) = (start, shift, width, 0, start);
    }

    /// Logarithm of the width of a bucket.
    #[inline]
    pub fn shift(&self) -> u32 {
        self.shift
    }

    /// Adds what is due at `limit` or later.
    #[inline]
    pub fn push(&mut self, key: Key, pool: &mut Pool) {
        if !self.push_quickly(key) {
            let bucket = self.bucket(key.at);
            let Buckets { lens, full, lists, tails } = &mut *self.buckets;
            pool.add(&tails[bucket], &mut lists[bucket]);
            full[bucket] += 1;
            tails[bucket].0[0] = Entry::new(key);
            lens[bucket] = 1;
        }
    }

    /// The same unless there is no room in the chunk.
    #[inline]
    pub fn push_quickly(&mut self, key: Key) -> bool {
        let bucket = self.bucket(key.at);
        let Buckets { lens, tails, .. } = &mut *self.buckets;
        let len = lens[bucket] as usize;
        let Some(entry) = tails[bucket].0.get_mut(len) else { return false };
        *entry = Entry::new(key);
        lens[bucket] = len as u32 + 1;
        true
    }

    /// Where something belongs. How far that is in the future nobody can guess, so this must not become a branch.
    #[inline]
    fn bucket(&self, at: u64) -> usize {
        let bucket = at.wrapping_sub(self.start) >> (self.shift & 63);
        hint::select_unpredictable(bucket < BUCKETS as u64, bucket as usize, LATER)
    }

    /// Goes on behind the next bucket with something in it. Returns that and when it begins.
    #[inline]
    pub fn advance(&mut self) -> Option<(usize, u64)> {
        let rest = self.buckets.lens.get(self.next..self.width)?;
        let bucket = self.next + rest.iter().position(|len| *len > 0)?;
        let start = self.start + ((bucket as u64) << (self.shift & 63));
        self.next = bucket + 1;
        self.limit = start.saturating_add(1 << (self.shift & 63));
        Some((bucket, start))
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
