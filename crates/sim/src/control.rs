//! Control messages between elements as UDP packets of the simulated network, of the same layout and size as live.

use crate::address::{self, Family};
use crate::index::{ElementId, NodeId};
use airtcp_core::control::{HEADER_LEN, Header, UDP_HEADER_LEN};
use airtcp_core::{CreateReason, Packet, packet::protocol};
use bytes::{BufMut, Bytes, BytesMut};

/// UDP port of the control channel. Not 4791, where gateways listen: Wireshark takes that for RoCEv2.
const CONTROL_PORT: u16 = 47_910;
/// Where in a datagram the message begins.
const MESSAGE_AT: usize = UDP_HEADER_LEN + HEADER_LEN;

/// A message from the node `from` to the element with this number at the node `to`.
pub fn packet(from: NodeId, to: NodeId, element: ElementId, message: &[u8]) -> Packet {
    let header = Header { scheme: usize::from(element) as u32, ..Header::default() };
    let mut datagram = BytesMut::with_capacity(MESSAGE_AT + message.len());
    datagram.put_u16(CONTROL_PORT);
    datagram.put_u16(CONTROL_PORT);
    datagram.put_u16((MESSAGE_AT + message.len()) as u16);
    datagram.put_u16(0);
    datagram.put_slice(&header.encode());
    datagram.put_slice(message);
    let (source, destination) = (address::of_node(from, Family::V4), address::of_node(to, Family::V4));
    let mut packet = Packet::opaque(source, destination, protocol::UDP, datagram.freeze());
    packet.set_origin(CreateReason::CONTROL);
    packet
}

/// True for a message between elements.
#[inline]
pub fn is_control(packet: &Packet) -> bool {
    packet.tcp().is_none() && read_control(packet).is_some()
}

/// The element a control packet is for, and the message.
pub fn read_control(packet: &Packet) -> Option<(ElementId, Bytes)> {
    if packet.tcp().is_some() || packet.ip().protocol != protocol::UDP {
        return None;
    }
    let datagram = packet.payload_bytes()?;
    if !datagram.starts_with(&CONTROL_PORT.to_be_bytes()) {
        return None;
    }
    let header = Header::decode(datagram.get(UDP_HEADER_LEN..)?).ok()?;
    Some((ElementId::from(header.scheme as usize), datagram.slice(MESSAGE_AT..)))
}
