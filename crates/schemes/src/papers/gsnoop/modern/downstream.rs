//! Gateway B: notices gaps in what comes off the link, asks for them at once, and holds what
//! came behind a gap until it is filled, so that neither receiver nor sender ever sees it.
//!
//! Modern form of GSN-8 … GSN-12: instead of suppressing duplicate ACKs (which SACK and RACK
//! senders see through, SPEC 7.3), the gap itself is hidden for a bounded time. No
//! acknowledgment is dropped or rewritten.

use super::flow::Incoming;
use super::numbers::Numbers;
use super::timing::Timing;
use crate::egress::Allowance;
use crate::papers::gsnoop::events;
use crate::papers::gsnoop::message::{Message, SeqRange};
use crate::tally::Tally;
use crate::timers::Timers;
use airtcp_core::flow_table::FlowTable;
use airtcp_core::{Context, Duration, Event, FlowKey, HeldFlow, Instant, Packet, Peer, Port};
use alloc::vec::Vec;

/// Requests take at most one part in so many of the time of the link that they go over, which may be far slower than the
/// other direction.
const REQUEST_PARTS: u64 = 4;
/// What was not used of it for a while can be used at once, up to so much.
const REQUESTS_AT_ONCE: Duration = Duration::from_millis(50);

/// Gateway B of one link direction.
#[derive(Debug)]
pub(super) struct Downstream {
    flows: FlowTable<Incoming>,
    timers: Timers,
    /// What is held back.
    pub held: Tally,
    /// Flows with a segment in doubt.
    doubtful: usize,
    requests: Allowance,
    /// What a message takes of the link.
    pub message_time: Duration,
    /// Suppression: acknowledgments that were held and go on now; the gateway takes them after each call.
    released: Vec<Packet>,
    pub rules: ReceiveRules,
}

/// How B takes what comes off the link.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReceiveRules {
    pub memory_limit: u64,
    pub verify_checksum: bool,
    pub idle: Duration,
    /// Hide acknowledgments instead of gaps.
    pub suppresses: bool,
    /// Acknowledgments held per flow.
    pub held_acks: usize,
}

impl Downstream {
    pub fn new(flows: FlowTable<Incoming>, rules: ReceiveRules) -> Self {
        Downstream {
            flows,
            timers: Timers::default(),
            held: Tally::default(),
            doubtful: 0,
            requests: Allowance::new(REQUEST_PARTS),
            message_time: Duration::ZERO,
            released: Vec::new(),
            rules,
        }
    }

    /// What is held of each flow; held acknowledgments go on.
    pub fn surrender(&mut self, cx: &mut Context<'_>) -> Vec<HeldFlow> {
        let mut held = Vec::new();
        while let Some(slot) = self.flows.oldest() {
            self.with_flow(cx, slot, |_, _, state, _| held.extend(state.surrender()));
            self.remove(cx, slot);
        }
        held
    }

    /// An element before this one held these packets of a flow.
    pub fn inherit(&mut self, cx: &mut Context<'_>, held: HeldFlow, timing: &Timing) {
        if let Some(flow) = held.packets.first().and_then(Packet::flow).filter(|flow| self.flows.slot(flow).is_none()) {
            self.insert(cx, flow, Incoming::new(held.expected, cx.now(), self.rules.suppresses));
        }
        for packet in held.packets {
            self.handle_packet(cx, packet, timing);
        }
    }

    /// A packet off the link, while the other gateway is in reach.
    pub fn handle_packet(&mut self, cx: &mut Context<'_>, packet: Packet, timing: &Timing) {
        let tracked = packet.tcp().filter(|tcp| packet.sequence_len() > 0 && !tcp.flags.rst());
        let Some((flow, tcp)) = packet.flow().zip(tracked.copied()) else {
            self.on_untracked(cx, &packet);
            cx.send(Port::INNER, packet);
            return;
        };
        let slot = match self.flows.slot(&flow) {
            Some(slot) => {
                self.flows.touch(slot);
                slot
            }
            None => self.insert(cx, flow, Incoming::new(tcp.sequence, cx.now(), self.rules.suppresses)),
        };
        self.with_flow(cx, slot, |cx, flow, state, out| {
            state.handle_packet(cx, flow, packet, timing, out);
        });
        self.enforce_memory(cx, slot);
    }

