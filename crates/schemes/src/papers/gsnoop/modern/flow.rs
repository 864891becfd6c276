//! One direction of a connection as B sees it: what arrived, what is missing, what is held.

use super::held_acks::{HeldAcks, Standing};
use super::numbers::Numbers;
use super::reordering::Reordering;
use super::second_copies::SecondCopies;
use super::timing::Timing;
use super::waiting::Waiting;
use crate::papers::gsnoop::events;
use crate::papers::gsnoop::message::{MAX_RANGES, Message, SeqRange};
use crate::position::{self, Position};
use crate::seq_map::SeqMap;
use crate::tally::Tally;
use airtcp_core::{Context, DropReason, Duration, Event, FlowKey, HeldFlow, Instant, Packet, Port, SeqNum, TcpHeader};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::Range;

/// Gaps tracked per flow; beyond that the lowest is given up.
const MAX_GAPS: usize = 256;
/// Lost retransmissions waited for at a time.
const MAX_BARRIERS: usize = 32;
/// A POLL that claims to be further ahead than any window is not believed.
const MAX_WINDOW: u64 = 1 << 30;

/// B's state of one flow.
#[derive(Debug)]
pub(super) struct Incoming {
    initial: SeqNum,
    /// Everything before this was passed on or given up.
    next: Position,
    /// One past the last position seen or polled.
    high: Position,
    /// Missing ranges in `next..high`, disjoint.
    gaps: SeqMap<Gap>,
    /// Ranges before `next` that never came: given up, to be filled by the sender.
    abandoned: SeqMap<()>,
    /// Retransmissions of abandoned ranges that were lost again.
    barriers: Vec<Barrier>,
    waiting: Waiting,
    /// In the suppression variant: data passes at once and nothing is ever waiting.
    acks: Option<Box<HeldAcks>>,
    reordering: Reordering,
    second_copies: SecondCopies,
    pub numbers: Numbers,
    /// The shift of the window for what this flow's sender receives; unknown if its SYN was not seen.
    pub window_scale: Option<u8>,
    pub last_used: Instant,
    /// The deadline the owner has queued for this flow.
    pub timer: Option<Instant>,
}

/// A missing range.
#[derive(Clone, Debug)]
struct Gap {
    since: Instant,
    deadline: Instant,
    request_at: Instant,
    asked_at: Option<Instant>,
    tries: u8,
}

/// A retransmission that was lost again: what was sent after it waits for its repair, so that
/// nothing overtakes it. A sender with RACK would send it once more, and then take its late repair
/// for the delivery of that third copy and everything sent in between for lost.
#[derive(Debug)]
struct Barrier {
    range: Range<Position>,
    /// Its place in the order of sending.
    behind: Position,
    gap: Gap,
}

impl Incoming {
    /// A flow first seen with `sequence`; with `suppresses` it hides acknowledgments instead of gaps.
    pub fn new(sequence: SeqNum, now: Instant, suppresses: bool) -> Self {
        let start = position::first(sequence);
        Incoming {
            initial: sequence,
            next: start,
            high: start,
            gaps: SeqMap::default(),
            abandoned: SeqMap::default(),
            barriers: Vec::new(),
            waiting: Waiting::default(),
            acks: suppresses.then(Box::default),
            reordering: Reordering::default(),
            second_copies: SecondCopies::default(),
            numbers: Numbers::default(),
            window_scale: None,
            last_used: now,
            timer: None,
        }
    }

    /// True if a segment belongs to this connection, and does not begin another one with the same addresses and ports.
    fn believes(&mut self, tcp: &TcpHeader, range: &Range<Position>) -> bool {
        if tcp.flags.syn() && tcp.sequence != self.initial {
            self.numbers.doubt(range);
            return false;
        }
        self.numbers.believe(tcp, range, self.high)
    }

    /// True if a reset is where the connection is; any other the receiver ignores, too (RFC 5961, section 3).
    pub fn ends_with(&self, reset: &TcpHeader) -> bool {
        (self.next..=self.high).contains(&position::near(self.high, reset.sequence))
    }

    /// Data that waits, or in the suppression variant acknowledgments.
    pub fn held(&self) -> Tally {
        let mut held = self.waiting.tally;
        held.change(Tally::default(), self.acks.as_ref().map(|acks| acks.tally).unwrap_or_default());
        held
    }

