//! Aggregated 802.11 cells (n, ac, ax) against theory and against ns-3.

use crate::page::Section;
use crate::statistics::median;
use crate::summary;
use crate::wlan::settings;
use airtcp_core::Duration;
use airtcp_sim::dot11::CellSettings;
use airtcp_sim::dot11::saturation::{Saturation, bianchi, measure};

const REFERENCE: &str = "validation/ns3-wifi-aggregated.csv";
const SCENARIO: &str = "validation/ns3-wifi-aggregated.toml";
const SECONDS: u64 = 60;
/// Payload of ns-3's packets, and with IP and UDP headers.
const PAYLOAD: f64 = 1472.0;
const PACKET: u32 = 1500;
/// As of other cells. Stations count as EDCA has it, and so does the model: also the slot in which another station begins.
const OF_BIANCHI: f64 = 0.02;
const OF_NS3_UDP: f64 = 0.03;
const OF_NS3_TCP: f64 = 0.05;

type Keys = &'static [(&'static str, &'static str)];

/// The cells: label, what the reader sees, keys. As in the scenario, where frames are sent until they arrive, too.
const CELLS: [(&str, &str, Keys); 3] = [
    ("n", "n, 65 Mbit/s", &[("phy", "n")]),
    ("ac", "ac, 351 Mbit/s", &[("phy", "ac"), ("mcs", "8"), ("width", "80")]),
    ("ax", "ax, 600.5 Mbit/s", &[("phy", "ax"), ("mcs", "11"), ("width", "80")]),
];

/// One network in ns-3.
struct Reference {
    mbit: f64,
    frames: f64,
}

/// ns-3's figures for a cell, mean of its seeds.
fn reference(standard: &str, traffic: &str, stations: usize) -> anyhow::Result<Reference> {
    let records = summary::records(REFERENCE)?;
    let is_it = |row: &&csv::StringRecord| row[0] == *standard && row[1] == *traffic && row[2] == stations.to_string();
    let rows: Vec<_> = records.iter().filter(is_it).collect();
    anyhow::ensure!(!rows.is_empty(), "{REFERENCE} has no line {standard},{traffic},{stations}");
    let mean = |column: usize| -> anyhow::Result<f64> {
        let values: Vec<f64> = rows.iter().map(|row| row[column].parse()).collect::<Result<_, _>>()?;
        Ok(values.iter().sum::<f64>() / values.len() as f64)
    };
    Ok(Reference { mbit: mean(4)?, frames: mean(6)? })
}

fn agrees(ours: f64, reference: f64, tolerance: f64) -> bool {
    (ours / reference - 1.0).abs() <= tolerance
}

/// Stations that always have more to send, against Bianchi's model with the longest aggregate and ns-3.
pub fn saturation() -> anyhow::Result<Section> {
    let mut section = Section {
        title: "802.11n, ac and ax: saturated uplink",
        about: format!(
            "Stations of a cell at 5 GHz, one stream, that always have packets of {PACKET} bytes to send: Mbit/s of the payload of {PAYLOAD}, {SECONDS} s, \
             against Bianchi's model with the longest aggregate that the settings allow, tolerance {:.0} %, and ns-3.37 (validation/ns3-wifi-aggregated.cc, mean of its seeds), tolerance {:.0} %.",
            OF_BIANCHI * 100.0,
            OF_NS3_UDP * 100.0,
        ),
        columns: vec!["", "stations", "Bianchi", "ns-3", "airtcp", "collisions", "Bianchi's collisions", ""],
        ..Section::default()
    };
    for (standard, name, keys) in CELLS {
        for stations in [1, 5, 20] {
            let settings: CellSettings = settings(&[keys, &[("retry_limit", "100000")]].concat())?;
            let model = bianchi(&settings, stations, PACKET, None);
            let seen = measure(&settings, stations, PACKET, Duration::from_secs(SECONDS), 1);
            let reference = reference(standard, "udp", stations)?;
            let (ours, of_model) = (mbit(seen), mbit(model));
            let row = vec![
                name.to_owned(),
                stations.to_string(),
                format!("{of_model:.2}"),
                format!("{:.2}", reference.mbit),
                format!("{ours:.2}"),
                format!("{:.3}", seen.collision_probability),
                format!("{:.3}", model.collision_probability),
            ];
            let holds = agrees(ours, of_model, OF_BIANCHI) && agrees(ours, reference.mbit, OF_NS3_UDP);
            section.row(row, holds);
        }
    }
    Ok(section)
}

/// TCP uploads and downloads, against ns-3.
pub fn tcp() -> anyhow::Result<Section> {
    let mut section = Section {
        title: "802.11n, ac and ax: TCP uploads and downloads",
        about: format!(
            "A TCP flow of each station, to or from a server 2 ms behind the access point, `airtcp run {SCENARIO}` (5 runs) against ns-3.37 (mean of its \
             seeds): goodput of all in Mbit/s, tolerance {:.0} %, and the mean number of frames in a transmission of data, not judged. As in ns-3 each \
             frame of an aggregate is handed up when its last bit has come (`hand_up = \"frame\"`).",
            OF_NS3_TCP * 100.0,
        ),
        columns: vec!["", "traffic", "stations", "ns-3", "airtcp", "ns-3, frames", "airtcp", ""],
        ..Section::default()
    };
    let summary = summary::run(SCENARIO, &[])?;
    for (standard, name, _) in CELLS {
        for traffic in ["up", "down"] {
            for stations in [1, 5, 20] {
                let count = stations.to_string();
                let at = [("cases.standard", standard), ("cases.traffic", traffic), ("cases.stations", &count)];
                let cell = summary::cell(&summary, &at)?;
                let reference = reference(standard, traffic, stations)?;
                let ours = median(&summary::mbit(cell));
                let frames = summary::median(cell, "wlan.aggregated_frames") / summary::median(cell, "wlan.aggregates");
                let row = vec![
                    name.to_owned(),
                    traffic.to_owned(),
                    count.clone(),
                    format!("{:.2}", reference.mbit),
                    format!("{ours:.2}"),
                    format!("{:.1}", reference.frames),
                    format!("{frames:.1}"),
                ];
                section.row(row, agrees(ours, reference.mbit, OF_NS3_TCP));
            }
        }
    }
    Ok(section)
}

fn mbit(saturation: Saturation) -> f64 {
    saturation.packets_per_second * PAYLOAD * 8.0 / 1e6
}
