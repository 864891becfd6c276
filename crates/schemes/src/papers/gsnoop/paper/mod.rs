//! Paper mode: the rules of the paper as printed (GSN-1 … GSN-18), with the defaults of SPEC 3.U for what it
//! leaves open and the corrections of SPEC 3.X for where it contradicts itself.
//!
//! Gateway A keeps copies of what it sent and repairs on request; gateway B asks for what is missing after
//! three arrivals beyond it, passes data on in the order it arrives, and drops as many duplicate ACKs as
//! the receiver will send for what was repaired. That works for senders that count duplicate ACKs; a
//! SACK/RACK sender learns of the loss from the first SACK block (SPEC 7.3), so for those use modern mode.
//!
//! GSN-16: a notification (ICN) slows the sender a second time, because the receiver's own duplicate ACKs
//! follow later. It is the paper's design and can be switched off.

mod cache;
mod detector;
mod downstream;
mod fifo;
mod hole_table;
mod icn;
mod o3_counter;
mod suppressor;
mod upstream;

#[cfg(test)]
mod tests;

use super::message::Message;
use super::settings::{GsnoopSettings, RepairPlace};
use super::{PACKET_BYTES, flow_table, share, table_memory};
use crate::Site;
use crate::hop;
use crate::peer::{Change, Peer};
use airtcp_core::{Backlog, Context, Duration, Element, Gauge, Instant, Packet, Peer as PeerId, Port};
use downstream::Downstream;
use fifo::Fifo;
use upstream::Upstream;

/// One box: A for what goes to the link, B for what comes off it.
#[derive(Debug)]
pub struct Gateway {
    upstream: Upstream,
    downstream: Downstream,
    peer: Peer,
    guard: Option<Duration>,
    /// Packets whose time on the link a repair waits for at A beside the round trip.
    ahead_of_repair: u64,
}

/// How long B waits for a repair.
#[derive(Clone, Copy, Debug)]
struct Timing {
    rtt: Duration,
    guard: Duration,
}

impl Timing {
    /// GSN-12: wireless round trip and guard after the NACK.
    fn repair_due(&self, now: Instant) -> Instant {
        now + self.rtt + self.guard
    }
}

/// Packets in the FIFO where the link's own limit is not known.
const DEFAULT_BUFFER: u32 = 140;

impl Gateway {
    /// The element for one end of a link.
    pub fn new(settings: &GsnoopSettings, site: &mut Site<'_>) -> Self {
        let sixteenth = site.max_memory.0 / 16;
        let rate = settings.rate.or(site.link.rate);
        let of_link = site.link.queue.map(|queue| (queue.0 / u64::from(PACKET_BYTES)) as u32);
        let buffer = settings.buffer_packets.or(of_link).unwrap_or(DEFAULT_BUFFER);
        let outgoing = flow_table(site);
        let incoming = flow_table(site);
        let fifo = Fifo::new(rate, u64::from(buffer), sixteenth * share::QUEUE, settings.repair_place, site.rng);
        Gateway {
            upstream: Upstream::new(
                fifo,
                outgoing,
                upstream::RepairRules {
                    cache_packets: settings.cache_packets as usize,
                    cache_memory: sixteenth * share::CACHE,
                    cache_per_flow: settings.cache_per_flow,
                    icn: settings.icn,
                    icn_interval: settings.icn_interval,
                    idle: settings.idle,
                },
            ),
            downstream: Downstream::new(
                incoming,
                downstream::ReceiveRules {
                    memory_limit: sixteenth * share::HELD,
                    verify_checksum: settings.verify_checksum,
                    ask_again: settings.ask_again,
                    held_acks: settings.held_acks as usize,
                    idle: settings.idle,
                },
            ),
            peer: Peer::new(settings.hello, settings.peer_timeout, settings.wireless_rtt, site.rng.next_u64()),
            guard: settings.guard,
            ahead_of_repair: ahead_of_repair(settings.repair_place, buffer),
        }
    }

    fn timing(&self) -> Timing {
        let rtt = self.peer.rtt();
        Timing { rtt, guard: self.guard.unwrap_or_else(|| (rtt / 2).max(self.repair_wait())) }
    }

    /// What a repair waits for at A beside the round trip, at the present rate.
    fn repair_wait(&self) -> Duration {
        let packet_time = self.upstream.fifo.egress.transmission(PACKET_BYTES);
        packet_time.saturating_mul(self.ahead_of_repair).min(Duration::from_secs(1))
    }

