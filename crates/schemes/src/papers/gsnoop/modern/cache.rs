//! Copies of what was sent over the link, oldest flushed first (GSN-3, GSN-U6: one FIFO shared
//! by all flows). The copies of one flow are sorted by position so that a NACK finds them fast.

use crate::position::Position;
use crate::seq_map::SeqMap;
use airtcp_core::{Instant, Packet};
use alloc::collections::VecDeque;
use core::ops::Range;

/// The copies of one flow.
pub(super) type Copies = SeqMap<Copy>;

/// One copy.
#[derive(Clone, Debug)]
pub(super) struct Copy {
    pub packet: Packet,
    /// Names this very transmission in the FIFO.
    serial: u64,
    /// When it last left for the link, or will for certain; guards against repairing twice.
    pub sent_at: Instant,
    /// How often it was sent as a repair; after the first, another request may have been under way already.
    pub repairs: u8,
}

/// The order in which copies are flushed, and their total.
#[derive(Debug, Default)]
pub(super) struct CacheOrder {
    /// Most bytes of copies; after a change the oldest go with the next packet.
    pub limit: u64,
    bytes: u64,
    next_serial: u64,
    fifo: VecDeque<(u32, u64, Position)>,
}

/// Memory of a copy beside its packet: the entry of the flow's map and of the FIFO.
const OVERHEAD: u64 = 96;

impl CacheOrder {
    /// Bytes of all copies.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    fn cost(packet: &Packet) -> u64 {
        packet.memory() as u64 + OVERHEAD
    }

    /// Puts a copy of a packet just sent into its flow's copies.
    pub fn insert(&mut self, slot: u32, copies: &mut Copies, range: Range<Position>, packet: Packet, sent_at: Instant) {
        self.bytes += Self::cost(&packet);
        let serial = self.next_serial;
        self.next_serial += 1;
        self.fifo.push_back((slot, serial, range.start));
        if let Some(old) = copies.insert(range, Copy { packet, serial, sent_at, repairs: 0 }) {
            self.forget(&old);
        }
    }

    /// Accounts for a copy that its flow let go.
    pub fn forget(&mut self, copy: &Copy) {
        self.bytes -= Self::cost(&copy.packet);
    }

    /// The copy to flush next, while there is too much: slot of its flow, serial, position.
    /// Entries whose copy is gone already are skipped by [`flush`].
    pub fn next_to_flush(&mut self) -> Option<(u32, u64, Position)> {
        // Entries of copies that were let go early pile up at the front; a long tail of them
        // must not grow without bound either.
        let too_much = self.bytes > self.limit || self.fifo.len() as u64 * OVERHEAD > self.limit;
        if too_much { self.fifo.pop_front() } else { None }
    }
}

/// Takes the copy that [`CacheOrder::next_to_flush`] named out of its flow, if it is still there.
pub(super) fn flush(order: &mut CacheOrder, copies: &mut Copies, serial: u64, start: Position) {
    if copies.get(start).is_some_and(|(_, copy)| copy.serial == serial)
        && let Some(copy) = copies.remove(start)
    {
        order.forget(&copy);
    }
}
