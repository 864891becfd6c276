//! The accounts of an element: *received + created = sent + held + consumed + discarded*, and what happened besides.
//!
//! There is one for each element, in every world. The world notes what it hands over; everything else the element's
//! [`Context`](crate::Context) notes.

use crate::event::Event;
use crate::port::Port;
use crate::reason::{CreateReason, DropReason};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// Adds one to a count. One of 64 bits that takes single steps is full after centuries: its end need not be looked for, and this
/// is done for each packet many times.
#[inline(always)]
pub const fn count_one(count: &mut u64) {
    *count = count.wrapping_add(1);
}

/// Adds the bytes of a packet to a count of 64 bits. Its end need not be looked for, as in [`count_one`].
#[inline(always)]
pub const fn count_bytes(count: &mut u64, bytes: u32) {
    *count = count.wrapping_add(bytes as u64);
}

/// How often each of a few things happened, in the order in which they first did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts<K> {
    /// Mostly the only one: it needs no memory of its own.
    first: Option<(K, u64)>,
    #[expect(clippy::box_collection, reason = "there are three of these in each of thousands of elements")]
    others: Option<Box<Vec<(K, u64)>>>,
}

impl<K> Default for Counts<K> {
    fn default() -> Self {
        Counts { first: None, others: None }
    }
}

impl<K: Copy + PartialEq> Counts<K> {
    /// Adds one to the count of `key`.
    #[inline]
    pub fn add_one(&mut self, key: K) {
        match &mut self.first {
            // A host makes packets for one reason only.
            Some((first, count)) if *first == key => count_one(count),
            _ => self.add(key, 1),
        }
    }

    /// Adds to the count of `key`.
    #[inline(never)]
    pub fn add(&mut self, key: K, amount: u64) {
        let mut all = self.first.iter_mut().chain(self.others.iter_mut().flat_map(|others| others.iter_mut()));
        if let Some((_, count)) = all.find(|(known, _)| *known == key) {
            *count += amount;
        } else if self.first.is_none() {
            self.first = Some((key, amount));
        } else {
            self.others.get_or_insert_default().push((key, amount));
        }
    }

    /// The count of `key`.
    pub fn get(&self, key: K) -> u64 {
        self.all().find(|(known, _)| *known == key).map_or(0, |(_, count)| *count)
    }

    /// All that were counted.
    pub fn iter(&self) -> impl Iterator<Item = (K, u64)> + '_ {
        self.all().copied()
    }

    fn all(&self) -> impl Iterator<Item = &(K, u64)> {
        self.first.iter().chain(self.others.iter().flat_map(|others| others.iter()))
    }

    /// The sum of all counts.
    pub fn total(&self) -> u64 {
        self.all().map(|(_, count)| count).sum()
    }
}

/// See the module. What most packets count comes first in memory, in 64 bytes.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub struct Ledger {
    /// Packets given to the element, by the port they came in at.
    pub received: [u64; 2],
    /// Packets it sent, by port.
    pub sent: [u64; 2],
    /// Packets that reached their goal inside the element.
    pub consumed: u64,
    /// Packets it made.
    pub created: Counts<CreateReason>,
    /// Packets it ended, and those that the world could not send for it.
    pub discarded: Counts<DropReason>,
    /// What it reported.
    pub events: Counts<Event>,
}

impl Ledger {
    /// Notes a packet that is given to the element.
    #[inline]
    pub fn receive(&mut self, port: Port) {
        count_one(&mut self.received[port.index()]);
    }

    /// Notes a packet that the element sent.
    #[inline]
    pub fn send(&mut self, port: Port) {
        count_one(&mut self.sent[port.index()]);
    }

    /// Notes that a packet which was sent did not get out after all.
    pub fn fail_to_send(&mut self, port: Port, reason: DropReason) {
        self.sent[port.index()] -= 1;
        self.discarded.add_one(reason);
    }

    /// The two sides of the equation, with the packets that the element says it holds.
    pub fn balance(&self, held: usize) -> Balance {
        Balance {
            received: self.received.iter().sum(),
            created: self.created.total(),
            sent: self.sent.iter().sum(),
            held: held as u64,
            consumed: self.consumed,
            discarded: self.discarded.total(),
        }
    }
}

/// Packets that came into an element's hands and what became of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Balance {
    /// Given to the element.
    pub received: u64,
    /// Made by it.
    pub created: u64,
    /// Sent.
    pub sent: u64,
    /// Kept for later.
    pub held: u64,
    /// Arrived at their goal.
    pub consumed: u64,
    /// Ended, each with a reason.
    pub discarded: u64,
}

impl Balance {
    /// True if no packet is unaccounted for.
    pub fn holds(&self) -> bool {
        self.missing() == 0
    }

    /// Packets that vanished; negative if more left than came.
    pub fn missing(&self) -> i64 {
        (self.received + self.created) as i64 - (self.sent + self.held + self.consumed + self.discarded) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_in_is_sent_held_consumed_or_discarded() {
        let mut ledger = Ledger::default();
        (0..5).for_each(|_| ledger.receive(Port::INNER));
        ledger.created.add_one(CreateReason::REPAIR);
        (0..3).for_each(|_| ledger.send(Port::LINK));
        ledger.consumed += 1;
        ledger.discarded.add_one(DropReason::DUPLICATE);
        assert!(ledger.balance(1).holds());
        assert_eq!((ledger.balance(0).missing(), ledger.balance(2).missing()), (1, -1));
    }

    #[test]
    fn a_packet_that_did_not_get_out_is_discarded_and_not_sent() {
        let mut ledger = Ledger::default();
        ledger.receive(Port::INNER);
        ledger.send(Port::LINK);
        ledger.fail_to_send(Port::LINK, DropReason::DEVICE);
        assert_eq!((ledger.sent, ledger.discarded.get(DropReason::DEVICE)), ([0, 0], 1));
        assert!(ledger.balance(0).holds());
    }

    #[test]
    fn counts_keep_the_order_in_which_things_first_happened() {
        let mut counts = Counts::default();
        for event in [Event::HELD, Event::REPAIR, Event::HELD] {
            counts.add(event, 2);
        }
        assert_eq!(counts.iter().collect::<Vec<_>>(), [(Event::HELD, 4), (Event::REPAIR, 2)]);
        assert_eq!((counts.get(Event::PEER_UP), counts.total()), (0, 6));
    }
}
