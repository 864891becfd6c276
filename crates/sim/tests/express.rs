//! Packets that pass links without an event arrive as those with one, and a tap sees them at the same times.

use crate::common;
use airtcp_core::{DropReason, Duration, Instant, Packet, Rng};
use airtcp_sim::{Direction, Flow, NodeId, Outcome, RunSettings, Tap, Topology};
use std::collections::BTreeMap;

/// A dumbbell whose bottleneck is three links long, with times that no two packets share.
fn dumbbell(seed: u64, loss: &str) -> (Topology, Vec<NodeId>) {
    dumbbell_with(seed, loss, &[("rate", "50Mbit")])
}

/// The same, its access links with these settings.
fn dumbbell_with(seed: u64, loss: &str, access: &[(&str, &str)]) -> (Topology, Vec<NodeId>) {
    let mut rng = Rng::derive(seed, "express");
    let mut odd = |base: u64| format!("{}ns", base + rng.below(base));
    let mut topology = Topology::new();
    let routers: Vec<_> = (0..4).map(|index| topology.node(&format!("r{index}"))).collect();
    for (index, rate) in ["10Mbit", "7Mbit", "20Mbit"].iter().enumerate() {
        let mut link = common::link(&[("rate", rate), ("delay", &odd(2_000_000)), ("queue", "20packets")]);
        if index == 2 {
            link.loss = airtcp_core::ValueType::read(&loss.into()).unwrap();
        }
        topology.link(&format!("m{index}"), routers[index], routers[index + 1], link.clone(), link);
    }
    for index in 0..5 {
        let (from, to) = (topology.node(&format!("s{index}")), topology.node(&format!("d{index}")));
        for (name, a, b) in [("in", from, routers[0]), ("out", routers[3], to)] {
            let link = common::link(&[access, &[("delay", &odd(500_000))]].concat());
            topology.link(&format!("{name}{index}"), a, b, link.clone(), link);
        }
        let (name, start) = (format!("f{index}"), odd(40_000_000).parse().unwrap());
        let size = (index == 4).then_some(300_000);
        topology.flow(Flow { start, size, ipv6: index % 2 == 0, ..Flow::new(&name, from, to) });
    }
    (topology, routers)
}

fn settings(express: bool) -> RunSettings {
    RunSettings { duration: Duration::from_secs(5), digests: true, express, ..RunSettings::default() }
}

