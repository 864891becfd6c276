//! A list whose first entry is taken and that takes others anywhere, mostly behind all or near the end. Where an entry would have to move
//! many others, the list is split: long lists become lists of short blocks.

use std::collections::VecDeque;

/// What is added behind all others begins a new block once the last one, if it is not the first, has so many. One that is put among others
/// moves half as many at most.
const MOST: usize = 64;
/// Room for so many is made at least.
const LEAST: usize = 16;

/// See the module. Lists of one block are used as if there were no blocks.
#[derive(Debug)]
pub struct Blocks<T> {
    /// Empty only if all is.
    first: VecDeque<T>,
    /// The blocks behind it, none of which is empty.
    rest: VecDeque<VecDeque<T>>,
}

/// Where an entry is, or would be put. Of two places of entries the lower comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    block: usize,
    index: usize,
}

impl Place {
    /// Before all entries.
    pub const FIRST: Place = Place { block: 0, index: 0 };
}

impl<T> Blocks<T> {
    /// Nothing.
    pub fn new() -> Self {
        Blocks { first: VecDeque::new(), rest: VecDeque::new() }
    }

    /// The first.
    #[inline]
    pub fn front(&self) -> Option<&T> {
        self.first.front()
    }

    /// The last.
    pub fn back(&self) -> Option<&T> {
        self.rest.back().unwrap_or(&self.first).back()
    }

    /// True without any.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first.is_empty()
    }

    /// The entry behind so many others, few enough that it is in one of the first two blocks.
    #[inline]
    pub fn ahead(&self, others: usize) -> Option<&T> {
        self.first.get(others).or_else(|| self.rest.front()?.get(others - self.first.len()))
    }

    /// True if all are in one block.
    #[inline]
    pub fn is_short(&self) -> bool {
        self.rest.is_empty()
    }

    /// True if the first block has room for another entry.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.first.len() < self.first.capacity()
    }

    /// Adds an entry behind all others, which are in one block that has room for it.
    #[inline]
    pub fn push_short(&mut self, entry: T) {
        debug_assert!(self.is_short() && self.has_room(), "the entry is put into the first block");
        self.first.push_back(entry);
    }

    /// Takes the first; true if another block has to be the first now: see [`Blocks::go_on`].
    #[inline]
    pub fn pop(&mut self) -> (Option<T>, bool) {
        let entry = self.first.pop_front();
        (entry, self.first.is_empty() && !self.rest.is_empty())
    }

    /// The first block is empty: the next one takes its place.
    #[inline(never)]
    pub fn go_on(&mut self) {
        self.first = self.rest.pop_front().unwrap_or_default();
    }

    fn block(&self, number: usize) -> &VecDeque<T> {
        if number == 0 { &self.first } else { &self.rest[number - 1] }
    }

    /// The entry at a place.
    pub fn get(&self, place: Place) -> Option<&T> {
        self.block(place.block).get(place.index)
    }

    /// Where the entry before a place is.
    pub fn before(&self, place: Place) -> Option<Place> {
        let Place { block, index } = place;
        match index.checked_sub(1) {
            Some(index) => Some(Place { block, index }),
            None => block.checked_sub(1).map(|block| Place { block, index: self.block(block).len() - 1 }),
        }
    }

    /// Behind all entries that satisfy what none behind the first does that does not.
    pub fn place_behind(&self, is_before: impl Fn(&T) -> bool) -> Place {
        let block = count_from_back(&self.rest, |block| is_before(&block[0]));
        Place { block, index: count_from_back(self.block(block), is_before) }
    }

    /// The entries from a place of [`Blocks::place_behind`] on, and where they are.
    pub fn from(&self, place: Place) -> impl Iterator<Item = (Place, &T)> {
        let Place { block: first, index } = place;
        (first..=self.rest.len()).flat_map(move |block| {
            let skipped = if block == first { index } else { 0 };
            let entries = self.block(block).range(skipped..);
            entries.zip(skipped..).map(move |(entry, index)| (Place { block, index }, entry))
        })
    }

    /// How many entries satisfy what none behind the first does that does not.
    pub fn count_before(&self, is_before: impl Fn(&T) -> bool) -> usize {
        let mut count = 0;
        for block in std::iter::once(&self.first).chain(&self.rest) {
            let here = block.partition_point(&is_before);
            count += here;
            if here < block.len() {
                break;
            }
        }
        count
    }

    /// Adds an entry behind all others.
    pub fn push(&mut self, entry: T) {
        if self.rest.back().is_some_and(|last| last.len() >= MOST) {
            self.rest.push_back(VecDeque::with_capacity(MOST));
        }
        let last = self.rest.back_mut().unwrap_or(&mut self.first);
        make_room(last);
        last.push_back(entry);
    }

    /// Puts an entry at a place, before the one that is there.
    pub fn insert(&mut self, place: Place, entry: T) {
        let Place { block, index } = place;
        let here = if block == 0 { &mut self.first } else { &mut self.rest[block - 1] };
        if index.min(here.len() - index) <= MOST / 2 {
            make_room(here);
            return here.insert(index, entry);
        }
        let next = here.split_off(index);
        here.push_back(entry);
        self.rest.insert(block, next);
    }
}

