//! 802.11n, ac and ax cells in a network: TCP over aggregates, what is counted of them, and what goes with them.

use crate::common::uploads::Cell;
use crate::common::{NO_HABITS, bulk, cell_settings, link, mbit, tcp};
use airtcp_core::Duration;
use airtcp_schemes::papers::as_tcp;
use airtcp_sim::dot11::{FrameKind, saturation};
use airtcp_sim::{Flow, Outcome, RunSettings, Topology};

const QUEUES: [(&str, &str); 2] = [("queue", "500packets"), ("ap_queue", "500packets")];

/// A cell of 802.11n at 65 Mbit/s with uploads, and these keys.
fn cell(stations: usize, keys: &[(&str, &str)]) -> Cell {
    let all = [&[("phy", "n")], &QUEUES[..], keys].concat();
    Cell { seconds: 10, tcp: &[NO_HABITS], ..Cell::of(stations, &all) }
}

fn frames_together(outcome: &Outcome) -> f64 {
    let medium = outcome.wlans[0].medium;
    medium.aggregated_frames as f64 / medium.aggregates as f64
}

#[test]
fn an_upload_fills_aggregates_and_takes_most_of_the_rate() {
    let outcome = cell(5, &[]).plain();
    assert!((40.0..55.0).contains(&mbit(&outcome)), "{}", mbit(&outcome));
    assert!(frames_together(&outcome) > 5.0, "{}", frames_together(&outcome));
    let single = cell(5, &[("block_ack_window", "1")]).plain();
    assert!(mbit(&single) < 0.6 * mbit(&outcome), "{} of {}", mbit(&single), mbit(&outcome));
    assert!((0.99..=1.0).contains(&frames_together(&single)));
}

#[test]
fn every_stream_is_whole_whatever_the_air_loses() {
    for (phy, window, limit) in [("n", "64", "3"), ("ac", "4", "2"), ("ax", "256", "2")] {
        let keys = [
            ("phy", phy),
            ("block_ack_window", window),
            ("retry_limit", limit),
            ("data_loss", "10%"),
            ("control_loss", "5%"),
        ];
        let mut topology = Topology::new();
        let [ap, server, one, two] = ["ap", "server", "sta1", "sta2"].map(|name| topology.node(name));
        topology.wlan("wifi", ap, &[one, two], cell_settings(&[&keys[..], &QUEUES].concat()));
        let wire = link(&[("rate", "100Mbit"), ("delay", "5ms"), ("queue", "1000packets")]);
        topology.link("wire", ap, server, wire.clone(), wire);
        for (name, from, to) in [("down", server, one), ("up", two, server), ("across", two, one)] {
            topology.flow(Flow { size: Some(3_000_000), ..bulk(name, from, to, tcp(&[])) });
        }
        let settings = RunSettings { duration: Duration::from_secs(60), digests: true, ..Default::default() };
        let outcome = topology.run(&settings).unwrap();
        assert_eq!(outcome.checks.failure(), None, "{phy}");
        for flow in &outcome.flows {
            assert!(flow.completed_at.is_some() && flow.sent_sha256 == flow.received_sha256, "{phy} {}", flow.name);
        }
        let requests = outcome.wlans[0].medium.block_ack_requests;
        assert!(requests > 0, "{phy}: nothing was given up");
    }
}

#[test]
fn as_tcp_hears_of_each_packet_from_the_block_ack_and_keeps_acknowledgments_off_the_air() {
    let cell = cell(5, &[]);
    let with = cell.run(|topology, wlan, _| topology.scheme("as-tcp", wlan, &as_tcp::ENTRY));
    let plain = cell.plain();
    // Aggregates make acknowledgments cheap: there is little to gain.
    assert!(mbit(&with) > 0.9 * mbit(&plain), "{}, plain {}", mbit(&with), mbit(&plain));
    let acks = |outcome: &Outcome| outcome.wlans[0].interfaces[0].1.frames_delivered[FrameKind::TcpAck as usize];
    assert!(acks(&with) * 10 < acks(&plain), "{} of {}", acks(&with), acks(&plain));
    let lossy = Cell { size: Some(2_000_000), ..self::cell(3, &[("data_loss", "10%")]) };
    let outcome = lossy.run(|topology, wlan, _| topology.scheme("as-tcp", wlan, &as_tcp::ENTRY));
    assert!(outcome.flows.iter().all(|flow| flow.completed_at.is_some() && flow.sent_sha256 == flow.received_sha256));
}

#[test]
fn stations_reach_each_other_whatever_the_access_point_does_for_others() {
    for downloads in ["false", "true"] {
        let mut topology = Topology::new();
        let [ap, server, one, two] = ["ap", "server", "sta1", "sta2"].map(|name| topology.node(name));
        let wlan = topology.wlan("wifi", ap, &[one, two], cell_settings(&[&[("phy", "n")], &QUEUES[..]].concat()));
        let wire = link(&[("rate", "100Mbit"), ("delay", "5ms"), ("queue", "1000packets")]);
        topology.link("wire", ap, server, wire.clone(), wire);
        topology.scheme("as-tcp", wlan, as_tcp::ENTRY.with([("downloads", downloads)]).unwrap());
        for (name, from, to) in [("across", one, two), ("up", one, server)] {
            topology.flow(Flow { size: Some(1_000_000), ..bulk(name, from, to, tcp(&[])) });
        }
        let settings = RunSettings { duration: Duration::from_secs(20), digests: true, ..Default::default() };
        let outcome = topology.run(&settings).unwrap();
        assert_eq!(outcome.checks.failure(), None);
        for flow in &outcome.flows {
            assert!(
                flow.completed_at.is_some() && flow.sent_sha256 == flow.received_sha256,
                "{downloads} {}",
                flow.name
            );
        }
    }
}

#[test]
fn idle_sense_holds_the_throughput_of_many_stations_that_aggregate() {
    let of = |contention: &str, stations: usize| {
        let settings = cell_settings(&[("phy", "n"), ("contention", contention)]);
        saturation::measure(&settings, stations, 1500, Duration::from_secs(20), 1).packets_per_second
    };
    let few = of("dcf", 2);
    for stations in [1, 5, 40] {
        let ours = of("idle-sense", stations) / few;
        assert!(ours > 0.9, "{stations} stations: {ours}");
    }
    assert!(of("dcf", 40) / few < 0.75);
}

#[test]
fn stations_that_sleep_get_what_waits_for_them_at_each_beacon() {
    let keys = [("beacon_interval", "50ms"), ("power_save", "true")];
    let mut cell = cell(2, &keys);
    cell.size = Some(1_000_000);
    let outcome = cell.plain();
    assert!(outcome.flows.iter().all(|flow| flow.completed_at.is_some() && flow.sent_sha256 == flow.received_sha256));
}
