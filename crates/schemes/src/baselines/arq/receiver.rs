//! The receiving half: tells the sender what came, passes each packet on once, and in order
//! unless it is told otherwise.

use super::frame::{Ack, Frame};
use crate::position::{self, Position};
use airtcp_core::{Backlog, Context, DropReason, Duration, Event, Instant, Packet, Port, SeqNum};
use alloc::collections::{BTreeMap, BTreeSet};

/// Packets that were not waited for and may still come; the latest are kept.
const MAX_SKIPPED: usize = 1024;

/// See the module.
#[derive(Debug)]
pub(super) struct Receiver {
    in_order: bool,
    ack_every: u16,
    memory_limit: u64,
    /// What is known of the life of the sender that speaks now.
    stream: Option<Stream>,
    held: Backlog,
    held_bytes_max: u64,
    memory: u64,
}

#[derive(Debug)]
struct Stream {
    life: u16,
    newest: Position,
    received: u128,
    /// The first packet that is waited for.
    expected: Position,
    /// Beyond it: held, or passed on already.
    arrived: BTreeMap<Position, Option<Packet>>,
    /// Before it, passed over and not yet come.
    skipped: BTreeSet<Position>,
    /// Frames since the last acknowledgment.
    unacknowledged: u16,
    ack_due: Option<Instant>,
    /// Since when something waits for a packet, and for which.
    waiting_since: Option<Instant>,
    waits_for: Position,
}

/// How long to wait for what.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// An acknowledgment.
    pub ack_delay: Duration,
    /// A gap.
    pub hold: Duration,
}

impl Receiver {
    pub fn new(in_order: bool, ack_every: u16, memory_limit: u64) -> Receiver {
        let held = Backlog::default();
        Receiver { in_order, ack_every, memory_limit, stream: None, held, held_bytes_max: 0, memory: 0 }
    }

    /// A packet that came in this frame. Returns an acknowledgment that must leave now.
    pub fn on_frame(
        &mut self,
        cx: &mut Context<'_>,
        frame: &Frame,
        packet: Packet,
        patience: &Patience,
    ) -> Option<Ack> {
        if self.stream.as_ref().is_none_or(|stream| stream.life != frame.life) {
            self.release_all(cx);
            self.stream = Some(Stream::new(frame));
        }
        let Some(stream) = &mut self.stream else { return None };
        let is_gap = stream.note_number(frame);
        let sequence = position::near(stream.expected, frame.sequence);
        self.pass_over(cx, sequence.saturating_sub(u64::from(frame.back)));
        let is_new = self.take(cx, sequence, packet);
        self.settle(cx.now());
        if self.memory > self.memory_limit {
            self.release_held(cx);
        }
        let stream = self.stream.as_mut()?;
        stream.unacknowledged += 1;
        if is_gap || !is_new || stream.unacknowledged >= self.ack_every {
            return Some(stream.acknowledge());
        }
        stream.ack_due.get_or_insert(cx.now() + patience.ack_delay);
        None
    }

    /// The sender of this life says that nothing before `oldest` will come again.
    pub fn on_oldest(&mut self, cx: &mut Context<'_>, life: u16, oldest: SeqNum) {
        let Some(stream) = self.stream.as_ref().filter(|stream| stream.life == life) else { return };
        let oldest = position::near(stream.expected, oldest);
        self.pass_over(cx, oldest);
        self.settle(cx.now());
    }

    /// Passes the packet on, holds it or drops it; false if it was here before.
    fn take(&mut self, cx: &mut Context<'_>, sequence: Position, packet: Packet) -> bool {
        let Some(stream) = &mut self.stream else { return false };
        let is_late = stream.skipped.remove(&sequence);
        let is_new = is_late || sequence >= stream.expected && !stream.arrived.contains_key(&sequence);
        if !is_new {
            cx.discard(packet, DropReason::Duplicate);
        } else if is_late {
            cx.send(Port::INNER, packet);
        } else if sequence == stream.expected {
            stream.expected += 1;
            cx.send(Port::INNER, packet);
            self.pass_on(cx, Event::ReleasedInOrder);
        } else if self.in_order {
            cx.emit(Event::Held);
            self.count(&packet, true);
            self.insert(sequence, Some(packet));
        } else {
            cx.send(Port::INNER, packet);
            self.insert(sequence, None);
        }
        is_new
    }

    fn insert(&mut self, sequence: Position, packet: Option<Packet>) {
        if let Some(stream) = &mut self.stream {
            stream.arrived.insert(sequence, packet);
        }
    }

    fn count(&mut self, packet: &Packet, is_added: bool) {
        let (bytes, memory) = (u64::from(packet.wire_len()), packet.memory() as u64 + 64);
        if is_added {
            self.held.packets += 1;
            self.held.bytes += bytes;
            self.memory += memory;
            self.held_bytes_max = self.held_bytes_max.max(self.held.bytes);
        } else {
            self.held.packets -= 1;
            self.held.bytes -= bytes;
            self.memory -= memory;
        }
    }

    /// Passes on what is in order from `expected` on.
    fn pass_on(&mut self, cx: &mut Context<'_>, event: Event) {
        while let Some(stream) = &mut self.stream
            && let Some(next) = stream.arrived.remove(&stream.expected)
        {
            stream.expected += 1;
            self.let_go(cx, next, event);
        }
    }

