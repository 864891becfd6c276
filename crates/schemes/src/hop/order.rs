//! Passes on each packet once, and in order unless told otherwise: a packet waits for the one that it goes behind until
//! that one comes, or nobody will send it any more, or the wait has taken too long. That is the packet right before it, or
//! the one before it in its flow where the sender tells.

use crate::position::Position;
use crate::tally::Tally;
use airtcp_core::{Context, DropReason, Duration, Event, Instant, Packet, Port};
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;

/// Packets that were passed over and may still come; the latest are kept.
const MAX_SKIPPED: usize = 1024;
/// Packets that came beyond a gap and are remembered; a gap that is followed by more is none that a sender of ours leaves.
const MAX_ARRIVED: usize = 1 << 16;
/// Memory of an entry beside its packet.
const ENTRY: u64 = 64;

/// Takes the packets whose turn has come.
pub(crate) trait Outlet {
    /// Passes a packet on, or ends it.
    fn pass(&mut self, cx: &mut Context<'_>, passed: &Passed, packet: Packet);
}

/// What is known of a packet whose turn has come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Passed {
    /// Its number.
    pub sequence: Position,
    /// The one that it goes behind.
    pub before: Option<Position>,
    /// What it is.
    pub part: Part,
    /// When it came.
    pub came: Instant,
}

/// What a frame carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Part {
    /// A packet.
    #[default]
    Whole,
    /// A packet without its tail, which the next sequence number has.
    Head,
    /// The tail of the one before.
    Tail,
}

/// When it is the turn of what came.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Turn {
    /// Its number.
    pub sequence: Position,
    /// If the order of flows is kept: it goes behind the one so far before it, and behind none if that is 0.
    pub after: u16,
    /// What it is.
    pub part: Part,
}

/// Passes packets on as they are.
#[derive(Debug)]
pub(crate) struct Onward;

impl Outlet for Onward {
    fn pass(&mut self, cx: &mut Context<'_>, _passed: &Passed, packet: Packet) {
        cx.send(Port::INNER, packet);
    }
}

/// Which order is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    /// None: packets pass as they come.
    None,
    /// That of all packets: each goes behind the one right before it.
    All,
    /// That of each flow: the sender says which packet each goes behind.
    Flows,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Order<O = Onward> {
    /// Where packets leave.
    pub outlet: O,
    keep: Keep,
    memory_limit: u64,
    /// The first packet that has not come and may still come.
    expected: Position,
    /// Beyond it: held, or passed on already.
    arrived: BTreeMap<Position, Option<Held>>,
    /// What is held, by the packet that it waits for.
    followers: BTreeMap<Position, Position>,
    /// When the packets came that had to wait, the first ones first; some have left.
    came: VecDeque<(Instant, Position)>,
    /// Passed over and not yet come.
    skipped: BTreeSet<Position>,
    /// What is held back.
    pub held: Tally,
}

#[derive(Debug)]
struct Held {
    packet: Packet,
    part: Part,
    came: Instant,
    /// Waits for this one.
    before: Position,
}

impl Keep {
    /// The order of all packets, or none.
    pub fn all_if(in_order: bool) -> Keep {
        if in_order { Keep::All } else { Keep::None }
    }
}

impl Order {
    /// Holds packets of at most so much memory.
    pub fn new(keep: Keep, memory_limit: u64) -> Order {
        Order::through(Onward, keep, memory_limit)
    }
}

impl<O: Outlet> Order<O> {
    /// The same, with an outlet of its own.
    pub fn through(outlet: O, keep: Keep, memory_limit: u64) -> Self {
        Order {
            outlet,
            keep,
            memory_limit,
            expected: 0,
            arrived: BTreeMap::new(),
            followers: BTreeMap::new(),
            came: VecDeque::new(),
            skipped: BTreeSet::new(),
            held: Tally::default(),
        }
    }

    /// True if the sender tells which packet of its flow each one goes behind.
    pub fn keeps_flows(&self) -> bool {
        self.keep == Keep::Flows
    }

    /// Lets go of everything and begins anew at `first`.
    pub fn restart(&mut self, cx: &mut Context<'_>, first: Position) {
        self.release_all(cx);
        self.arrived.clear();
        self.skipped.clear();
        self.expected = first;
    }

