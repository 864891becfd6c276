//! What is in a datagram between two forwarders: a segment of one of a connection's TCPs, as short as it can be written, or
//! a datagram of a stream.
//!
//! ```text
//!  0      1            4        8
//!  | kind | connection | number | body … | tag (8) |
//! ```
//!
//! Big endian. The upper three bits of the kind say what the body is ([`Kind`]), the others which control TCP it is of. The
//! highest bit of the connection says that the sender opened it; so each end numbers those that it opens. Number and tag are
//! the seal's ([`super::seal`]). A datagram that begins with "ATCP", kind 2, is a handshake of the session.
//!
//! Addresses, ports and checksums of the segments are left out: connection and kind say which TCP it is, and the tag covers
//! all of it. Of a header packet (DEC-5) only the sequence number and the sender's clock are left: the acknowledgment that
//! it repeats is what its receiver said in its own SYN. So it has 52 bytes with IPv4, as many as the paper's.

use super::line_key::LineKey;
use airtcp_core::packet::Timestamps;
use airtcp_core::{Packet, Segment, SeqNum, TcpFlags, TcpHeader};
use bytes::{Buf, BufMut, Bytes};
use std::net::{IpAddr, Ipv4Addr};

/// Bytes before the body.
pub const FRONT_LEN: usize = 8;
/// Control TCPs of a circuit that a kind can name.
const CONTROLS_MAX: u16 = 32;

/// Parts of a segment that are written where they say something.
const HAS_ACK: u8 = 1;
const HAS_TIMESTAMPS: u8 = 2;
const HAS_SYN_OPTIONS: u8 = 4;
const SACK_SHIFT: u8 = 4;

/// What a datagram carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A message about the connection: it is over, or that was heard.
    Message,
    /// The data TCP's SYN, behind where the connection is to lead.
    Open,
    /// Another segment of the data TCP.
    Data,
    /// A header packet.
    Header,
    /// Another segment of the end of a control TCP that sends header packets.
    Control,
    /// A segment of the end of a control TCP that acknowledges them.
    ControlAck,
    /// A datagram of a stream ([`super::stream`]).
    Datagram,
}

impl Kind {
    const ALL: [(Kind, u8); 7] = [
        (Kind::Datagram, 0),
        (Kind::Message, 1),
        (Kind::Open, 3),
        (Kind::Data, 4),
        (Kind::Header, 5),
        (Kind::Control, 6),
        (Kind::ControlAck, 7),
    ];

    fn code(self) -> u8 {
        Kind::ALL.iter().find(|(kind, _)| *kind == self).map_or(0, |(_, code)| *code)
    }

    /// What begins with this byte; `None` for what is of no frame.
    pub fn of(first: u8) -> Option<Kind> {
        Kind::ALL.iter().find(|(_, code)| *code == first >> 5).map(|(kind, _)| *kind)
    }
}

/// What opened a frame says, before its body is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Front {
    /// What the body is.
    pub kind: Kind,
    /// Of which control TCP, from 0.
    pub control: u8,
    /// Which connection, as the receiver calls it.
    pub key: LineKey,
}

impl Front {
    /// Reads it and takes it off; `None` if it is none.
    pub fn take(frame: &mut Bytes) -> Option<Front> {
        let bytes: [u8; FRONT_LEN] = *frame.first_chunk()?;
        frame.advance(FRONT_LEN);
        let kind = Kind::of(bytes[0])?;
        let key = LineKey::from_wire([bytes[1], bytes[2], bytes[3]]);
        Some(Front { kind, control: bytes[0] & 0x1f, key })
    }

    /// Writes it, with room for the number.
    pub fn put(&self, out: &mut Vec<u8>) {
        out.clear();
        out.put_u8(self.kind.code() << 5 | self.control & 0x1f);
        out.put_slice(&self.key.to_wire());
        out.put_u32(0);
    }
}

