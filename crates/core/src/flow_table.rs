//! Per-flow state with a stated bound: a hash table in least-recently-used order.
//!
//! The hash is keyed (SipHash-1-3, key drawn from the component's random stream), so outsiders
//! cannot aim for collisions; nothing ever iterates in hash order, so runs stay reproducible.
//! When the table is full the flow that was silent longest makes room.
//!
//! A packet's flow was mostly used a short time before. So a small list has the slots that were used of late, by a sum that
//! anybody can foresee: who aims at one place there has the keyed hash computed for every packet, and no more.

use crate::packet::FlowKey;
use crate::rng::Rng;
use alloc::vec::Vec;
use core::hash::{Hash, Hasher};
use core::net::{IpAddr, Ipv4Addr};
use hashbrown::HashTable;
use siphasher::sip::SipHasher13;

const NONE: u32 = u32::MAX;
/// Places of slots that were used of late, where there is more than one flow; a power of two.
const RECENT: usize = 256;

/// State per flow, at most `capacity` flows.
#[derive(Debug)]
pub struct FlowTable<V> {
    index: HashTable<u32>,
    /// By slot, close together: most of what is looked at is whose slot it is and who was used before.
    entries: Vec<Entry>,
    /// By slot; none of one that is free.
    values: Vec<Option<V>>,
    free: Vec<u32>,
    /// By [`recent_place`].
    recent: Vec<u32>,
    /// Both directions of some connection have, or had, an entry of their own.
    has_twins: bool,
    newest: u32,
    oldest: u32,
    capacity: usize,
    key: (u64, u64),
}

#[derive(Debug)]
struct Entry {
    flow: FlowKey,
    newer: u32,
    older: u32,
}

impl<V> FlowTable<V> {
    /// An empty table for at most `capacity` (at least one) flows.
    pub fn new(capacity: usize, rng: &mut Rng) -> Self {
        FlowTable {
            index: HashTable::new(),
            entries: Vec::new(),
            values: Vec::new(),
            free: Vec::new(),
            recent: Vec::new(),
            has_twins: false,
            newest: NONE,
            oldest: NONE,
            capacity: capacity.clamp(1, NONE as usize - 1),
            key: (rng.next_u64(), rng.next_u64()),
        }
    }

    /// Memory of one flow's entry, for bounds; what `V` owns on the heap comes on top, and 1 KiB a table for flows of late.
    pub const fn entry_memory() -> usize {
        // The index keeps at most 7/8 of its slots full and doubles when it grows.
        size_of::<Entry>() + size_of::<Option<V>>() + 2 * (size_of::<u32>() + 1) * 8 / 7 + size_of::<u32>()
    }

    /// Number of flows.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// True without flows.
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// True when the next new flow evicts another.
    pub fn is_full(&self) -> bool {
        self.len() >= self.capacity
    }

    /// Slot of a flow; valid until the flow is removed.
    pub fn slot(&self, flow: &FlowKey) -> Option<u32> {
        if let Some(newest) = self.newest_if(flow) {
            return Some(newest);
        }
        if let Some((recent, true)) = self.recent_if(flow) {
            return Some(recent);
        }
        self.find(self.hash(flow), flow)
    }

    /// Slot of a flow, or else that of its other direction; whether it is the flow's own.
    pub fn slot_of_either(&self, flow: &FlowKey) -> Option<(u32, bool)> {
        if let Some(newest) = self.newest_if(flow) {
            return Some((newest, true));
        }
        if let Some(recent) = self.recent_if(flow).filter(|(_, is_own)| *is_own || !self.has_twins) {
            return Some(recent);
        }
        let (reversed, mut other) = (flow.reversed(), None);
        let is_own = |slot: &u32| {
            let found = &self.entries[*slot as usize].flow;
            if *found == reversed {
                other = Some((*slot, false));
            }
            *found == *flow
        };
        let own = self.index.find(self.hash(flow), is_own).map(|slot| (*slot, true));
        own.or(other)
    }

    /// The slot used last, if it is the flow's: packets come in rows.
    #[inline]
    fn newest_if(&self, flow: &FlowKey) -> Option<u32> {
        let entry = self.entries.get(self.newest as usize)?;
        (entry.flow == *flow).then_some(self.newest)
    }

    /// The slot that was used of late at the place of the flow, if it is the flow's or that of its other direction; whether it is
    /// the flow's own.
    #[inline]
    fn recent_if(&self, flow: &FlowKey) -> Option<(u32, bool)> {
        let slot = *self.recent.get(recent_place(flow))?;
        let known = &self.entries.get(slot as usize)?.flow;
        let is_own = *known == *flow;
        (is_own || *known == flow.reversed()).then_some((slot, is_own))
    }

