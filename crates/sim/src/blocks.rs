//! A list whose first entry is taken and that takes others anywhere, mostly behind all or near the end. It is a list of blocks of
//! bounded length, so that an entry that is put before many others moves few of them.

use std::collections::VecDeque;

/// Most entries of a block: half of them move at most for one that is put before them.
const MOST: usize = 64;
/// Room that a block has at first.
const LEAST: usize = 4;

/// See the module. The first block and the last are used as if there were no others.
#[derive(Debug)]
pub struct Blocks<T> {
    /// Empty only if all is.
    first: VecDeque<T>,
    /// None of these is empty.
    middle: VecDeque<VecDeque<T>>,
    /// What was added last, if there is anything else.
    last: VecDeque<T>,
    /// The memory of the next block, if it is here.
    spare: VecDeque<T>,
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
        Blocks { first: VecDeque::new(), middle: VecDeque::new(), last: VecDeque::new(), spare: VecDeque::new() }
    }

    /// The first.
    #[inline]
    pub fn front(&self) -> Option<&T> {
        self.first.front()
    }

    /// True without any.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first.is_empty()
    }

    /// The entry behind so many others, if it is in one of the first two blocks.
    #[inline]
    pub fn ahead(&self, others: usize) -> Option<&T> {
        self.first.get(others).or_else(|| self.middle.front().unwrap_or(&self.last).get(others - self.first.len()))
    }

    /// Takes the first.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        let entry = self.first.pop_front();
        if self.first.is_empty() {
            self.go_on();
        }
        entry
    }

    /// The first block is empty: the next one takes its place.
    #[inline]
    fn go_on(&mut self) {
        match self.middle.pop_front() {
            Some(next) => self.spare = std::mem::replace(&mut self.first, next),
            None => std::mem::swap(&mut self.first, &mut self.last),
        }
    }

    /// The number of the last block.
    fn end(&self) -> usize {
        self.middle.len() + 1
    }

    fn block(&self, number: usize) -> &VecDeque<T> {
        match number.checked_sub(1) {
            None => &self.first,
            Some(number) => self.middle.get(number).unwrap_or(&self.last),
        }
    }

    fn block_mut(&mut self, number: usize) -> &mut VecDeque<T> {
        match number.checked_sub(1) {
            None => &mut self.first,
            Some(number) => self.middle.get_mut(number).unwrap_or(&mut self.last),
        }
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
        let block = match self.last.front() {
            Some(last) if is_before(last) => self.end(),
            _ => count_from_back(&self.middle, |block| is_before(&block[0])),
        };
        Place { block, index: count_from_back(self.block(block), is_before) }
    }

    /// The entries from a place of [`Blocks::place_behind`] on, and where they are.
    pub fn from(&self, place: Place) -> impl Iterator<Item = (Place, &T)> {
        let Place { block: first, index } = place;
        (first..=self.end()).flat_map(move |block| {
            let skipped = if block == first { index } else { 0 };
            let entries = self.block(block).range(skipped..);
            entries.zip(skipped..).map(move |(entry, index)| (Place { block, index }, entry))
        })
    }

    /// How many entries satisfy what none behind the first does that does not.
    pub fn count_before(&self, is_before: impl Fn(&T) -> bool) -> usize {
        let mut count = 0;
        for block in std::iter::once(&self.first).chain(&self.middle).chain(std::iter::once(&self.last)) {
            let here = block.partition_point(&is_before);
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
            block.push_back(entry);
        } else {
            self.push_far(entry);
        }
    }

    /// The same where the block has no room.
    #[inline(never)]
    fn push_far(&mut self, entry: T) {
        let block = if self.first.is_empty() { &mut self.first } else { &mut self.last };
        if !make_room(block) {
            let mut next = std::mem::take(&mut self.spare);
            next.reserve_exact(MOST);
            self.middle.push_back(std::mem::replace(block, next));
        }
        block.push_back(entry);
    }

    /// Puts an entry at a place, before the one that is there.
    pub fn insert(&mut self, place: Place, entry: T) {
        let Place { block, index } = place;
        let here = self.block_mut(block);
        if here.len() < here.capacity() || make_room(here) {
            return here.insert(index, entry);
        }
        let mut next = here.split_off(MOST / 2);
        match index.checked_sub(MOST / 2) {
            None => here.insert(index, entry),
            Some(index) => {
                make_room(&mut next);
                next.insert(index, entry);
            }
        }
        if block == self.end() {
            self.middle.push_back(std::mem::replace(&mut self.last, next));
        } else {
            self.middle.insert(block, next);
        }
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

/// Makes room for as many entries as there are; false if there is to be none in this block.
fn make_room<T>(block: &mut VecDeque<T>) -> bool {
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
        assert!(blocks.from(Place::FIRST).map(|(_, there)| there).eq(&model) && !blocks.middle.is_empty());
        let places: Vec<Place> = blocks.from(Place::FIRST).map(|(place, _)| place).collect();
        assert!(places.is_sorted());
        assert!(blocks.middle.iter().all(|block| !block.is_empty() && block.len() <= MOST && block.capacity() <= MOST));
        assert!([&blocks.first, &blocks.last, &blocks.spare].iter().all(|block| block.capacity() <= MOST));
    }
}
