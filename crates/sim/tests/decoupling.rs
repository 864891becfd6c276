//! Trunks of TCP Decoupling: many flows through one circuit (DEC-28).

use crate::common::*;
use airtcp_core::{CONTROL_DSCP, DropReason, Duration, Gauge, Instant, Packet, Payload};
use airtcp_schemes::papers::decoupling::events as trunk_events;
use airtcp_schemes::{SCHEMES, SchemeEntry, find};
use airtcp_sim::{Direction, Flow, NodeId, Outcome, RunSettings, Tap, Topology};
use std::collections::BTreeSet;

fn decoupling() -> &'static SchemeEntry {
    find(SCHEMES, "decoupling").expect("the scheme is in the table")
}

/// s1, s2, ... - a - c - d - e - r1, r2, ...: trunks lead from a to e, and c - d is the bottleneck of 10 Mbit/s.
struct Backbone {
    topology: Topology,
    senders: Vec<NodeId>,
    receivers: Vec<NodeId>,
    edges: [NodeId; 2],
}

fn backbone(pairs: usize, bottleneck: &[(&str, &str)]) -> Backbone {
    let mut topology = Topology::new();
    let [a, c, d, e] = ["a", "c", "d", "e"].map(|name| topology.node(name));
    let wire = link(&[("rate", "100Mbit"), ("delay", "0.1ms")]);
    let base = [("rate", "10Mbit"), ("delay", "9ms"), ("queue", "{ kind = \"droptail\", limit = \"50 packets\" }")];
    let narrow = link(&[&base, bottleneck].concat());
    topology.link("in", a, c, wire.clone(), wire.clone());
    topology.link("narrow", c, d, narrow.clone(), link(&base));
    topology.link("out", d, e, wire.clone(), wire.clone());
    let mut hosts = |letter: char, edge: NodeId, name: &str| {
        let host = topology.node(&format!("{letter}{name}"));
        topology.link(&format!("{letter}{name}"), host, edge, wire.clone(), wire.clone());
        host
    };
    let names: Vec<String> = (1..=pairs).map(|number| number.to_string()).collect();
    let senders = names.iter().map(|name| hosts('s', a, name)).collect();
    let receivers = names.iter().map(|name| hosts('r', e, name)).collect();
    Backbone { topology, senders, receivers, edges: [a, e] }
}

impl Backbone {
    fn with_trunk(mut self, settings: &[(&str, &str)]) -> Self {
        self.topology.scheme("trunk", self.edges, decoupling().with(owned(settings)).unwrap());
        self
    }

    fn with_bulk(mut self) -> Self {
        for (number, (from, to)) in self.senders.iter().zip(&self.receivers).enumerate() {
            self.topology.flow(bulk(&format!("f{number}"), *from, *to, tcp(&[])));
        }
        self
    }
}

fn run(topology: &Topology, seconds: u64) -> Outcome {
    let settings = RunSettings { duration: Duration::from_secs(seconds), ..RunSettings::default() };
    let outcome = topology.run(&settings).unwrap();
    assert_eq!(outcome.checks.failure(), None);
    outcome
}

#[test]
fn dec_28_an_aggregate_of_flows_fills_the_bottleneck_through_one_trunk() {
    let outcome = run(&backbone(5, &[]).with_trunk(&[]).with_bulk().topology, 30);
    // Of 10 Mbit/s, a header packet of 52 bytes for each 1500 and TCP's own headers leave 9.33.
    assert!(mbit(&outcome) > 0.9 * 9.33, "{} Mbit/s", mbit(&outcome));
}

