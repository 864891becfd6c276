//! Gateway A: queues and shapes what goes over the link, keeps copies, repairs on request, and
//! asks after tails.
//!
//! GSN-2 … GSN-5 in modern form: a hole (lost before the link, or dropped by this queue, GSN-X4)
//! and a cache miss are both answered with NOT-HERE, so that B need not wait.

use super::cache::{CacheOrder, Copies, flush};
use super::numbers::{DISTANCE_MAX, Numbers};
use super::receiver_window::ReceiverWindow;
use super::repairs::{Repairs, is_recognisable};
use super::timing::Timing;
use crate::egress::Allowance;
use crate::egress::{Egress, Lane, Lossy};
use crate::link_rate::{LinkRate, Messages, Name, Report};
use crate::papers::gsnoop::events;
use crate::papers::gsnoop::message::{MAX_RANGES, Message, SeqRange};
use crate::position::{self, Position};
use crate::seq_map::SeqMap;
use crate::timers::Timers;
use airtcp_core::flow_table::FlowTable;
use airtcp_core::{Context, Duration, Event, FlowKey, Instant, Packet, Port, Rate, SeqNum, TcpHeader};
use alloc::vec::Vec;
use core::ops::Range;

/// Holes remembered per flow; the oldest make room (their repair would come from the sender).
const MAX_HOLES: usize = 64;

/// One direction of a connection, as A sees it.
#[derive(Debug)]
pub(super) struct Flow {
    /// One past the last position that arrived from the sender.
    arrived: Position,
    /// One past the last position sent over the link.
    sent: Position,
    /// Everything before this was acknowledged by the receiver.
    acknowledged: Position,
    /// Lost before the link (GSN-2), or dropped by our own queue (GSN-X4).
    holes: SeqMap<()>,
    copies: Copies,
    numbers: Numbers,
    window: ReceiverWindow,
    last_used: Instant,
    /// When its last packet left, and how long after the one before.
    departed_at: Instant,
    gap: Duration,
    /// When the other end is asked after the flow's tail, and how often it was.
    poll_at: Option<Instant>,
    poll_tries: u8,
}

impl Flow {
    /// True if a segment belongs to this connection, and does not begin another one with the same addresses and ports.
    fn believes(&mut self, tcp: &TcpHeader, range: &Range<Position>) -> bool {
        let is_syn_of_another = tcp.flags.syn() && !self.is_first(range);
        let is_beyond_window = range.start > self.arrived && !self.window.admits(range.start);
        if is_syn_of_another || is_beyond_window {
            self.numbers.doubt(range);
            return false;
        }
        self.numbers.believe(tcp, range, self.arrived)
    }

    /// True for the first segment of the connection, and for the same once more.
    fn is_first(&self, range: &Range<Position>) -> bool {
        range.start == self.arrived || range.end == self.arrived
    }

    /// A packet leaves now. How long the flow may be silent before its tail is asked after: half a round trip; while more of it waits for
    /// the link, which will show what was lost, twice as long as its packets are apart. Two may leave in one turn, so the longer of
    /// two gaps counts.
    fn depart(&mut self, now: Instant, timing: &Timing) -> Duration {
        let gap = now.saturating_since(core::mem::replace(&mut self.departed_at, now));
        let spacing = gap.max(core::mem::replace(&mut self.gap, gap));
        let is_gone = |(hole, ()): (Range<Position>, &())| hole.start <= self.sent && hole.end >= self.arrived;
        let more_waits = self.sent < self.arrived && !self.holes.iter().any(is_gone);
        let patience = if more_waits { (spacing * 2).min(PATIENCE) } else { Duration::ZERO };
        patience.max(timing.rtt / 2)
    }

    fn add_hole(&mut self, range: Range<Position>) {
        self.holes.add(range);
        if self.holes.len() > MAX_HOLES {
            self.holes.pop_first();
        }
    }
}

/// Gateway A of one link direction.
#[derive(Debug)]
pub(super) struct Upstream {
    pub egress: Egress,
    pub link_rate: LinkRate,
    flows: FlowTable<Flow>,
    pub cache: CacheOrder,
    repairs: Repairs,
    questions: Allowance,
    messages: Messages,
    /// When to ask after the tails of flows (POLL).
    polls: Timers,
    idle: Duration,
    redundancy: bool,
    lossy: Lossy,
}

