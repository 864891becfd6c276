//! What the gateways cost: packets per second through G-Snoop at both ends of a link without loss,
//! against a loop that writes back unseen what it reads, on the same devices, in turns.
//!
//! A benchmark: `make bench` sets AIRTCP_BENCH and runs it; otherwise it says so and passes on.

mod gateway_support;

use airtcp_core::{Packet, SeqNum};
use gateway_support::packet::{Tap, ipv4};
use gateway_support::{Gateway, Net, Stopwatch, can_run};
use std::time::Duration;

/// Rounds of each kind, taken in turns.
const ROUNDS: usize = 5;
const ROUND: Duration = Duration::from_millis(1500);
const PAYLOAD: u32 = 1448;

/// A TCP data segment with a valid checksum.
fn segment() -> Packet {
    let mut tcp = vec![0x30, 0x39, 0x13, 0x8a, 0, 0, 0, 1, 0, 0, 0, 2, 0x80, 0x10, 0xff, 0xff];
    tcp.extend([0, 0, 0, 0, 1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2]);
    tcp.extend(std::iter::repeat_n(0x5a, PAYLOAD as usize));
    let damaged = Packet::parse(ipv4(true, 6, 0x4000, &[], &tcp).into()).unwrap();
    let header = airtcp_core::Segment {
        source: damaged.ip().source,
        destination: damaged.ip().destination,
        traffic_class: 0,
        tcp: *damaged.tcp().unwrap(),
    };
    let built = Packet::tcp_bytes(&header, damaged.payload_bytes().unwrap());
    Packet::parse(built.to_wire()).unwrap()
}

fn received(net: &Net) -> u64 {
    net.exec("r", "cat /sys/class/net/lan/statistics/rx_packets").trim().parse().unwrap()
}

/// Packets per second that reach the receiver while the sender sends as fast as it can.
fn measure(net: &Net) -> f64 {
    let (tap, template) = (Tap::open(net, "s", "wire", "a"), segment());
    let (before, start) = (received(net), Stopwatch::start());
    let mut sequence = SeqNum(1);
    while start.elapsed() < ROUND {
        for _ in 0..256 {
            let mut packet = template.clone();
            packet.set_sequence(sequence);
            sequence += PAYLOAD;
            tap.send(&packet.to_wire());
        }
    }
    (received(net) - before) as f64 / start.elapsed().as_secs_f64()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[test]
fn bench_gateways_forward_at_least_four_fifths_of_what_a_bare_loop_does() {
    if std::env::var_os("AIRTCP_BENCH").is_none() {
        println!("a benchmark: make bench runs it");
        return;
    }
    if !can_run() {
        return;
    }
    let net = Net::new();
    net.meet();
    // What nobody listens for: the receiver's answers would share the cores.
    net.exec("r", "nft 'table ip t { chain c { type filter hook prerouting priority -300; drop; }; }'");
    let (mut bare, mut gateway) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        for (option, rates) in [("--unseen", &mut bare), ("", &mut gateway)] {
            let mut running: Vec<Gateway> = ["a", "b"]
                .map(|host| {
                    let mut config = net.config(host);
                    config.scheme = "gsnoop".into();
                    net.gateway_with(host, config, option)
                })
                .into();
            if option.is_empty() {
                for gateway in &mut running {
                    gateway.wait_for("the other end", |status| status.gauges.get("peer_in_reach") == Some(&1));
                }
            }
            rates.push(measure(&net));
            running.into_iter().for_each(Gateway::stop);
        }
    }
    let (bare, gateway) = (median(bare), median(gateway));
    let verdict = if gateway >= 0.8 * bare { "PASS" } else { "FAIL" };
    println!("{verdict}  gateways {gateway:.0}, bare loops {bare:.0} packets/s: {:.2}  target 0.80", gateway / bare);
    assert!(gateway >= 0.8 * bare, "gateways {gateway:.0}, bare loops {bare:.0} packets/s");
}
