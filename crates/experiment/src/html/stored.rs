//! Results read back from their directory.

use crate::catalogue::Catalogue;
use crate::results::directory;
use crate::results::series::{CellSeries, Series};
use crate::results::summary::{CellSummary, Summary, by_cell};
use crate::scenario::{Scenario, ScenarioError};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// A scenario and what every world made of it.
#[derive(Clone, Debug)]
pub struct Stored<'a> {
    /// Where it was found.
    pub directory: String,
    /// What was run.
    pub scenario: Cow<'a, Scenario>,
    /// Simulator first.
    pub worlds: Vec<Cow<'a, StoredWorld>>,
}

/// One world's files.
#[derive(Clone, Debug)]
pub struct StoredWorld {
    /// `simulator` or `live`.
    pub name: String,
    /// `summary.json`.
    pub summary: Summary,
    /// `series.json`.
    pub series: Series,
    /// `manifest.json`.
    pub manifest: Value,
}

/// Why results cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum StoredError {
    /// Nothing there that `airtcp run` writes.
    #[error("{0}: no results here; name a directory that `airtcp run` wrote, results/<name>-<hash>")]
    Nothing(String),
    /// A file is missing or damaged.
    #[error("{file}: {reason}")]
    File {
        /// The file.
        file: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The scenario names something this program does not have.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
}

/// Their directories, in the order of a report.
const WORLDS: [&str; 2] = ["sim", "live"];

impl<'a> Stored<'a> {
    /// Reads `directory`: one world's, or the one that holds all worlds of a scenario.
    ///
    /// # Errors
    /// Nothing is there, or it is damaged.
    pub fn read(directory: &Path, catalogue: &Catalogue<'_>) -> Result<Stored<'static>, StoredError> {
        let candidates: Vec<PathBuf> = [""].into_iter().chain(WORLDS).map(|part| directory.join(part)).collect();
        let found: Vec<&PathBuf> = candidates.iter().filter(|path| path.join("summary.json").exists()).collect();
        let Some(first) = found.first() else { return Err(StoredError::Nothing(directory.display().to_string())) };
        let scenario = Cow::Owned(Scenario::load(&first.join("scenario.toml"), &[], catalogue)?);
        let worlds = found.iter().map(|path| StoredWorld::read(path).map(Cow::Owned)).collect::<Result<_, _>>()?;
        Ok(Stored { directory: directory.display().to_string(), scenario, worlds })
    }

    /// What `home` holds after `written` was put there: the other worlds of `scenario` are read.
    ///
    /// # Errors
    /// Another world's directory is damaged.
    pub fn with(home: &Path, scenario: &'a Scenario, written: &'a StoredWorld) -> Result<Stored<'a>, StoredError> {
        let world = |part: &str| {
            let path = home.join(part);
            if part == directory::of_world(&written.name) {
                return Some(Ok(Cow::Borrowed(written)));
            }
            path.join("summary.json").exists().then(|| StoredWorld::read(&path).map(Cow::Owned))
        };
        let worlds = WORLDS.into_iter().filter_map(world).collect::<Result<_, _>>()?;
        Ok(Stored { directory: home.display().to_string(), scenario: Cow::Borrowed(scenario), worlds })
    }
}

impl StoredWorld {
    /// Reads one world's directory.
    ///
    /// # Errors
    /// A file is missing or damaged.
    pub fn read(directory: &Path) -> Result<StoredWorld, StoredError> {
        let summary: Summary = json(directory, "summary.json")?;
        let name = if directory.ends_with("live") { "live" } else { "simulator" };
        let name = summary.cells.first().map_or(name, |cell| cell.world.as_str()).to_owned();
        let (series, manifest) = (json(directory, "series.json")?, json(directory, "manifest.json")?);
        Ok(StoredWorld { name, summary, series, manifest })
    }

    /// The summary of each cell of `scenario` that was run.
    pub fn cells(&self, scenario: &Scenario) -> Vec<Option<&CellSummary>> {
        by_cell(scenario, &self.summary.cells, |cell| &cell.at)
    }

    /// The series of each cell of `scenario` that was run.
    pub fn series_of_cells(&self, scenario: &Scenario) -> Vec<Option<&CellSeries>> {
        by_cell(scenario, &self.series.cells, |cell| &cell.at)
    }
}

fn json<T: DeserializeOwned>(directory: &Path, name: &str) -> Result<T, StoredError> {
    let path = directory.join(name);
    let wrong = |reason: String| StoredError::File { file: path.display().to_string(), reason };
    let text = std::fs::read_to_string(&path).map_err(|error| wrong(error.to_string()))?;
    serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))
}