/// Addresses that the two ends of a connection have for each other's TCPs: for documentation (RFC 5737), never on a wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// Ours.
    pub local: IpAddr,
    /// The peer's.
    pub remote: IpAddr,
    /// The port that control TCPs lead to.
    pub control_port: u16,
}

/// Ports of the data TCP: of the end that opens it, and of the other.
const DATA_PORTS: [u16; 2] = [1, 2];

impl Ends {
    /// Of a connection that this end opened, or the other.
    pub fn new(is_ours: bool, control_port: u16) -> Ends {
        let [opener, other] = [1, 2].map(|last| IpAddr::V4(Ipv4Addr::new(192, 0, 2, last)));
        let (local, remote) = if is_ours { (opener, other) } else { (other, opener) };
        Ends { local, remote, control_port }
    }

    /// Ports of the data TCP: ours and the peer's.
    pub fn data_ports(is_ours: bool) -> (u16, u16) {
        let [opener, other] = DATA_PORTS;
        if is_ours { (opener, other) } else { (other, opener) }
    }

    fn ports(&self, kind: Kind, control: u8, is_ours: bool) -> (u16, u16) {
        let own = self.control_port + 1 + u16::from(control);
        match kind {
            Kind::Header | Kind::Control => (own, self.control_port),
            Kind::ControlAck => (self.control_port, own),
            Kind::Message | Kind::Open | Kind::Data | Kind::Datagram => {
                let (local, remote) = Ends::data_ports(is_ours);
                (remote, local)
            }
        }
    }

    /// What `packet`, which leaves here, is.
    pub fn kind_of(&self, packet: &Packet) -> Option<(Kind, u8)> {
        let tcp = packet.tcp()?;
        let number = |port: u16| {
            let number = port.checked_sub(self.control_port)?.checked_sub(1)?;
            (number < CONTROLS_MAX).then_some(number as u8)
        };
        if tcp.destination_port == self.control_port {
            let control = number(tcp.source_port)?;
            let is_header = tcp.flags == TcpFlags::ACK.with(TcpFlags::PSH) && packet.payload_len() == 0;
            return Some((if is_header { Kind::Header } else { Kind::Control }, control));
        }
        if tcp.source_port == self.control_port {
            return Some((Kind::ControlAck, number(tcp.destination_port)?));
        }
        let is_open = tcp.flags.syn() && !tcp.flags.ack();
        Some((if is_open { Kind::Open } else { Kind::Data }, 0))
    }
}

/// Writes the body of a frame of `kind`: the segment.
pub fn put_segment(kind: Kind, packet: &Packet, out: &mut Vec<u8>) {
    let Some(tcp) = packet.tcp() else { return };
    let options = &tcp.options;
    if kind == Kind::Header {
        out.put_u32(tcp.sequence.0);
        options.timestamps.iter().for_each(|stamps| out.put_u32(stamps.value));
        return;
    }
    let mut shape = (options.sack.as_slice().len() as u8) << SACK_SHIFT;
    shape |= if tcp.flags.ack() { HAS_ACK } else { 0 };
    shape |= if options.timestamps.is_some() { HAS_TIMESTAMPS } else { 0 };
    shape |= if tcp.flags.syn() { HAS_SYN_OPTIONS } else { 0 };
    out.put_u8(shape);
    out.put_u8(tcp.flags.0 as u8);
    out.put_u32(tcp.sequence.0);
    out.put_u16(tcp.window);
    if tcp.flags.ack() {
        out.put_u32(tcp.acknowledgment.0);
    }
    for stamps in options.timestamps.iter() {
        out.put_u32(stamps.value);
        out.put_u32(stamps.echo);
    }
    for (left, right) in options.sack.as_slice() {
        out.put_u32(left.0);
        out.put_u32(right.0);
    }
    if tcp.flags.syn() {
        out.put_u16(options.mss.unwrap_or(0));
        out.put_u8(options.window_scale.unwrap_or(u8::MAX));
        out.put_u8(u8::from(options.sack_permitted));
    }
    if let Some(payload) = packet.payload_bytes() {
        out.put_slice(&payload);
    }
}

