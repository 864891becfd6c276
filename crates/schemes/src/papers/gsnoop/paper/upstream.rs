//! Gateway A: keeps a hole table (GSN-2), a FIFO buffer and a FIFO cache (GSN-3), and answers a NACK with a
//! notification of the sender, with a repair, or not at all (GSN-5).
//!
//! There is no timer for losses here, unlike in Snoop: everything is driven by NACKs (GSN-17).

use super::cache::Cache;
use super::fifo::Fifo;
use super::hole_table::HoleTable;
use super::icn::{self, Icn};
use crate::papers::gsnoop::duplicate_ack::{AckKind, AckWatch};
use crate::papers::gsnoop::events;
use crate::papers::gsnoop::message::SeqRange;
use crate::position::{self, Position};
use crate::tally::Tally;
use airtcp_core::flow_table::FlowTable;
use airtcp_core::{Context, CreateReason, DropReason, Duration, Event, FlowKey, Instant, Packet, Port, SeqNum};
use core::ops::Range;

/// Gateway A of one link direction.
#[derive(Debug)]
pub(super) struct Upstream {
    pub fifo: Fifo,
    flows: FlowTable<Flow>,
    /// GSN-U6: one cache for all flows, in the order in which they were sent.
    cache: Cache,
    /// What is in the flows' own caches, where they have any.
    own: Tally,
    next_id: u64,
    rules: RepairRules,
}

/// How A keeps copies and answers requests.
#[derive(Clone, Copy, Debug)]
pub(super) struct RepairRules {
    /// Packets in a cache (GSN-U5).
    pub cache_packets: usize,
    pub cache_memory: u64,
    pub cache_per_flow: bool,
    /// Whether a hole leads to a notification of the sender.
    pub icn: bool,
    /// GSN-U13.
    pub icn_interval: Option<Duration>,
    /// GSN-U15.
    pub idle: Duration,
}

/// One direction of a connection, as A sees it.
#[derive(Debug)]
pub(super) struct Flow {
    /// Names the connection in the cache, also after the slot has another.
    id: u64,
    initial: SeqNum,
    holes: HoleTable,
    icn: Icn,
    acknowledged: AckWatch,
    cache: Cache,
    /// One past the FIN.
    end: Option<Position>,
    last_used: Instant,
}

impl Upstream {
    pub fn new(fifo: Fifo, flows: FlowTable<Flow>, rules: RepairRules) -> Self {
        let cache = Cache::new(rules.cache_packets);
        Upstream { fifo, flows, cache, own: Tally::default(), next_id: 0, rules }
    }

    /// A packet on its way to the link.
    pub fn handle_packet(&mut self, cx: &mut Context<'_>, packet: Packet) {
        let arrived = self.note_arrival(cx, &packet);
        if let Err(packet) = self.fifo.push(cx, packet) {
            if let Some((slot, range)) = arrived
                && let Some((_, state)) = self.flows.at_mut(slot)
            {
                state.holes.on_local_drop(range); // GSN-X4
            }
            cx.discard(packet, DropReason::QUEUE_FULL);
        }
        self.send_due(cx);
    }

    /// The other gateway is out of reach and nothing waits: forward as a router would.
    pub fn pass(&mut self, cx: &mut Context<'_>, packet: Packet) {
        self.fifo.egress.charge(cx.now(), packet.wire_len());
        cx.send(Port::LINK, packet);
    }

