//! A scenario run in the simulator, with the interpreter free meanwhile.

use crate::table::{self, Table};
use airtcp_experiment::html::{self, Stored};
use airtcp_experiment::results::summary::{Summary, to_text};
use airtcp_experiment::results::{self, METHOD, Observer, Results, RunOptions, directory};
use airtcp_experiment::{Catalogue, Scenario, ScenarioError, Simulator, World};
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::ScopedJoinHandle;
use std::time::Duration;

/// How often Ctrl-C is looked for and progress is told.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

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
pub(crate) fn read(file: &str, text: Option<&str>, sets: &[String]) -> Result<Scenario, ScenarioError> {
    match text {
        Some(text) => Scenario::of_text(file, text, sets, &Catalogue::BUILT_IN),
        None => Scenario::named(file, sets, &Catalogue::BUILT_IN),
    }
}

fn wrong(error: ScenarioError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// The resolved scenario as TOML, checked.
#[pyfunction]
pub(crate) fn resolve(py: Python<'_>, file: &str, text: Option<&str>, sets: Vec<String>) -> PyResult<String> {
    py.detach(|| read(file, text, &sets)).map(|scenario| scenario.resolved).map_err(wrong)
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
    let scenario = py.detach(|| read(file, text, &sets)).map_err(wrong)?;
    let all = scenario.cells.len() * scenario.runs as usize;
    let finished = watched(py, all, progress.as_ref(), |watch| {
        let results = watch.run(&scenario, &watch.simulator(), threads);
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
    let world = directory::of_world(results.world);
    let directory = match root {
        Some(root) if !results.is_empty() && results.is_complete() => {
            let written = directory::write(root, results, world, &manifest(results, threads))?;
            let home = directory::of_scenario(root, results.scenario);
            let stored =
                Stored::read(&home, &Catalogue::BUILT_IN).map_err(|error| PyOSError::new_err(error.to_string()))?;
            std::fs::write(home.join("report.html"), html::render(&[stored]))?;
            Some(written)
        }
        _ => None,
    };
    let summary = Summary::of(results, &directory.as_ref().map_or(String::new(), |path| path.display().to_string()));
    Ok(Finished {
        tables: table::of(results),
        headline: results::headline(results.scenario, &summary),
        failures: results.failures(),
        not_run: summary.reasons_not_run().into_iter().map(|(reason, count)| (reason.to_string(), count)).collect(),
        summary: to_text(&summary),
        directory,
    })
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

fn available() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// What the thread that runs is told, and tells.
pub(crate) struct Watch {
    /// No further run begins.
    stop: AtomicBool,
    /// Runs under way end where they are.
    end: Arc<AtomicBool>,
    done: AtomicUsize,
}

impl Watch {
    pub(crate) fn simulator(&self) -> Simulator {
        Simulator { stop: Some(Arc::clone(&self.end)), ..Simulator::default() }
    }

    pub(crate) fn run<'a>(&self, scenario: &'a Scenario, world: &dyn World, threads: Option<usize>) -> Results<'a> {
        let options = RunOptions { threads: threads.unwrap_or_else(available).max(1) };
        results::run_until(scenario, world, options, &self.stop, &mut Counter(&self.done))
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

struct Counter<'a>(&'a AtomicUsize);

impl Observer for Counter<'_> {
    fn on_run(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Does `work` on a thread of its own while this one looks for Ctrl-C and tells `progress`.
///
/// # Errors
/// KeyboardInterrupt, and what `progress` raises: the work was stopped then.
pub(crate) fn watched<T: Send>(
    py: Python<'_>,
    all: usize,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Watch) -> T + Send,
) -> PyResult<T> {
    let watch =
        Watch { stop: AtomicBool::new(false), end: Arc::new(AtomicBool::new(false)), done: AtomicUsize::new(0) };
    let mut told = None;
    let mut tell = |done: usize| match progress {
        Some(progress) if told.replace(done) != Some(done) => progress.call1((done, all)).map(drop),
        _ => Ok(()),
    };
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| work(&watch));
        let join = |worker: ScopedJoinHandle<'_, T>| match py.detach(|| worker.join()) {
            Ok(outcome) => Ok(outcome),
            Err(_) => Err(PyRuntimeError::new_err("airtcp has a bug: a run panicked; its words are on stderr")),
        };
        while !worker.is_finished() {
            py.detach(|| std::thread::sleep(LOOK_AGAIN));
            if let Err(error) = py.check_signals().and_then(|()| tell(watch.done.load(Ordering::Relaxed))) {
                watch.stop.store(true, Ordering::Relaxed);
                watch.end.store(true, Ordering::Relaxed);
                join(worker)?;
                return Err(error);
            }
        }
        let outcome = join(worker)?;
        tell(watch.done.load(Ordering::Relaxed))?;
        Ok(outcome)
    })
}
