//! Packets as hosts, attackers and broken middleboxes send them: streams of several connections with everything that
//! can happen to a segment, and datagrams that no scheme understands.
//!
//! A *generation* is one run of sequence numbers of one direction; a SYN begins a new one. The content of each is a
//! virtual stream of its own, so that a segment found anywhere tells where its bytes belong.

use crate::draw::Draw;
use airtcp_core::{
    CONTROL_DSCP, FlowKey, Packet, Segment, SeqNum, TcpFlags, TcpHeader, TcpOptions, Timestamps, packet::protocol,
};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Direction of a packet: from the inner port of the near end to that of the far end, or back.
pub type Direction = usize;

/// One run of sequence numbers: its first data byte and how many were sent.
#[derive(Clone, Copy, Debug)]
pub struct Generation {
    /// Sequence number of the byte at offset 0.
    pub first: SeqNum,
    /// Bytes sent so far.
    pub sent: u64,
}

/// One direction of a connection.
#[derive(Clone, Debug)]
pub struct Stream {
    /// Its addresses and ports.
    pub key: FlowKey,
    /// Index of its first generation in [`Traffic::generations`] and of all that followed.
    pub generations: Vec<u64>,
}

/// Everything that was sent, and the source of more.
pub struct Traffic {
    /// Connections, each with both directions.
    pub connections: Vec<[Stream; 2]>,
    /// By virtual stream.
    pub generations: Vec<Generation>,
    /// From addresses and ports to the streams that were sent there.
    pub by_key: BTreeMap<FlowKey, Vec<u64>>,
    strangers: u32,
    clock: u32,
    longest: u64,
}

/// Segments of everyday length; longer and shorter ones come now and then.
pub const SEGMENT: u64 = 1448;

impl Traffic {
    /// Traffic of `connections` connections, in segments of at most `longest` bytes.
    pub fn new(draw: &mut Draw, connections: usize, longest: u64) -> Self {
        let mut traffic = Traffic {
            connections: Vec::new(),
            generations: Vec::new(),
            by_key: BTreeMap::new(),
            strangers: 0,
            clock: draw.word() as u32,
            longest,
        };
        for number in 0..connections {
            let key = key(number as u32, draw.percent(50));
            let directions = [key, key.reversed()].map(|key| {
                let first = initial_sequence(draw);
                let stream = traffic.begin(key, first);
                Stream { key, generations: vec![stream] }
            });
            traffic.connections.push(directions);
        }
        traffic
    }

    fn begin(&mut self, key: FlowKey, first: SeqNum) -> u64 {
        let stream = self.generations.len() as u64;
        self.generations.push(Generation { first, sent: 0 });
        self.by_key.entry(key).or_default().push(stream);
        stream
    }

    /// A packet of one of the connections, and its direction.
    pub fn draw_segment(&mut self, draw: &mut Draw) -> (Direction, Packet) {
        self.clock = self.clock.wrapping_add(draw.below(3) as u32);
        let connection = draw.index(self.connections.len());
        let direction = usize::from(draw.percent(40));
        let packet = match draw.below(100) {
            0..2 => self.synchronise(draw, connection, direction),
            2..4 => self.control(draw, connection, direction),
            4..30 => self.acknowledgment(draw, connection, direction),
            30..32 => self.stray(draw, connection, direction),
            _ => self.data(draw, connection, direction),
        };
        (direction, self.finish(draw, packet))
    }

    /// A segment of a connection never seen before and never again.
    pub fn draw_stranger(&mut self, draw: &mut Draw) -> (Direction, Packet) {
        self.strangers += 1;
        let key = key(1000 + self.strangers, self.strangers.is_multiple_of(3));
        let first = SeqNum(draw.word() as u32);
        let stream = self.begin(key, first);
        let len = draw.pick(&[0, 1, 100, 1448]);
        self.generations[stream as usize].sent = u64::from(len);
        let segment = self.segment(draw, key, first, SeqNum(0), TcpFlags::ACK);
        (0, Packet::tcp_virtual(&segment, stream, 0, len))
    }

