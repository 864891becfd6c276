//! Everything that was measured as rows of plain values: for Parquet files, and for Arrow in the Python package.
//!
//! All rows begin with the label of each varied key and, where its values are numbers, with the number in base units in a column
//! beside it (`links.air.loss` and `links.air.loss_ratio`). [`TABLES`] says which columns follow. Rows are in the order of
//! the scenario.

mod dictionary;
mod over_time;

pub use dictionary::{COUNT, Column, KEY, Kind, RUN, TABLES, Table};

use super::Results;
use super::summary::{CellSummary, Summary, by_cell};
use crate::metric::{self, Run, rates};
use crate::quantity;
use crate::scenario::Scenario;
use crate::world::{FlowOutcome, RunOutcome};
use dictionary::{CELLS, COUNTERS, METRICS, RUNS, SERIES};

/// One value of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// Of a column of texts.
    Text(&'a str),
    /// Of a column of whole numbers.
    Integer(Option<u64>),
    /// Of any other.
    Real(Option<f64>),
}

/// The values of a column in some rows that follow each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Values<'a> {
    /// The same in each.
    Same(Value<'a>),
    /// A whole number in each.
    Integers(&'a [u64]),
}

/// Rows of a table that follow each other, by columns: for each of [`columns`] its values, which are of its kind.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// How many.
    pub count: usize,
    /// What each begins with: which cell it is, and which run.
    pub key: &'a [Value<'a>],
    /// The columns behind that.
    pub values: &'a [Values<'a>],
}

impl Rows<'_> {
    /// What the columns hold, in their order.
    pub fn columns(&self) -> impl Iterator<Item = Values<'_>> {
        self.key.iter().map(|value| Values::Same(*value)).chain(self.values.iter().copied())
    }
}

/// Takes rows of a table.
type Put<'a, E> = &'a mut dyn FnMut(&'static Table, Rows<'_>) -> Result<(), E>;

/// Gives `put` every row of every table. `summary` is that of the results.
///
/// # Errors
/// The first of `put`.
pub fn rows<E>(results: &Results<'_>, summary: &Summary, put: Put<'_, E>) -> Result<(), E> {
    let axes: Vec<Axis<'_>> = results.scenario.axes.iter().map(|(name, labels)| Axis::of(name, labels)).collect();
    let summaries = by_cell(results.scenario, &summary.cells, |cell| &cell.at);
    for (index, (cell, summary)) in results.scenario.cells.iter().zip(summaries).enumerate() {
        let varied = axes.iter().zip(&cell.at).flat_map(|(axis, (_, label))| axis.values(label));
        let mut key: Vec<Value<'_>> = varied.chain([Value::Integer(Some(index as u64))]).collect();
        let Some(runs) = results.runs(index) else { continue };
        if let Some(summary) = summary {
            put_cell(&key, &runs, summary, put)?;
        }
        let length = key.len();
        for (run, measured) in (0u64..).zip(runs) {
            key.truncate(length);
            key.extend([run, results.scenario.seed.wrapping_add(run)].map(|number| Value::Integer(Some(number))));
            put_run(&key, run == 0, &measured, put)?;
        }
    }
    Ok(())
}

/// The columns of `table` for `scenario`: names and what they hold.
pub fn columns(scenario: &Scenario, table: &Table) -> Vec<(String, Kind)> {
    let own = table.all().map(|column| (column.name.to_owned(), column.kind));
    scenario.axes.iter().flat_map(|(name, labels)| Axis::of(name, labels).columns()).chain(own).collect()
}

/// A varied key: a column of labels, and one of numbers if its values are numbers.
struct Axis<'a> {
    name: &'a str,
    numbers: Option<Numbers<'a>>,
}

/// The second column.
struct Numbers<'a> {
    /// What its name ends with.
    suffix: &'static str,
    /// The number of each label.
    steps: Vec<(&'a str, Option<f64>)>,
}

impl Numbers<'_> {
    fn of(&self, label: &str) -> Option<f64> {
        self.steps.iter().find(|(known, _)| *known == label)?.1
    }
}

