//! Passes on each packet once, and in order unless told otherwise: what comes behind a gap waits
//! until the gap is filled, or nobody will fill it, or it has taken too long.

use crate::position::Position;
use crate::tally::Tally;
use airtcp_core::{Context, DropReason, Duration, Event, Instant, Packet, Port};
use alloc::collections::{BTreeMap, BTreeSet};

/// Packets that were passed over and may still come; the latest are kept.
const MAX_SKIPPED: usize = 1024;
/// Memory of an entry beside its packet.
const ENTRY: u64 = 64;

/// Takes the packets whose turn has come.
pub(crate) trait Outlet {
    /// Passes a packet on, or ends it.
    fn pass(&mut self, cx: &mut Context<'_>, packet: Packet);
}

/// Passes packets on as they are.
#[derive(Debug)]
pub(crate) struct Onward;

impl Outlet for Onward {
    fn pass(&mut self, cx: &mut Context<'_>, packet: Packet) {
        cx.send(Port::INNER, packet);
    }
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Order<O = Onward> {
    /// Where packets leave.
    pub outlet: O,
    in_order: bool,
    memory_limit: u64,
    /// The first packet that is waited for.
    expected: Position,
    /// Beyond it: held, or passed on already.
    arrived: BTreeMap<Position, Option<Packet>>,
    /// Before it, passed over and not yet come.
    skipped: BTreeSet<Position>,
    /// Since when something waits for a packet, and for which.
    waiting: Option<(Instant, Position)>,
    /// What is held back.
    pub held: Tally,
}

impl Order {
    /// Holds packets of at most so much memory.
    pub fn new(in_order: bool, memory_limit: u64) -> Order {
        Order::through(Onward, in_order, memory_limit)
    }
}

impl<O: Outlet> Order<O> {
    /// The same, with an outlet of its own.
    pub fn through(outlet: O, in_order: bool, memory_limit: u64) -> Self {
        Order {
            outlet,
            in_order,
            memory_limit,
            expected: 0,
            arrived: BTreeMap::new(),
            skipped: BTreeSet::new(),
            waiting: None,
            held: Tally::default(),
        }
    }

    /// Lets go of everything and begins anew at `first`.
    pub fn restart(&mut self, cx: &mut Context<'_>, first: Position) {
        self.release_all(cx);
        self.arrived.clear();
        self.skipped.clear();
        self.expected = first;
    }

    /// The first packet that is waited for.
    pub fn expected(&self) -> Position {
        self.expected
    }

    /// True if this packet is still waited for.
    pub fn misses(&self, sequence: Position) -> bool {
        self.skipped.contains(&sequence) || sequence >= self.expected && !self.arrived.contains_key(&sequence)
    }

    /// Passes a packet on, holds it or drops it; false if it was here before.
    pub fn take(&mut self, cx: &mut Context<'_>, sequence: Position, packet: Packet) -> bool {
        let is_new = self.misses(sequence);
        let is_late = self.skipped.remove(&sequence);
        if !is_new {
            cx.discard(packet, DropReason::DUPLICATE);
        } else if is_late {
            self.outlet.pass(cx, packet);
        } else if sequence == self.expected {
            self.expected += 1;
            self.outlet.pass(cx, packet);
            self.pass_on(cx, Event::RELEASED_IN_ORDER);
        } else if self.in_order {
            cx.emit(Event::HELD);
            self.held.add(&packet, ENTRY);
            self.arrived.insert(sequence, Some(packet));
        } else {
            self.outlet.pass(cx, packet);
            self.arrived.insert(sequence, None);
        }
        if self.held.memory > self.memory_limit {
            self.release_all(cx);
        }
        self.settle(cx.now());
        is_new
    }

    /// Nothing before `oldest` will come any more.
    pub fn pass_over(&mut self, cx: &mut Context<'_>, oldest: Position) {
        self.skipped = self.skipped.split_off(&oldest);
        self.advance(cx, oldest);
        self.settle(cx.now());
    }

    /// Nothing before `position` is waited for; what comes all the same is passed on late.
    pub fn skip_to(&mut self, cx: &mut Context<'_>, position: Position) {
        let from = self.expected.max(position.saturating_sub(MAX_SKIPPED as u64));
        self.skipped.extend((from..position).filter(|sequence| !self.arrived.contains_key(sequence)));
        while self.skipped.len() > MAX_SKIPPED {
            self.skipped.pop_first();
        }
        self.advance(cx, position);
        self.settle(cx.now());
    }

    fn advance(&mut self, cx: &mut Context<'_>, position: Position) {
        if position <= self.expected {
            return;
        }
        self.expected = position;
        let ahead = self.arrived.split_off(&position);
        let before = core::mem::replace(&mut self.arrived, ahead);
        for packet in before.into_values() {
            self.let_go(cx, packet, Event::RELEASED_ACROSS_GAP);
        }
        self.pass_on(cx, Event::RELEASED_ACROSS_GAP);
    }

    /// Passes on what is in order from `expected` on.
    fn pass_on(&mut self, cx: &mut Context<'_>, event: Event) {
        while let Some(next) = self.arrived.remove(&self.expected) {
            self.expected += 1;
            self.let_go(cx, next, event);
        }
    }

    fn let_go(&mut self, cx: &mut Context<'_>, packet: Option<Packet>, event: Event) {
        if let Some(packet) = packet {
            self.held.remove(&packet, ENTRY);
            cx.emit(event);
            self.outlet.pass(cx, packet);
        }
    }

    /// Waits no longer for the first gap.
    fn skip_gap(&mut self, cx: &mut Context<'_>) {
        if let Some((&next, _)) = self.arrived.first_key_value() {
            self.skip_to(cx, next);
        }
    }

    /// Passes on everything that is held.
    pub fn release_all(&mut self, cx: &mut Context<'_>) {
        while self.held.waiting.packets > 0 {
            self.skip_gap(cx);
        }
    }

    /// Begins or ends the wait for a gap.
    fn settle(&mut self, now: Instant) {
        self.waiting = match self.waiting {
            _ if self.held.waiting.packets == 0 => None,
            Some((since, gap)) if gap == self.expected => Some((since, gap)),
            _ => Some((now, self.expected)),
        };
    }

    /// Waits no longer than `hold` for a gap.
    pub fn handle_timeout(&mut self, cx: &mut Context<'_>, hold: Duration) {
        if self.poll_timeout(hold).is_some_and(|due| due <= cx.now()) {
            self.skip_gap(cx);
        }
    }

    /// When the first gap has taken `hold`.
    pub fn poll_timeout(&self, hold: Duration) -> Option<Instant> {
        self.waiting.map(|(since, _)| since + hold)
    }

    pub fn check(&self) -> Result<(), &'static str> {
        if self.held.memory > self.memory_limit {
            return Err("more memory is held back than the limit");
        }
        if self.arrived.contains_key(&self.expected) {
            return Err("a packet that is in order is held");
        }
        if self.waiting.is_some() != (self.held.waiting.packets > 0) {
            return Err("packets are held and nothing is waited for, or the other way round");
        }
        Ok(())
    }
}