/// Questions take at most one part in so many of the link's time.
const QUESTION_PARTS: u64 = 32;
/// About what a message takes on the link.
pub(super) const MESSAGE_BYTES: u32 = 100;
/// The longest that a flow's packets are waited for where they leave seldom.
const PATIENCE: Duration = Duration::from_millis(100);
/// Flows silent for longer are not asked after when the other end is back.
const RECENT: Duration = Duration::from_secs(10);

impl Upstream {
    pub fn new(egress: Egress, link_rate: LinkRate, flows: FlowTable<Flow>, idle: Duration, redundancy: bool) -> Self {
        Upstream {
            egress,
            link_rate,
            flows,
            cache: CacheOrder::default(),
            repairs: Repairs::default(),
            questions: Allowance::new(QUESTION_PARTS),
            messages: Messages::default(),
            polls: Timers::default(),
            idle,
            redundancy,
            lossy: Lossy::default(),
        }
    }

    /// Works from now on as `next` would, a fresh one.
    pub fn adopt(&mut self, cx: &mut Context<'_>, next: &mut Upstream) {
        (self.idle, self.redundancy) = (next.idle, next.redundancy);
        self.link_rate.adopt(cx.now(), &mut next.link_rate, &mut self.egress);
        self.egress.adopt(cx.now(), &mut next.egress);
        self.settle_drops(cx);
    }

    /// What waits for the link, and copies of what has left.
    pub fn surrender(&mut self, cx: &mut Context<'_>) -> (Vec<Packet>, Vec<Packet>) {
        let waiting = self.egress.take_all(cx.now());
        self.settle_drops(cx);
        let flows = self.flows.slots_oldest_first().filter_map(|slot| self.flows.at(slot));
        let copies = flows.flat_map(|(_, flow)| flow.copies.iter().map(|(_, copy)| copy.packet.clone())).collect();
        (waiting, copies)
    }

    /// An element before this one sent this packet.
    pub fn remember(&mut self, cx: &mut Context<'_>, copy: Packet, timing: &Timing) {
        self.note_arrival(cx, &copy);
        self.note_departure(cx, copy, timing);
    }

    /// A packet on its way to the link.
    pub fn handle_packet(&mut self, cx: &mut Context<'_>, packet: Packet, timing: &Timing) {
        self.note_arrival(cx, &packet);
        self.egress.push(cx, packet);
        self.settle_drops(cx);
        self.send_due(cx, timing);
    }

    /// The other gateway is out of reach and nothing waits: forward as a router would.
    pub fn pass(&mut self, cx: &mut Context<'_>, packet: Packet) {
        let len = packet.wire_len();
        self.egress.charge(cx.now(), len);
        cx.send(Port::LINK, packet);
    }

    /// Updates the flow's arrival record.
    fn note_arrival(&mut self, cx: &mut Context<'_>, packet: &Packet) {
        let (Some(flow), Some(tcp)) = (packet.flow(), packet.tcp()) else { return };
        let len = packet.sequence_len();
        if len == 0 || tcp.flags.rst() {
            return;
        }
        let slot = self.find_or_insert(cx, flow, tcp.sequence);
        let Some((_, state)) = self.flows.at_mut(slot) else { return };
        state.last_used = cx.now();
        let start = position::near(state.arrived, tcp.sequence);
        let range = start..start + Position::from(len);
        if !state.believes(tcp, &range) {
            cx.emit(events::DOUBTED);
            return;
        }
        if range.start > state.arrived {
            state.add_hole(state.arrived..range.start);
        } else if !state.holes.is_empty() {
            state.holes.take_out(range.clone());
        }
        state.arrived = state.arrived.max(range.end);
    }

