//! Snoop (Balakrishnan, Seshan, Amir & Katz, *Improving TCP/IP Performance over Wireless
//! Networks*, MobiCom 1995; R-7): an agent at the base station keeps copies of what it sends over
//! the last hop, repairs losses itself, and keeps the duplicate acknowledgments that told of them
//! from the sender.
//!
//! `snoop_data()` and `snoop_ack()` of the paper are [`Flow::on_data`](flow) and `Flow::on_ack`.
//! Where the paper is silent the numbers are those of its authors' ns-2 agent. What we do differently:
//!
//! - The queue before the link is ours, so that repairs overtake it (the paper's two queues).
//! - One local timer, always running while a packet is out, as in ns-2, takes the place of the
//!   paper's round-trip and persist timers; it doubles while nothing comes.
//! - How many duplicates to expect is counted anew for each repair from what was sent after it, so
//!   one more than that means that the repair was lost, too.
//! - An acknowledgment that was overtaken passes (the paper drops it); so does one that only moves
//!   the window, reports a duplicate, or carries data. A keep-alive reaches the receiver.

pub mod events;
mod flow;
mod last_hop;
#[cfg(test)]
mod tests;

use crate::egress::{Egress, EgressSettings};
use crate::timers::Timers;
use crate::{Made, Placement, Reports, SchemeEntry, Site, settings_for};
use airtcp_core::flow_table::FlowTable;
use airtcp_core::parameters::ParameterError;
use airtcp_core::{Backlog, Context, CreateReason, DropReason, Duration, Element, Event, FlowKey};
use airtcp_core::{Gauge, Instant, Packet, Port, Rate, TcpHeader, parameters};
use airtcp_link::Queue;
use alloc::boxed::Box;
use flow::{AckVerdict, DataVerdict, Flow};
use last_hop::LastHop;

/// Snoop's line in the table of schemes.
pub const ENTRY: SchemeEntry = SchemeEntry {
    slug: "snoop",
    about: "The base station repairs the last hop from copies and suppresses duplicate acknowledgments",
    source: "Balakrishnan, Seshan, Amir & Katz, Improving TCP/IP Performance over Wireless Networks, MobiCom 1995",
    placement: Placement::NearEnd,
    // What it repeats to a sender is the receiver's own acknowledgment.
    keeps_end_to_end: true,
    reports: Reports { events: events::EVENTS, gauges: &[] },
    settings: || settings_for(make),
};

parameters! {
    /// Parameters of Snoop.
    pub struct SnoopSettings {
        /// Rate at which the egress queue is emptied, in IP bits; the link's own rate if auto. Without a rate, repairs wait behind what the link has queued.
        pub rate: Option<Rate> = None, "R-7: retransmissions at high priority";
        /// Egress queue, a limit or a discipline, as the queue of a link; the link's own queue limit if auto, else rate x 100 ms.
        pub queue: Option<Queue> = None, "ours";
        /// Copies kept per connection; further packets are forwarded without a copy.
        pub cache: u16 = 100, "ns-2 SNOOP_MAXWIND";
        /// Shortest local timeout.
        pub min_timeout: Duration = Duration::from_millis(100), "ns-2 SNOOP_MIN_TIMO";
        /// How often a packet is repaired before it is left to the sender.
        pub tries: u8 = 10, "ns-2 SNOOP_MAX_RXMIT";
        /// Silence after which a connection is forgotten.
        pub idle: Duration = Duration::from_secs(60), "GSN-U15";
    }
}

fn make(settings: &SnoopSettings, site: &mut Site<'_>) -> Made {
    if settings.min_timeout.is_zero() {
        return Err(ParameterError::bad("min_timeout", "the last hop takes some time; write 1ms or more"));
    }
    Ok(Box::new(Agent::new(settings, site)))
}

/// What bounds a connection's state.
#[derive(Clone, Copy, Debug)]
struct Limits {
    cache: u16,
    min_timeout: Duration,
    tries: u8,
}

/// Heap of a connection's state beside its table entry: the map of copies when nearly empty, the
/// latest acknowledgment, the timer.
const FLOW_HEAP: usize = 1024;

/// The agent of one link.
#[derive(Debug)]
pub struct Agent {
    queue: Egress,
    flows: FlowTable<Flow>,
    timers: Timers,
    limits: Limits,
    last_hop: LastHop,
    idle: Duration,
    cached: u64,
    cached_limit: u64,
}