#[test]
fn dec_28_header_packets_in_messages_let_out_as_much_and_under_a_queue_for_each_flow_none_waits_long() {
    let fifo = ("queue", "{ kind = \"droptail\", limit = \"50packets\" }");
    let calm = [("recovery", "newreno"), ("rto_tick", "auto")];
    let with = |more: &[(&str, &str)]| {
        let outcome = run(&backbone(5, &[]).with_trunk(&[&calm, more].concat()).with_bulk().topology, 30);
        let trunk = &outcome.schemes[0];
        assert!(events(trunk, trunk_events::HEADER_PACKET) > 10_000, "{trunk:?}");
        (mbit(&outcome), outcome.drops.iter().any(|drop| drop.reason == DropReason::AQM))
    };
    let ((segments, _), (messages, _), (queued, is_managed)) =
        (with(&[]), with(&[("headers", "udp"), fifo]), with(&[("headers", "udp")]));
    // A message takes 89 bytes where a segment takes 52: of 1500 that is 2.5 %.
    assert!(segments > 0.9 * 9.33 && messages > 0.95 * segments, "{segments} and {messages} Mbit/s");
    assert!(queued > 0.95 * segments && is_managed, "{queued} Mbit/s");
}

#[test]
fn dec_19_dec_28_a_file_through_a_trunk_arrives_whole_and_acknowledgments_pass_beside_it() {
    for ipv6 in [false, true] {
        let mut network = backbone(1, &[("loss", "0.5%")]).with_trunk(&[]);
        let flow = bulk("file", network.senders[0], network.receivers[0], tcp(&[]));
        network.topology.flow(Flow { size: Some(5_000_000), ipv6, ..flow });
        let settings = RunSettings { duration: Duration::from_secs(60), digests: true, ..RunSettings::default() };
        let outcome = network.topology.run(&settings).unwrap();
        assert_eq!(outcome.checks.failure(), None);
        assert!(outcome.flows[0].completed_at.is_some());
        assert_eq!(outcome.flows[0].received_sha256, outcome.flows[0].sent_sha256);
        let trunk = &outcome.schemes[0];
        // Nothing of the way back enters the tunnel queue: data and the SYN do.
        assert!(events(trunk, trunk_events::TUNNELLED) < 5_000_000 / 1448 + 600, "{trunk:?}");
        assert!(events(trunk, trunk_events::HEADER_RETRANSMISSION) > 0);
    }
}

#[test]
fn dec_28_a_trunk_in_each_direction_share_their_edges() {
    let mut network = backbone(2, &[]).with_trunk(&[]);
    let [a, e] = network.edges;
    network.topology.scheme("back", [e, a], decoupling());
    let (there, back) = ((network.senders[0], network.receivers[0]), (network.receivers[1], network.senders[1]));
    network.topology.flow(bulk("there", there.0, there.1, tcp(&[])));
    network.topology.flow(bulk("back", back.0, back.1, tcp(&[])));
    let outcome = run(&network.topology, 30);
    for (flow, trunk) in outcome.flows.iter().zip(&outcome.schemes) {
        let share = flow.measured_bytes as f64 * 8e3 / outcome.measured.as_nanos() as f64;
        // The acknowledgments of each way pass the other way's trunk, which shares itself between two.
        assert!(share > 5.0, "{share} Mbit/s, {trunk:?}");
        assert!(events(trunk, trunk_events::HEADER_PACKET) > 5000);
    }
}

#[test]
fn dec_u6_a_full_tunnel_queue_of_a_router_drops_what_comes_and_nothing_else() {
    let network = backbone(3, &[]).with_trunk(&[("tunnel", "20")]).with_bulk();
    let outcome = run(&network.topology, 20);
    let dropped: Vec<_> = outcome.drops.iter().filter(|drop| drop.place == "schemes.trunk.a").collect();
    assert!(matches!(dropped[..], [drop] if drop.reason == DropReason::QUEUE_FULL && drop.packets > 10), "{dropped:?}");
    let longest = outcome.schemes[0].elements[0].gauges.iter().find(|(gauge, _)| *gauge == Gauge::QUEUE_BYTES_MAX);
    assert_eq!(longest.map(|(_, bytes)| *bytes), Some(20 * 1500));
}

