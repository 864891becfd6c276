//! Modern mode: what the paper wants, for senders with SACK and RACK.
//!
//! Gateway A shapes to the link's rate and owns the bottleneck queue, so that
//! congestion is seen before the link and radio loss after it; it keeps copies of what it sent.
//! Gateway B sees gaps in the sequence numbers, asks for them at once, and holds what came
//! behind a gap for a bounded time, releasing in order. The paper suppresses duplicate ACKs
//! instead; today's SACK/RACK senders see through that (SPEC 7.3), so here every ACK, SACK block
//! and timestamp stays true and end-to-end semantics are kept.

mod cache;
mod downstream;
mod flow;
mod held_acks;
mod numbers;
mod receiver_window;
mod reordering;
mod repairs;
mod second_copies;
mod timing;
mod upstream;
mod waiting;

#[cfg(test)]
mod attack_tests;
#[cfg(test)]
mod suppression_tests;
#[cfg(test)]
mod tests;

use super::message::Message;
use super::settings::{GsnoopSettings, Mode};
use super::{flow_table, share, table_memory};
use crate::Site;
use crate::egress::{Egress, EgressSettings, link_queue, time_on_link};
use crate::hop::{self, times};
use crate::link_rate::{Advice, Arrivals, LinkRate, Name};
use crate::peer::{Change, Peer};
use airtcp_core::{
    Acquaintance, Backlog, ByteSize, Context, DropReason, Duration, Element, Event, Gauge, Instant, Legacy, Packet,
    Peer as PeerId, Port, Rate, Traffic,
};
use core::any::Any;
use downstream::Downstream;
use flow::Incoming;
use timing::Timing;
use upstream::Upstream;

/// One box: A for what goes to the link, B for what comes off it.
#[derive(Debug)]
pub struct Gateway {
    upstream: Upstream,
    downstream: Downstream,
    arrivals: Arrivals,
    peer: Peer,
    tries: u8,
    guard: Option<Duration>,
    hold: Option<Duration>,
    verify_checksum: bool,
    cache: CacheSize,
    /// The queue is ours, so packets may wait for a round trip of the link in it.
    has_default_queue: bool,
    max_memory: ByteSize,
}

/// What the size of A's cache follows from.
#[derive(Clone, Copy, Debug)]
struct CacheSize {
    /// By the rate if there is none.
    configured: Option<ByteSize>,
    /// Round trip between the gateways as far as it is known beforehand.
    rtt: Duration,
    most: u64,
    /// The rate that the cache has the size for.
    rate: Option<Option<Rate>>,
}

/// The queue is in use if what waits there takes longer.
const IN_USE: Duration = Duration::from_millis(1);
/// A cache is never smaller, in bytes.
const LEAST_CACHE: u64 = 64 * 1024;

impl Gateway {
    /// The element for one end of a link.
    pub fn new(settings: &GsnoopSettings, site: &mut Site<'_>) -> Self {
        let sixteenth = site.max_memory.0 / 16;
        let rtt = settings.wireless_rtt.or(site.link.round_trip).unwrap_or(Duration::from_millis(500));
        let most = sixteenth * share::QUEUE;
        let queue = settings.queue.clone().unwrap_or_else(|| link_queue(0));
        let queue = EgressSettings::within(site, settings.rate, Some(&queue), most);
        let ecn_threshold = settings.ecn_threshold.map(|threshold| threshold.0);
        let egress = Egress::new(EgressSettings { ecn_threshold, ..queue }, site.rng);
        let link_rate = LinkRate::new(egress.rate(), if settings.learn { sixteenth / 4 } else { 0 });
        let cache = CacheSize { configured: settings.cache, rtt, most: sixteenth * share::CACHE, rate: None };
        let outgoing = flow_table(site);
        let incoming = flow_table(site);
        Gateway {
            upstream: Upstream::new(egress, link_rate, outgoing, settings.idle, settings.redundancy),
            downstream: Downstream::new(
                incoming,
                downstream::ReceiveRules {
                    memory_limit: sixteenth * share::HELD,
                    verify_checksum: settings.verify_checksum,
                    idle: settings.idle,
                    suppresses: settings.mode == Mode::Suppression,
                    held_acks: settings.held_acks as usize,
                },
            ),
            arrivals: Arrivals::default(),
            peer: Peer::new(settings.hello, settings.peer_timeout, settings.wireless_rtt, site.rng.next_u64()),
            tries: settings.tries,
            guard: settings.guard,
            hold: settings.hold,
            verify_checksum: settings.verify_checksum,
            cache,
            has_default_queue: settings.queue.is_none(),
            max_memory: site.max_memory,
        }
    }

    /// True if its tables are of the same size, and it hides the same from senders.
    fn may_adopt(&self, next: &Gateway) -> bool {
        self.max_memory == next.max_memory && self.downstream.rules.suppresses == next.downstream.rules.suppresses
    }

