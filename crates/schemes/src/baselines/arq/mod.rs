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

mod settings;

#[cfg(test)]
mod tests;

pub use crate::selective_repeat::{Ack, Frame, Message};
pub use settings::ArqSettings;

use crate::egress::{Egress, EgressSettings};
use crate::hop::check_mtu;
use crate::hop::{Keep, Order, ShimRoom, incarnation, unwrap};
use crate::peer::{self, Peer};
use crate::selective_repeat::{Exchange, FRAME_LEN, Place, Receiver, Sender, auto_hold, guard};
use crate::{Made, Placement, Reports, SchemeEntry, Site, settings_for};
use airtcp_core::packet::SHIM_HEADER;
use airtcp_core::parameters::ParameterError;
use airtcp_core::{Backlog, ByteSize, Context, Duration, Element, Gauge, Instant, Packet, Peer as PeerId, Port};
use alloc::boxed::Box;

/// Link ARQ's line in the table of schemes.
pub const ENTRY: SchemeEntry = SchemeEntry {
    slug: "arq",
    about: "Both ends of a link retransmit lost packets of any kind (selective repeat)",
    source: "RFC 3366; SPEC R-15",
    placement: Placement::BothEnds,
    keeps_end_to_end: true,
    reports: Reports::NONE,
    settings: || settings_for(make),
};

fn make(settings: &ArqSettings, site: &mut Site<'_>) -> Made {
    peer::check_distance(settings.hello, settings.peer_timeout)?;
    settings.mtu.map_or(Ok(()), check_mtu)?;
    if settings.tries == 0 {
        return Err(ParameterError::bad("tries", "0 would send nothing; write 1 for a link without repair"));
    }
    Ok(Box::new(Station::new(settings, site)))
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
    exchange: Exchange,
    shim_room: ShimRoom,
    /// Round trip of the link as far as it is known beforehand.
    rtt: Duration,
    /// By the rate if there is none.
    configured_window: Option<ByteSize>,
    most_copies: u64,
    /// The largest window so far: the rate, and with it the window, may have fallen since.
    largest_window: u64,
}

impl Station {
    /// The element for one end of a link.
    pub fn new(settings: &ArqSettings, site: &mut Site<'_>) -> Self {
        let sixteenth = site.max_memory.0 / 16;
        let most = sixteenth * share::QUEUE;
        let queue = EgressSettings::within(site, settings.rate, settings.queue.as_ref(), most);
        let egress = Egress::new(queue, site.rng);
        let peer = Peer::new(settings.hello, settings.peer_timeout, None, site.rng.next_u64());
        let overhead = SHIM_HEADER + FRAME_LEN as u32;
        let exchange = Exchange {
            egress,
            sender: Sender::new(incarnation(peer.epoch()), settings.tries),
            receiver: Receiver::new(
                Order::new(Keep::all_if(settings.in_order), sixteenth * share::HELD),
                settings.ack_every.max(1),
            ),
            peer,
            ack_delay: settings.ack_delay,
            hold: settings.hold,
            acknowledges: true,
        };
        Station {
            exchange,
            shim_room: ShimRoom::new(settings.mtu, &site.link, [overhead; 2]),
            rtt: site.link.round_trip.unwrap_or(Duration::from_millis(500)),
            configured_window: settings.window,
            most_copies: sixteenth * share::COPIES,
            largest_window: 0,
        }
    }

    /// Memory of copies that may be kept: what leaves, at the present rate, in the time until a loss is repaired.
    fn window(&self) -> u64 {
        let Exchange { egress, hold, .. } = &self.exchange;
        let hold = hold.unwrap_or_else(|| auto_hold(self.rtt, guard(self.rtt, egress)));
        let auto = || egress.twice_in(hold + self.rtt);
        self.configured_window.map_or_else(auto, |window| window.0).max(MIN_WINDOW).min(self.most_copies)
    }

    fn has_window(&self) -> bool {
        self.exchange.sender.has_window(self.window())
    }

    /// Sends what may leave: repairs first.
    fn send_due(&mut self, cx: &mut Context<'_>) {
        while self.exchange.egress.is_free(cx.now()) {
            let sent = if self.exchange.sender.has_lost() {
                self.exchange.send_repair(cx, with_frame)
            } else if self.has_window() || !self.exchange.peer.in_reach() {
                self.send_new(cx)
            } else {
                None
            };
            if sent.is_none() {
                break;
            }
        }
        self.exchange.egress.discard_dropped(cx);
    }

    fn send_new(&mut self, cx: &mut Context<'_>) -> Option<()> {
        let Exchange { egress, sender, peer, .. } = &mut self.exchange;
        let departure = egress.pop(cx)?;
        let mut framed = departure.packet.clone();
        let frame = sender.next_frame(Place::default()).encode();
        let is_framed = peer.in_reach() && self.shim_room.push_shim(cx, &mut framed, &frame);
        if egress.send(cx, framed).is_err() {
            egress.put_back(departure);
            return None;
        }
        if is_framed {
            sender.on_sent(departure.packet, Place::default(), cx.now());
            self.largest_window = self.largest_window.max(self.window());
        }
        Some(())
    }

    /// A packet off the link.
    fn receive(&mut self, cx: &mut Context<'_>, packet: Packet) {
        let Some((frame, mut packet)) = unwrap(cx, packet, Frame::decode) else { return };
        self.shim_room.clamp(&mut packet);
        // A frame of an earlier incarnation of the other end says nothing about the present one.
        match frame.filter(|frame| self.exchange.peer.other_epoch().map(incarnation) == Some(frame.incarnation)) {
            Some(frame) => self.exchange.on_frame(cx, &frame, packet),
            None => cx.send(Port::INNER, packet),
        }
    }

    fn has_sendable(&self) -> bool {
        let Exchange { egress, sender, peer, .. } = &self.exchange;
        sender.has_lost() || !egress.is_empty() && (self.has_window() || !peer.in_reach())
    }
}

fn with_frame(mut packet: Packet, frame: &Frame) -> Packet {
    packet.push_shim(&frame.encode());
    packet
}

impl Element for Station {
    fn handle_packet(&mut self, cx: &mut Context<'_>, port: Port, mut packet: Packet) {
        if port == Port::LINK {
            return self.receive(cx, packet);
        }
        self.shim_room.clamp(&mut packet);
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
            self.exchange.reset(cx);
        }
        self.send_due(cx);
    }

    fn handle_timeout(&mut self, cx: &mut Context<'_>) {
        if self.exchange.handle_peer_timeout(cx) {
            self.exchange.reset(cx);
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
        self.exchange.observe(gauge);
    }

    fn check(&self) -> Result<(), &'static str> {
        self.exchange.check(self.largest_window)
    }
}
