//! Turns of contenders that count the same slots: whose comes first.
//!
//! A wheel with a place for each slot of the standard's longest backoff. Those whose turns come with the same slot are a list, and a
//! bit of each place tells whether there is one. So the first is found as fast among many as among few, and of the others only
//! those of the same slot are looked at.

use crate::index::InterfaceId;
use std::iter;
use typed_index_collections::{TiVec, ti_vec};

/// No two turns are so many slots apart.
pub const SLOTS: u32 = 1024;

const WORDS: usize = SLOTS as usize / 64;

/// See the module. Slots are counted from the beginning of the run.
#[derive(Debug)]
pub struct Turns {
    /// A bit for each place.
    taken: [u64; WORDS],
    /// Who came last to each place that is taken.
    last: Vec<InterfaceId>,
    /// Who came before to the same place; who came first is before itself.
    before: TiVec<InterfaceId, InterfaceId>,
    len: usize,
}

impl Turns {
    /// Of so many interfaces, none of which has one.
    pub fn new(interfaces: usize) -> Self {
        let nobody = InterfaceId::AP;
        let last = vec![nobody; SLOTS as usize];
        Turns { taken: [0; WORDS], last, before: ti_vec![nobody; interfaces], len: 0 }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// The turn of an interface that has none comes with `slot`, less than [`SLOTS`] after `from`; none comes before `from`.
    pub fn put(&mut self, slot: u64, from: u64, index: InterfaceId) {
        debug_assert!((from..from + u64::from(SLOTS)).contains(&slot), "its place is that of another slot");
        let (place, word, bit) = place(slot);
        let is_taken = self.taken[word] & bit != 0;
        debug_assert!(!is_taken || self.at(slot).all(|other| other != index), "it has its turn already");
        self.before[index] = if is_taken { self.last[place] } else { index };
        self.last[place] = index;
        self.taken[word] |= bit;
        self.len += 1;
    }

    /// An interface gives up its turn, which comes with `slot`.
    pub fn remove(&mut self, slot: u64, index: InterfaceId) {
        debug_assert!(self.at(slot).any(|other| other == index), "its turn is another");
        let (place, word, bit) = place(slot);
        let (last, before) = (self.last[place], self.before[index]);
        if last != index {
            let behind = self.at(slot).find(|other| self.before[*other] == index).unwrap_or(last);
            self.before[behind] = if before == index { behind } else { before };
        } else if before != index {
            self.last[place] = before;
        } else {
            self.taken[word] &= !bit;
        }
        self.len -= 1;
    }

    /// The slot that the first turn comes with, where none comes before `from`.
    pub fn first(&self, from: u64) -> Option<u64> {
        if self.len == 0 {
            return None;
        }
        let (start, word, _) = place(from);
        // The next 64 places, which two words have: most contention windows are no longer.
        let (passed, next) = (start % 64, (word + 1) % WORDS);
        let ahead = self.taken[word] >> passed | self.taken[next] << 1 << (63 - passed);
        if ahead != 0 {
            return Some(from + u64::from(ahead.trailing_zeros()));
        }
        let mut at = next;
        while self.taken[at] == 0 {
            at = (at + 1) % WORDS;
        }
        let place = 64 * at + self.taken[at].trailing_zeros() as usize;
        Some(from + (place.wrapping_sub(start) % SLOTS as usize) as u64)
    }

    /// Those whose turns come with a slot that somebody's does.
    pub fn at(&self, slot: u64) -> impl Iterator<Item = InterfaceId> {
        let (place, word, bit) = place(slot);
        debug_assert!(self.taken[word] & bit != 0, "it is nobody's turn");
        iter::successors(Some(self.last[place]), |index| Some(self.before[*index]).filter(|before| before != index))
    }
}

/// The place of a slot, the word in which its bit is, and the bit.
fn place(slot: u64) -> (usize, usize, u64) {
    let place = (slot % u64::from(SLOTS)) as usize;
    (place, place / 64, 1 << (place % 64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use airtcp_core::Rng;
    use std::collections::BTreeMap;

    #[test]
    fn turns_come_in_the_order_of_a_sorted_map() {
        const INTERFACES: u64 = 40;
        let (mut rng, mut turns) = (Rng::derive(1, "turns"), Turns::new(INTERFACES as usize));
        let (mut known, mut now): (BTreeMap<InterfaceId, u64>, u64) = (BTreeMap::new(), 0);
        for _ in 0..20_000 {
            let index = InterfaceId::from(rng.below(INTERFACES) as usize);
            match known.remove(&index) {
                Some(slot) => turns.remove(slot, index),
                None => {
                    // Often few places, sometimes the farthest.
                    let most = if rng.below(3) == 0 { u64::from(SLOTS) } else { 16 };
                    let slot = now + rng.below(most);
                    turns.put(slot, now, index);
                    known.insert(index, slot);
                }
            }
            let first = known.values().min().copied();
            assert_eq!((turns.first(now), turns.len()), (first, known.len()));
            let Some(first) = first else { continue };
            let mut at_once: Vec<_> = turns.at(first).collect();
            at_once.sort();
            assert_eq!(
                at_once,
                known.iter().filter(|(_, slot)| **slot == first).map(|(index, _)| *index).collect::<Vec<_>>()
            );
            if rng.below(4) == 0 {
                now = first;
            }
        }
    }
}