impl Agent {
    /// The agent at the near end of a link.
    pub fn new(settings: &SnoopSettings, site: &mut Site<'_>) -> Self {
        // A quarter of the memory is for the queue, half for copies, an eighth for connections.
        let eighth = site.max_memory.0 / 8;
        let capacity = eighth as usize / (FlowTable::<Flow>::entry_memory() + FLOW_HEAP);
        let SnoopSettings { cache, min_timeout, tries, .. } = *settings;
        Agent {
            queue: Egress::new(EgressSettings::at(site, settings.rate, settings.queue.as_ref()), site.rng),
            flows: FlowTable::new(capacity, site.rng),
            timers: Timers::default(),
            limits: Limits { cache, min_timeout, tries },
            last_hop: LastHop::new(site.link.round_trip),
            idle: settings.idle,
            cached: 0,
            cached_limit: eighth * 4,
        }
    }

    /// A packet on its way to the link.
    fn handle_outgoing(&mut self, cx: &mut Context<'_>, packet: Packet) {
        let tracked = match (packet.flow(), packet.tcp().copied()) {
            (Some(flow), Some(tcp)) if tcp.flags.rst() => {
                self.forget(&flow);
                None
            }
            // A damaged segment is not worth a copy: no receiver takes it.
            (Some(flow), Some(tcp)) if packet.sequence_len() > 0 && packet.checksum_holds() => Some((flow, tcp)),
            _ => None,
        };
        let Some((flow, tcp)) = tracked else {
            return self.enqueue(cx, packet);
        };
        let slot = self.find_or_insert(cx, flow, &tcp);
        if tcp.flags.syn() {
            return self.enqueue(cx, packet);
        }
        let (limits, left) = (self.limits, self.make_room(cx, slot, flow::cost(&packet)));
        match self.with_flow(slot, |state| state.on_data(&packet, &tcp, &limits, left)) {
            Some(DataVerdict::Answer(ack)) => {
                cx.emit(events::ACK_REPEATED);
                cx.discard(packet, DropReason::DUPLICATE);
                let ack = cx.duplicate(&ack, CreateReason::DUPLICATE_ACK);
                cx.send(Port::INNER, ack);
            }
            _ => self.enqueue(cx, packet),
        }
    }

    fn enqueue(&mut self, cx: &mut Context<'_>, packet: Packet) {
        self.queue.push(cx, packet);
        self.settle_drops(cx);
        self.send_due(cx);
    }

    fn settle_drops(&mut self, cx: &mut Context<'_>) {
        while let Some((packet, reason)) = self.queue.take_dropped() {
            self.note_queue_drop(&packet);
            cx.discard(packet, reason);
        }
    }

    /// What our own queue dropped is not the link's loss.
    fn note_queue_drop(&mut self, packet: &Packet) {
        let (Some(flow), Some(tcp)) = (packet.flow(), packet.tcp()) else { return };
        let has_copy = packet.sequence_len() > 0 && !tcp.flags.rst() && !tcp.flags.syn() && packet.checksum_holds();
        if let Some(slot) = self.flows.slot(&flow).filter(|_| has_copy) {
            let sequence = tcp.sequence;
            self.with_flow(slot, |state| state.on_queue_drop(sequence));
        }
    }

    /// Sends what the link has time for.
    fn send_due(&mut self, cx: &mut Context<'_>) {
        let (limits, now) = (self.limits, cx.now());
        while let Some(segment) = self.queue.send_next(cx) {
            if let Some((flow, sequence)) = segment
                && let Some(slot) = self.flows.slot(&flow)
            {
                self.with_flow(slot, |state| state.on_departure(sequence, now, &limits));
            }
        }
        self.settle_drops(cx);
    }

    /// A packet off the link; its acknowledgment is about what went out over it.
    fn handle_incoming(&mut self, cx: &mut Context<'_>, packet: Packet) {
        let (Some(flow), Some(tcp)) = (packet.flow().map(FlowKey::reversed), packet.tcp().copied()) else {
            return cx.send(Port::INNER, packet);
        };
        let Some(slot) = self.flows.slot(&flow) else {
            return cx.send(Port::INNER, packet);
        };
        if tcp.flags.rst() {
            self.forget(&flow);
            return cx.send(Port::INNER, packet);
        }
        // A damaged acknowledgment says nothing: repeated to the sender, it would be dropped for ever.
        if !packet.checksum_holds() {
            return cx.send(Port::INNER, packet);
        }
        let (limits, now) = (self.limits, cx.now());
        let verdict = self.with_flow(slot, |state| state.on_ack(&packet, &tcp, now, &limits));
        match verdict.unwrap_or(AckVerdict::Pass) {
            AckVerdict::Pass => cx.send(Port::INNER, packet),
            AckVerdict::Suppress => suppress(cx, packet),
            AckVerdict::Repair(copy) => {
                suppress(cx, packet);
                self.repair(cx, &copy);
            }
        }
    }

    fn repair(&mut self, cx: &mut Context<'_>, copy: &Packet) {
        cx.emit(Event::REPAIR);
        let repair = cx.duplicate(copy, CreateReason::REPAIR);
        if let Err(repair) = self.queue.push_repair(cx.now(), repair) {
            cx.discard(repair, DropReason::QUEUE_FULL);
        }
        self.send_due(cx);
    }

