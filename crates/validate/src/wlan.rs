//! The 802.11 cell against theory and against ns-3.

use crate::page::Section;
use crate::statistics::median;
use crate::summary;
use airtcp_core::Duration;
use airtcp_core::parameters::Parameters;
use airtcp_experiment::results::summary::CellSummary;
use airtcp_sim::dot11::CellSettings;
use airtcp_sim::dot11::saturation::{Saturation, bianchi, measure};

const SECONDS: u64 = 120;
/// Payload of ns-3's packets, and with IP and UDP headers.
const PAYLOAD: f64 = 1000.0;
const PACKET: u32 = 1028;
const OF_BIANCHI: f64 = 0.02;
const OF_NS3_UDP: f64 = 0.03;
const OF_NS3_TCP: f64 = 0.05;
/// A cell with a lower index of Jain's is unfair.
const FAIR: f64 = 0.9;
/// So many stations with nothing are starved, not late.
const STARVES: f64 = 5.0;

/// What a cell does at a collision, a damaged frame and so on; see `crates/sim/src/dot11`.
const RULES: &str = "A collision costs the longest frame and AIFS (the colliders wait for their ACK timeout, too), a frame is given up after 7 \
    transmissions (4 if announced by RTS), and slots are frozen as the standard says; Bianchi's model has slots that count while others send, \
    frames that are sent until they arrive, and the same cost of a collision.";

/// Saturated stations, against Bianchi's model and ns-3.
pub fn saturation() -> anyhow::Result<Section> {
    let mut section = Section {
        title: "802.11: saturated uplink",
        about: format!(
            "Stations of an 802.11b cell that always have a packet of {PACKET} bytes to send: Mbit/s of the payload of {PAYLOAD}, {SECONDS} s, against \
             Bianchi's model, tolerance {:.0} % up to 50 stations, and ns-3.37, tolerance {:.0} %. {RULES} The \
             last column is the model with 7 transmissions of a frame, the most that a cell without capture can \
             reach; at 80 stations ns-3 is above it (docs/limits.md).",
            OF_BIANCHI * 100.0,
            OF_NS3_UDP * 100.0,
        ),
        columns: vec!["", "stations", "Bianchi", "ns-3", "airtcp", "collisions", "Bianchi, 7 transmissions", ""],
        ..Section::default()
    };
    let ns3 = |stations: usize| [(1, 5.016), (5, 5.363), (20, 4.899), (80, 4.149)].iter().find(|row| row.0 == stations);
    for (name, keys) in [
        ("basic, ACK at 2 Mbit/s", &[("basic_rate", "2Mbit")][..]),
        ("basic, ACK at 1 Mbit/s", &[]),
        ("RTS", &[("rts_threshold", "0")]),
    ] {
        for stations in [1, 2, 5, 10, 20, 35, 50, 80] {
            let settings = settings(keys)?;
            let model = mbit(bianchi(&settings, stations, PACKET, None));
            let limited = mbit(bianchi(&settings, stations, PACKET, Some(settings.retry_limit)));
            let seen = measure(&settings, stations, PACKET, Duration::from_secs(SECONDS), 1);
            let ours = mbit(seen);
            let reference = ns3(stations).filter(|_| keys.iter().any(|(key, _)| *key == "basic_rate"));
            let agrees = |reference: f64, tolerance: f64| (ours / reference - 1.0).abs() <= tolerance;
            let row = vec![
                name.to_owned(),
                stations.to_string(),
                format!("{model:.3}"),
                reference.map_or("-".to_owned(), |(_, mbit)| format!("{mbit:.3}")),
                format!("{ours:.3}"),
                format!("{:.3}", seen.collision_probability),
                format!("{limited:.3}"),
            ];
            let is_of_model = stations > 50 || agrees(model, OF_BIANCHI);
            let is_of_ns3 = reference.is_none_or(|(_, mbit)| agrees(*mbit, OF_NS3_UDP));
            // Where a reference exceeds what the model allows, the model is the limit (docs/limits.md).
            let is_limit =
                reference.is_some_and(|(_, mbit)| limited < mbit * (1.0 - OF_NS3_UDP)) && agrees(limited, OF_BIANCHI);
            if is_limit && !is_of_ns3 {
                section.rows.push(row.into_iter().chain(["at the model's limit".to_owned()]).collect());
            } else {
                section.row(row, is_of_model && is_of_ns3);
            }
        }
    }
    Ok(section)
}

