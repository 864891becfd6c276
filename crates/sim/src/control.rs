//! Control messages between elements as UDP packets of the simulated network.

use crate::address::{self, Family};
use airtcp_core::{CreateReason, Packet, Peer, packet::protocol};
use bytes::{BufMut, Bytes, BytesMut};

/// Bytes in front of a message: UDP header (8), then element (4), peer (1), padding to the 16
/// bytes that the envelope of the live control channel takes.
pub const ENVELOPE: usize = 8 + 16;
/// UDP port of the control channel. Not 4791, where gateways listen: Wireshark takes that for RoCEv2.
pub const CONTROL_PORT: u16 = 47_910;

/// A message from the node `from` to the element with this number at the node `to`.
pub fn packet(from: usize, to: usize, element: u32, peer: Peer, message: &[u8]) -> Packet {
    let mut payload = BytesMut::with_capacity(ENVELOPE + message.len());
    payload.put_u16(CONTROL_PORT);
    payload.put_u16(CONTROL_PORT);
    payload.put_u16((ENVELOPE + message.len()) as u16);
    payload.put_u16(0);
    payload.put_u32(element);
    payload.put_u8(peer.0);
    payload.put_bytes(0, ENVELOPE - payload.len());
    payload.put_slice(message);
    let (source, destination) = (address::of_node(from, Family::V4), address::of_node(to, Family::V4));
    let mut packet = Packet::opaque(source, destination, protocol::UDP, payload.freeze());
    packet.set_origin(CreateReason::CONTROL);
    packet
}

/// True for a message between elements.
#[inline]
pub fn is_control(packet: &Packet) -> bool {
    packet.tcp().is_none() && read_control(packet).is_some()
}

/// The element a control packet is for, the peer it names, and the message.
pub fn read_control(packet: &Packet) -> Option<(usize, Peer, Bytes)> {
    if packet.tcp().is_some() || packet.ip().protocol != protocol::UDP {
        return None;
    }
    let payload = packet.payload_bytes()?;
    let head = payload.get(..ENVELOPE)?;
    if head[..2] != CONTROL_PORT.to_be_bytes() {
        return None;
    }
    let element = u32::from_be_bytes([head[8], head[9], head[10], head[11]]);
    Some((element as usize, Peer(head[12]), payload.slice(ENVELOPE..)))
}
