//! One gateway in a harness, spoken to in numbers of segments.

use super::super::Gateway;
use crate::papers::gsnoop::Hello;
use crate::papers::gsnoop::message::Message;
use crate::papers::gsnoop::settings::GsnoopSettings;
use crate::{End, LinkFacts, MAX_MEMORY, Site};
use airtcp_core::parameters::Parameters;
use airtcp_core::testing::Harness;
use airtcp_core::{
    ByteSize, Duration, Event, FlowKey, Instant, Packet, Port, Rate, Rng, SackBlocks, Segment, SeqNum, TcpFlags,
    TcpHeader, TcpOptions,
};
use core::net::{IpAddr, Ipv4Addr};
use std::vec::Vec;

pub const MS: Duration = Duration::from_millis(1);
/// The wireless round trip and guard that the tests configure.
pub const RTT: Duration = Duration::from_millis(10);
pub const GUARD: Duration = Duration::from_millis(5);

/// Runs `test` with segment 0 in the middle of the sequence space and just below its wrap.
pub fn anywhere(test: impl Fn(u32)) {
    for base in [1 << 20, u32::MAX - 4500] {
        test(base);
    }
}

/// A gateway whose other end is in reach.
pub struct Bench {
    pub harness: Harness<Gateway>,
    pub now: Instant,
    base: u32,
    next_hello: Instant,
}

impl Bench {
    pub fn new(base: u32, text: &[(&str, &str)]) -> Self {
        let mut settings = GsnoopSettings::default();
        let timing = [("wireless_rtt", "10ms"), ("guard", "5ms")];
        for &(key, value) in timing.iter().chain(text) {
            settings.set(key, &value.into()).unwrap();
        }
        let link = LinkFacts {
            rate: Some(Rate::from_bps(80_000_000)),
            round_trip: Some(RTT),
            queue: Some(ByteSize(140 * 1500)),
            ..LinkFacts::default()
        };
        let mut rng = Rng::derive(1, "gateway");
        let gateway = Gateway::new(
            &settings,
            &mut Site { end: End::Near, link, rng: &mut rng, max_memory: MAX_MEMORY, forecast: None },
        );
        let now = Instant::from_nanos(1_000_000_000);
        let mut bench = Bench { harness: Harness::new(gateway, "gateway"), now, base, next_hello: now };
        bench.pass(MS);
        assert_eq!(bench.count(Event::PEER_UP), 1);
        bench.harness.io.control.clear();
        bench
    }

    /// Lets time pass in steps of a tenth of a millisecond.
    pub fn pass(&mut self, span: Duration) {
        let end = self.now + span;
        while self.now < end {
            self.now += MS / 10;
            if self.now >= self.next_hello {
                self.next_hello = self.now + MS * 100;
                let hello = Hello { epoch: 7, stamp: self.now.as_nanos(), echo: 0, held: 0 };
                self.harness.control(self.now, &Message::Hello(hello).encode());
            }
            self.harness.tick(self.now);
        }
    }

    pub fn sequence(&self, number: u32) -> SeqNum {
        SeqNum(self.base.wrapping_add(number.wrapping_mul(1000)))
    }

    fn number(&self, sequence: SeqNum) -> u32 {
        sequence.0.wrapping_sub(self.base) / 1000
    }

    /// Segment `number` of the flow that the tests are about.
    pub fn data(&self, number: u32) -> Packet {
        segment(&flow(), self.sequence(number), SeqNum(9), TcpFlags::ACK, 1000, 1000)
    }

    /// The receiver's ACK of everything before segment `number`.
    pub fn ack(&self, number: u32) -> Packet {
        self.ack_with(number, 1000, 0)
    }

    pub fn ack_with(&self, number: u32, window: u16, payload: u32) -> Packet {
        segment(&flow().reversed(), SeqNum(9), self.sequence(number), TcpFlags::ACK, window, payload)
    }

    /// The same with a SACK block for segment `sacked`.
    pub fn sack(&self, number: u32, sacked: u32) -> Packet {
        let mut sack = SackBlocks::default();
        sack.push(self.sequence(sacked), self.sequence(sacked + 1));
        let plain = self.ack(number);
        let options = TcpOptions { sack, ..TcpOptions::default() };
        rebuild(&plain, TcpHeader { options, ..*plain.tcp().unwrap() })
    }

    pub fn inner(&mut self, packet: Packet) {
        self.harness.packet(self.now, Port::INNER, packet);
    }

