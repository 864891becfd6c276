//! What `airtcp run --json` says.

use crate::page::root;
use airtcp_accept::command;
use serde_json::Value;

/// Runs a scenario file.
pub fn run(scenario: &str, more: &[&str]) -> anyhow::Result<Value> {
    let arguments: Vec<String> =
        ["run", scenario, "--json"].iter().chain(more).map(|word| (*word).to_owned()).collect();
    command::summary(&arguments).map_err(anyhow::Error::msg)
}

/// The cell where each of these keys has this label.
pub fn cell<'a>(summary: &'a Value, at: &[(&str, &str)]) -> anyhow::Result<&'a Value> {
    let cells = summary["cells"].as_array().map(Vec::as_slice).unwrap_or_default();
    let found = cells.iter().find(|cell| at.iter().all(|(key, label)| cell["at"][*key] == *label));
    found.ok_or_else(|| anyhow::anyhow!("the summary has no cell at {at:?}"))
}

/// The rows of a file of reference figures; its first line names them.
pub fn records(path: &str) -> anyhow::Result<Vec<csv::StringRecord>> {
    let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_path(root().join(path))?;
    Ok(reader.records().collect::<Result<_, _>>()?)
}

/// Goodput of each run of a cell, Mbit/s.
pub fn mbit(cell: &Value) -> Vec<f64> {
    numbers(&cell["goodput_bps"]["runs"]).into_iter().map(|bps| bps / 1e6).collect()
}

/// An array of numbers.
pub fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().into_iter().flatten().filter_map(Value::as_f64).collect()
}
