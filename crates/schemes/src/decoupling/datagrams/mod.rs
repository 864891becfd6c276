//! A stream of UDP datagrams without retransmission, over a circuit (DEC-29) or by itself.
//!
//! Over a circuit this is TCP-friendly streaming: the control TCPs set the rate, what is lost stays lost. Greedy, always with
//! a backlog, it is what the circuits of the paper's first experiment carry (DEC-E1, DEC-U21). Without a circuit it is a
//! sender of constant rate, a probe or somebody else's traffic.
//!
//! Each datagram carries its number, so that the receiver counts what is missing and what arrives out of order.

mod settings;
mod sink;
mod source;

pub use settings::{Settings, SourceSettings};
pub use sink::{Received, Sink};
pub use source::Source;

use airtcp_core::{Packet, packet::protocol};
use airtcp_tcp::Endpoint;
use bytes::{Buf, BufMut, BytesMut};

/// UDP header.
const HEADER: usize = 8;
/// The number behind it.
const NUMBER: usize = 8;

/// The `number`-th datagram of a stream as an IP packet of `bytes`; no shorter than what it must hold. The UDP checksum is
/// left out, as it may be: what it would tell, a packet tells itself.
fn datagram(from: Endpoint, to: Endpoint, number: u64, bytes: u32) -> Packet {
    let headers = if from.address.is_ipv4() { 20 } else { 40 };
    let length = (bytes as usize).saturating_sub(headers).max(HEADER + NUMBER).min(usize::from(u16::MAX));
    let mut payload = BytesMut::with_capacity(length);
    payload.put_u16(from.port);
    payload.put_u16(to.port);
    payload.put_u16(length as u16);
    payload.put_u16(0);
    payload.put_u64(number);
    payload.put_bytes(0, length - payload.len());
    Packet::opaque(from.address, to.address, protocol::UDP, payload.freeze())
}

/// Ports, number and user bytes of a datagram.
fn read(packet: &Packet) -> Option<(u16, u16, u64, u64)> {
    if packet.ip().protocol != protocol::UDP || packet.tcp().is_some() {
        return None;
    }
    let mut payload = packet.payload_bytes()?;
    let bytes = payload.len().checked_sub(HEADER)?;
    if bytes < NUMBER {
        return None;
    }
    let (from, to) = (payload.get_u16(), payload.get_u16());
    payload.advance(4);
    Some((from, to, payload.get_u64(), bytes as u64))
}

/// The port a UDP datagram goes to.
pub fn destination_port(packet: &Packet) -> Option<u16> {
    if packet.ip().protocol != protocol::UDP || packet.tcp().is_some() {
        return None;
    }
    let payload = packet.payload_bytes()?;
    Some(u16::from_be_bytes(payload.get(2..4)?.try_into().ok()?))
}
