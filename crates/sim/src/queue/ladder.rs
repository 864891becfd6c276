//! A ladder queue (Tang, Goh & Thng, ACM TOMACS 15(3), 2005), for thousands of sources.
//!
//! Only what is due next is in order (`run.rs`). What is due later is appended to one of some hundred buckets, which needs little
//! memory at hand however much is pending; and what is due later than all buckets to one more. When the time of a bucket
//! comes, it is put in order if it is small, else it becomes a rung of narrower buckets.
//!
//! The buckets of the first rung are a ring, so that those whose time is over are used again for what is due behind the others.
//! Once in each turn of the ring what was later than all goes into buckets, too, and it is seen whether they are as wide as they should be.
//!
//! An entry stays where it is when its source is set anew or cancelled, and is skipped when its time comes.

use super::chunk::{CHUNK, Entry, Pool};
use super::key::{Key, NEVER, NOBODY, Record};
use super::run::Run;
use super::rung::{BUCKETS, LATER, REACH, Rung, WIDEST};
use crate::fetch::fetch;
use std::ops::Range;

/// A bucket has half as many to so many on average when its time comes, so that few have more than a chunk.
const AIM: usize = CHUNK * 3 / 4;
/// The buckets of the first rung reach at least half so many mean waits into the future.
const WAITS: u64 = 10;
/// What is in order becomes a rung if it is more.
const LONG: usize = 64;
/// Records of so many sources are not at hand: they are fetched before their time.
const FAR: usize = 4096;

/// How far ahead what is pending is.
#[derive(Clone, Copy, Debug, Default)]
struct Ahead {
    count: usize,
    /// Of all their nanoseconds.
    sum: u128,
}

impl Ahead {
    /// With one more.
    fn and(self, nanos: u64) -> Ahead {
        Ahead { count: self.count + 1, sum: self.sum + u128::from(nanos) }
    }

    /// Logarithm of the width that buckets of the first rung should have.
    fn shift(self) -> u32 {
        let mean = (self.sum / self.count as u128) as u64;
        let width = (mean / BUCKETS as u64 * WAITS).max(mean / self.count as u64 * AIM as u64);
        width.max(1).ilog2().min(WIDEST)
    }
}

#[derive(Debug)]
pub(super) struct Ladder {
    sources: Range<usize>,
    base: Rung,
    /// Each is a bucket of the one before. Those behind `depth` are only memory.
    rungs: Vec<Rung>,
    depth: usize,
    run: Run,
    pool: Pool,
}

impl Ladder {
    pub fn new(sources: Range<usize>) -> Ladder {
        Ladder { sources, base: Rung::new(), rungs: Vec::new(), depth: 0, run: Run::new(), pool: Pool::default() }
    }

    /// A source is due at another time, as its record says. `first` becomes the first of all.
    #[inline]
    pub fn set(&mut self, key: Key, first: &mut Key, records: &[Record]) {
        if !self.base.push_quickly(key) {
            return self.set_slowly(key, first, records);
        }
        self.cancel(key.source, first, records);
    }

    /// What a source was due for before is no longer so.
    #[inline]
    pub fn cancel(&mut self, source: u64, first: &mut Key, records: &[Record]) {
        if source == first.source {
            self.run.skip();
            let Some(next) = self.run.first(records) else { return self.settle(first, records) };
            *first = next;
        }
    }

    #[inline(never)]
    fn set_slowly(&mut self, key: Key, first: &mut Key, records: &[Record]) {
        if *first == NOBODY {
            self.base.end(key.at + 1);
            self.run.limit = key.at + 1;
        }
        if self.pool.used() > 2 * self.sources.len().div_ceil(CHUNK) {
            self.rebuild(records);
        } else if key.at >= self.base.limit {
            self.base.push(key, &mut self.pool);
        } else if let Some(rung) = self.rungs[..self.depth].iter_mut().find(|rung| key.at >= rung.limit) {
            rung.push(key, &mut self.pool);
        } else {
            self.run.insert(key, records);
            if self.run.len() > LONG {
                self.spread_run(records);
            }
        }
        self.settle(first, records);
    }

    /// Finds the first.
    #[inline(never)]
    fn settle(&mut self, first: &mut Key, records: &[Record]) {
        loop {
            if let Some(key) = self.run.first(records) {
                *first = key;
                return;
            }
            if !self.run.is_over() {
                self.run.skip();
            } else if !self.refill(records) {
                *first = NOBODY;
                self.base.end(u64::MAX);
                return;
            }
        }
    }

    /// Puts the next bucket in order, or goes on to another rung. False if nothing is left.
    #[inline]
    fn refill(&mut self, records: &[Record]) -> bool {
        let rung = self.rungs[..self.depth].last_mut().unwrap_or(&mut self.base);
        let Some((bucket, start)) = rung.advance() else { return self.leave(records) };
        if self.sources.len() > FAR {
            // Those of the bucket behind this one.
            for entry in rung.peek((bucket + 1) % BUCKETS).0 {
                if let Some(record) = records.get(entry.source() as usize) {
                    fetch(record);
                }
            }
        }
        let (shift, limit) = (rung.shift(), rung.limit);
        match rung.take_only(bucket) {
            Some((chunk, count)) => self.run.sort(chunk, count, (start, shift), limit, records),
            None => self.spread(bucket, start, records),
        }
        true
    }

