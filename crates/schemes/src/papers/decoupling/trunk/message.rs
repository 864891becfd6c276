//! Messages between the two ends of a trunk: a byte that says what it is, then a HELLO, the TCP header of a control
//! TCP's segment, or a packet that the trunk carries. Segments have no payload, and no addresses: they are between the two
//! ends.
//!
//! ```text
//!  0      1
//!  | kind | HELLO (32 bytes), TCP header with options (20 to 60 bytes), or IP packet |
//! ```

use crate::peer::Hello;
use airtcp_core::{Context, DropReason, Packet, Peer as PeerId};
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr};

/// Where the circuit of such a trunk says it begins and ends: addresses that nobody has (RFC 5737).
pub(super) const NEAR: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
pub(super) const FAR: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2));

const TCP_HEADER_MAX: usize = 60;

/// Which way a segment of a control TCP goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// From the circuit to its far end: header packets.
    Out,
    /// Back: acknowledgments.
    Back,
}

/// One message.
#[derive(Debug)]
pub(super) enum Message {
    Hello(Hello),
    Segment(Way, Packet),
    Data(Packet),
}

mod kind {
    pub const HELLO: u8 = 0;
    pub const OUT: u8 = 1;
    pub const BACK: u8 = 2;
    pub const DATA: u8 = 3;
}

/// Bytes of a message before what it holds.
pub(super) const KIND: u32 = 1;

/// A HELLO as it stands on the wire.
pub(super) fn encode_hello(hello: &Hello) -> Vec<u8> {
    let mut bytes = Vec::from([kind::HELLO]);
    hello.write(&mut bytes);
    bytes
}

/// A segment of a control TCP as it stands on the wire.
pub(super) fn encode_segment(way: Way, segment: &Packet) -> Vec<u8> {
    let kind = if way == Way::Out { kind::OUT } else { kind::BACK };
    let mut bytes = Vec::with_capacity(1 + TCP_HEADER_MAX);
    bytes.push(kind);
    segment.write_transport(&mut bytes);
    bytes
}

/// Reads a message; `None` if it is none.
pub(super) fn decode(bytes: &[u8]) -> Option<Message> {
    let (kind, mut rest) = bytes.split_first()?;
    match *kind {
        kind::HELLO => Hello::read(&mut rest).filter(|_| rest.is_empty()).map(Message::Hello),
        kind::OUT => Packet::parse_bare_segment(NEAR, FAR, rest).map(|segment| Message::Segment(Way::Out, segment)),
        kind::BACK => Packet::parse_bare_segment(FAR, NEAR, rest).map(|segment| Message::Segment(Way::Back, segment)),
        kind::DATA => data(rest).map(Message::Data),
        _ => None,
    }
}

/// A packet, and nothing behind it.
fn data(bytes: &[u8]) -> Option<Packet> {
    Packet::parse(bytes.to_vec().into()).filter(|packet| packet.ip().total_len as usize == bytes.len())
}

/// Sends a segment to the other end as a message. A header packet follows its data (DEC-9), and need not be the next behind
/// them.
pub(super) fn send(cx: &mut Context<'_>, way: Way, segment: &Packet) {
    cx.send_control_late(PeerId::OTHER_END, &encode_segment(way, segment));
}

/// Sends a packet that the trunk carries to the other end; here it ends.
pub(super) fn send_data(cx: &mut Context<'_>, packet: Packet) {
    cx.send_control_parts(PeerId::OTHER_END, [&[kind::DATA], &packet.to_wire()]);
    cx.consume(packet);
}

/// A segment of a control TCP ends here.
pub(super) fn end(cx: &mut Context<'_>, packet: Packet) {
    if packet.checksum_holds() {
        cx.consume(packet);
    } else {
        cx.discard(packet, DropReason::CORRUPTED);
    }
}
