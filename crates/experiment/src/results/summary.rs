//! `summary.json`: what came out, one object per cell. In the simulator the same seed gives the same bytes.
//!
//! Rates are bits per second of application bytes (*goodput*) and of IP bytes (*throughput*), over the measured part
//! of the runs, flows added up. Counters are those of one run: the median over the runs, rounded down. Ratios have
//! four decimals, `times_baseline` three, the emulator's seven. `times_baseline` divides run by run, each by the run of
//! the baseline cell with the same seed. For intervals see [`super::estimate`].

use super::{CellState, Results, baseline_of, estimate, median, readings, statistics::round};
use crate::scenario::{Cell, Scenario};
use crate::world::{EmulatorReport, RunOutcome, Verdict};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The whole file; `directory` is where it lies.
pub fn of(results: &Results<'_>, directory: &str) -> Value {
    let scenario = results.scenario;
    let mut skipped = Vec::new();
    let mut failed = Vec::new();
    for (cell, state) in scenario.cells.iter().zip(&results.cells) {
        let row = |reason: &String| json!({"world": results.world, "at": at_of(cell), "reason": reason});
        match state {
            CellState::Skipped(reason) => skipped.push(row(reason)),
            CellState::Failed(reason) => failed.push(row(reason)),
            CellState::Pending | CellState::Done(_) => {}
        }
    }
    let cells: Vec<Value> = (0..scenario.cells.len()).filter_map(|index| cell(results, index)).collect();
    let mut summary = json!({
        "schema": "airtcp.run/1",
        "version": env!("CARGO_PKG_VERSION"),
        "scenario": {"name": scenario.name, "hash": scenario.hash},
        "directory": directory,
        "cells": cells,
        "skipped": skipped,
    });
    if !failed.is_empty() {
        summary["failed"] = failed.into();
    }
    summary
}

/// The file's text: one line per cell, so that a difference is a difference of lines.
pub fn to_text(summary: &Value) -> String {
    let Value::Object(fields) = summary else { return summary.to_string() };
    let field = |(key, value): (&String, &Value)| match value {
        Value::Array(items) if !items.is_empty() => {
            let lines: Vec<String> = items.iter().map(|item| format!("  {item}")).collect();
            format!("\"{key}\": [\n{}\n ]", lines.join(",\n"))
        }
        _ => format!("\"{key}\": {value}"),
    };
    format!("{{{}}}\n", fields.iter().map(field).collect::<Vec<_>>().join(",\n "))
}

/// The labels of a cell as an object.
pub fn at_of(cell: &Cell) -> Value {
    Value::Object(cell.at.iter().map(|(key, label)| (key.clone(), label.clone().into())).collect())
}

/// The cells of a summary of `scenario`, each at its place in the scenario; `None` for those that did not run.
pub fn by_cell<'a>(scenario: &Scenario, summary: &'a Value) -> Vec<Option<&'a Value>> {
    // A summary lists its cells in the order of the scenario, so one walk finds them all.
    let mut cells = summary["cells"].as_array().map(Vec::as_slice).unwrap_or_default().iter().peekable();
    scenario.cells.iter().map(|cell| cells.next_if(|found| found["at"] == at_of(cell))).collect()
}

/// One cell; `None` unless it is done.
pub fn cell(results: &Results<'_>, index: usize) -> Option<Value> {
    let outcomes = results.outcomes(index)?;
    let cell = &results.scenario.cells[index];
    let runs = results.runs(index)?;
    let ceiling = runs.first().and_then(|run| run.ceiling_bps);
    let mut row = Map::new();
    let mut put = |key: &str, value: Value| row.insert(key.into(), value);
    put("world", results.world.into());
    put("seeds", (0..runs.len() as u64).map(|run| results.scenario.seed.wrapping_add(run)).collect());
    put("measured_ns", cell.scenario.measured().as_nanos().into());
    put("at", at_of(cell));
    put("ceiling_bps", ceiling.map_or(Value::Null, |bps| (bps.round() as u64).into()));
    readings::put(&mut row, &runs);
    if let Some(Value::Object(ratio)) = row.get_mut("times_baseline") {
        ratio.insert("baseline".into(), baseline_labels(results, index));
    }
    row.insert("drops".into(), drops(outcomes));
    let marks = marks(outcomes);
    if !marks.is_empty() {
        row.insert("marks".into(), marks.into());
    }
    row.insert("checks".into(), checks(outcomes));
    let broken = broken_checks(outcomes, results.scenario.seed);
    if !broken.is_empty() {
        row.insert("broken".into(), broken.into());
    }
    put_world(&mut row, outcomes);
    Some(Value::Object(row))
}