    /// What B sent takes the link, and ACKs that it let go take the same way as any other.
    fn settle(&mut self, cx: &mut Context<'_>) {
        let nacks = self.downstream.take_nack_bytes();
        if nacks > 0 {
            self.upstream.fifo.egress.charge(cx.now(), nacks);
        }
        for ack in self.downstream.take_released() {
            self.upstream.handle_packet(cx, ack);
        }
    }
}

/// GSN-U8: four packet times at the wireless rate, and what waits before a repair: at the tail, the FIFO.
fn ahead_of_repair(place: RepairPlace, buffer: u32) -> u64 {
    match place {
        RepairPlace::Head => 4,
        RepairPlace::Tail => 4 + u64::from(buffer),
    }
}

impl Element for Gateway {
    fn handle_packet(&mut self, cx: &mut Context<'_>, port: Port, packet: Packet) {
        if port == Port::INNER {
            if !self.peer.in_reach() && self.upstream.fifo.egress.is_empty() {
                self.upstream.pass(cx, packet);
            } else if let Some(packet) = self.downstream.handle_acknowledgment(cx, packet) {
                self.upstream.handle_packet(cx, packet);
            }
        } else if self.peer.in_reach() {
            let notification = self.upstream.on_acknowledgment(cx, &packet).then(|| packet.clone());
            let timing = self.timing();
            self.downstream.handle_packet(cx, packet, &timing);
            if let Some(ack) = notification {
                Upstream::notify(cx, &ack);
            }
        } else {
            cx.send(Port::INNER, packet);
        }
        self.settle(cx);
    }

    fn handle_ready(&mut self, cx: &mut Context<'_>, port: Port) {
        if port == Port::LINK {
            self.upstream.fifo.egress.on_ready();
            self.upstream.send_due(cx);
        }
    }

    fn handle_control(&mut self, cx: &mut Context<'_>, peer: PeerId, bytes: &[u8]) {
        let Some(message) = self.peer.hear(cx, peer, bytes, Message::decode) else { return };
        match message {
            Message::Hello(hello) => {
                let change = self.peer.on_hello(cx, &hello);
                if change == Change::Restarted {
                    self.downstream.release_all(cx);
                }
            }
            Message::Nack(flow, ranges) if self.peer.in_reach() => self.upstream.on_nack(cx, &flow, &ranges),
            // The paper has no other message; another mode at the other end does not repair either.
            _ => {}
        }
        self.settle(cx);
    }

    fn handle_timeout(&mut self, cx: &mut Context<'_>) {
        let tick = self.peer.handle_timeout(cx);
        if let Some(hello) = tick.hello {
            hop::tell(cx, &mut self.upstream.fifo.egress, &Message::Hello(hello).encode());
        }
        if tick.fell_silent {
            self.downstream.release_all(cx);
        }
        let timing = self.timing();
        self.downstream.handle_timeout(cx, &timing);
        self.settle(cx);
        self.upstream.send_due(cx);
        self.upstream.forget_idle(cx.now());
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let own = [self.upstream.fifo.egress.poll_timeout(), self.downstream.poll_timeout()].into_iter().flatten();
        own.chain([self.peer.poll_timeout()]).min()
    }

    fn held(&self) -> Backlog {
        self.upstream.fifo.egress.backlog() + self.downstream.held.waiting
    }

    fn observe(&self, gauge: &mut dyn FnMut(Gauge, u64)) {
        let (outgoing, incoming, held) =
            (self.upstream.flow_count(), self.downstream.flow_count(), &self.downstream.held);
        let tables = table_memory::<upstream::Flow>(outgoing) + table_memory::<downstream::Flow>(incoming);
        let queued = self.upstream.fifo.egress.backlog().bytes;
        gauge(Gauge::FLOWS, (outgoing + incoming) as u64);
        gauge(Gauge::CACHE_BYTES, self.upstream.cache_bytes());
        gauge(Gauge::MEMORY_BYTES, tables + self.upstream.cache_memory() + held.memory + queued);
        hop::observe(gauge, &self.upstream.fifo.egress, held, &self.peer);
    }

    fn check(&self) -> Result<(), &'static str> {
        self.upstream.fifo.egress.check()?;
        self.downstream.check()
    }
}