    #[inline]
    fn set_recent(&mut self, slot: u32) {
        if let Some(recent) = self.recent.get_mut(recent_place(&self.entries[slot as usize].flow)) {
            *recent = slot;
        }
    }

    fn find(&self, hash: u64, flow: &FlowKey) -> Option<u32> {
        self.index.find(hash, |slot| self.entries[*slot as usize].flow == *flow).copied()
    }

    /// The flow in `slot`, if the slot is in use.
    pub fn at(&self, slot: u32) -> Option<(&FlowKey, &V)> {
        let value = self.values.get(slot as usize)?.as_ref()?;
        Some((&self.entries[slot as usize].flow, value))
    }

    /// The flow in `slot`, if the slot is in use. Does not count as use.
    pub fn at_mut(&mut self, slot: u32) -> Option<(&FlowKey, &mut V)> {
        let value = self.values.get_mut(slot as usize)?.as_mut()?;
        Some((&self.entries[slot as usize].flow, value))
    }

    /// Looks a flow up without counting it as use.
    pub fn get_mut(&mut self, flow: &FlowKey) -> Option<&mut V> {
        let slot = self.slot(flow)?;
        self.values[slot as usize].as_mut()
    }

    /// Marks the flow in `slot` as the most recently used.
    pub fn touch(&mut self, slot: u32) {
        if self.newest != slot && self.at(slot).is_some() {
            self.unlink(slot);
            self.link_newest(slot);
            self.set_recent(slot);
        }
    }

    /// Adds a flow that is not there yet as the newest; returns its slot and, if the table was
    /// full, the flow that had to go.
    pub fn insert(&mut self, flow: FlowKey, value: V) -> (u32, Option<(FlowKey, V)>) {
        let evicted = if self.is_full() { self.remove_slot(self.oldest) } else { None };
        let entry = Entry { flow, newer: NONE, older: NONE };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.entries[slot as usize] = entry;
                self.values[slot as usize] = Some(value);
                slot
            }
            None => {
                self.entries.push(entry);
                self.values.push(Some(value));
                self.entries.len() as u32 - 1
            }
        };
        self.link_newest(slot);
        if self.entries.len() == 2 {
            self.recent.resize(RECENT, NONE);
        }
        self.set_recent(slot);
        let hash = self.hash(&flow);
        self.has_twins |= self.find(hash, &flow.reversed()).is_some();
        let (entries, key) = (&self.entries, self.key);
        self.index.insert_unique(hash, slot, |slot| hash_of(key, &entries[*slot as usize].flow));
        (slot, evicted)
    }

    /// Removes the flow in `slot`.
    pub fn remove_slot(&mut self, slot: u32) -> Option<(FlowKey, V)> {
        let flow = *self.at(slot)?.0;
        let hash = self.hash(&flow);
        if let Ok(found) = self.index.find_entry(hash, |candidate| *candidate == slot) {
            found.remove();
        }
        self.unlink(slot);
        if let Some(recent) = self.recent.get_mut(recent_place(&flow)).filter(|recent| **recent == slot) {
            *recent = NONE;
        }
        self.free.push(slot);
        self.values[slot as usize].take().map(|value| (flow, value))
    }

    /// The slot that was used least recently.
    pub fn oldest(&self) -> Option<u32> {
        (self.oldest != NONE).then_some(self.oldest)
    }

    /// The slot that was used least recently, if its flow is like that.
    pub fn oldest_if(&self, is_like_that: impl FnOnce(&V) -> bool) -> Option<u32> {
        self.oldest().filter(|slot| self.at(*slot).is_some_and(|(_, value)| is_like_that(value)))
    }

    /// The slot whose flow the next new one evicts. To be asked first by whoever must do more than forget it.
    pub fn next_to_go(&self) -> Option<u32> {
        self.oldest().filter(|_| self.is_full())
    }

    /// Slots from the least recently used on.
    pub fn slots_oldest_first(&self) -> impl Iterator<Item = u32> + '_ {
        core::iter::successors(self.oldest(), |slot| {
            let newer = self.entries[*slot as usize].newer;
            (newer != NONE).then_some(newer)
        })
    }

    fn hash(&self, flow: &FlowKey) -> u64 {
        hash_of(self.key, flow)
    }

    fn link_newest(&mut self, slot: u32) {
        let second = core::mem::replace(&mut self.newest, slot);
        let entry = &mut self.entries[slot as usize];
        (entry.newer, entry.older) = (NONE, second);
        match self.entries.get_mut(second as usize) {
            Some(second) => second.newer = slot,
            None => self.oldest = slot,
        }
    }

    fn unlink(&mut self, slot: u32) {
        let (newer, older) = {
            let entry = &self.entries[slot as usize];
            (entry.newer, entry.older)
        };
        match self.entries.get_mut(newer as usize) {
            Some(entry) => entry.older = older,
            None => self.newest = older,
        }
        match self.entries.get_mut(older as usize) {
            Some(entry) => entry.newer = newer,
            None => self.oldest = newer,
        }
    }
}