/// Of long blocks an eighth more is made at a time: with thousands of flows they go through all the memory that they have.
fn make_room<T>(block: &mut VecDeque<T>) {
    let len = block.len();
    if len == block.capacity() {
        block.reserve_exact(len.clamp(LEAST, MOST).max(len / 8));
    }
}

/// How many entries satisfy what none behind the first does that does not.
#[inline]
fn count_from_back<T>(entries: &VecDeque<T>, is_before: impl Fn(&T) -> bool) -> usize {
    let (front, back) = entries.as_slices();
    match back.first() {
        Some(first) if is_before(first) => front.len() + count_from_back_of(back, is_before),
        _ => count_from_back_of(front, is_before),
    }
}

/// The same of what lies in one piece. They are looked for from the back, in steps that double: what is looked for is mostly near it,
/// and what is far from both ends has left the near caches.
#[inline]
fn count_from_back_of<T>(entries: &[T], is_before: impl Fn(&T) -> bool) -> usize {
    let (mut from, mut past, mut step) = (0, entries.len(), 1);
    while let Some(probe) = past.checked_sub(step) {
        if is_before(&entries[probe]) {
            from = probe + 1;
            break;
        }
        (past, step) = (probe, 2 * step);
    }
    from + entries[from..past].partition_point(is_before)
}

#[cfg(test)]
mod tests {
    use super::*;
    use airtcp_core::Rng;

    #[test]
    fn it_is_a_list_in_order_however_long_it_is() {
        let (mut blocks, mut model, mut rng) = (Blocks::new(), VecDeque::new(), Rng::derive(1, "blocks"));
        for n in 0..20_000_u64 {
            // Grows and shrinks for long.
            if rng.below(200) < 60 + n / 4_000 % 2 * 80 {
                let (entry, is_used_up) = blocks.pop();
                if is_used_up {
                    blocks.go_on();
                }
                assert_eq!(entry, model.pop_front());
            } else {
                let late = rng.below(2) * 2_000;
                let number = n / 4 + rng.below(late + 1);
                let (place, index) =
                    (blocks.place_behind(|there| *there < number), model.partition_point(|there| *there < number));
                assert_eq!(blocks.from(place).map(|(_, there)| *there).next(), model.get(index).copied());
                assert_eq!(
                    blocks.before(place).and_then(|before| blocks.get(before)),
                    index.checked_sub(1).map(|before| &model[before])
                );
                blocks.insert(place, number);
                model.insert(index, number);
            }
            assert_eq!((blocks.front(), blocks.back()), (model.front(), model.back()));
            assert_eq!((blocks.is_empty(), blocks.ahead(6)), (model.is_empty(), model.get(6)));
            let bound = n / 4 + rng.below(2_000);
            assert_eq!(blocks.count_before(|there| *there < bound), model.partition_point(|there| *there < bound));
        }
        assert!(blocks.from(Place::FIRST).map(|(_, there)| there).eq(&model) && !blocks.is_short());
        let places: Vec<Place> = blocks.from(Place::FIRST).map(|(place, _)| place).collect();
        assert!(places.is_sorted() && !blocks.rest.iter().any(VecDeque::is_empty));
    }
}
