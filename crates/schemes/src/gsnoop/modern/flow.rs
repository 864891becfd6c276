//! One direction of a connection as B sees it: what arrived, what is missing, what is held.

use super::downstream::positions;
use super::upstream::Timing;
use crate::gsnoop::message::{MAX_RANGES, Message, SeqRange};
use crate::position::{self, Position};
use crate::seq_map::SeqMap;
use airtcp_core::{Backlog, Context, DropReason, Duration, Event, FlowKey, Instant, Packet, Port, SeqNum};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::ops::Range;

/// Gaps tracked per flow; beyond that the lowest is given up.
const MAX_GAPS: usize = 256;
/// Lost retransmissions waited for at a time.
const MAX_BARRIERS: usize = 32;
/// A POLL that claims to be further ahead than any window is not believed.
const MAX_WINDOW: u64 = 1 << 30;
/// A redundant copy follows its original closely.
const LATEST: usize = 32;
/// Packets in order after which the patience learned from reordering is halved.
const CALM_PACKETS: u32 = 2048;

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
    held: SeqMap<Packet>,
    /// Retransmissions of earlier bytes that came while packets were held.
    deferred: VecDeque<Deferred>,
    held_bytes: u64,
    held_memory: u64,
    reordering: Reordering,
    /// Start and timestamp of the latest packets, to know a second copy by.
    latest: [(Position, u32); LATEST],
    latest_at: u8,
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

/// A packet of earlier bytes that must not overtake what came before it: a sender with RACK
/// would take everything it overtakes for lost.
#[derive(Debug)]
struct Deferred {
    packet: Packet,
    /// It may go when everything before this position went.
    behind: Position,
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

/// How much later than its successors a packet may come on this link without being lost.
#[derive(Debug, Default)]
struct Reordering {
    patience: Duration,
    calm: u32,
    /// Ranges asked for in vain, since they were only late: their repair is a duplicate.
    vain: SeqMap<Instant>,
}

impl Incoming {
    /// A flow first seen with `sequence`.
    pub fn new(sequence: SeqNum, now: Instant) -> Self {
        let start = position::first(sequence);
        Incoming {
            initial: sequence,
            next: start,
            high: start,
            gaps: SeqMap::default(),
            abandoned: SeqMap::default(),
            barriers: Vec::new(),
            held: SeqMap::default(),
            deferred: VecDeque::new(),
            held_bytes: 0,
            held_memory: 0,
            reordering: Reordering::default(),
            latest: [(0, 0); LATEST],
            latest_at: 0,
            last_used: now,
            timer: None,
        }
    }

    /// A SYN with another initial sequence number begins a new connection on the same ports.
    pub fn is_new_connection(&self, sequence: SeqNum) -> bool {
        sequence != self.initial
    }

    pub fn held(&self) -> Backlog {
        Backlog { packets: self.held.len() + self.deferred.len(), bytes: self.held_bytes }
    }

    pub fn memory(&self) -> u64 {
        self.held_memory
    }

    pub fn handle_packet(
        &mut self,
        cx: &mut Context<'_>,
        flow: &FlowKey,
        packet: Packet,
        timing: &Timing,
        hold: Duration,
        out: &mut Vec<Message>,
    ) {
        let Some(tcp) = packet.tcp() else { return };
        let now = cx.now();
        self.last_used = now;
        let start = position::near(self.high, tcp.sequence);
        let range = start..start + Position::from(packet.sequence_len());
        if self.is_second_copy(&packet, &range) {
            cx.discard(packet, DropReason::Duplicate);
            return;
        }
        if range.end <= self.next {
            self.abandoned.take_out(range.clone());
            self.pass_old(cx, packet, &range);
            self.advance(cx, Event::ReleasedInOrder);
            return;
        }
        self.fill(now, &range, timing, hold);
        if range.start > self.high {
            self.open_gap(self.high..range.start, now, hold);
        }
        self.high = self.high.max(range.end);
        let is_barred = self.barriers.first().is_some_and(|barrier| barrier.behind <= range.start);
        if range.start <= self.next && !is_barred {
            self.reordering.on_in_order();
            cx.send(Port::INNER, packet);
        } else {
            self.hold(cx, range, packet);
        }
        self.advance(cx, Event::ReleasedInOrder);
        self.request_due(cx, flow, timing, out);
    }

