//! The sending half: keeps a copy of what is in the air, and sends again what an acknowledgment
//! shows to be missing or what nobody acknowledged in time.
//!
//! What comes after later packets may be lost or late. A link that was seen to reorder is given the time by which packets
//! were late ([`Reordering`]) before what is missing counts as lost.

use super::frame::{Ack, Frame};
use super::reordering::Reordering;
use crate::hop::Part;
use crate::position::{self, Position};
use airtcp_core::{Context, CreateReason, Duration, Event, Instant, Packet, SeqNum};
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;

/// Both counters begin here, so that every run crosses the wrap.
pub(crate) const START: SeqNum = SeqNum(u32::MAX - 500);
/// The distance to the oldest packet in the air must fit into a frame.
const MAX_PACKETS: usize = u16::MAX as usize / 2;
/// The other end is in step while so few transmissions, or packets, are beyond what it has acknowledged.
pub(crate) const IN_STEP: u64 = 1 << 14;
/// Numbers go no further at once, whatever the other end says: half of all numbers ahead of it are as far behind it.
const FARTHEST: u64 = 1 << 30;
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
    /// Numbers of repairs of which nothing is known yet.
    repairs: VecDeque<Position>,
    /// Something was given up and the other end has not been told.
    has_given_up: bool,
    /// Everything before this one that the other end may wait for was given up.
    given_up: Position,
    /// What the other end has come to, as far as it has said: the newest transmission, and the packet that it waits for.
    told: Option<(Position, Position)>,
    /// Until here the other end may follow numbers that are too far behind, whatever it says: what was told may be untrue.
    apart_until: Position,
    reordering: Reordering,
}

/// Where a packet belongs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Place {
    /// It goes behind this one.
    pub before: Option<Position>,
    /// It is no whole packet.
    pub part: Part,
}

/// What codes may mend before anything is sent again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mending {
    /// Time that they have.
    pub patience: Duration,
    /// So many packets more are missing than codes came that mend them: as many repairs are enough to mend all.
    pub deficit: usize,
    /// After this time whatever is missing is sent again.
    pub at_most: Duration,
}

