//! What a gateway costs: packets per second through one with G-Snoop, or into a trunk of either carriage, on a link without loss,
//! against a loop that writes back unseen what it reads, on the same devices, in turns.
//!
//! The gateway under test has a core of its own. The other core sends, never more ahead than the
//! queues take, so that nothing is lost, and counts what left the gateway; what it counted goes
//! no further. The other end's gateway is there, in reach, and sees none of it.
//!
//! A benchmark: `make bench` sets AIRTCP_BENCH and runs it; otherwise it says so and passes on.

mod gateway_support;

use airtcp_core::{Packet, SeqNum};
use airtcp_linux::sys::sched::pin_to_core;
use gateway_support::packet::{Counter, Tap, ipv4};
use gateway_support::{Gateway, Net, Stopwatch, can_run};
use std::time::Duration;

/// Rounds of each kind, taken in turns.
const ROUNDS: usize = 7;
const ROUND: Duration = Duration::from_millis(1200);
/// Packets sent and not yet counted: more than a batch, less than a device's queue.
const AHEAD: u64 = 256;
/// Nothing counted for so long: what was ahead is lost.
const PATIENCE: Duration = Duration::from_millis(50);
/// What is sent is longer, and messages of gateways are shorter but for those of a tunnel.
const LONG: u32 = 1000;

/// Which part of a gateway is measured: packets to the link or packets off it.
struct Role {
    name: &'static str,
    scheme: &'static str,
    settings: &'static [(&'static str, &'static str)],
    /// TCP bytes of a packet.
    payload: u32,
    /// Least share of what the bare loop does.
    target: f64,
    /// The gateway under test and the other one.
    gateway: &'static str,
    peer: &'static str,
    /// Where packets come from, through which device.
    source: (&'static str, &'static str),
    /// Where they are counted and end, at which device.
    sink: (&'static str, &'static str),
}

const TO_THE_LINK: Role = Role {
    name: "to the link",
    scheme: "gsnoop",
    settings: &[],
    payload: 1448,
    target: 0.8,
    gateway: "a",
    peer: "b",
    source: ("s", "wire"),
    sink: ("b", "air"),
};

const INTO_A_TRUNK: Role = Role { name: "into a trunk", scheme: "decoupling", target: 0.7, ..TO_THE_LINK };

const ROLES: [Role; 4] = [
    TO_THE_LINK,
    Role { name: "off the link", gateway: "b", peer: "a", source: ("a", "air"), sink: ("r", "lan"), ..TO_THE_LINK },
    // What arrives passes beside the gateway.
    INTO_A_TRUNK,
    // A packet and what is around it are no longer than the link takes.
    Role { name: "into a tunnel", settings: &[("carriage", "tunnel")], payload: 1300, ..INTO_A_TRUNK },
];

/// A TCP data segment of so many bytes with a valid checksum.
fn segment(payload: u32) -> Packet {
    let mut tcp = vec![0x30, 0x39, 0x13, 0x8a, 0, 0, 0, 1, 0, 0, 0, 2, 0x80, 0x10, 0xff, 0xff];
    tcp.extend([0, 0, 0, 0, 1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2]);
    tcp.extend(std::iter::repeat_n(0x5a, payload as usize));
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

/// Packets per second that get through, and how many did not.
fn measure(net: &Net, role: &Role) -> (f64, u64) {
    let tap = Tap::open(net, role.source.0, role.source.1, role.gateway);
    let counter = Counter::of_longer(net, role.sink.0, role.sink.1, LONG);
    let template = segment(role.payload);
    let start = Stopwatch::start();
    let mut progress = Stopwatch::start();
    let (mut sequence, mut sent, mut counted, mut lost) = (SeqNum(1), 0, 0, 0);
    while start.elapsed() < ROUND {
        let news = counter.arrived();
        counted += news;
        if news > 0 {
            progress = Stopwatch::start();
        } else if progress.elapsed() > PATIENCE {
            lost += sent - counted - lost;
        }
        while sent < counted + lost + AHEAD {
            let mut packet = template.clone();
            packet.set_sequence(sequence);
            sequence += role.payload;
            tap.send(&packet.to_wire());
            sent += 1;
        }
    }
    (counted as f64 / start.elapsed().as_secs_f64(), lost)
}

fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Starts the gateways, the one under test on the last core, and stays on the first.
fn start(net: &Net, role: &Role, option: &str) -> Vec<Gateway> {
    let cores = std::thread::available_parallelism().unwrap().get();
    let gateways = [(role.gateway, cores - 1, option), (role.peer, 0, "")].map(|(host, core, option)| {
        pin_to_core(core).expect("the core is there");
        let settings = role.settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).into())).collect();
        let config = airtcp_linux::gateway::Config { scheme: role.scheme.into(), settings, ..net.config(host) };
        net.gateway_with(host, config, option)
    });
    let mut gateways = Vec::from(gateways);
    if option.is_empty() {
        for gateway in &mut gateways {
            gateway.wait_for("at the other end", |status| status.gauges.get("peer_in_reach") == Some(&1));
        }
    }
    gateways
}

#[test]
fn bench_a_gateway_forwards_at_least_its_share_of_what_a_bare_loop_does() {
    if std::env::var_os("AIRTCP_BENCH").is_none() {
        println!("a benchmark: make bench runs it");
        return;
    }
    if !can_run() {
        return;
    }
    if std::thread::available_parallelism().unwrap().get() < 2 {
        println!("skipped: the gateway needs a core of its own, and there is one only");
        return;
    }
    let net = Net::new();
    net.meet();
    let mut slow = Vec::new();
    for role in &ROLES {
        // What was counted goes no further: its way on would cost the sender's core.
        let host = role.sink.0;
        net.exec(
            host,
            "nft 'table ip t { chain c { type filter hook prerouting priority -300; tcp dport 5002 drop; udp length > 1000 drop; }; }'",
        );
        let mut rates = [const { Vec::new() }; 2];
        let mut losses = 0;
        for _ in 0..ROUNDS {
            for (rates, option) in rates.iter_mut().zip(["--unseen", ""]) {
                let running = start(&net, role, option);
                // A window that begins with one segment has grown.
                measure(&net, role);
                let (rate, lost) = measure(&net, role);
                rates.push(rate);
                losses += lost;
                running.into_iter().for_each(Gateway::stop);
            }
        }
        net.exec(host, "nft delete table ip t");
        let [bare, gateway] = rates.map(|rates| median(&rates));
        let target = role.target;
        let verdict = if gateway >= target * bare { "PASS" } else { "FAIL" };
        println!(
            "{verdict}  {:<12}  gateway {gateway:.0}, bare loop {bare:.0} packets/s: {:.2}  target {target:.2}  ({losses} lost)",
            role.name,
            gateway / bare
        );
        if gateway < target * bare {
            slow.push(role.name);
        }
    }
    assert!(slow.is_empty(), "below their targets: {slow:?}");
}