impl<'a> Axis<'a> {
    fn of(name: &'a str, labels: &'a [String]) -> Axis<'a> {
        let numbers = quantity::of_labels(labels).map(|(dimension, numbers)| Numbers {
            suffix: dimension.suffix(),
            steps: labels.iter().map(String::as_str).zip(numbers).collect(),
        });
        Axis { name, numbers }
    }

    fn columns(&self) -> Vec<(String, Kind)> {
        let numbers = self.numbers.iter().map(|numbers| (format!("{}_{}", self.name, numbers.suffix), Kind::Real));
        std::iter::once((self.name.to_owned(), Kind::Text)).chain(numbers).collect()
    }

    fn values<'b>(&'b self, label: &'b str) -> impl Iterator<Item = Value<'b>> {
        let number = self.numbers.as_ref().map(|numbers| Value::Real(numbers.of(label)));
        std::iter::once(Value::Text(label)).chain(number)
    }
}

fn put_row<const N: usize, E>(
    table: &'static Table,
    key: &[Value<'_>],
    values: &[Value<'_>; N],
    put: Put<'_, E>,
) -> Result<(), E> {
    put(table, Rows { count: 1, key, values: &values.map(Values::Same) })
}

/// What tables show of a cell.
fn put_cell<E>(key: &[Value<'_>], runs: &[Run<'_>], summary: &CellSummary, put: Put<'_, E>) -> Result<(), E> {
    for metric in metric::all() {
        let mut members = metric.members.in_runs(runs);
        if members.len() > 1 {
            members.to_mut().sort_unstable();
        }
        for member in &*members {
            let name = metric.named(member);
            let Some(reading) = summary.readings.get(&name) else { continue };
            let end = |index: usize| reading.ci95.map(|ends| ends[index]);
            let [median, low, high] = [Some(reading.median), end(0), end(1)].map(Value::Real);
            put_row(&CELLS, key, &[Value::Text(&name), median, low, high], put)?;
        }
    }
    Ok(())
}

fn put_run<E>(key: &[Value<'_>], is_first: bool, run: &Run<'_>, put: Put<'_, E>) -> Result<(), E> {
    for flow in &run.outcome.flows {
        put_row(&RUNS, key, &values_of(flow, run.ceiling_bps), put)?;
    }
    put_metrics(key, run, put)?;
    put_counters(key, run.outcome, put)?;
    if is_first {
        over_time::each(run.outcome, &mut |count, values| put(&SERIES, Rows { count, key, values }))?;
    }
    Ok(())
}

fn values_of(flow: &FlowOutcome, ceiling_bps: Option<f64>) -> [Value<'_>; 15] {
    let whole = |number: u64| Value::Integer(Some(number));
    [
        Value::Text(&flow.name),
        Value::Real(Some(rates::rate_of(flow))),
        Value::Real(ceiling_bps),
        whole(flow.window_bytes),
        whole(flow.window.as_nanos()),
        whole(flow.total_bytes),
        Value::Integer(flow.completion.map(airtcp_core::Duration::as_nanos)),
        Value::Integer(flow.transfer.map(airtcp_core::Duration::as_nanos)),
        whole(flow.retransmitted_segments),
        whole(flow.rtos),
        whole(flow.rtt.p50),
        whole(flow.rtt.p95),
        whole(flow.rtt.p99),
        whole(u64::from(flow.segment_bytes)),
        whole(flow.longest_stall.as_nanos()),
    ]
}

/// Every metric that the run tells.
fn put_metrics<E>(key: &[Value<'_>], run: &Run<'_>, put: Put<'_, E>) -> Result<(), E> {
    for metric in metric::all() {
        for member in &*metric.members.in_run(run.outcome) {
            if let Some(value) = metric.of(run, member) {
                let name = metric.named(member);
                put_row(&METRICS, key, &[Value::Text(&name), Value::Real(Some(value))], put)?;
            }
        }
    }
    Ok(())
}

fn put_counters<E>(key: &[Value<'_>], outcome: &RunOutcome, put: Put<'_, E>) -> Result<(), E> {
    let mut put = |[of, place, name]: [&str; 3], count: u64| {
        let values = [Value::Text(of), Value::Text(place), Value::Text(name), Value::Integer(Some(count))];
        put_row(&COUNTERS, key, &values, put)
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