    pub fn handle_packet(
        &mut self,
        cx: &mut Context<'_>,
        flow: &FlowKey,
        packet: Packet,
        timing: &Timing,
        out: &mut Vec<Message>,
    ) {
        let Some(tcp) = packet.tcp() else { return };
        let now = cx.now();
        self.last_used = now;
        let start = position::near(self.high, tcp.sequence);
        let range = start..start + Position::from(packet.sequence_len());
        if self.second_copies.is_second(&packet, &range) {
            cx.discard(packet, DropReason::DUPLICATE);
            return;
        }
        if !self.believes(tcp, &range) {
            cx.emit(events::DOUBTED);
            cx.send(Port::INNER, packet);
            return;
        }
        if tcp.flags.syn() {
            self.window_scale = Some(tcp.options.window_scale.unwrap_or(0));
        }
        if range.end <= self.next {
            self.abandoned.take_out(range.clone());
            self.pass_old(cx, packet, &range);
            self.advance(cx, Event::RELEASED_IN_ORDER);
            return;
        }
        self.fill(now, &range, timing);
        if range.start > self.high {
            self.open_gap(self.high..range.start, now, timing.hold);
        }
        self.high = self.high.max(range.end);
        let is_barred = self.barriers.first().is_some_and(|barrier| barrier.behind <= range.start);
        if range.start <= self.next && !is_barred {
            self.reordering.on_in_order();
            cx.send(Port::INNER, packet);
        } else if self.acks.is_some() {
            cx.send(Port::INNER, packet);
        } else {
            self.waiting.hold(cx, range, packet);
        }
        self.advance(cx, Event::RELEASED_IN_ORDER);
        self.request_due(cx, flow, timing, out);
    }

    /// Bytes already passed on. A sender's retransmission must reach the receiver; the second
    /// copy of a packet that was only late must not.
    fn pass_old(&mut self, cx: &mut Context<'_>, packet: Packet, range: &Range<Position>) {
        let place =
            self.barriers.iter().position(|barrier| barrier.range.start < range.end && range.start < barrier.range.end);
        if let Some(place) = place {
            let barrier = self.barriers.remove(place);
            if self.acks.is_none() {
                return self.waiting.defer(cx, packet, barrier.behind);
            }
        }
        if place.is_none() && self.reordering.take_vain_repair(cx.now(), range) {
            cx.discard(packet, DropReason::DUPLICATE);
        } else if self.acks.is_some() || self.waiting.is_empty() && self.barriers.is_empty() {
            cx.send(Port::INNER, packet);
        } else {
            self.waiting.defer(cx, packet, self.high);
        }
    }

    fn open_gap(&mut self, range: Range<Position>, now: Instant, hold: Duration) {
        let gap = Gap {
            since: now,
            deadline: now + hold,
            request_at: now + self.reordering.patience(),
            asked_at: None,
            tries: 0,
        };
        self.gaps.insert(range, gap);
        if self.gaps.len() > MAX_GAPS {
            self.gaps.pop_first();
        }
    }

    /// Takes an arrival out of the gaps, and learns from one that was late rather than lost.
    fn fill(&mut self, now: Instant, range: &Range<Position>, timing: &Timing) {
        if self.gaps.is_empty() || range.start >= self.high {
            return;
        }
        for (filled, gap) in self.gaps.take_out(range.clone()) {
            // A repair needs a whole round trip; what is here sooner was under way all along.
            let was_late = gap.asked_at.is_none_or(|asked| now.saturating_since(asked) < timing.rtt / 4 * 3);
            if was_late {
                self.reordering.on_late(now.saturating_since(gap.since), timing.hold);
                if gap.asked_at.is_some() {
                    self.reordering.expect_vain_repair(filled.clone(), now + timing.hold);
                }
            }
            if let Some(acks) = self.acks.as_mut().filter(|_| gap.asked_at.is_some()) {
                acks.on_repaired(filled.start, now + timing.hold);
            }
        }
    }

