//! `summary.json`: what came out, one object per cell. In the simulator the same seed gives the same bytes.
//!
//! Rates are bits per second of application bytes (*goodput*) and of IP bytes (*throughput*), over the measured part
//! of the runs, flows added up. Counters are those of one run: the median over the runs, rounded down. Ratios have
//! four decimals, `times_baseline` three, the emulator's seven. `times_baseline` divides run by run, each by the run of
//! the baseline cell with the same seed. For intervals see [`super::estimate`].

use super::rates::{fairness, goodput, rate_of, throughput};
use super::{CellState, Estimate, Results, baseline_of, ceiling_bps, controllers, estimate, median, path, probes};
use crate::scenario::{Cell, ResolvedScenario, Scenario};
use crate::world::{Drops, EmulatorReport, FlowOutcome, RunOutcome, Verdict, WLAN_COUNTERS};
use airtcp_core::{DropReason, Duration};
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
    let runs = results.outcomes(index)?;
    let cell = &results.scenario.cells[index];
    let scenario = &cell.scenario;
    let goodputs: Vec<f64> = runs.iter().map(goodput).collect();
    let ceiling = ceiling_bps(scenario);
    let mut row = Map::new();
    let mut put = |key: &str, value: Value| row.insert(key.into(), value);
    put("world", results.world.into());
    put("seeds", (0..runs.len() as u64).map(|run| results.scenario.seed.wrapping_add(run)).collect());
    put("measured_ns", scenario.measured().as_nanos().into());
    put("at", at_of(cell));
    put("ceiling_bps", ceiling.map_or(Value::Null, |bps| (bps.round() as u64).into()));
    let mut rates = integers(estimate(&goodputs));
    rates["runs"] = goodputs.iter().map(|bps| Value::from(bps.round() as u64)).collect();
    put("goodput_bps", rates);
    let throughputs: Vec<f64> = runs.iter().map(|run| throughput(scenario, run)).collect();
    put("throughput_bps", integers(estimate(&throughputs)));
    let of_ceiling = |ceiling: f64| goodputs.iter().map(|bps| bps / ceiling).collect::<Vec<_>>();
    put("of_ceiling", ceiling.map_or(Value::Null, |ceiling| decimals(estimate(&of_ceiling(ceiling)), 4)));
    put("times_baseline", times_baseline(results, index, &goodputs));
    let indices: Vec<f64> = runs.iter().map(|run| fairness(scenario, run)).collect();
    put("jain", decimals(estimate(&indices), 4));
    put("rtt_ns", rtt(runs));
    for (name, of) in FLOW_TIMES {
        if let Some(times) = runs.iter().map(|run| latest(run, of)).collect::<Option<Vec<f64>>>() {
            put(name, integers(estimate(&times)));
        }
    }
    let of_flows = |count: fn(&FlowOutcome) -> u64| counter(runs, |run| run.flows.iter().map(count).sum());
    let mut sender = json!({
        "retransmitted_segments": of_flows(|flow| flow.retransmitted_segments),
        "rtos": of_flows(|flow| flow.rtos),
        "acked_bytes": of_flows(|flow| flow.acked_bytes),
    });
    if runs.iter().flat_map(|run| &run.flows).all(|flow| flow.acknowledged_missing.is_some()) {
        sender["acknowledged_missing_bytes"] = of_flows(|flow| flow.acknowledged_missing.unwrap_or(0)).into();
    }
    put("sender", sender);
    put("queue", queue(runs));
    if let Some(paths) = runs.iter().map(|run| run.path).collect::<Option<Vec<_>>>() {
        put("path", path::of(&paths));
    }
    let probes = probes::of(runs);
    if !probes.is_empty() {
        put("probes", probes.into());
    }
    put(
        "longest_stall_ns",
        counter(runs, |run| run.flows.iter().map(|flow| flow.longest_stall.as_nanos()).max().unwrap_or(0)).into(),
    );
    if scenario.flows.len() > 1 {
        row.insert("flows".into(), flows(runs));
    }
    put_schemes(&mut row, scenario, runs);
    put_controllers(&mut row, runs);
    put_control(&mut row, runs);
    if !scenario.wlans.is_empty() {
        let of = |name: &str| counter(runs, |run| run.wlan.get(name).copied().unwrap_or(0));
        let counters = WLAN_COUNTERS.iter().map(|(name, _)| ((*name).to_owned(), of(name).into()));
        row.insert("wlan".into(), Value::Object(counters.collect()));
    }
    row.insert("drops".into(), drops(runs));
    let marks = marks(runs);
    if !marks.is_empty() {
        row.insert("marks".into(), marks.into());
    }
    row.insert("checks".into(), checks(runs));
    let broken = broken_checks(runs, results.scenario.seed);
    if !broken.is_empty() {
        row.insert("broken".into(), broken.into());
    }
    put_world(&mut row, runs);
    Some(Value::Object(row))
}

