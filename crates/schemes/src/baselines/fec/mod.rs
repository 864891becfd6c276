//! Link FEC (SPEC R-15; RFC 5052, RFC 5510): behind every block of packets, TCP or not, the near
//! end of a link sends redundant ones, and the far end computes what was lost.
//!
//! The code is Reed-Solomon over GF(256), systematic: packets leave at once as they are, with a
//! shim, and r code packets follow each block of k; any r losses among the k + r are repaired. A
//! block is closed when it is full or its first packet has waited long enough. No packet is asked
//! for, so a repair takes no round trip; the price is that the redundancy is always paid.
//!
//! Differs from a radio's own code: it works on whole packets, from outside the radio, and r
//! follows the loss that the far end reports unless it is fixed. The queue before the link is part
//! of it, so that congestion drops are not repaired and hosts still hear of them. What is computed
//! late is put in its place: packets behind a gap wait for their block.

mod decoder;
mod encoder;
pub mod events;
mod frame;
mod redundancy;
mod settings;
pub(super) mod symbol;

#[cfg(test)]
mod tests;

pub use frame::{Frame, Kind, Message, Report};
pub use settings::FecSettings;

use crate::egress::{Egress, EgressSettings};
use crate::hop::check_mtu;
use crate::hop::{self, Keep, Order, PACKET_BYTES, ShimRoom, hello_share, incarnation, tell, unwrap};
use crate::peer::{self, Change, Peer};
use crate::{Made, Placement, Reports, SchemeEntry, Site, settings_for};
use airtcp_core::parameters::ParameterError;
use airtcp_core::{Backlog, Context, Duration, Element, Gauge, Instant, Packet, Peer as PeerId, Port};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use decoder::Decoder;
use encoder::Encoder;
use redundancy::Redundancy;

/// Link FEC's line in the table of schemes.
pub const ENTRY: SchemeEntry = SchemeEntry {
    slug: "fec",
    about: "Redundant packets behind every block let the far end of a link restore lost packets",
    source: "RFC 5052, RFC 5510; SPEC R-15",
    placement: Placement::BothEnds,
    keeps_end_to_end: true,
    reports: Reports { events: events::EVENTS, gauges: &[] },
    settings: || settings_for(make),
};

/// Longest block, so that as much redundancy fits into the code.
const MAX_K: u8 = 128;

fn make(settings: &FecSettings, site: &mut Site<'_>) -> Made {
    peer::check_distance(settings.hello, settings.peer_timeout)?;
    settings.mtu.map_or(Ok(()), check_mtu)?;
    if settings.k == 0 || settings.k > MAX_K {
        return Err(ParameterError::bad("k", "a block has 1 to 128 packets; write 32 if in doubt"));
    }
    if settings.r.is_some_and(|r| r == 0 || r > 127) {
        return Err(ParameterError::bad("r", "a block has 1 to 127 code packets; leave it at auto if in doubt"));
    }
    Ok(Box::new(Station::new(settings, site)))
}

/// Share of `max_memory` for each use, in sixteenths; blocks take what is left.
mod share {
    pub const QUEUE: u64 = 4;
    pub const HELD: u64 = 6;
}

/// One end of the link.
#[derive(Debug)]
pub struct Station {
    egress: Egress,
    /// Code packets on their way out, ahead of the next block.
    codes: VecDeque<Packet>,
    encoder: Encoder,
    decoder: Decoder,
    peer: Peer,
    shim_room: ShimRoom,
    /// By the time that a packet takes, if none.
    timeout: Option<Duration>,
    /// By the time of a block on the link, if none.
    hold: Option<Duration>,
    /// Packets in a block.
    k: u8,
}

impl Station {
    /// The element for one end of a link.
    pub fn new(settings: &FecSettings, site: &mut Site<'_>) -> Self {
        let sixteenth = site.max_memory.0 / 16;
        let most = sixteenth * share::QUEUE;
        let queue = EgressSettings::within(site, settings.rate, settings.queue.as_ref(), most);
        let egress = Egress::new(queue, site.rng);
        let peer = Peer::new(settings.hello, settings.peer_timeout, None, site.rng.next_u64());
        Station {
            egress,
            codes: VecDeque::new(),
            encoder: Encoder::new(incarnation(peer.epoch()), settings.k, Redundancy::new(settings.r)),
            decoder: Decoder::new(Order::new(Keep::all_if(settings.in_order), sixteenth * share::HELD)),
            peer,
            shim_room: ShimRoom::new(settings.mtu, &site.link, encoder::OVERHEAD),
            timeout: settings.timeout,
            hold: settings.hold,
            k: settings.k,
        }
    }

    fn packet_time(&self) -> Duration {
        self.egress.transmission(PACKET_BYTES).min(Duration::from_millis(100))
    }

    /// How long a block stays open for more packets.
    fn timeout(&self) -> Duration {
        let auto = || (self.packet_time() * 4).clamp(Duration::from_millis(5), Duration::from_millis(50));
        self.timeout.unwrap_or_else(auto)
    }

    /// How long what came waits for a gap before it.
    fn hold(&self) -> Duration {
        let auto = || self.packet_time() * (2 * u64::from(self.k)) + Duration::from_millis(50);
        self.hold.unwrap_or_else(auto)
    }

    /// Sends what may leave: the code packets of a block before the next block.
    fn send_due(&mut self, cx: &mut Context<'_>) {
        while self.egress.is_free(cx.now()) {
            let sent = if self.codes.is_empty() { self.send_new(cx) } else { self.send_code(cx) };
            if sent.is_none() {
                break;
            }
        }
        self.egress.discard_dropped(cx);
    }