/// Reads the body of a frame as the packet that its sender wrote; `None` if it is none. `is_ours`: this end opened the
/// connection. `own_start`: of a header packet's control TCP, the number behind our SYN.
pub fn take_segment(front: &Front, mut body: Bytes, ends: &Ends, own_start: Option<u32>) -> Option<Packet> {
    let (source_port, destination_port) = ends.ports(front.kind, front.control, front.key.is_ours);
    let mut tcp = TcpHeader { source_port, destination_port, ..TcpHeader::default() };
    if front.kind == Kind::Header {
        tcp.sequence = SeqNum(body.try_get_u32().ok()?);
        tcp.acknowledgment = SeqNum(own_start?);
        tcp.flags = TcpFlags::ACK.with(TcpFlags::PSH);
        if body.has_remaining() {
            tcp.options.timestamps = Some(Timestamps { value: body.try_get_u32().ok()?, echo: 0 });
        }
        return (!body.has_remaining()).then(|| packet_of(tcp, ends, Bytes::new()));
    }
    let shape = body.try_get_u8().ok()?;
    tcp.flags = TcpFlags(u16::from(body.try_get_u8().ok()?));
    tcp.sequence = SeqNum(body.try_get_u32().ok()?);
    tcp.window = body.try_get_u16().ok()?;
    if shape & HAS_ACK != 0 {
        tcp.acknowledgment = SeqNum(body.try_get_u32().ok()?);
    }
    if shape & HAS_TIMESTAMPS != 0 {
        let (value, echo) = (body.try_get_u32().ok()?, body.try_get_u32().ok()?);
        tcp.options.timestamps = Some(Timestamps { value, echo });
    }
    for _ in 0..shape >> SACK_SHIFT {
        let (left, right) = (SeqNum(body.try_get_u32().ok()?), SeqNum(body.try_get_u32().ok()?));
        if !tcp.options.sack.push(left, right) {
            return None;
        }
    }
    if shape & HAS_SYN_OPTIONS != 0 {
        tcp.options.mss = Some(body.try_get_u16().ok()?).filter(|mss| *mss > 0);
        tcp.options.window_scale = Some(body.try_get_u8().ok()?).filter(|shift| *shift <= 14);
        tcp.options.sack_permitted = body.try_get_u8().ok()? == 1;
    }
    Some(packet_of(tcp, ends, body))
}

fn packet_of(tcp: TcpHeader, ends: &Ends, payload: Bytes) -> Packet {
    let segment = Segment { source: ends.remote, destination: ends.local, traffic_class: 0, tcp };
    Packet::tcp_bytes(&segment, payload)
}

#[cfg(test)]
mod tests {
    use super::*;
    use airtcp_core::packet::SackBlocks;
    use airtcp_core::packet::TcpOptions;

    const PORT: u16 = 47_921;

    fn packet(ports: (u16, u16), flags: TcpFlags, options: TcpOptions, payload: &'static [u8]) -> Packet {
        let ends = Ends::new(true, PORT);
        let tcp = TcpHeader {
            source_port: ports.0,
            destination_port: ports.1,
            sequence: SeqNum(7),
            acknowledgment: if flags.ack() { SeqNum(9) } else { SeqNum(0) },
            flags,
            window: 500,
            urgent: 0,
            options,
        };
        let segment = Segment { source: ends.local, destination: ends.remote, traffic_class: 0, tcp };
        Packet::tcp_bytes(&segment, Bytes::from_static(payload))
    }

