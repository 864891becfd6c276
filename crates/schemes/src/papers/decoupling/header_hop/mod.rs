//! A wireless hop that helps header packets of TCP Decoupling, and nothing else (Wang and Kung, section 10).
//!
//! What the air loses of a circuit's header packets sets the rate of its data, so everything that makes fewer of them
//! go missing makes all of it faster. Both ends of a link:
//!
//! - compress them (DEC-41): a shorter packet meets fewer bit errors. Consecutive headers differ by VMSS in their sequence
//!   number, so 40 bytes become 3, and 52 become 15 or, with the timestamps' low bits, 7. As in RFC 1144 the TCP checksum of
//!   the original is carried and finds what was restored wrongly; each connection has a context, of which a bounded
//!   number is kept.
//! - guess what was lost when a checksum fails, *twice* (DEC-42).
//! - repair them (DEC-43): each carries earlier ones again (FEC), or is sent again until it is acknowledged (ARQ, with
//!   the machinery of link ARQ, `selective_repeat`).
//!
//! Header packets are known by their DSCP (DEC-12) and lack of payload; with `acks` also the acknowledgments that
//! come back for them. Everything else passes untouched, and so does a header packet that its own fields do not make
//! again to the last bit.
//!
//! Order (DEC-13): a header packet stays behind its data and the headers before it. With ARQ it may come later, with the
//! headers after it waiting up to `hold` for it, while data go on. Data are never held and nothing overtakes its data.
//!
//! With FEC or ARQ the queue before the link is part of the element: a header that a queue behind it dropped would be
//! repaired, and congestion hidden from the control TCP.

mod body;
mod carrier;
mod compress;
mod context;
mod decompress;
pub mod events;
mod settings;

#[cfg(test)]
mod random_operations_tests;
#[cfg(test)]
mod tests;

pub use body::{Body, Changes, Stamps};
pub use carrier::Repairable;
pub use context::Steps;
pub use settings::{Compress, HeaderHopSettings};

use crate::egress::{Egress, EgressSettings, QueueSize};
use crate::hop::{Keep, Order, PACKET_BYTES, Part, hello_share, incarnation};
use crate::peer::{self, Peer};
use crate::selective_repeat::{Exchange, Frame, Place, Receiver, START, Sender};
use crate::{Made, Placement, Reports, SchemeEntry, Site, settings_for};
use airtcp_core::{
    Backlog, Context, CreateReason, DropReason, Element, Event, Gauge, Instant, Packet, Peer as PeerId, Port, SeqNum,
    TcpFlags,
};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use bytes::Bytes;
use carrier::{carrier, content, with_content};
use compress::Compressor;
use decompress::Decompressor;

/// The line of the header hop in the table of schemes.
pub const ENTRY: SchemeEntry = SchemeEntry {
    slug: "header-hop",
    about: "Both ends of a link compress and repair the header packets of TCP Decoupling",
    source: "Wang and Kung, section 10; DEC-41 to DEC-43; RFC 1144",
    placement: Placement::BothEnds,
    keeps_end_to_end: true,
    reports: Reports { events: events::EVENTS, gauges: &[] },
    settings: || settings_for(make),
};

fn make(settings: &HeaderHopSettings, site: &mut Site<'_>) -> Made {
    peer::check_distance(settings.hello, settings.peer_timeout)?;
    settings.check()?;
    Ok(Box::new(Station::new(settings, site)))
}

/// Share of `max_memory` for each use, in sixteenths; the rest is slack for the allocator.
mod share {
    pub const QUEUE: u64 = 6;
    pub const COPIES: u64 = 3;
    pub const HELD: u64 = 3;
}

/// Headers after which an acknowledgment is sent at once.
const ACK_EVERY: u16 = 8;

/// One end of the link.
#[derive(Debug)]
pub struct Station {
    settings: HeaderHopSettings,
    exchange: Exchange<Decompressor>,
    compressor: Compressor,
    /// What the next header's frame says, without ARQ.
    next: Frame,
    /// The latest bodies, the last one first, for FEC.
    recent: VecDeque<Bytes>,
    /// The latest frame of the other end's present incarnation.
    last: Option<Frame>,
    /// Bound on the memory of copies for ARQ.
    most_copies: u64,
}

