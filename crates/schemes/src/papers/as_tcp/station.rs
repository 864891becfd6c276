//! The TCP-aware sublayer of a station: MAC acknowledgments become TCP acknowledgments (AST-2 to AST-6). An access point that does
//! not split has the same for what goes to stations (`downloads`).

use super::flow::Flow;
use super::settings::{AsTcpSettings, Balance, Split};
use crate::Site;
use crate::emulation::Emulation;
use crate::papers::as_tcp::events;
use crate::position::Position;
use crate::tracker::Tracker;
use airtcp_core::flow_table::FlowTable;
use airtcp_core::{
    Backlog, Context, DropReason, Element, Event, FlowKey, Gauge, Instant, Outcome, Packet, Port, TcpFlags, TcpHeader,
    TxStatus,
};
use alloc::collections::VecDeque;

/// Memory of a connection's state: its entry and the ranges above a hole.
const FLOW_MEMORY: u64 = 1 << 14;
/// Segments whose delivery is awaited; more are sent untracked, and TCP's own timeout finds out.
const PENDING_MAX: usize = 1 << 14;
/// Bytes of a segment where they are counted as windows are.
const SEGMENT: u64 = 1460;
/// What the other end must allow beyond what was told before the station is told of it.
const WINDOW_STEP: u64 = 2 * SEGMENT;

/// A segment on its way through the medium: the range that a frame carries (AST-4).
#[derive(Clone, Copy, Debug)]
struct Pending {
    flow: FlowKey,
    start: Position,
    end: Position,
    /// The sender's clock.
    clock: Option<u32>,
}

/// Where the sublayer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Station,
    AccessPoint,
}

/// See the module.
#[derive(Debug)]
pub struct Station {
    settings: AsTcpSettings,
    place: Place,
    /// By the direction in which the station sends.
    flows: FlowTable<Flow>,
    pending: Tracker<Pending>,
    /// The medium tells what it delivered. One that never did acknowledges nothing, and TCP's own acknowledgments pass.
    is_told: bool,
    /// What waits for the interface.
    waiting: VecDeque<Packet>,
    waiting_bytes: u64,
    /// Bound of what may wait.
    waiting_max: u64,
}

impl Station {
    /// The element for a station.
    pub fn new(settings: &AsTcpSettings, site: &mut Site<'_>) -> Self {
        let capacity = (site.max_memory.0 / 2 / FLOW_MEMORY).max(1) as usize;
        let flows = FlowTable::new(capacity, site.rng);
        Station {
            settings: settings.clone(),
            place: Place::Station,
            flows,
            pending: Tracker::new(),
            is_told: false,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            waiting_max: site.max_memory.0 / 4,
        }
    }

    /// The element for an access point that passes on what goes to stations, and acknowledges it to the senders.
    pub fn of_access_point(settings: &AsTcpSettings, site: &mut Site<'_>) -> Self {
        let settings = AsTcpSettings { interface: None, ..settings.clone() };
        Station { place: Place::AccessPoint, ..Station::new(&settings, site) }
    }

    /// Bytes acknowledged to senders because the medium delivered them, of which their receivers have said nothing.
    pub fn acknowledged_ahead(&self) -> u64 {
        let flows = self.flows.slots_oldest_first().filter_map(|slot| self.flows.at(slot));
        flows.map(|(_, flow)| flow.sent.unconfirmed()).sum()
    }

    /// Whether acknowledgments of a connection may be emulated: both ends have spoken, and it is split, or nobody wants it to be.
    fn may_emulate(&self, state: &Emulation) -> bool {
        let needs_split = self.place == Place::Station && self.settings.split != Split::Nowhere;
        state.is_open() && (state.is_split() || !needs_split)
    }

    /// Whether acknowledgments are emulated at all.
    fn emulates(&self) -> bool {
        self.is_told && self.settings.emulate
    }

    /// Sends a packet, behind those that wait.
    fn send(&mut self, cx: &mut Context<'_>, packet: Packet) {
        if self.waiting.is_empty() && self.has_room() {
            return self.transmit(cx, packet);
        }
        let bytes = packet.memory() as u64;
        if self.waiting_bytes + bytes > self.waiting_max {
            return cx.discard(packet, DropReason::MEMORY_LIMIT);
        }
        self.waiting_bytes += bytes;
        self.waiting.push_back(packet);
    }

    fn has_room(&self) -> bool {
        self.settings.interface.is_none_or(|most| self.pending.len() < most as usize)
    }

