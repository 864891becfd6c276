//! Where results lie: `results/<name>-<hash>/{sim,live}/`, with the scenario that reproduces them.
//!
//! `scenario.toml` (resolved), `summary.json`, `series.json`, `manifest.json`, the Parquet files
//! ([`data::TABLES`](super::data::TABLES)), and of every figure `figures/NAME.{svg,csv}`. A world's directory is replaced as a whole: it is written beside the old one, which goes
//! when the new one is complete.

use super::series::Series;
use super::summary::Summary;
use super::{Results, lines, parquet};
use crate::figure::{self, Figure};
use crate::scenario::Scenario;
use serde_json::Value;
use std::io;
use std::path::{Path, PathBuf};

/// Where results lie unless told otherwise.
pub const DEFAULT_ROOT: &str = "results";

/// The directory beside the worlds' in which processes that share a sweep keep their runs.
pub const SHARDS: &str = "shards";

/// Where the results of `scenario` lie, all worlds together.
pub fn of_scenario(root: &Path, scenario: &Scenario) -> PathBuf {
    root.join(format!("{}-{}", scenario.name, scenario.hash))
}

/// Name of the directory of `world`.
pub fn of_world(world: &str) -> &str {
    if world == "simulator" { "sim" } else { world }
}

/// What was written of one world.
#[derive(Clone, Debug)]
pub struct Written {
    /// Where it lies.
    pub directory: PathBuf,
    /// `summary.json`.
    pub summary: Summary,
    /// `series.json`.
    pub series: Series,
}

/// Writes everything of one world.
///
/// # Errors
/// The file system's.
pub fn write(root: &Path, results: &Results<'_>, world_directory: &str, manifest: &Value) -> io::Result<Written> {
    let scenario = results.scenario;
    let parent = of_scenario(root, scenario);
    let target = parent.join(world_directory);
    let fresh = parent.join(format!(".{world_directory}.new"));
    let stale = parent.join(format!(".{world_directory}.old"));
    for leftover in [&fresh, &stale] {
        remove(leftover)?;
    }
    std::fs::create_dir_all(&fresh)?;
    for (name, text) in &scenario.traces {
        std::fs::write(fresh.join(name), text)?;
    }
    let summary = Summary::of(results, &target.display().to_string());
    std::fs::write(fresh.join("scenario.toml"), &scenario.resolved)?;
    lines::write(&fresh.join("summary.json"), &summary)?;
    let series = Series::of(results);
    lines::write(&fresh.join("series.json"), &series)?;
    std::fs::write(fresh.join("manifest.json"), format!("{manifest:#}\n"))?;
    parquet::write(&fresh, results, &summary)?;
    write_figures(&fresh.join("figures"), scenario, &summary, &series)?;
    if target.exists() {
        std::fs::rename(&target, &stale)?;
    }
    std::fs::rename(&fresh, &target)?;
    remove(&stale)?;
    Ok(Written { directory: target, summary, series })
}

/// Writes the scenario and its traces into `directory`, so that it can be read from there. Several processes may do so at
/// the same time.
pub(super) fn write_scenario(directory: &Path, scenario: &Scenario) -> io::Result<()> {
    let files = scenario.traces.iter().map(|(name, text)| (name.as_str(), text.as_str()));
    // The traces first: who finds the scenario finds them, too.
    for (name, text) in files.chain([("scenario.toml", scenario.resolved.as_str())]) {
        let (target, fresh) = (directory.join(name), directory.join(format!(".{name}.{}", std::process::id())));
        if std::fs::read(&target).is_ok_and(|found| found == text.as_bytes()) {
            continue;
        }
        std::fs::write(&fresh, text)?;
        std::fs::rename(&fresh, &target)?;
    }
    Ok(())
}

fn write_figures(directory: &Path, scenario: &Scenario, summary: &Summary, series: &Series) -> io::Result<()> {
    if scenario.figures.is_empty() {
        return Ok(());
    }
    std::fs::create_dir_all(directory)?;
    for spec in &scenario.figures {
        let figure = Figure::of(scenario, spec, summary, series);
        std::fs::write(directory.join(format!("{}.svg", spec.name)), figure::svg::text(&figure))?;
        std::fs::write(directory.join(format!("{}.csv", spec.name)), figure::csv::text(&figure))?;
    }
    Ok(())
}

fn remove(directory: &Path) -> io::Result<()> {
    match std::fs::remove_dir_all(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
