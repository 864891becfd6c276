//! Every run in columns, for notebooks: `runs.parquet`, `metrics.parquet` and `counters.parquet`.
//!
//! All begin with the label of each varied key, then `cell` (place in the scenario, from 0), `run` and `seed`.
//! `runs.parquet` has one row per run and flow, `metrics.parquet` one per run and metric; `counters.parquet` one per run and counter: what a scheme counted
//! (`of` = `scheme`), what was lost where and why (`of` = `drops`; header packets of TCP Decoupling among it: `header_drops`) and what was marked where (`of` = `marks`). Units stand
//! in the names and are base units.
//! Rows are in the order of the scenario, so that in the simulator a seed gives the same bytes.

mod columns;

use super::Results;
use crate::metric::{self, Run, rates};
use crate::world::{FlowOutcome, RunOutcome};
use columns::{Field, Kind, Writer};
use std::io;
use std::path::Path;

/// Writes all files into `directory`.
///
/// # Errors
/// The file system's.
pub fn write(directory: &Path, results: &Results<'_>) -> io::Result<()> {
    let axes: Vec<&str> = results.scenario.axes.iter().map(|(name, _)| name.as_str()).collect();
    let mut runs = Writer::create(&directory.join("runs.parquet"), &columns_of(&axes, RUNS))?;
    let mut metrics = Writer::create(&directory.join("metrics.parquet"), &columns_of(&axes, METRICS))?;
    let mut counters = Writer::create(&directory.join("counters.parquet"), &columns_of(&axes, COUNTERS))?;
    for (index, cell) in results.scenario.cells.iter().enumerate() {
        for (run, measured) in (0u64..).zip(results.runs(index).unwrap_or_default()) {
            let outcome = measured.outcome;
            let seed = results.scenario.seed.wrapping_add(run);
            let labels = cell.at.iter().map(|(_, label)| Field::Text(label));
            let place = [index as u64, run, seed].map(|number| Field::Integer(Some(number)));
            let key: Vec<Field<'_>> = labels.chain(place).collect();
            for flow in &outcome.flows {
                runs.put(key.iter().copied().chain(fields_of(flow, measured.ceiling_bps)))?;
            }
            put_metrics(&mut metrics, &key, &measured)?;
            put_counters(&mut counters, &key, outcome)?;
        }
    }
    runs.finish()?;
    metrics.finish()?;
    counters.finish()
}

/// Columns of every file after the varied keys.
const KEY: [(&str, Kind); 3] = [("cell", Kind::Integer), ("run", Kind::Integer), ("seed", Kind::Integer)];

/// `ceiling_bps` is that of the run, all flows together.
const RUNS: &[(&str, Kind)] = &[
    ("flow", Kind::Text),
    ("goodput_bps", Kind::Real),
    ("ceiling_bps", Kind::Real),
    ("measured_bytes", Kind::Integer),
    ("measured_ns", Kind::Integer),
    ("total_bytes", Kind::Integer),
    ("completion_ns", Kind::Integer),
    ("transfer_ns", Kind::Integer),
    ("retransmitted_segments", Kind::Integer),
    ("rtos", Kind::Integer),
    ("rtt_p50_ns", Kind::Integer),
    ("rtt_p95_ns", Kind::Integer),
    ("rtt_p99_ns", Kind::Integer),
    ("segment_bytes", Kind::Integer),
    ("longest_stall_ns", Kind::Integer),
];

const METRICS: &[(&str, Kind)] = &[("name", Kind::Text), ("value", Kind::Real)];

const COUNTERS: &[(&str, Kind)] =
    &[("of", Kind::Text), ("place", Kind::Text), ("name", Kind::Text), ("count", Kind::Integer)];

fn columns_of<'a>(axes: &[&'a str], own: &[(&'a str, Kind)]) -> Vec<(&'a str, Kind)> {
    axes.iter().map(|axis| (*axis, Kind::Text)).chain(KEY).chain(own.iter().copied()).collect()
}

fn fields_of(flow: &FlowOutcome, ceiling_bps: Option<f64>) -> impl Iterator<Item = Field<'_>> {
    let first = [Field::Text(&flow.name), Field::Real(Some(rates::rate_of(flow))), Field::Real(ceiling_bps)];
    let integers = [
        Some(flow.window_bytes),
        Some(flow.window.as_nanos()),
        Some(flow.total_bytes),
        flow.completion.map(airtcp_core::Duration::as_nanos),
        flow.transfer.map(airtcp_core::Duration::as_nanos),
        Some(flow.retransmitted_segments),
        Some(flow.rtos),
        Some(flow.rtt.p50),
        Some(flow.rtt.p95),
        Some(flow.rtt.p99),
        Some(u64::from(flow.segment_bytes)),
        Some(flow.longest_stall.as_nanos()),
    ];
    first.into_iter().chain(integers.into_iter().map(Field::Integer))
}

/// Every metric that the run tells.
fn put_metrics(metrics: &mut Writer, key: &[Field<'_>], run: &Run<'_>) -> io::Result<()> {
    for metric in metric::all() {
        for member in metric.members.in_run(run.outcome) {
            if let Some(value) = metric.of(run, &member) {
                let name = metric.named(&member);
                metrics.put(key.iter().copied().chain([Field::Text(&name), Field::Real(Some(value))]))?;
            }
        }
    }
    Ok(())
}

fn put_counters(counters: &mut Writer, key: &[Field<'_>], outcome: &RunOutcome) -> io::Result<()> {
    let mut put = |names: [&str; 3], count: u64| {
        counters.put(key.iter().copied().chain(names.map(Field::Text)).chain([Field::Integer(Some(count))]))
    };
    for scheme in &outcome.schemes {
        scheme.counters.iter().try_for_each(|(name, count)| put(["scheme", &scheme.name, name], *count))?;
    }
    for flow in &outcome.flows {
        flow.controller.iter().try_for_each(|(name, count)| put(["controller", &flow.name, name], *count))?;
        flow.control.iter().try_for_each(|(name, count)| put(["control", &flow.name, name], *count))?;
    }
    outcome.marks.iter().try_for_each(|mark| put(["marks", &mark.place, "ce"], mark.packets))?;
    outcome.drops.iter().try_for_each(|drop| put(["drops", &drop.place, &drop.reason], drop.packets))?;
    let mut with_headers = outcome.drops.iter().filter(|drop| drop.headers > 0);
    with_headers.try_for_each(|drop| put(["header_drops", &drop.place, &drop.reason], drop.headers))
}
