//! The Linux kernel's TCP against ours, on the same emulated links.

use crate::page::Section;
use crate::statistics::{Mean, median};
use crate::summary;
use airtcp_experiment::results::summary::{CellSummary, Summary};
use anyhow::Context;

const SCENARIOS: [&str; 2] = ["validation/kernel-slow.toml", "validation/kernel-fast.toml"];
/// Linux acknowledges every segment while its receive window grows, by two segments with each, from 64 KiB to what the
/// buffer holds (`tcp_grow_window`): (8 MiB - 64 KiB) / 2896 segments. Our window is open from the start, so the
/// receiver is given this number of quick acknowledgments instead.
const QUICK_ACKS: [&str; 2] = ["--set", "defaults.flows.quick_acks=2874"];
const GOODPUT: f64 = 0.10;
const RETRANSMISSIONS: f64 = 0.15;
/// A run whose links were not what they should be is made again.
const ATTEMPTS: usize = 3;

/// What one flow did in each run.
struct Runs {
    mbit: Vec<f64>,
    retransmitted: Vec<f64>,
}

/// A row for each point.
pub fn section() -> anyhow::Result<Section> {
    let mut section = Section {
        title: "The Linux kernel",
        about: format!(
            "One flow per point, controller, rate, round trip and loss of data in its name, 60 s, 10 runs, `airtcp run {} --live` and \
             `airtcp run {} --live` against the same with `{}` and without `--live`: as long as its \
             receive window grows, Linux acknowledges every segment, and ours is open from the start. Medians of goodput in Mbit/s, tolerance 10 % or the joint \
             interval, and of segments retransmitted, tolerance 15 %.",
            SCENARIOS[0],
            SCENARIOS[1],
            QUICK_ACKS.join(" ")
        ),
        columns: vec!["point", "Linux", "airtcp", "Linux, resent", "airtcp, resent", ""],
        ..Section::default()
    };
    for scenario in SCENARIOS {
        let kernel = match live(scenario) {
            Ok(kernel) => kernel,
            Err(reason) => {
                section.failed += 1;
                section.notes.push(format!("`{scenario}` was not run live: {reason}"));
                continue;
            }
        };
        let ours = summary::run(scenario, &QUICK_ACKS)?;
        for (name, linux) in flows(&kernel)? {
            let (_, airtcp) =
                flows(&ours)?.into_iter().find(|(other, _)| *other == name).unwrap_or((name.clone(), EMPTY));
            let holds = (is_near(&airtcp.mbit, &linux.mbit, GOODPUT)
                || Mean::of(&airtcp.mbit).agrees(&Mean::of(&linux.mbit), 0.0))
                && is_near(&airtcp.retransmitted, &linux.retransmitted, RETRANSMISSIONS);
            let two = |samples: &[f64]| format!("{:.2} (± {:.2})", median(samples), Mean::of(samples).half);
            let none = |samples: &[f64]| format!("{:.0} (± {:.0})", median(samples), Mean::of(samples).half);
            let row = vec![
                name,
                two(&linux.mbit),
                two(&airtcp.mbit),
                none(&linux.retransmitted),
                none(&airtcp.retransmitted),
            ];
            section.row(row, holds);
        }
    }
    Ok(section)
}

/// Whether the medians are within `ratio` of each other.
fn is_near(ours: &[f64], theirs: &[f64], ratio: f64) -> bool {
    (median(ours) - median(theirs)).abs() <= ratio * median(theirs)
}

const EMPTY: Runs = Runs { mbit: Vec::new(), retransmitted: Vec::new() };

fn live(scenario: &str) -> anyhow::Result<Summary> {
    for _ in 0..ATTEMPTS {
        let summary = summary::run(scenario, &["--live"])?;
        if !summary.cells.iter().any(CellSummary::is_void) {
            return Ok(summary);
        }
    }
    anyhow::bail!("the emulator did not hold its rate, delay or loss; run again on an idle machine")
}

/// The flows of the only cell.
fn flows(summary: &Summary) -> anyhow::Result<Vec<(String, Runs)>> {
    let cell = summary.cells.first().context("the summary has no cell")?;
    let read = |name: &str| {
        let runs = |metric: &str| summary::runs(cell, &format!("flows.{name}.{metric}"));
        let mbit = runs("goodput_bps").into_iter().map(|bps| bps / 1e6).collect();
        (name.to_owned(), Runs { mbit, retransmitted: runs("retransmitted_segments") })
    };
    Ok(cell.readings.flows().map(read).collect())
}
