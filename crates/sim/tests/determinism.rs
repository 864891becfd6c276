//! The same seed gives the same run, and what does not matter changes nothing.

use crate::common;
use crate::common::{Demo, demo, essence};
use airtcp_core::Duration;
use airtcp_sim::RunSettings;

fn settings(seed: u64) -> RunSettings {
    RunSettings { seed, duration: Duration::from_secs(6), warmup: Duration::from_secs(1), ..RunSettings::default() }
}

fn network() -> Demo {
    demo(&[("loss", "3%"), ("reorder", "{ probability = \"1%\", delay = \"3ms\" }")]).with_gsnoop().with_bulk("cubic")
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    let (first, second) = (network().run_with(&settings(7)), network().run_with(&settings(7)));
    assert_eq!(first, second);
    assert_ne!(first.trace_hash, network().run_with(&settings(8)).trace_hash);
}

#[test]
fn an_idle_node_changes_no_other_components_draws() {
    let mut larger = network();
    let idle = larger.topology.node("idle");
    let link = common::link(&[("rate", "1Mbit"), ("loss", "10%")]);
    larger.topology.link("idle", larger.ends[0], idle, link.clone(), link);
    let (small, large) = (network().run_with(&settings(7)), larger.run_with(&settings(7)));
    assert_eq!((small.trace_hash, &small.flows), (large.trace_hash, &large.flows));
}

#[test]
fn nothing_depends_on_where_sequence_numbers_and_timestamps_begin() {
    let plain = network().run_with(&settings(7));
    let wrapping = network().run_with(&RunSettings { near_wrap: true, ..settings(7) });
    assert_eq!(essence(&plain.flows[0]), essence(&wrapping.flows[0]));
    assert_eq!(plain.schemes, wrapping.schemes);
    assert_ne!(plain.trace_hash, wrapping.trace_hash, "the numbers on the wire do differ");
}

#[test]
fn checks_do_not_change_the_run() {
    let unchecked = RunSettings { checks: false, ..settings(7) };
    let outcome = network().topology.run(&unchecked).unwrap();
    assert_eq!(outcome.trace_hash, network().run_with(&settings(7)).trace_hash);
    assert_eq!(outcome.checks.conservation, None);
}
