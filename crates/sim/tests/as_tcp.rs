//! AS-TCP in a cell: what it gains, what it costs, and that every stream stays whole.

mod common;
use airtcp_core::{Duration, Event, Gauge};
use airtcp_schemes::{as_tcp, baselines::split};
use airtcp_sim::Outcome;
use airtcp_sim::dot11::{FrameKind, saturation};
use common::uploads::Cell;
use common::{mbit, owned};

const PACKET: u32 = 1500;
const PAYLOAD: f64 = 1448.0;

fn as_tcp(cell: &Cell, settings: &[(&str, &str)]) -> Outcome {
    cell.run(|topology, wlan, _| topology.scheme("as-tcp", wlan, &as_tcp::ENTRY, &owned(settings)))
}

fn count(outcome: &Outcome, event: Event) -> u64 {
    let all = outcome.schemes.iter().flat_map(|scheme| &scheme.elements).flat_map(|element| &element.events);
    all.filter(|(counted, _)| *counted == event).map(|(_, count)| count).sum()
}

fn lost(outcome: &Outcome) -> u64 {
    let all = outcome.schemes.iter().flat_map(|scheme| &scheme.elements).flat_map(|element| &element.gauges);
    all.filter(|(gauge, _)| *gauge == Gauge::AcknowledgedLost).map(|(_, level)| level).sum()
}

#[test]
fn ast_c1_an_upload_takes_the_air_as_saturated_udp_would_and_more_than_tcp_does() {
    for stations in [1, 5, 10, 20] {
        let cell = Cell::of(stations, &[]);
        let udp = saturation::measure(&cell.cell, stations, PACKET, Duration::from_secs(30), 1);
        let udp = udp.packets_per_second * PAYLOAD * 8.0 / 1e6;
        let (ours, plain) = (as_tcp(&cell, &[]), cell.plain());
        let (ours, plain) = (mbit(&ours), mbit(&plain));
        println!("{stations}: AS-TCP {ours:.3}, UDP {udp:.3} ({:.3}), plain {plain:.3}", ours / udp);
        assert!(ours >= 0.95 * udp, "{stations} stations: {ours} of {udp}");
        assert!(ours > plain, "{stations} stations: {ours}, plain {plain}");
    }
}

#[test]
fn ast_7_acknowledgments_leave_the_air() {
    let cell = Cell::of(3, &[]);
    let acks = |outcome: &Outcome| outcome.wlans[0].interfaces[0].1.frames_delivered[FrameKind::TcpAck as usize];
    let data = |outcome: &Outcome| {
        outcome.wlans[0].interfaces[1..]
            .iter()
            .map(|(_, usage)| usage.frames_delivered[FrameKind::Data as usize])
            .sum::<u64>()
    };
    let (ours, plain) = (as_tcp(&cell, &[]), cell.plain());
    assert!(acks(&plain) * 3 > data(&plain), "{} of {}", acks(&plain), data(&plain));
    assert!(acks(&ours) * 40 < data(&ours), "a window now and then: {} of {}", acks(&ours), data(&ours));
    assert!(count(&ours, Event::AckEmulated) * 10 > data(&ours) * 9);
    let silent = as_tcp(&cell, &[("balance", "silence")]);
    assert!(acks(&silent) * 200 < data(&silent), "those of the first segments: {}", acks(&silent));
}

#[test]
fn spec_8_9_ast_x3_a_frame_beyond_the_retry_limit_is_not_acknowledged_and_the_file_is_whole() {
    // 0.5^3 of all frames are given up.
    let cell = Cell { size: Some(300_000), seconds: 200, ..Cell::of(3, &[("data_loss", "50%"), ("retry_limit", "3")]) };
    for dupack in ["false", "true"] {
        let outcome = as_tcp(&cell, &[("dupack", dupack)]);
        assert!(count(&outcome, Event::GivenUp) > 20);
        for flow in &outcome.flows {
            assert!(
                flow.completed_at.is_some() && flow.sent_sha256 == flow.received_sha256,
                "{} dupack {dupack}",
                flow.name
            );
        }
        assert_eq!(lost(&outcome), 0);
    }
}

