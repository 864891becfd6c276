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
    /// Where its flow is, if that is still the one with this number.
    slot: u32,
    number: u32,
    start: Position,
    len: u32,
    /// The sender's clock.
    clock: Option<u32>,
}

/// How acknowledgments are made.
#[derive(Clone, Copy, Debug)]
struct Manner {
    /// They allow no more than the other end did.
    is_honest: bool,
    tells_gaps: bool,
    /// Bytes that they allow at most.
    most: u64,
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
    /// Flows that were ever remembered.
    remembered: u32,
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
            remembered: 0,
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

    /// Whether acknowledgments are emulated only of connections that are split.
    fn needs_split(&self) -> bool {
        self.place == Place::Station && self.settings.split != Split::Nowhere
    }

    /// How acknowledgments are made here.
    fn manner(&self) -> Manner {
        let AsTcpSettings { balance, split, interface, dupack, .. } = &self.settings;
        // What goes to a station is in its own memory.
        let is_honest = self.place == Place::AccessPoint || *balance == Balance::Window && *split != Split::Nowhere;
        let most = interface.map_or(u64::MAX, |segments| 2 * SEGMENT * u64::from(segments));
        Manner { is_honest, tells_gaps: *dupack, most }
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
        if flags.rst() || flags.syn() {
            return self.handle_border(cx, flow, packet);
        }
        let (emulates, place) = (self.emulates(), self.place);
        let Some(slot) = self.flows.slot(&flow) else { return cx.send(Port::LINK, packet) };
        let Some((_, state)) = self.flows.at_mut(slot) else { return cx.send(Port::LINK, packet) };
        let (start, _) = state.sent.note_sent(tcp, packet.payload_len());
        if place == Place::Station && self.settings.downloads {
            let scale = state.sent.sender_scale();
            if state.received.keeps(&packet, tcp, scale) {
                cx.emit(Event::ACK_SUPPRESSED);
                return cx.discard(packet, DropReason::SUPPRESSED);
            }
        }
        // Whatever is delivered shows that the medium tells.
        let len = packet.payload_len();
        if (len == 0 && self.is_told) || self.pending.len() >= PENDING_MAX {
            return cx.send(Port::LINK, packet);
        }
        let clock = tcp.options.timestamps.map(|stamps| stamps.value);
        let note = Pending { slot, number: state.number, start, len, clock };
        if emulates && (state.sent.is_split() || place == Place::AccessPoint && state.sent.is_open()) {
            packet.set_flags(flags.with(TcpFlags::EMULATED));
        }
        self.send_tracked(cx, packet, note);
    }

    /// A segment with which a connection begins, or that ends one at once.
    #[cold]
    fn handle_border(&mut self, cx: &mut Context<'_>, flow: FlowKey, packet: Packet) {
        let Some(tcp) = packet.tcp() else { return cx.send(Port::LINK, packet) };
        if tcp.flags.rst() {
            self.forget(&flow);
            return cx.send(Port::LINK, packet);
        }
        let (slot, number) = self.open(cx, flow, tcp);
        let clock = tcp.options.timestamps.map(|stamps| stamps.value);
        // What becomes of it shows whether the medium tells, before anything depends on that.
        self.send_tracked(cx, packet, Pending { slot, number, start: 0, len: 0, clock });
    }

    /// Sends a packet with these data, and hears what becomes of it.
    fn send_tracked(&mut self, cx: &mut Context<'_>, packet: Packet, note: Pending) {
        if let Err(packet) = self.pending.send(cx, packet, note) {
            cx.discard(packet, DropReason::QUEUE_FULL);
        }
    }

    /// A connection begins, in whichever direction; its slot and number.
    fn open(&mut self, cx: &mut Context<'_>, flow: FlowKey, syn: &TcpHeader) -> (u32, u32) {
        let Some(slot) = self.flows.slot(&flow) else { return self.remember(cx, flow, Emulation::open(syn)) };
        let Some((_, known)) = self.flows.at_mut(slot) else { return (slot, 0) };
        if syn.flags.ack() {
            // The answer to the other end's SYN: what that said stays.
            known.sent.answer(syn);
        } else {
            *known = Flow::new(Emulation::open(syn), known.number);
        }
        (slot, known.number)
    }

    fn remember(&mut self, cx: &mut Context<'_>, flow: FlowKey, state: Emulation) -> (u32, u32) {
        cx.emit(Event::FLOW_NEW);
        self.remembered = self.remembered.wrapping_add(1);
        let (slot, evicted) = self.flows.insert(flow, Flow::new(state, self.remembered));
        if evicted.is_some() {
            cx.emit(Event::FLOW_EVICTED);
        }
        (slot, self.remembered)
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
        let (needs_split, manner) = (self.needs_split(), self.manner());
        let Some((known, Flow { sent: state, received, .. })) = self.flows.at_mut(slot) else { return };
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
        let allows_more = state.allows_more(WINDOW_STEP);
        if !is_plain || !emulates || !may_emulate(state, needs_split) || state.is_closing() {
            return cx.send(Port::INNER, packet);
        }
        cx.emit(Event::ACK_SUPPRESSED);
        cx.discard(packet, DropReason::SUPPRESSED);
        if is_news || allows_more {
            acknowledge(cx, known, state, manner);
        }
    }
}

/// Whether acknowledgments of a connection may be emulated: both ends have spoken, and it is split, or nobody wants it to be.
fn may_emulate(state: &Emulation, needs_split: bool) -> bool {
    state.is_open() && (state.is_split() || !needs_split)
}

/// Hands the station's TCP an acknowledgment of what was delivered.
fn acknowledge(cx: &mut Context<'_>, flow: &FlowKey, state: &mut Emulation, manner: Manner) {
    let Manner { is_honest, tells_gaps, most } = manner;
    let packet = state.acknowledgment(cx.take_spare(), flow, is_honest, tells_gaps, most);
    let packet = cx.create(packet, events::EMULATED_ACK);
    cx.emit(events::ACK_EMULATED);
    cx.send(Port::INNER, packet);
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
        let Some(Pending { slot, number, start, len, clock }) = self.pending.take(cx.now(), status.token) else {
            return;
        };
        if !self.waiting.is_empty() {
            self.drain(cx);
        }
        // Only what the next hop acknowledged was delivered; "sent" says nothing (SPEC 7.3).
        if status.outcome != Outcome::Acked {
            if status.outcome == Outcome::RetryLimit {
                cx.emit(Event::GIVEN_UP);
            }
            return;
        }
        self.is_told = true;
        let (emulates, needs_split, manner) = (self.emulates(), self.needs_split(), self.manner());
        let Some((flow, Flow { sent: state, .. })) = self.flows.at_mut(slot).filter(|(_, flow)| flow.number == number)
        else {
            return;
        };
        if len == 0 {
            return;
        }
        let moved = state.deliver(start, start + u64::from(len));
        // A queue of the access point's is part of the sender's round trip.
        if let Some(clock) = clock.filter(|_| self.place == Place::AccessPoint) {
            state.echo(clock);
        }
        if emulates && may_emulate(state, needs_split) && (moved || manner.tells_gaps) {
            acknowledge(cx, flow, state, manner);
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
