//! The event queue: when each source of events is due, and which is due first.
//!
//! Of events that are due at the same time that one comes first which has been the next of its source for longer, as who puts
//! it here says; of two that have been for as long the one that was put here first.
//!
//! Every link direction and every element has one pending event at most, so the queue has one place for each and stays as
//! small as the topology, however many packets are in flight. Those that have most events, and all if they are not many, are
//! in tournaments; the others of a large topology are in a ladder.

mod chunk;
mod key;
mod ladder;
mod run;
mod rung;
mod tournament;

use airtcp_core::{Instant, count_one};
use key::{Key, NEVER, NOBODY, Record};
use ladder::Ladder;
use tournament::Tournament;

/// A source of events, counted from 0.
pub type Source = u32;

/// Since when an event has been the next of its source: since another event, its cause, made it so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Since {
    /// When the cause was due.
    pub at: Instant,
    /// Since when the cause had been the next of its own source.
    pub cause: Instant,
}

impl Since {
    /// That of what an event causes that is due at `at` and has been the next since `self`.
    #[inline]
    pub fn then(self, at: Instant) -> Since {
        Since { at, cause: self.at }
    }

    /// The later of the two, without a branch.
    #[inline]
    pub fn later(self, other: Since) -> Since {
        if self.in_one() < other.in_one() { other } else { self }
    }

    #[inline]
    fn in_one(self) -> u128 {
        u128::from(self.at.as_nanos()) << 64 | u128::from(self.cause.as_nanos())
    }
}

/// More sources than these, beside the busy ones, have a ladder.
const FEW: usize = 512;

/// Pending events, one at most for each source.
#[derive(Debug)]
pub struct EventQueue {
    /// The few sources that have most events, so that these have few opponents.
    busy: Tournament,
    others: Tournament,
    /// Those that have fewest.
    calm: Tournament,
    /// In place of these two where there are many.
    crowd: Option<Ladder>,
    /// The first of all that are not busy.
    rest: Key,
    /// Of each source.
    records: Vec<Record>,
    /// Events put here.
    put: u64,
}

impl EventQueue {
    /// A queue for as many sources, none of which has an event: the first `busy` are those that have most, those from `calm` on
    /// have fewest.
    pub fn new(busy: usize, calm: usize, sources: usize) -> Self {
        let crowd = (sources - busy > FEW).then(|| Ladder::new(busy..sources));
        let [calm, few] = if crowd.is_some() { [busy; 2] } else { [calm, sources] };
        let [busy, others, calm] = [0..busy, busy..calm, calm..few].map(Tournament::new);
        EventQueue { busy, others, calm, crowd, rest: NOBODY, records: vec![Record::new(); sources], put: 0 }
    }

    /// The earliest event if it is due by `end`. It stays until its source is set anew or cancelled.
    #[inline]
    pub fn first(&self, end: Instant) -> Option<(Instant, Source)> {
        let first = self.busy.first.earlier(self.rest, &self.records);
        if first.at > end.as_nanos().min(NEVER - 1) {
            return None;
        }
        Some((Instant::from_nanos(first.at), first.source()))
    }

    /// When the source is due; the end of time for never.
    #[inline]
    pub fn at(&self, source: Source) -> Instant {
        let at = self.records[source as usize].at;
        if at < NEVER { Instant::from_nanos(at) } else { Instant::MAX }
    }

    /// Since when the event of a source that is due has been its next.
    #[inline]
    pub fn since(&self, source: Source) -> Since {
        self.records[source as usize].since
    }

    /// The source is due at `at`, which has been its next event since `since`, and no longer at any other time; the end of
    /// time is never.
    #[inline]
    pub fn set(&mut self, source: Source, at: Instant, since: Since) {
        if at.as_nanos() >= NEVER {
            return self.cancel(source);
        }
        count_one(&mut self.put);
        self.records[source as usize] = Record { at: at.as_nanos(), since, put: self.put };
        let key = Key::new(at, source);
        if (source as usize) < self.others.from {
            self.busy.put(key, &self.records);
        } else if let Some(crowd) = &mut self.crowd {
            crowd.set(key, &mut self.rest, &self.records);
        } else {
            self.put(key);
        }
    }

    /// The source is not due.
    #[inline(never)]
    pub fn cancel(&mut self, source: Source) {
        self.records[source as usize].at = NEVER;
        let never = Key::never(source);
        if (source as usize) < self.others.from {
            self.busy.put(never, &self.records);
        } else if let Some(crowd) = &mut self.crowd {
            crowd.cancel(never.source, &mut self.rest, &self.records);
        } else {
            self.put(never);
        }
    }

