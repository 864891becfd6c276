//! The sending half: keeps a copy of what is in the air, and sends again what an acknowledgment
//! shows to be missing or what nobody acknowledged in time.

use super::frame::{Ack, Frame};
use crate::position::{self, Position};
use airtcp_core::{Context, CreateReason, Duration, Event, Instant, Packet, SeqNum};
use alloc::collections::{BTreeMap, BTreeSet};

/// Both counters begin here, so that every run crosses the wrap.
pub(crate) const START: SeqNum = SeqNum(u32::MAX - 500);
/// The distance to the oldest packet in the air must fit into a frame.
const MAX_PACKETS: usize = u16::MAX as usize / 2;
/// Memory of a copy beside the packet: its entries in the tables.
const ENTRY: u64 = 96;

/// See the module.
#[derive(Debug)]
pub(crate) struct Sender {
    incarnation: u16,
    tries: u8,
    memory: u64,
    next_number: Position,
    next_sequence: Position,
    /// Sent and not acknowledged, by sequence number.
    copies: BTreeMap<Position, Copy>,
    /// Transmissions of which nothing is known yet, by number: also the order of sending.
    flights: BTreeMap<Position, Flight>,
    /// To be sent again, by sequence number.
    lost: BTreeSet<Position>,
    /// Something was given up and the other end has not been told.
    has_given_up: bool,
}

#[derive(Debug)]
struct Copy {
    packet: Packet,
    tries: u8,
}

#[derive(Clone, Copy, Debug)]
struct Flight {
    sequence: Position,
    sent_at: Instant,
}

impl Sender {
    pub fn new(incarnation: u16, tries: u8) -> Sender {
        Sender {
            incarnation,
            tries: tries.max(1),
            memory: 0,
            next_number: position::first(START),
            next_sequence: position::first(START),
            copies: BTreeMap::new(),
            flights: BTreeMap::new(),
            lost: BTreeSet::new(),
            has_given_up: false,
        }
    }

    /// True if a new packet may be sent, where copies may take `window` bytes of memory.
    pub fn has_window(&self, window: u64) -> bool {
        self.memory < window && self.copies.len() < MAX_PACKETS
    }

    /// True if something has to be sent again.
    pub fn has_lost(&self) -> bool {
        !self.lost.is_empty()
    }

    /// What the frame of a new packet says.
    pub fn next_frame(&self) -> Frame {
        self.frame(self.next_sequence)
    }

    fn frame(&self, sequence: Position) -> Frame {
        let oldest = self.copies.first_key_value().map_or(sequence, |(oldest, _)| *oldest);
        Frame {
            incarnation: self.incarnation,
            number: position::sequence(self.next_number),
            sequence: position::sequence(sequence),
            back: sequence.saturating_sub(oldest).min(u64::from(u16::MAX)) as u16,
        }
    }

    /// The new packet left in the frame of [`Sender::next_frame`].
    pub fn on_sent(&mut self, packet: Packet, now: Instant) {
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        self.memory += memory(&packet);
        self.copies.insert(sequence, Copy { packet, tries: 1 });
        self.on_transmitted(sequence, now);
    }

    fn on_transmitted(&mut self, sequence: Position, now: Instant) {
        self.flights.insert(self.next_number, Flight { sequence, sent_at: now });
        self.next_number += 1;
    }

    /// The oldest lost packet again, in its new frame; [`Sender::on_repaired`] says that it left.
    pub fn repair(&self, cx: &mut Context<'_>) -> Option<(Packet, Frame)> {
        let sequence = *self.lost.first()?;
        let copy = self.copies.get(&sequence)?;
        Some((cx.duplicate(&copy.packet, CreateReason::REPAIR), self.frame(sequence)))
    }

    /// What [`Sender::repair`] gave has left.
    pub fn on_repaired(&mut self, now: Instant) {
        let Some(sequence) = self.lost.pop_first() else { return };
        if let Some(copy) = self.copies.get_mut(&sequence) {
            copy.tries = copy.tries.saturating_add(1);
        }
        self.on_transmitted(sequence, now);
    }

    pub fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        let newest = position::near(self.next_number, ack.newest);
        let expected = position::near(self.next_sequence, ack.expected);
        // Only what was sent can have come.
        if ack.incarnation != self.incarnation || newest >= self.next_number || expected > self.next_sequence {
            return;
        }
        while let Some((&sequence, _)) = self.copies.first_key_value().filter(|(first, _)| **first < expected) {
            self.forget(sequence);
        }
        while let Some(entry) = self.flights.first_entry().filter(|entry| *entry.key() <= newest) {
            let (number, flight) = entry.remove_entry();
            let distance = newest - number;
            if distance < 128 && ack.received >> distance & 1 == 1 {
                self.forget(flight.sequence);
            } else {
                self.on_lost(cx, flight.sequence);
            }
        }
    }

    /// Nothing was heard of these for `patience`: they are lost, or their acknowledgment is.
    pub fn handle_timeout(&mut self, cx: &mut Context<'_>, patience: Duration) {
        let now = cx.now();
        while let Some(entry) = self.flights.first_entry().filter(|entry| entry.get().sent_at + patience <= now) {
            let sequence = entry.remove().sequence;
            self.on_lost(cx, sequence);
        }
    }

    /// A transmission did not arrive.
    fn on_lost(&mut self, cx: &mut Context<'_>, sequence: Position) {
        match self.copies.get(&sequence) {
            Some(copy) if copy.tries >= self.tries => {
                cx.emit(Event::GIVEN_UP);
                self.has_given_up = true;
                self.forget(sequence);
            }
            Some(_) => {
                self.lost.insert(sequence);
            }
            None => {}
        }
    }

    /// After something was given up: our incarnation, and the oldest packet that may be sent again.
    pub fn take_oldest(&mut self) -> Option<(u16, SeqNum)> {
        let oldest = self.copies.first_key_value().map_or(self.next_sequence, |(oldest, _)| *oldest);
        core::mem::take(&mut self.has_given_up).then(|| (self.incarnation, position::sequence(oldest)))
    }

    fn forget(&mut self, sequence: Position) {
        if let Some(copy) = self.copies.remove(&sequence) {
            self.memory -= memory(&copy.packet);
        }
        self.lost.remove(&sequence);
    }

    /// The other end is gone: nothing will be acknowledged.
    pub fn clear(&mut self) {
        self.copies.clear();
        self.flights.clear();
        self.lost.clear();
        self.memory = 0;
    }

    /// When the oldest transmission has waited for `patience`.
    pub fn poll_timeout(&self, patience: Duration) -> Option<Instant> {
        self.flights.first_key_value().map(|(_, flight)| flight.sent_at + patience)
    }

    /// Memory of the copies.
    pub fn memory(&self) -> u64 {
        self.memory
    }

    pub fn check(&self, window: u64) -> Result<(), &'static str> {
        if self.memory > window + u64::from(u16::MAX) + ENTRY + 1024 {
            return Err("more copies are kept than the window allows");
        }
        if self.flights.len() + self.lost.len() < self.copies.len() {
            return Err("a copy is neither in the air nor to be sent again");
        }
        Ok(())
    }
}

fn memory(packet: &Packet) -> u64 {
    packet.memory() as u64 + ENTRY
}
