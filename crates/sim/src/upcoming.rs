//! What will happen, in the order in which it will: by time, and what happens at the same time like events, by how long it has
//! been the next of where it comes from.

use airtcp_core::Instant;
use std::collections::VecDeque;

/// See the module.
#[derive(Debug)]
pub struct Upcoming<T> {
    all: VecDeque<Entry<T>>,
}

#[derive(Debug)]
struct Entry<T> {
    at: Instant,
    since: Instant,
    what: T,
}

impl<T> Upcoming<T> {
    /// Nothing.
    pub fn new() -> Self {
        Upcoming { all: VecDeque::new() }
    }

    /// When the first happens, and since when it has been the next.
    #[inline]
    pub fn first(&self) -> Option<(Instant, Instant)> {
        self.all.front().map(|first| (first.at, first.since))
    }

    /// Adds what happens at `at` and has been the next since `since`; nearly always it comes behind all others, or near the
    /// end. Says whether it is the first now.
    #[inline]
    pub fn push(&mut self, at: Instant, since: Instant, what: T) -> bool {
        let entry = Entry { at, since, what };
        if self.all.back().is_none_or(|last| last.at < at) {
            self.all.push_back(entry);
            return self.all.len() == 1;
        }
        self.insert(entry)
    }

    #[inline(never)]
    fn insert(&mut self, entry: Entry<T>) -> bool {
        let order = |entry: &Entry<T>| (entry.at, entry.since);
        let mut place = self.all.len();
        while place > 0 && order(&self.all[place - 1]) > order(&entry) {
            place -= 1;
        }
        self.all.insert(place, entry);
        place == 0
    }

    /// Takes the first if it happens by `now`.
    #[inline]
    pub fn pop(&mut self, now: Instant) -> Option<(Instant, T)> {
        if self.all.front()?.at > now {
            return None;
        }
        self.all.pop_front().map(|entry| (entry.at, entry.what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_first_is_the_earliest_and_of_several_at_a_time_the_next_for_longest() {
        let (mut upcoming, nanos) = (Upcoming::new(), Instant::from_nanos);
        let firsts = [(5, 1, 'c'), (9, 0, 'f'), (5, 0, 'b'), (5, 1, 'd'), (2, 2, 'a'), (7, 7, 'e')]
            .map(|(at, since, name)| upcoming.push(nanos(at), nanos(since), name));
        assert_eq!(firsts, [true, false, true, false, true, false]);
        assert_eq!(upcoming.first(), Some((nanos(2), nanos(2))));
        assert_eq!(upcoming.pop(nanos(1)), None);
        let names: String = std::iter::from_fn(|| upcoming.pop(nanos(9))).map(|(_, name)| name).collect();
        assert_eq!(names, "abcdef");
    }
}