    /// Gives the interface what it has room for again.
    fn drain(&mut self, cx: &mut Context<'_>) {
        while self.has_room()
            && let Some(packet) = self.waiting.pop_front()
        {
            self.waiting_bytes -= packet.memory() as u64;
            self.transmit(cx, packet);
        }
    }

    fn transmit(&mut self, cx: &mut Context<'_>, packet: Packet) {
        match packet.flow().filter(|_| packet.checksum_holds()) {
            Some(flow) => self.handle_outgoing(cx, flow, packet),
            None => cx.send(Port::LINK, packet),
        }
    }

    fn handle_outgoing(&mut self, cx: &mut Context<'_>, flow: FlowKey, mut packet: Packet) {
        let Some(tcp) = packet.tcp() else { return cx.send(Port::LINK, packet) };
        let flags = tcp.flags;
        if flags.rst() {
            self.forget(&flow);
            return cx.send(Port::LINK, packet);
        }
        if flags.syn() {
            self.open(cx, flow, tcp);
            // What becomes of it shows whether the medium tells, before anything depends on that.
            return self.send_tracked(cx, packet, flow, (0, 0));
        }
        let (emulates, place) = (self.emulates(), self.place);
        let Some(state) = self.flows.get_mut(&flow) else { return cx.send(Port::LINK, packet) };
        let (start, end) = state.sent.note_sent(tcp, packet.payload_len());
        if place == Place::Station && self.settings.downloads {
            let scale = state.sent.sender_scale();
            if state.received.keeps(&packet, tcp, scale) {
                cx.emit(Event::ACK_SUPPRESSED);
                return cx.discard(packet, DropReason::SUPPRESSED);
            }
        }
        // Whatever is delivered shows that the medium tells.
        if (start == end && self.is_told) || self.pending.len() >= PENDING_MAX {
            return cx.send(Port::LINK, packet);
        }
        if emulates && (state.sent.is_split() || place == Place::AccessPoint && state.sent.is_open()) {
            packet.set_flags(flags.with(TcpFlags::EMULATED));
        }
        self.send_tracked(cx, packet, flow, (start, end));
    }

    /// Sends a packet with these data, and hears what becomes of it.
    fn send_tracked(
        &mut self,
        cx: &mut Context<'_>,
        packet: Packet,
        flow: FlowKey,
        (start, end): (Position, Position),
    ) {
        let clock = packet.tcp().and_then(|tcp| tcp.options.timestamps).map(|stamps| stamps.value);
        if let Err(packet) = self.pending.send(cx, packet, Pending { flow, start, end, clock }) {
            cx.discard(packet, DropReason::QUEUE_FULL);
        }
    }

    /// A connection begins, in whichever direction.
    fn open(&mut self, cx: &mut Context<'_>, flow: FlowKey, syn: &TcpHeader) {
        match self.flows.get_mut(&flow) {
            // The answer to the other end's SYN: what that said stays.
            Some(known) if syn.flags.ack() => known.sent.answer(syn),
            Some(known) => *known = Emulation::open(syn).into(),
            None => self.remember(cx, flow, Emulation::open(syn)),
        }
    }

    fn remember(&mut self, cx: &mut Context<'_>, flow: FlowKey, state: Emulation) {
        cx.emit(Event::FLOW_NEW);
        if self.flows.insert(flow, state.into()).1.is_some() {
            cx.emit(Event::FLOW_EVICTED);
        }
    }

    fn forget(&mut self, flow: &FlowKey) {
        if let Some(slot) = self.flows.slot(flow) {
            self.flows.remove_slot(slot);
        }
    }

    fn handle_incoming(&mut self, cx: &mut Context<'_>, flow: FlowKey, tcp: &TcpHeader, mut packet: Packet) {
        if tcp.flags.rst() {
            self.forget(&flow);
            return cx.send(Port::INNER, packet);
        }
        if tcp.flags.syn() && !tcp.flags.ack() && self.flows.slot(&flow).is_none() {
            // The other end opens; the station's answer completes what is known.
            self.remember(cx, flow, Emulation::offered());
        }
        let Some(slot) = self.flows.slot(&flow) else { return cx.send(Port::INNER, packet) };
        self.flows.touch(slot);
        let (emulates, place) = (self.emulates(), self.place);
        let is_for_us = place == Place::Station && (emulates || self.settings.downloads && packet.payload_len() > 0);
        let Some((_, Flow { sent: state, received })) = self.flows.at_mut(slot) else { return };
        let is_news = state.note_received(tcp);
        received.note_received(tcp, packet.payload_len());
        // For a station; a box on the way to one passes it on.
        if tcp.flags.emulated() && is_for_us {
            packet.set_flags(tcp.flags.without(TcpFlags::EMULATED));
        }
        let is_pure = packet.payload_len() == 0 && !tcp.flags.syn() && !tcp.flags.fin();
        // Congestion echoes and duplicates of the other end speak to the sender itself, and so do answers to its questions.
        let is_plain = is_pure
            && !tcp.flags.ece()
            && tcp.options.sack.is_empty()
            && !(place == Place::AccessPoint && state.take_question());
        let (is_closing, allows_more) = (state.is_closing(), state.allows_more(WINDOW_STEP));
        let Some((_, known)) = self.flows.at(slot) else { return };
        if !is_plain || !emulates || !self.may_emulate(&known.sent) || is_closing {
            return cx.send(Port::INNER, packet);
        }
        cx.emit(Event::ACK_SUPPRESSED);
        cx.discard(packet, DropReason::SUPPRESSED);
        if is_news || allows_more {
            self.acknowledge(cx, slot);
        }
    }

