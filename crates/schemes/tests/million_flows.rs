//! Done when 7: a million flows through A stay within `max_memory`, and a real flow is still
//! repaired after them. Resident memory is read from the kernel, so this test is a process of
//! its own.

use airtcp_core::testing::Harness;
use airtcp_core::{
    Duration, Event, Instant, Packet, Port, Rate, Rng, Segment, SeqNum, TcpFlags, TcpHeader, TcpOptions,
};
use airtcp_schemes::papers::gsnoop::{Gateway, GsnoopSettings, Hello, Message};
use airtcp_schemes::{End, LinkFacts, MAX_MEMORY, Site};
use std::net::{IpAddr, Ipv4Addr};

fn resident_bytes() -> Option<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * 4096)
}

fn segment(flow: u32, sequence: u32) -> Packet {
    let tcp = TcpHeader {
        source_port: 1000,
        destination_port: 80,
        sequence: SeqNum(sequence),
        acknowledgment: SeqNum(1),
        flags: TcpFlags::ACK,
        window: 1000,
        urgent: 0,
        options: TcpOptions::default(),
    };
    let [_, a, b, c] = flow.to_be_bytes();
    let source = IpAddr::V4(Ipv4Addr::new(10, a, b, c));
    let destination = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
    let segment = Segment { source, destination, traffic_class: 0, tcp };
    // Real bytes, as a live gateway has them: copies in the cache then cost what they cost.
    let built = Packet::tcp_bytes(&segment, vec![7; 1400].into());
    Packet::parse(built.to_wire()).unwrap()
}

fn gateway(name: &str) -> Harness<Gateway> {
    let mut rng = Rng::derive(1, name);
    let link = LinkFacts { rate: Some(Rate::from_bps(1_000_000_000)), ..LinkFacts::default() };
    let mut site = Site { end: End::Near, link, rng: &mut rng, max_memory: MAX_MEMORY, forecast: None };
    Harness::new(Gateway::new(&GsnoopSettings::default(), &mut site), name)
}

#[test]
fn a_million_flows_stay_within_memory_and_a_real_one_is_still_repaired() {
    let mut a = gateway("a");
    let mut now = Instant::from_nanos(1_000_000_000);
    let step = Duration::from_micros(20);
    let hello = |a: &mut Harness<Gateway>, now: Instant| {
        let stamp = now.as_nanos() - 10_000_000;
        let hello = Hello { epoch: 1, stamp: now.as_nanos(), echo: stamp, held: 0 };
        a.control(now, &Message::Hello(hello).encode());
    };
    let before = resident_bytes();
    for flow in 0..1_000_000 {
        if flow % 1000 == 0 {
            hello(&mut a, now);
        }
        a.packet(now, Port::INNER, segment(flow, flow.wrapping_mul(7919)));
        now += step;
        a.tick(now);
        a.io.link.clear();
        a.io.control.clear();
    }
    assert_eq!(a.count(Event::FLOW_NEW), 1_000_000);
    match before.zip(resident_bytes()) {
        Some((before, after)) => {
            let growth = after.saturating_sub(before);
            println!("resident growth {:.1} MiB", growth as f64 / f64::from(1 << 20));
            assert!(growth <= MAX_MEMORY.0 / 10 * 11, "{growth} bytes for {} allowed", MAX_MEMORY.0);
        }
        None => println!("skipped: resident memory cannot be read here; flow table bound checked only"),
    }
    assert!(a.element_memory() <= MAX_MEMORY.0);

    let real = segment(2_000_000, 500);
    let flow = real.flow().unwrap();
    a.packet(now, Port::INNER, real);
    now += Duration::from_millis(15);
    hello(&mut a, now);
    a.io.link.clear();
    let nack = Message::Nack(flow, vec![(SeqNum(500), SeqNum(1900))]);
    a.control(now, &nack.encode());
    a.tick(now + Duration::from_millis(1));
    assert_eq!(a.count(Event::REPAIR), 1);
    assert_eq!(a.io.link.iter().filter(|packet| packet.flow() == Some(flow)).count(), 1);
}

trait Memory {
    fn element_memory(&self) -> u64;
}

impl Memory for Harness<Gateway> {
    fn element_memory(&self) -> u64 {
        self.gauge(airtcp_core::Gauge::MEMORY_BYTES).unwrap_or(0)
    }
}
