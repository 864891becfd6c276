//! `summary.json`: what came out, one object per cell. In the simulator the same seed gives the same bytes.
//!
//! Rates are bits per second of application bytes (*goodput*) and of IP bytes (*throughput*), over the measured part
//! of the runs, flows added up. Counters are those of one run: the median over the runs, rounded down. Ratios have
//! four decimals, `times_baseline` three, the emulator's seven. `times_baseline` divides run by run, each by the run of
//! the baseline cell with the same seed. For intervals see [`super::estimate`].
//!
//! A [`Summary`] is made from results, written, and read back from its file; tables, figures and reports know only it.

pub use super::lines::to_text;
pub use super::readings::{Reading, Readings};

use super::{CellState, Results, estimate, median, statistics::round};
use crate::metric::{self, Metric, Run};
use crate::scenario::{Cell, FigureSpec, Scenario};
use crate::world::{EmulatorReport, RunOutcome, Verdict};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The whole file. What is missing in a file is empty here.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Summary {
    /// Format of the file.
    pub schema: String,
    /// Version of airtcp that wrote it.
    pub version: String,
    /// What was run.
    pub scenario: ScenarioId,
    /// Where the file lies.
    pub directory: String,
    /// Cells that were run, in the order of the scenario.
    pub cells: Vec<CellSummary>,
    /// Cells that the machine cannot run.
    pub skipped: Vec<CellNotRun>,
    /// Cells that should have run and did not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<CellNotRun>,
}

/// Name and hash of a scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScenarioId {
    /// Its name.
    pub name: String,
    /// Of its resolved text; eight hexadecimal digits.
    pub hash: String,
}

/// The label of each varied key, in the order of the scenario.
pub type Labels = IndexMap<String, String>;

/// What came out of one cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CellSummary {
    /// `simulator` or `live`.
    pub world: String,
    /// One per run.
    pub seeds: Vec<u64>,
    /// Length of the measured part.
    pub measured_ns: u64,
    /// Which cell it is.
    pub at: Labels,
    /// The goodput that no repair can exceed.
    pub ceiling_bps: Option<u64>,
    /// Its metrics and what its schemes counted.
    #[serde(flatten)]
    pub readings: Readings,
    /// What was lost where.
    pub drops: Vec<Drops>,
    /// What was marked where (ECN).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Marks>,
    /// Verdict of each check over all runs.
    pub checks: IndexMap<String, Checked>,
    /// A sentence for each check that did not hold, with the seed that shows it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub broken: Vec<String>,
    /// Of each run's trace, sixteen hexadecimal digits; simulator only.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trace_hash: Vec<String>,
    /// Of each run; simulator only.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<u64>,
    /// The worst that the emulated link did; live only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub emulator: Option<EmulatorReport>,
}

/// A cell that was not run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellNotRun {
    /// `simulator` or `live`.
    pub world: String,
    /// Which cell it is.
    pub at: Labels,
    /// Why.
    pub reason: String,
}

/// Packets lost at a place, for a reason: the median over the runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drops {
    /// `links.air.forward`.
    #[serde(rename = "where")]
    pub place: String,
    /// Why.
    pub reason: String,
    /// Of any kind.
    pub packets: u64,
    /// Those without payload.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub headers: u64,
}

/// Packets marked at a place: the median over the runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marks {
    /// `links.air.forward`.
    #[serde(rename = "where")]
    pub place: String,
    /// How many.
    pub packets: u64,
}

/// What became of a check in all runs; one that failed in any has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Checked {
    /// It held.
    Passed,
    /// A run could not tell.
    #[serde(rename = "not checked")]
    NotChecked,
    /// It did not hold.
    Failed,
}

impl Summary {
    /// Of everything that is done; `directory` is where the file lies.
    pub fn of(results: &Results<'_>, directory: &str) -> Summary {
        let scenario = results.scenario;
        let not_run = |is_skipped: bool| {
            let states = scenario.cells.iter().zip(&results.cells);
            let row = |(cell, state): (&Cell, &CellState)| {
                let reason = match state {
                    CellState::Skipped(reason) if is_skipped => reason,
                    CellState::Failed(reason) if !is_skipped => reason,
                    _ => return None,
                };
                Some(CellNotRun { world: results.world.into(), at: at_of(cell), reason: reason.clone() })
            };
            states.filter_map(row).collect()
        };
        Summary {
            schema: "airtcp.run/1".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            scenario: ScenarioId { name: scenario.name.clone(), hash: scenario.hash.clone() },
            directory: directory.into(),
            cells: (0..scenario.cells.len()).filter_map(|index| CellSummary::of(results, index)).collect(),
            skipped: not_run(true),
            failed: not_run(false),
        }
    }

    /// Why cells were not run, each reason once with how many cells it kept.
    pub fn reasons_not_run(&self) -> Vec<(&str, usize)> {
        let mut reasons = IndexMap::new();
        for row in self.skipped.iter().chain(&self.failed) {
            *reasons.entry(row.reason.as_str()).or_insert(0) += 1;
        }
        reasons.into_iter().collect()
    }
}

