//! A list whose first entry is taken and that takes others anywhere, mostly behind all or near the end. It is a list of blocks of
//! bounded length, so that an entry that is put before many others moves few of them.

use std::collections::VecDeque;
use std::mem;

/// Most entries of a block: so many move at most for one that is put before them.
const MOST: usize = 64;
/// Room that a block has at first.
const LEAST: usize = 4;

/// Entries in one piece of memory. None is where one was that was taken: before all others, in the first block only.
type Block<T> = Vec<Option<T>>;

/// See the module. The first block and the last are used as if there were no others.
#[derive(Debug)]
pub struct Blocks<T> {
    /// All of it was taken only if there is nothing else, and then it is empty.
    first: Block<T>,
    /// So many of the first block were taken.
    taken: usize,
    /// None of these is empty.
    middle: VecDeque<Block<T>>,
    /// What was added last, if there is anything else.
    last: Block<T>,
    /// The memory of the next block, if it is here.
    spare: Block<T>,
}

/// Where an entry is, or would be put. Of two places of entries the lower comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    block: usize,
    index: usize,
}

impl<T> Blocks<T> {
    /// Nothing.
    pub fn new() -> Self {
        let [first, last, spare] = [const { Vec::new() }; 3];
        Blocks { first, taken: 0, middle: VecDeque::new(), last, spare }
    }

    /// The first.
    #[inline]
    pub fn front(&self) -> Option<&T> {
        self.first.get(self.taken)?.as_ref()
    }

    /// Where the first is, or would be.
    pub fn front_place(&self) -> Place {
        Place { block: 0, index: self.taken }
    }

