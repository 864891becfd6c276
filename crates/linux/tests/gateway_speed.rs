//! What a gateway costs: packets per second through one with G-Snoop, or into a trunk of either carriage, on a link without loss,
//! against a loop that writes back unseen what it reads, on the same devices, in turns.
//!
//! The gateway under test has a core of its own, and what counts is the processor time that it used: so many packets per
//! second it would move if it never waited. The other core sends, never more ahead than the queues take, so that nothing is
//! lost, and counts what left the gateway; what it counted goes no further. The other end's gateway is on that core, too.
//!
//! A benchmark: `make bench` sets AIRTCP_BENCH to 1 and runs it; to the name of a role, for that one only. Otherwise it says
//! so and passes on.

mod gateway_support;

use airtcp_core::packet::checksum;
use airtcp_core::{Packet, SeqNum};
use airtcp_linux::sys::sched::pin_to_core;
use airtcp_test_support::skip;
use gateway_support::packet::{Tap, ipv4};
use gateway_support::sink::Sink;
use gateway_support::{Gateway, Net, Stopwatch, can_run};
use std::time::Duration;

/// Rounds of each kind, taken in turns.
const ROUNDS: usize = 7;
const ROUND: Duration = Duration::from_millis(1200);
/// Packets sent and not yet counted: more than a batch, less than a device's queue.
const AHEAD: u64 = 256;
/// Packets for each acknowledgment: a receiver at such rates gets them from its interface so.
const RECEIVED_AT_ONCE: u64 = 16;
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
    // Behind the other gateway: it would ask again for what it does not see.
    sink: ("r", "lan"),
};

// Nobody asks again for what a trunk lost, so packets may end before the other gateway.
const INTO_A_TRUNK: Role =
    Role { name: "into a trunk", scheme: "decoupling", target: 0.7, sink: ("b", "air"), ..TO_THE_LINK };

const ROLES: [Role; 4] = [
    TO_THE_LINK,
    Role { name: "off the link", gateway: "b", peer: "a", source: ("a", "air"), ..TO_THE_LINK },
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
    built(&damaged)
}

/// The same packet with a valid checksum.
fn built(damaged: &Packet) -> Packet {
    let header = airtcp_core::Segment {
        source: damaged.ip().source,
        destination: damaged.ip().destination,
        traffic_class: 0,
        tcp: *damaged.tcp().unwrap(),
    };
    let built = Packet::tcp_bytes(&header, damaged.payload_bytes().unwrap_or_default());
    Packet::parse(built.to_wire()).unwrap()
}

/// What the receiver says when everything before `next` is there.
fn acknowledgment(next: SeqNum) -> Vec<u8> {
    let mut tcp = vec![0x13, 0x8a, 0x30, 0x39, 0, 0, 0, 2];
    tcp.extend(next.0.to_be_bytes());
    tcp.extend([0x80, 0x10, 0xff, 0xff, 0, 0, 0, 0, 1, 1, 8, 10, 0, 0, 0, 2, 0, 0, 0, 1]);
    let damaged = Packet::parse(ipv4(false, 6, 0x4000, &[], &tcp).into()).unwrap();
    built(&damaged).to_wire().to_vec()
}

/// The packet with its number in the IP header, where Linux counts the packets of a connection.
fn numbered(packet: &Packet, number: u16) -> Vec<u8> {
    let mut bytes = packet.to_wire().to_vec();
    let before = u16::from_be_bytes([bytes[4], bytes[5]]);
    bytes[4..6].copy_from_slice(&number.to_be_bytes());
    let sum = u16::from_be_bytes([bytes[10], bytes[11]]);
    bytes[10..12].copy_from_slice(&checksum::update(sum, before, number).to_be_bytes());
    bytes
}