    /// A reset ends the flow: what is held goes first, then it is forgotten.
    fn on_untracked(&mut self, cx: &mut Context<'_>, packet: &Packet) {
        let Some(reset) = packet.tcp().filter(|tcp| tcp.flags.rst()) else { return };
        let Some(slot) = packet.flow().and_then(|flow| self.flows.slot(&flow)) else { return };
        if self.flows.at(slot).is_some_and(|(_, state)| state.ends_with(reset)) {
            self.remove(cx, slot);
        } else {
            cx.emit(events::DOUBTED);
        }
    }

    /// A packet on its way to the link: if it acknowledges what was in doubt, the flow begins anew.
    pub fn on_acknowledgment(&mut self, cx: &mut Context<'_>, packet: &Packet) {
        let Some(tcp) = packet.tcp().filter(|tcp| self.doubtful > 0 && tcp.flags.ack()) else { return };
        let Some(slot) = packet.flow().and_then(|flow| self.flows.slot(&flow.reversed())) else { return };
        let is_proven = self.flows.at(slot).is_some_and(|(_, state)| state.numbers.is_proven_by(tcp.acknowledgment));
        if is_proven && (!self.rules.verify_checksum || packet.checksum_holds()) {
            self.remove(cx, slot);
        }
    }

    /// The shift of its window that the sender of `flow` offered, if its SYN was seen.
    pub fn window_scale(&self, flow: &FlowKey) -> Option<u8> {
        self.flows.at(self.flows.slot(flow)?)?.1.window_scale
    }

    /// NOT-HERE: these ranges will not be repaired, so what waits behind them goes on.
    pub fn on_not_here(&mut self, cx: &mut Context<'_>, flow: &FlowKey, ranges: &[SeqRange]) {
        if let Some(slot) = self.flows.slot(flow) {
            self.with_flow(cx, slot, |cx, _, state, _| state.give_up(cx, ranges));
        }
    }

    /// POLL: this is what was sent; ask for what is missing, or say that nothing is.
    pub fn on_poll(&mut self, cx: &mut Context<'_>, flow: &FlowKey, range: SeqRange, timing: &Timing) {
        let slot = match self.flows.slot(flow) {
            Some(slot) => slot,
            // The flow's very first packet was lost: everything polled is missing.
            None => self.insert(cx, *flow, Incoming::new(range.0, cx.now(), self.rules.suppresses)),
        };
        self.with_flow(cx, slot, |cx, flow, state, out| {
            state.on_poll(cx, flow, range, timing, out);
        });
    }

    /// RESENT: what is missing of it is asked for, and nothing overtakes it.
    pub fn on_resent(&mut self, cx: &mut Context<'_>, flow: &FlowKey, range: SeqRange, timing: &Timing) {
        if let Some(slot) = self.flows.slot(flow) {
            self.with_flow(cx, slot, |cx, flow, state, out| {
                state.on_resent(cx, flow, range, timing, out);
            });
        }
    }

    pub fn handle_timeout(&mut self, cx: &mut Context<'_>, timing: &Timing) {
        let now = cx.now();
        // Each flow once: whatever a flow asks for next, others and the packets get their turn.
        for slot in self.timers.due(now) {
            self.with_flow(cx, slot, |cx, flow, state, out| state.handle_timeout(cx, flow, timing, out));
        }
        let idle = self.rules.idle;
        while let Some(slot) = self.flows.oldest_if(|flow| now.saturating_since(flow.last_used) > idle) {
            self.remove(cx, slot);
        }
    }