    pub fn link(&mut self, packet: Packet) {
        self.harness.packet(self.now, Port::LINK, packet);
    }

    /// Segments come from the sender to gateway A.
    pub fn sender_sends(&mut self, numbers: impl IntoIterator<Item = u32>) {
        for number in numbers {
            self.inner(self.data(number));
            self.pass(MS);
        }
    }

    /// Segments come off the link to gateway B.
    pub fn off_link(&mut self, numbers: impl IntoIterator<Item = u32>) {
        for number in numbers {
            self.link(self.data(number));
        }
    }

    /// `count` equal ACKs of the receiver come to gateway B, or are on their way through gateway A.
    pub fn acks(&mut self, port: Port, number: u32, count: u32) {
        for _ in 0..count {
            self.harness.packet(self.now, port, self.ack(number));
        }
        self.pass(MS);
    }

    /// B asks for segments `first` to before `end`.
    pub fn nack(&mut self, first: u32, end: u32) {
        let message = Message::Nack(flow(), std::vec![(self.sequence(first), self.sequence(end))]);
        self.harness.control(self.now, &message.encode());
        self.pass(MS);
    }

    /// NACKs sent so far, as segment numbers.
    pub fn nacks(&self) -> Vec<(u32, u32)> {
        let messages = self.harness.io.control.iter().filter_map(|bytes| Message::decode(bytes));
        let ranges = messages.filter_map(|message| match message {
            Message::Nack(_, ranges) => Some(ranges),
            _ => None,
        });
        ranges.flatten().map(|(first, end)| (self.number(first), self.number(end))).collect()
    }

    /// Data that was sent over the link, by number, since the last call.
    pub fn sent_over_link(&mut self) -> Vec<u32> {
        let packets: Vec<Packet> = self.harness.io.link.drain(..).collect();
        let data = packets.iter().filter(|packet| packet.payload_len() > 0);
        data.map(|packet| self.number(packet.tcp().unwrap().sequence)).collect()
    }

    /// ACKs without data that went to the link (at B), since the last call.
    pub fn acks_over_link(&mut self) -> Vec<u32> {
        let packets: Vec<Packet> = self.harness.io.link.drain(..).collect();
        self.ack_numbers(&packets)
    }

    /// ACKs without data that went to the sender (at A), since the last call.
    pub fn acks_to_sender(&mut self) -> Vec<u32> {
        let packets: Vec<Packet> = self.harness.io.inner.drain(..).collect();
        self.ack_numbers(&packets)
    }

    fn ack_numbers(&self, packets: &[Packet]) -> Vec<u32> {
        let acks = packets.iter().filter(|packet| packet.payload_len() == 0);
        acks.map(|packet| self.number(packet.tcp().unwrap().acknowledgment)).collect()
    }

    /// Data that went on to the receiver, by number, since the last call.
    pub fn delivered(&mut self) -> Vec<u32> {
        let packets: Vec<Packet> = self.harness.io.inner.drain(..).collect();
        packets.iter().map(|packet| self.number(packet.tcp().unwrap().sequence)).collect()
    }

    pub fn count(&self, event: Event) -> u64 {
        self.harness.count(event)
    }

    pub fn held(&self) -> usize {
        use airtcp_core::Element;
        self.harness.element.held().packets
    }
}

pub fn flow() -> FlowKey {
    let host = |last| IpAddr::V4(Ipv4Addr::new(10, 0, 0, last));
    FlowKey { source: host(1), destination: host(2), source_port: 1000, destination_port: 80 }
}

pub fn segment(flow: &FlowKey, sequence: SeqNum, ack: SeqNum, flags: TcpFlags, window: u16, len: u32) -> Packet {
    let tcp = TcpHeader {
        source_port: flow.source_port,
        destination_port: flow.destination_port,
        sequence,
        acknowledgment: ack,
        flags,
        window,
        urgent: 0,
        options: TcpOptions::default(),
    };
    let segment = Segment { source: flow.source, destination: flow.destination, traffic_class: 0, tcp };
    Packet::tcp_virtual(&segment, 1, u64::from(sequence.0), len)
}

fn rebuild(packet: &Packet, tcp: TcpHeader) -> Packet {
    let segment = Segment { source: packet.ip().source, destination: packet.ip().destination, traffic_class: 0, tcp };
    Packet::tcp_virtual(&segment, 1, 0, packet.payload_len())
}
