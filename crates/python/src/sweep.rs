//! A scenario run in the simulator, with the interpreter free meanwhile.

use crate::controller;
use crate::table::{self, Table};
use crate::watch::{available, watched};
use crate::world::Watched;
use airtcp_experiment::html::{self, Stored, StoredWorld};
use airtcp_experiment::results::directory::{self, Written};
use airtcp_experiment::results::summary::{Summary, to_text};
use airtcp_experiment::results::{self, METHOD, Results};
use airtcp_experiment::{Catalogue, Scenario};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// What a scenario gave.
#[pyclass(frozen, module = "airtcp")]
pub(crate) struct Outcome {
    tables: Vec<Py<Table>>,
    /// `summary.json`.
    #[pyo3(get)]
    summary: String,
    /// The resolved scenario as TOML: running it gives the same numbers.
    #[pyo3(get)]
    scenario: String,
    #[pyo3(get)]
    name: String,
    #[pyo3(get)]
    hash: String,
    /// What schemes changed, in a sentence.
    #[pyo3(get)]
    headline: Option<String>,
    /// A sentence for everything that went wrong.
    #[pyo3(get)]
    failures: Vec<String>,
    /// How many cells were not run, by the reason.
    #[pyo3(get)]
    not_run: Vec<(String, usize)>,
    /// Where results were written, if they were.
    #[pyo3(get)]
    directory: Option<PathBuf>,
}

#[pymethods]
impl Outcome {
    /// The table at a place of the list of tables.
    fn table(&self, py: Python<'_>, index: usize) -> PyResult<Py<Table>> {
        let table = self.tables.get(index).ok_or_else(|| PyValueError::new_err("there is no such table"))?;
        Ok(table.clone_ref(py))
    }
}

/// The same before Python has it.
struct Finished {
    tables: Vec<Table>,
    summary: String,
    headline: Option<String>,
    failures: Vec<String>,
    not_run: Vec<(String, usize)>,
    directory: Option<PathBuf>,
}

/// Reads a scenario: `text` that stands in `file`, or what `file` names.
fn read(
    py: Python<'_>,
    file: &str,
    text: Option<&str>,
    sets: &[String],
    catalogue: &Catalogue<'_>,
) -> PyResult<Scenario> {
    let scenario = py.detach(|| match text {
        Some(text) => Scenario::of_text(file, text, sets, catalogue),
        None => Scenario::named(file, sets, catalogue),
    });
    scenario.map_err(|error| PyValueError::new_err(error.to_string()))
}

/// The resolved scenario as TOML, checked.
#[pyfunction]
pub(crate) fn resolve(py: Python<'_>, file: &str, text: Option<&str>, sets: Vec<String>) -> PyResult<String> {
    let controllers = controller::all();
    read(py, file, text, &sets, &controller::catalogue(&controllers)).map(|scenario| scenario.resolved)
}

/// Runs a scenario; `progress` is called with the number of runs that are done and of all.
#[pyfunction]
pub(crate) fn run(
    py: Python<'_>,
    file: &str,
    text: Option<&str>,
    sets: Vec<String>,
    threads: Option<usize>,
    root: Option<PathBuf>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Outcome> {
    let controllers = controller::all();
    let catalogue = controller::catalogue(&controllers);
    let scenario = read(py, file, text, &sets, &catalogue)?;
    let all = scenario.cells.len() * scenario.runs as usize;
    let finished = watched(py, all, progress.as_ref(), |watch| {
        let results = watch.run(&scenario, &Watched::new(watch, &controllers), threads);
        finish(&results, root.as_deref(), threads)
    })??;
    let tables = finished.tables.into_iter().map(|table| Py::new(py, table)).collect::<PyResult<_>>()?;
    let Scenario { name, hash, resolved, .. } = scenario;
    Ok(Outcome {
        tables,
        summary: finished.summary,
        scenario: resolved,
        name,
        hash,
        headline: finished.headline,
        failures: finished.failures,
        not_run: finished.not_run,
        directory: finished.directory,
    })
}

fn finish(results: &Results<'_>, root: Option<&Path>, threads: Option<usize>) -> PyResult<Finished> {
    let (directory, summary) = match root {
        Some(root) if !results.is_empty() && results.is_complete() => {
            let (directory, summary) = write(root, results, manifest(results, threads))?;
            (Some(directory), summary)
        }
        _ => (None, Summary::of(results, "")),
    };
    Ok(Finished {
        tables: table::of(results, &summary),
        headline: results::headline(results.scenario, &summary),
        failures: results.failures(),
        not_run: summary.reasons_not_run().into_iter().map(|(reason, count)| (reason.to_string(), count)).collect(),
        summary: to_text(&summary),
        directory,
    })
}

/// Writes results and their report below `root`; returns their directory and what was made of them.
fn write(root: &Path, results: &Results<'_>, manifest: Value) -> PyResult<(PathBuf, Summary)> {
    let Written { directory, summary, series } =
        directory::write(root, results, directory::of_world(results.world), &manifest)?;
    let world = StoredWorld { name: results.world.to_owned(), summary, series, manifest };
    let home = directory::of_scenario(root, results.scenario);
    let stored =
        Stored::with(&home, results.scenario, &world).map_err(|error| PyOSError::new_err(error.to_string()))?;
    std::fs::write(home.join("report.html"), html::render(&[stored]))?;
    Ok((directory, world.summary))
}

fn manifest(results: &Results<'_>, threads: Option<usize>) -> Value {
    json!({
        "schema": "airtcp.manifest/1",
        "version": env!("CARGO_PKG_VERSION"),
        "revision": "unknown",
        "world": results.world,
        "command": ["airtcp.run"],
        "threads": threads.unwrap_or_else(available),
        "resumed_runs": 0,
        "interval": METHOD,
        "machine": {"system": std::env::consts::OS, "architecture": std::env::consts::ARCH, "cpus": available()},
    })
}