/// What two trunks of four flows each get of one bottleneck of 10 Mbit/s with a FIFO of 50 packets, in Mbit/s. Without
/// jitter before it their windows lock onto each other, and the larger bursts take all (DEC-U21).
fn beside(settings: [&[(&str, &str)]; 2]) -> [f64; 2] {
    let mut topology = Topology::new();
    let [c, d] = ["c", "d"].map(|name| topology.node(name));
    let wire = link(&[("rate", "100Mbit"), ("delay", "0.1ms")]);
    let shaky = link(&[("rate", "100Mbit"), ("delay", "0.1ms"), ("jitter", "3ms")]);
    let narrow =
        link(&[("rate", "10Mbit"), ("delay", "9ms"), ("queue", "{ kind = \"droptail\", limit = \"50 packets\" }")]);
    topology.link("narrow", c, d, narrow, link(&[("rate", "10Mbit"), ("delay", "9ms")]));
    for (number, settings) in settings.into_iter().enumerate() {
        let [s, a, e, r] = ["s", "a", "e", "r"].map(|name| topology.node(&format!("{name}{number}")));
        for (name, from, to) in [("s", s, a), ("a", a, c), ("e", d, e), ("r", e, r)] {
            let there = if name == "a" { &shaky } else { &wire };
            topology.link(&format!("{name}{number}"), from, to, there.clone(), wire.clone());
        }
        topology.scheme(
            &format!("trunk{number}"),
            [a, e],
            decoupling().with(owned(&[settings, &[("tunnel", "200")]].concat())).unwrap(),
        );
        for flow in 0..4 {
            topology.flow(bulk(&format!("f{number}{flow}"), s, r, tcp(&[])));
        }
    }
    let outcome = run(&topology, 200);
    let rate = |range: std::ops::Range<usize>| {
        let bytes: u64 = outcome.flows[range].iter().map(|flow| flow.measured_bytes).sum();
        bytes as f64 * 8e3 / outcome.measured.as_nanos() as f64
    };
    [rate(0..4), rate(4..8)]
}

#[test]
fn dec_25_dec_14_vmss_and_the_number_of_control_tcps_divide_a_link() {
    let ratio = |settings| {
        let [one, other] = beside(settings);
        assert!(one + other > 8.0, "{one} and {other} Mbit/s");
        one / other
    };
    let same = ratio([&[("vmss", "1500")], &[("vmss", "1500")]]);
    assert!((0.8..1.25).contains(&same), "{same}");
    let vmss = ratio([&[("vmss", "3000")], &[("vmss", "1500")]]);
    assert!((1.4..2.6).contains(&vmss), "VMSS 3000 against 1500: {vmss}");
    let controls = ratio([&[("controls", "2")], &[("controls", "1")]]);
    assert!((1.4..2.6).contains(&controls), "two control TCPs against one: {controls}");
}

#[test]
fn dec_15_a_trunk_sends_its_guaranteed_bandwidth_beside_what_its_control_tcps_find() {
    let mut network = backbone(2, &[]).with_trunk(&[("gmb", "2Mbit"), ("tunnel", "200")]);
    for (number, (from, to)) in network.senders.iter().zip(&network.receivers).enumerate() {
        network.topology.flow(bulk(&format!("f{number}"), *from, *to, tcp(&[])));
    }
    let outcome = run(&network.topology, 20);
    let guaranteed = events(&outcome.schemes[0], trunk_events::GUARANTEED);
    // Of 20 s at 2 Mbit/s 3333 packets, but for a start and pauses in which nothing waited.
    assert!((3000..=3334).contains(&guaranteed), "{guaranteed} packets");
    assert!(mbit(&outcome) > 8.0, "{} Mbit/s", mbit(&outcome));
}

/// Which links header packets pass, and which ones data.
#[derive(Default)]
struct Ways {
    headers: BTreeSet<usize>,
    data: BTreeSet<usize>,
}

impl Tap for Ways {
    fn on_sent(&mut self, _: Instant, direction: Direction, packet: &Packet) {
        if direction.reverse {
            return;
        }
        if packet.ip().dscp() == CONTROL_DSCP {
            self.headers.insert(direction.link);
        } else if matches!(packet.payload(), Payload::Virtual { len, .. } if len > 0) {
            self.data.insert(direction.link);
        }
    }
    fn on_lost(&mut self, _: Instant, _: Direction, _: &Packet, _: DropReason) {}
    fn on_arrived(&mut self, _: Instant, _: Direction, _: &Packet) {}
    fn on_dropped(&mut self, _: Instant, _: &str, _: &Packet, _: DropReason) {}
}

