//! AS-TCP in a cell: what it gains, what it costs, and that every stream stays whole.

use crate::common::uploads::Cell;
use crate::common::{mbit, owned};
use airtcp_core::{Duration, Event, Gauge};
use airtcp_schemes::{baselines::split, papers::as_tcp};
use airtcp_sim::Outcome;
use airtcp_sim::dot11::{FrameKind, saturation};

const PACKET: u32 = 1500;
const PAYLOAD: f64 = 1448.0;

fn as_tcp(cell: &Cell, settings: &[(&str, &str)]) -> Outcome {
    cell.run(|topology, wlan, _| topology.scheme("as-tcp", wlan, as_tcp::ENTRY.with(owned(settings)).unwrap()))
}

fn count(outcome: &Outcome, event: Event) -> u64 {
    let all = outcome.schemes.iter().flat_map(|scheme| &scheme.elements).flat_map(|element| &element.events);
    all.filter(|(counted, _)| *counted == event).map(|(_, count)| count).sum()
}

fn lost(outcome: &Outcome) -> u64 {
    let all = outcome.schemes.iter().flat_map(|scheme| &scheme.elements).flat_map(|element| &element.gauges);
    all.filter(|(gauge, _)| *gauge == airtcp_schemes::papers::as_tcp::events::ACKNOWLEDGED_LOST)
        .map(|(_, level)| level)
        .sum()
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
    assert!(count(&ours, airtcp_schemes::papers::as_tcp::events::ACK_EMULATED) * 10 > data(&ours) * 9);
    let silent = as_tcp(&cell, &[("balance", "silence")]);
    assert!(acks(&silent) * 200 < data(&silent), "those of the first segments: {}", acks(&silent));
}

#[test]
fn spec_8_9_ast_x3_a_frame_beyond_the_retry_limit_is_not_acknowledged_and_the_file_is_whole() {
    // 0.5^3 of all frames are given up.
    let cell = Cell { size: Some(300_000), seconds: 200, ..Cell::of(3, &[("data_loss", "50%"), ("retry_limit", "3")]) };
    for dupack in ["false", "true"] {
        let outcome = as_tcp(&cell, &[("dupack", dupack)]);
        assert!(count(&outcome, Event::GIVEN_UP) > 20);
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
        (flow.rtos, flow.completed_at.expect("complete"), count(&outcome, Event::GIVEN_UP))
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
        let silenced = count(&outcome, airtcp_schemes::papers::as_tcp::events::SILENCED);
        assert_eq!(silenced > 0, balance == "silence");
    }
    // Without either the same cell loses what was acknowledged; silence needs room for what is on its way when it begins.
    let unbalanced = as_tcp(&slow, &[("balance", "nothing"), ("buffer", "100000B")]);
    assert!(lost(&unbalanced) > 0);
    let silent = as_tcp(&slow, &[("balance", "silence"), ("buffer", "100000B")]);
    assert_eq!(lost(&silent), 0, "silence is what keeps it");
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
        topology.scheme("stations", wlan, as_tcp::ENTRY.with(owned(&[("split", "elsewhere")])).unwrap());
        topology.scheme("router", backhaul, &as_tcp::ENTRY);
    });
    assert!(count(&outcome, airtcp_schemes::papers::as_tcp::events::ACK_EMULATED) > 900);
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
    let split = cell.run(|topology, wlan, _| topology.scheme("split", wlan, &split::ENTRY));
    let plain = cell.plain();
    let ratio = mbit(&split) / mbit(&plain);
    assert!((0.9..1.1).contains(&ratio), "{ratio}");
}

#[test]
fn ast_1_the_station_has_the_access_point_at_the_other_end_and_the_wire_its_own_connection() {
    let far = Cell { wire: &[("rate", "100Mbit"), ("delay", "200ms"), ("queue", "1000packets")], ..Cell::of(1, &[]) };
    let round_trip = |outcome: &Outcome| Duration::from_nanos(outcome.flows[0].rtt.p50);
    let (plain, ours) = (round_trip(&far.plain()), round_trip(&as_tcp(&far, &[])));
    assert!(plain > Duration::from_millis(400), "{plain}");
    assert!(ours < Duration::from_millis(100), "{ours}");
}

#[test]
fn ast_8_the_wired_half_repairs_its_own_losses() {
    let lossy = Cell {
        wire: &[("rate", "100Mbit"), ("delay", "10ms"), ("queue", "1000packets"), ("loss", "2%")],
        size: Some(3_000_000),
        seconds: 60,
        ..Cell::of(1, &[])
    };
    let outcome = as_tcp(&lossy, &[]);
    let flow = &outcome.flows[0];
    assert_eq!(flow.sent_sha256, flow.received_sha256);
    assert_eq!((flow.retransmitted_segments, lost(&outcome)), (0, 0), "the station never hears of it");
    assert!(outcome.drops.iter().any(|drop| drop.place.contains("wire") && drop.packets > 20));
    assert!(flow.completed_at.is_some());
}