    /// GSN-2: the flow's slot, and the range that the packet covers.
    fn note_arrival(&mut self, cx: &mut Context<'_>, packet: &Packet) -> Option<(u32, Range<Position>)> {
        let (flow, tcp) = packet.flow().zip(packet.tcp().copied())?;
        let now = cx.now();
        if tcp.flags.rst() {
            self.forget(&flow);
            return None;
        }
        if packet.sequence_len() == 0 {
            if let Some(state) = self.flows.get_mut(&flow) {
                state.icn.on_segment(now);
            }
            return None;
        }
        let slot = self.find_or_insert(cx, flow, tcp.sequence, tcp.flags.syn());
        let (_, state) = self.flows.at_mut(slot)?;
        state.last_used = now;
        let start = position::near(state.holes.arrived(), tcp.sequence);
        let range = start..start + Position::from(packet.sequence_len());
        if !tcp.flags.syn() {
            state.icn.on_segment(now);
        } else if !tcp.flags.ack() {
            state.icn.on_syn(now);
        }
        if range.end <= state.holes.arrived() && state.icn.on_retransmission(&range) {
            cx.emit(events::ICN_RETRANSMISSION);
        }
        if tcp.flags.fin() {
            state.end = Some(range.end);
        }
        state.holes.on_arrival(&range);
        Some((slot, range))
    }

    fn find_or_insert(&mut self, cx: &mut Context<'_>, flow: FlowKey, sequence: SeqNum, is_syn: bool) -> u32 {
        if let Some(slot) = self.flows.slot(&flow) {
            let is_new = is_syn && self.flows.at(slot).is_some_and(|(_, state)| state.initial != sequence);
            if !is_new {
                self.flows.touch(slot);
                return slot;
            }
            self.remove(slot);
        }
        let state = Flow {
            id: self.next_id,
            initial: sequence,
            holes: HoleTable::new(sequence),
            icn: Icn::default(),
            acknowledged: AckWatch::default(),
            cache: Cache::new(self.rules.cache_packets),
            end: None,
            last_used: cx.now(),
        };
        self.next_id += 1;
        let (slot, evicted) = self.flows.insert(flow, state);
        cx.emit(Event::FLOW_NEW);
        if let Some((_, state)) = evicted {
            cx.emit(Event::FLOW_EVICTED);
            self.let_go(&state);
        }
        slot
    }

    fn forget(&mut self, flow: &FlowKey) {
        if let Some(slot) = self.flows.slot(flow) {
            self.remove(slot);
        }
    }

    fn remove(&mut self, slot: u32) {
        if let Some((_, state)) = self.flows.remove_slot(slot) {
            self.let_go(&state);
        }
    }

    fn let_go(&mut self, state: &Flow) {
        self.own.change(state.cache.tally, Tally::default());
    }

    /// Sends whatever the link has time for.
    pub fn send_due(&mut self, cx: &mut Context<'_>) {
        while let Some(sent) = self.fifo.send_next(cx) {
            if !sent.is_repair {
                self.note_departure(sent.copy);
            }
        }
    }

    /// GSN-3: once sent, a copy enters the cache.
    fn note_departure(&mut self, copy: Packet) {
        let Some((flow, tcp)) = copy.flow().zip(copy.tcp().copied()) else { return };
        if copy.sequence_len() == 0 || tcp.flags.rst() {
            return;
        }
        let Some(state) = self.flows.get_mut(&flow) else { return };
        let start = position::near(state.holes.arrived(), tcp.sequence);
        let range = start..start + Position::from(copy.sequence_len());
        if self.rules.cache_per_flow {
            let before = state.cache.tally;
            // What other flows keep is theirs; this one gives up its oldest when memory is short.
            let others = self.own.memory - before.memory;
            state.cache.insert(state.id, range, copy, self.rules.cache_memory.saturating_sub(others));
            self.own.change(before, state.cache.tally);
        } else {
            self.cache.insert(state.id, range, copy, self.rules.cache_memory);
        }
    }

