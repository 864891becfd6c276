//! 802.11 cells in a network: uploads, downloads, and what is counted of them.

use crate::common::{NO_HABITS, bulk, cell_settings, link, mbit, tcp};
use airtcp_core::{DropReason, Duration};
use airtcp_sim::dot11::FrameKind;
use airtcp_sim::{Flow, NodeId, Outcome, RunSettings, Topology};

/// Stations - access point - server, 15 ms behind the access point.
fn cell(stations: usize, settings: &[(&str, &str)]) -> (Topology, Vec<NodeId>, NodeId) {
    let mut topology = Topology::new();
    let ap = topology.node("ap");
    let server = topology.node("server");
    let nodes: Vec<_> = (1..=stations).map(|number| topology.node(&format!("sta{number}"))).collect();
    topology.wlan("wifi", ap, &nodes, cell_settings(settings));
    let wire = link(&[("rate", "100Mbit"), ("delay", "15ms"), ("queue", "1000packets")]);
    topology.link("wire", ap, server, wire.clone(), wire);
    (topology, nodes, server)
}

fn run(topology: &Topology, seconds: u64) -> Outcome {
    let settings =
        RunSettings { duration: Duration::from_secs(seconds), warmup: Duration::from_secs(2), ..Default::default() };
    let outcome = topology.run(&settings).unwrap();
    assert_eq!(outcome.checks.failure(), None);
    outcome
}

fn uploads(stations: usize, settings: &[(&str, &str)], config: &[(&str, &str)], seconds: u64) -> Outcome {
    let (mut topology, nodes, server) = cell(stations, settings);
    for (index, node) in nodes.iter().enumerate() {
        topology.flow(bulk(&format!("upload{index}"), *node, server, tcp(config)));
    }
    run(&topology, seconds)
}

#[test]
fn ast_15_an_upload_shares_the_air_with_its_own_acknowledgments() {
    // A segment: 192 + 1484 * 8 / 11 us, SIFS, ACK 304, DIFS and half of 31 slots: 1983 us. For two of them an
    // acknowledgment: 256 + SIFS + ACK + DIFS and at most half of 31 slots. 2 * 1448 bytes in 4.6 to 4.9 ms.
    let outcome = uploads(1, &[], &[("delayed_ack_segments", "2"), ("quick_acks", "0")], 12);
    assert!((4.7..5.1).contains(&mbit(&outcome)), "{}", mbit(&outcome));
    let [ap, station] = [0, 1].map(|interface| outcome.wlans[0].interfaces[interface].clone());
    assert_eq!((ap.0.as_str(), station.0.as_str()), ("ap", "sta1"));
    let acks = ap.1.frames_delivered[FrameKind::TcpAck as usize];
    let segments = station.1.frames_delivered[FrameKind::Data as usize];
    assert!((45..=55).contains(&(acks * 100 / segments)), "{acks} acknowledgments of {segments} segments");
    assert!(ap.1.airtime[FrameKind::TcpAck as usize].delivered > Duration::from_secs(1));
}

#[test]
fn ast_c6_a_short_queue_of_the_access_point_drops_acknowledgments_of_many_uploads() {
    // Windows of 20 packets: 5 stations have 100 packets on the way, 40 have 800 and 80 have 1600.
    for (stations, queue, drops) in
        [(5, "100packets", false), (40, "100packets", true), (80, "100packets", true), (20, "20packets", true)]
    {
        let sender = [("delayed_ack_segments", "1"), ("max_cwnd", "20"), ("initial_window", "1")];
        let outcome = uploads(stations, &[("ap_queue", queue)], &sender, 12);
        let dropped = outcome.drops.iter().find(|drop| drop.place == "wlans.wifi.ap");
        let full = dropped.filter(|drop| drop.reason == DropReason::QUEUE_FULL).map_or(0, |drop| drop.packets);
        assert_eq!(full > 100, drops, "{stations} stations, {queue}: {full}");
    }
}

#[test]
fn damaged_frames_are_sent_again_by_the_medium_and_tcp_hardly_sees_it() {
    let outcome = uploads(2, &[("data_loss", "20%")], &[NO_HABITS], 12);
    let retransmitted: u64 = outcome.flows.iter().map(|flow| flow.retransmitted_segments).sum();
    assert!(retransmitted < 20, "{retransmitted}");
    let damaged = outcome.wlans[0].interfaces[1].1.airtime[FrameKind::Data as usize].damaged;
    assert!(damaged > Duration::from_millis(200), "{damaged}");
}

#[test]
fn downloads_and_uploads_share_a_cell_and_every_stream_is_whole() {
    let (mut topology, nodes, server) =
        cell(3, &[("data_loss", "10%"), ("control_loss", "2%"), ("rts_threshold", "800")]);
    topology.flow(Flow { size: Some(2_000_000), ..bulk("down", server, nodes[0], tcp(&[])) });
    topology.flow(Flow { size: Some(2_000_000), ..bulk("up", nodes[1], server, tcp(&[])) });
    topology.flow(Flow { size: Some(1_000_000), ..bulk("across", nodes[2], nodes[0], tcp(&[])) });
    let settings = RunSettings { duration: Duration::from_secs(60), digests: true, ..Default::default() };
    let outcome = topology.run(&settings).unwrap();
    assert_eq!(outcome.checks.failure(), None);
    for flow in &outcome.flows {
        assert!(flow.completed_at.is_some() && flow.sent_sha256 == flow.received_sha256, "{}", flow.name);
    }
}

#[test]
fn a_station_that_has_nothing_to_say_changes_nothing() {
    let of = |idle: usize| {
        let (mut topology, nodes, server) = cell(2 + idle, &[]);
        for node in &nodes[..2] {
            topology.flow(bulk(&format!("upload{node:?}"), *node, server, tcp(&[])));
        }
        run(&topology, 5)
    };
    let (alone, among) = (of(0), of(50));
    assert_eq!((alone.events, alone.flows), (among.events, among.flows));
}

#[test]
fn settings_that_make_no_sense_are_refused_with_the_name_of_the_cell() {
    let (topology, ..) = cell(1, &[("rate", "12Mbit")]);
    let error = topology.run(&RunSettings::default()).unwrap_err().to_string();
    assert!(error.contains("'wifi'") && error.contains("11Mbit"), "{error}");
}