    fn find_or_insert(&mut self, cx: &mut Context<'_>, flow: FlowKey, tcp: &TcpHeader) -> u32 {
        self.forget_idle(cx.now());
        if let Some(slot) = self.flows.slot(&flow) {
            if !tcp.flags.syn() {
                self.flows.touch(slot);
                self.with_flow(slot, |state| state.last_used = cx.now());
                return slot;
            }
            // A new connection with the same addresses and ports.
            self.remove(slot);
        } else {
            cx.emit(Event::FLOW_NEW);
        }
        if let Some(oldest) = self.flows.next_to_go() {
            cx.emit(Event::FLOW_EVICTED);
            self.remove(oldest);
        }
        let first = tcp.sequence + u32::from(tcp.flags.syn());
        self.flows.insert(flow, Flow::new(first, self.last_hop, cx.now())).0
    }

    /// Forgets the connections that were silent longest, until `cost` more fits; what is left then.
    fn make_room(&mut self, cx: &mut Context<'_>, slot: u32, cost: u64) -> u64 {
        while self.cached + cost > self.cached_limit
            && let Some(oldest) = self.flows.oldest().filter(|oldest| *oldest != slot)
        {
            cx.emit(Event::FLOW_EVICTED);
            self.remove(oldest);
        }
        self.cached_limit - self.cached
    }

    fn forget_idle(&mut self, now: Instant) {
        let idle = self.idle;
        while let Some(slot) = self.flows.oldest_if(|flow| now.saturating_since(flow.last_used) > idle) {
            self.remove(slot);
        }
    }

    fn forget(&mut self, flow: &FlowKey) {
        if let Some(slot) = self.flows.slot(flow) {
            self.remove(slot);
        }
    }

    fn remove(&mut self, slot: u32) {
        if let Some((_, mut state)) = self.flows.remove_slot(slot) {
            self.cached -= state.memory;
            self.timers.set(slot, &mut state.timer, None);
        }
    }

    /// Changes a connection and keeps totals and timers in step.
    fn with_flow<T>(&mut self, slot: u32, work: impl FnOnce(&mut Flow) -> T) -> Option<T> {
        let (_, state) = self.flows.at_mut(slot)?;
        let memory = state.memory;
        let result = work(state);
        self.cached = self.cached + state.memory - memory;
        self.timers.set(slot, &mut state.timer, state.deadline);
        Some(result)
    }

    fn handle_timers(&mut self, cx: &mut Context<'_>) {
        let now = cx.now();
        for slot in self.timers.due(now) {
            let limits = self.limits;
            if let Some(Some(copy)) = self.with_flow(slot, |state| state.handle_timeout(now, &limits)) {
                cx.emit(events::LOCAL_TIMEOUT);
                self.repair(cx, &copy);
            }
        }
    }
}

fn suppress(cx: &mut Context<'_>, ack: Packet) {
    cx.emit(Event::ACK_SUPPRESSED);
    cx.discard(ack, DropReason::SUPPRESSED);
}

impl Element for Agent {
    fn handle_packet(&mut self, cx: &mut Context<'_>, port: Port, packet: Packet) {
        if port == Port::INNER { self.handle_outgoing(cx, packet) } else { self.handle_incoming(cx, packet) }
    }

    fn handle_ready(&mut self, cx: &mut Context<'_>, port: Port) {
        if port == Port::LINK {
            self.queue.on_ready();
            self.send_due(cx);
        }
    }

    fn handle_timeout(&mut self, cx: &mut Context<'_>) {
        self.handle_timers(cx);
        self.send_due(cx);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        [self.timers.next(), self.queue.poll_timeout()].into_iter().flatten().min()
    }

    fn held(&self) -> Backlog {
        self.queue.backlog()
    }

    fn observe(&self, gauge: &mut dyn FnMut(Gauge, u64)) {
        let entries = self.flows.len() * (FlowTable::<Flow>::entry_memory() + FLOW_HEAP);
        gauge(Gauge::FLOWS, self.flows.len() as u64);
        gauge(Gauge::CACHE_BYTES, self.cached);
        gauge(Gauge::QUEUE_BYTES, self.queue.backlog().bytes);
        gauge(Gauge::QUEUE_BYTES_MAX, self.queue.bytes_max());
        gauge(Gauge::MEMORY_BYTES, entries as u64 + self.cached + self.queue.backlog().bytes);
    }

    fn check(&self) -> Result<(), &'static str> {
        self.queue.check()?;
        if self.cached > self.cached_limit || self.flows.is_empty() && self.cached != 0 {
            return Err("the copies take more memory than they may");
        }
        if self.flows.oldest_if(|flow| flow.copies() > usize::from(self.limits.cache)).is_some() {
            return Err("a connection has more copies than it may");
        }
        Ok(())
    }
}
