//! The reference dumbbell: 50 TCP flows over one 100 Mbit/s link, RTT 20 ms, queue 200 packets,
//! 20 s. Prints data packets, events and goodput; `make bench` times it against ns-2 on the same
//! network (`bench/dumbbell.tcl`). The argument `checks` leaves the checks on.

use airtcp_core::Duration;
use airtcp_core::parameters::Parameters;
use airtcp_link::LinkSettings;
use airtcp_sim::{Flow, RunSettings, Topology};
use airtcp_tcp::Config;

fn link(settings: &[(&str, &str)]) -> LinkSettings {
    let mut link = LinkSettings::default();
    for (key, value) in settings {
        link.set(key, value).expect("valid settings");
    }
    link
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |word: &str| arguments.iter().any(|argument| argument == word);
    let mut topology = Topology::new();
    let (left, right) = (topology.node("left"), topology.node("right"));
    let middle = link(&[("rate", "100Mbit"), ("delay", "8ms"), ("queue", "200packets")]);
    topology.link("middle", left, right, middle.clone(), middle);
    let access = link(&[("rate", "1Gbit"), ("delay", "1ms"), ("queue", "10000packets")]);
    let mut tcp = Config::default();
    tcp.set("controller", "reno").expect("reno is built in");
    tcp.set("recovery", "sack").expect("a recovery");
    for index in 0..50 {
        let from = topology.node(&format!("s{index}"));
        let to = topology.node(&format!("d{index}"));
        topology.link(&format!("s{index}"), from, left, access.clone(), access.clone());
        topology.link(&format!("d{index}"), right, to, access.clone(), access.clone());
        let start = Duration::from_millis(10 * index);
        topology.flow(Flow { name: format!("f{index}"), from, to, tcp: tcp.clone(), start, size: None, ipv6: false });
    }
    let settings = RunSettings { warmup: Duration::ZERO, checks: has("checks"), ..RunSettings::default() };
    let outcome = topology.run(&settings).expect("a valid topology");
    let packets: u64 = outcome.flows.iter().map(|flow| flow.segments_sent).sum();
    let bytes: u64 = outcome.flows.iter().map(|flow| flow.total_bytes).sum();
    println!("{packets} data packets, {} events, {:.1} Mbit/s goodput", outcome.events, bytes as f64 * 8.0 / 20e6);
}