    /// The first packet that has not come and may still come.
    pub fn expected(&self) -> Position {
        self.expected
    }

    /// Packets that have not come before one that came.
    pub fn missing(&self) -> usize {
        let span = self.arrived.last_key_value().map_or(0, |(last, _)| last + 1 - self.expected);
        usize::try_from(span).unwrap_or(usize::MAX).saturating_sub(self.arrived.len())
    }

    /// True if this packet is still waited for.
    pub fn misses(&self, sequence: Position) -> bool {
        self.skipped.contains(&sequence) || sequence >= self.expected && !self.arrived.contains_key(&sequence)
    }

    /// Passes a packet on, holds it or drops it; false if it was here before.
    pub fn take(&mut self, cx: &mut Context<'_>, turn: Turn, packet: Packet) -> bool {
        let Turn { sequence, after, part } = turn;
        let before = match self.keep {
            Keep::None => None,
            Keep::All => sequence.checked_sub(1),
            Keep::Flows => sequence.checked_sub(u64::from(after)).filter(|_| after > 0),
        };
        let is_new = self.misses(sequence);
        let is_late = self.skipped.remove(&sequence);
        let waits_for = before.filter(|before| !is_late && self.is_awaited(*before));
        if !is_new {
            cx.discard(packet, DropReason::DUPLICATE);
        } else if let Some(before) = waits_for {
            cx.emit(Event::HELD);
            self.held.add(&packet, ENTRY);
            self.arrived.insert(sequence, Some(Held { packet, part, came: cx.now(), before }));
            self.came.push_back((cx.now(), sequence));
            if let Some(other) = self.followers.insert(before, sequence) {
                // Two that go behind one: no sender of ours says so.
                self.release(cx, other, Event::RELEASED_ACROSS_GAP);
            }
        } else {
            if sequence >= self.expected {
                self.arrived.insert(sequence, None);
            }
            let passed = Passed { sequence, before, part, came: cx.now() };
            self.outlet.pass(cx, &passed, packet);
            self.close_gap(cx, Event::RELEASED_IN_ORDER);
            self.release_behind(cx, sequence, Event::RELEASED_IN_ORDER);
        }
        if self.held.memory > self.memory_limit {
            self.release_all(cx);
        }
        while self.arrived.len() > MAX_ARRIVED
            && let Some((&first, _)) = self.arrived.first_key_value()
        {
            self.skip_to(cx, first);
        }
        self.settle();
        is_new
    }

    /// True if a packet may have to wait for this one: it has not come and may come, or is held itself.
    fn is_awaited(&self, sequence: Position) -> bool {
        sequence >= self.expected
            && !self.skipped.contains(&sequence)
            && self.arrived.get(&sequence).is_none_or(Option::is_some)
    }

    /// Nothing before `oldest` will come any more.
    pub fn pass_over(&mut self, cx: &mut Context<'_>, oldest: Position) {
        self.skipped = self.skipped.split_off(&oldest);
        self.advance(cx, oldest);
        self.settle();
    }

    /// Nothing before `position` is waited for; what comes all the same is passed on late.
    pub fn skip_to(&mut self, cx: &mut Context<'_>, position: Position) {
        let from = self.expected.max(position.saturating_sub(MAX_SKIPPED as u64));
        self.skipped.extend((from..position).filter(|sequence| !self.arrived.contains_key(sequence)));
        self.forget_oldest_skipped();
        self.advance(cx, position);
        self.settle();
    }

    fn forget_oldest_skipped(&mut self) {
        while self.skipped.len() > MAX_SKIPPED {
            self.skipped.pop_first();
        }
    }

    fn advance(&mut self, cx: &mut Context<'_>, position: Position) {
        if position <= self.expected {
            return;
        }
        self.expected = position;
        while let Some((&before, _)) = self.followers.first_key_value().filter(|(before, _)| **before < position) {
            self.release_behind(cx, before, Event::RELEASED_ACROSS_GAP);
        }
        self.arrived = self.arrived.split_off(&position);
        self.close_gap(cx, Event::RELEASED_ACROSS_GAP);
    }

    /// What was expected has come, and perhaps more behind it.
    fn close_gap(&mut self, cx: &mut Context<'_>, event: Event) {
        while let Some(next) = self.arrived.first_entry().filter(|next| *next.key() == self.expected) {
            if next.get().is_some() {
                // It waited for a packet before this one, and there is none any more.
                self.release(cx, self.expected, event);
                continue;
            }
            next.remove();
            self.expected += 1;
        }
    }