    /// Says what is due of a source that is not busy to its tournament. Which that is has to be a branch: whoever sets an event
    /// mostly knows, and nothing waits for it.
    #[inline(never)]
    fn put(&mut self, key: Key) {
        let EventQueue { others, calm, rest, records, .. } = self;
        if (key.source() as usize) < calm.from {
            others.put(key, records);
        } else {
            calm.put(key, records);
        }
        *rest = others.first.earlier(calm.first, records);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airtcp_core::Rng;
    use std::collections::BTreeMap;

    fn nanos(at: u64) -> Instant {
        Instant::from_nanos(at)
    }

    /// Since `cause` tenths and `since`.
    fn since_of(digits: u64) -> Since {
        Since { at: nanos(digits / 10), cause: nanos(digits % 10) }
    }

    fn drain(queue: &mut EventQueue) -> Vec<Source> {
        let next = || {
            let (_, source) = queue.first(Instant::MAX)?;
            queue.cancel(source);
            Some(source)
        };
        std::iter::from_fn(next).collect()
    }

    #[test]
    fn the_later_of_two_causes_is_the_greater() {
        let mut rng = Rng::derive(1, "since");
        let mut time = || nanos(if rng.below(4) == 0 { u64::MAX - rng.below(3) } else { rng.below(4) });
        for _ in 0..2000 {
            let [one, other] = [0; 2].map(|_| Since { at: time(), cause: time() });
            assert_eq!(one.later(other), one.max(other));
        }
    }

    #[test]
    fn of_two_at_the_same_time_that_comes_first_which_was_the_next_for_longer() {
        let mut queue = EventQueue::new(2, 4, 5);
        for (source, at, since) in [(3, 5, 22), (4, 7, 0), (1, 5, 30), (2, 1, 0), (0, 5, 30), (1, 5, 30)] {
            queue.set(source, nanos(at), since_of(since));
        }
        assert_eq!(drain(&mut queue), [2, 3, 0, 1, 4]);
        assert_eq!(queue.first(Instant::MAX), None);
    }

    #[test]
    fn any_number_of_sources_has_its_place() {
        assert_eq!(EventQueue::new(0, 0, 0).first(Instant::MAX), None);
        for sources in 1..40 {
            let mut queue = EventQueue::new(sources as usize / 3, sources as usize / 2, sources as usize);
            for source in 0..sources {
                assert_eq!(queue.at(source), Instant::MAX);
                queue.set(source, nanos(u64::from(100 - source)), Since::default());
            }
            assert_eq!(drain(&mut queue), (0..sources).rev().collect::<Vec<_>>());
        }
    }

    /// The same events in a map.
    struct Sorted {
        queue: EventQueue,
        map: BTreeMap<(u64, Since, u64), Source>,
        of: Vec<Option<(u64, Since, u64)>>,
        put: u64,
    }

    impl Sorted {
        fn new(busy: usize, calm: usize, sources: usize) -> Sorted {
            let queue = EventQueue::new(busy, calm, sources);
            Sorted { queue, map: BTreeMap::new(), of: vec![None; sources], put: 0 }
        }

        fn cancel(&mut self, source: Source) {
            self.queue.cancel(source);
            if let Some(key) = self.of[source as usize].take() {
                self.map.remove(&key);
            }
        }

        fn set(&mut self, source: Source, at: u64, since: Since) {
            self.put += 1;
            let key = (at, since, self.put);
            if let Some(before) = self.of[source as usize].replace(key) {
                self.map.remove(&before);
            }
            self.map.insert(key, source);
            self.queue.set(source, nanos(at), since);
        }

        /// What is first by both, which is looked for until `end` too.
        fn first(&self, end: u64) -> Option<(u64, Source)> {
            let expected = self.map.first_key_value().map(|((at, ..), source)| (*at, *source));
            let timed = expected.map(|(at, source)| (nanos(at), source));
            assert_eq!(self.queue.first(Instant::MAX), timed);
            assert_eq!(self.queue.first(nanos(end)), timed.filter(|(at, _)| *at <= nanos(end)));
            expected
        }
    }

    #[test]
    fn events_come_in_the_order_of_a_sorted_map() {
        for (busy, calm, sources) in [(7, 20, 50), (7, 20, 600), (7, 1000, 3000)] {
            let mut rng = Rng::derive(sources, "queue");
            let mut sorted = Sorted::new(busy, calm, sources as usize);
            for _ in 0..30_000 {
                let source = rng.below(sources) as Source;
                let range = if rng.below(3) == 0 { 300 } else { 1 << rng.below(62) };
                match rng.below(5) {
                    0 => sorted.cancel(source),
                    1 => sorted.cancel(sorted.first(rng.below(range)).map_or(source, |(_, first)| first)),
                    _ => sorted.set(source, rng.below(range), since_of(rng.below(3))),
                }
                assert_eq!(
                    sorted.queue.at(source).as_nanos(),
                    sorted.of[source as usize].map_or(u64::MAX, |(at, ..)| at)
                );
                sorted.first(rng.below(range));
            }
            while let Some((_, source)) = sorted.first(0) {
                sorted.cancel(source);
            }
        }
    }

    #[test]
    fn what_is_due_later_than_all_buckets_comes_in_its_time() {
        let (mut sorted, mut rng) = (Sorted::new(0, 0, 4000), Rng::derive(1, "later"));
        (0..4000).for_each(|source| sorted.set(source, rng.below(1 << 20), Since::default()));
        for _ in 0..300_000 {
            let (now, first) = sorted.first(0).expect("events are pending");
            let least = if rng.below(100) == 0 { 12 << 20 } else { 0 };
            sorted.set(first, now + least + rng.below(1 << 20), Since::default());
        }
    }

    #[test]
    fn whoever_was_first_comes_again_in_its_time() {
        // Waits of some nanoseconds, of which most end at the same time as others, up to some minutes.
        for digits in [4, 10, 20, 32, 38] {
            let mut rng = Rng::derive(digits, "hold");
            let mut sorted = Sorted::new(3, 2000, 5000);
            for source in 0..5000 {
                sorted.set(source, rng.below(1 << digits), Since::default());
            }
            for _ in 0..40_000 {
                let (now, first) = sorted.first(0).expect("events are pending");
                let (longest, since) = (2 << rng.below(digits), Since { at: nanos(now), cause: nanos(rng.below(2)) });
                sorted.set(first, now + rng.below(longest), since);
                match rng.below(20) {
                    0 => sorted.cancel(rng.below(4990) as Source),
                    1..4 => sorted.set(rng.below(5000) as Source, now + rng.below(2 << digits), since),
                    _ => (),
                }
            }
        }
    }
}
