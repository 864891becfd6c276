//! The Linux kernel's TCP against ours, on the same emulated links.

use crate::page::Section;
use crate::per_run::Results;
use crate::statistics::{Mean, median};
use crate::summary;
use airtcp_experiment::results::summary::{CellSummary, Summary};
use anyhow::Context;

const SCENARIOS: [&str; 3] =
    ["validation/kernel-slow.toml", "validation/kernel-fast.toml", "validation/kernel-many.toml"];
const SHORT: &str = "validation/kernel-short.toml";
const START: &str = "validation/kernel-start.toml";
const GOODPUT: f64 = 0.10;
const RETRANSMISSIONS: f64 = 0.15;
const COMPLETION: f64 = 0.10;
const DROPS: f64 = 0.25;
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
            "One flow per point, controller, rate, round trip and loss of data in its name, or eight that share a queue (many), or one of \
             which 1 or 5 % of the data are overtaken, 60 s, 10 runs, `airtcp run {} --live`, `airtcp run {} --live` and \
             `airtcp run {} --live` against the same without `--live`. Windows are open from the start in both. Medians of goodput in Mbit/s, tolerance 10 % or the joint interval, and of segments retransmitted, \
             tolerance 15 %.",
            SCENARIOS[0], SCENARIOS[1], SCENARIOS[2]
        ),
        columns: vec!["point", "Linux", "airtcp", "Linux, resent", "airtcp, resent", ""],
        ..Section::default()
    };
    for scenario in SCENARIOS {
        let kernel = match live(scenario, &[]) {
            Ok(kernel) => kernel,
            Err(reason) => {
                section.failed += 1;
                section.notes.push(format!("`{scenario}` was not run live: {reason}"));
                continue;
            }
        };
        let ours = summary::run(scenario, &[])?;
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

fn live(scenario: &str, more: &[&str]) -> anyhow::Result<Summary> {
    for _ in 0..ATTEMPTS {
        let summary = summary::run(scenario, &[more, &["--live"]].concat())?;
        if !summary.cells.iter().any(CellSummary::is_void) {
            return Ok(summary);
        }
    }
    anyhow::bail!("the emulator did not hold its rate, delay or loss; run again on an idle machine")
}

/// The flows of the only cell; those of a group are added up.
fn flows(summary: &Summary) -> anyhow::Result<Vec<(String, Runs)>> {
    let cell = summary.cells.first().context("the summary has no cell")?;
    let mut flows: Vec<(String, Runs)> = Vec::new();
    for name in cell.readings.flows() {
        let runs = |metric: &str| summary::runs(cell, &format!("flows.{name}.{metric}"));
        let mbit = runs("goodput_bps").into_iter().map(|bps| bps / 1e6).collect();
        let flow = Runs { mbit, retransmitted: runs("retransmitted_segments") };
        let group = name.trim_end_matches(|character: char| character.is_ascii_digit());
        match flows.last_mut() {
            Some((known, runs)) if group.ends_with(MANY) && known == group => runs.add(&flow),
            _ if group.ends_with(MANY) => flows.push((group.to_owned(), flow)),
            _ => flows.push((name.to_owned(), flow)),
        }
    }
    Ok(flows)
}

/// How a group's name ends.
const MANY: &str = "many";

impl Runs {
    fn add(&mut self, other: &Runs) {
        let add = |sums: &mut Vec<f64>, more: &[f64]| sums.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
        add(&mut self.mbit, &other.mbit);
        add(&mut self.retransmitted, &other.retransmitted);
    }
}

/// Short files: how long they take.
pub fn short_flows() -> anyhow::Result<Section> {
    let mut section = Section {
        title: "The Linux kernel: short files",
        about: format!(
            "Files of 1, 10 and 100 segments over 10 Mbit/s and 50 ms, `airtcp run {SHORT} --live` against the same without `--live`: medians of \
             the time until all has arrived, handshake included, in ms of 12 runs, and the least and the most; tolerance 10 %."
        ),
        columns: vec!["segments", "Linux", "airtcp", ""],
        ..Section::default()
    };
    let (kernel, ours) = (live(SHORT, &[])?, summary::run(SHORT, &[])?);
    let cells = kernel.cells.first().zip(ours.cells.first());
    let (kernel, ours) = cells.context("the summary has no cell")?;
    for (flow, segments) in [("one", 1), ("ten", 10), ("hundred", 100)] {
        let times = |cell| -> Vec<f64> {
            let runs = summary::runs(cell, &format!("flows.{flow}.completion_ns"));
            runs.into_iter().map(|nanos| nanos / 1e6).collect()
        };
        let (kernel, ours) = (times(kernel), times(ours));
        let holds = is_near(&ours, &kernel, COMPLETION);
        section.row(vec![segments.to_string(), spread(&kernel, 1), spread(&ours, 1)], holds);
    }
    Ok(section)
}

/// CUBIC's start: what the queue drops.
pub fn start() -> anyhow::Result<Section> {
    let mut section = Section {
        title: "The Linux kernel: CUBIC's start",
        about: format!(
            "One CUBIC flow, rate, round trip and loss of data in the point's name, 10 s, a queue of 167 packets, `airtcp run {START} --live` \
             against the same without `--live`: medians of the packets that the queue dropped in 12 runs, and the least and the most; \
             tolerance 25 %. The losses of a run are the same in both."
        ),
        columns: vec!["point", "Linux", "airtcp", ""],
        ..Section::default()
    };
    let results = Results::new("start")?;
    let into = ["--results", results.path()?];
    let summary = live(START, &into)?;
    summary::run(START, &into)?;
    let (kernel, ours) = (results.values("live", "queue.drops")?, results.values("sim", "queue.drops")?);
    for ((cell, kernel), ours) in summary.cells.iter().zip(kernel).zip(ours) {
        let point = cell.at.values().next().cloned().unwrap_or_default();
        let holds = is_near(&ours, &kernel, DROPS);
        section.row(vec![point, spread(&kernel, 0), spread(&ours, 0)], holds);
    }
    Ok(section)
}

/// The median, and what all runs lie between.
fn spread(samples: &[f64], decimals: usize) -> String {
    let (least, most) =
        samples.iter().fold((f64::INFINITY, 0.0_f64), |(a, b), sample| (a.min(*sample), b.max(*sample)));
    format!("{:.decimals$} ({least:.decimals$} to {most:.decimals$})", median(samples))
}