    /// What arrives of it at the other end, and how long the frame was.
    fn carried(packet: &Packet) -> (Packet, usize) {
        let (kind, control) = Ends::new(true, PORT).kind_of(packet).unwrap();
        let key = LineKey { is_ours: true, number: 5 };
        let mut frame = Vec::new();
        Front { kind, control, key }.put(&mut frame);
        put_segment(kind, packet, &mut frame);
        let (length, mut frame) = (frame.len(), Bytes::from(frame));
        let front = Front::take(&mut frame).unwrap();
        assert_eq!((front.kind, front.control, front.key), (kind, control, LineKey { is_ours: false, number: 5 }));
        (take_segment(&front, frame, &Ends::new(false, PORT), Some(9)).unwrap(), length)
    }

    fn stamps() -> TcpOptions {
        TcpOptions { timestamps: Some(Timestamps { value: 3, echo: 4 }), ..TcpOptions::default() }
    }

    #[test]
    fn segments_arrive_as_they_were_sent() {
        let ack = TcpFlags::ACK;
        let mut sack = SackBlocks::default();
        sack.push(SeqNum(20), SeqNum(30));
        sack.push(SeqNum(40), SeqNum(50));
        let syn = TcpOptions { mss: Some(1448), window_scale: Some(7), sack_permitted: true, ..stamps() };
        let all = [
            packet((1, 2), TcpFlags::SYN, syn, b""),
            packet((1, 2), ack.with(TcpFlags::PSH), stamps(), b"some bytes"),
            packet((1, 2), ack, TcpOptions { sack, ..stamps() }, b""),
            packet((1, 2), ack, TcpOptions::default(), b"x"),
            packet((PORT + 1, PORT), TcpFlags::SYN, syn, b""),
            packet((PORT + 32, PORT), ack, stamps(), b""),
            packet((PORT, PORT + 3), ack.with(TcpFlags::SYN), syn, b""),
            packet((PORT, PORT + 3), ack, TcpOptions { sack, ..stamps() }, b""),
        ];
        for sent in all {
            let (arrived, _) = carried(&sent);
            assert_eq!(arrived.tcp(), sent.tcp());
            assert_eq!((arrived.flow(), arrived.payload_bytes()), (sent.flow(), sent.payload_bytes()));
        }
    }

    #[test]
    fn dec_5_a_header_packet_has_52_bytes_with_ip_udp_and_tag_and_48_without_timestamps() {
        let flags = TcpFlags::ACK.with(TcpFlags::PSH);
        for (options, bytes) in [(stamps(), 52), (TcpOptions::default(), 48)] {
            let (arrived, length) = carried(&packet((PORT + 1, PORT), flags, options, b""));
            let tcp = arrived.tcp().unwrap();
            assert_eq!((tcp.sequence, tcp.acknowledgment, tcp.flags), (SeqNum(7), SeqNum(9), flags));
            assert_eq!(length + 20 + 8 + crate::forwarder::seal::TAG_LEN, bytes);
        }
    }

    #[test]
    fn no_bytes_make_a_frame_panic_and_every_truncation_is_refused() {
        let syn = TcpOptions { mss: Some(1448), window_scale: Some(7), sack_permitted: true, ..stamps() };
        let mut frame = Vec::new();
        let key = LineKey { is_ours: true, number: 5 };
        Front { kind: Kind::Open, control: 0, key }.put(&mut frame);
        put_segment(Kind::Open, &packet((1, 2), TcpFlags::SYN, syn, b""), &mut frame);
        for length in 0..frame.len() {
            let mut short = Bytes::copy_from_slice(&frame[..length]);
            let read =
                Front::take(&mut short).and_then(|front| take_segment(&front, short, &Ends::new(false, PORT), Some(1)));
            assert!(read.is_none(), "{length}");
        }
        for first in 0..=u8::MAX {
            for shape in 0..=u8::MAX {
                let mut bytes = vec![first; 60];
                bytes[FRONT_LEN] = shape;
                let mut bytes = Bytes::from(bytes);
                if let Some(front) = Front::take(&mut bytes) {
                    let _ = take_segment(&front, bytes, &Ends::new(true, PORT), None);
                }
            }
        }
    }

    #[test]
    fn a_handshake_is_no_frame() {
        assert_eq!(Kind::of(b'A'), None);
    }
}
