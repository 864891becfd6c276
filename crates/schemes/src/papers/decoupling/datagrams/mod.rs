//! A stream of UDP datagrams without retransmission, over a circuit (DEC-29) or by itself.
//!
//! Over a circuit this is TCP-friendly streaming: the control TCPs set the rate, what is lost stays lost. Greedy, always with
//! a backlog, it is what the circuits of the paper's first experiment carry (DEC-E1, DEC-U21). Without a circuit it is a
//! sender of constant rate, a probe or somebody else's traffic.
//!
//! Each datagram carries its number and its time ([`crate::socket::datagram`]), so that the receiver counts what is missing
//! and what arrives out of order, and knows how long it took.

mod settings;
mod sink;
mod source;

pub use settings::{SourceSettings, StreamSettings};

use super::counters;
use crate::socket::datagram::{self, Content};
use crate::socket::{FlowEnd, PacketSizes, SocketEntry, SocketSettings, SocketSite};
use airtcp_core::parameters::ParameterError;
use airtcp_core::{Instant, Packet, Rate, packet::protocol};
use airtcp_tcp::{Config, Endpoint};
use alloc::boxed::Box;
use bytes::{Buf, BufMut, BytesMut};
use sink::Sink;
use source::Source;

/// The line of a stream over a circuit in the table of sockets.
pub const STREAMING: SocketEntry = SocketEntry {
    slug: "streaming",
    about: "UDP datagrams over a circuit, nothing sent again: greedy, or at a rate.",
    has_size: false,
    control: "tcp",
    counters: &[
        counters::HEADER_PACKETS,
        counters::HEADERS_RESENT,
        counters::FAST_RETRANSMITS,
        counters::RTOS,
        counters::VIRTUAL_BYTES,
        counters::TUNNEL_DROPS,
        DATAGRAMS,
        DATAGRAMS_LOST,
        DATAGRAMS_MISORDERED,
        DATAGRAMS_REPEATED,
    ],
    settings: || Box::new(StreamSettings::streaming()),
};

/// The line of a stream by itself. It is somebody else's traffic, so it stays in control runs.
pub const DATAGRAM: SocketEntry = SocketEntry {
    slug: "datagram",
    about: "UDP datagrams at a constant rate, without a circuit: a call, or somebody else's traffic.",
    control: "datagram",
    counters: COUNTERS,
    settings: || Box::new(StreamSettings::datagram()),
    ..STREAMING
};

airtcp_core::declare! { Event, COUNTERS:
    /// Datagrams made.
    DATAGRAMS = "datagrams",
    /// Datagrams that did not arrive although later ones have.
    DATAGRAMS_LOST = "datagrams_lost",
    /// Datagrams that arrived after later ones.
    DATAGRAMS_MISORDERED = "datagrams_misordered",
    /// Datagrams that arrived again.
    DATAGRAMS_REPEATED = "datagrams_repeated",
}

impl SocketSettings for StreamSettings {
    fn check(&self) -> Result<(), ParameterError> {
        StreamSettings::check(self)
    }

    fn connect(&self, site: &mut SocketSite<'_>, now: Instant) -> FlowEnd {
        FlowEnd::Other(Box::new(Source::new(self, site, now)))
    }

    fn listen(&self, site: &mut SocketSite<'_>) -> Option<FlowEnd> {
        Some(FlowEnd::Other(Box::new(Sink::new(self, site))))
    }

    fn most(&self) -> Option<Rate> {
        self.source.most()
    }

    fn sizes(&self, _: &Config, is_ipv4: bool) -> PacketSizes {
        let header = if is_ipv4 { 28 } else { 48 };
        PacketSizes { header, payload: self.source.packet - header }
    }
}

/// UDP header.
const HEADER: usize = 8;

/// The `number`-th datagram of a stream, made at `now`, as an IP packet of `bytes`; no shorter than what it must hold. The UDP
/// checksum is left out, as it may be: what it would tell, a packet tells itself.
fn datagram([from, to]: [Endpoint; 2], number: u64, now: Instant, bytes: u32) -> Packet {
    let headers = if from.address.is_ipv4() { 20 } else { 40 };
    let least = HEADER + datagram::LEAST_CONTENT;
    let length = (bytes as usize).saturating_sub(headers).max(least).min(usize::from(u16::MAX));
    let mut payload = BytesMut::with_capacity(length);
    payload.put_u16(from.port);
    payload.put_u16(to.port);
    payload.put_u16(length as u16);
    payload.put_u16(0);
    payload.resize(length, 0);
    datagram::fill(number, now, &mut payload[HEADER..]);
    Packet::opaque(from.address, to.address, protocol::UDP, payload.freeze())
}

/// Ports, content and user bytes of a datagram.
fn read(packet: &Packet) -> Option<(u16, u16, Content, u64)> {
    if packet.ip().protocol != protocol::UDP || packet.tcp().is_some() {
        return None;
    }
    let mut payload = packet.payload_bytes()?;
    let bytes = payload.len().checked_sub(HEADER)?;
    let (from, to) = (payload.get_u16(), payload.get_u16());
    payload.advance(4);
    Some((from, to, Content::read(&payload)?, bytes as u64))
}