/// Packets that get through per second of the gateway's processor time, and how many did not. They begin at `sequence`, which
/// moves on: what came again would be a retransmission.
fn measure(net: &Net, role: &Role, gateway: &Gateway, sequence: &mut SeqNum) -> (f64, u64) {
    let tap = Tap::open(net, role.source.0, role.source.1, role.gateway);
    let sink = Sink::of_longer(net, role.sink.0, role.sink.1, LONG).expect("a kernel with TCX");
    let template = segment(role.payload);
    // What comes to the receiver is acknowledged.
    let receiver = (role.sink.0 == "r").then(|| Tap::open(net, "r", "lan", "b"));
    let first = *sequence;
    let used = gateway.processor_time();
    let start = Stopwatch::start();
    let mut progress = Stopwatch::start();
    let (mut sent, mut counted, mut acknowledged, mut lost) = (0, 0, 0, 0);
    while start.elapsed() < ROUND {
        let news = sink.arrived();
        counted += news;
        if news > 0 {
            progress = Stopwatch::start();
            if let Some(receiver) =
                receiver.as_ref().filter(|_| lost == 0 && counted - acknowledged >= RECEIVED_AT_ONCE)
            {
                receiver.send(&acknowledgment(first + role.payload.wrapping_mul(counted as u32)));
                acknowledged = counted;
            }
        } else if progress.elapsed() > PATIENCE {
            lost += sent - counted - lost;
            progress = Stopwatch::start();
        } else {
            // The other end's gateway is on this core, and what it has to say must not wait for the end of a time slice.
            std::thread::yield_now();
        }
        while sent < counted + lost + AHEAD {
            let mut packet = template.clone();
            packet.set_sequence(*sequence);
            *sequence += role.payload;
            tap.send(&numbered(&packet, sent as u16));
            sent += 1;
        }
    }
    let spent =
        gateway.processor_time().checked_sub(used).expect("a worker that stood still for a second was started anew");
    (counted as f64 / spent.as_secs_f64(), lost)
}

/// What arrives at a host is that host's work: without this, whoever sends through a pair of devices does the work of the
/// receiver, too. (Documentation/networking/scaling.rst: RPS)
fn leave_arrivals_to_first_core(net: &Net) {
    for (host, device) in [("a", "wire"), ("a", "air"), ("b", "air"), ("b", "lan"), ("r", "lan")] {
        net.exec(host, &format!("sh -c 'echo 1 > /sys/class/net/{device}/queues/rx-0/rps_cpus'"));
    }
}

/// What the kernel frees where it was made, although somebody else took it: `net.core.skb_defer_max` is 0 while this lives.
///
/// What one processor frees goes back to the one that made it, which is interrupted for that. Two hosts in one kernel would
/// so be paid for by the sender's processor.
struct FreedWhereTaken(Option<String>);

const DEFER_MAX: &str = "/proc/sys/net/core/skb_defer_max";

impl FreedWhereTaken {
    fn begin() -> FreedWhereTaken {
        // Kernels before 6.0 free at once.
        let before = std::fs::read_to_string(DEFER_MAX).ok();
        before.iter().for_each(|_| std::fs::write(DEFER_MAX, "0").expect("root may set it"));
        FreedWhereTaken(before)
    }
}

impl Drop for FreedWhereTaken {
    fn drop(&mut self) {
        self.0.iter().for_each(|before| {
            let _ = std::fs::write(DEFER_MAX, before.trim());
        });
    }
}

fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Starts the gateways, the one under test on a core of its own, and stays on the first with the other.
fn start(net: &Net, role: &Role, own_core: usize, option: &str) -> Vec<Gateway> {
    let gateways = [(role.gateway, own_core, option), (role.peer, 0, "")].map(|(host, core, option)| {
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
    let Ok(wanted) = std::env::var("AIRTCP_BENCH") else {
        println!("a benchmark: make bench runs it");
        return;
    };
    if !can_run() {
        return;
    }
    // Asked once: whoever is pinned to a core is told that there is one only.
    let cores = std::thread::available_parallelism().unwrap().get();
    if cores < 2 {
        return skip("the gateway needs a core of its own, and there is one only");
    }
    let net = Net::new();
    net.meet();
    leave_arrivals_to_first_core(&net);
    let _freed = FreedWhereTaken::begin();
    let mut slow = Vec::new();
    for role in ROLES.iter().filter(|role| wanted == role.name || wanted == "1") {
        let mut rates = [const { Vec::new() }; 2];
        let mut losses = 0;
        for _ in 0..ROUNDS {
            for (rates, option) in rates.iter_mut().zip(["--unseen", ""]) {
                let running = start(&net, role, cores - 1, option);
                let mut sequence = SeqNum(1);
                // A window that begins with one segment has grown.
                measure(&net, role, &running[0], &mut sequence);
                let (rate, lost) = measure(&net, role, &running[0], &mut sequence);
                rates.push(rate);
                losses += lost;
                running.into_iter().for_each(Gateway::stop);
            }
        }
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
