//! Workloads: requests that begin when they are due, each over a connection of its own.

use crate::common::{link, tcp};
use airtcp_core::Duration;
use airtcp_sim::{Arrival, Outcome, RequestOutcome, RunSettings, Topology, Workload};

const MS: fn(u64) -> Duration = Duration::from_millis;

/// server - 10 Mbit/s, 20 ms - client.
fn run(settings: &[(&str, &str)], arrivals: Vec<Arrival>, connections: u32, seconds: u64) -> Outcome {
    let mut topology = Topology::new();
    let [server, client] = ["server", "client"].map(|name| topology.node(name));
    let base = [("rate", "10Mbit"), ("delay", "20ms"), ("queue", "600kB")];
    let air = link(&[&base, settings].concat());
    topology.link("air", server, client, air.clone(), air);
    topology.workload(Workload {
        name: "web".into(),
        from: server,
        to: client,
        tcp: tcp(&[("time_wait", "1s")]),
        request: 400,
        arrivals: arrivals.into(),
        connections,
        ipv6: false,
    });
    let settings = RunSettings { duration: Duration::from_secs(seconds), ..RunSettings::default() };
    let outcome = topology.run(&settings).unwrap();
    assert_eq!(outcome.checks.failure(), None);
    outcome
}

fn requests(outcome: &Outcome) -> &[RequestOutcome] {
    &outcome.workloads[0].requests
}

/// One request of `size` bytes each `every`.
fn steady(size: u64, every: Duration, count: u64) -> Vec<Arrival> {
    (0..count).map(|number| Arrival { at: every * number, size }).collect()
}

#[test]
fn a_request_alone_takes_two_round_trips_and_its_bytes() {
    let outcome = run(&[], steady(14_480, MS(500), 10), 100, 10);
    for request in requests(&outcome) {
        // 80 ms, 15 kB with headers at 10 Mbit/s; handshake and request take less than a millisecond on the link.
        let took = request.took.expect("nothing was lost").as_micros();
        assert!((92_000..93_500).contains(&took), "{took}");
    }
    assert_eq!(outcome.workloads[0].most_open, 1);
}

#[test]
fn every_request_over_a_lossy_link_is_answered_or_counted_as_not() {
    let outcome = run(&[("loss", "5%")], steady(20_000, MS(40), 1000), 1000, 60);
    let answered = requests(&outcome).iter().filter(|request| request.took.is_some()).count();
    assert_eq!((requests(&outcome).len(), answered), (1000, 1000), "twenty seconds are enough for the last");
    let cut = run(&[("loss", "0%, 100% from 20s")], steady(20_000, MS(40), 1000), 1000, 60);
    let (before, after): (Vec<RequestOutcome>, Vec<RequestOutcome>) =
        requests(&cut).iter().copied().partition(|request| request.at < MS(19_500));
    assert!(before.iter().all(|request| request.took.is_some()));
    assert!(after.iter().filter(|request| request.at > MS(20_000)).all(|request| request.took.is_none()));
}

#[test]
fn a_request_waits_for_room_and_its_time_runs_from_when_it_was_due() {
    // Each takes 92 ms and comes 50 ms after the one before, and one connection may be open.
    let outcome = run(&[], steady(14_480, MS(50), 20), 1, 10);
    let took: Vec<u64> = requests(&outcome).iter().map(|request| request.took.unwrap().as_millis()).collect();
    assert_eq!(outcome.workloads[0].most_open, 1);
    assert!(took.windows(2).all(|pair| pair[1] > pair[0] + 20), "{took:?}");
}

#[test]
fn more_requests_than_a_server_has_client_ports_are_told_apart() {
    let outcome =
        run(&[("rate", "100Mbit"), ("delay", "1ms")], steady(1000, Duration::from_micros(500), 60_000), 1000, 40);
    assert!(requests(&outcome).iter().all(|request| request.took.is_some()));
    assert!(outcome.workloads[0].most_open < 50, "{}", outcome.workloads[0].most_open);
}

#[test]
fn the_same_requests_meet_the_same_fate_again() {
    let one = || run(&[("loss", "2%")], steady(8_000, MS(11), 500), 50, 8);
    assert_eq!((one().trace_hash, one().workloads), (one().trace_hash, one().workloads));
}