    /// Passes on everything before the first gap, in the order of positions; deferred packets
    /// where they came.
    fn advance(&mut self, cx: &mut Context<'_>, event: Event) {
        let gap = self.gaps.first().map_or(self.high, |(gap, _)| gap.start);
        self.next = self.barriers.first().map_or(gap, |barrier| gap.min(barrier.behind)).max(self.next);
        while let Some(packet) = self.waiting.pop(self.next) {
            cx.emit(event);
            cx.send(Port::INNER, packet);
        }
        self.waiting.shrink();
        let (now, asked) = (cx.now(), self.lowest_asked());
        if let Some(acks) = &mut self.acks {
            acks.release_hopeless(cx, now, asked);
        }
    }

    /// The lowest missing position, if it was asked for.
    fn lowest_asked(&self) -> Option<Position> {
        self.gaps.first().filter(|(_, gap)| gap.asked_at.is_some()).map(|(range, _)| range.start)
    }

    /// Suppression: an acknowledgment on its way to the sender, given back unless it is held.
    pub fn handle_acknowledgment(&mut self, cx: &mut Context<'_>, packet: Packet, room: usize) -> Option<Packet> {
        let standing = Standing { now: cx.now(), asked: self.lowest_asked(), room };
        let (Some(tcp), Some(acks)) = (packet.tcp(), &mut self.acks) else { return Some(packet) };
        let number = position::near(self.high, tcp.acknowledgment);
        if number > self.high {
            return Some(packet);
        }
        acks.handle_packet(cx, packet, number, &standing)
    }

    /// Acknowledgments that go on now.
    pub fn take_released(&mut self) -> Vec<Packet> {
        self.acks.as_mut().map(|acks| core::mem::take(&mut acks.released)).unwrap_or_default()
    }

    /// What is held, if anything is, which is held no longer.
    pub fn surrender(&mut self) -> Option<HeldFlow> {
        let expected = position::sequence(self.next);
        let packets: Vec<Packet> = core::iter::from_fn(|| self.waiting.pop(Position::MAX)).collect();
        (!packets.is_empty()).then_some(HeldFlow { expected, packets })
    }

    /// Lets everything pass and stops waiting.
    pub fn release_everything(&mut self, cx: &mut Context<'_>) {
        self.gaps = SeqMap::default();
        self.barriers.clear();
        self.abandoned = SeqMap::default();
        self.advance(cx, Event::RELEASED_ACROSS_GAP);
        if let Some(acks) = &mut self.acks {
            acks.release(cx);
        }
    }

    /// These ranges will not come.
    pub fn give_up(&mut self, cx: &mut Context<'_>, ranges: &[SeqRange]) {
        for range in ranges {
            let absent = positions(self.high, *range);
            self.barriers.retain(|barrier| barrier.range.end <= absent.start || absent.end <= barrier.range.start);
            for (part, _) in self.gaps.take_out(positions(self.high, *range)) {
                self.abandon(part);
            }
        }
        self.advance(cx, Event::RELEASED_ACROSS_GAP);
    }

    fn abandon(&mut self, range: Range<Position>) {
        self.abandoned.add(range);
        if self.abandoned.len() > MAX_GAPS {
            self.abandoned.pop_first();
        }
    }

    pub fn on_poll(
        &mut self,
        cx: &mut Context<'_>,
        flow: &FlowKey,
        sent: SeqRange,
        timing: &Timing,
        out: &mut Vec<Message>,
    ) {
        let now = cx.now();
        let polled = positions(self.high, sent);
        if polled.end > self.high && polled.end - self.high < MAX_WINDOW {
            self.open_gap(self.high.max(polled.start)..polled.end, now, timing.hold);
            self.high = polled.end;
        }
        if self.gaps.is_empty() && self.barriers.is_empty() {
            out.push(Message::Have(*flow, sent));
            return;
        }
        self.request(now, flow, timing, out, |_| true);
    }

    /// What of a range that was sent again is still missing was lost again.
    pub fn on_resent(
        &mut self,
        cx: &mut Context<'_>,
        flow: &FlowKey,
        sent: SeqRange,
        timing: &Timing,
        out: &mut Vec<Message>,
    ) {
        let now = cx.now();
        let resent = positions(self.high, sent);
        let overlaps = |range: &Range<Position>| range.start < resent.end && resent.start < range.end;
        let is_missing = self.abandoned.iter().any(|(range, ())| overlaps(&range));
        let is_known = self.barriers.iter().any(|barrier| overlaps(&barrier.range));
        if !is_missing || is_known || self.barriers.len() >= MAX_BARRIERS {
            return;
        }
        let gap = Gap { since: now, deadline: now + timing.hold, request_at: now, asked_at: None, tries: 0 };
        self.barriers.push(Barrier { range: resent, behind: self.high, gap });
        self.request_due(cx, flow, timing, out);
    }