    /// The same bytes with the same timestamp came just before: A sent them twice.
    fn is_second_copy(&mut self, packet: &Packet, range: &Range<Position>) -> bool {
        let Some(timestamps) = packet.tcp().and_then(|tcp| tcp.options.timestamps) else { return false };
        let identity = (range.start, timestamps.value);
        if self.latest.contains(&identity) {
            return true;
        }
        self.latest[usize::from(self.latest_at) % LATEST] = identity;
        self.latest_at = self.latest_at.wrapping_add(1);
        false
    }

    /// Bytes already passed on. A sender's retransmission must reach the receiver; the second
    /// copy of a packet that was only late must not.
    fn pass_old(&mut self, cx: &mut Context<'_>, packet: Packet, range: &Range<Position>) {
        let now = cx.now();
        self.reordering.vain.retain(|_, until| *until > now);
        let place =
            self.barriers.iter().position(|barrier| barrier.range.start < range.end && range.start < barrier.range.end);
        if let Some(place) = place {
            let barrier = self.barriers.remove(place);
            return self.defer(cx, packet, barrier.behind);
        }
        let vain = self.reordering.vain.iter().any(|(asked, _)| asked.start <= range.start && range.end <= asked.end);
        if vain {
            self.reordering.vain.take_out(range.clone());
            cx.discard(packet, DropReason::Duplicate);
        } else if self.held.is_empty() && self.deferred.is_empty() && self.barriers.is_empty() {
            cx.send(Port::INNER, packet);
        } else {
            self.defer(cx, packet, self.high);
        }
    }

    /// Lets a packet of earlier bytes go when everything before `behind` went.
    fn defer(&mut self, cx: &mut Context<'_>, packet: Packet, behind: Position) {
        cx.emit(Event::Held);
        self.note_held(&packet);
        let place = self.deferred.partition_point(|other| other.behind <= behind);
        self.deferred.insert(place, Deferred { packet, behind });
    }

    fn open_gap(&mut self, range: Range<Position>, now: Instant, hold: Duration) {
        let gap = Gap {
            since: now,
            deadline: now + hold,
            request_at: now + self.reordering.patience,
            asked_at: None,
            tries: 0,
        };
        self.gaps.insert(range, gap);
        if self.gaps.len() > MAX_GAPS {
            self.gaps.pop_first();
        }
    }

    /// Takes an arrival out of the gaps, and learns from one that was late rather than lost.
    fn fill(&mut self, now: Instant, range: &Range<Position>, timing: &Timing, hold: Duration) {
        if self.gaps.is_empty() || range.start >= self.high {
            return;
        }
        for (filled, gap) in self.gaps.take_out(range.clone()) {
            // A repair needs a whole round trip; what is here sooner was under way all along.
            let was_late = gap.asked_at.is_none_or(|asked| now.saturating_since(asked) < timing.rtt / 4 * 3);
            if was_late {
                self.reordering.on_late(now.saturating_since(gap.since), hold);
                if gap.asked_at.is_some() {
                    self.reordering.vain.insert(filled, now + hold);
                }
            }
        }
    }

    fn hold(&mut self, cx: &mut Context<'_>, range: Range<Position>, packet: Packet) {
        let is_longer = self.held.get(range.start).is_none_or(|(end, _)| end < range.end);
        if !is_longer {
            cx.discard(packet, DropReason::Duplicate);
            return;
        }
        cx.emit(Event::Held);
        self.note_held(&packet);
        if let Some(shorter) = self.held.insert(range, packet) {
            self.note_released(&shorter);
            cx.discard(shorter, DropReason::Duplicate);
        }
    }

    fn note_held(&mut self, packet: &Packet) {
        self.held_bytes += u64::from(packet.wire_len());
        self.held_memory += held_memory(packet);
    }