/// The queues before links; those of a live world's kernel are not seen.
fn queue(runs: &[RunOutcome]) -> Value {
    let mut queue = json!({"drops": counter(runs, dropped_by_queues)});
    let has_headers =
        |run: &RunOutcome| dropped_by_links(run).0 > 0 || run.queue.is_some_and(|queue| queue.headers_max.is_some());
    if runs.iter().any(has_headers) {
        queue["header_drops"] = counter(runs, |run| dropped_by_links(run).0).into();
        queue["data_drops"] = counter(runs, |run| dropped_by_links(run).1).into();
    }
    if let Some(queues) = runs.iter().map(|run| run.queue).collect::<Option<Vec<_>>>() {
        queue["bytes_max"] = median(&queues.iter().map(|queue| queue.bytes_max).collect::<Vec<_>>()).into();
        if let Some(drops) = queues.iter().map(|queue| queue.first_drop).collect::<Option<Vec<_>>>() {
            queue["first_drop_ns"] = median(&drops.iter().map(|at| at.as_nanos()).collect::<Vec<_>>()).into();
        }
        if let Some(most) = queues.iter().map(|queue| queue.headers_max).collect::<Option<Vec<_>>>() {
            queue["headers_max"] = median(&most).into();
        }
        if let Some(means) = queues.iter().map(|queue| queue.headers_mean).collect::<Option<Vec<_>>>() {
            queue["headers_mean"] = decimals(estimate(&means), 3);
        }
    }
    queue
}

/// Packets that queues dropped, for want of room or to slow their senders, anywhere.
pub(super) fn dropped_by_queues(run: &RunOutcome) -> u64 {
    run.drops.iter().filter(|drop| is_of_a_queue(drop)).map(|drop| drop.packets).sum()
}

/// What the queues before links dropped: header packets of TCP Decoupling, and all else. (DEC-23, DEC-C21)
pub(super) fn dropped_by_links(run: &RunOutcome) -> (u64, u64) {
    let of_links = run.drops.iter().filter(|drop| drop.place.starts_with("links.") && is_of_a_queue(drop));
    of_links.fold((0, 0), |(headers, others), drop| (headers + drop.headers, others + drop.packets - drop.headers))
}

fn is_of_a_queue(drop: &Drops) -> bool {
    [DropReason::QUEUE_FULL, DropReason::AQM].iter().any(|reason| reason.label() == drop.reason)
}

/// Each flow of several by itself.
fn flows(runs: &[RunOutcome]) -> Value {
    let names = runs.first().map(|run| run.flows.iter().map(|flow| &flow.name)).into_iter().flatten();
    let with_runs = |samples: &[f64]| {
        let mut value = integers(estimate(samples));
        value["runs"] = samples.iter().map(|sample| Value::from(sample.round() as u64)).collect();
        value
    };
    let flow = |(index, name): (usize, &String)| {
        let of = |measure: &dyn Fn(&FlowOutcome) -> f64| {
            runs.iter().map(|run| measure(&run.flows[index])).collect::<Vec<_>>()
        };
        let mut row = json!({
            "name": name,
            "goodput_bps": with_runs(&of(&rate_of)),
            "retransmitted_segments": with_runs(&of(&|flow| flow.retransmitted_segments as f64)),
            "rtos": with_runs(&of(&|flow| flow.rtos as f64)),
        });
        for (name, time) in FLOW_TIMES {
            // Without the runs in which it did not come to its end.
            let times: Vec<f64> =
                runs.iter().filter_map(|run| Some(time(&run.flows[index])?.as_nanos() as f64)).collect();
            if !times.is_empty() {
                row[name] = with_runs(&times);
            }
        }
        row
    };
    names.enumerate().map(flow).collect()
}

fn times_baseline(results: &Results<'_>, index: usize, goodputs: &[f64]) -> Value {
    let Some(baseline) = baseline_of(results.scenario, index) else { return Value::Null };
    let Some(runs) = results.outcomes(baseline) else { return Value::Null };
    let pairs = goodputs.iter().zip(runs.iter().map(goodput));
    let ratios: Vec<f64> = pairs.filter(|(_, plain)| *plain > 0.0).map(|(ours, plain)| ours / plain).collect();
    let mut value = decimals(estimate(&ratios), 3);
    if value.is_object() {
        let of_schemes = results.scenario.cells[baseline].at.iter().filter(|(key, _)| key.starts_with("schemes."));
        value["baseline"] = Value::Object(of_schemes.map(|(key, label)| (key.clone(), label.clone().into())).collect());
    }
    value
}

