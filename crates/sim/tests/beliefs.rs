//! What elements say of their links while a run goes on.

use crate::common::{Demo, demo};
use airtcp_core::{Duration, Instant};
use airtcp_schemes::{SCHEMES, find};
use airtcp_sim::{Belief, RunSettings};

fn network() -> Demo {
    demo(&[("rate", "10Mbit, 4Mbit from 5s")])
}

fn settings(series: bool) -> RunSettings {
    let [duration, warmup] = [10, 1].map(Duration::from_secs);
    RunSettings { duration, warmup, series, ..RunSettings::default() }
}

#[test]
fn a_gateway_follows_the_rate_of_its_link() {
    let outcome = network().with_gsnoop().with_bulk("cubic").run_with(&settings(true));
    let [near, far] = &outcome.schemes[0].elements[..] else { panic!("two ends") };
    assert_eq!((near.node.as_str(), far.node.as_str()), ("a", "b"));
    assert_eq!((near.beliefs.len(), far.beliefs.len()), (100, 100), "each 100 ms of 10 s");
    let mean = |from: u64, value: fn(&Belief) -> u64| {
        let [from, until] = [from, from + 1].map(|seconds| Instant::ZERO + Duration::from_secs(seconds));
        let within: Vec<u64> =
            near.beliefs.iter().filter(|belief| from < belief.at && belief.at <= until).map(value).collect();
        within.iter().sum::<u64>() / within.len() as u64
    };
    let [before, after] = [4, 9].map(|second| mean(second, |belief| belief.rate_bps));
    assert!(before.abs_diff(10_000_000) < 1_000_000 && after.abs_diff(4_000_000) < 500_000, "{before} {after}");
    assert!(mean(9, |belief| belief.queue_bytes) > 1500, "the queue is here");
    assert!(mean(9, |belief| belief.link_wait.as_millis()) < 20, "and not in the link");
}

#[test]
fn who_knows_no_rate_believes_nothing() {
    let mut network = network().with_bulk("cubic");
    network.topology.scheme("repair", network.air, find(SCHEMES, "snoop").unwrap());
    let outcome = network.run_with(&settings(true));
    assert!(outcome.schemes[0].elements.iter().all(|element| element.beliefs.is_empty()));
}

#[test]
fn looking_changes_nothing() {
    let network = network().with_gsnoop().with_bulk("cubic");
    let [seen, unseen] = [true, false].map(|series| network.run_with(&settings(series)));
    assert!(unseen.schemes[0].elements.iter().all(|element| element.beliefs.is_empty()));
    assert_eq!((seen.trace_hash, seen.events), (unseen.trace_hash, unseen.events));
}