    /// Hands the station's TCP an acknowledgment of what was delivered.
    fn acknowledge(&mut self, cx: &mut Context<'_>, slot: u32) {
        // What goes to a station is in its own memory.
        let honest = self.place == Place::AccessPoint
            || self.settings.balance == Balance::Window && self.settings.split != Split::Nowhere;
        let Some((flow, state)) = self.flows.at_mut(slot) else { return };
        let most = self.settings.interface.map_or(u64::MAX, |segments| 2 * SEGMENT * u64::from(segments));
        let packet = state.sent.acknowledgment(cx.take_spare(), flow, honest, self.settings.dupack, most);
        let packet = cx.create(packet, events::EMULATED_ACK);
        cx.emit(events::ACK_EMULATED);
        cx.send(Port::INNER, packet);
    }
}

impl Element for Station {
    fn handle_packet(&mut self, cx: &mut Context<'_>, port: Port, packet: Packet) {
        if port == Port::INNER {
            return self.send(cx, packet);
        }
        match (packet.flow(), packet.tcp().copied().filter(|_| packet.checksum_holds())) {
            (Some(flow), Some(tcp)) => self.handle_incoming(cx, flow.reversed(), &tcp, packet),
            _ => cx.send(Port::INNER, packet),
        }
    }

    fn handle_tx_status(&mut self, cx: &mut Context<'_>, status: TxStatus) {
        let Some(Pending { flow, start, end, clock }) = self.pending.take(cx.now(), status.token) else { return };
        self.drain(cx);
        self.is_told |= status.outcome == Outcome::Acked;
        if status.outcome == Outcome::RetryLimit {
            cx.emit(Event::GIVEN_UP);
        }
        // Only what the next hop acknowledged was delivered; "sent" says nothing (SPEC 7.3).
        let Some(slot) = self.flows.slot(&flow).filter(|_| status.outcome == Outcome::Acked) else { return };
        let Some((_, state)) = self.flows.at_mut(slot).filter(|_| end > start) else { return };
        let moved = state.sent.deliver(start, end);
        // A queue of the access point's is part of the sender's round trip.
        if let Some(clock) = clock.filter(|_| self.place == Place::AccessPoint) {
            state.sent.echo(clock);
        }
        let Some((_, state)) = self.flows.at(slot) else { return };
        if self.emulates() && self.may_emulate(&state.sent) && (moved || self.settings.dupack) {
            self.acknowledge(cx, slot);
        }
    }

    fn handle_timeout(&mut self, cx: &mut Context<'_>) {
        self.pending.expire(cx.now());
        self.drain(cx);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.pending.deadline()
    }

    fn held(&self) -> Backlog {
        Backlog { packets: self.waiting.len(), bytes: self.waiting_bytes }
    }

    fn observe(&self, gauge: &mut dyn FnMut(Gauge, u64)) {
        gauge(Gauge::FLOWS, self.flows.len() as u64);
        gauge(Gauge::QUEUE_BYTES, self.waiting_bytes);
        gauge(Gauge::MEMORY_BYTES, self.flows.len() as u64 * FLOW_MEMORY + self.waiting_bytes);
    }

    fn check(&self) -> Result<(), &'static str> {
        if self.pending.len() > PENDING_MAX {
            return Err("more segments are awaited than there may be");
        }
        if self.waiting_bytes > self.waiting_max {
            return Err("more waits for the interface than there is memory for");
        }
        if !self.waiting.is_empty() && self.has_room() {
            return Err("segments wait although the interface has room");
        }
        Ok(())
    }
}
