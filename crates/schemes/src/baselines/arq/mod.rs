//! Link ARQ (SPEC R-15; RFC 3366): both ends of a link repair everything that crosses it, TCP or
//! not, by selective repeat.
//!
//! Every packet gets a shim with a sequence number. The far end acknowledges selectively, in
//! batches and at once when something is missing; the near end sends again what was lost, up to a
//! number of tries, and then gives it up. By default packets are passed on in order, and nothing
//! waits for a gap longer than a bound.
//!
//! Differs from a radio's own ARQ: it sits on the two boxes beside the link, so an acknowledgment
//! takes a message and a shim counts as IP bytes; transmissions are numbered apart from packets, so
//! a repair that is lost again is found as fast as the first loss; and the queue before the link is
//! part of it, so that congestion drops are not repaired and hosts still hear of them.

mod frame;
mod receiver;
mod sender;
mod settings;

#[cfg(test)]
mod tests;

pub use frame::{Ack, Frame, Message};
pub use settings::Settings;

use super::check_mtu;
use crate::hop::{Fit, Line, Order, PACKET_BYTES, life, unwrap};
use crate::peer::{self, Change, Peer};
use crate::{Placement, SchemeEntry, Site};
use airtcp_core::packet::SHIM_HEADER;
use airtcp_core::parameters::{ParameterError, Parameters};
use airtcp_core::{
    Backlog, Context, DropReason, Duration, Element, Event, Gauge, Instant, Packet, Peer as PeerId, Port,
};
use alloc::boxed::Box;
use alloc::string::String;
use frame::FRAME_LEN;
pub(crate) use receiver::{Patience, Receiver};
pub(crate) use sender::{START, Sender};

/// Link ARQ's line in the table of schemes.
pub const ENTRY: SchemeEntry = SchemeEntry {
    slug: "arq",
    about: "Both ends of a link send lost packets again, whatever they carry (selective repeat)",
    source: "RFC 3366; SPEC R-15",
    placement: Placement::BothEnds,
    keeps_end_to_end: true,
    fields: || Settings::default().fields(),
    make,
};

fn make(settings: &[(String, String)], site: &mut Site<'_>) -> Result<Box<dyn Element + Send>, ParameterError> {
    let parsed = Settings::with(settings)?;
    peer::check_distance(parsed.hello, parsed.peer_timeout)?;
    parsed.mtu.map_or(Ok(()), check_mtu)?;
    if parsed.tries == 0 {
        let reason = "0 would send nothing; write 1 for a link without repair".into();
        return Err(ParameterError::BadValue { key: "tries", reason });
    }
    Ok(Box::new(Station::new(&parsed, site)))
}

/// Share of `max_memory` for each use, in sixteenths; the rest is slack for the allocator.
mod share {
    pub const QUEUE: u64 = 3;
    pub const COPIES: u64 = 6;
    pub const HELD: u64 = 5;
}

/// A few packets must always be able to be in the air.
const MIN_WINDOW: u64 = 16 * 1024;

/// One end of the link.
#[derive(Debug)]
pub struct Station {
    line: Line,
    sender: Sender,
    receiver: Receiver,
    peer: Peer,
    fit: Fit,
    ack_delay: Option<Duration>,
    hold: Option<Duration>,
}

impl Station {
    /// The element for one end of a link.
    pub fn new(settings: &Settings, site: &mut Site<'_>) -> Self {
        let sixteenth = site.max_memory.0 / 16;
        let rate = settings.rate.or(site.link.rate);
        let line = Line::new(rate, settings.queue.or(site.link.queue), sixteenth * share::QUEUE);
        let hello = line.hello_distance(settings.hello);
        let peer = Peer::new(hello, settings.peer_timeout.max(hello * 2), None, site.rng.next_u64());
        let rtt = site.link.round_trip.unwrap_or(Duration::from_millis(500));
        let hold = settings.hold.unwrap_or_else(|| auto_hold(rtt, guard(rtt, &line)));
        let window = settings.window.map_or_else(
            || rate.map_or(u64::MAX, |rate| rate.bytes_in(hold + rtt).saturating_mul(2)),
            |window| window.0,
        );
        let window = window.max(MIN_WINDOW).min(sixteenth * share::COPIES);
        let overhead = SHIM_HEADER + FRAME_LEN as u32;
        Station {
            line,
            sender: Sender::new(life(peer.epoch()), settings.tries, window),
            receiver: Receiver::new(Order::new(settings.in_order, sixteenth * share::HELD), settings.ack_every.max(1)),
            peer,
            fit: Fit::new(settings.mtu, &site.link, [overhead; 2]),
            ack_delay: settings.ack_delay,
            hold: settings.hold,
        }
    }

