//! A proxy that splits connections, as I-TCP does (Bakre & Badrinath; SPEC R-6, AST-16): one box in front of the
//! lossy link ends every TCP connection that crosses it and opens its own towards the other side.
//!
//! Each half has its own retransmissions, window, options and round trip, so a loss on the link
//! is repaired in the time of the short half and the other half never hears of it. To each host
//! the box looks like the other host. The price is the end-to-end meaning of an acknowledgment:
//! a sender is told that its bytes arrived when the box has them, and if the box fails they are
//! lost.
//!
//! I-TCP needs a changed library on the mobile host and accepts at once; here no host is changed
//! and by default a connection is accepted when the other end has accepted. Connections whose SYN
//! was not seen, or that come when the table is full, pass untouched: nothing is ever evicted.

mod buffers;
mod delivery;
mod outlet;
mod quiet;
mod relay;
mod settings;

#[cfg(test)]
mod tests;

pub use settings::ProxySettings;

use crate::Site;
use crate::timers::{Timers, earliest};
use airtcp_core::flow_table::FlowTable;
use airtcp_core::{
    Backlog, ByteSize, Context, Duration, Element, Event, FlowKey, Gauge, Instant, Outcome, Packet, Port, Traffic,
    TxStatus,
};
use buffers::Buffers;
use delivery::Deliveries;
use outlet::Outlet;
use quiet::Quiet;
use relay::{Relay, Verdict};

/// The wired part is taken to be at most this long, in round trips of TCP's window.
const WIRED_ROUND_TRIP: Duration = Duration::from_millis(200);
/// Buffer where the link's rate is not known.
const DEFAULT_BUFFER: u64 = 256 << 10;
/// State of two connections beside their buffers, scoreboards included.
const CONNECTIONS: u64 = 16 << 10;

/// The box.
#[derive(Debug)]
pub struct Proxy {
    settings: ProxySettings,
    buffers: Buffers,
    /// By the direction of the SYN.
    flows: FlowTable<Relay>,
    timers: Timers,
    /// By port: the inner one, the link's.
    outlets: [Outlet; 2],
    capacity: usize,
    /// Acknowledgments that do not cross the link; all do if left out.
    quiet: Option<Quiet>,
    /// The link tells what it delivered, which takes the place of acknowledgments to us. Whether it has told.
    deliveries: Option<bool>,
    /// Segments that flows which are over could not take.
    refused_before: u64,
}

impl Proxy {
    /// The element for the near end of a link.
    pub fn new(settings: &ProxySettings, site: &mut Site<'_>) -> Self {
        let wanted = settings.buffer.map_or_else(
            || site.link.rate.map_or(DEFAULT_BUFFER, |rate| rate.bytes_in(WIRED_ROUND_TRIP).clamp(64 << 10, 1 << 20)),
            |buffer| buffer.0,
        );
        let state = CONNECTIONS + FlowTable::<Relay>::entry_memory() as u64;
        let buffers = Buffers::new(wanted.clamp(1, (site.max_memory.0 / 16).max(1)), state, site.max_memory.0);
        let capacity = (site.max_memory.0 / buffers.cost_of_first()).max(1) as usize;
        let mtu = site.link.mtu.map_or(settings.mtu, |mtu| mtu.min(settings.mtu));
        Proxy {
            settings: ProxySettings { mtu, ..settings.clone() },
            buffers,
            flows: FlowTable::new(capacity, site.rng),
            timers: Timers::default(),
            outlets: [Outlet::new(Port::INNER), Outlet::new(Port::LINK)],
            capacity,
            quiet: None,
            deliveries: None,
            refused_before: 0,
        }
    }

    /// The same, and the buffers of a flow that fills them with what is in flight grow up to `largest`.
    pub fn growing_to(self, largest: ByteSize) -> Self {
        Proxy { buffers: self.buffers.growing_to(largest.0), ..self }
    }

    /// The same for a link whose own acknowledgments take the place of TCP's (AST-7): what only acknowledges data stays
    /// here. With `tells_window`, one that allows half a window more crosses the link all the same.
    pub fn without_acknowledgments(self, tells_window: bool) -> Self {
        Proxy { quiet: Some(Quiet::new(tells_window)), ..self }
    }