impl CellSummary {
    /// One cell; `None` unless it is done.
    pub fn of(results: &Results<'_>, index: usize) -> Option<CellSummary> {
        let outcomes = results.outcomes(index)?;
        let runs = results.runs(index)?;
        let mut readings = Readings::of(&runs, &metric::all().collect::<Vec<_>>());
        for name in results.scenario.figures.iter().flat_map(FigureSpec::measures_of_runs) {
            readings.put_runs(name, &runs);
        }
        readings.put_baseline(serde_json::json!(baseline_labels(results, index)));
        let traces = || outcomes.iter().filter_map(|run| run.trace);
        Some(CellSummary {
            world: results.world.into(),
            seeds: (0..runs.len() as u64).map(|run| results.scenario.seed.wrapping_add(run)).collect(),
            measured_ns: results.scenario.cells[index].scenario.measured().as_nanos(),
            at: at_of(&results.scenario.cells[index]),
            ceiling_bps: median_ceiling(&runs),
            readings,
            drops: drops(outcomes),
            marks: marks(outcomes),
            checks: checks(outcomes),
            broken: broken_checks(outcomes, results.scenario.seed),
            trace_hash: traces().map(|trace| format!("{:016x}", trace.hash)).collect(),
            events: traces().map(|trace| trace.events).collect(),
            emulator: emulator(outcomes),
        })
    }

    /// Of one cell only these metrics, while there is no summary yet; `None` unless it is done.
    pub fn of_metrics(results: &Results<'_>, index: usize, metrics: &[&Metric]) -> Option<CellSummary> {
        let readings = Readings::of(&results.runs(index)?, metrics);
        Some(CellSummary { readings, ..CellSummary::default() })
    }

    /// True if the emulated link did not do what it was asked, so that the cell says nothing.
    pub fn is_void(&self) -> bool {
        self.emulator.is_some_and(|emulator| !emulator.valid)
    }
}

/// The labels of a cell.
pub fn at_of(cell: &Cell) -> Labels {
    cell.at.iter().cloned().collect()
}

/// The items of a file about `scenario`, one for each cell that ran, each at its cell's place; `None` for the others.
pub fn by_cell<'a, T>(scenario: &Scenario, items: &'a [T], at: fn(&T) -> &Labels) -> Vec<Option<&'a T>> {
    // A file lists cells in the order of the scenario, so one walk finds them all.
    let mut items = items.iter().peekable();
    scenario.cells.iter().map(|cell| items.next_if(|found| is_at(cell, at(found)))).collect()
}

fn is_at(cell: &Cell, at: &Labels) -> bool {
    at.len() == cell.at.len() && cell.at.iter().all(|(key, label)| at.get(key) == Some(label))
}

/// The schemes of the baseline.
fn baseline_labels(results: &Results<'_>, index: usize) -> Labels {
    let baseline = results.baseline(index).map(|baseline| &results.scenario.cells[baseline].at);
    baseline.into_iter().flatten().filter(|(key, _)| key.starts_with("schemes.")).cloned().collect()
}

/// Of a cell whose links vary by chance each run has a ceiling of its own.
fn median_ceiling(runs: &[Run<'_>]) -> Option<u64> {
    let each: Option<Vec<u64>> = runs.iter().map(|run| run.ceiling_bps.map(|bps| bps.round() as u64)).collect();
    each.filter(|each| !each.is_empty()).map(|each| median(&each))
}

fn drops(runs: &[RunOutcome]) -> Vec<Drops> {
    let mut places: BTreeMap<(&str, &str), [Vec<u64>; 2]> = BTreeMap::new();
    for (index, run) in runs.iter().enumerate() {
        for drop in &run.drops {
            let entry = places.entry((&drop.place, &drop.reason));
            let [packets, headers] = entry.or_insert_with(|| [vec![0; runs.len()], vec![0; runs.len()]]);
            packets[index] += drop.packets;
            headers[index] += drop.headers;
        }
    }
    let row = |((place, reason), counts): ((&str, &str), [Vec<u64>; 2])| {
        let [packets, headers] = counts.map(|counts| median(&counts));
        Drops { place: place.into(), reason: reason.into(), packets, headers }
    };
    places.into_iter().map(row).filter(|row| row.packets > 0).collect()
}

fn marks(runs: &[RunOutcome]) -> Vec<Marks> {
    let places: BTreeSet<&str> = runs.iter().flat_map(|run| &run.marks).map(|mark| mark.place.as_str()).collect();
    let in_run = |run: &RunOutcome, place: &str| {
        run.marks.iter().filter(|mark| mark.place == place).map(|mark| mark.packets).sum()
    };
    let packets = |place: &str| median(&runs.iter().map(|run| in_run(run, place)).collect::<Vec<_>>());
    places.into_iter().map(|place| Marks { place: place.into(), packets: packets(place) }).collect()
}

fn checks(runs: &[RunOutcome]) -> IndexMap<String, Checked> {
    let mut checks = IndexMap::new();
    for (name, verdict) in runs.iter().flat_map(|run| &run.checks) {
        let checked = match verdict {
            Verdict::Passed => Checked::Passed,
            Verdict::NotChecked => Checked::NotChecked,
            Verdict::Failed(_) => Checked::Failed,
        };
        let known = checks.entry(name.to_string()).or_insert(checked);
        *known = checked.max(*known);
    }
    checks
}

/// See [`CellSummary::broken`].
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

fn emulator(runs: &[RunOutcome]) -> Option<EmulatorReport> {
    let reports: Vec<EmulatorReport> = runs.iter().filter_map(|run| run.emulator).collect();
    let middle =
        |of: fn(&EmulatorReport) -> f64| Some(round(estimate(&reports.iter().map(of).collect::<Vec<_>>())?.median, 7));
    Some(EmulatorReport {
        valid: reports.iter().all(|report| report.valid),
        rate_error_ratio: round(reports.iter().map(|report| report.rate_error_ratio).fold(0.0, f64::max), 7),
        release_error_p99_ns: reports.iter().map(|report| report.release_error_p99_ns).max()?,
        loss_asked_ratio: middle(|report| report.loss_asked_ratio)?,
        loss_seen_ratio: middle(|report| report.loss_seen_ratio)?,
    })
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}