    /// What the gateways wait for now, and the cache has the size that the present rate needs.
    fn timing(&mut self) -> Timing {
        let rate = self.upstream.rate();
        if self.cache.rate != Some(rate) {
            self.cache.rate = Some(rate);
            self.upstream.cache.limit = self.cache_limit();
            self.downstream.message_time = time_on_link(rate, upstream::MESSAGE_BYTES);
        }
        let rtt = self.peer.rtt();
        if self.has_default_queue {
            self.upstream.egress.set_least_wait(rtt);
        }
        self.timing_at(rtt)
    }

    fn timing_at(&self, rtt: Duration) -> Timing {
        let guard = self.guard.unwrap_or_else(|| times::guard(rtt, times::packet_time(self.upstream.rate())));
        let hold = self.hold.unwrap_or_else(|| times::hold(rtt, guard, self.tries));
        Timing { rtt, guard, hold, tries: self.tries }
    }

    fn cache_limit(&self) -> u64 {
        let CacheSize { configured, rtt, most, .. } = self.cache;
        let time = self.timing_at(rtt).hold + rtt;
        let auto = || self.upstream.rate().map_or(u64::MAX, |rate| rate.bytes_in(time).saturating_mul(2));
        configured.map_or_else(auto, |size| size.0).max(LEAST_CACHE).min(most)
    }

    /// A packet on its way to the link.
    fn handle_leaving(&mut self, cx: &mut Context<'_>, packet: Packet, timing: &Timing) {
        if !self.peer.in_reach() && self.upstream.egress.is_empty() {
            return self.upstream.pass(cx, packet);
        }
        self.downstream.on_acknowledgment(cx, &packet);
        let Some(packet) = self.downstream.handle_acknowledgment(cx, packet) else { return };
        let answered = packet.flow().filter(|_| packet.tcp().is_some_and(|tcp| tcp.flags.syn() && tcp.flags.ack()));
        // A window is scaled only if both ends offered it (RFC 7323, section 2.2).
        let is_scaled = packet.tcp().is_some_and(|tcp| tcp.options.window_scale.is_some());
        self.upstream.handle_packet(cx, packet, timing);
        if let Some(flow) = answered
            && let Some(scale) = self.downstream.window_scale(&flow.reversed())
        {
            self.upstream.set_window_scale(&flow, if is_scaled { scale } else { 0 });
        }
    }

    /// A packet off the link.
    fn handle_arrival(&mut self, cx: &mut Context<'_>, packet: Packet, timing: &Timing) {
        if let Some(report) = self.arrivals.add(cx.now(), Name::of(&packet), self.upstream.report_time()) {
            self.upstream.send_control(cx, &Message::Report(report));
        }
        if self.verify_checksum && packet.tcp().is_some() && !packet.checksum_holds() {
            return self.handle_damaged(cx, packet);
        }
        self.upstream.on_acknowledgment(&packet);
        if self.peer.in_reach() {
            self.downstream.handle_packet(cx, packet, timing);
            self.forward_released(cx, timing);
        } else {
            cx.send(Port::INNER, packet);
        }
    }

    /// A segment off the link that was damaged there: it is repaired as if it were lost.
    fn handle_damaged(&mut self, cx: &mut Context<'_>, packet: Packet) {
        if self.peer.in_reach() {
            cx.emit(Event::CHECKSUM_BAD);
            cx.discard(packet, DropReason::CORRUPTED);
        } else {
            cx.send(Port::INNER, packet);
        }
    }

    /// Suppression: acknowledgments that B let go take the same way as any other.
    fn forward_released(&mut self, cx: &mut Context<'_>, timing: &Timing) {
        for ack in self.downstream.take_released() {
            self.upstream.handle_packet(cx, ack, timing);
        }
    }
}

impl Element for Gateway {
    fn traffic(&self) -> Traffic {
        let egress = &self.upstream.egress;
        let waiting = u32::try_from(egress.backlog().bytes).unwrap_or(u32::MAX);
        if egress.transmission(waiting) > IN_USE { Traffic::All } else { Traffic::TcpFirst }
    }

    fn handle_packet(&mut self, cx: &mut Context<'_>, port: Port, packet: Packet) {
        let timing = self.timing();
        if port == Port::INNER {
            self.handle_leaving(cx, packet, &timing);
        } else {
            self.handle_arrival(cx, packet, &timing);
        }
    }

    fn handle_ready(&mut self, cx: &mut Context<'_>, port: Port) {
        if port == Port::LINK {
            let timing = self.timing();
            self.upstream.egress.on_ready();
            self.upstream.send_due(cx, &timing);
        }
    }

