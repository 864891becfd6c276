//! The event queue: when each source of events is due, and which is due first.
//!
//! Of events that are due at the same time that one comes first which has been the next of its source for longer, as who puts
//! it here says; of two that have been for as long the one that was put here first.
//!
//! Every link direction and every element has one pending event at most, so the queue has one place for each and stays as
//! small as the topology, however many packets are in flight. It is a tournament: the earliest of four places goes on to
//! the next level, up to a single winner, or until the same goes on as before. Which of two is earlier is nothing that a
//! processor would have to guess.

use airtcp_core::{Instant, count_one};
use std::hint;
use std::ops::Range;

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
        let [ours, others] =
            [self, other].map(|since| u128::from(since.at.as_nanos()) << 64 | u128::from(since.cause.as_nanos()));
        if ours < others { other } else { self }
    }
}

/// An event: compared by time, then by what the queue knows of its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Key {
    /// Nanoseconds.
    at: u64,
    source: u64,
}

/// From here on a time means never. Every source has a never of its own, so that only events which are due compare as equal.
const NEVER: u64 = u64::MAX - (1 << 33);
/// Nobody's event.
const NOBODY: Key = Key { at: u64::MAX, source: u64::MAX };

impl Key {
    fn new(at: Instant, source: Source) -> Key {
        Key { at: at.as_nanos(), source: u64::from(source) }
    }

    fn never(source: Source) -> Key {
        Key::new(Instant::from_nanos(NEVER + u64::from(source)), source)
    }

    fn is_due(self) -> bool {
        self.at < NEVER
    }

    fn source(self) -> Source {
        self.source as Source
    }

    /// The earlier of the two. Either is as likely as the other, so this must not become a branch.
    #[inline]
    fn earlier(self, other: Key, places: &[Place]) -> Key {
        if other.at == self.at {
            return self.next_for_longer(other, places);
        }
        let is_other = other.at < self.at;
        Key {
            at: hint::select_unpredictable(is_other, other.at, self.at),
            source: hint::select_unpredictable(is_other, other.source, self.source),
        }
    }

    #[cold]
    fn next_for_longer(self, other: Key, places: &[Place]) -> Key {
        let [ours, others] = [self, other].map(|key| places.get(key.source as usize));
        if others < ours { other } else { self }
    }
}

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
    fn put(&mut self, place: usize, key: Key, places: &[Place]) -> Key {
        let index = place % 4 * 2;
        let pair = self.key(index ^ 4).earlier(self.key(index ^ 6), places);
        let others = pair.earlier(self.key(index ^ 2), places);
        (self.0[index], self.0[index + 1]) = (key.at, key.source);
        key.earlier(others, places)
    }
}

/// Some of the sources, numbered from `from` on.
#[derive(Debug)]
struct Tournament {
    from: usize,
    /// Level after level, the sources' own places first.
    groups: Vec<Group>,
    /// Index of the first group of each level above these.
    upper: Vec<usize>,
    first: Key,
}

impl Tournament {
    /// Of sources none of which has an event.
    fn new(sources: Range<usize>) -> Tournament {
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

    /// What is put for a source.
    #[inline]
    fn key(&self, source: Source) -> Key {
        let place = source as usize - self.from;
        self.groups[place / 4].key(place % 4 * 2)
    }

    #[inline]
    fn put(&mut self, key: Key, places: &[Place]) {
        let place = key.source() as usize - self.from;
        let group = &mut self.groups[place / 4];
        if group.key(place % 4 * 2) == key {
            return self.put_again(key, places);
        }
        let (mut place, mut first) = (place / 4, group.put(place, key, places));
        for start in &self.upper {
            let group = &mut self.groups[start + place / 4];
            if group.key(place % 4 * 2) == first {
                return; // The same goes on as before, so nothing changes above.
            }
            first = group.put(place, first, places);
            place /= 4;
        }
        self.first = first;
    }

    /// Puts a key that is there. An event may have another place among those at its time now, which the same key would not show.
    #[cold]
    fn put_again(&mut self, key: Key, places: &[Place]) {
        if key.is_due() {
            self.put(Key::never(key.source()), places);
            self.put(key, places);
        }
    }
}

/// Pending events, one at most for each source.
#[derive(Debug)]
pub struct EventQueue {
    /// The few sources that have most events, so that these have few opponents.
    busy: Tournament,
    others: Tournament,
    /// Those that have fewest.
    calm: Tournament,
    /// The first of `others` and `calm`.
    rest: Key,
    /// Of each source, among those that are due at the same time.
    places: Vec<Place>,
    /// Events put here.
    put: u64,
}

/// What decides between two that are due at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    since: Since,
    put: u64,
}