#[derive(Debug)]
struct Copy {
    packet: Packet,
    place: Place,
    tries: u8,
    /// Transmissions of which nothing is known yet.
    in_air: u8,
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
            repairs: VecDeque::new(),
            has_given_up: false,
            given_up: 0,
            told: None,
            apart_until: 0,
            reordering: Reordering::default(),
        }
    }

    /// Gives up from now on after as many tries as `next` would.
    pub fn adopt(&mut self, next: &Sender) {
        self.tries = next.tries;
    }

    /// True if a new packet may be sent, where copies may take `window` bytes of memory.
    pub fn has_window(&self, window: u64) -> bool {
        self.memory < window && self.copies.len() < MAX_PACKETS
    }

    /// True if something has to be sent again.
    pub fn has_lost(&self) -> bool {
        !self.lost.is_empty()
    }

    /// The position that the next new packet gets.
    pub fn next_sequence(&self) -> Position {
        self.next_sequence
    }

    /// What the frame of a new packet says.
    pub fn next_frame(&self, place: Place) -> Frame {
        self.frame(self.next_sequence, place)
    }

    fn frame(&self, sequence: Position, Place { before, part }: Place) -> Frame {
        let oldest = self.copies.first_key_value().map_or(sequence, |(oldest, _)| *oldest);
        Frame {
            incarnation: self.incarnation,
            number: position::sequence(self.next_number),
            sequence: position::sequence(sequence),
            back: sequence.saturating_sub(oldest).min(u64::from(u16::MAX)) as u16,
            after: before.map_or(0, |before| u16::try_from(sequence.saturating_sub(before)).unwrap_or(0)),
            part,
        }
    }

    /// The new packet left in the frame of [`Sender::next_frame`].
    pub fn on_sent(&mut self, packet: Packet, place: Place, now: Instant) {
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        self.memory += memory(&packet);
        self.copies.insert(sequence, Copy { packet, place, tries: 1, in_air: 1 });
        self.on_transmitted(sequence, now);
    }

    fn on_transmitted(&mut self, sequence: Position, now: Instant) {
        self.flights.insert(self.next_number, Flight { sequence, sent_at: now });
        self.next_number += 1;
    }

    /// The number that the next transmission gets.
    pub fn next_number(&self) -> SeqNum {
        position::sequence(self.next_number)
    }

    /// True if an acknowledgment is of what this end sends.
    pub fn is_of(&self, ack: &Ack) -> bool {
        ack.incarnation == self.incarnation && position::near(self.next_number, ack.newest) < self.next_number
    }

    /// The frame of a transmission that is none of the packets, but tells of those from `first` on. It has left.
    pub fn other_frame(&mut self, first: Position) -> Frame {
        let frame = self.frame(first, Place::default());
        self.next_number += 1;
        frame
    }

    /// True if the other end follows what is sent, and is not far behind.
    pub fn is_in_step(&self) -> bool {
        let is_near = |(newest, expected)| {
            self.next_number.saturating_sub(newest) < IN_STEP && self.next_sequence.saturating_sub(expected) < IN_STEP
        };
        self.next_number >= self.apart_until && self.told.is_some_and(is_near)
    }

    /// Nobody answers, and the other end is beyond what was sent: somebody sent frames in our name, or it lies. Goes on
    /// from there, if need be in several steps; true if so.
    pub fn catch_up(&mut self, ack: &Ack) -> bool {
        let newest = position::near(self.next_number, ack.newest);
        let expected = position::near(self.next_sequence, ack.expected);
        let is_beyond = newest >= self.next_number || expected > self.next_sequence;
        if ack.incarnation != self.incarnation || !is_beyond {
            return false;
        }
        self.next_number = self.next_number.max(newest + 1).min(self.next_number + FARTHEST);
        self.next_sequence = self.next_sequence.max(expected).min(self.next_sequence + FARTHEST);
        self.apart_until = self.next_number + IN_STEP;
        true
    }

    /// True if the other end may wait for what was given up.
    pub fn is_awaited_in_vain(&self) -> bool {
        self.told.is_some_and(|(_, expected)| expected < self.given_up)
    }

    /// The oldest packet that may be sent again.
    pub fn oldest(&self) -> Position {
        self.copies.first_key_value().map_or(self.next_sequence, |(oldest, _)| *oldest)
    }

    /// The oldest lost packet again, in its new frame; [`Sender::on_repaired`] says that it left.
    pub fn repair(&self, cx: &mut Context<'_>) -> Option<(Packet, Frame)> {
        self.again(cx, *self.lost.first()?, CreateReason::REPAIR)
    }

    /// A packet again that nobody has acknowledged, in its new frame; [`Sender::on_sent_again`] says that it left.
    pub fn again(&self, cx: &mut Context<'_>, sequence: Position, reason: CreateReason) -> Option<(Packet, Frame)> {
        let copy = self.copies.get(&sequence)?;
        Some((cx.duplicate(&copy.packet, reason), self.frame(sequence, copy.place)))
    }

    /// What [`Sender::again`] gave has left, beside any other transmission of it.
    pub fn on_sent_again(&mut self, sequence: Position, now: Instant) {
        if let Some(copy) = self.copies.get_mut(&sequence) {
            copy.in_air = copy.in_air.saturating_add(1);
            self.repairs.push_back(self.next_number);
            self.on_transmitted(sequence, now);
        }
    }

    /// What [`Sender::repair`] gave has left: which packet it was, and how often it has been sent now.
    pub fn on_repaired(&mut self, now: Instant) -> Option<(Position, u8)> {
        let sequence = self.lost.pop_first()?;
        let copy = self.copies.get_mut(&sequence)?;
        copy.tries = copy.tries.saturating_add(1);
        copy.in_air = copy.in_air.saturating_add(1);
        let tries = copy.tries;
        self.repairs.push_back(self.next_number);
        self.on_transmitted(sequence, now);
        Some((sequence, tries))
    }

    /// What the other end says that came; what codes may mend of the rest. What nothing is said of is lost once it has taken
    /// `untold`. How long the answer took for the transmission that waited longest.
    pub fn on_ack(
        &mut self,
        cx: &mut Context<'_>,
        ack: &Ack,
        mending: Option<Mending>,
        untold: Duration,
    ) -> Option<Duration> {
        let newest = position::near(self.next_number, ack.newest);
        let expected = position::near(self.next_sequence, ack.expected);
        // Only what was sent can have come.
        if !self.is_of(ack) || expected > self.next_sequence {
            return None;
        }
        let before = self.told.unwrap_or_default();
        self.told = Some((before.0.max(newest), before.1.max(expected)));
        let came = |number| ack.tells_of(newest, number);
        if let Some(flight) = self.flights.get(&newest) {
            self.reordering.on_delivered(flight.sent_at);
        }
        self.reordering.on_ack(newest, |number| came(number) == Some(true));
        while let Some((&sequence, _)) = self.copies.first_key_value().filter(|(first, _)| **first < expected) {
            self.forget(sequence);
        }
        while self.repairs.front().is_some_and(|number| *number <= newest) {
            self.repairs.pop_front();
        }
        let mut answered = None;
        let mut late = Vec::new();
        while let Some(entry) = self.flights.first_entry().filter(|entry| *entry.key() <= newest) {
            let (number, flight) = entry.remove_entry();
            let said = came(number);
            if said == Some(true) {
                answered = answered.or(Some(cx.now().saturating_since(flight.sent_at)));
                self.forget(flight.sequence);
            } else if !self.copies.contains_key(&flight.sequence) {
                // Another transmission of it came.
            } else if said.is_none() && flight.sent_at + untold > cx.now()
                || self.reordering.may_be_late(flight.sent_at)
                || self.may_be_mended(flight.sent_at, mending)
            {
                late.push((number, flight));
            } else {
                self.reordering.on_lost(number, flight.sent_at);
                self.on_lost(cx, flight.sequence);
            }
        }
        self.flights.extend(late);
        answered
    }

    /// True if a transmission that left then may be mended by codes, or by the repairs of others and codes.
    fn may_be_mended(&self, sent_at: Instant, mending: Option<Mending>) -> bool {
        mending.is_some_and(|mending| {
            let overtaken = self.reordering.overtaken(sent_at).unwrap_or_default();
            let is_enough = self.repairs.len() + self.lost.len() >= mending.deficit;
            overtaken < mending.patience || overtaken < mending.at_most && is_enough
        })
    }

    /// Nothing was heard of these for `patience`: they are lost, or their acknowledgment is.
    pub fn handle_timeout(&mut self, cx: &mut Context<'_>, patience: Duration) {
        let now = cx.now();
        while let Some(entry) = self.flights.first_entry().filter(|entry| entry.get().sent_at + patience <= now) {
            let sequence = entry.remove().sequence;
            self.on_lost(cx, sequence);
        }
    }

    /// The packet that left last of those of which nothing is known, and when.
    pub fn newest_in_air(&mut self) -> Option<(Position, Instant)> {
        while let Some(entry) = self.flights.last_entry() {
            let Flight { sequence, sent_at } = *entry.get();
            if self.copies.contains_key(&sequence) {
                return Some((sequence, sent_at));
            }
            entry.remove();
        }
        None
    }

    /// When that was.
    pub fn last_sent(&self) -> Option<Instant> {
        self.flights.last_key_value().map(|(_, flight)| flight.sent_at)
    }

    /// A transmission did not arrive.
    fn on_lost(&mut self, cx: &mut Context<'_>, sequence: Position) {
        let Some(copy) = self.copies.get_mut(&sequence) else { return };
        copy.in_air = copy.in_air.saturating_sub(1);
        if copy.in_air > 0 {
            return;
        }
        if copy.tries >= self.tries {
            self.give_up(cx, sequence);
        } else {
            self.lost.insert(sequence);
        }
    }

    fn give_up(&mut self, cx: &mut Context<'_>, sequence: Position) {
        cx.emit(Event::GIVEN_UP);
        self.has_given_up = true;
        self.given_up = self.given_up.max(sequence + 1);
        self.forget(sequence);
    }

    /// After something was given up: our incarnation, and the oldest packet that may be sent again.
    pub fn take_oldest(&mut self) -> Option<(u16, SeqNum)> {
        let oldest = position::sequence(self.oldest());
        core::mem::take(&mut self.has_given_up).then_some((self.incarnation, oldest))
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
        self.repairs.clear();
        self.told = None;
        self.reordering = Reordering::default();
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