    fn handle_control(&mut self, cx: &mut Context<'_>, peer: PeerId, bytes: &[u8]) {
        let Some(message) = self.peer.hear(cx, peer, bytes, Message::decode) else { return };
        let timing = self.timing();
        match message {
            Message::Hello(hello) => match self.peer.on_hello(cx, &hello) {
                Change::Restarted => {
                    self.downstream.release_all(cx);
                    self.upstream.link_rate.forget();
                }
                Change::Up => self.upstream.poll_unacknowledged(cx.now()),
                Change::None => {}
            },
            // Out of reach nothing is held or promised, so there is nothing to answer.
            _ if !self.peer.in_reach() => {}
            Message::Report(report) => self.upstream.on_report(cx, &report, self.peer.rtt()),
            Message::Nack(flow, ranges) => self.upstream.on_nack(cx, &flow, &ranges, &timing),
            Message::Have(flow, range) => self.upstream.on_have(&flow, range.1),
            Message::NotHere(flow, ranges) => self.downstream.on_not_here(cx, &flow, &ranges),
            Message::Resent(flow, range) => self.downstream.on_resent(cx, &flow, range, &timing),
            Message::Poll(flow, range) => self.downstream.on_poll(cx, &flow, range, &timing),
        }
        self.forward_released(cx, &timing);
    }

    fn handle_timeout(&mut self, cx: &mut Context<'_>) {
        let tick = self.peer.handle_timeout(cx);
        if let Some(hello) = tick.hello {
            self.upstream.send_control(cx, &Message::Hello(hello));
        }
        if tick.fell_silent {
            self.downstream.release_all(cx);
        }
        let timing = self.timing();
        self.upstream.handle_timeout(cx, &timing, self.peer.in_reach());
        self.downstream.handle_timeout(cx, &timing);
        self.forward_released(cx, &timing);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let own = [self.upstream.poll_timeout(), self.downstream.poll_timeout()].into_iter().flatten();
        own.chain([self.peer.poll_timeout()]).min()
    }

    fn held(&self) -> Backlog {
        self.upstream.egress.backlog() + self.downstream.held.waiting
    }

    fn observe(&self, gauge: &mut dyn FnMut(Gauge, u64)) {
        let (outgoing, incoming, held) =
            (self.upstream.flow_count(), self.downstream.flow_count(), &self.downstream.held);
        let tables = table_memory::<upstream::Flow>(outgoing) + table_memory::<Incoming>(incoming);
        let queued = self.upstream.egress.backlog().bytes;
        gauge(Gauge::FLOWS, (outgoing + incoming) as u64);
        gauge(Gauge::CACHE_BYTES, self.upstream.cache.bytes());
        let copies = self.upstream.cache.bytes() + self.upstream.link_rate.memory();
        gauge(Gauge::MEMORY_BYTES, tables + copies + held.memory + queued);
        hop::observe(gauge, &self.upstream.egress, held, &self.peer);
        self.upstream.link_rate.observe(gauge, &self.upstream.egress);
    }

    fn resume(&mut self, rate: Rate) {
        self.upstream.link_rate.resume(rate, &mut self.upstream.egress);
    }

    fn surrender(&mut self, cx: &mut Context<'_>) -> Legacy {
        let timing = self.timing();
        let (epoch, round_trip, received) = (self.peer.epoch(), self.peer.rtt(), self.arrivals.received());
        let acquaintance = self.peer.in_reach().then_some(Acquaintance { epoch, round_trip, received });
        let held = self.downstream.surrender(cx);
        self.forward_released(cx, &timing);
        let (waiting, copies) = self.upstream.surrender(cx);
        Legacy { waiting, copies, held, acquaintance }
    }

    fn inherit(&mut self, cx: &mut Context<'_>, legacy: Legacy) {
        if let Some(acquaintance) = legacy.acquaintance {
            self.peer.inherit(cx, &acquaintance);
            self.arrivals = Arrivals::after(acquaintance.received);
        }
        let timing = self.timing();
        for copy in legacy.copies {
            self.upstream.remember(cx, copy, &timing);
        }
        for flow in legacy.held {
            self.downstream.inherit(cx, flow, &timing);
        }
    }

    fn adopt(&mut self, cx: &mut Context<'_>, next: &mut dyn Any) -> bool {
        let Some(next) = next.downcast_mut::<Gateway>().filter(|next| self.may_adopt(next)) else { return false };
        (self.tries, self.guard, self.hold) = (next.tries, next.guard, next.hold);
        (self.verify_checksum, self.cache) = (next.verify_checksum, next.cache);
        self.has_default_queue = next.has_default_queue;
        self.downstream.rules = next.downstream.rules;
        self.peer.adopt(&next.peer);
        self.upstream.adopt(cx, &mut next.upstream);
        let timing = self.timing();
        self.upstream.send_due(cx, &timing);
        true
    }

    fn advice(&self) -> Option<&'static str> {
        self.peer.advice().or(self.upstream.link_rate.advice().map(Advice::sentence))
    }

    fn check(&self) -> Result<(), &'static str> {
        self.upstream.egress.check()?;
        self.downstream.check()
    }
}