    /// True without any.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first.is_empty()
    }

    /// The entry behind so many others, if it is in one of the first two blocks.
    #[inline]
    pub fn ahead(&self, others: usize) -> Option<&T> {
        let index = self.taken.wrapping_add(others);
        let entry = match index.checked_sub(self.first.len()) {
            None => &self.first[index],
            Some(index) => self.middle.front().unwrap_or(&self.last).get(index)?,
        };
        entry.as_ref()
    }

    /// Takes the first.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        let entry = self.first.get_mut(self.taken)?.take();
        self.taken = self.taken.wrapping_add(1);
        if self.taken == self.first.len() {
            self.go_on();
        }
        entry
    }

    /// The first block is used up: the next one takes its place.
    #[inline]
    fn go_on(&mut self) {
        self.taken = 0;
        self.first.clear();
        match self.middle.pop_front() {
            Some(next) => self.spare = mem::replace(&mut self.first, next),
            None => mem::swap(&mut self.first, &mut self.last),
        }
    }

    /// The number of the last block.
    fn end(&self) -> usize {
        self.middle.len() + 1
    }

    fn block(&self, number: usize) -> &Block<T> {
        match number.checked_sub(1) {
            None => &self.first,
            Some(number) => self.middle.get(number).unwrap_or(&self.last),
        }
    }

    fn block_mut(&mut self, number: usize) -> &mut Block<T> {
        match number.checked_sub(1) {
            None => &mut self.first,
            Some(number) => self.middle.get_mut(number).unwrap_or(&mut self.last),
        }
    }

    /// The entry at a place.
    pub fn get(&self, place: Place) -> Option<&T> {
        self.block(place.block).get(place.index)?.as_ref()
    }

    /// Where the entry before a place is.
    pub fn before(&self, place: Place) -> Option<Place> {
        let Place { block, index } = place;
        match index.checked_sub(1) {
            Some(index) => (place != self.front_place()).then_some(Place { block, index }),
            None => block.checked_sub(1).map(|block| Place { block, index: self.block(block).len() - 1 }),
        }
    }

    /// Behind all entries that satisfy what none behind the first does that does not.
    pub fn place_behind(&self, is_before: impl Fn(&T) -> bool) -> Place {
        // What was taken was before all that is here.
        let is_before = |entry: &Option<T>| entry.as_ref().is_none_or(&is_before);
        let block = match self.last.first() {
            Some(last) if is_before(last) => self.end(),
            _ => self.middle.partition_point(|block| is_before(&block[0])),
        };
        Place { block, index: count_from_back(self.block(block), is_before) }
    }

    /// The entries from a place of [`Blocks::place_behind`] on, and where they are.
    pub fn from(&self, place: Place) -> impl Iterator<Item = (Place, &T)> {
        let Place { block: first, index } = place;
        (first..=self.end()).flat_map(move |block| {
            let skipped = if block == first { index } else { 0 };
            let entries = self.block(block)[skipped..].iter().flatten();
            entries.zip(skipped..).map(move |(entry, index)| (Place { block, index }, entry))
        })
    }

    /// How many entries satisfy what none behind the first does that does not.
    pub fn count_before(&self, is_before: impl Fn(&T) -> bool) -> usize {
        let middle = self.middle.iter().map(|block| &block[..]);
        let mut count = 0;
        for block in [&self.first[self.taken..]].into_iter().chain(middle).chain([&self.last[..]]) {
            let here = block.partition_point(|entry| entry.as_ref().is_some_and(&is_before));
            count += here;
            if here < block.len() {
                break;
            }
        }
        count
    }

    /// Adds an entry behind all others.
    #[inline]
    pub fn push(&mut self, entry: T) {
        let block = if self.first.is_empty() { &mut self.first } else { &mut self.last };
        if block.len() < block.capacity() {
            block.push(Some(entry));
        } else {
            self.push_far(entry);
        }
    }

    /// The same where the block has no room.
    #[inline(never)]
    fn push_far(&mut self, entry: T) {
        let block = if self.first.is_empty() { &mut self.first } else { &mut self.last };
        if !make_room(block) {
            let mut next = mem::take(&mut self.spare);
            next.reserve_exact(MOST);
            self.middle.push_back(mem::replace(block, next));
        }
        block.push(Some(entry));
    }

    /// Puts an entry at a place, before the one that is there.
    pub fn insert(&mut self, place: Place, entry: T) {
        let Place { block, index } = place;
        let here = self.block_mut(block);
        if here.len() < here.capacity() || make_room(here) {
            return here.insert(index, Some(entry));
        }
        if block == 0 && self.taken > 0 {
            let taken = mem::take(&mut self.taken);
            self.first.drain(..taken);
            return self.first.insert(index - taken, Some(entry));
        }
        self.split(place, entry);
    }

    /// The same in a block that is full.
    fn split(&mut self, place: Place, entry: T) {
        let Place { block, index } = place;
        let here = self.block_mut(block);
        let mut next = here.split_off(MOST / 2);
        match index.checked_sub(MOST / 2) {
            None => here.insert(index, Some(entry)),
            Some(index) => {
                make_room(&mut next);
                next.insert(index, Some(entry));
            }
        }
        if block == self.end() {
            self.middle.push_back(mem::replace(&mut self.last, next));
        } else {
            self.middle.insert(block, next);
        }
    }
}

/// How many entries satisfy what none behind the first does that does not. They are looked for from the back, in steps that double: what
/// is looked for is mostly near it, and what is far from both ends has left the near caches.
#[inline]
fn count_from_back<T>(entries: &[T], is_before: impl Fn(&T) -> bool) -> usize {
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

/// Makes room for as many entries as there are; false if there is to be none in this block.
fn make_room<T>(block: &mut Block<T>) -> bool {
    let more = block.len().max(LEAST).min(MOST - block.len());
    block.reserve_exact(more);
    more > 0
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
                assert_eq!(blocks.pop(), model.pop_front());
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
            assert_eq!(blocks.front(), model.front());
            assert_eq!((blocks.is_empty(), blocks.ahead(6)), (model.is_empty(), model.get(6)));
            let bound = n / 4 + rng.below(2_000);
            assert_eq!(blocks.count_before(|there| *there < bound), model.partition_point(|there| *there < bound));
        }
        assert!(blocks.from(blocks.front_place()).map(|(_, there)| there).eq(&model) && !blocks.middle.is_empty());
        let places: Vec<Place> = blocks.from(blocks.front_place()).map(|(place, _)| place).collect();
        assert!(places.is_sorted());
        assert!(blocks.middle.iter().all(|block| !block.is_empty() && block.len() <= MOST && block.capacity() <= MOST));
        assert!([&blocks.first, &blocks.last, &blocks.spare].iter().all(|block| block.capacity() <= MOST));
    }
}