    fn patience(&self) -> Patience {
        let rtt = self.peer.rtt();
        Patience {
            ack_delay: self.ack_delay.unwrap_or_else(|| (rtt / 2).max(Duration::from_millis(1))),
            hold: self.hold.unwrap_or_else(|| auto_hold(rtt, guard(rtt, &self.line))),
        }
    }

    /// Time without an acknowledgment after which a transmission counts as lost: one acknowledgment
    /// may be lost and the next be late.
    fn acknowledged_within(&self) -> Duration {
        let rtt = self.peer.rtt();
        rtt + self.patience().ack_delay * 2 + guard(rtt, &self.line)
    }

    /// Sends what may leave: repairs first.
    fn send_due(&mut self, cx: &mut Context<'_>) {
        while self.line.is_free(cx.now()) {
            let sent = if self.sender.has_lost() {
                self.send_repair(cx)
            } else if self.sender.has_window() || !self.peer.in_reach() {
                self.send_new(cx)
            } else {
                None
            };
            if sent.is_none() {
                break;
            }
        }
    }

    fn send_repair(&mut self, cx: &mut Context<'_>) -> Option<()> {
        let (mut packet, frame) = self.sender.repair(cx)?;
        packet.push_shim(&frame.encode());
        match self.line.send(cx, packet) {
            Ok(()) => {
                cx.emit(Event::Repair);
                self.sender.on_repaired(cx.now());
                Some(())
            }
            // It is made again when there is room.
            Err(packet) => {
                cx.discard(packet, DropReason::QueueFull);
                None
            }
        }
    }

    fn send_new(&mut self, cx: &mut Context<'_>) -> Option<()> {
        let packet = self.line.pop()?;
        let mut framed = packet.clone();
        let frame = self.sender.next_frame().encode();
        let is_framed = self.peer.in_reach() && self.fit.push_shim(cx, &mut framed, &frame);
        if self.line.send(cx, framed).is_err() {
            self.line.unpop(packet);
            return None;
        }
        if is_framed {
            self.sender.on_sent(packet, cx.now());
        }
        Some(())
    }

    /// A packet off the link.
    fn receive(&mut self, cx: &mut Context<'_>, packet: Packet) {
        let Some((frame, packet)) = unwrap(cx, packet, Frame::decode) else { return };
        // A frame of a life that is over says nothing about this one.
        let Some(frame) = frame.filter(|frame| self.peer.other_epoch().map(life) == Some(frame.life)) else {
            return cx.send(Port::INNER, packet);
        };
        let patience = self.patience();
        if let Some(ack) = self.receiver.on_frame(cx, &frame, packet, &patience) {
            self.line.tell(cx, &Message::Ack(ack).encode());
        }
    }

    /// What was given up must not be waited for. If the message is lost, the next frame says it.
    fn tell_oldest(&mut self, cx: &mut Context<'_>) {
        if let Some((life, oldest)) = self.sender.take_oldest() {
            self.line.tell(cx, &Message::Oldest(life, oldest).encode());
        }
    }

    fn has_sendable(&self) -> bool {
        self.sender.has_lost() || !self.line.is_empty() && (self.sender.has_window() || !self.peer.in_reach())
    }

    fn on_work(&mut self, now: Instant) {
        if !self.has_sendable() {
            self.line.on_idle_end(now);
        }
    }
}