impl Station {
    /// The element for one end of a link.
    pub fn new(settings: &HeaderHopSettings, site: &mut Site<'_>) -> Self {
        let sixteenth = site.max_memory.0 / 16;
        let most = sixteenth * share::QUEUE;
        let EgressSettings { rate, queue, .. } =
            EgressSettings::within(site, settings.rate, settings.queue.as_ref(), most);
        let max_bytes = queue.limit(rate).bytes(PACKET_BYTES).min(most.max(u64::from(PACKET_BYTES) * 2));
        let counted = site.link.queue_packets.filter(|_| settings.queue.is_none());
        let queue = counted.map_or(queue, QueueSize::packets);
        let mut egress = Egress::new(EgressSettings { max_bytes, ..EgressSettings::new(rate, queue) }, site.rng);
        let mut hello = settings.hello;
        if !settings.repairs() {
            // HELLOs keep their distance on a slow link, whoever has the queue.
            hello = hello.max(hello_share(&egress));
            // What the link takes leaves at once, and only what it refuses waits.
            egress.set_rate(None);
        }
        let peer = Peer::new(hello, settings.peer_timeout.max(hello * 2), None, site.rng.next_u64());
        let incarnation = incarnation(peer.epoch());
        let outlet = Decompressor::new(settings);
        let exchange = Exchange {
            egress,
            sender: Sender::new(incarnation, settings.tries),
            receiver: Receiver::new(Order::through(outlet, Keep::All, sixteenth * share::HELD), ACK_EVERY),
            peer,
            ack_delay: None,
            hold: settings.hold,
            acknowledges: settings.tries > 1,
        };
        Station {
            exchange,
            compressor: Compressor::new(settings),
            next: Frame { incarnation, number: START, sequence: START, back: 0, after: 0, part: Part::Whole },
            recent: VecDeque::new(),
            last: None,
            most_copies: sixteenth * share::COPIES,
            settings: settings.clone(),
        }
    }

    fn has_arq(&self) -> bool {
        self.exchange.acknowledges
    }

    /// True for what is helped: header packets, and acknowledgments of those that came from the link.
    fn is_ours(&self, packet: &Packet) -> bool {
        let (Some(tcp), Some(flow)) = (packet.tcp(), packet.flow()) else { return false };
        let begins_or_ends = [TcpFlags::SYN, TcpFlags::FIN, TcpFlags::RST].iter().any(|flag| tcp.flags.0 & flag.0 != 0);
        let is_marked = packet.ip().dscp() == self.settings.dscp;
        let is_ack = || self.settings.acks && self.exchange.receiver.order.outlet.knows(&flow.reversed());
        packet.payload_len() == 0 && !begins_or_ends && !packet.is_corrupted() && (is_marked || is_ack())
    }

    /// Sends what may leave: repairs first.
    fn send_due(&mut self, cx: &mut Context<'_>) {
        while self.exchange.egress.is_free(cx.now()) {
            let sent = if self.exchange.sender.has_lost() {
                self.exchange.send_repair(cx, |copy, frame| {
                    let body = copy.payload_bytes().unwrap_or_default();
                    with_content(&copy, Repairable::of(frame, Vec::new(), body).encode())
                })
            } else {
                self.send_next(cx)
            };
            if sent.is_none() {
                break;
            }
        }
        self.exchange.egress.discard_dropped(cx);
    }

    /// Whether ARQ can keep a copy of one more. Data may not wait for that, so the header goes without help if not.
    fn has_window(&self, cx: &mut Context<'_>) -> bool {
        let has_window = !self.has_arq() || self.exchange.sender.has_window(self.most_copies);
        if !has_window {
            cx.emit(Event::UNPROTECTED);
        }
        has_window
    }

    fn send_next(&mut self, cx: &mut Context<'_>) -> Option<()> {
        let departure = self.exchange.egress.pop(cx)?;
        let packet = &departure.packet;
        // Only what surely leaves may move the contexts on.
        let has_room = cx.room(Port::LINK) > 0;
        let is_helped = has_room && self.exchange.peer.in_reach() && self.is_ours(packet) && self.has_window(cx);
        let body = is_helped.then(|| self.compressor.encode(packet));
        let Some(body) = body.flatten() else {
            return self.exchange.egress.transmit(cx, departure).then_some(());
        };
        cx.emit(if matches!(body, Body::Whole { .. }) { events::HEADER_FULL } else { events::HEADER_COMPRESSED });
        let bare = carrier(packet, body.encode());
        let framed = if self.settings.repairs() { self.protect(cx.now(), &bare) } else { bare };
        if let Err(packet) = self.exchange.egress.send(cx, framed) {
            cx.discard(packet, DropReason::QUEUE_FULL);
        }
        Some(())
    }

