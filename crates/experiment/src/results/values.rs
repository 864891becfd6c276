//! What each run of a cell gave, one number per run in the order of the seeds: what claims are judged on.

use super::Results;
use crate::metric;

/// The metric called `name` in files, run by run; `None` if the cell was not run or a run does not tell it.
///
/// `times_baseline` divides each run by the baseline's run with the same seed; where that got nothing it is infinite.
pub fn values(results: &Results<'_>, cell: usize, name: &str) -> Option<Vec<f64>> {
    let (metric, member) = metric::find(name)?;
    results.runs(cell)?.iter().map(|run| metric.of(run, member)).collect()
}