fn rtt(runs: &[RunOutcome]) -> Value {
    // Of several flows the one that waits longest.
    let highest = |of: fn(&FlowOutcome) -> u64| counter(runs, |run| run.flows.iter().map(of).max().unwrap_or(0));
    json!({"p50": highest(|flow| flow.rtt.p50), "p95": highest(|flow| flow.rtt.p95), "p99": highest(|flow| flow.rtt.p99)})
}

type FlowTime = fn(&FlowOutcome) -> Option<Duration>;

/// Times that flows of fixed size take, by their names in files.
pub(super) const FLOW_TIMES: [(&str, FlowTime); 2] =
    [("completion_ns", |flow| flow.completion), ("transfer_ns", |flow| flow.transfer)];

/// The time of the flow that takes longest, of those that were complete, in ns.
pub(super) fn latest(run: &RunOutcome, of: FlowTime) -> Option<f64> {
    run.flows.iter().filter_map(of).max().map(|time| time.as_nanos() as f64)
}

fn put_schemes(row: &mut Map<String, Value>, scenario: &ResolvedScenario, runs: &[RunOutcome]) {
    let mut schemes: Vec<(String, Value)> = Vec::new();
    for (position, spec) in scenario.schemes.iter().enumerate() {
        let mut fields = Map::new();
        fields.insert("kind".into(), spec.kind.clone().into());
        if let Some(mode) = spec.choice.settings.given().into_iter().find(|field| field.name == "mode") {
            fields.insert("mode".into(), mode.value.into());
        }
        fields.insert("keeps_end_to_end".into(), spec.choice.entry.keeps_end_to_end.into());
        let mut names: Vec<&String> =
            runs.iter().filter_map(|run| run.schemes.get(position)).flat_map(|scheme| scheme.counters.keys()).collect();
        names.sort();
        names.dedup();
        for name in names {
            let of_run = |run: &RunOutcome| {
                run.schemes.get(position).and_then(|scheme| scheme.counters.get(name)).copied().unwrap_or(0)
            };
            fields.insert(name.clone(), counter(runs, of_run).into());
        }
        schemes.push((spec.name.clone(), Value::Object(fields)));
    }
    match schemes.len() {
        0 => row.insert("scheme".into(), json!({"kind": "none", "keeps_end_to_end": true})),
        1 => row.insert("scheme".into(), schemes.remove(0).1),
        _ => row.insert("schemes".into(), Value::Object(schemes.into_iter().collect())),
    };
}

/// Counters of all flows' controllers together, with the shares that they have in the decisions.
fn put_controllers(row: &mut Map<String, Value>, runs: &[RunOutcome]) {
    let names = runs.first().map(controllers::names).unwrap_or_default();
    let mut fields = Map::new();
    for name in names {
        fields.insert(name.to_owned(), counter(runs, |run| controllers::count(run, name)).into());
        if let Some((name, share)) = controllers::shares(runs, name) {
            fields.insert(name, decimals(share, 4));
        }
    }
    if !fields.is_empty() {
        row.insert("controller".into(), Value::Object(fields));
    }
}

/// What all flows' sockets counted together, where they count anything.
fn put_control(row: &mut Map<String, Value>, runs: &[RunOutcome]) {
    let mut fields = Map::new();
    for (name, _) in runs.iter().flat_map(|run| &run.flows).flat_map(|flow| &flow.control) {
        if !fields.contains_key(name) {
            fields.insert(name.clone(), counter(runs, |run| controllers::control_count(run, name)).into());
        }
    }
    if !fields.is_empty() {
        row.insert("control".into(), Value::Object(fields));
    }
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
    let row = |place: &str| json!({"where": place, "packets": counter(runs, |run| in_run(run, place))});
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

fn counter(runs: &[RunOutcome], of: impl Fn(&RunOutcome) -> u64) -> u64 {
    median(&runs.iter().map(of).collect::<Vec<_>>())
}

pub(super) fn integers(estimate: Option<Estimate>) -> Value {
    estimate.map_or(Value::Null, |estimate| {
        json!({"median": estimate.median.round() as u64, "ci95": estimate.ci95.map(|end| end.round() as u64)})
    })
}

fn decimals(estimate: Option<Estimate>, decimals: i32) -> Value {
    estimate.map_or(Value::Null, |estimate| {
        json!({"median": round(estimate.median, decimals), "ci95": estimate.ci95.map(|end| round(end, decimals))})
    })
}

fn round(value: f64, decimals: i32) -> f64 {
    let factor = 10f64.powi(decimals);
    (value * factor).round() / factor
}