    /// Passes on what waited for this packet, and what waited for that, and so on.
    fn release_behind(&mut self, cx: &mut Context<'_>, before: Position, event: Event) {
        let mut before = before;
        while let Some(next) = self.followers.remove(&before) {
            self.let_go(cx, next, event);
            before = next;
        }
        self.close_gap(cx, event);
    }

    /// Passes on a packet that is held, whatever it waits for, and what waits for it.
    fn release(&mut self, cx: &mut Context<'_>, sequence: Position, event: Event) {
        if let Some(Some(held)) = self.arrived.get(&sequence) {
            let before = held.before;
            if self.followers.get(&before) == Some(&sequence) {
                self.followers.remove(&before);
            }
            self.let_go(cx, sequence, event);
            self.release_behind(cx, sequence, event);
        }
    }

    fn let_go(&mut self, cx: &mut Context<'_>, sequence: Position, event: Event) {
        if let Some(held) = self.arrived.get_mut(&sequence).and_then(Option::take) {
            let Held { packet, part, came, before } = held;
            self.held.remove(&packet, ENTRY);
            cx.emit(event);
            self.outlet.pass(cx, &Passed { sequence, before: Some(before), part, came }, packet);
        }
    }

    /// Waits no longer for what this packet waits for.
    fn give_up_before(&mut self, cx: &mut Context<'_>, sequence: Position) {
        if self.keep == Keep::All {
            return self.skip_to(cx, sequence);
        }
        // Those of its flow that are held before it go first, and what the first of them waits for is missing.
        let mut first = sequence;
        while let Some(Some(held)) = self.arrived.get(&first) {
            first = held.before;
        }
        self.skipped.insert(first);
        self.forget_oldest_skipped();
        self.release_behind(cx, first, Event::RELEASED_ACROSS_GAP);
        self.settle();
    }

    /// True if this packet is held.
    pub fn holds(&self, sequence: Position) -> bool {
        matches!(self.arrived.get(&sequence), Some(Some(_)))
    }

    /// Passes on all packets that are held and of which `is_one` is true, in their order.
    pub fn release_those(&mut self, cx: &mut Context<'_>, is_one: impl Fn(&Packet) -> bool) {
        let held = self.arrived.iter().filter_map(|(sequence, held)| Some((*sequence, held.as_ref()?)));
        let those: Vec<Position> = held.filter(|(_, held)| is_one(&held.packet)).map(|(sequence, _)| sequence).collect();
        for sequence in those {
            if self.holds(sequence) {
                self.give_up_before(cx, sequence);
            }
        }
    }

    /// Passes on everything that is held.
    pub fn release_all(&mut self, cx: &mut Context<'_>) {
        while let Some(&(_, sequence)) = self.came.front() {
            self.give_up_before(cx, sequence);
            self.settle();
        }
    }

    /// Forgets when packets came that are not held any more.
    fn settle(&mut self) {
        while self.came.front().is_some_and(|(_, sequence)| !self.holds(*sequence)) {
            self.came.pop_front();
        }
    }

    /// No packet waits longer than `hold`.
    pub fn handle_timeout(&mut self, cx: &mut Context<'_>, hold: Duration) {
        while let Some(&(_, sequence)) = self.came.front().filter(|(came, _)| *came + hold <= cx.now()) {
            self.give_up_before(cx, sequence);
            self.settle();
        }
    }

    /// When the first packet has waited for `hold`.
    pub fn poll_timeout(&self, hold: Duration) -> Option<Instant> {
        self.came.front().map(|(came, _)| *came + hold)
    }

    pub fn check(&self) -> Result<(), &'static str> {
        if self.held.memory > self.memory_limit {
            return Err("more memory is held back than the limit");
        }
        if self.arrived.contains_key(&self.expected) {
            return Err("a packet that came is expected");
        }
        if self.followers.len() != self.held.waiting.packets {
            return Err("packets are held and nothing is waited for, or the other way round");
        }
        if self.came.is_empty() != (self.held.waiting.packets == 0) {
            return Err("a held packet has no end of its wait");
        }
        Ok(())
    }
}