    /// Gives up what waited too long, asks again for what is due.
    pub fn handle_timeout(&mut self, cx: &mut Context<'_>, flow: &FlowKey, timing: &Timing, out: &mut Vec<Message>) {
        let now = cx.now();
        let mut expired = Vec::new();
        self.gaps.retain(|range, gap| {
            let waits = gap.deadline > now;
            if !waits {
                expired.push(range);
            }
            waits
        });
        let barriers = self.barriers.len();
        self.barriers.retain(|barrier| barrier.gap.deadline > now);
        if !expired.is_empty() || self.barriers.len() < barriers {
            expired.into_iter().for_each(|range| self.abandon(range));
            self.advance(cx, Event::RELEASED_ACROSS_GAP);
        }
        let asked = self.lowest_asked();
        if let Some(acks) = &mut self.acks {
            acks.release_hopeless(cx, now, asked);
        }
        self.request_due(cx, flow, timing, out);
    }

    fn request_due(&mut self, cx: &Context<'_>, flow: &FlowKey, timing: &Timing, out: &mut Vec<Message>) {
        let now = cx.now();
        // One that was asked for as often as it may be is due at its end, or before if fewer tries are allowed since then.
        if self.missing().any(|(_, gap)| gap.request_at <= now && now < gap.deadline) {
            // Whatever else was asked for rides along: A repairs nothing twice within a round
            // trip, and a lost NACK is made good sooner.
            self.request(now, flow, timing, out, |gap| gap.request_at <= now || gap.tries > 0);
        }
    }

    /// Asks for the gaps that are due, and for those of the others that are `wanted`.
    fn request(
        &mut self,
        now: Instant,
        flow: &FlowKey,
        timing: &Timing,
        out: &mut Vec<Message>,
        wanted: impl Fn(&Gap) -> bool,
    ) {
        let (mut due, mut others) = (Vec::new(), Vec::new());
        let mut is_again = false;
        let barriers = self.barriers.iter_mut().map(|barrier| (barrier.range.clone(), &mut barrier.gap));
        for (range, gap) in self.gaps.iter_mut().chain(barriers) {
            let range = (position::sequence(range.start), position::sequence(range.end));
            if gap.request_at <= now {
                is_again |= gap.tries > 0;
                gap.tries = gap.tries.saturating_add(1);
                gap.request_at = if gap.tries < timing.tries { now + timing.rtt + timing.guard } else { gap.deadline };
                due.push(range);
            } else if wanted(gap) && others.len() < MAX_RANGES {
                others.push(range);
            } else {
                continue;
            }
            gap.asked_at = gap.asked_at.or(Some(now));
        }
        // Every gap that is due is in a message; others fill the last one.
        let free = (MAX_RANGES - due.len() % MAX_RANGES) % MAX_RANGES;
        let free = if due.is_empty() { MAX_RANGES } else { free };
        due.extend(others.into_iter().take(free));
        let nacks = due.chunks(MAX_RANGES).map(|ranges| Message::Nack(*flow, ranges.to_vec()));
        // A repeated request goes out twice, as one that is lost costs a try; A answers only one of them.
        let copies = 1 + usize::from(is_again);
        out.extend(nacks.flat_map(|nack| core::iter::repeat_n(nack, copies)));
    }

    /// When [`Incoming::handle_timeout`] has something to do.
    pub fn next_timeout(&self) -> Option<Instant> {
        let gaps = self.missing().map(|(_, gap)| gap.request_at.min(gap.deadline)).min();
        let acks = self.acks.as_ref().and_then(|acks| acks.next_timeout());
        gaps.into_iter().chain(acks).min()
    }

    /// Everything that is waited for.
    fn missing(&self) -> impl Iterator<Item = (Range<Position>, &Gap)> {
        self.gaps.iter().chain(self.barriers.iter().map(|barrier| (barrier.range.clone(), &barrier.gap)))
    }
}

/// The range a message names, for a flow at `reference`.
fn positions(reference: u64, (first, end): SeqRange) -> core::ops::Range<u64> {
    let start = position::near(reference, first);
    start..start + u64::from(end.since(first))
}
