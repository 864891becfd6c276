//! Gateway B: sees what is missing of what comes off the link, asks A for it (GSN-8, GSN-9), and keeps the
//! duplicate ACKs of what A repaired from the sender (GSN-10 … GSN-13). Data is never held: it goes on in
//! the order it arrives.

use super::Timing;
use super::detector::{Arrival, Detector};
use super::suppressor::{Standing, Suppressor, Verdict};
use crate::papers::gsnoop::events;
use crate::papers::gsnoop::message::{MAX_RANGES, Message};
use crate::position::{self, Position};
use crate::tally::Tally;
use crate::timers::Timers;
use airtcp_core::flow_table::FlowTable;
use airtcp_core::{Context, DropReason, Duration, Event, FlowKey, Instant, Packet, Peer, Port, SeqNum};
use alloc::vec::Vec;
use core::ops::Range;

/// Gateway B of one link direction.
#[derive(Debug)]
pub(super) struct Downstream {
    flows: FlowTable<Flow>,
    timers: Timers,
    /// ACKs that are held.
    pub held: Tally,
    /// ACKs that were held and go on now; the gateway takes them after each call.
    released: Vec<Packet>,
    /// Bytes of NACKs that were sent; the gateway takes them after each call, too.
    nack_bytes: u32,
    rules: ReceiveRules,
}

/// How B takes what comes off the link.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReceiveRules {
    pub memory_limit: u64,
    pub verify_checksum: bool,
    /// GSN-U12.
    pub ask_again: bool,
    /// GSN-U11.
    pub held_acks: usize,
    /// GSN-U15.
    pub idle: Duration,
}

/// One direction of a connection, as B sees it.
#[derive(Debug)]
pub(super) struct Flow {
    initial: SeqNum,
    detector: Detector,
    suppressor: Suppressor,
    /// One past the FIN.
    end: Option<Position>,
    last_used: Instant,
    /// The deadline that is queued for this flow.
    timer: Option<Instant>,
}

impl Flow {
    fn new(sequence: SeqNum, now: Instant) -> Self {
        Flow {
            initial: sequence,
            detector: Detector::new(sequence),
            suppressor: Suppressor::default(),
            end: None,
            last_used: now,
            timer: None,
        }
    }
}

impl Downstream {
    pub fn new(flows: FlowTable<Flow>, rules: ReceiveRules) -> Self {
        Downstream {
            flows,
            timers: Timers::default(),
            held: Tally::default(),
            released: Vec::new(),
            nack_bytes: 0,
            rules,
        }
    }

    /// A packet off the link.
    pub fn handle_packet(&mut self, cx: &mut Context<'_>, packet: Packet, timing: &Timing) {
        let Some((flow, tcp)) = packet.flow().zip(packet.tcp().copied()) else {
            cx.send(Port::INNER, packet);
            return;
        };
        if tcp.flags.rst() {
            self.forget(cx, &flow);
        } else if packet.sequence_len() > 0 {
            if self.rules.verify_checksum && !packet.checksum_holds() {
                cx.emit(Event::CHECKSUM_BAD);
                cx.discard(packet, DropReason::CORRUPTED);
                return;
            }
            self.on_arrival(cx, flow, &packet, timing);
        }
        cx.send(Port::INNER, packet);
    }

    fn on_arrival(&mut self, cx: &mut Context<'_>, flow: FlowKey, packet: &Packet, timing: &Timing) {
        let Some(tcp) = packet.tcp().copied() else { return };
        let slot = self.find_or_insert(cx, flow, tcp.sequence, tcp.flags.syn());
        let mut sent = 0;
        self.with_flow(slot, |flow, state, released| {
            let now = cx.now();
            state.last_used = now;
            let start = position::near(state.detector.high(), tcp.sequence);
            let range = start..start + Position::from(packet.sequence_len());
            if tcp.flags.fin() {
                state.end = Some(range.end);
            }
            let Arrival { repaired, missing } = state.detector.on_arrival(&range, timing.repair_due(now));
            if let Some(repaired) = repaired {
                let dropped = state.suppressor.on_repaired(repaired.number, repaired.duplicates);
                for _ in 0..dropped {
                    suppress(cx, state.suppressor.pop_held());
                }
                if state.suppressor.holds_for(repaired.number) {
                    release(cx, &mut state.suppressor, released);
                }
            }
            sent = send_nack(cx, flow, &missing);
        });
        self.nack_bytes += sent;
    }

    fn find_or_insert(&mut self, cx: &mut Context<'_>, flow: FlowKey, sequence: SeqNum, is_syn: bool) -> u32 {
        if let Some(slot) = self.flows.slot(&flow) {
            let is_new = is_syn && self.flows.at(slot).is_some_and(|(_, state)| state.initial != sequence);
            if !is_new {
                self.flows.touch(slot);
                return slot;
            }
            self.remove(cx, slot);
        }
        // An evicted flow must first release what it holds, which the table cannot do. So room is made before the insertion.
        if let Some(oldest) = self.flows.next_to_go() {
            cx.emit(Event::FLOW_EVICTED);
            self.remove(cx, oldest);
        }
        cx.emit(Event::FLOW_NEW);
        self.flows.insert(flow, Flow::new(sequence, cx.now())).0
    }

