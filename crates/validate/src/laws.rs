//! Reno's throughput under independent loss against the two formulas everybody uses.

use crate::page::Section;
use crate::statistics::Mean;
use crate::summary;

/// Payload bits of a segment: 1448 bytes with timestamps.
const SEGMENT_BITS: f64 = 1448.0 * 8.0;
/// Round-trip time without any queue, seconds: what `validation/laws.toml` says, and a segment on its wires.
const RTT: f64 = 0.1;
/// The least RTO beside the round-trip time, seconds.
const MIN_RTO: f64 = 0.2;
const TOLERANCE: f64 = 0.1;

/// Both laws at every loss of the scenario.
pub fn section() -> anyhow::Result<Section> {
    let mut section = Section {
        title: "Throughput laws",
        about: format!(
            "One Reno flow over 1 Gbit/s, RTT {:.0} ms, independent loss of data, `airtcp run validation/laws.toml`; goodput in \
             Mbit/s, mean of 20 runs with its 95 % interval. *Square root*: MSS/RTT × √(3/2p) (Mathis et al., CCR 27(3), \
             1997), which knows no timeouts; applied up to 1 %. *PFTK*: the full model of Padhye et al. (SIGCOMM 1998), with \
             b = 1 as windows grow by what is acknowledged; applied from 0.5 %. Tolerance 10 % or the interval.",
            RTT * 1e3
        ),
        columns: vec!["loss", "simulated", "square root", "PFTK", ""],
        ..Section::default()
    };
    let summary = summary::run("validation/laws.toml", &[])?;
    for cell in &summary.cells {
        let loss = cell.at["links.lossy.loss"].as_str();
        let p = loss.trim_end_matches('%').parse::<f64>()? / 100.0;
        let simulated = Mean::of(&summary::mbit(cell));
        let (root, full) = (square_root(p), pftk(p));
        let agrees = |law: f64| simulated.agrees(&Mean { value: law, half: 0.0 }, TOLERANCE);
        let holds = (p > 0.01 || agrees(root)) && (p < 0.005 || agrees(full));
        section.row(vec![loss.to_owned(), simulated.to_string(), format!("{root:.2}"), format!("{full:.2}")], holds);
    }
    Ok(section)
}

/// Mbit/s.
fn square_root(p: f64) -> f64 {
    SEGMENT_BITS / RTT * (1.5 / p).sqrt() / 1e6
}

/// Mbit/s; equation 30 of the paper with b = 1, its window limit out of reach.
fn pftk(p: f64) -> f64 {
    let timeout = RTT + MIN_RTO;
    let waits = timeout * (3.0 * (3.0 * p / 8.0).sqrt()).min(1.0) * p * (1.0 + 32.0 * p * p);
    SEGMENT_BITS / (RTT * (2.0 * p / 3.0).sqrt() + waits) / 1e6
}