    fn find_or_insert(&mut self, cx: &mut Context<'_>, flow: FlowKey, seq: SeqNum) -> u32 {
        if let Some(slot) = self.flows.slot(&flow) {
            self.flows.touch(slot);
            return slot;
        }
        let start = position::first(seq);
        let (slot, evicted) = self.flows.insert(
            flow,
            Flow {
                arrived: start,
                sent: start,
                acknowledged: start,
                holes: SeqMap::default(),
                copies: Copies::default(),
                numbers: Numbers::default(),
                window: ReceiverWindow::default(),
                last_used: cx.now(),
                departed_at: cx.now(),
                gap: Duration::ZERO,
                poll_at: None,
                poll_tries: 0,
            },
        );
        cx.emit(Event::FLOW_NEW);
        if let Some((_, state)) = evicted {
            cx.emit(Event::FLOW_EVICTED);
            self.let_go(slot, state);
        }
        slot
    }

    fn remove(&mut self, slot: u32) {
        if let Some((_, state)) = self.flows.remove_slot(slot) {
            self.let_go(slot, state);
        }
    }

    /// Forgets what hangs on a flow that is gone from the table.
    fn let_go(&mut self, slot: u32, mut state: Flow) {
        for (_, copy) in state.copies.iter() {
            self.cache.forget(copy);
        }
        self.polls.set(slot, &mut state.poll_at, None);
    }

    fn settle_drops(&mut self, cx: &mut Context<'_>) {
        while let Some((packet, reason)) = self.egress.take_dropped() {
            self.note_local_drop(&packet);
            cx.discard(packet, reason);
        }
    }

    /// GSN-X4: a packet this queue drops was never sent, so it is a hole like any other.
    fn note_local_drop(&mut self, packet: &Packet) {
        let (Some(flow), Some(tcp)) = (packet.flow(), packet.tcp()) else { return };
        let Some(state) = self.flows.get_mut(&flow).filter(|_| !tcp.flags.rst()) else { return };
        let start = position::near(state.arrived, tcp.sequence);
        let range = start..start + Position::from(packet.sequence_len());
        if range.end <= state.arrived {
            state.add_hole(range);
        }
    }

    /// Sends whatever the link has time for now.
    pub fn send_due(&mut self, cx: &mut Context<'_>, timing: &Timing) {
        self.link_rate.allow_for_silence(cx.now(), &mut self.egress);
        while let Some(mut departure) = self.egress.pop(cx) {
            let lane = departure.lane;
            if lane == Lane::Spare {
                departure.packet = cx.duplicate(&departure.packet, events::REDUNDANT_COPY);
                cx.emit(events::REDUNDANT);
            }
            let copy = (lane != Lane::Spare && departure.packet.sequence_len() > 0).then(|| departure.packet.clone());
            let name = Name::of(&departure.packet);
            if !self.egress.transmit(cx, departure) {
                break;
            }
            self.link_rate.on_departure(cx, name, lane, &mut self.egress);
            if let Some(copy) = copy {
                if self.redundancy
                    && self.lossy.is_lossy(cx.now())
                    && self.link_rate.has_time()
                    && is_recognisable(&copy)
                {
                    self.egress.offer_spare(copy.clone(), lane);
                }
                if lane == Lane::Queue {
                    self.note_departure(cx, copy, timing);
                }
            }
        }
        self.settle_drops(cx);
    }

    /// GSN-3: once sent, a copy enters the cache; and the tail timer starts anew.
    fn note_departure(&mut self, cx: &mut Context<'_>, copy: Packet, timing: &Timing) {
        let now = cx.now();
        let Some((flow, tcp)) = copy.flow().zip(copy.tcp().copied()) else { return };
        let Some(slot) = self.flows.slot(&flow) else { return };
        let Some((_, state)) = self.flows.at_mut(slot) else { return };
        if tcp.flags.rst() {
            return;
        }
        let start = position::near(state.arrived, tcp.sequence);
        let range = start..start + Position::from(copy.sequence_len());
        let is_in_doubt = range.end > state.arrived;
        // What was acknowledged a moment ago still matters: the receiver's answer tells the sender that it sent it in vain.
        let is_long_ago = range.end + DISTANCE_MAX <= state.acknowledged;
        if is_in_doubt || is_long_ago {
            return;
        }
        let is_retransmission = range.end <= state.sent;
        state.sent = state.sent.max(range.end);
        if state.window.admits(range.start) {
            self.cache.insert(slot, &mut state.copies, range.clone(), copy, now);
        }
        state.poll_tries = 0;
        let silence = state.depart(now, timing);
        self.polls.set(slot, &mut state.poll_at, Some(now + silence));
        while let Some((victim, serial, start)) = self.cache.next_to_flush() {
            if let Some((_, state)) = self.flows.at_mut(victim) {
                flush(&mut self.cache, &mut state.copies, serial, start);
            }
        }
        if is_retransmission {
            // Nothing behind it shows that it was lost again, so B is asked at once.
            let range = (position::sequence(range.start), position::sequence(range.end));
            self.ask(cx, &Message::Resent(flow, range), timing);
        }
    }