/// Where in the list of flows of late a flow has its place; the same for both directions of a connection.
#[inline]
fn recent_place(flow: &FlowKey) -> usize {
    let low = |address: IpAddr| match address {
        IpAddr::V4(v4) => v4.to_bits(),
        IpAddr::V6(v6) => v6.to_bits() as u32,
    };
    let addresses = low(flow.source).wrapping_add(low(flow.destination));
    let ports = u32::from(flow.source_port).wrapping_add(u32::from(flow.destination_port));
    // Fibonacci hashing: the upper bits of the product.
    (addresses.wrapping_add(ports).wrapping_mul(0x9e37_79b9) >> (u32::BITS - RECENT.ilog2())) as usize
}

/// The same for both directions of a connection.
fn hash_of((k0, k1): (u64, u64), flow: &FlowKey) -> u64 {
    let mut hasher = SipHasher13::new_with_keys(k0, k1);
    if let (IpAddr::V4(source), IpAddr::V4(destination)) = (flow.source, flow.destination) {
        // Two ends of 48 bits in 12 bytes: quicker than field by field.
        let end = |address: Ipv4Addr, port: u16| u128::from(address.to_bits()) << 16 | u128::from(port);
        let [one, other] = [end(source, flow.source_port), end(destination, flow.destination_port)];
        return hasher.hash(&(one.min(other) << 48 | one.max(other)).to_le_bytes()[..12]);
    }
    let [one, other] = [(flow.source, flow.source_port), (flow.destination, flow.destination_port)];
    (one.min(other), one.max(other)).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::{IpAddr, Ipv4Addr};

    fn flow(n: u16) -> FlowKey {
        let host = |last| IpAddr::V4(Ipv4Addr::new(10, 0, 0, last));
        FlowKey { source: host(1), destination: host(2), source_port: n, destination_port: 80 }
    }

    #[test]
    fn the_longest_silent_flow_makes_room() {
        let mut table = FlowTable::new(3, &mut Rng::derive(1, "t"));
        for n in 0..3 {
            assert!(table.insert(flow(n), n).1.is_none());
        }
        let first = table.slot(&flow(0)).unwrap();
        table.touch(first);
        let (_, evicted) = table.insert(flow(3), 3);
        assert_eq!(evicted, Some((flow(1), 1)));
        assert!(table.get_mut(&flow(0)).is_some() && table.get_mut(&flow(1)).is_none());
        assert_eq!(table.len(), 3);
    }

    #[test]
    fn a_flow_is_found_by_either_direction_and_its_own_comes_first() {
        let mut table = FlowTable::new(3, &mut Rng::derive(1, "t"));
        let (slot, _) = table.insert(flow(1), 1);
        let back = flow(1).reversed();
        let found = [flow(1), back, flow(2)].map(|flow| table.slot_of_either(&flow));
        assert_eq!((found, table.slot(&back)), ([Some((slot, true)), Some((slot, false)), None], None));
        let (other, _) = table.insert(back, 2);
        for newest in [slot, other, slot] {
            table.touch(newest);
            let found = [flow(1), back].map(|flow| table.slot_of_either(&flow));
            assert_eq!(found, [Some((slot, true)), Some((other, true))]);
        }
    }

    #[test]
    fn many_insertions_and_removals_leave_a_consistent_table() {
        let mut table = FlowTable::new(100, &mut Rng::derive(1, "t"));
        let mut rng = Rng::derive(2, "ops");
        for _ in 0..20_000 {
            let key = flow(rng.below(300) as u16);
            match table.slot(&key) {
                Some(slot) if rng.below(3) == 0 => {
                    assert_eq!(table.remove_slot(slot).unwrap().0, key);
                }
                Some(slot) => table.touch(slot),
                None => {
                    table.insert(key, key.source_port);
                }
            }
            assert!(table.len() <= 100);
        }
        let order: Vec<u32> = table.slots_oldest_first().collect();
        assert_eq!(order.len(), table.len());
        for slot in order {
            let (key, value) = table.at(slot).unwrap();
            assert_eq!(key.source_port, *value);
            assert_eq!(table.slot(key), Some(slot));
        }
    }
}
