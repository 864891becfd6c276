//! Gateway B of the suppression variant, driven by hand: data off the link, acknowledgments from the receiver.

use super::Gateway;
use crate::papers::gsnoop::Hello;
use crate::papers::gsnoop::events;
use crate::papers::gsnoop::message::Message;
use crate::papers::gsnoop::settings::GsnoopSettings;
use crate::{End, LinkFacts, MAX_MEMORY, Site};
use airtcp_core::parameters::Parameters;
use airtcp_core::testing::Harness;
use airtcp_core::{
    Duration, Element, Event, FlowKey, Instant, Packet, Port, Rate, Rng, SackBlocks, Segment, SeqNum, TcpFlags,
    TcpHeader, TcpOptions, Timestamps,
};
use core::net::{IpAddr, Ipv4Addr};
use std::vec;
use std::vec::Vec;

const MS: Duration = Duration::from_millis(1);
/// So that the tests cross the wrap of the sequence space.
const BASE: u32 = u32::MAX - 3500;

struct Bench {
    b: Harness<Gateway>,
    now: Instant,
}

fn sequence(number: u32) -> SeqNum {
    SeqNum(BASE.wrapping_add(number * 1000))
}

fn flow() -> FlowKey {
    let host = |last| IpAddr::V4(Ipv4Addr::new(10, 0, 0, last));
    FlowKey { source: host(1), destination: host(2), source_port: 1000, destination_port: 80 }
}

fn packet(flow: &FlowKey, tcp: TcpHeader, len: u32) -> Packet {
    let segment = Segment { source: flow.source, destination: flow.destination, traffic_class: 0, tcp };
    Packet::tcp_virtual(&segment, 1, 0, len)
}

fn header(flow: &FlowKey, sequence: SeqNum, acknowledgment: SeqNum) -> TcpHeader {
    TcpHeader {
        source_port: flow.source_port,
        destination_port: flow.destination_port,
        sequence,
        acknowledgment,
        flags: TcpFlags::ACK,
        window: 1000,
        urgent: 0,
        options: TcpOptions::default(),
    }
}

/// The receiver's ACK of everything before segment `number`, with a SACK block for `sacked`.
fn sack(number: u32, sacked: Option<u32>) -> TcpHeader {
    let mut tcp = header(&flow().reversed(), SeqNum(9), sequence(number));
    let mut blocks = SackBlocks::default();
    if let Some(sacked) = sacked {
        blocks.push(sequence(sacked), sequence(sacked + 1));
    }
    tcp.options = TcpOptions { sack: blocks, timestamps: Some(Timestamps { value: 5, echo: 7 }), ..tcp.options };
    tcp
}

impl Bench {
    fn new() -> Self {
        let mut settings = GsnoopSettings::default();
        let text = [("mode", "suppression"), ("wireless_rtt", "10ms"), ("hold", "60ms"), ("tries", "2")];
        for (key, value) in text.into_iter().chain([("redundancy", "false")]) {
            settings.set(key, &value.into()).unwrap();
        }
        let mut rng = Rng::derive(1, "b");
        let link = LinkFacts { rate: Some(Rate::from_bps(80_000_000)), ..LinkFacts::default() };
        let site = &mut Site { end: End::Far, link, rng: &mut rng, max_memory: MAX_MEMORY, forecast: None };
        let mut bench =
            Bench { b: Harness::new(Gateway::new(&settings, site), "b"), now: Instant::from_nanos(1_000_000_000) };
        bench.pass(MS);
        bench
    }

    /// The other end stays in reach meanwhile.
    fn pass(&mut self, span: Duration) {
        let hello = Hello { epoch: 7, stamp: self.now.as_nanos(), echo: 0, held: 0 };
        self.b.control(self.now, &Message::Hello(hello).encode());
        let end = self.now + span;
        while self.now < end {
            self.now += MS / 10;
            self.b.tick(self.now);
        }
    }

    fn off_link(&mut self, numbers: impl IntoIterator<Item = u32>) {
        for number in numbers {
            let data = packet(&flow(), header(&flow(), sequence(number), SeqNum(9)), 1000);
            self.b.packet(self.now, Port::LINK, data);
        }
    }

    fn acknowledge(&mut self, tcp: TcpHeader, len: u32) {
        self.b.packet(self.now, Port::INNER, packet(&flow().reversed(), tcp, len));
        self.pass(MS / 2);
    }

