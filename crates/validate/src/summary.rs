//! What `airtcp run --json` says.

use airtcp_accept::command;
use serde_json::Value;

/// Runs a scenario file.
pub fn run(scenario: &str, more: &[&str]) -> anyhow::Result<Value> {
    let arguments: Vec<String> =
        ["run", scenario, "--json"].iter().chain(more).map(|word| (*word).to_owned()).collect();
    command::summary(&arguments).map_err(anyhow::Error::msg)
}

/// Goodput of each run of a cell, Mbit/s.
pub fn mbit(cell: &Value) -> Vec<f64> {
    numbers(&cell["goodput_bps"]["runs"]).into_iter().map(|bps| bps / 1e6).collect()
}

/// An array of numbers.
pub fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().into_iter().flatten().filter_map(Value::as_f64).collect()
}