/// A quarter of the round trip covers its jitter; three packet times what a frame waits for.
pub(crate) fn guard(rtt: Duration, line: &Line) -> Duration {
    let packet_time = line.transmission(PACKET_BYTES).min(Duration::from_millis(100));
    (rtt / 4).max(Duration::from_millis(1)) + packet_time * 3
}

pub(crate) fn auto_hold(rtt: Duration, guard: Duration) -> Duration {
    ((rtt + guard) * 4).clamp(Duration::from_millis(50), Duration::from_millis(500))
}

impl Element for Station {
    fn handle_packet(&mut self, cx: &mut Context<'_>, port: Port, mut packet: Packet) {
        if port == Port::LINK {
            return self.receive(cx, packet);
        }
        self.fit.clamp(&mut packet);
        self.on_work(cx.now());
        if let Err(packet) = self.line.push(packet) {
            cx.discard(packet, DropReason::QueueFull);
        }
        self.send_due(cx);
    }

    fn handle_ready(&mut self, cx: &mut Context<'_>, port: Port) {
        if port == Port::LINK {
            self.line.on_ready();
            self.send_due(cx);
        }
    }

    fn handle_control(&mut self, cx: &mut Context<'_>, peer: PeerId, bytes: &[u8]) {
        let message = Message::decode(bytes).filter(|_| peer == PeerId::OTHER_END);
        let Some(message) = message else {
            cx.emit(Event::ControlMalformed);
            return;
        };
        self.peer.on_heard(cx.now());
        match message {
            Message::Hello(hello) => {
                if self.peer.on_hello(cx, &hello) == Change::Restarted {
                    self.receiver.release_all(cx);
                    self.sender.clear();
                }
            }
            Message::Ack(ack) => {
                self.on_work(cx.now());
                self.sender.on_ack(cx, &ack);
                self.tell_oldest(cx);
            }
            Message::Oldest(life, oldest) => self.receiver.on_oldest(cx, life, oldest),
        }
        self.send_due(cx);
    }

    fn handle_timeout(&mut self, cx: &mut Context<'_>) {
        let tick = self.peer.handle_timeout(cx);
        if let Some(hello) = tick.hello {
            self.line.tell(cx, &Message::Hello(hello).encode());
        }
        if tick.fell_silent {
            self.receiver.release_all(cx);
            self.sender.clear();
        }
        self.on_work(cx.now());
        let (patience, within) = (self.patience(), self.acknowledged_within());
        self.sender.handle_timeout(cx, within);
        self.tell_oldest(cx);
        if let Some(ack) = self.receiver.handle_timeout(cx, &patience) {
            self.line.tell(cx, &Message::Ack(ack).encode());
        }
        self.send_due(cx);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let send = if self.has_sendable() { self.line.next_free() } else { None };
        let lost = self.sender.poll_timeout(self.acknowledged_within());
        let receive = self.receiver.poll_timeout(&self.patience());
        [send, lost, receive].into_iter().flatten().chain([self.peer.poll_timeout()]).min()
    }

    fn held(&self) -> Backlog {
        let (queued, held) = (self.line.backlog(), self.receiver.order.held());
        Backlog { packets: queued.packets + held.packets, bytes: queued.bytes + held.bytes }
    }

    fn observe(&self, gauge: &mut dyn FnMut(Gauge, u64)) {
        gauge(Gauge::QueueBytes, self.line.backlog().bytes);
        gauge(Gauge::QueueBytesMax, self.line.bytes_max());
        gauge(Gauge::CacheBytes, self.sender.memory());
        gauge(Gauge::HeldBytes, self.receiver.order.held().bytes);
        gauge(Gauge::HeldBytesMax, self.receiver.order.held_bytes_max());
        gauge(Gauge::MemoryBytes, self.line.backlog().bytes + self.sender.memory() + self.receiver.order.memory());
        gauge(Gauge::LinkRttNs, self.peer.rtt().as_nanos());
        gauge(Gauge::PeerInReach, u64::from(self.peer.in_reach()));
    }

    fn check(&self) -> Result<(), &'static str> {
        self.line.check()?;
        self.sender.check()?;
        self.receiver.order.check()
    }
}