    /// Sends a question about what was sent, if questions have not taken their part of the link.
    fn ask(&mut self, cx: &mut Context<'_>, question: &Message, timing: &Timing) {
        let time = self.egress.transmission(MESSAGE_BYTES);
        if self.questions.take(cx.now(), time, timing.hold) {
            cx.emit(events::POLL);
            self.send_control(cx, question);
        } else {
            cx.emit(events::MESSAGE_REFUSED);
        }
    }

    /// An acknowledgment on its way back to the sender: what it covers needs no copy.
    pub fn on_acknowledgment(&mut self, packet: &Packet) {
        let Some((flow, tcp)) = packet.flow().zip(packet.tcp()) else { return };
        if !tcp.flags.ack() {
            return;
        }
        let Some(slot) = self.flows.slot(&flow.reversed()) else { return };
        let Some((_, state)) = self.flows.at_mut(slot) else { return };
        if state.numbers.is_proven_by(tcp.acknowledgment) {
            // Another connection, or this one went on elsewhere. Its next segment begins anew.
            return self.remove(slot);
        }
        if tcp.flags.syn() {
            state.window.set_scale(tcp.options.window_scale.unwrap_or(0));
        }
        let acknowledged = position::near(state.sent, tcp.acknowledgment);
        // Only what was sent can have been acknowledged; anything else is not for us to believe.
        if acknowledged < state.acknowledged || acknowledged > state.arrived {
            return;
        }
        state.window.note(tcp, acknowledged);
        if acknowledged == state.acknowledged {
            return;
        }
        state.acknowledged = acknowledged;
        while state.copies.first().is_some_and(|(range, _)| range.end <= acknowledged) {
            if let Some((_, copy)) = state.copies.pop_first() {
                self.cache.forget(&copy);
            }
        }
        state.copies.shrink();
        while state.holes.first().is_some_and(|(range, ())| range.end <= acknowledged) {
            state.holes.pop_first();
        }
        if acknowledged >= state.sent {
            self.polls.set(slot, &mut state.poll_at, None);
        }
    }

    /// GSN-5: repair what is in the cache, say NOT-HERE for the rest.
    pub fn on_nack(&mut self, cx: &mut Context<'_>, flow: &FlowKey, ranges: &[SeqRange], timing: &Timing) {
        let Some(slot) = self.flows.slot(flow) else {
            cx.emit_many(events::NOT_HERE, ranges.len() as u64);
            self.send_control(cx, &Message::NotHere(*flow, ranges.to_vec()));
            return;
        };
        let mut missing: Vec<SeqRange> = Vec::new();
        let mut repaired = false;
        for (first, end) in ranges {
            let Some((_, state)) = self.flows.at_mut(slot) else { return };
            let start = position::near(state.sent, *first);
            let asked = start..start + Position::from(end.since(*first));
            let answer = self.repairs.answer(cx, &mut self.egress, &mut state.copies, asked, timing);
            repaired |= answer.is_repaired;
            for range in answer.absent {
                let in_hole = state.holes.iter().any(|(hole, ())| hole.contains(&range.start));
                cx.emit(if in_hole { events::NOT_HERE } else { events::CACHE_MISS });
                missing.push((position::sequence(range.start), position::sequence(range.end)));
            }
        }
        if repaired {
            // That is when room and redundancy are worth having.
            self.lossy.on_loss(cx.now(), &mut self.egress, timing.rtt + timing.guard);
        }
        for batch in missing.chunks(MAX_RANGES) {
            self.send_control(cx, &Message::NotHere(*flow, batch.to_vec()));
        }
        self.send_due(cx, timing);
    }