    fn send_code(&mut self, cx: &mut Context<'_>) -> Option<()> {
        let code = self.codes.pop_front()?;
        match self.egress.send(cx, code) {
            Ok(()) => {
                cx.emit(events::CODE);
                Some(())
            }
            Err(code) => {
                self.codes.push_front(code);
                None
            }
        }
    }

    fn send_new(&mut self, cx: &mut Context<'_>) -> Option<()> {
        let departure = self.egress.pop(cx)?;
        let mut framed = departure.packet.clone();
        let frame = self.encoder.next_frame(&departure.packet).encode();
        let is_framed = self.peer.in_reach() && self.shim_room.push_shim(cx, &mut framed, &frame);
        if self.egress.send(cx, framed).is_err() {
            self.egress.put_back(departure);
            return None;
        }
        if is_framed && self.encoder.on_sent(&departure.packet, cx.now()) {
            self.close_block(cx);
        }
        Some(())
    }

    fn close_block(&mut self, cx: &mut Context<'_>) {
        for code in self.encoder.close() {
            self.codes.push_back(cx.create(code, events::PARITY));
        }
    }

    /// A packet off the link.
    fn receive(&mut self, cx: &mut Context<'_>, packet: Packet) {
        let Some((frame, packet)) = unwrap(cx, packet, Frame::decode) else { return };
        let is_current = |frame: &Frame| self.peer.other_epoch().map(incarnation) == Some(frame.incarnation);
        match frame {
            Some(frame) if is_current(&frame) => self.decoder.on_frame(cx, &frame, packet),
            // Redundancy of an earlier incarnation of the other end repairs nothing any more.
            Some(Frame { kind: Kind::Code { .. }, .. }) => cx.consume(packet),
            _ => cx.send(Port::INNER, packet),
        }
    }

    fn has_sendable(&self) -> bool {
        !self.egress.is_empty() || !self.codes.is_empty()
    }

    fn on_work(&mut self, now: Instant) {
        if !self.has_sendable() {
            self.egress.begin(now);
        }
    }

    /// When the block that is open has waited long enough. While packets wait for the link they
    /// fill it soon enough, and redundancy would take their place.
    fn block_due(&self) -> Option<Instant> {
        self.encoder.opened_at().filter(|_| self.egress.is_empty()).map(|opened| opened + self.timeout())
    }
}

impl Element for Station {
    fn handle_packet(&mut self, cx: &mut Context<'_>, port: Port, mut packet: Packet) {
        if port == Port::LINK {
            return self.receive(cx, packet);
        }
        self.shim_room.clamp(&mut packet);
        self.on_work(cx.now());
        self.egress.enqueue(cx, packet);
        self.egress.discard_dropped(cx);
        self.send_due(cx);
    }

    fn handle_ready(&mut self, cx: &mut Context<'_>, port: Port) {
        if port == Port::LINK {
            self.egress.on_ready();
            self.send_due(cx);
        }
    }

    fn handle_control(&mut self, cx: &mut Context<'_>, peer: PeerId, bytes: &[u8]) {
        let Some(message) = self.peer.hear(cx, peer, bytes, Message::decode) else { return };
        match message {
            Message::Hello(hello) => {
                if self.peer.on_hello(cx, &hello) == Change::Restarted {
                    self.decoder.release_all(cx);
                }
            }
            Message::Report(report) if report.incarnation == self.encoder.incarnation() => {
                let next = self.encoder.next_sequence();
                self.encoder.redundancy.on_report(&report, next);
            }
            Message::Report(_) => {}
        }
    }

    fn handle_timeout(&mut self, cx: &mut Context<'_>) {
        self.peer.keep_distance(hello_share(&self.egress));
        let tick = self.peer.handle_timeout(cx);
        if let Some(hello) = tick.hello {
            tell(cx, &mut self.egress, &Message::Hello(hello).encode());
            if let Some(report) = self.decoder.report() {
                tell(cx, &mut self.egress, &Message::Report(report).encode());
            }
        }
        if tick.fell_silent {
            self.decoder.release_all(cx);
            self.encoder.clear();
        }
        if self.block_due().is_some_and(|due| due <= cx.now()) {
            self.on_work(cx.now());
            self.close_block(cx);
        }
        let hold = self.hold();
        self.decoder.order.handle_timeout(cx, hold);
        self.send_due(cx);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let send = if self.has_sendable() { self.egress.next_free() } else { None };
        let gap = self.decoder.order.poll_timeout(self.hold());
        [send, gap, self.block_due()].into_iter().flatten().chain([self.peer.poll_timeout()]).min()
    }

    fn held(&self) -> Backlog {
        let codes = self.codes.iter().map(|code| u64::from(code.wire_len())).sum();
        let codes = Backlog { packets: self.codes.len(), bytes: codes };
        self.egress.backlog() + self.decoder.order.held.waiting + codes
    }

    fn observe(&self, gauge: &mut dyn FnMut(Gauge, u64)) {
        let held = &self.decoder.order.held;
        let blocks = self.encoder.memory() + self.decoder.memory();
        gauge(Gauge::CACHE_BYTES, blocks);
        gauge(Gauge::MEMORY_BYTES, self.egress.backlog().bytes + blocks + held.memory);
        hop::observe(gauge, &self.egress, held, &self.peer);
    }

    fn check(&self) -> Result<(), &'static str> {
        self.egress.check()?;
        self.encoder.check()?;
        self.decoder.check()
    }
}
