//! Runs that would not end by themselves.

use crate::common::{bulk, demo, link, tcp};
use airtcp_core::Duration;
use airtcp_sim::{RunSettings, SimError, Topology};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// An endless flow over a link with a delay of so much, and no rate.
fn over_no_rate(delay: &str) -> Topology {
    let mut topology = Topology::new();
    let [sender, receiver] = ["sender", "receiver"].map(|name| topology.node(name));
    let wire = link(&[("delay", delay)]);
    topology.link("wire", sender, receiver, wire.clone(), wire);
    topology.flow(bulk("bulk", sender, receiver, tcp(&[])));
    topology
}

#[test]
fn packets_that_go_round_in_no_time_end_the_run() {
    for delay in ["0s", "1ns"] {
        let error = over_no_rate(delay).run(&RunSettings::default()).expect_err("time stands still");
        assert!(matches!(error, SimError::Endless { .. }), "{delay}: {error}");
    }
}

#[test]
fn a_link_without_rate_but_with_a_delay_is_no_such_case() {
    let settings = RunSettings { duration: Duration::from_millis(3), warmup: Duration::ZERO, ..RunSettings::default() };
    let outcome = over_no_rate("10us").run(&settings).unwrap();
    assert!(outcome.flows[0].measured_bytes > 6 << 20, "{}", outcome.flows[0].measured_bytes);
}

#[test]
fn whoever_asked_to_stop_is_not_kept_waiting() {
    let stop = Some(Arc::new(AtomicBool::new(true)));
    let settings = RunSettings { duration: Duration::from_secs(1_000_000), stop, ..RunSettings::default() };
    let network = demo(&[]).with_bulk("cubic");
    assert_eq!(network.topology.run(&settings).unwrap_err(), SimError::Stopped);
}
