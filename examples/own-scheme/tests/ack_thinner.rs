//! The element by itself: a hand-made world records what it does.

use airtcp_core::{Backlog, ByteSize, Context, Duration, Element, Instant, Io, Ledger, Packet};
use airtcp_core::{Peer, Port, Rng, Segment, SeqNum, TcpFlags, TcpHeader, TcpOptions, Token};
use airtcp_schemes::{End, LinkFacts, Site};
use own_scheme::ack_thinner;
use std::net::Ipv4Addr;

/// Records acknowledgment numbers sent to the link.
#[derive(Default)]
struct World {
    sent: Vec<u32>,
}

impl Io for World {
    fn room(&mut self, _: Port) -> usize {
        usize::MAX
    }
    fn backlog(&mut self, _: Port) -> Backlog {
        Backlog::default()
    }
    fn try_send(&mut self, port: Port, packet: Packet, _: Option<Token>) -> Result<(), Packet> {
        assert_eq!(port, Port::LINK);
        self.sent.push(packet.tcp().map_or(0, |tcp| tcp.acknowledgment.0));
        Ok(())
    }
    fn control_overhead(&self) -> u32 {
        0
    }
    fn send_control(&mut self, _: Peer, _: &[u8]) {}
}

struct Test {
    element: Box<dyn Element + Send>,
    world: World,
    ledger: Ledger,
    rng: Rng,
}

impl Test {
    fn new(settings: &[(&str, &str)], max_memory: u64) -> Self {
        let chosen = ack_thinner::ENTRY.with(settings.iter().copied()).expect("keys and values");
        let mut rng = Rng::derive(1, "test");
        let mut site =
            Site { end: End::Far, link: LinkFacts::default(), rng: &mut rng, max_memory: ByteSize(max_memory), forecast: None };
        let element = chosen.settings.make(&mut site).expect("good settings");
        Test { element, world: World::default(), ledger: Ledger::default(), rng }
    }

    /// Hands the element a packet at a time in microseconds; returns what was sent since.
    fn packet(&mut self, micros: u64, packet: Packet) -> Vec<u32> {
        let now = Instant::ZERO + Duration::from_micros(micros);
        self.element.handle_packet(
            &mut Context::new(now, &mut self.rng, &mut self.ledger, &mut self.world),
            Port::INNER,
            packet,
        );
        self.element.check().unwrap();
        std::mem::take(&mut self.world.sent)
    }

    fn timeout(&mut self) -> (Instant, Vec<u32>) {
        let now = self.element.poll_timeout().expect("something waits");
        self.element.handle_timeout(&mut Context::new(now, &mut self.rng, &mut self.ledger, &mut self.world));
        self.element.check().unwrap();
        (now, std::mem::take(&mut self.world.sent))
    }
}

fn packet(port: u16, acknowledgment: u32, flags: TcpFlags, payload: u32) -> Packet {
    let tcp = TcpHeader {
        source_port: port,
        destination_port: 80,
        sequence: SeqNum(1),
        acknowledgment: SeqNum(acknowledgment),
        flags,
        window: 1000,
        urgent: 0,
        options: TcpOptions::default(),
    };
    let (source, destination) = (Ipv4Addr::new(10, 0, 0, 1).into(), Ipv4Addr::new(10, 0, 0, 2).into());
    Packet::tcp_virtual(&Segment { source, destination, traffic_class: 0, tcp }, 1, 0, payload)
}

fn ack(acknowledgment: u32) -> Packet {
    packet(1, acknowledgment, TcpFlags::ACK, 0)
}

#[test]
fn one_acknowledgment_is_sent_for_four() {
    let mut test = Test::new(&[], 1 << 20);
    let sent: Vec<Vec<u32>> = (1..=8).map(|n| test.packet(n, ack(n as u32 * 1000))).collect();
    assert_eq!(sent.concat(), [4000, 8000]);
    assert_eq!((test.ledger.discarded.total(), test.element.held().packets), (6, 0));
    assert_eq!(test.ledger.events.get(ack_thinner::MERGED), 6);
}

#[test]
fn the_last_acknowledgment_is_sent_when_none_follows() {
    let mut test = Test::new(&[], 1 << 20);
    assert_eq!(test.packet(10, ack(1000)), []);
    assert_eq!(test.packet(500, ack(2000)), []);
    assert_eq!(test.timeout(), (Instant::ZERO + Duration::from_micros(2010), vec![2000]), "after 2 ms from the first");
    assert_eq!(test.element.poll_timeout(), None);
}

#[test]
fn duplicates_all_pass() {
    let mut test = Test::new(&[], 1 << 20);
    assert_eq!(test.packet(1, ack(1000)), []);
    assert_eq!(test.packet(2, ack(1000)), [1000, 1000]);
}

#[test]
fn data_takes_a_waiting_acknowledgment_with_it() {
    let mut test = Test::new(&[], 1 << 20);
    assert_eq!(test.packet(1, ack(1000)), []);
    assert_eq!(test.packet(2, packet(1, 1500, TcpFlags::ACK, 100)), [1000, 1500]);
    assert_eq!(test.packet(3, packet(1, 2000, TcpFlags::ACK.with(TcpFlags::FIN), 0)), [2000]);
}

#[test]
fn acknowledgments_are_compared_across_the_wrap() {
    let mut test = Test::new(&[("every", "2")], 1 << 20);
    assert_eq!(test.packet(1, ack(u32::MAX - 5)), []);
    assert_eq!(test.packet(2, ack(10)), [10]);
}

#[test]
fn flows_wait_apart_and_within_the_memory_bound() {
    let mut test = Test::new(&[], 2 * 1024);
    for port in 1..=2 {
        assert_eq!(test.packet(1, packet(port, 7, TcpFlags::ACK, 0)), []);
    }
    assert_eq!(test.packet(1, packet(3, 7, TcpFlags::ACK, 0)), [7], "no room to wait");
    assert_eq!(test.element.held().packets, 2);
}

#[test]
fn an_impossible_setting_is_refused() {
    let mut rng = Rng::derive(1, "test");
    let mut site = Site { end: End::Near, link: LinkFacts::default(), rng: &mut rng, max_memory: ByteSize(1 << 20), forecast: None };
    let chosen = ack_thinner::ENTRY.with([("every", "0")]).expect("a key and a value");
    assert!(chosen.settings.make(&mut site).is_err());
}