    fn note_released(&mut self, packet: &Packet) {
        self.held_bytes -= u64::from(packet.wire_len());
        self.held_memory -= held_memory(packet);
    }

    /// Passes on everything before the first gap, in the order of positions; deferred packets
    /// where they came.
    fn advance(&mut self, cx: &mut Context<'_>, event: Event) {
        let gap = self.gaps.first().map_or(self.high, |(gap, _)| gap.start);
        self.next = self.barriers.first().map_or(gap, |barrier| gap.min(barrier.behind)).max(self.next);
        while let Some(packet) = self.pop_released() {
            self.note_released(&packet);
            cx.emit(event);
            cx.send(Port::INNER, packet);
        }
        self.held.shrink();
    }

    fn pop_released(&mut self) -> Option<Packet> {
        let next = self.next;
        let held = self.held.first().map(|(range, _)| range.start).filter(|start| *start < next);
        let deferred = self.deferred.front().map(|deferred| deferred.behind).filter(|behind| *behind <= next);
        if let Some(behind) = deferred
            && held.is_none_or(|start| behind <= start)
        {
            return self.deferred.pop_front().map(|deferred| deferred.packet);
        }
        held.and_then(|_| self.held.pop_first()).map(|(_, packet)| packet)
    }

    /// Lets everything pass and stops waiting.
    pub fn release_everything(&mut self, cx: &mut Context<'_>) {
        self.gaps = SeqMap::default();
        self.barriers.clear();
        self.abandoned = SeqMap::default();
        self.advance(cx, Event::ReleasedAcrossGap);
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
        self.advance(cx, Event::ReleasedAcrossGap);
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
        hold: Duration,
        out: &mut Vec<Message>,
    ) {
        let now = cx.now();
        let polled = positions(self.high, sent);
        if polled.end > self.high && polled.end - self.high < MAX_WINDOW {
            self.open_gap(self.high.max(polled.start)..polled.end, now, hold);
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
        hold: Duration,
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
        let gap = Gap { since: now, deadline: now + hold, request_at: now, asked_at: None, tries: 0 };
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
            self.advance(cx, Event::ReleasedAcrossGap);
        }
        self.request_due(cx, flow, timing, out);
    }

    fn request_due(&mut self, cx: &Context<'_>, flow: &FlowKey, timing: &Timing, out: &mut Vec<Message>) {
        let now = cx.now();
        let any_due = |gap: &Gap| gap.request_at <= now && gap.tries < timing.tries;
        if self.missing().any(|(_, gap)| any_due(gap)) {
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
        let barriers = self.barriers.iter_mut().map(|barrier| (barrier.range.clone(), &mut barrier.gap));
        for (range, gap) in self.gaps.iter_mut().chain(barriers) {
            let range = (position::sequence(range.start), position::sequence(range.end));
            if gap.request_at <= now {
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
        out.extend(due.chunks(MAX_RANGES).map(|ranges| Message::Nack(*flow, ranges.to_vec())));
    }

    /// When [`Incoming::handle_timeout`] has something to do.
    pub fn next_timeout(&self) -> Option<Instant> {
        self.missing().map(|(_, gap)| gap.request_at.min(gap.deadline)).min()
    }

    /// Everything that is waited for.
    fn missing(&self) -> impl Iterator<Item = (Range<Position>, &Gap)> {
        self.gaps.iter().chain(self.barriers.iter().map(|barrier| (barrier.range.clone(), &barrier.gap)))
    }
}

impl Reordering {
    fn on_late(&mut self, lateness: Duration, hold: Duration) {
        self.calm = 0;
        self.patience = self.patience.max(lateness + lateness / 4).min(hold / 2);
    }

    fn on_in_order(&mut self) {
        self.calm += 1;
        if self.calm >= CALM_PACKETS {
            self.calm = 0;
            self.patience = self.patience / 2;
        }
    }
}

/// Memory of a held packet with its entry.
fn held_memory(packet: &Packet) -> u64 {
    packet.memory() as u64 + 64
}
