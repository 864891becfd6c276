//! Probes beside flows: what a ping sees of a path and its queues.

use crate::common::{bulk, link, tcp};
use airtcp_core::Duration;
use airtcp_sim::{NodeId, Outcome, Probe, RunSettings, Topology};

/// a - 10 Mbit/s, 20 ms - b, with a queue of 60 ms, a small flow from `a` to `b` or one that fills the queue.
fn run(fills: bool, loss: &str) -> (Outcome, Topology) {
    let mut topology = Topology::new();
    let [a, b] = ["a", "b"].map(|name| topology.node(name));
    let there = link(&[("rate", "10Mbit"), ("delay", "20ms"), ("queue", "75kB"), ("loss", loss)]);
    topology.link("air", a, b, there, link(&[("rate", "10Mbit"), ("delay", "20ms")]));
    let mut flow = bulk("bulk", a, b, tcp(&[]));
    flow.size = (!fills).then_some(1000);
    topology.flow(flow);
    for (name, from, to) in [("ping", a, b), ("pong", b, a)] {
        topology.probe(probe(name, from, to));
    }
    let settings = RunSettings { duration: Duration::from_secs(10), ..RunSettings::default() };
    (topology.run(&settings).unwrap(), topology)
}

fn probe(name: &str, from: NodeId, to: NodeId) -> Probe {
    Probe { name: name.into(), from, to, every: Duration::from_millis(20), size: 100 }
}

#[test]
fn an_empty_path_takes_its_delays_and_the_time_on_the_links() {
    let (outcome, _) = run(false, "0%");
    assert_eq!(outcome.checks.failure(), None);
    for (probe, name) in outcome.probes.iter().zip(["ping", "pong"]) {
        // 8 s from the end of the warm-up on, each 20 ms; the last one is still on its way.
        assert_eq!((probe.name.as_str(), probe.sent), (name, 400));
        assert!((398..=400).contains(&probe.received), "{probe:?}");
        assert!(probe.rtt.p50.abs_diff(40_160_000) < 700_000, "{probe:?}");
        assert_eq!(probe.rtt_or_lost, probe.rtt, "what is still on its way is not lost");
    }
}

#[test]
fn a_path_that_goes_down_for_good_loses_what_waits_longer_than_any_that_came() {
    // Of the eight seconds three are left.
    let (outcome, _) = run(false, "0%, 100% from 5s");
    let ping = &outcome.probes[0];
    assert!(ping.received.abs_diff(149) <= 2, "{ping:?}");
    assert_eq!((ping.rtt_or_lost.p50, ping.rtt_or_lost.p95), (8_000_000_000, 8_000_000_000), "{ping:?}");
}

#[test]
fn an_answer_that_comes_twice_counts_once() {
    let mut topology = Topology::new();
    let [a, b] = ["a", "b"].map(|name| topology.node(name));
    let twice = link(&[("rate", "10Mbit"), ("delay", "20ms"), ("duplicate", "100%")]);
    topology.link("air", a, b, twice.clone(), twice);
    topology.probe(probe("ping", a, b));
    let settings = RunSettings { duration: Duration::from_secs(10), ..RunSettings::default() };
    let ping = &topology.run(&settings).unwrap().probes[0];
    assert!((397..=400).contains(&ping.received), "{ping:?}");
}

#[test]
fn a_probe_waits_in_the_queue_that_a_flow_fills() {
    let (outcome, _) = run(true, "0%");
    let [ping, pong] = &outcome.probes[..] else { panic!("two probes") };
    assert!(ping.rtt.p95 > 90_000_000 && ping.rtt.p95 < 102_000_000, "{ping:?}");
    // Its answer, not its question, waits behind the data.
    assert!(pong.rtt.p95.abs_diff(ping.rtt.p95) < 4_000_000, "{pong:?}");
}

#[test]
fn lost_probes_are_missing_and_the_rest_is_conserved() {
    let (outcome, topology) = run(false, "10%");
    let ping = &outcome.probes[0];
    assert!((330..=385).contains(&ping.received), "{ping:?}");
    // One in ten is lost: what came tells nothing of that, what was sent does.
    assert!(ping.rtt.p95.abs_diff(40_160_000) < 700_000, "{ping:?}");
    assert_eq!((ping.rtt_or_lost.p50, ping.rtt_or_lost.p95), (ping.rtt.p50, 8_000_000_000), "the measured time");
    assert_eq!(outcome.checks.failure(), None);
    let again = topology.run(&RunSettings { duration: Duration::from_secs(10), ..RunSettings::default() }).unwrap();
    assert_eq!((again.trace_hash, &again.probes), (outcome.trace_hash, &outcome.probes));
}