    /// A packet on its way to the link: gives it back unless it is a duplicate ACK to drop or to hold.
    pub fn handle_acknowledgment(&mut self, cx: &mut Context<'_>, packet: Packet) -> Option<Packet> {
        let Some((flow, tcp)) = packet.flow().zip(packet.tcp().copied()) else { return Some(packet) };
        if tcp.flags.rst() {
            self.forget(cx, &flow.reversed());
            return Some(packet);
        }
        let Some(slot) = self.flows.slot(&flow.reversed()).filter(|_| tcp.flags.ack() && !tcp.flags.syn()) else {
            return Some(packet);
        };
        let room = if self.held.memory < self.rules.memory_limit { self.rules.held_acks } else { 0 };
        let mut kept = Some(packet);
        let mut is_over = false;
        self.with_flow(slot, |_, state, _| {
            let high = state.detector.high();
            let number = position::near(high, tcp.acknowledgment);
            let Some(packet) = kept.take_if(|_| number <= high) else { return };
            state.last_used = cx.now();
            let awaited = state.detector.lowest().filter(|(_, is_awaited)| *is_awaited).map(|(start, _)| start);
            match state.suppressor.judge(&packet, number, &Standing { high, awaited, room }) {
                Verdict::Pass => kept = Some(packet),
                Verdict::Progress => {
                    kept = Some(packet);
                    while let Some(stale) = state.suppressor.pop_held() {
                        suppress(cx, Some(stale));
                    }
                    state.detector.on_acknowledged(number);
                    is_over = state.end.is_some_and(|end| end <= number);
                }
                Verdict::Suppress => suppress(cx, Some(packet)),
                Verdict::Hold => {
                    cx.emit(events::ACK_HELD);
                    state.suppressor.hold(packet);
                }
            }
        });
        if is_over {
            self.remove(cx, slot); // GSN-U15
        }
        kept
    }

    /// GSN-12, GSN-U12, GSN-U15.
    pub fn handle_timeout(&mut self, cx: &mut Context<'_>, timing: &Timing) {
        let now = cx.now();
        let ask_again = self.rules.ask_again;
        for slot in self.timers.due(now) {
            let mut sent = 0;
            self.with_flow(slot, |flow, state, released| {
                let timed_out = state.detector.handle_timeout(now, ask_again, timing.repair_due(now));
                for number in timed_out.given_up {
                    cx.emit(events::REPAIR_TIMEOUT);
                    if state.suppressor.holds_for(number) {
                        release(cx, &mut state.suppressor, released);
                    }
                }
                sent = send_nack(cx, flow, &timed_out.again);
            });
            self.nack_bytes += sent;
        }
        let idle = self.rules.idle;
        while let Some(slot) = self.flows.oldest_if(|flow| now.saturating_since(flow.last_used) > idle) {
            self.remove(cx, slot); // GSN-U15
        }
    }

    /// Lets every ACK go and forgets every flow: the other gateway is gone or new.
    pub fn release_all(&mut self, cx: &mut Context<'_>) {
        while let Some(slot) = self.flows.oldest() {
            self.remove(cx, slot);
        }
    }

    /// ACKs that go on now.
    pub fn take_released(&mut self) -> Vec<Packet> {
        core::mem::take(&mut self.released)
    }

    /// Bytes of NACKs, with their headers, that were sent since the last call.
    pub fn take_nack_bytes(&mut self) -> u32 {
        core::mem::take(&mut self.nack_bytes)
    }

    fn forget(&mut self, cx: &mut Context<'_>, flow: &FlowKey) {
        if let Some(slot) = self.flows.slot(flow) {
            self.remove(cx, slot);
        }
    }

    fn remove(&mut self, cx: &mut Context<'_>, slot: u32) {
        self.with_flow(slot, |_, state, released| {
            release(cx, &mut state.suppressor, released);
            state.detector = Detector::new(state.initial);
        });
        self.flows.remove_slot(slot);
    }

    /// Runs `work` on a flow and settles what it changed: timer and totals.
    fn with_flow(&mut self, slot: u32, work: impl FnOnce(&FlowKey, &mut Flow, &mut Vec<Packet>)) {
        let Some((flow, state)) = self.flows.at_mut(slot) else { return };
        let held = state.suppressor.tally;
        work(flow, state, &mut self.released);
        self.held.change(held, state.suppressor.tally);
        self.timers.set(slot, &mut state.timer, state.detector.next_timeout());
    }

    pub fn poll_timeout(&self) -> Option<Instant> {
        self.timers.next()
    }

    /// Flows with state.
    pub fn flow_count(&self) -> usize {
        self.flows.len()
    }

    /// Bounds, and totals that agree with the flows.
    pub fn check(&self) -> Result<(), &'static str> {
        if !self.released.is_empty() {
            return Err("a released ACK was not sent");
        }
        if self.flows.is_empty() && self.held.waiting.packets != 0 {
            return Err("ACKs are held for no flow");
        }
        Ok(())
    }
}

/// GSN-9: names what is missing of the flow to the other gateway. Returns the bytes this takes of the link.
fn send_nack(cx: &mut Context<'_>, flow: &FlowKey, missing: &[Range<Position>]) -> u32 {
    let mut sent = 0;
    for batch in missing.chunks(MAX_RANGES) {
        let ranges =
            batch.iter().map(|range| (position::sequence(range.start), position::sequence(range.end))).collect();
        let bytes = Message::Nack(*flow, ranges).encode();
        cx.emit(events::NACK);
        sent += cx.send_control(Peer::OTHER_END, &bytes);
    }
    sent
}

/// The sender need not see this ACK: what it tells of is repaired.
fn suppress(cx: &mut Context<'_>, ack: Option<Packet>) {
    if let Some(ack) = ack {
        cx.emit(Event::ACK_SUPPRESSED);
        cx.discard(ack, DropReason::DUPLICATE);
    }
}

fn release(cx: &mut Context<'_>, suppressor: &mut Suppressor, released: &mut Vec<Packet>) {
    while let Some(ack) = suppressor.pop_held() {
        cx.emit(events::ACK_RELEASED);
        released.push(ack);
    }
}