/// a and e are connected by two ways of the same length, over p and over q; the receiver is behind e.
#[test]
fn dec_20_header_packets_and_their_data_take_the_same_one_of_two_ways() {
    let mut topology = Topology::new();
    let [s, a, p, q, e, r] = ["s", "a", "p", "q", "e", "r"].map(|name| topology.node(name));
    let wire = link(&[("rate", "10Mbit"), ("delay", "1ms")]);
    for (name, from, to) in [("sa", s, a), ("ap", a, p), ("aq", a, q), ("qe", q, e), ("pe", p, e), ("er", e, r)] {
        topology.link(name, from, to, wire.clone(), wire.clone());
    }
    topology.scheme("trunk", [a, e], decoupling());
    topology.flow(bulk("flow", s, r, tcp(&[])));
    let mut ways = Ways::default();
    let outcome = topology.run_tapped(&RunSettings::default(), &mut ways).unwrap();
    assert_eq!(outcome.checks.failure(), None);
    let [first, last] = [0, 5];
    let between: BTreeSet<usize> = ways.data.difference(&BTreeSet::from([first, last])).copied().collect();
    assert_eq!(between.len(), 2, "one way: {between:?}");
    assert_eq!(ways.headers, between);
}

/// What leaves the trunk's path before its end would not meet the header packets' losses: it stays out of the trunk.
#[test]
fn dec_20_data_that_take_another_path_do_not_enter_the_trunk() {
    let mut network = backbone(1, &[]);
    let ([a, e], sender) = (network.edges, network.senders[0]);
    let c = network.topology.nodes().nth(1).unwrap();
    let outsider = network.topology.node("outsider");
    let wire = link(&[("rate", "100Mbit"), ("delay", "0.1ms")]);
    network.topology.link("aside", c, outsider, wire.clone(), wire);
    network.topology.scheme("trunk", [a, e], decoupling());
    network.topology.flow(bulk("aside", sender, outsider, tcp(&[])));
    let outcome = run(&network.topology, 10);
    assert!(mbit(&outcome) > 80.0, "{} Mbit/s", mbit(&outcome));
    assert_eq!(events(&outcome.schemes[0], trunk_events::TUNNELLED), 0);
    assert_eq!(events(&outcome.schemes[0], trunk_events::HEADER_PACKET), 0);
}

#[test]
fn dec_20_impossible_places_are_refused() {
    let error = |prepare: &dyn Fn(&mut Backbone)| {
        let mut network = backbone(1, &[]);
        prepare(&mut network);
        network.topology.run(&RunSettings::default()).err().map(|error| error.to_string()).unwrap()
    };
    let lonely = error(&|network| {
        let island = network.topology.node("island");
        network.topology.scheme("trunk", [network.edges[0], island], decoupling());
    });
    assert_eq!(lonely, "scheme 'trunk': no way leads from 'a' to 'island'; name two nodes that links connect");
    let same = error(&|network| network.topology.scheme("trunk", [network.edges[0]; 2], decoupling()));
    assert!(same.contains("from 'a' to 'a'"), "{same}");
    let twice = error(&|network| {
        let ([a, e], receiver) = (network.edges, network.receivers[0]);
        network.topology.scheme("trunk", [a, e], decoupling());
        network.topology.scheme("other", [a, receiver], decoupling());
    });
    assert!(twice.contains("'other': another scheme"), "{twice}");
    let misplaced = error(&|network| {
        network.topology.scheme("repair", network.edges, find(SCHEMES, "fast-tcp").unwrap());
    });
    assert_eq!(misplaced, "scheme 'repair': 'fast-tcp' is placed on a link or a cell");
}

#[test]
fn dec_21_a_run_through_a_trunk_is_the_same_twice_and_without_shortcuts() {
    let network = backbone(3, &[("loss", "1%")]).with_trunk(&[("controls", "2"), ("vmss", "2000")]).with_bulk();
    let run = |express| {
        let settings = RunSettings { express, ..RunSettings::default() };
        network.topology.run(&settings).unwrap().flows.iter().map(essence).collect::<Vec<_>>()
    };
    assert_eq!(run(true), run(true));
    assert_eq!(run(true), run(false));
}
