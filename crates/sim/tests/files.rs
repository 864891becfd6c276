//! Files of a simulated host: everything that was written arrives, whatever holds it up.

use crate::common::{bulk, demo, tcp};
use airtcp_core::Duration;
use airtcp_sim::{Flow, RunSettings};

fn completes(size: u64, settings: &[(&str, &str)]) -> bool {
    let mut network = demo(&[]);
    let flow = bulk("file", network.ends[0], network.ends[1], tcp(settings));
    network.topology.flow(Flow { size: Some(size), ..flow });
    let settings = RunSettings { duration: Duration::from_secs(20), digests: true, ..RunSettings::default() };
    let outcome = network.run_with(&settings);
    let flow = &outcome.flows[0];
    flow.completed_at.is_some() && flow.sent_sha256 == flow.received_sha256
}

#[test]
fn a_file_larger_than_the_send_buffer_arrives_completely() {
    assert!(completes(300_000, &[("send_buffer", "20kB")]));
}

#[test]
fn an_endless_flow_goes_on_when_its_send_buffer_was_full() {
    let mut network = demo(&[]);
    network.topology.flow(bulk("bulk", network.ends[0], network.ends[1], tcp(&[("send_buffer", "20kB")])));
    let outcome = network.run(1);
    assert!(outcome.flows[0].total_bytes > 1_000_000, "{}", outcome.flows[0].total_bytes);
}

#[test]
fn an_empty_file_is_complete_once_connected() {
    assert!(completes(0, &[]));
    assert!(completes(1, &[]));
}

#[test]
fn a_receiver_that_asks_whether_its_sender_is_there_gives_up_in_a_long_outage_only() {
    // 5 MB take four seconds, and six of outage.
    let completes = |settings: &[(&str, &str)]| {
        let mut network = demo(&[("outage", "{ start = \"1s\", duration = \"6s\" }")]);
        let flow = bulk("file", network.ends[0], network.ends[1], tcp(settings));
        network.topology.flow(Flow { size: Some(5_000_000), ..flow });
        let outcome = network.run_with(&RunSettings { duration: Duration::from_secs(30), ..RunSettings::default() });
        outcome.flows[0].completed_at.is_some()
    };
    let watchful = [("keepalive", "true"), ("keepalive_time", "2s"), ("keepalive_interval", "1s")];
    assert!(completes(&[]));
    assert!(completes(&[&watchful[..], &[("keepalive_probes", "9")]].concat()));
    assert!(!completes(&[&watchful[..], &[("keepalive_probes", "2")]].concat()));
}
