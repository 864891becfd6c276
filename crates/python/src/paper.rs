//! A paper's experiments in the simulator, and a verdict on each of its claims.

use crate::controller;
use crate::watch::watched;
use crate::world::Watched;
use airtcp_experiment::paper::{Mode, PaperFile, Plan, TestRuns, Worlds, built_in, output};
use airtcp_experiment::{NotRun, ResolvedScenario, RunOutcome, World};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::path::Path;

/// Kernel TCP, which Python does not have.
struct NoLive;

impl World for NoLive {
    fn name(&self) -> &'static str {
        "live"
    }

    fn run(&self, _: &ResolvedScenario, _: u64) -> Result<RunOutcome, NotRun> {
        Err(NotRun::Skipped("kernel TCP runs with the command: airtcp reproduce".into()))
    }
}

/// `claims.json` of a paper that is named, or stands in a folder.
#[pyfunction]
pub(crate) fn reproduce(
    py: Python<'_>,
    paper: &str,
    quick: bool,
    threads: Option<usize>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let file: PaperFile<'_> = match built_in::find(paper) {
        Some(built_in) if !Path::new(paper).join("paper.toml").exists() => built_in.file(),
        _ if Path::new(paper).exists() => PaperFile::load(Path::new(paper)),
        _ => {
            let names: Vec<&str> = built_in::PAPERS.iter().map(|paper| paper.slug).collect();
            let sentence = format!(
                "there is no paper '{paper}'; there are: {}; or name a folder with a paper.toml",
                names.join(", ")
            );
            return Err(PyValueError::new_err(sentence));
        }
    }
    .map_err(|error| PyValueError::new_err(error.to_string()))?;
    let mode = Mode { quick, control: false, mutations: false };
    let controllers = controller::all();
    let plan = Plan::new(&file, mode, &controller::catalogue(&controllers));
    let plan = plan.map_err(|error| PyValueError::new_err(error.to_string()))?;
    let all = usize::try_from(plan.runs()).unwrap_or(usize::MAX);
    watched(py, all, progress.as_ref(), |watch| {
        let simulator = Watched::new(watch, &controllers);
        let worlds: [&dyn World; 2] = [&simulator, &NoLive];
        let worlds = Worlds(&worlds);
        let mut results = Vec::new();
        for sweep in plan.sweeps() {
            results.push(watch.run(sweep.scenario, worlds.of(&sweep), threads));
            if watch.is_stopped() {
                return String::new();
            }
        }
        output::to_text(&output::claims(&plan.judge(results, &TestRuns::NONE), ""))
    })
}
