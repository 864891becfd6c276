//! For tests: the two ends of a link, and an air of 5 ms whose losses the test decides.

use crate::{End, LinkFacts, Site};
use airtcp_core::testing::Harness;
use airtcp_core::{
    ByteSize, Duration, Element, Event, Instant, Packet, Port, Rate, Rng, Segment, SeqNum, TcpFlags, TcpHeader,
    TcpOptions, packet::protocol,
};
use core::net::{IpAddr, Ipv4Addr};
use std::boxed::Box;
use std::collections::VecDeque;
use std::vec::Vec;

const ONE_WAY: Duration = Duration::from_millis(5);
const STEP: Duration = Duration::from_micros(100);

enum Cargo {
    Packet(Packet),
    Control(Vec<u8>),
}

/// Decides the fate of the n-th packet (from 0) sent towards B since the air was told.
pub type Fate = Box<dyn FnMut(usize, &Packet) -> bool>;

pub struct Bench<E> {
    pub now: Instant,
    pub a: Harness<E>,
    pub b: Harness<E>,
    one_way: Duration,
    air: VecDeque<(Instant, bool, Cargo)>,
    lose: Fate,
    /// Packets sent towards B since the air was told.
    pub sent: usize,
    pub lose_control: bool,
    /// Every packet towards B comes twice.
    pub twice: bool,
    /// Bytes sent towards B.
    pub bytes: u64,
}

/// Facts of a link of 12 Mbit/s: a full packet a millisecond.
pub fn site(end: End, rng: &mut Rng, max_memory: ByteSize) -> Site<'_> {
    let link = LinkFacts {
        rate: Some(Rate::from_bps(12_000_000)),
        round_trip: Some(ONE_WAY * 2),
        queue: Some(ByteSize(150_000)),
        ..LinkFacts::default()
    };
    Site { end, link, rng, max_memory, forecast: None }
}

impl<E: Element> Bench<E> {
    /// Both ends, in reach of each other.
    pub fn new(a: E, b: E) -> Bench<E> {
        Bench::at(ONE_WAY, a, b)
    }

    /// The same, so far from each other.
    pub fn at(one_way: Duration, a: E, b: E) -> Bench<E> {
        let mut bench = Bench {
            now: Instant::from_nanos(1_000_000_000),
            a: Harness::new(a, "a"),
            b: Harness::new(b, "b"),
            one_way,
            air: VecDeque::new(),
            lose: Box::new(|_, _| false),
            sent: 0,
            lose_control: false,
            twice: false,
            bytes: 0,
        };
        bench.run(40 + (one_way * 4).as_millis() as u32);
        assert_eq!((bench.a.count(Event::PEER_UP), bench.b.count(Event::PEER_UP)), (1, 1));
        bench
    }

    /// From now on the air loses what `lose` says.
    pub fn losing(&mut self, lose: impl FnMut(usize, &Packet) -> bool + 'static) {
        (self.lose, self.sent) = (Box::new(lose), 0);
    }

    /// Hands a packet to A for B.
    pub fn send(&mut self, packet: Packet) {
        self.a.packet(self.now, Port::INNER, packet);
        self.collect();
    }

    /// Hands the packets `range` to A, `data` of each.
    pub fn send_all(&mut self, range: core::ops::Range<u32>) {
        for n in range {
            self.send(data(n));
        }
    }

    /// What came out at B since last asked: the numbers of `data` packets.
    pub fn out(&mut self) -> Vec<u32> {
        let packets = core::mem::take(&mut self.b.io.inner);
        packets.iter().map(|packet| (packet.tcp().expect("TCP").sequence.0 - 1) / 1000).collect()
    }

    pub fn run(&mut self, ms: u32) {
        for _ in 0..ms * 10 {
            self.now += STEP;
            self.a.tick(self.now);
            self.b.tick(self.now);
            self.collect();
            while self.air.front().is_some_and(|(at, ..)| *at <= self.now) {
                let Some((_, to_b, cargo)) = self.air.pop_front() else { break };
                let end = if to_b { &mut self.b } else { &mut self.a };
                match cargo {
                    Cargo::Packet(packet) => end.packet(self.now, Port::LINK, packet),
                    Cargo::Control(message) => end.control(self.now, &message),
                }
                self.collect();
            }
        }
    }

    fn collect(&mut self) {
        let at = self.now + self.one_way;
        for to_b in [true, false] {
            let io = if to_b { &mut self.a.io } else { &mut self.b.io };
            for packet in core::mem::take(&mut io.link) {
                let lost = to_b && (self.lose)(self.sent, &packet);
                if to_b {
                    self.sent += 1;
                    self.bytes += u64::from(packet.wire_len());
                }
                if to_b && self.twice && !lost {
                    self.air.push_back((at, to_b, Cargo::Packet(packet.clone())));
                }
                if !lost {
                    self.air.push_back((at, to_b, Cargo::Packet(packet)));
                }
            }
            for message in core::mem::take(&mut io.control) {
                if !self.lose_control {
                    self.air.push_back((at, to_b, Cargo::Control(message)));
                }
            }
        }
    }
}

fn address(last: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 0, 0, last))
}

fn segment(sequence: u32, flags: TcpFlags, options: TcpOptions) -> Segment {
    let tcp = TcpHeader {
        source_port: 40_000,
        destination_port: 5_000,
        sequence: SeqNum(sequence),
        acknowledgment: SeqNum(1),
        flags,
        window: 1000,
        urgent: 0,
        options,
    };
    Segment { source: address(1), destination: address(2), traffic_class: 0, tcp }
}

/// The n-th packet of a virtual stream, 1040 bytes.
pub fn data(n: u32) -> Packet {
    let offset = u64::from(n) * 1000;
    Packet::tcp_virtual(&segment(n * 1000 + 1, TcpFlags::ACK, TcpOptions::default()), 3, offset, 1000)
}

/// A SYN that announces an MSS of 1460.
pub fn syn() -> Packet {
    let options = TcpOptions { mss: Some(1460), ..TcpOptions::default() };
    Packet::tcp_bytes(&segment(0, TcpFlags::SYN, options), bytes::Bytes::new())
}

/// An acknowledgment of TCP that carries nothing.
pub fn ack() -> Packet {
    Packet::tcp_bytes(&segment(1, TcpFlags::ACK, TcpOptions::default()), bytes::Bytes::new())
}

/// What the receiver of the packets before the n-th one (`data`), and those behind it up to the `end`-th, says to their sender.
pub fn ack_of(n: u32, end: u32) -> Packet {
    let mut options = TcpOptions::default();
    if n + 1 < end {
        options.sack.push(SeqNum((n + 1) * 1000 + 1), SeqNum(end * 1000 + 1));
    }
    let mut segment = segment(1, TcpFlags::ACK, options);
    segment.tcp.acknowledgment = SeqNum(n * 1000 + 1);
    (segment.source, segment.destination) = (segment.destination, segment.source);
    (segment.tcp.source_port, segment.tcp.destination_port) = (segment.tcp.destination_port, segment.tcp.source_port);
    Packet::tcp_bytes(&segment, bytes::Bytes::new())
}

/// A datagram of `len` bytes that is not TCP.
pub fn opaque(len: usize) -> Packet {
    let payload: Vec<u8> = (0..len - 20).map(|at| (at * 7) as u8).collect();
    Packet::opaque(address(1), address(2), protocol::UDP, payload.into())
}
