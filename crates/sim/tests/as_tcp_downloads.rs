//! AS-TCP in the other direction (`downloads`): what it gains, what it breaks, and that every stream stays whole otherwise.

use crate::common::uploads::Cell;
use crate::common::{bulk, cell_settings, link, mbit, owned, tcp};
use airtcp_core::{Duration, Event, Gauge};
use airtcp_schemes::papers::as_tcp::{self, events};
use airtcp_sim::dot11::{FrameKind, Usage};
use airtcp_sim::{Flow, Outcome, RunSettings, Topology};

/// Downloads by so many stations. The access point's queue holds what their windows allow, so that none is lost there: every
/// acknowledgment above a hole crosses the air.
fn cell(stations: usize, settings: &[(&str, &str)]) -> Cell {
    let settings = [settings, &[("ap_queue", "1000packets")]].concat();
    Cell { downloads: true, seconds: 20, tcp: &[("receive_buffer", "128KiB")], ..Cell::of(stations, &settings) }
}

fn as_tcp(cell: &Cell, settings: &[(&str, &str)]) -> Outcome {
    cell.run(|topology, wlan, _| topology.scheme("as-tcp", wlan, as_tcp::ENTRY.with(owned(settings)).unwrap()))
}

fn count(outcome: &Outcome, event: Event) -> u64 {
    let all = outcome.schemes.iter().flat_map(|scheme| &scheme.elements).flat_map(|element| &element.events);
    all.filter(|(counted, _)| *counted == event).map(|(_, count)| count).sum()
}

fn level(outcome: &Outcome, wanted: Gauge) -> u64 {
    let all = outcome.schemes.iter().flat_map(|scheme| &scheme.elements).flat_map(|element| &element.gauges);
    all.filter(|(gauge, _)| *gauge == wanted).map(|(_, level)| level).sum()
}

/// Acknowledgments that stations sent over the air, and data that came to them.
fn frames(outcome: &Outcome) -> (u64, u64) {
    let of = |usage: &Usage, kind: FrameKind| usage.frames_delivered[kind as usize];
    let interfaces = &outcome.wlans[0].interfaces;
    let acks = interfaces[1..].iter().map(|(_, usage)| of(usage, FrameKind::TcpAck)).sum();
    (acks, of(&interfaces[0].1, FrameKind::Data))
}

#[test]
fn downloads_leave_the_air_to_data_with_a_split_and_without() {
    for stations in [1, 5] {
        let cell = cell(stations, &[]);
        let (plain, uploads_only) = (cell.plain(), as_tcp(&cell, &[]));
        for split in ["near", "nowhere"] {
            let ours = as_tcp(&cell, &[("downloads", "true"), ("split", split)]);
            let ((acks, data), (plain_acks, plain_data)) = (frames(&ours), frames(&plain));
            let rates = [&ours, &uploads_only, &plain].map(mbit);
            println!("{stations} {split}: {acks} of {data}, plain {plain_acks} of {plain_data}; {rates:.2?} Mbit/s");
            assert!(plain_acks * 3 > plain_data && acks * 20 < data, "{stations} {split}: {acks} of {data}");
            assert!(frames(&uploads_only).0 * 3 > frames(&uploads_only).1, "only where it is asked for");
            assert!(mbit(&ours) > 1.1 * mbit(&plain), "{stations} {split}: {rates:?}");
            assert!(count(&ours, events::ACK_EMULATED) * 10 > data * 9);
        }
    }
}

#[test]
fn files_that_are_downloaded_arrive_whole_through_damage_and_given_up_frames() {
    // 0.5^3 of all frames are given up.
    let lossy = cell(3, &[("data_loss", "50%"), ("control_loss", "5%"), ("retry_limit", "3")]);
    let lossy = Cell { size: Some(300_000), seconds: 200, ..lossy };
    for split in ["near", "nowhere"] {
        let outcome = as_tcp(&lossy, &[("downloads", "true"), ("split", split)]);
        for flow in &outcome.flows {
            let is_whole = flow.completed_at.is_some() && flow.sent_sha256 == flow.received_sha256;
            assert!(is_whole && flow.acknowledged_missing == 0, "{} {split}", flow.name);
        }
        assert_eq!(level(&outcome, events::ACKNOWLEDGED_AHEAD), 0, "{split}: all were told of");
    }
}

#[test]
fn uploads_and_downloads_of_one_cell_do_not_disturb_each_other() {
    for split in ["near", "nowhere"] {
        let both = Cell { size: Some(400_000), seconds: 60, ..cell(3, &[]) };
        let (mut topology, wlan, _) = both.topology();
        // The access point, a router and the server come before the stations.
        let nodes: Vec<_> = topology.nodes().collect();
        let (server, sta) = (nodes[2], nodes[3]);
        topology.flow(Flow { size: Some(400_000), ..bulk("upload", sta, server, tcp(&[])) });
        let settings = owned(&[("downloads", "true"), ("split", split)]);
        topology.scheme("as-tcp", wlan, as_tcp::ENTRY.with(settings).unwrap());
        let outcome =
            topology.run(&RunSettings { duration: Duration::from_secs(60), digests: true, ..RunSettings::default() });
        let outcome = outcome.unwrap();
        assert_eq!(outcome.checks.failure(), None);
        for flow in &outcome.flows {
            let is_whole = flow.completed_at.is_some() && flow.sent_sha256 == flow.received_sha256;
            assert!(is_whole, "{} {split}", flow.name);
        }
    }
}

/// A download to a host behind a station, over a link that loses packets: the station's MAC has them, and they never arrive.
fn tethered(settings: Option<&[(&str, &str)]>) -> Outcome {
    let mut topology = Topology::new();
    let [ap, server, station, host] = ["ap", "server", "station", "host"].map(|name| topology.node(name));
    let wlan = topology.wlan("wifi", ap, &[station], cell_settings(&[("ap_queue", "1000packets")]));
    let wire = link(&[("rate", "100Mbit"), ("delay", "15ms")]);
    topology.link("wire", ap, server, wire.clone(), wire);
    let lossy = link(&[("rate", "100Mbit"), ("delay", "1ms"), ("loss", "1%")]);
    topology.link("tether", station, host, lossy.clone(), lossy);
    topology.flow(Flow { size: Some(1_000_000), ..bulk("download", server, host, tcp(&[])) });
    if let Some(settings) = settings {
        topology.scheme("as-tcp", wlan, as_tcp::ENTRY.with(owned(settings)).unwrap());
    }
    let outcome = topology.run(&RunSettings { duration: Duration::from_secs(30), ..RunSettings::default() }).unwrap();
    assert_eq!(outcome.checks.failure(), None);
    outcome
}

#[test]
fn what_a_station_loses_after_its_mac_had_it_is_never_repaired_and_is_counted() {
    assert!(tethered(None).flows[0].completed_at.is_some(), "TCP repairs it");
    for split in ["near", "nowhere"] {
        let outcome = tethered(Some(&[("downloads", "true"), ("split", split)]));
        let missing = outcome.flows[0].acknowledged_missing;
        assert!(outcome.flows[0].completed_at.is_none() && missing > 0, "{split}: {missing}");
        // And what was acknowledged in the name of a receiver that has never said so.
        assert!(level(&outcome, events::ACKNOWLEDGED_AHEAD) >= missing, "{split}");
    }
    let outcome = tethered(Some(&[]));
    assert_eq!((outcome.flows[0].completed_at.is_some(), outcome.flows[0].acknowledged_missing), (true, 0));
}
