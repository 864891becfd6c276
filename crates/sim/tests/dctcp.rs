//! DCTCP before a queue that marks from K packets on: the paper's fluid model (Alizadeh et al., SIGCOMM 2010, section 3.3).

use crate::common::{NO_HABITS, bulk, link, mbit, tcp};
use airtcp_core::Duration;
use airtcp_sim::{Outcome, RunSettings, Topology};

/// Packets waiting that are marked no longer: one more is.
const K: f64 = 20.0;
/// A full packet on 100 Mbit/s, ms.
const PACKET_MS: f64 = 0.12;
/// Round trip without a queue: two delays of 5 ms, a full packet on the way and its acknowledgment.
const BASE_MS: f64 = 10.0 + PACKET_MS + 0.0042;

const STEP: &str = "{ kind = \"red\", limit = \"1000packets\", min = \"21packets\", max = \"21packets\", weight = \"100%\", \
                    gentle = false, ecn = true }";

fn run(flows: u32, controller: &str, queue: &str) -> Outcome {
    run_with(flows, &[("controller", controller)], queue)
}

fn run_with(flows: u32, settings: &[(&str, &str)], queue: &str) -> Outcome {
    let mut topology = Topology::new();
    let [sender, receiver] = ["sender", "receiver"].map(|name| topology.node(name));
    let there = link(&[("rate", "100Mbit"), ("delay", "5ms"), ("queue", queue)]);
    let back = link(&[("rate", "100Mbit"), ("delay", "5ms")]);
    topology.link("wire", sender, receiver, there, back);
    for n in 0..flows {
        let settings = tcp(&[&[NO_HABITS, ("ecn", "true")], settings].concat());
        topology.flow(bulk(&format!("bulk{n}"), sender, receiver, settings));
    }
    let settings =
        RunSettings { duration: Duration::from_secs(12), warmup: Duration::from_secs(4), ..Default::default() };
    let outcome = topology.run(&settings).unwrap();
    assert_eq!(outcome.checks.failure(), None);
    outcome
}

/// Packets that wait, by a round trip.
fn waiting(rtt_ns: u64) -> f64 {
    (rtt_ns as f64 / 1e6 - BASE_MS) / PACKET_MS
}

fn counted(outcome: &Outcome, name: &str) -> f64 {
    let counts = outcome.flows.iter().flat_map(|flow| &flow.controller);
    counts.filter(|(counter, _)| *counter == name).map(|(_, count)| *count as f64).sum()
}

/// Alpha averaged over windows.
fn alpha(outcome: &Outcome) -> f64 {
    counted(outcome, "alpha_millionths_sum") / counted(outcome, "windows") / 1e6
}

#[test]
fn one_flow_keeps_the_queue_at_the_threshold_as_the_fluid_model_says() {
    // W* is what fills path and queue to the threshold; a window of more is marked, and loses D = W alpha / 2.
    let window: f64 = BASE_MS / PACKET_MS + K;
    let model = (2.0 / window).sqrt();
    let swing = (window + 1.0) * model / 2.0;
    // The model reduces at once; in proportion, as Linux does, some of the next window is still marked, and reduced for. It
    // has no swing of alpha, which g = 1/16 has, and no bursts of two, which delayed acknowledgments let out: the first of
    // them is not marked.
    let [at_once, small_g, each] =
        [("proportional_reduction", "false"), ("controller", "dctcp g=1.5625%"), ("delayed_ack_segments", "1")];
    let plain = ("controller", "dctcp");
    for (settings, tolerance) in [
        ([small_g, each, at_once], 0.1),
        ([plain, each, at_once], 0.25),
        ([small_g, each, each], 0.4),
        ([plain, plain, plain], 0.4),
    ] {
        let outcome = run_with(1, &settings, STEP);
        let seen = alpha(&outcome);
        let [middle, high] = [outcome.flows[0].rtt.p50, outcome.flows[0].rtt.p95].map(waiting);
        println!(
            "{settings:?}: alpha {seen:.3}, {model:.3}; waiting {middle:.1}, {high:.1}, swing {swing:.1}; {}",
            mbit(&outcome)
        );
        assert!((seen / model - 1.0).abs() < tolerance, "{settings:?}: alpha {seen}, not {model}");
        assert!((K - swing - 1.0..=K + 1.0).contains(&middle), "{settings:?}: {middle} packets wait");
        assert!(high <= K + 3.0, "{settings:?}: {high} packets wait");
        assert!(mbit(&outcome) > 0.995 * 100.0 * 1448.0 / 1500.0, "{}", mbit(&outcome));
        assert_eq!(outcome.flows[0].retransmitted_segments, 0);
        assert!(outcome.drops.is_empty(), "{:?}", outcome.drops);
    }
}

#[test]
fn eight_flows_swing_by_a_packet_or_two_each_and_share_alike() {
    let outcome = run(8, "dctcp", STEP);
    let [middle, high] = [outcome.flows[0].rtt.p50, outcome.flows[0].rtt.p95].map(waiting);
    let shares: Vec<f64> = outcome.flows.iter().map(|flow| flow.measured_bytes as f64).collect();
    let (sum, squares) = (shares.iter().sum::<f64>(), shares.iter().map(|share| share * share).sum::<f64>());
    let jain = sum * sum / (8.0 * squares);
    println!("{middle:.1} and {high:.1} packets wait, Jain's index {jain:.3}, {:.2} Mbit/s", mbit(&outcome));
    println!("alpha {:.3}, p99 {:.1}, drops {:?}", alpha(&outcome), waiting(outcome.flows[0].rtt.p99), outcome.drops);
    // Q_max = K + N, and delayed acknowledgments let two packets out at once.
    assert!(high <= K + 8.0 * 2.0, "{high} packets wait");
    assert!(jain > 0.95, "{jain}");
    assert!(mbit(&outcome) > 0.99 * 100.0 * 1448.0 / 1500.0, "{}", mbit(&outcome));
}

#[test]
fn reno_with_marks_from_the_same_threshold_leaves_the_link_idle() {
    // K is less than a path's volume below Reno's sawtooth, which takes half of 103 packets and leaves 83 unfilled.
    let (ours, reno) = (mbit(&run(1, "dctcp", STEP)), mbit(&run(1, "reno", STEP)));
    println!("dctcp {ours:.1}, reno {reno:.1}");
    assert!(reno < 0.95 * ours, "{reno} of {ours}");
}

#[test]
fn without_marks_it_is_reno() {
    let [ours, reno] = ["dctcp", "reno"].map(|controller| run(1, controller, "40packets"));
    let essence =
        |outcome: &Outcome| outcome.flows.iter().map(|flow| (flow.total_bytes, flow.segments_sent)).collect::<Vec<_>>();
    assert_eq!(essence(&ours), essence(&reno));
    assert!(ours.flows[0].retransmitted_segments > 0);
}
