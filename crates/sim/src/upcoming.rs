//! What will come out of several links, in the order in which it will: by time, and what comes out at the same time in the
//! order in which as many events would have told of it.
//!
//! An event's place among those at its time is that of its cause, the event that made it the next of its source, not of when
//! it was put down here. For a packet that entered an idle link the cause is who sent it, for one that found others in the
//! link the arrival of the one before. So of two packets at the same time that one is first whose cause was earlier; if the
//! causes were at the same time, whose cause had itself been the next for longer; and if that says nothing either, and both
//! causes are arrivals that are still here, the one whose cause is first here. Where all this is equal, the one that was
//! sent first is first.

use crate::blocks::{Blocks, Place};
use crate::index::PipeId;
use crate::queue::Since;
use airtcp_core::Instant;

/// See the module. Each entry says where it goes, and what it is.
#[derive(Debug)]
pub struct Upcoming<G, T> {
    all: Blocks<Entry<G, T>>,
    /// What comes out later belongs behind all others, which are in one block: the end of time if they are not.
    latest: Instant,
}

/// The first where there is none.
const NONE: (Instant, Since) = (Instant::MAX, Since { at: Instant::ZERO, cause: Instant::ZERO });

/// Something that comes out of a link.
#[derive(Debug)]
pub struct Entry<G, T> {
    /// When.
    pub at: Instant,
    /// Since when it has been the next.
    pub since: Since,
    /// Out of which link.
    pub from: PipeId,
    /// Where it goes.
    pub goal: G,
    /// What.
    pub what: T,
}

impl<G, T> Entry<G, T> {
    /// By which entries are in order: when it comes out, and since when it has been the next.
    #[inline]
    fn key(&self) -> (Instant, Since) {
        (self.at, self.since)
    }
}

impl<G, T> Upcoming<G, T> {
    /// Nothing.
    pub fn new() -> Self {
        Upcoming { all: Blocks::new(), latest: Instant::ZERO }
    }

    /// When the first comes out, and since when it has been the next; the end of time without any.
    #[inline]
    pub fn first(&self) -> (Instant, Since) {
        self.all.front().map_or(NONE, Entry::key)
    }

    /// The entry that comes out when so many others have, a few.
    #[inline]
    pub fn ahead(&self, others: usize) -> Option<&Entry<G, T>> {
        self.all.ahead(others)
    }

    /// Adds an entry; nearly always it comes behind all others, or near the end. Says whether it is the first now.
    #[inline]
    pub fn push(&mut self, entry: Entry<G, T>) -> bool {
        if self.latest >= entry.at || !self.all.has_room() {
            return self.insert(entry);
        }
        self.latest = entry.at;
        let is_first = self.all.is_empty();
        self.all.push_short(entry);
        is_first
    }

    /// The same anywhere, and where there is no room.
    #[inline(never)]
    fn insert(&mut self, entry: Entry<G, T>) -> bool {
        let latest = self.latest.max(entry.at);
        let is_first = if self.all.back().is_some_and(|last| last.at < entry.at) {
            self.all.push(entry);
            false
        } else {
            self.insert_in_order(entry)
        };
        self.latest = if self.all.is_short() { latest } else { Instant::MAX };
        is_first
    }

    fn insert_in_order(&mut self, entry: Entry<G, T>) -> bool {
        let key = entry.key();
        let mut place = self.all.place_behind(|there| there.key() <= key);
        while let Some(before) = self.all.before(place).filter(|before| self.has_first_cause(&entry, *before)) {
            place = before;
        }
        self.all.insert(place, entry);
        place == Place::FIRST
    }

    /// Whether an entry that is not here yet comes before the one at `place`, if both come out at the same time and have been the next
    /// for as long.
    #[inline]
    fn has_first_cause(&self, new: &Entry<G, T>, place: Place) -> bool {
        let there = self.all.get(place).filter(|there| there.key() == new.key());
        there.is_some_and(|there| self.is_caused_before(new, there.from, place))
    }

    /// The same of one that comes out of the link `there`.
    #[cold]
    fn is_caused_before(&self, new: &Entry<G, T>, there: PipeId, place: Place) -> bool {
        if let Some(together) = self.places_at(new.at).find(|(_, entry)| entry.from == new.from) {
            return together.0 < place; // What comes out of a link at once comes out in one event.
        }
        let mut causes =
            self.places_at(new.since.at).filter(|(_, entry)| entry.from == new.from || entry.from == there);
        let is_first = causes.next().is_some_and(|(_, cause)| cause.from != there);
        is_first && causes.any(|(_, cause)| cause.from == there)
    }