    fn let_go(&mut self, cx: &mut Context<'_>, packet: Option<Packet>, event: Event) {
        if let Some(packet) = packet {
            self.count(&packet, false);
            cx.emit(event);
            cx.send(Port::INNER, packet);
        }
    }

    /// The sender has given up everything before `oldest` that did not come.
    fn pass_over(&mut self, cx: &mut Context<'_>, oldest: Position) {
        let Some(stream) = &mut self.stream else { return };
        stream.skipped = stream.skipped.split_off(&oldest);
        if oldest <= stream.expected {
            return;
        }
        stream.expected = oldest;
        let ahead = stream.arrived.split_off(&oldest);
        let before = core::mem::replace(&mut stream.arrived, ahead);
        for packet in before.into_values() {
            self.let_go(cx, packet, Event::ReleasedAcrossGap);
        }
        self.pass_on(cx, Event::ReleasedAcrossGap);
    }

    /// Waits no longer for the first gap.
    fn skip_gap(&mut self, cx: &mut Context<'_>) {
        let Some(stream) = &mut self.stream else { return };
        let Some((&next, _)) = stream.arrived.first_key_value() else { return };
        stream.skipped.extend(stream.expected.max(next.saturating_sub(MAX_SKIPPED as u64))..next);
        while stream.skipped.len() > MAX_SKIPPED {
            stream.skipped.pop_first();
        }
        stream.expected = next;
        self.pass_on(cx, Event::ReleasedAcrossGap);
        if let Some(stream) = &mut self.stream {
            stream.waiting_since = None;
        }
        self.settle(cx.now());
    }

    fn release_held(&mut self, cx: &mut Context<'_>) {
        while self.held.packets > 0 {
            self.skip_gap(cx);
        }
    }

    /// Passes on everything held and forgets the sender.
    pub fn release_all(&mut self, cx: &mut Context<'_>) {
        self.release_held(cx);
        self.stream = None;
    }

    /// Begins or ends the wait for a gap.
    fn settle(&mut self, now: Instant) {
        let is_waiting = self.held.packets > 0;
        let Some(stream) = &mut self.stream else { return };
        let gap = stream.expected;
        match stream.waiting_since {
            _ if !is_waiting => stream.waiting_since = None,
            Some(_) if stream.waits_for == gap => {}
            _ => (stream.waiting_since, stream.waits_for) = (Some(now), gap),
        }
    }

    /// Acknowledges when it is time, and waits no longer for what took too long.
    pub fn handle_timeout(&mut self, cx: &mut Context<'_>, patience: &Patience) -> Option<Ack> {
        let now = cx.now();
        if self.gap_due(patience).is_some_and(|due| due <= now) {
            self.skip_gap(cx);
        }
        let stream = self.stream.as_mut()?;
        stream.ack_due.is_some_and(|due| due <= now).then(|| stream.acknowledge())
    }

    fn gap_due(&self, patience: &Patience) -> Option<Instant> {
        Some(self.stream.as_ref()?.waiting_since? + patience.hold)
    }

    pub fn poll_timeout(&self, patience: &Patience) -> Option<Instant> {
        let ack = self.stream.as_ref().and_then(|stream| stream.ack_due);
        ack.into_iter().chain(self.gap_due(patience)).min()
    }

    /// What is held back.
    pub fn held(&self) -> Backlog {
        self.held
    }

    /// Most bytes that were ever held back.
    pub fn held_bytes_max(&self) -> u64 {
        self.held_bytes_max
    }

    /// Memory of held packets.
    pub fn memory(&self) -> u64 {
        self.memory
    }

    pub fn check(&self) -> Result<(), &'static str> {
        if self.memory > self.memory_limit {
            return Err("more memory is held back than the limit");
        }
        match &self.stream {
            Some(stream) if stream.arrived.contains_key(&stream.expected) => Err("a packet that is in order is held"),
            None if self.held.packets > 0 => Err("packets of no sender are held"),
            _ => Ok(()),
        }
    }
}

impl Stream {
    /// The first frame of a life: everything before the oldest it names is history.
    fn new(frame: &Frame) -> Stream {
        let sequence = position::first(frame.sequence);
        let expected = sequence - u64::from(frame.back);
        Stream {
            life: frame.life,
            newest: position::first(frame.number) - 1,
            received: 0,
            expected,
            arrived: BTreeMap::new(),
            skipped: BTreeSet::new(),
            unacknowledged: 0,
            ack_due: None,
            waiting_since: None,
            waits_for: expected,
        }
    }

    /// Notes a transmission; true if some before it are missing.
    fn note_number(&mut self, frame: &Frame) -> bool {
        let number = position::near(self.newest, frame.number);
        if number <= self.newest {
            let distance = self.newest - number;
            self.received |= if distance < 128 { 1 << distance } else { 0 };
            return false;
        }
        let step = number - self.newest;
        self.received = if step < 128 { self.received << step | 1 } else { 1 };
        self.newest = number;
        step > 1
    }

    fn acknowledge(&mut self) -> Ack {
        self.unacknowledged = 0;
        self.ack_due = None;
        Ack {
            life: self.life,
            newest: position::sequence(self.newest),
            expected: position::sequence(self.expected),
            received: self.received,
        }
    }
}
