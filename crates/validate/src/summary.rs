//! What `airtcp run --json` says, and the reference figures beside it.

use crate::page::root;
use airtcp_experiment::results::summary::{CellSummary, Summary};
use anyhow::Context;
use std::process::{Command, Stdio};

/// Runs a scenario file with the command of the same build, as a user would; its progress goes to the terminal.
pub fn run(scenario: &str, more: &[&str]) -> anyhow::Result<Summary> {
    let beside = std::env::current_exe()?.with_file_name("airtcp");
    let mut command = Command::new(beside);
    command
        .args(["run", scenario, "--json"])
        .args(more)
        .current_dir(root())
        .stdin(Stdio::null())
        .stderr(Stdio::inherit());
    let output = command.output().context("airtcp does not start; build it: make release")?;
    anyhow::ensure!(output.status.success(), "airtcp ended with {}", output.status);
    serde_json::from_slice(&output.stdout).context("airtcp --json printed no summary")
}

/// The cell where each of these keys has this label.
pub fn cell<'a>(summary: &'a Summary, at: &[(&str, &str)]) -> anyhow::Result<&'a CellSummary> {
    let is_at = |cell: &&CellSummary| at.iter().all(|(key, label)| cell.at.get(*key).is_some_and(|is| is == label));
    let found = summary.cells.iter().find(is_at);
    found.ok_or_else(|| anyhow::anyhow!("the summary has no cell at {at:?}"))
}

/// The rows of a file of reference figures; its first line names them.
pub fn records(path: &str) -> anyhow::Result<Vec<csv::StringRecord>> {
    let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_path(root().join(path))?;
    Ok(reader.records().collect::<Result<_, _>>()?)
}

/// Goodput of each run of a cell, Mbit/s.
pub fn mbit(cell: &CellSummary) -> Vec<f64> {
    runs(cell, "goodput_bps").into_iter().map(|bps| bps / 1e6).collect()
}

/// What a metric was in each run; empty if the cell does not have it.
pub fn runs(cell: &CellSummary, metric: &str) -> Vec<f64> {
    cell.readings.get(metric).map_or(Vec::new(), |reading| reading.runs)
}

/// The median of a metric; not a number if the cell does not have it.
pub fn median(cell: &CellSummary, metric: &str) -> f64 {
    cell.readings.get(metric).map_or(f64::NAN, |reading| reading.median)
}