    /// The same in the other direction: what such a link says it delivered is acknowledged to our own TCP.
    pub fn told_of_deliveries(self) -> Self {
        Proxy { deliveries: Some(false), ..self }
    }

    /// The link tells what became of a packet. Whether our TCP got an acknowledgment of it.
    pub fn hear(&mut self, cx: &mut Context<'_>, status: TxStatus) -> bool {
        let note = self.outlets[usize::from(Port::LINK.0)].awaited.take(cx.now(), status.token);
        let (Some(sent), Some(is_told), Outcome::Acked) = (note, &mut self.deliveries, status.outcome) else {
            return false;
        };
        *is_told = true;
        let Some(slot) = self.flows.slot(&sent.flow) else { return false };
        let Some((_, relay)) = self.flows.at_mut(slot) else { return false };
        let is_news = relay.hear(cx.now(), &sent);
        if is_news {
            self.settle(cx, slot);
        }
        is_news
    }

    /// Bytes that the link delivered of which the other end has said nothing, of all flows.
    pub fn acknowledged_ahead(&self) -> u64 {
        self.relays().filter_map(|relay| relay.deliveries.as_ref()).map(Deliveries::unconfirmed).sum()
    }

    /// Bytes received on one side and not yet sent on the other, of all flows.
    pub fn waiting(&self) -> u64 {
        self.relays().map(Relay::waiting).sum()
    }

    /// Bytes acknowledged on one side and not yet on the other, of all flows.
    pub fn buffered(&self) -> u64 {
        self.relays().map(Relay::buffered).sum()
    }

    /// Segments with data that came over the link and could not be taken.
    pub fn refused_segments(&self) -> u64 {
        self.refused_before + self.relays().map(|relay| relay.refused_segments).sum::<u64>()
    }

    fn relays(&self) -> impl Iterator<Item = &Relay> {
        self.flows.slots_oldest_first().filter_map(|slot| self.flows.at(slot)).map(|(_, relay)| relay)
    }

    /// The flow that a packet belongs to, and whether it comes from the end that opened it.
    fn find(&self, flow: &FlowKey) -> Option<(u32, bool)> {
        self.flows.slot_of_either(flow)
    }

    /// A packet of no flow of ours: a SYN that can be split opens one, all else passes.
    #[cold]
    #[inline(never)] // Two connections pass through its stack, which packets of known flows need not reach across.
    fn handle_new(&mut self, cx: &mut Context<'_>, port: Port, flow: &FlowKey, packet: Packet) {
        // A SYN with data (RFC 7413) speaks to a server that knows the client.
        let opens = packet.tcp().is_some_and(|tcp| tcp.flags.syn() && !tcp.flags.ack() && !tcp.flags.rst())
            && packet.payload_len() == 0
            && packet.checksum_holds();
        if !opens {
            return cx.send(port.opposite(), packet);
        }
        if !self.buffers.have_room(self.flows.len()) {
            cx.emit(Event::FLOW_PASSED);
            return cx.send(port.opposite(), packet);
        }
        let Some(mut relay) = Relay::open(&self.settings, &self.buffers, &packet, port, self.quiet, cx) else {
            return cx.send(port.opposite(), packet);
        };
        relay.deliveries = self.deliveries.and_then(|_| Deliveries::new(&packet, port == Port::LINK));
        cx.emit(Event::FLOW_NEW);
        cx.consume(packet);
        let (slot, _) = self.flows.insert(*flow, relay);
        self.settle(cx, slot);
    }

    /// Lets a flow act on what has changed.
    fn settle(&mut self, cx: &mut Context<'_>, slot: u32) {
        let (flows, tells) = (self.flows.len(), self.deliveries == Some(true));
        let Some((flow, relay)) = self.flows.at_mut(slot) else { return };
        relay.advance(cx);
        if let Some(buffer) = self.buffers.grow(relay.buffer(), relay.most_in_flight(), flows) {
            relay.set_buffers(buffer);
        }
        let [inner, link] = &mut self.outlets;
        let both = if relay.origin == Port::LINK { [inner, link] } else { [link, inner] };
        for outlet in both {
            // Nobody waits at an open port.
            if outlet.is_open() {
                outlet.take_turn(cx, slot, flow, relay, tells);
            } else {
                outlet.wait_for_turn(slot, relay);
            }
        }
        if !rearm(slot, relay, &mut self.timers, self.settings.idle) {
            self.remove(slot);
        }
    }