    /// Segment 2 is lost and asked for, 3, 4 and 5 come; the receiver says so.
    fn with_gap() -> Bench {
        let mut bench = Bench::new();
        bench.off_link(0..2);
        bench.acknowledge(sack(2, None), 0);
        bench.off_link(3..6);
        assert_eq!(bench.b.count(events::NACK), 1);
        bench.sent();
        for sacked in 3..6 {
            bench.acknowledge(sack(2, Some(sacked)), 0);
        }
        bench
    }

    /// Acknowledgments that went to the link since the last call, by segment number.
    fn sent(&mut self) -> Vec<u32> {
        let number = |packet: &Packet| packet.tcp().unwrap().acknowledgment.0.wrapping_sub(BASE) / 1000;
        self.b.io.link.drain(..).map(|packet| number(&packet)).collect()
    }

    fn held(&self) -> usize {
        self.b.element.held().packets
    }
}

#[test]
fn data_beyond_a_gap_passes_at_once() {
    let bench = Bench::with_gap();
    assert_eq!((bench.b.io.inner.len(), bench.b.count(Event::HELD)), (5, 0));
}

#[test]
fn what_tells_of_a_gap_that_is_asked_for_is_held_and_dropped_with_its_repair() {
    let mut bench = Bench::with_gap();
    assert_eq!((bench.sent(), bench.held()), (vec![], 3));
    bench.off_link([2]);
    bench.acknowledge(sack(2, Some(5)), 0);
    assert_eq!((bench.sent(), bench.held()), (vec![], 4), "the receiver had not got the repair yet");
    bench.acknowledge(sack(6, None), 0);
    assert_eq!((bench.sent(), bench.held()), (vec![6], 0));
    assert_eq!(bench.b.count(Event::ACK_SUPPRESSED), 4);
}

#[test]
fn it_goes_on_when_the_gap_is_given_up() {
    let mut bench = Bench::with_gap();
    bench.pass(MS * 65);
    assert_eq!((bench.sent(), bench.held()), (vec![2, 2, 2], 0));
    assert_eq!(bench.b.count(events::ACK_RELEASED), 3);
    bench.acknowledge(sack(2, Some(5)), 0);
    assert_eq!(bench.sent(), [2]);
}

#[test]
fn it_goes_on_at_once_when_the_loss_was_before_the_link() {
    let mut bench = Bench::with_gap();
    let message = Message::NotHere(flow(), vec![(sequence(2), sequence(3))]);
    bench.b.control(bench.now, &message.encode());
    bench.pass(MS);
    assert_eq!((bench.sent(), bench.held()), (vec![2, 2, 2], 0));
}

#[test]
fn a_repair_that_is_lost_downstream_is_hidden_no_longer_than_the_hold() {
    let mut bench = Bench::with_gap();
    bench.off_link([2]);
    bench.pass(MS * 55);
    assert_eq!(bench.held(), 3);
    bench.pass(MS * 8);
    assert_eq!((bench.sent(), bench.held()), (vec![2, 2, 2], 0));
}

#[test]
fn data_windows_flags_timestamps_and_d_sacks_are_never_held() {
    let mut bench = Bench::with_gap();
    bench.acknowledge(sack(2, Some(5)), 100);
    bench.acknowledge(TcpHeader { window: 2000, ..sack(2, Some(5)) }, 0);
    bench.acknowledge(TcpHeader { flags: TcpFlags::ACK.with(TcpFlags::ECE), ..sack(2, Some(5)) }, 0);
    let mut later = sack(2, Some(5));
    later.options.timestamps = Some(Timestamps { value: 6, echo: 8 });
    bench.acknowledge(later, 0);
    bench.acknowledge(sack(2, Some(1)), 0);
    assert_eq!((bench.sent().len(), bench.held()), (5, 3));
}

#[test]
fn what_tells_of_a_loss_downstream_passes() {
    let mut bench = Bench::new();
    bench.off_link(0..6);
    for sacked in [None, Some(3), Some(4), Some(5)] {
        bench.acknowledge(sack(2, sacked), 0);
    }
    assert_eq!((bench.sent(), bench.held()), (vec![2; 4], 0));
}

#[test]
fn without_the_other_end_what_is_held_goes_on() {
    let mut bench = Bench::with_gap();
    let hello = Message::Hello(Hello { epoch: 8, stamp: 1, echo: 0, held: 0 }).encode();
    bench.b.control(bench.now, &hello);
    bench.now += MS;
    bench.b.tick(bench.now);
    assert_eq!((bench.b.count(Event::PEER_RESTART), bench.held(), bench.sent()), (1, 0, vec![2, 2, 2]));
}