    fn data(&mut self, draw: &mut Draw, connection: usize, direction: Direction) -> Packet {
        let (key, stream) = self.current(connection, direction);
        let Generation { first, sent } = self.generations[stream as usize];
        let len = match draw.below(20) {
            0 => draw.between(1, 3),
            1 => draw.between(1, SEGMENT),
            2 if draw.percent(10) => draw.between(SEGMENT, self.longest),
            _ => SEGMENT,
        };
        let recent = sent.saturating_sub(draw.magnitude(1, 200_000));
        let offset = match draw.below(20) {
            // A retransmission, cut anew or not, perhaps running into what is new; or a gap.
            0..3 => recent,
            3 => recent / SEGMENT * SEGMENT,
            4..7 => sent + SEGMENT * draw.between(1, 20),
            _ => sent,
        };
        let generation = &mut self.generations[stream as usize];
        generation.sent = sent.max(offset + len);
        let flags = if draw.percent(3) { TcpFlags::ACK.with(TcpFlags::FIN) } else { TcpFlags::ACK };
        let acknowledgment = self.acknowledged(draw, connection, direction);
        let segment = self.segment(draw, key, first + offset as u32, acknowledgment, flags);
        Packet::tcp_virtual(&segment, stream, offset, len as u32)
    }

    fn acknowledgment(&mut self, draw: &mut Draw, connection: usize, direction: Direction) -> Packet {
        let (key, stream) = self.current(connection, direction);
        let Generation { first, sent } = self.generations[stream as usize];
        let acknowledgment = self.acknowledged(draw, connection, direction);
        let mut segment = self.segment(draw, key, first + sent as u32, acknowledgment, TcpFlags::ACK);
        for _ in 0..draw.below(6).saturating_sub(2) {
            let left = acknowledgment + draw.below(100_000) as u32;
            segment.tcp.options.sack.push(left, left + draw.below(10_000) as u32);
        }
        Packet::tcp_virtual(&segment, stream, sent, 0)
    }

    /// A SYN that begins a generation, or one of the present generation once more.
    fn synchronise(&mut self, draw: &mut Draw, connection: usize, direction: Direction) -> Packet {
        let (key, mut stream) = self.current(connection, direction);
        if draw.percent(70) {
            let first = initial_sequence(draw);
            stream = self.begin(key, first);
            self.connections[connection][direction].generations.push(stream);
        }
        let first = self.generations[stream as usize].first;
        let flags = if draw.percent(50) { TcpFlags::SYN } else { TcpFlags::SYN.with(TcpFlags::ACK) };
        let acknowledgment = self.acknowledged(draw, connection, direction);
        let mut segment = self.segment(draw, key, first - 1, acknowledgment, flags);
        segment.tcp.options.mss = Some(draw.between(0, 65_535) as u16);
        segment.tcp.options.window_scale = draw.percent(70).then(|| draw.below(256) as u8);
        segment.tcp.options.sack_permitted = draw.percent(70);
        Packet::tcp_virtual(&segment, stream, 0, 0)
    }

    /// RST or FIN anywhere.
    fn control(&mut self, draw: &mut Draw, connection: usize, direction: Direction) -> Packet {
        let (key, stream) = self.current(connection, direction);
        let Generation { first, sent } = self.generations[stream as usize];
        let flags = draw.pick(&[TcpFlags::RST, TcpFlags::RST.with(TcpFlags::ACK), TcpFlags::FIN.with(TcpFlags::ACK)]);
        let acknowledgment = self.acknowledged(draw, connection, direction);
        let sequence = first + sent.saturating_sub(draw.magnitude(0, 50_000)) as u32;
        let segment = self.segment(draw, key, sequence, acknowledgment, flags);
        Packet::tcp_virtual(&segment, stream, 0, 0)
    }

    /// A bare segment with any flags and numbers from anywhere.
    fn stray(&mut self, draw: &mut Draw, connection: usize, direction: Direction) -> Packet {
        let (key, stream) = self.current(connection, direction);
        let flags = TcpFlags(draw.below(512) as u16);
        let numbers = [draw.word() as u32, draw.word() as u32];
        let segment = self.segment(draw, key, SeqNum(numbers[0]), SeqNum(numbers[1]), flags);
        Packet::tcp_virtual(&segment, stream, 0, 0)
    }

    fn current(&self, connection: usize, direction: Direction) -> (FlowKey, u64) {
        let stream = &self.connections[connection][direction];
        (stream.key, stream.generations.last().copied().unwrap_or_default())
    }

    /// Mostly all that the other side sent, else anything less.
    fn acknowledged(&self, draw: &mut Draw, connection: usize, direction: Direction) -> SeqNum {
        let (_, other) = self.current(connection, 1 - direction);
        let Generation { first, sent } = self.generations[other as usize];
        let behind = if draw.percent(60) { 0 } else { draw.magnitude(1, 300_000).min(sent) };
        first + (sent - behind.min(sent)) as u32
    }

