//! A tunnel with forward error correction, as UDPspeeder is one (<https://github.com/wangyu-/UDPspeeder>, V2 in its mode 0, which
//! is its default; tinyfecVPN carries IP packets with the same code): what people run today over links that lose packets.
//!
//! Packets are gathered until they fill a block or the first has waited 8 ms. The block is cut into up to 20 shards of equal
//! length, 10 shards of redundancy are computed (Reed-Solomon), and all leave at once. As many shards as there are of data give
//! back all packets of the block. There is no queue, no rate, no order of packets and no feedback, and the redundancy is always
//! paid.
//!
//! Differs from UDPspeeder: a shard goes the way of the packets that it carries, in a shim of as many bytes as UDPspeeder
//! reckons for its headers, and not between two sockets; while the other end does not answer, packets leave as they came.
//! Mode 1, in which data leave as they come, is the scheme `fec`. docs/baselines-hop.md has a row for each rule.

mod blob;
mod decoder;
mod encoder;
pub mod events;
mod frame;
mod settings;

#[cfg(test)]
mod tests;

pub use frame::Frame;
pub use settings::FecTunnelSettings;

use crate::egress::{Egress, EgressSettings, QueueSize};
use crate::hop::{hello_distance, unwrap};
use crate::peer::{self, Change, Peer};
use crate::{Made, Placement, Reports, SchemeEntry, Site, settings_for};
use airtcp_core::parameters::ParameterError;
use airtcp_core::{Backlog, Context, Element, Event, Gauge, Instant, Packet, Peer as PeerId, Port};
use alloc::boxed::Box;
use decoder::Decoder;
use encoder::Encoder;

/// The FEC tunnel's line in the table of schemes.
pub const ENTRY: SchemeEntry = SchemeEntry {
    slug: "fec-tunnel",
    about: "Blocks of packets cross the link as shards with 50 % redundancy and more, with neither queue nor rate (UDPspeeder)",
    source: "UDPspeeder V2: README, fec_manager.cpp; tinyfecVPN",
    placement: Placement::BothEnds,
    keeps_end_to_end: true,
    reports: Reports { events: events::EVENTS, gauges: &[] },
    settings: || settings_for(make),
};

fn make(settings: &FecTunnelSettings, site: &mut Site<'_>) -> Made {
    peer::check_distance(settings.hello, settings.peer_timeout)?;
    let refused = |key, reason| Err(ParameterError::bad(key, reason));
    if settings.k == 0 || settings.k > 128 {
        return refused("k", "a block has 1 to 128 shards of data; 20 is usual");
    }
    if settings.r == 0 || settings.r > 127 {
        return refused("r", "a block has 1 to 127 shards of redundancy; 10 is usual");
    }
    if !(100..=2000).contains(&settings.mtu) {
        return refused("mtu", "a shard has 100 to 2000 bytes; 1250 is usual");
    }
    if settings.queue_len == 0 || settings.queue_len > 10_000 {
        return refused("queue_len", "a block has 1 to 10000 packets; 200 is usual");
    }
    if !(256..=10_000).contains(&settings.decode_buf) {
        return refused("decode_buf", "the far end keeps 256 to 10000 shards; 2000 is usual");
    }
    Ok(Box::new(Tunnel::new(settings, site)))
}

/// Share of `max_memory` for each use, in quarters.
mod share {
    pub const BLOCK: u64 = 1;
    pub const SHARDS: u64 = 2;
    pub const SOCKET: u64 = 1;
}

/// One end of the link.
#[derive(Debug)]
pub struct Tunnel {
    encoder: Encoder,
    /// Has no rate: what is in it waits for the link to take it.
    socket: Egress,
    decoder: Decoder,
    peer: Peer,
}

impl Tunnel {
    /// The element for one end of a link.
    pub fn new(settings: &FecTunnelSettings, site: &mut Site<'_>) -> Self {
        let quarter = site.max_memory.0 / 4;
        let mut peer = Peer::new(settings.hello, settings.peer_timeout, None, site.rng.next_u64());
        peer.keep_distance(hello_distance(site.link.rate));
        let socket = QueueSize::bytes(settings.sock_buf.0.min(quarter * share::SOCKET));
        Tunnel {
            socket: Egress::new(EgressSettings::new(None, socket), site.rng),
            encoder: Encoder::new(settings, &site.link, peer.epoch(), quarter * share::BLOCK),
            decoder: Decoder::new(settings.decode_buf as usize, quarter * share::SHARDS),
            peer,
        }
    }