/// What a tap saw, in order.
#[derive(Default)]
struct Seen {
    looks: Vec<(Instant, &'static str, Direction, u32)>,
}

impl Tap for Seen {
    fn on_sent(&mut self, at: Instant, direction: Direction, packet: &Packet) {
        self.looks.push((at, "sent", direction, packet.wire_len()));
    }
    fn on_lost(&mut self, at: Instant, direction: Direction, packet: &Packet, _reason: DropReason) {
        self.looks.push((at, "lost", direction, packet.wire_len()));
    }
    fn on_arrived(&mut self, at: Instant, direction: Direction, packet: &Packet) {
        self.looks.push((at, "arrived", direction, packet.wire_len()));
    }
    fn on_dropped(&mut self, _at: Instant, _place: &str, _packet: &Packet, _reason: DropReason) {}
}

fn without_events(outcome: Outcome) -> Outcome {
    Outcome { events: 0, ..outcome }
}

#[test]
fn a_run_with_express_links_is_the_same_with_fewer_events() {
    for (seed, loss) in [(1, "0%"), (2, "0%"), (3, "1%"), (4, "3%")] {
        let (topology, _) = dumbbell(seed, loss);
        let [express, plain] = [true, false].map(|express| topology.run(&settings(express)).unwrap());
        assert!(express.events * 10 < plain.events * 8, "{} of {} events", express.events, plain.events);
        assert_eq!(express.checks.failure(), None);
        assert!(express.drops.iter().any(|drop| drop.reason == DropReason::QUEUE_FULL));
        assert_eq!(without_events(express), without_events(plain), "seed {seed}");
    }
}

#[test]
fn a_queue_of_any_kind_may_follow_an_express_link() {
    for kind in ["red", "codel", "fq-codel", "ring"] {
        let queue = format!("{{ kind = \"{kind}\", ecn = {} }}", kind != "ring").replace(", ecn = false", "");
        let (topology, _) = dumbbell_with(7, "0%", &[("rate", "1300kbit"), ("queue", &queue)]);
        let [express, plain] = [true, false].map(|express| topology.run(&settings(express)).unwrap());
        assert!(express.events < plain.events, "{kind}: {} of {} events", express.events, plain.events);
        assert_eq!(express.checks.failure(), None, "{kind}");
        assert_eq!(without_events(express), without_events(plain), "{kind}");
    }
}

#[test]
fn a_tap_sees_the_same_at_the_same_times_in_order() {
    let (topology, _) = dumbbell(5, "1%");
    let looks = |express| {
        let mut seen = Seen::default();
        let outcome = topology.run_tapped(&settings(express), &mut seen).unwrap();
        assert_eq!(outcome, topology.run(&settings(express)).unwrap(), "a tap changes nothing");
        assert!(seen.looks.is_sorted_by_key(|look| look.0));
        seen.looks.into_iter().fold(BTreeMap::new(), |mut counts: BTreeMap<_, u32>, look| {
            *counts.entry(look).or_default() += 1;
            counts
        })
    };
    assert_eq!(looks(true), looks(false));
}

/// Ten hosts behind equal links at a router, who send over a link that all share. Jitter bunches acknowledgments, so that
/// several hosts answer in the same nanosecond.
fn star(lan: &[(&str, &str)]) -> Topology {
    let mut topology = Topology::new();
    let [router, far, to] = ["router", "far", "to"].map(|name| topology.node(name));
    let lan = common::link(lan);
    let shared = common::link(&[("rate", "20Mbit"), ("delay", "10ms"), ("jitter", "2ms"), ("queue", "50packets")]);
    topology.link("shared", router, far, shared.clone(), shared);
    topology.link("far", far, to, lan.clone(), lan.clone());
    for index in 0..10 {
        let from = topology.node(&format!("s{index}"));
        topology.link(&format!("lan{index}"), from, router, lan.clone(), lan.clone());
        topology.flow(Flow::new(&format!("f{index}"), from, to));
    }
    topology
}

#[test]
fn packets_that_enter_a_shared_link_at_the_same_time_do_so_in_the_same_order_whoever_looks() {
    let topology = star(&[("rate", "100Mbit"), ("delay", "1ms")]);
    let mut seen = Seen::default();
    let outcome = topology.run_tapped(&settings(true), &mut seen).unwrap();
    assert_eq!(outcome, topology.run(&settings(true)).unwrap());
    assert!(seen.looks.is_sorted_by_key(|look| look.0));
    let forward = Direction { link: 0, reverse: false };
    let mut entered: BTreeMap<Instant, u32> = BTreeMap::new();
    for (at, ..) in seen.looks.iter().filter(|look| look.1 == "sent" && look.2 == forward) {
        *entered.entry(*at).or_default() += 1;
    }
    assert!(entered.values().filter(|count| **count > 1).count() > 10, "several at the same time");
}

#[test]
fn packets_that_enter_a_shared_link_at_the_same_time_do_so_as_with_an_event_for_each_link() {
    let lans = [
        [("rate", "100Mbit"), ("delay", "1ms")],
        [("rate", "20Mbit"), ("delay", "1us")],
        [("rate", "7Mbit"), ("delay", "3ms")],
    ];
    for (lan, seed) in lans.iter().flat_map(|lan| (1..=8).map(move |seed| (lan, seed))) {
        let topology = star(lan);
        let [express, plain] = [true, false]
            .map(|express| without_events(topology.run(&RunSettings { seed, ..settings(express) }).unwrap()));
        assert_eq!(express.trace_hash, plain.trace_hash, "{lan:?}, seed {seed}");
        assert_eq!(express, plain, "{lan:?}, seed {seed}");
    }
}

#[test]
fn a_scheme_or_a_host_on_the_way_takes_its_packets() {
    let same = |topology: &Topology| {
        let [express, plain] = [true, false].map(|express| topology.run(&settings(express)).unwrap());
        assert_eq!(without_events(express), without_events(plain));
    };
    same(&common::demo(&[("loss", "1%")]).with_gsnoop().with_bulk("cubic").topology);
    let (mut topology, routers) = dumbbell(6, "1%");
    let receiver = topology.node("receiver");
    let link = common::link(&[("rate", "3Mbit"), ("delay", "1234567ns")]);
    topology.link("more", routers[2], receiver, link.clone(), link);
    let start = Duration::from_nanos(123_457);
    let size = Some(100_000);
    for (name, from, to) in [("of-router", routers[1], receiver), ("to-router", receiver, routers[2])] {
        topology.flow(Flow { start, size, ..Flow::new(name, from, to) });
    }
    same(&topology);
}

#[test]
fn what_the_far_end_of_a_trunk_sends_takes_its_turn() {
    // Acknowledgments of the control TCP and of the flows share three links on their way back.
    let (mut topology, routers) = dumbbell(8, "0%");
    let trunk = airtcp_schemes::SCHEMES.iter().find(|entry| entry.slug == "decoupling").unwrap();
    topology.scheme("trunk", [routers[0], routers[3]], trunk);
    let [express, plain] = [true, false].map(|express| topology.run(&settings(express)).unwrap());
    assert_eq!(express.checks.failure(), None);
    assert_eq!(without_events(express), without_events(plain));
}
