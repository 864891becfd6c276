//! What the runtime costs: packets per second through a gateway whose element passes
//! everything on, against a loop that writes back unseen what it reads, on the same devices.

mod gateway_support;

use gateway_support::packet::{Tap, ipv4};
use gateway_support::{Gateway, Net, Stopwatch, can_run};
use std::time::Duration;

/// Rounds of each kind, taken in turns.
const ROUNDS: usize = 3;
const ROUND: Duration = Duration::from_millis(700);

/// A TCP data segment, so that the gateway has a header to parse.
fn segment() -> Vec<u8> {
    let mut tcp = vec![0x30, 0x39, 0x13, 0x8a, 0, 0, 0, 1, 0, 0, 0, 2, 0x80, 0x10, 0xff, 0xff];
    tcp.extend([0, 0, 0, 0, 1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2]);
    tcp.extend(std::iter::repeat_n(0x5a, 1448));
    ipv4(true, 6, 0x4000, &[], &tcp)
}

fn received(net: &Net) -> u64 {
    net.exec("r", "cat /sys/class/net/lan/statistics/rx_packets").trim().parse().unwrap()
}

/// Packets per second that reach the receiver while the sender sends as fast as it can.
fn measure(net: &Net) -> f64 {
    let (tap, packet) = (Tap::open(net, "s", "wire", "a"), segment());
    let (before, start) = (received(net), Stopwatch::start());
    while start.elapsed() < ROUND {
        (0..256).for_each(|_| tap.send(&packet));
    }
    (received(net) - before) as f64 / start.elapsed().as_secs_f64()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[test]
fn a_gateway_forwards_at_least_four_fifths_of_what_a_bare_loop_does() {
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
            let running: Gateway = net.gateway_with("a", net.config("a"), option);
            rates.push(measure(&net));
            running.stop();
        }
    }
    let (bare, gateway) = (median(bare), median(gateway));
    println!("bare loop {bare:.0}, gateway {gateway:.0} packets/s: {:.2}", gateway / bare);
    assert!(gateway >= 0.8 * bare, "gateway {gateway:.0}, bare loop {bare:.0} packets/s");
}