    /// A packet off the link, as the receiver's acknowledgment: whether three copies of it are to be sent to the
    /// sender behind it (GSN-6).
    pub fn on_acknowledgment(&mut self, cx: &mut Context<'_>, packet: &Packet) -> bool {
        let Some((flow, tcp)) = packet.flow().zip(packet.tcp()) else { return false };
        let flow = flow.reversed();
        if tcp.flags.rst() {
            self.forget(&flow);
            return false;
        }
        let Some(slot) = self.flows.slot(&flow).filter(|_| tcp.flags.ack() && !tcp.flags.syn()) else { return false };
        let Some((_, state)) = self.flows.at_mut(slot) else { return false };
        let arrived = state.holes.arrived();
        let number = position::near(arrived, tcp.acknowledgment);
        if number > arrived {
            return false;
        }
        state.last_used = cx.now();
        state.holes.on_acknowledged(number);
        let kind = state.acknowledged.note(packet, number, arrived);
        // A D-SACK reports, in its first block, what was acknowledged already (RFC 2883).
        let is_dsack = tcp.options.sack.as_slice().first().is_some_and(|(left, _)| left.before(tcp.acknowledgment));
        if (kind == AckKind::Duplicate || is_dsack) && state.icn.on_duplicate(number) {
            cx.emit(events::ICN_DUPLICATE_ACK);
        }
        let is_current = kind != AckKind::Other && packet.sequence_len() == 0;
        let copies = is_current && state.icn.is_due();
        if copies {
            state.icn.on_sent(cx.now(), number);
        }
        if state.end.is_some_and(|end| end <= number) {
            self.remove(slot); // GSN-U15
        }
        copies
    }

    /// The copies of an ACK that has just been forwarded (GSN-X6).
    pub fn notify(cx: &mut Context<'_>, ack: &Packet) {
        cx.emit(events::INCIPIENT_CONGESTION);
        for _ in 0..icn::COPIES {
            let copy = cx.duplicate(ack, CreateReason::DUPLICATE_ACK);
            cx.send(Port::INNER, copy);
        }
    }

    /// GSN-5: a hole leads to a notification, a copy in the cache to a repair; the rest is ignored.
    pub fn on_nack(&mut self, cx: &mut Context<'_>, flow: &FlowKey, ranges: &[SeqRange]) {
        let Some(slot) = self.flows.slot(flow) else {
            cx.emit_many(events::CACHE_MISS, ranges.len() as u64);
            return;
        };
        for (first, end) in ranges {
            let Some((_, state)) = self.flows.at_mut(slot) else { return };
            let start = position::near(state.holes.arrived(), *first);
            let asked = start..start + Position::from(end.since(*first));
            let mut found = state.holes.look_up(&asked);
            if found.is_hole {
                cx.emit(events::NOT_HERE);
                if self.rules.icn {
                    state.icn.on_hole_hit(cx.now(), found.is_new, self.rules.icn_interval);
                }
            }
            let cache = if self.rules.cache_per_flow { &state.cache } else { &self.cache };
            for copy in cache.find(state.id, &mut found.elsewhere) {
                let repair = cx.duplicate(copy, CreateReason::REPAIR);
                match self.fifo.push_repair(cx, repair) {
                    Ok(()) => cx.emit(Event::REPAIR),
                    Err(repair) => cx.discard(repair, DropReason::QUEUE_FULL),
                }
            }
            if !found.elsewhere.is_empty() {
                cx.emit(events::CACHE_MISS); // GSN-14
            }
        }
        self.send_due(cx);
    }

    /// GSN-U15: forgets the flows that were silent longest.
    pub fn forget_idle(&mut self, now: Instant) {
        let idle = self.rules.idle;
        while let Some(slot) = self.flows.oldest_if(|flow| now.saturating_since(flow.last_used) > idle) {
            self.remove(slot);
        }
    }

    /// Flows with state.
    pub fn flow_count(&self) -> usize {
        self.flows.len()
    }

    /// Copies kept for repairs, in the cache that all flows share.
    #[cfg(test)]
    pub fn cached_packets(&self) -> usize {
        self.cache.len()
    }

    /// IP bytes kept for repairs.
    pub fn cache_bytes(&self) -> u64 {
        self.cache.tally.waiting.bytes + self.own.waiting.bytes
    }

    /// Memory of what is kept for repairs.
    pub fn cache_memory(&self) -> u64 {
        self.cache.tally.memory + self.own.memory
    }
}