    /// The receiver of a flow offered this shift of its window before the flow began.
    pub fn set_window_scale(&mut self, flow: &FlowKey, scale: u8) {
        if let Some(state) = self.flows.get_mut(flow) {
            state.window.set_scale(scale);
        }
    }

    /// The other end has everything up to here.
    pub fn on_have(&mut self, flow: &FlowKey, end: SeqNum) {
        let Some(slot) = self.flows.slot(flow) else { return };
        let Some((_, state)) = self.flows.at_mut(slot) else { return };
        if position::near(state.sent, end) >= state.sent {
            self.polls.set(slot, &mut state.poll_at, None);
        }
    }

    /// Asks after tails that are due, and forgets idle flows.
    pub fn handle_timeout(&mut self, cx: &mut Context<'_>, timing: &Timing, peer_in_reach: bool) {
        self.send_due_polls(cx, timing, peer_in_reach);
        self.send_due(cx, timing);
        self.forget_idle(cx.now());
    }

    /// The other end is back: what was on its way when it left may be lost, and nobody but us knows.
    pub fn poll_unacknowledged(&mut self, now: Instant) {
        let slots: Vec<u32> = self.flows.slots_oldest_first().collect();
        for slot in slots {
            let Some((_, state)) = self.flows.at_mut(slot) else { continue };
            let is_recent = now.saturating_since(state.last_used) < RECENT;
            if is_recent && state.acknowledged < state.sent && !state.copies.is_empty() {
                state.poll_tries = 0;
                self.polls.set(slot, &mut state.poll_at, Some(now));
            }
        }
    }

    fn send_due_polls(&mut self, cx: &mut Context<'_>, timing: &Timing, peer_in_reach: bool) {
        let now = cx.now();
        for slot in self.polls.due(now) {
            let Some((flow, state)) = self.flows.at_mut(slot) else { continue };
            self.polls.set(slot, &mut state.poll_at, None);
            if !peer_in_reach || state.poll_tries >= timing.tries {
                continue;
            }
            state.poll_tries += 1;
            let next = now + timing.rtt + timing.guard;
            self.polls.set(slot, &mut state.poll_at, Some(next));
            let first = state.acknowledged.max(state.copies.first().map_or(0, |(range, _)| range.start));
            if first < state.sent {
                let question = Message::Poll(*flow, (position::sequence(first), position::sequence(state.sent)));
                self.ask(cx, &question, timing);
            }
        }
    }

    /// GSN-U15: forgets the flows that were silent longest.
    fn forget_idle(&mut self, now: Instant) {
        let idle = self.idle;
        while let Some(slot) = self.flows.oldest_if(|flow| now.saturating_since(flow.last_used) > idle) {
            self.remove(slot);
        }
    }

    /// What the link carries as far as it is known.
    pub fn rate(&self) -> Option<Rate> {
        self.link_rate.of_link(&self.egress)
    }

    /// What a REPORT takes on the link, at what it is given now.
    pub fn report_time(&self) -> Duration {
        self.egress.transmission(MESSAGE_BYTES)
    }

    /// What came off the link at the other end.
    pub fn on_report(&mut self, cx: &mut Context<'_>, report: &Report, rtt: Duration) {
        self.link_rate.on_report(cx, report, rtt, &mut self.egress);
    }

    /// Sends a message to the other gateway.
    pub fn send_control(&mut self, cx: &mut Context<'_>, message: &Message) {
        self.messages.send(cx, &mut self.egress, &mut self.link_rate, &message.encode());
    }

    pub fn poll_timeout(&self) -> Option<Instant> {
        [self.egress.poll_timeout(), self.polls.next()].into_iter().flatten().min()
    }

    /// Flows with state.
    pub fn flow_count(&self) -> usize {
        self.flows.len()
    }
}