#[test]
fn ast_12_tcp_s_window_still_limits_what_a_station_sends() {
    // The interface takes 10 segments; what a window allows beyond that waits before it.
    let waiting = |window: &'static [(&'static str, &'static str)]| {
        let cell = Cell { tcp: window, seconds: 6, ..Cell::of(1, &[]) };
        let outcome = as_tcp(&cell, &[("balance", "silence")]);
        let gauges = outcome.schemes[0]
            .elements
            .iter()
            .filter(|element| element.node == "sta1")
            .flat_map(|element| &element.gauges);
        gauges.filter(|(gauge, _)| *gauge == Gauge::QUEUE_BYTES).map(|(_, bytes)| *bytes).max().unwrap()
    };
    let (small, large) = (waiting(&[("max_cwnd", "8")]), waiting(&[("max_cwnd", "16")]));
    assert!(small == 0 && large > 1500, "{small} {large}");
}

#[test]
fn ast_19_tcp_leaves_the_air_to_few_contenders_and_shares_it_with_acknowledgments() {
    let cell = Cell { tcp: &[("delayed_ack_segments", "1")], ..Cell::of(20, &[("ap_queue", "1000packets")]) };
    let (plain, ours) = (cell.plain(), as_tcp(&cell, &[]));
    let contenders = |outcome: &Outcome| {
        let medium = &outcome.wlans[0].medium;
        medium.contenders as f64 / medium.exchanges as f64
    };
    // Senders wait for acknowledgments, and these for their turn at the one access point.
    assert!(contenders(&plain) < 5.0, "{}", contenders(&plain));
    assert!(contenders(&ours) > 15.0, "{}", contenders(&ours));
    let acks = |outcome: &Outcome| outcome.wlans[0].interfaces[0].1.airtime[FrameKind::TcpAck as usize].delivered;
    assert!(acks(&plain).as_nanos() * 10 > plain.measured.as_nanos(), "{}", acks(&plain));
    assert!(acks(&ours).as_nanos() * 10 < acks(&plain).as_nanos(), "{}", acks(&ours));
}

/// The paper's packets and senders, but for timers that know how long a queue can be.
const PAPER: &[(&str, &str)] =
    &[("mtu", "1040"), ("timestamps", "false"), ("delayed_ack_segments", "1"), ("max_cwnd", "20"), ("min_rto", "5s")];

#[test]
fn spec_8_10_without_rts_throughput_falls_as_in_ast_n1_and_normal_tcp_is_flat() {
    // AST-N1, Mbit/s of 1000-byte payloads; its model retries for ever, so the most crowded cells are not quite it.
    const SATURATED: [(usize, f64); 5] = [(5, 5.26), (10, 5.06), (20, 4.76), (40, 4.41), (80, 4.00)];
    let paper = [("basic_rate", "1Mbit"), ("ap_queue", "1000packets"), ("retry_limit", "20")];
    let (mut before, mut plains) = (f64::INFINITY, Vec::new());
    for (stations, expected) in SATURATED {
        let cell = Cell { tcp: PAPER, seconds: 40, ..Cell::of(stations, &paper) };
        let (ours, plain) =
            (mbit(&as_tcp(&cell, &[("interface", "auto"), ("balance", "silence")])), mbit(&cell.plain()));
        println!("{stations}: AS-TCP {ours:.3}, model {expected}, plain {plain:.3}");
        assert!((ours / expected - 1.0).abs() < 0.06, "{stations} stations: {ours}, the model has {expected}");
        assert!(ours < before, "{stations} stations: {ours} after {before}");
        before = ours;
        plains.push(plain);
    }
    let (least, most) = (plains.iter().copied().fold(f64::MAX, f64::min), plains.iter().copied().fold(0.0, f64::max));
    assert!(most / least < 1.15, "{plains:?}");
}

#[test]
fn spec_8_11_a_queue_of_100_drops_acknowledgments_of_80_uploads_and_as_tcp_is_fairer() {
    let cell = Cell { tcp: PAPER, seconds: 40, ..Cell::of(80, &[("ap_queue", "100packets")]) };
    let dropped = |outcome: &Outcome| {
        let at_ap = outcome.drops.iter().filter(|drop| drop.place == "wlans.wifi.ap");
        at_ap.map(|drop| drop.packets).sum::<u64>()
    };
    let jain = |outcome: &Outcome| {
        let shares = outcome.flows.iter().map(|flow| flow.measured_bytes as f64);
        shares.clone().sum::<f64>().powi(2) / (80.0 * shares.map(|share| share * share).sum::<f64>())
    };
    let ours = as_tcp(&cell, &[("interface", "auto"), ("balance", "silence")]);
    let split = cell.run(|topology, wlan, _| topology.scheme("split", wlan, &split::ENTRY));
    for baseline in [cell.plain(), split] {
        assert!(dropped(&baseline) > 100, "{}", dropped(&baseline));
        assert!(dropped(&ours) * 50 < dropped(&baseline), "those of handshakes: {}", dropped(&ours));
        assert!(jain(&baseline) + 0.2 < jain(&ours), "{}, AS-TCP {}", jain(&baseline), jain(&ours));
    }
}

#[test]
fn ast_u9_a_window_that_is_never_scaled_is_told_often_enough() {
    let of = |tcp| Cell { tcp, ..Cell::of(3, &[]) };
    let (scaled, unscaled) = (of(&[]), of(&[("window_scaling", "false")]));
    let (scaled, unscaled) = (mbit(&as_tcp(&scaled, &[])), mbit(&as_tcp(&unscaled, &[])));
    assert!(unscaled > 0.95 * scaled, "{unscaled} Mbit/s, {scaled} with scaled windows");
}