    /// Lets everything go and forgets every flow: the other gateway is gone or new.
    pub fn release_all(&mut self, cx: &mut Context<'_>) {
        while let Some(slot) = self.flows.oldest() {
            self.remove(cx, slot);
        }
    }

    /// Runs `work` on a flow and settles what it changed: messages, timer, totals.
    fn with_flow(
        &mut self,
        cx: &mut Context<'_>,
        slot: u32,
        work: impl FnOnce(&mut Context<'_>, &FlowKey, &mut Incoming, &mut Vec<Message>),
    ) {
        let Some((flow, state)) = self.flows.at_mut(slot) else { return };
        let mut messages = Vec::new();
        let (held, had_doubt) = (state.held(), state.numbers.has_doubt());
        work(cx, flow, state, &mut messages);
        self.held.change(held, state.held());
        self.doubtful = self.doubtful + usize::from(state.numbers.has_doubt()) - usize::from(had_doubt);
        let due = state.next_timeout();
        self.timers.set(slot, &mut state.timer, due);
        self.released.extend(state.take_released());
        for message in messages {
            if matches!(message, Message::Nack(..)) {
                if !self.requests.take(cx.now(), self.message_time, REQUESTS_AT_ONCE) {
                    cx.emit(events::MESSAGE_REFUSED);
                    continue;
                }
                cx.emit(events::NACK);
            }
            cx.send_control(Peer::OTHER_END, &message.encode());
        }
    }

    /// Suppression: a packet on its way to the link, given back unless it is an acknowledgment to hold.
    pub fn handle_acknowledgment(&mut self, cx: &mut Context<'_>, packet: Packet) -> Option<Packet> {
        if !self.rules.suppresses {
            return Some(packet);
        }
        let acknowledges = |packet: &Packet| packet.tcp().is_some_and(|tcp| tcp.flags.ack() && !tcp.flags.syn());
        let slot = packet.flow().filter(|_| acknowledges(&packet)).and_then(|flow| self.flows.slot(&flow.reversed()));
        let Some(slot) = slot else { return Some(packet) };
        let room = if self.held.memory < self.rules.memory_limit { self.rules.held_acks } else { 0 };
        let mut kept = Some(packet);
        self.with_flow(cx, slot, |cx, _, state, _| {
            kept = kept.take().and_then(|packet| state.handle_acknowledgment(cx, packet, room));
        });
        kept
    }

    /// Acknowledgments that go on now.
    pub fn take_released(&mut self) -> Vec<Packet> {
        core::mem::take(&mut self.released)
    }

    fn insert(&mut self, cx: &mut Context<'_>, flow: FlowKey, state: Incoming) -> u32 {
        // An evicted flow must first release what it holds, which the table cannot do. So room is made before the insertion.
        if let Some(oldest) = self.flows.next_to_go() {
            cx.emit(Event::FLOW_EVICTED);
            self.remove(cx, oldest);
        }
        cx.emit(Event::FLOW_NEW);
        self.flows.insert(flow, state).0
    }

    fn remove(&mut self, cx: &mut Context<'_>, slot: u32) {
        self.with_flow(cx, slot, |cx, _, state, _| {
            state.release_everything(cx);
            state.numbers = Numbers::default();
        });
        self.flows.remove_slot(slot);
    }

    /// Beyond the bound the flow that grew lets everything pass.
    fn enforce_memory(&mut self, cx: &mut Context<'_>, slot: u32) {
        if self.held.memory > self.rules.memory_limit {
            self.with_flow(cx, slot, |cx, _, state, _| state.release_everything(cx));
        }
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
        if self.held.memory > self.rules.memory_limit {
            return Err("more memory is held back than the limit");
        }
        if !self.released.is_empty() {
            return Err("a released acknowledgment was not sent");
        }
        if self.flows.is_empty() && self.held.waiting.packets != 0 {
            return Err("packets are held back for no flow");
        }
        Ok(())
    }
}
