//! The event queue: when each source of events is due, and which is due first; ties go by the order of setting.
//!
//! Every link direction and every element has one pending event at most, so the queue has one place for each and stays as
//! small as the topology, however many packets are in flight. It is a tournament: the earliest of four places goes on to
//! the next level, up to a single winner, or until the same goes on as before. Which of two is earlier is nothing that a
//! processor would have to guess.

use airtcp_core::Instant;
use std::hint;

/// A source of events, counted from 0.
pub type Source = u32;

/// An event: compared by time, then by order of setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    /// Nanoseconds.
    at: u64,
    /// Order of setting in the upper half, source in the lower.
    rest: u64,
}

/// From here on a time means never. Every source has a never of its own, so that only events which are due compare as equal.
const NEVER: u64 = u64::MAX - (1 << 33);

impl Key {
    fn new(at: Instant, order: u32, source: Source) -> Key {
        Key { at: at.as_nanos(), rest: u64::from(order) << 32 | u64::from(source) }
    }

    fn never(source: Source) -> Key {
        Key::new(Instant::from_nanos(NEVER + u64::from(source)), u32::MAX, source)
    }

    fn is_due(self) -> bool {
        self.at < NEVER
    }

    fn source(self) -> Source {
        self.rest as Source
    }

    /// The earlier of the two. Either is as likely as the other, so this must not become a branch.
    #[inline]
    fn earlier(self, other: Key) -> Key {
        if other.at == self.at {
            return self.set_earlier(other);
        }
        let is_other = other.at < self.at;
        Key {
            at: hint::select_unpredictable(is_other, other.at, self.at),
            rest: hint::select_unpredictable(is_other, other.rest, self.rest),
        }
    }

    #[cold]
    fn set_earlier(self, other: Key) -> Key {
        self.min(other)
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
        Key { at: self.0[index], rest: self.0[index + 1] }
    }

    /// The key at `place` is `key` now. Returns the earliest of the four.
    #[inline]
    fn put(&mut self, place: usize, key: Key) -> Key {
        let index = place % 4 * 2;
        let others = self.key(index ^ 4).earlier(self.key(index ^ 6)).earlier(self.key(index ^ 2));
        (self.0[index], self.0[index + 1]) = (key.at, key.rest);
        key.earlier(others)
    }
}

/// Pending events, one at most for each source.
#[derive(Debug)]
pub struct EventQueue {
    /// Level after level, the sources' own places first.
    groups: Vec<Group>,
    /// Index of the first group of each level.
    levels: Vec<usize>,
    first: Key,
    /// Orders given out.
    orders: u32,
}

impl EventQueue {
    /// A queue for as many sources, none of which has an event.
    pub fn new(sources: usize) -> Self {
        let (mut levels, mut groups, mut places) = (Vec::new(), 0, sources);
        while levels.is_empty() || places > 1 {
            levels.push(groups);
            places = places.div_ceil(4);
            groups += places;
        }
        let mut queue = EventQueue { groups: vec![Group::new(); groups], levels, first: Key::never(0), orders: 0 };
        (0..sources).for_each(|source| queue.cancel(source as Source));
        queue
    }

    /// The earliest event. It stays until its source is set anew or cancelled.
    #[inline]
    pub fn first(&self) -> Option<(Instant, Source)> {
        self.first.is_due().then_some((Instant::from_nanos(self.first.at), self.first.source()))
    }

    /// When the source is due; the end of time for never.
    #[inline]
    pub fn at(&self, source: Source) -> Instant {
        let key = self.groups[source as usize / 4].key(source as usize % 4 * 2);
        if key.is_due() { Instant::from_nanos(key.at) } else { Instant::MAX }
    }

    /// The source is due at `at`, and no longer at any other time; the end of time is never.
    #[inline]
    pub fn set(&mut self, source: Source, at: Instant) {
        if at.as_nanos() >= NEVER {
            return self.cancel(source);
        }
        if self.orders == u32::MAX {
            self.renumber();
        }
        self.orders += 1;
        self.put(Key::new(at, self.orders, source));
    }

    /// The source is not due.
    pub fn cancel(&mut self, source: Source) {
        self.put(Key::never(source));
    }

    #[inline]
    fn put(&mut self, key: Key) {
        let (mut place, mut first) = (key.source() as usize, key);
        for start in &self.levels {
            let group = &mut self.groups[start + place / 4];
            if group.key(place % 4 * 2) == first {
                return; // The same goes on as before, so nothing changes above.
            }
            first = group.put(place, first);
            place /= 4;
        }
        self.first = first;
    }

    /// Gives the pending events new orders, the same among each other, before there are none left.
    #[cold]
    fn renumber(&mut self) {
        let sources = self.levels.get(1).copied().unwrap_or(self.groups.len());
        let keys = self.groups[..sources].iter().flat_map(|group| [0, 2, 4, 6].map(|index| group.key(index)));
        let mut pending: Vec<Key> = keys.filter(|key| key.is_due()).collect();
        pending.sort_unstable();
        self.orders = 0;
        for old in pending {
            self.set(old.source(), Instant::from_nanos(old.at));
        }
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

    fn drain(queue: &mut EventQueue) -> Vec<Source> {
        let next = || {
            let (_, source) = queue.first()?;
            queue.cancel(source);
            Some(source)
        };
        std::iter::from_fn(next).collect()
    }

    #[test]
    fn ties_break_by_the_order_of_setting() {
        let mut queue = EventQueue::new(5);
        for (source, at) in [(3, 5), (4, 7), (1, 5), (2, 1), (3, 5)] {
            queue.set(source, nanos(at));
        }
        assert_eq!(drain(&mut queue), [2, 1, 3, 4]);
        assert_eq!(queue.first(), None);
    }

    #[test]
    fn any_number_of_sources_has_its_place() {
        assert_eq!(EventQueue::new(0).first(), None);
        for sources in 1..40 {
            let mut queue = EventQueue::new(sources as usize);
            for source in 0..sources {
                assert_eq!(queue.at(source), Instant::MAX);
                queue.set(source, nanos(u64::from(100 - source)));
            }
            assert_eq!(drain(&mut queue), (0..sources).rev().collect::<Vec<_>>());
        }
    }

    #[test]
    fn events_come_in_the_order_of_a_sorted_map() {
        let mut rng = Rng::derive(1, "queue");
        let mut queue = EventQueue::new(50);
        let mut sorted: BTreeMap<(u64, u32), Source> = BTreeMap::new();
        for order in 0..20_000 {
            let (source, time) = (rng.below(50) as Source, rng.below(300));
            sorted.retain(|_, other| *other != source);
            if rng.below(4) == 0 {
                queue.cancel(source);
            } else {
                queue.set(source, nanos(time));
                sorted.insert((time, order), source);
            }
            let expected = sorted.first_key_value().map(|((at, _), source)| (nanos(*at), *source));
            assert_eq!(queue.first(), expected);
        }
    }

    #[test]
    fn orders_start_anew_before_they_run_out() {
        let mut queue = EventQueue::new(3);
        queue.orders = u32::MAX - 2;
        for source in [2, 0, 1] {
            queue.set(source, nanos(9));
        }
        assert!(queue.orders < 10);
        assert_eq!(drain(&mut queue), [2, 0, 1]);
    }
}