impl EventQueue {
    /// A queue for as many sources, none of which has an event: the first `busy` are those that have most, those from `calm` on
    /// have fewest.
    pub fn new(busy: usize, calm: usize, sources: usize) -> Self {
        let [busy, others, calm] = [0..busy, busy..calm, calm..sources].map(Tournament::new);
        EventQueue { busy, others, calm, rest: NOBODY, places: vec![Place::default(); sources], put: 0 }
    }

    /// The earliest event if it is due by `end`. It stays until its source is set anew or cancelled.
    #[inline]
    pub fn first(&self, end: Instant) -> Option<(Instant, Source)> {
        let first = self.busy.first.earlier(self.rest, &self.places);
        if first.at > end.as_nanos().min(NEVER - 1) {
            return None;
        }
        Some((Instant::from_nanos(first.at), first.source()))
    }

    /// When the source is due; the end of time for never.
    #[inline]
    pub fn at(&self, source: Source) -> Instant {
        let key = self.key(source);
        if key.is_due() { Instant::from_nanos(key.at) } else { Instant::MAX }
    }

    /// What is put for a source.
    #[inline]
    fn key(&self, source: Source) -> Key {
        let EventQueue { busy, others, calm, .. } = self;
        match source as usize {
            place if place < others.from => busy.key(source),
            place if place < calm.from => others.key(source),
            _ => calm.key(source),
        }
    }

    /// Since when the event of a source that is due has been its next.
    #[inline]
    pub fn since(&self, source: Source) -> Since {
        self.places[source as usize].since
    }

    /// The source is due at `at`, which has been its next event since `since`, and no longer at any other time; the end of
    /// time is never.
    #[inline]
    pub fn set(&mut self, source: Source, at: Instant, since: Since) {
        if at.as_nanos() >= NEVER {
            return self.cancel(source);
        }
        count_one(&mut self.put);
        self.places[source as usize] = Place { since, put: self.put };
        self.put(Key::new(at, source));
    }

    /// The source is not due.
    pub fn cancel(&mut self, source: Source) {
        self.put(Key::never(source));
    }

    /// Says what is due of a source to its tournament. Which that is has to be a branch: whoever sets an event mostly knows, and
    /// nothing waits for it.
    #[inline]
    fn put(&mut self, key: Key) {
        let EventQueue { busy, others, calm, rest, places, .. } = self;
        match key.source() as usize {
            place if place < others.from => return busy.put(key, places),
            place if place < calm.from => others.put(key, places),
            _ => calm.put(key, places),
        }
        *rest = others.first.earlier(calm.first, places);
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

    #[test]
    fn events_come_in_the_order_of_a_sorted_map() {
        let mut rng = Rng::derive(1, "queue");
        let mut queue = EventQueue::new(7, 20, 50);
        let mut sorted: BTreeMap<(u64, u64, u32), Source> = BTreeMap::new();
        for order in 0..20_000 {
            let (source, time, since) = (rng.below(50) as Source, rng.below(300), rng.below(3));
            sorted.retain(|_, other| *other != source);
            if rng.below(4) == 0 {
                queue.cancel(source);
            } else {
                queue.set(source, nanos(time), since_of(since));
                sorted.insert((time, since, order), source);
            }
            let expected = sorted.first_key_value().map(|((at, ..), source)| (nanos(*at), *source));
            assert_eq!(queue.first(Instant::MAX), expected);
            let end = rng.below(300);
            assert_eq!(queue.first(nanos(end)), expected.filter(|(at, _)| *at <= nanos(end)));
        }
    }
}
