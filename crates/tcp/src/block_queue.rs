//! A queue that takes memory in small blocks of one size and gives them back when it gets shorter, all but one or two, and an eighth
//! of many: what it holds follows how long it is, not how long it once was (but for eight bytes a block), and what one queue gives
//! back fits any other.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

/// Entries of a block.
const BLOCK: usize = 16;
/// Of so many blocks one may lie before the first entry: those behind it move up when it is left, which must not be often.
const BLOCKS_FOR_ONE: usize = 8;

/// See the module.
#[derive(Clone)]
pub struct BlockQueue<T> {
    blocks: Vec<Box<[T; BLOCK]>>,
    /// Where the first entry is, counted from the beginning of the first block.
    head: usize,
    len: usize,
}

impl<T> Default for BlockQueue<T> {
    fn default() -> Self {
        BlockQueue { blocks: Vec::new(), head: 0, len: 0 }
    }
}

impl<T: Copy + fmt::Debug> fmt::Debug for BlockQueue<T> {
    /// What is in it, and not what was.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries((0..self.len()).filter_map(|index| self.get(index))).finish()
    }
}

impl<T: Copy> BlockQueue<T> {
    /// How many entries there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// True without any.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The first entry.
    #[inline]
    pub fn first(&self) -> Option<&T> {
        self.get(0)
    }

    /// The entry that so many others are before.
    #[inline]
    pub fn get(&self, index: usize) -> Option<&T> {
        let place = self.place(index)?;
        self.blocks.get(place / BLOCK).map(|block| &block[place % BLOCK])
    }

    /// The same, to change it.
    #[inline]
    pub fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        let place = self.place(index)?;
        self.blocks.get_mut(place / BLOCK).map(|block| &mut block[place % BLOCK])
    }

    /// Where an entry is, counted from the beginning of the first block.
    #[inline]
    fn place(&self, index: usize) -> Option<usize> {
        (index < self.len).then_some(self.head.wrapping_add(index))
    }

    /// Adds an entry behind all others.
    #[inline]
    pub fn push(&mut self, entry: T) {
        let place = self.head.wrapping_add(self.len);
        self.len += 1;
        match self.blocks.get_mut(place / BLOCK) {
            Some(block) => block[place % BLOCK] = entry,
            None => self.add_block(entry),
        }
    }

    #[cold]
    fn add_block(&mut self, entry: T) {
        self.blocks.push(Box::new([entry; BLOCK]));
    }

    /// Takes the first `count` entries out, or all there are.
    #[inline]
    pub fn pop(&mut self, count: usize) {
        let count = count.min(self.len);
        self.len -= count;
        self.head = self.head.wrapping_add(count);
        if self.head / BLOCK > self.blocks.len() / BLOCKS_FOR_ONE {
            self.leave_blocks();
        }
    }

    /// Blocks before the first entry are not needed there. One or two are kept for what comes next.
    #[inline(never)]
    fn leave_blocks(&mut self) {
        self.blocks.rotate_left(self.head / BLOCK);
        self.head %= BLOCK;
        self.blocks.truncate((self.head + self.len).div_ceil(BLOCK) + 1);
    }

    /// How many entries at the front satisfy what all behind the first that does not do not, either.
    pub fn partition_point(&self, is_before: impl Fn(&T) -> bool) -> usize {
        let (mut from, mut to) = (0, self.len());
        while from < to {
            let middle = from.midpoint(to);
            if self.get(middle).is_some_and(&is_before) {
                from = middle + 1;
            } else {
                to = middle;
            }
        }
        from
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airtcp_core::Rng;
    use alloc::collections::VecDeque;

    #[test]
    fn it_is_a_queue_and_never_has_more_than_two_blocks_to_spare_and_an_eighth_of_all() {
        let (mut queue, mut model, mut rng) = (BlockQueue::default(), VecDeque::new(), Rng::derive(1, "queue"));
        for n in 0..20_000_u64 {
            // Grows and shrinks for long.
            if rng.below(200) < 60 + n / 4_000 % 2 * 80 {
                let count = rng.below(4) as usize;
                queue.pop(count);
                model.drain(..count.min(model.len()));
            } else {
                queue.push(n);
                model.push_back(n);
            }
            if let Some(index) = model.len().checked_sub(1).map(|last| rng.below(last as u64 + 1) as usize) {
                *queue.get_mut(index).unwrap() = n;
                model[index] = n;
            }
            assert_eq!((queue.len(), queue.is_empty()), (model.len(), model.is_empty()));
            let index = rng.below(model.len() as u64 + 2) as usize;
            assert_eq!(queue.get(index), model.get(index));
            assert_eq!(queue.first(), model.front());
            let blocks = queue.blocks.len();
            let needed = model.len().div_ceil(BLOCK);
            assert!(blocks <= needed + 2 + blocks / BLOCKS_FOR_ONE, "{blocks} {}", model.len());
        }
    }

    #[test]
    fn a_place_is_found_as_in_any_sorted_list() {
        for (len, head) in [(0, 0), (1, 0), (7, 3), (8, 0), (30, 5)] {
            let mut queue = BlockQueue::default();
            (0..head).for_each(|_| queue.push(0));
            (0..len).for_each(|n| queue.push(n));
            queue.pop(head as usize);
            for bound in 0..=len {
                assert_eq!(queue.partition_point(|n| *n < bound), bound as usize);
            }
        }
    }
}
