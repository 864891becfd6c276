//! The deadlines of flows, the earliest first; a flow has one at most.

use airtcp_core::Instant;
use alloc::vec::Vec;

/// The earliest of several deadlines, as far as there are any.
#[inline]
pub(crate) fn earliest<const N: usize>(deadlines: [Option<Instant>; N]) -> Option<Instant> {
    let first = deadlines.into_iter().fold(Instant::MAX, |first, due| first.min(due.unwrap_or(Instant::MAX)));
    (first < Instant::MAX).then_some(first)
}

/// Deadlines by the slots of their flows. Each flow keeps its own deadline, too: whether it has one.
///
/// A tree in an array, as of a tournament: the flows' own deadlines are the second half, and each place of the first half from the
/// second on has the earlier one of the places `2 * place` and `2 * place + 1`. What nothing depends on is left alone, so
/// that most moves of a deadline touch little.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    tree: Vec<Instant>,
    len: usize,
}

impl Timers {
    /// Moves the deadline of the flow in `slot` from `queued`, which the flow keeps, to `due`; `None` is never.
    pub fn set(&mut self, slot: u32, queued: &mut Option<Instant>, due: Option<Instant>) {
        if *queued == due {
            return;
        }
        let had = core::mem::replace(queued, due).is_some();
        self.len = self.len + usize::from(due.is_some()) - usize::from(had);
        let slot = slot as usize;
        if slot >= self.tree.len() / 2 {
            self.grow(slot + 1);
        }
        self.put(self.tree.len() / 2 + slot, due.unwrap_or(Instant::MAX));
    }

    /// Has a place for so many flows.
    #[cold]
    fn grow(&mut self, flows: usize) {
        let half = flows.next_power_of_two().max(2);
        let mut tree = alloc::vec![Instant::MAX; 2 * half];
        let known = self.tree.len() / 2;
        tree[half..half + known].copy_from_slice(&self.tree[known..]);
        (1..half).rev().for_each(|place| tree[place] = tree[2 * place].min(tree[2 * place + 1]));
        self.tree = tree;
    }

    fn put(&mut self, mut place: usize, mut due: Instant) {
        loop {
            self.tree[place] = due;
            if place == 1 {
                return;
            }
            due = due.min(self.tree[place ^ 1]);
            place /= 2;
            if self.tree[place] == due {
                return;
            }
        }
    }

    /// The flows whose deadline has come. Whoever handles them moves each deadline with [`Timers::set`].
    pub fn due(&self, now: Instant) -> Vec<u32> {
        let half = self.tree.len() / 2;
        let mut due: Vec<(Instant, u32)> = Vec::new();
        let mut places: Vec<usize> = self.next().map(|_| 1).into_iter().collect();
        while let Some(place) = places.pop() {
            let at = self.tree[place];
            if at > now || at == Instant::MAX {
                continue;
            }
            match place.checked_sub(half) {
                Some(slot) => due.push((at, slot as u32)),
                None => places.extend([2 * place, 2 * place + 1]),
            }
        }
        due.sort_unstable();
        due.into_iter().map(|(_, slot)| slot).collect()
    }

    /// The first of them.
    pub fn first_due(&self, now: Instant) -> Option<u32> {
        let first = self.next().filter(|next| *next <= now)?;
        let (half, mut place) = (self.tree.len() / 2, 1);
        while place < half {
            place = 2 * place + usize::from(self.tree[2 * place] != first);
        }
        Some((place - half) as u32)
    }

    /// The earliest deadline.
    pub fn next(&self) -> Option<Instant> {
        self.tree.get(1).copied().filter(|next| *next != Instant::MAX)
    }

    /// Flows with a deadline.
    pub fn len(&self) -> usize {
        self.len
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::at;
    use airtcp_core::Rng;
    use alloc::collections::BTreeSet;

    #[test]
    fn the_earliest_come_first_and_of_those_at_one_time_the_lower_slot() {
        let (mut timers, mut known, mut rng) = (Timers::default(), BTreeSet::new(), Rng::derive(1, "timers"));
        let mut queued = [None; 37];
        for _ in 0..5000 {
            let (slot, millis) = (rng.below(37) as u32, rng.below(40));
            let (kept, due) = (&mut queued[slot as usize], (millis < 30).then(|| at(millis)));
            known.retain(|(_, other)| *other != slot);
            known.extend(due.map(|due| (due, slot)));
            timers.set(slot, kept, due);
            let now = at(rng.below(30));
            let due: Vec<u32> = known.range(..=(now, u32::MAX)).map(|(_, slot)| *slot).collect();
            assert_eq!((timers.first_due(now), timers.due(now)), (due.first().copied(), due));
            assert_eq!((timers.next(), timers.len()), (known.first().map(|(due, _)| *due), known.len()));
        }
    }
}
