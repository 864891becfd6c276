//! From cells to results: [`run`] runs them, [`summary`] says what came out, [`directory`] keeps it.

mod baseline;
mod ceiling;
pub mod data;
pub mod directory;
mod dynamics;
mod headline;
mod journal;
mod kept;
pub(crate) mod lines;
mod merge;
pub mod parquet;
mod readings;
mod run;
pub mod series;
mod shard;
pub(crate) mod statistics;
pub mod summary;
mod values;

pub use baseline::{baseline_of, of_all as baselines};
pub use ceiling::ceiling_bps;
pub use headline::headline;
pub use journal::{Earlier, Journal, JournalError, Opening};
pub use kept::Builds;
pub use merge::{MergeError, Merged, Shards};
pub use run::{Interruptible, MAX_CELLS_WITH_SERIES, Observer, RunOptions, run, run_interruptible, run_until};
pub use shard::{NotAShard, Shard};
pub use statistics::{Estimate, METHOD, difference_of_gains, estimate, jain, median, of_medians, quotient};
pub use values::values;

use crate::metric::Run;
use crate::scenario::{Cell, Scenario};
use crate::world::{NotRun, RunOutcome};
use std::sync::OnceLock;

/// What became of one cell.
#[derive(Clone, Debug)]
pub enum CellState {
    /// Not all of its runs are done.
    Pending,
    /// One outcome per run, in the order of the seeds.
    Done(Vec<RunOutcome>),
    /// This machine cannot run it.
    Skipped(String),
    /// It should have run and did not.
    Failed(String),
}

/// Everything that a scenario's runs gave in one world.
#[derive(Clone, Debug)]
pub struct Results<'a> {
    /// What was run.
    pub scenario: &'a Scenario,
    /// Where: `simulator` or `live`.
    pub world: &'static str,
    /// One per cell of the scenario.
    pub cells: Vec<CellState>,
    /// What each is compared with.
    baselines: Vec<Option<usize>>,
    /// The ceiling of each where it is the same in every run.
    ceilings: Vec<OnceLock<Option<f64>>>,
}

impl<'a> Results<'a> {
    /// No run done yet.
    pub fn new(scenario: &'a Scenario, world: &'static str) -> Self {
        let cells = vec![CellState::Pending; scenario.cells.len()];
        let ceilings = vec![OnceLock::new(); cells.len()];
        Results { scenario, world, cells, baselines: baseline::of_all(scenario), ceilings }
    }

    /// The cell without any scheme that `cell` is compared with: [`baselines`].
    pub fn baseline(&self, cell: usize) -> Option<usize> {
        self.baselines[cell]
    }

    /// The runs of a cell that is done.
    pub fn outcomes(&self, cell: usize) -> Option<&[RunOutcome]> {
        match &self.cells[cell] {
            CellState::Done(runs) => Some(runs),
            _ => None,
        }
    }

    /// The same, with what metrics compare them to.
    pub fn runs(&self, cell: usize) -> Option<Vec<Run<'_>>> {
        let outcomes = self.outcomes(cell)?;
        let scenario = &self.scenario.cells[cell].scenario;
        let is_fixed =
            !scenario.links.iter().any(|link| link.forward.rate.is_varying() || link.reverse.rate.is_varying());
        let fixed = is_fixed.then(|| *self.ceilings[cell].get_or_init(|| ceiling_bps(scenario, self.scenario.seed)));
        let baseline = self.baselines[cell].and_then(|cell| self.outcomes(cell)).unwrap_or_default();
        let run = |(index, outcome): (usize, _)| {
            let seed = self.scenario.seed.wrapping_add(index as u64);
            let ceiling_bps = fixed.unwrap_or_else(|| ceiling_bps(scenario, seed));
            Run { scenario, outcome, ceiling_bps, baseline: baseline.get(index) }
        };
        Some(outcomes.iter().enumerate().map(run).collect())
    }

    /// True once nothing more will come for this cell, nor for the cell it is compared with.
    pub fn is_settled(&self, cell: usize) -> bool {
        let settled = |cell: usize| !matches!(self.cells[cell], CellState::Pending);
        settled(cell) && self.baselines[cell].is_none_or(settled)
    }

    /// True unless the runs were interrupted.
    pub fn is_complete(&self) -> bool {
        self.cells.iter().all(|state| !matches!(state, CellState::Pending))
    }

    /// True if not a single cell was run.
    pub fn is_empty(&self) -> bool {
        self.cells.iter().all(|state| !matches!(state, CellState::Done(_)))
    }

    /// A sentence for each thing that went wrong: cells that failed, checks that did not hold.
    pub fn failures(&self) -> Vec<String> {
        let mut failures = Vec::new();
        for (cell, state) in self.scenario.cells.iter().zip(&self.cells) {
            match state {
                CellState::Failed(reason) => failures.push(format!("{}: {reason}", describe(cell))),
                CellState::Done(runs) => {
                    let broken = summary::broken_checks(runs, self.scenario.seed);
                    failures.extend(broken.into_iter().map(|sentence| format!("{}: {sentence}", describe(cell))));
                }
                _ => {}
            }
        }
        failures
    }

    pub(crate) fn set(&mut self, cell: usize, runs: Vec<Result<RunOutcome, NotRun>>) {
        self.cells[cell] = match runs.into_iter().collect::<Result<Vec<_>, _>>() {
            Ok(outcomes) => CellState::Done(outcomes),
            Err(NotRun::Skipped(reason)) => CellState::Skipped(reason),
            Err(NotRun::Failed(reason)) => CellState::Failed(reason),
        };
    }
}

/// The labels of a cell in one line.
pub fn describe(cell: &Cell) -> String {
    if cell.at.is_empty() {
        return cell.scenario.name.clone();
    }
    cell.at.iter().map(|(_, label)| label.as_str()).collect::<Vec<_>>().join(", ")
}