/// TCP uploads, against ns-3.
pub fn uploads() -> anyhow::Result<Section> {
    let mut section = Section {
        title: "802.11: TCP uploads",
        about: format!(
            "Stations of an 802.11b cell, each uploading over TCP, `airtcp run validation/ns3-wifi.toml` (10 runs) against ns-3.37: goodput of all in \
             Mbit/s, tolerance {:.0} %. Jain's index and the stations that got nothing in the measured time are \
             compared qualitatively: where ns-3's cell is unfair (index below 0.9) or starves stations at the queue of 100 packets, so is ours. {RULES}",
            OF_NS3_TCP * 100.0,
        ),
        columns: vec![
            "ACK per",
            "stations",
            "AP queue",
            "ns-3",
            "airtcp",
            "ns-3, Jain",
            "airtcp",
            "ns-3, nothing",
            "airtcp",
            "",
        ],
        ..Section::default()
    };
    let summary = summary::run("validation/ns3-wifi.toml", &[])?;
    for record in summary::records("validation/ns3-wifi.csv")? {
        let [ack, stations, queue, mbit, jain, nothing] = [0, 1, 2, 3, 4, 5].map(|column| record[column].to_owned());
        let cell = summary::cell(&summary, &[("cases.cell", &format!("{ack} {stations} {queue}"))])?;
        let ours = median(&summary::mbit(cell));
        let fair = summary::median(cell, "jain");
        let starved = starved(cell);
        let (reference, index, none): (f64, f64, f64) = (mbit.parse()?, jain.parse()?, nothing.parse()?);
        let is_as_fair = (index < FAIR) == (fair < FAIR);
        let starves_too = none < STARVES || starved >= 1.0;
        let is_alike = queue != "100" || (is_as_fair && starves_too);
        let holds = (ours / reference - 1.0).abs() <= OF_NS3_TCP && is_alike;
        let row = vec![
            ack,
            stations,
            queue,
            mbit,
            format!("{ours:.3}"),
            jain,
            format!("{fair:.3}"),
            nothing,
            format!("{starved:.1}"),
        ];
        section.row(row, holds);
    }
    Ok(section)
}

/// Transfers of a station that sleeps between beacons, against the rounds of slow start.
pub fn power_save() -> anyhow::Result<Section> {
    let mut section = Section {
        title: "802.11: power save",
        about: "A station that sleeps between beacons uploads a file over a wired round trip of 30 ms, `airtcp run validation/wifi-psm.toml`: each round of \
            slow start, and the handshake, wait for a beacon (SPEC AST-N4). It begins at a beacon, so it takes the predicted number of \
            intervals and a part of the next one. If a round needs the air for longer than 50 ms, there is no \
             prediction for beacons of 50 ms."
            .to_owned(),
        columns: vec!["file", "beacon", "rounds", "took", "whole intervals", ""],
        ..Section::default()
    };
    let summary = summary::run("validation/wifi-psm.toml", &[])?;
    for (file, rounds, beacons) in
        [("10 kB", 4, &[50, 200][..]), ("100 kB", 7, &[200]), ("100 kB, window 20", 9, &[200])]
    {
        for beacon_ms in beacons {
            let beacon = format!("{beacon_ms}ms");
            let at = [("cases.file", file), ("wlans.wifi.beacon_interval", beacon.as_str())];
            let cell = summary::cell(&summary, &at)?;
            let took_ms = summary::median(cell, "completion_ns") / 1e6;
            let whole = (took_ms / f64::from(*beacon_ms)).floor();
            let row =
                vec![file.to_owned(), beacon, rounds.to_string(), format!("{took_ms:.0} ms"), format!("{whole:.0}")];
            section.row(row, whole == f64::from(rounds));
        }
    }
    Ok(section)
}

/// The defaults with these keys.
pub fn settings(keys: &[(&str, &str)]) -> anyhow::Result<CellSettings> {
    let mut settings = CellSettings::default();
    for &(key, value) in keys {
        settings.set(key, &value.into())?;
    }
    Ok(settings)
}

fn mbit(saturation: Saturation) -> f64 {
    saturation.packets_per_second * PAYLOAD * 8.0 / 1e6
}

/// Flows that got nothing, in the mean of the runs.
fn starved(cell: &CellSummary) -> f64 {
    let flows = cell.readings.flows();
    let runs: Vec<Vec<f64>> = flows.map(|name| summary::runs(cell, &format!("flows.{name}.goodput_bps"))).collect();
    let of_run = |run: usize| runs.iter().filter(|flow| flow.get(run).is_some_and(|bps| *bps == 0.0)).count() as f64;
    let count = runs.first().map_or(0, Vec::len);
    // A single flow is not listed by itself.
    if count == 0 { 0.0 } else { (0..count).map(of_run).sum::<f64>() / count as f64 }
}