    /// Lets those who wait at a port send through it while it takes what they send: a packet each, in turn.
    fn serve(&mut self, cx: &mut Context<'_>, port: Port) {
        let (index, tells) = (usize::from(port.0), self.deliveries == Some(true));
        while self.outlets[index].is_open()
            && let Some(slot) = self.outlets[index].pop()
        {
            let Some((flow, relay)) = self.flows.at_mut(slot) else { continue };
            self.outlets[index].take_turn(cx, slot, flow, relay, tells);
            if !rearm(slot, relay, &mut self.timers, self.settings.idle) {
                self.remove(slot);
            }
        }
    }

    #[cold]
    fn remove(&mut self, slot: u32) {
        let Some((_, mut relay)) = self.flows.remove_slot(slot) else { return };
        self.refused_before += relay.refused_segments;
        self.buffers.release(relay.buffer());
        self.timers.set(slot, &mut relay.timer, None);
        for (outlet, _) in self.outlets.iter_mut().zip(relay.waits).filter(|(_, waits)| *waits) {
            outlet.forget(slot);
        }
    }
}

/// Keeps a flow's deadline in the table; false if it is over, and to be forgotten.
#[inline]
fn rearm(slot: u32, relay: &mut Relay, timers: &mut Timers, idle: Duration) -> bool {
    if relay.may_end() {
        return false;
    }
    let due = relay.deadline(idle);
    timers.set(slot, &mut relay.timer, due);
    true
}

impl Element for Proxy {
    fn traffic(&self) -> Traffic {
        Traffic::Tcp
    }

    fn handle_packet(&mut self, cx: &mut Context<'_>, port: Port, packet: Packet) {
        let Some(flow) = packet.flow() else {
            return cx.send(port.opposite(), packet);
        };
        let Some((slot, from_client)) = self.find(&flow) else {
            return self.handle_new(cx, port, &flow, packet);
        };
        let is_told = self.deliveries == Some(true);
        let Some((_, relay)) = self.flows.at_mut(slot) else { return };
        match relay.handle_packet(cx, packet, from_client, is_told) {
            Verdict::Taken => self.settle(cx, slot),
            Verdict::Foreign(packet) => {
                self.remove(slot);
                cx.send(port.opposite(), packet);
            }
        }
    }

    fn handle_ready(&mut self, cx: &mut Context<'_>, port: Port) {
        if self.outlets[usize::from(port.0)].reopen(cx) {
            self.serve(cx, port);
        }
    }

    fn handle_timeout(&mut self, cx: &mut Context<'_>) {
        let now = cx.now();
        self.outlets.iter_mut().for_each(|outlet| outlet.awaited.expire(now));
        while let Some(slot) = self.timers.first_due(now) {
            let Some((_, relay)) = self.flows.at_mut(slot) else { continue };
            self.timers.set(slot, &mut relay.timer, None);
            if now.saturating_since(relay.last_used) >= self.settings.idle {
                relay.give_up();
            }
            relay.handle_timeout(now);
            self.settle(cx, slot);
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        // Only of what crosses a link that tells what it delivered is anything awaited.
        let awaited = self.deliveries.and_then(|_| self.outlets[usize::from(Port::LINK.0)].awaited.deadline());
        earliest([awaited, self.timers.next()])
    }

    fn held(&self) -> Backlog {
        self.outlets[0].held() + self.outlets[1].held()
    }

    fn observe(&self, gauge: &mut dyn FnMut(Gauge, u64)) {
        let state = CONNECTIONS + FlowTable::<Relay>::entry_memory() as u64;
        gauge(Gauge::FLOWS, self.flows.len() as u64);
        gauge(Gauge::HELD_BYTES, self.buffered());
        gauge(Gauge::MEMORY_BYTES, self.relays().map(|relay| relay.memory() + state).sum());
    }

    fn check(&self) -> Result<(), &'static str> {
        if self.flows.len() > self.capacity {
            return Err("more flows are split than memory is set aside for");
        }
        if self.timers.len() != self.relays().filter(|relay| !relay.is_given_up).count() {
            return Err("a split flow has no deadline, or a deadline has no flow");
        }
        self.outlets.iter().try_for_each(|outlet| outlet.check(self.flows.len()))
    }
}