#[test]
fn ast_x2_with_emulated_duplicates_a_loss_costs_no_timeout() {
    let cell =
        Cell { size: Some(2_000_000), seconds: 120, ..Cell::of(1, &[("data_loss", "20%"), ("retry_limit", "3")]) };
    let of = |dupack| {
        let outcome = as_tcp(&cell, &[("dupack", dupack)]);
        let flow = &outcome.flows[0];
        assert_eq!(flow.sent_sha256, flow.received_sha256);
        (flow.rtos, flow.completed_at.expect("complete"), count(&outcome, Event::GivenUp))
    };
    let ((timeouts, slow, _), (fewer, fast, given_up)) = (of("false"), of("true"));
    assert!(given_up > 5 && fewer * 3 < timeouts && fast < slow, "{timeouts} {fewer}: {slow} {fast}");
}

#[test]
fn ast_c12_a_wired_half_slower_than_the_air_loses_nothing_that_was_acknowledged() {
    let slow = Cell {
        wire: &[("rate", "1Mbit"), ("delay", "30ms"), ("queue", "30packets")],
        size: Some(1_500_000),
        seconds: 300,
        ..Cell::of(4, &[])
    };
    for balance in ["window", "silence"] {
        let outcome = as_tcp(&slow, &[("balance", balance)]);
        assert_eq!(lost(&outcome), 0, "{balance}");
        for flow in &outcome.flows {
            assert!(flow.completed_at.is_some() && flow.sent_sha256 == flow.received_sha256, "{} {balance}", flow.name);
        }
        let silenced = count(&outcome, Event::Silenced);
        assert_eq!(silenced > 0, balance == "silence");
    }
}

#[test]
fn ast_c8_a_sleeping_station_waits_for_its_handshake_and_with_as_tcp_for_nothing_else() {
    // AST-N4: from one segment, an acknowledgment each: 10 segments in 4 rounds and 100 in 7, the handshake's among them.
    for (size, rounds) in [(10_000, 4), (100_000, 7)] {
        let cell = Cell {
            size: Some(size),
            seconds: 10,
            tcp: &[
                ("initial_window", "1"),
                ("delayed_ack_segments", "1"),
                ("timestamps", "false"),
                ("mtu", "1040"),
                ("initial_rto", "3s"),
                ("min_rto", "1s"),
            ],
            ..Cell::of(1, &[("beacon_interval", "200ms"), ("power_save", "true")])
        };
        let took = |outcome: &Outcome| outcome.flows[0].completed_at.expect("complete").as_nanos() / 1_000_000;
        let (plain, ours) = (took(&cell.plain()), took(&as_tcp(&cell, &[])));
        assert_eq!(plain / 200, rounds, "{size} bytes: {plain} ms");
        assert!((200..200 + 30 + size / 400).contains(&ours), "{size} bytes: {ours} ms");
    }
}

#[test]
fn ast_10_the_split_may_be_at_the_router_and_the_access_point_stay_as_it_is() {
    let cell = Cell { size: Some(500_000), seconds: 60, ..Cell::of(3, &[]) };
    let outcome = cell.run(|topology, wlan, backhaul| {
        topology.scheme("stations", wlan, &as_tcp::ENTRY, &owned(&[("split", "elsewhere")]));
        topology.scheme("router", backhaul, &as_tcp::ENTRY, &[]);
    });
    assert!(count(&outcome, Event::AckEmulated) > 900);
    for flow in &outcome.flows {
        assert!(flow.completed_at.is_some() && flow.sent_sha256 == flow.received_sha256, "{}", flow.name);
    }
}

#[test]
fn ast_9_what_is_lost_behind_an_access_point_that_does_not_split_is_counted() {
    let wire = &[("rate", "100Mbit"), ("delay", "15ms"), ("loss", "0.1%")];
    let missing = |split| {
        let cell = Cell { wire, size: Some(2_000_000), seconds: 60, ..Cell::of(3, &[]) };
        let outcome = as_tcp(&cell, &[("split", split)]);
        let is_complete = outcome.flows.iter().all(|flow| flow.completed_at.is_some());
        (is_complete, outcome.flows.iter().map(|flow| flow.acknowledged_missing).sum::<u64>())
    };
    let (is_complete, bytes) = missing("nowhere");
    assert!(!is_complete && bytes > 0 && bytes.is_multiple_of(1448), "{bytes}");
    // A split repairs what is lost behind it.
    assert_eq!(missing("near"), (true, 0));
}

#[test]
fn ast_16_a_plain_split_leaves_acknowledgments_on_the_air() {
    let cell = Cell::of(5, &[]);
    let split = cell.run(|topology, wlan, _| topology.scheme("split", wlan, &split::ENTRY, &[]));
    let plain = cell.plain();
    let ratio = mbit(&split) / mbit(&plain);
    assert!((0.9..1.1).contains(&ratio), "{ratio}");
}