    fn segment(&self, draw: &mut Draw, key: FlowKey, sequence: SeqNum, ack: SeqNum, flags: TcpFlags) -> Segment {
        let timestamps = Timestamps { value: self.clock, echo: self.clock.wrapping_sub(draw.below(500) as u32) };
        let has_timestamps = key.source_port.is_multiple_of(3) != draw.percent(1);
        Segment {
            source: key.source,
            destination: key.destination,
            traffic_class: draw.pick(&[0, 0, 2, 3]),
            tcp: TcpHeader {
                source_port: key.source_port,
                destination_port: key.destination_port,
                sequence,
                acknowledgment: ack,
                flags,
                window: draw.pick(&[0, 1, 500, 65_535]),
                urgent: 0,
                options: TcpOptions { timestamps: has_timestamps.then_some(timestamps), ..TcpOptions::default() },
            },
        }
    }

    /// As the simulator has it, or as a device delivers it; damaged now and then.
    fn finish(&self, draw: &mut Draw, mut packet: Packet) -> Packet {
        // Now and then a bare segment is a header packet of a circuit (DEC-12).
        if packet.payload_len() == 0 && draw.percent(30) {
            packet.set_traffic_class(CONTROL_DSCP << 2);
        }
        if draw.percent(50) {
            return if draw.percent(2) { damaged(draw, packet) } else { packet };
        }
        let live = Packet::parse(packet.to_wire()).unwrap_or(packet);
        if draw.percent(2) { damaged(draw, live) } else { live }
    }
}

/// Damages a packet as a link does: a live one by one bit of its payload, a simulated one by its mark.
pub fn damaged(draw: &mut Draw, mut packet: Packet) -> Packet {
    let (Some(datagram), len) = (packet.datagram(), packet.payload_len() as usize) else {
        packet.mark_corrupted();
        return packet;
    };
    let mut bytes = datagram.to_vec();
    if len == 0 {
        packet.mark_corrupted();
        return packet;
    }
    let at = bytes.len() - len + draw.index(len);
    bytes[at] ^= 1 << draw.below(8);
    let mut damaged = Packet::parse(bytes.into()).unwrap_or(packet);
    // The second damage can hide the first from the checksum; nobody is to blame for what then arrives.
    if damaged.checksum_holds() {
        damaged.mark_corrupted();
    }
    damaged
}

/// A datagram that is no well-formed, unfragmented TCP segment.
pub fn draw_unknown(draw: &mut Draw) -> (Direction, Packet) {
    let direction = usize::from(draw.percent(50));
    let key = key(draw.below(4) as u32, draw.percent(50));
    let key = if direction == 0 { key } else { key.reversed() };
    let len = draw.magnitude(0, 1400) as usize;
    let content: Bytes = (0..len).map(|_| draw.word() as u8).collect();
    let other =
        Packet::opaque(key.source, key.destination, draw.pick(&[protocol::UDP, 1, 50, 47, 253]), content.clone());
    let tcp = Packet::opaque(key.source, key.destination, protocol::TCP, content);
    let packet = match draw.below(4) {
        0 => other,
        1 => Packet::parse(other.to_wire()).unwrap_or(other),
        // Random bytes behind an IP header that says TCP: mostly options that run past their area.
        2 => Packet::parse(tcp.to_wire()).filter(|packet| packet.tcp().is_none()).unwrap_or(other),
        _ => fragment(draw, &tcp).unwrap_or(other),
    };
    (direction, packet)
}

/// Any fragment of an IPv4 datagram.
fn fragment(draw: &mut Draw, packet: &Packet) -> Option<Packet> {
    let mut bytes = packet.to_wire().to_vec();
    if packet.ip().source.is_ipv6() {
        return None;
    }
    // More fragments, or an offset: either makes it one.
    let field = if draw.percent(50) { 0x2000 } else { draw.between(1, 0x1fff) as u16 };
    bytes[6..8].copy_from_slice(&field.to_be_bytes());
    Packet::parse(bytes.into())
}

fn initial_sequence(draw: &mut Draw) -> SeqNum {
    let just_below_the_wrap = u32::MAX - draw.magnitude(0, 100_000) as u32;
    SeqNum(if draw.percent(50) { just_below_the_wrap } else { draw.word() as u32 })
}

fn key(number: u32, ipv6: bool) -> FlowKey {
    let [_, high, middle, low] = number.to_be_bytes();
    let address = |side: u8| match ipv6 {
        false => IpAddr::V4(Ipv4Addr::new(10 + side, high, middle, low)),
        true => {
            let host = u16::from_be_bytes([middle, low]);
            IpAddr::V6(Ipv6Addr::new(0xfd00, u16::from(side), 0, 0, 0, 0, u16::from(high), host))
        }
    };
    FlowKey {
        source: address(0),
        destination: address(1),
        source_port: 1024 + (number % 60_000) as u16,
        destination_port: 80,
    }
}