    /// Sends the block that is open.
    fn close_block(&mut self, cx: &mut Context<'_>) {
        let shards = self.encoder.shards();
        let packets = self.encoder.take();
        let Some(shards) = shards else {
            packets.into_iter().for_each(|packet| self.pass_unprotected(cx, packet));
            return;
        };
        packets.into_iter().for_each(|packet| cx.consume(packet));
        for shard in shards {
            let shard = cx.create(shard, events::PART);
            cx.emit(events::SHARD);
            self.socket.push(cx, shard);
        }
        self.send_due(cx);
    }

    /// Sends what the link takes.
    fn send_due(&mut self, cx: &mut Context<'_>) {
        while self.socket.send_next(cx).is_some() {}
        self.socket.discard_dropped(cx);
    }

    /// A packet leaves as it came.
    fn pass(&mut self, cx: &mut Context<'_>, packet: Packet) {
        self.socket.push(cx, packet);
        self.send_due(cx);
    }

    /// The same for one that no block has room for.
    fn pass_unprotected(&mut self, cx: &mut Context<'_>, packet: Packet) {
        cx.emit(Event::UNPROTECTED);
        self.pass(cx, packet);
    }

    fn take(&mut self, cx: &mut Context<'_>, packet: Packet) {
        if !self.encoder.has_room(&packet) {
            self.close_block(cx);
            if !self.encoder.has_room(&packet) {
                return self.pass_unprotected(cx, packet);
            }
        }
        if self.encoder.push(cx.now(), packet) {
            self.close_block(cx);
        }
    }

    /// A packet off the link.
    fn receive(&mut self, cx: &mut Context<'_>, packet: Packet) {
        let Some((frame, packet)) = unwrap(cx, packet, Frame::decode) else { return };
        match frame {
            Some(frame) if self.peer.other_epoch() == Some(frame.stream) => self.decoder.on_shard(cx, &frame, packet),
            // Of an earlier life of the other end, or of one that was not heard yet.
            Some(_) => cx.consume(packet),
            None => cx.send(Port::INNER, packet),
        }
    }
}

impl Element for Tunnel {
    fn handle_packet(&mut self, cx: &mut Context<'_>, port: Port, packet: Packet) {
        match port {
            Port::LINK => self.receive(cx, packet),
            _ if self.peer.in_reach() => self.take(cx, packet),
            _ => self.pass(cx, packet),
        }
    }

    fn handle_ready(&mut self, cx: &mut Context<'_>, port: Port) {
        if port == Port::LINK {
            self.socket.on_ready();
            self.send_due(cx);
        }
    }

    fn handle_control(&mut self, cx: &mut Context<'_>, peer: PeerId, bytes: &[u8]) {
        let Some(hello) = self.peer.hear(cx, peer, bytes, frame::decode_hello) else { return };
        if self.peer.on_hello(cx, &hello) == Change::Restarted {
            self.decoder.clear();
        }
    }

    fn handle_timeout(&mut self, cx: &mut Context<'_>) {
        let tick = self.peer.handle_timeout(cx);
        if let Some(hello) = tick.hello {
            cx.send_control(PeerId::OTHER_END, &frame::encode_hello(&hello));
        }
        if tick.fell_silent {
            // Shards stay: on a slow link a block takes longer than a HELLO may, and without them none would ever be complete.
            self.encoder.clear().into_iter().for_each(|packet| self.pass(cx, packet));
        }
        if self.encoder.poll_timeout().is_some_and(|due| due <= cx.now()) {
            self.close_block(cx);
        }
        self.send_due(cx);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let due = [self.encoder.poll_timeout(), self.socket.poll_timeout()];
        due.into_iter().flatten().chain([self.peer.poll_timeout()]).min()
    }

    fn held(&self) -> Backlog {
        self.encoder.waiting.waiting + self.socket.backlog()
    }

    fn observe(&self, gauge: &mut dyn FnMut(Gauge, u64)) {
        let waiting = &self.encoder.waiting;
        let queued = self.socket.backlog().bytes;
        gauge(Gauge::QUEUE_BYTES, queued);
        gauge(Gauge::QUEUE_BYTES_MAX, self.socket.bytes_max());
        gauge(Gauge::HELD_BYTES, waiting.waiting.bytes);
        gauge(Gauge::HELD_BYTES_MAX, waiting.bytes_max);
        gauge(Gauge::CACHE_BYTES, self.decoder.memory());
        gauge(Gauge::MEMORY_BYTES, waiting.memory + queued + self.decoder.memory());
        gauge(Gauge::LINK_RTT_NS, self.peer.rtt().as_nanos());
        gauge(Gauge::PEER_IN_REACH, u64::from(self.peer.in_reach()));
    }

    fn check(&self) -> Result<(), &'static str> {
        self.socket.check()?;
        self.decoder.check()
    }
}