/// The schemes of the baseline.
fn baseline_labels(results: &Results<'_>, index: usize) -> Value {
    let baseline = baseline_of(results.scenario, index).map(|baseline| &results.scenario.cells[baseline].at);
    let of_schemes = baseline.into_iter().flatten().filter(|(key, _)| key.starts_with("schemes."));
    Value::Object(of_schemes.map(|(key, label)| (key.clone(), label.clone().into())).collect())
}

fn drops(runs: &[RunOutcome]) -> Value {
    let mut places: BTreeMap<(&str, &str), [Vec<u64>; 2]> = BTreeMap::new();
    for (index, run) in runs.iter().enumerate() {
        for drop in &run.drops {
            let entry = places.entry((&drop.place, &drop.reason));
            let [packets, headers] = entry.or_insert_with(|| [vec![0; runs.len()], vec![0; runs.len()]]);
            packets[index] += drop.packets;
            headers[index] += drop.headers;
        }
    }
    let rows = places.into_iter().map(|(place, counts)| (place, counts.map(|counts| median(&counts))));
    let row = |((place, reason), [packets, headers]): ((&str, &str), [u64; 2])| {
        let mut row = json!({"where": place, "reason": reason, "packets": packets});
        if headers > 0 {
            row["headers"] = headers.into();
        }
        row
    };
    rows.filter(|(_, [packets, _])| *packets > 0).map(row).collect()
}

fn marks(runs: &[RunOutcome]) -> Vec<Value> {
    let mut places: Vec<&str> = runs.iter().flat_map(|run| &run.marks).map(|mark| mark.place.as_str()).collect();
    places.sort_unstable();
    places.dedup();
    let in_run = |run: &RunOutcome, place: &str| {
        run.marks.iter().filter(|mark| mark.place == place).map(|mark| mark.packets).sum()
    };
    let row = |place: &str| json!({"where": place, "packets": median(&runs.iter().map(|run| in_run(run, place)).collect::<Vec<_>>())});
    places.into_iter().map(row).collect()
}

/// Verdict of each check over all runs: `passed`, `not checked` or `failed`.
fn checks(runs: &[RunOutcome]) -> Value {
    let mut verdicts = Map::new();
    for (name, verdict) in runs.iter().flat_map(|run| &run.checks) {
        let text = match verdict {
            Verdict::Passed => "passed",
            Verdict::NotChecked => "not checked",
            Verdict::Failed(_) => "failed",
        };
        let known = verdicts.entry(name.as_ref()).or_insert_with(|| text.into());
        if text == "failed" || *known == "passed" {
            *known = text.into();
        }
    }
    Value::Object(verdicts)
}

/// A sentence for each check that did not hold, with the seed that shows it.
pub(super) fn broken_checks(runs: &[RunOutcome], seed: u64) -> Vec<String> {
    let mut sentences = Vec::new();
    for (run, outcome) in (0u64..).zip(runs) {
        for (name, verdict) in &outcome.checks {
            if let Verdict::Failed(sentence) = verdict {
                sentences.push(format!("{name}: {sentence} (seed {})", seed.wrapping_add(run)));
            }
        }
    }
    sentences
}

fn put_world(row: &mut Map<String, Value>, runs: &[RunOutcome]) {
    let traces: Vec<_> = runs.iter().filter_map(|run| run.trace).collect();
    if !traces.is_empty() {
        let hashes: Vec<String> = traces.iter().map(|trace| format!("{:016x}", trace.hash)).collect();
        let events: Vec<u64> = traces.iter().map(|trace| trace.events).collect();
        row.insert("trace_hash".into(), hashes.into());
        row.insert("events".into(), events.into());
    }
    let reports: Vec<EmulatorReport> = runs.iter().filter_map(|run| run.emulator).collect();
    if !reports.is_empty() {
        let worst = |of: fn(&EmulatorReport) -> f64| reports.iter().map(of).fold(0.0, f64::max);
        let middle = |of: fn(&EmulatorReport) -> f64| {
            estimate(&reports.iter().map(of).collect::<Vec<_>>()).map_or(0.0, |estimate| estimate.median)
        };
        let report = json!({
            "valid": reports.iter().all(|report| report.valid),
            "rate_error_ratio": round(worst(|report| report.rate_error_ratio), 7),
            "release_error_p99_ns": reports.iter().map(|report| report.release_error_p99_ns).max(),
            "loss_asked_ratio": round(middle(|report| report.loss_asked_ratio), 7),
            "loss_seen_ratio": round(middle(|report| report.loss_seen_ratio), 7),
        });
        row.insert("emulator".into(), report);
    }
}