    /// What comes out at a time, in order, and where it is.
    fn places_at(&self, at: Instant) -> impl Iterator<Item = (Place, &Entry<G, T>)> {
        let first = self.all.place_behind(|entry| entry.at < at);
        self.all.from(first).take_while(move |(_, entry)| entry.at == at)
    }

    /// How many come out by `now`.
    #[inline]
    pub fn due(&self, now: Instant) -> usize {
        self.all.count_before(|entry| entry.at <= now)
    }

    /// Takes the first.
    #[inline]
    pub fn pop(&mut self) -> Option<Entry<G, T>> {
        let (entry, is_used_up) = self.all.pop();
        if is_used_up {
            self.go_on();
        }
        entry
    }

    #[inline(never)]
    fn go_on(&mut self) {
        self.all.go_on();
        if self.all.is_short() {
            self.latest = self.all.back().map_or(Instant::ZERO, |last| last.at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FROM: [PipeId; 3] = [PipeId::at(0), PipeId::at(1), PipeId::at(2)];

    fn entry(at: u64, since: u64, cause: u64, from: PipeId, name: char) -> Entry<(), char> {
        let [at, since, cause] = [at, since, cause].map(Instant::from_nanos);
        Entry { at, since: Since { at: since, cause }, from, goal: (), what: name }
    }

    fn names(mut upcoming: Upcoming<(), char>) -> String {
        std::iter::from_fn(|| upcoming.pop()).map(|entry| entry.what).collect()
    }

    #[test]
    fn what_comes_first_is_the_earliest_and_of_several_at_a_time_the_next_for_longest() {
        let (mut upcoming, [a, b, c]) = (Upcoming::new(), FROM);
        let entries = [(5, 1, 1, a, 'd'), (9, 0, 0, a, 'g'), (5, 0, 0, b, 'b'), (5, 1, 1, c, 'e'), (5, 1, 0, b, 'c')];
        let firsts = entries.map(|(at, since, cause, from, name)| upcoming.push(entry(at, since, cause, from, name)));
        assert_eq!(firsts, [true, false, true, false, false]);
        assert!(upcoming.push(entry(2, 2, 2, c, 'a')) && !upcoming.push(entry(7, 7, 7, c, 'f')));
        let (at, since) = upcoming.first();
        assert_eq!((at.as_nanos(), since.at.as_nanos()), (2, 2));
        assert_eq!([1, 2, 4, 5, 9].map(|now| upcoming.due(Instant::from_nanos(now))), [0, 1, 1, 5, 7]);
        assert_eq!((names(upcoming).as_str(), Upcoming::<(), char>::new().first()), ("abcdefg", NONE));
    }

    #[test]
    fn whatever_comes_late_all_are_in_order() {
        let (mut upcoming, mut rng) = (Upcoming::new(), airtcp_core::Rng::derive(2, "upcoming"));
        for _ in 0..2_000 {
            let [at, since, cause] = [40, 3, 2].map(|below| rng.below(below));
            upcoming.push(entry(at, since, cause, FROM[rng.below(3) as usize], 'a'));
        }
        let keys: Vec<_> = upcoming.all.from(Place::FIRST).map(|(_, entry)| entry.key()).collect();
        assert!(keys.len() == 2_000 && keys.is_sorted());
    }

    #[test]
    fn what_was_sent_later_behind_the_first_comes_first() {
        let (mut upcoming, [a, b, c]) = (Upcoming::new(), FROM);
        // The links are equal, and in each a second packet comes out when the first has.
        for (at, since, from, name) in [(5, 1, a, 'a'), (5, 1, b, 'b'), (5, 1, c, 'c')] {
            upcoming.push(entry(at, since, 0, from, name));
        }
        for (from, name) in [(c, 'f'), (a, 'd'), (b, 'e')] {
            upcoming.push(entry(9, 5, 1, from, name));
        }
        assert_eq!(names(upcoming), "abcdef");
    }

    #[test]
    fn what_comes_out_of_a_link_at_once_stays_together() {
        let (mut upcoming, [a, b, _]) = (Upcoming::new(), FROM);
        for (from, name) in [(a, 'a'), (b, 'c'), (a, 'b'), (b, 'd')] {
            upcoming.push(entry(5, 1, 1, from, name));
        }
        assert_eq!(names(upcoming), "abcd");
    }
}