    /// No bucket is left in the last rung. False if nothing is left at all.
    #[cold]
    fn leave(&mut self, records: &[Record]) -> bool {
        if self.depth > 0 {
            self.depth -= 1;
            return true;
        }
        let mut keys = Vec::new();
        self.base.take(LATER, &mut self.pool, |entry, _| keys.extend(entry.pending(NEVER, records)));
        let (count, buckets) = self.base.ahead();
        if self.goes_on(count, buckets, &keys) {
            self.base.turn();
            keys.iter().for_each(|key| self.base.push(*key, &mut self.pool));
            return true;
        }
        if count > 0 {
            for bucket in 0..BUCKETS {
                self.base.take(bucket, &mut self.pool, |entry, _| keys.extend(entry.pending(NEVER, records)));
            }
        }
        self.begin(&keys, records)
    }

    /// Whether the first rung may go on with what is in it, so many entries so many buckets ahead, and what is later: most is in
    /// buckets, and they are as wide as they would be if made anew.
    fn goes_on(&self, count: usize, buckets: u64, later: &[Key]) -> bool {
        if count <= later.len().max(CHUNK) {
            return false;
        }
        let (start, shift) = (self.base.turns_at(), self.base.shift());
        let soon = Ahead { count, sum: u128::from(buckets) << shift };
        later.iter().fold(soon, |ahead, key| ahead.and(key.at - start)).shift() == shift
    }

    /// Starts with these. False if there are none.
    fn begin(&mut self, keys: &[Key], records: &[Record]) -> bool {
        let times = || keys.iter().map(|key| key.at);
        let (Some(start), Some(last)) = (times().min(), times().max()) else { return false };
        if keys.len() <= CHUNK {
            self.base.end(last + 1);
            self.run.set(keys.iter().map(|key| Entry::new(*key)), last + 1, records);
            return true;
        }
        self.base.begin_turn(start, times().fold(Ahead::default(), |ahead, at| ahead.and(at - start)).shift());
        for key in keys {
            self.base.push(*key, &mut self.pool);
        }
        true
    }

    /// Makes a bucket that is too large for a run the next rung, or a run all the same if all in it is due at the same time.
    #[inline(never)]
    fn spread(&mut self, bucket: usize, start: u64, records: &[Record]) {
        if self.depth == self.rungs.len() {
            self.rungs.push(Rung::new());
        }
        let (upper, lower) = self.rungs.split_at_mut(self.depth);
        let (upper, lower) = (upper.last_mut().unwrap_or(&mut self.base), &mut lower[0]);
        let limit = upper.limit;
        if upper.shift() == 0 {
            let mut entries = Vec::new();
            upper.take(bucket, &mut self.pool, |entry, _| entries.push(entry));
            return self.run.set(entries.into_iter(), limit, records);
        }
        let digits = (2 * upper.count(bucket) / AIM).ilog2().min(BUCKETS.ilog2());
        lower.begin(start, upper.shift().saturating_sub(digits), limit);
        upper.take(bucket, &mut self.pool, |entry, pool| lower.push(entry.after(start), pool));
        self.depth += 1;
    }

    /// Makes what is in order a rung, if it is long because many were put into a wide bucket when its time had come.
    #[inline(never)]
    fn spread_run(&mut self, records: &[Record]) {
        self.run.tidy(records);
        let Some(first) = self.run.first(records).filter(|_| self.run.len() > LONG) else { return };
        let (start, limit) = (first.at, self.run.limit);
        match limit - start {
            1 => return,
            // So much lies between the first and a bucket that was put in order before.
            long if long > REACH => return self.rebuild(records),
            _ => (),
        }
        if self.depth == self.rungs.len() {
            self.rungs.push(Rung::new());
        }
        let rung = &mut self.rungs[self.depth];
        self.depth += 1;
        let buckets = (self.run.len() / AIM).min(BUCKETS / 2 - 1) as u64;
        rung.begin(start, ((limit - start) / buckets).max(1).ilog2(), limit);
        self.run.keys(records).for_each(|key| rung.push(key, &mut self.pool));
        self.run.clear();
    }

    /// Starts anew with what is pending.
    #[cold]
    fn rebuild(&mut self, records: &[Record]) {
        for rung in self.rungs.iter_mut().chain([&mut self.base]) {
            (0..=LATER).for_each(|bucket| rung.take(bucket, &mut self.pool, |_, _| ()));
        }
        self.depth = 0;
        self.run.clear();
        let pending = |source: usize| records[source].key(source);
        let keys: Vec<Key> = self.sources.clone().filter_map(pending).collect();
        self.begin(&keys, records);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::Since;
    use airtcp_core::Rng;

    const SOURCES: usize = 2000;

    /// A ladder with its records.
    struct Kept {
        ladder: Ladder,
        records: Vec<Record>,
        first: Key,
    }

    impl Kept {
        fn new() -> Kept {
            Kept { ladder: Ladder::new(0..SOURCES), records: vec![Record::new(); SOURCES], first: NOBODY }
        }

        fn set(&mut self, source: usize, at: u64) {
            let put = self.records[source].put + 1;
            self.records[source] = Record { at, since: Since::default(), put };
            self.ladder.set(Key { at, source: source as u64 }, &mut self.first, &self.records);
        }
    }

    #[test]
    fn a_source_set_anew_a_million_times_needs_no_memory() {
        let (mut kept, mut rng) = (Kept::new(), Rng::derive(1, "anew"));
        (0..SOURCES).for_each(|source| kept.set(source, 1_000_000 + rng.below(1_000_000)));
        let source = kept.first.source as usize + 1;
        (0..1_000_000).for_each(|_| kept.set(source, 2_000_000 + rng.below(5_000_000)));
        assert!(kept.ladder.pool.used() <= 2 * SOURCES.div_ceil(CHUNK) + 1);
        assert!(kept.ladder.rungs.len() < 10);
    }
}