    /// Puts what FEC and ARQ need around a body.
    fn protect(&mut self, now: Instant, bare: &Packet) -> Packet {
        let body = bare.payload_bytes().unwrap_or_default();
        let frame = if self.has_arq() {
            let frame = self.exchange.sender.next_frame(Place::default());
            self.exchange.sender.on_sent(bare.clone(), Place::default(), now);
            frame
        } else {
            self.next
        };
        self.next = Frame { number: frame.number + 1, sequence: frame.sequence + 1, ..self.next };
        let earlier: Vec<Bytes> = self.recent.iter().cloned().collect();
        self.recent.push_front(body.clone());
        self.recent.truncate(usize::from(self.settings.copies));
        with_content(bare, Repairable::of(&frame, earlier, body).encode())
    }

    /// A packet off the link.
    fn receive(&mut self, cx: &mut Context<'_>, packet: Packet) {
        let Some(bytes) = content(&packet) else { return cx.send(Port::INNER, packet) };
        let repairable = Repairable::decode(&bytes);
        let is_ours = repairable.is_some() || Body::decode(&bytes).is_some();
        if !is_ours && self.exchange.peer.other_epoch().is_none() {
            // Nobody is there who could have sent a carrier.
            return cx.send(Port::INNER, packet);
        }
        if !is_ours || packet.is_corrupted() {
            cx.emit(Event::CHECKSUM_BAD);
            return cx.discard(packet, DropReason::CORRUPTED);
        }
        let Some(repairable) = repairable else { return self.exchange.receiver.order.outlet.pass_body(cx, packet) };
        // A header of an earlier incarnation of the other end would be taken for one of the present.
        let incarnation = self
            .exchange
            .peer
            .other_epoch()
            .map(incarnation)
            .filter(|incarnation| *incarnation as u8 == repairable.incarnation);
        let Some(incarnation) = incarnation else { return cx.discard(packet, DropReason::DUPLICATE) };
        self.take_in(cx, incarnation, &repairable, &packet);
    }

    fn take_in(&mut self, cx: &mut Context<'_>, incarnation: u16, repairable: &Repairable, packet: &Packet) {
        let last = self.last.filter(|frame| frame.incarnation == incarnation);
        let frame = repairable.frame(incarnation, last.as_ref());
        if last.is_none_or(|last| frame.number.after(last.number)) {
            self.last = Some(frame);
        }
        for (back, earlier) in repairable.earlier.iter().enumerate().rev() {
            let sequence = SeqNum(frame.sequence.0.wrapping_sub(back as u32 + 1));
            self.exchange.receiver.on_recovered(cx, incarnation, sequence, |cx| {
                cx.emit(Event::RECOVERED);
                cx.create(with_content(packet, earlier.to_vec()), CreateReason::RECOVERED)
            });
        }
        self.exchange.on_frame(cx, &frame, with_content(packet, repairable.body.to_vec()));
    }

    /// The other end is gone or forgot everything.
    fn start_anew(&mut self, cx: &mut Context<'_>) {
        self.exchange.reset(cx);
        self.exchange.receiver.order.outlet.reset();
        self.compressor.reset();
        self.recent.clear();
        self.last = None;
    }

    fn has_sendable(&self) -> bool {
        self.exchange.sender.has_lost() || !self.exchange.egress.is_empty()
    }
}

impl Element for Station {
    fn handle_packet(&mut self, cx: &mut Context<'_>, port: Port, packet: Packet) {
        if port == Port::LINK {
            return self.receive(cx, packet);
        }
        self.exchange.on_work(cx.now(), self.has_sendable());
        self.exchange.egress.enqueue(cx, packet);
        self.exchange.egress.discard_dropped(cx);
        self.send_due(cx);
    }

    fn handle_ready(&mut self, cx: &mut Context<'_>, port: Port) {
        if port == Port::LINK {
            self.exchange.egress.on_ready();
            self.send_due(cx);
        }
    }

    fn handle_control(&mut self, cx: &mut Context<'_>, peer: PeerId, bytes: &[u8]) {
        let has_sendable = self.has_sendable();
        if self.exchange.handle_control(cx, peer, bytes, has_sendable) {
            self.start_anew(cx);
        }
        self.send_due(cx);
    }

    fn handle_timeout(&mut self, cx: &mut Context<'_>) {
        if self.exchange.handle_peer_timeout(cx) {
            self.start_anew(cx);
        }
        self.exchange.handle_timeout(cx, self.has_sendable());
        self.send_due(cx);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.exchange.poll_timeout(self.has_sendable())
    }

    fn held(&self) -> Backlog {
        self.exchange.held()
    }

    fn observe(&self, gauge: &mut dyn FnMut(Gauge, u64)) {
        gauge(Gauge::FLOWS, (self.compressor.len() + self.exchange.receiver.order.outlet.len()) as u64);
        self.exchange.observe(gauge);
    }

    fn check(&self) -> Result<(), &'static str> {
        self.exchange.check(self.most_copies)
    }
}
