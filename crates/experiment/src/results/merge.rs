//! What several processes kept of one sweep, put together: the results that one process would have had.

use super::directory::SHARDS;
use super::kept::Lines;
use super::shard::Shard;
use super::{Builds, Results};
use crate::catalogue::Catalogue;
use crate::scenario::{Scenario, ScenarioError};
use crate::world::{NotRun, RunOutcome};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// The shards of one scenario.
pub struct Shards {
    /// What was run.
    pub scenario: Scenario,
    files: Vec<PathBuf>,
}

/// All runs of one world.
pub struct Merged<'a> {
    /// What came out.
    pub results: Results<'a>,
    /// Who made the runs.
    pub builds: Builds,
    /// How many files they were in.
    pub files: usize,
}

/// Why shards cannot be put together.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// Nothing there.
    #[error("{0}: no shards here; name directories in which `airtcp run --shard` left runs, results/<name>-<hash>")]
    Nothing(String),
    /// A file of shards cannot be read as one of the scenario.
    #[error(
        "{file}: these runs are not of the scenario in {first}, or of another version of airtcp; merge what belongs together"
    )]
    OtherSweep {
        /// The file.
        file: String,
        /// The first file.
        first: String,
    },
    /// Runs of different programs.
    #[error("different builds of airtcp made these runs ({}); make them with one, or merge them as they are with --any-build", .0.join("; "))]
    OtherBuilds(Vec<String>),
    /// Runs are missing.
    #[error("{missing} of {all} runs of {world} are missing{}; run what is missing, and merge again", shards_to_run(.shards))]
    Incomplete {
        /// The world.
        world: String,
        /// How many runs are missing.
        missing: usize,
        /// How many there should be.
        all: usize,
        /// The shards that they belong to, if all files are of one division.
        shards: Vec<String>,
    },
    /// The file system's.
    #[error("cannot read {path}: {error}")]
    File {
        /// The file.
        path: String,
        /// What the system says.
        error: io::Error,
    },
    /// The scenario names something this program does not have.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
}

/// Most shards that an error names.
const MAX_NAMED: usize = 20;

fn shards_to_run(shards: &[String]) -> String {
    match shards.len() {
        0 => String::new(),
        count @ ..=MAX_NAMED => {
            let word = if count == 1 { "shard" } else { "shards" };
            format!(": of {word} {}", shards.join(", "))
        }
        count => format!(": of {count} shards, {} among them", shards[..MAX_NAMED].join(", ")),
    }
}

/// What the files of one world hold.
#[derive(Default)]
struct Runs {
    done: BTreeMap<(usize, u32), RunOutcome>,
    not_run: BTreeMap<(usize, u32), NotRun>,
    builds: Builds,
    /// Numbers of shards that files are of.
    counts: BTreeSet<u32>,
    files: usize,
}

impl Shards {
    /// Finds all shards in `directories`: results of a scenario, or what is in their `shards`.
    ///
    /// # Errors
    /// There are none in one of them, or their scenario cannot be read.
    pub fn find(directories: &[PathBuf], catalogue: &Catalogue<'_>) -> Result<Shards, MergeError> {
        let mut files = BTreeSet::new();
        let mut scenario = None;
        for directory in directories {
            let below = directory.join(SHARDS);
            let place = if below.is_dir() { below } else { directory.clone() };
            let found = files_in(&place)?;
            if found.is_empty() {
                return Err(MergeError::Nothing(directory.display().to_string()));
            }
            files.extend(found);
            if scenario.is_none() {
                scenario = Some(Scenario::load(&place.join("scenario.toml"), &[], catalogue)?);
            }
        }
        let scenario = scenario.ok_or_else(|| MergeError::Nothing(String::new()))?;
        Ok(Shards { scenario, files: files.into_iter().collect() })
    }

    /// Puts the runs of each world together; those of different builds only if `any_build`.
    ///
    /// # Errors
    /// Something is missing, damaged, or of another sweep or build.
    pub fn merge(&self, any_build: bool) -> Result<Vec<Merged<'_>>, MergeError> {
        let mut worlds: BTreeMap<&'static str, Runs> = BTreeMap::new();
        for path in &self.files {
            self.read(path, &mut worlds)?;
        }
        if worlds.is_empty() {
            return Err(MergeError::Nothing(self.files[0].display().to_string()));
        }
        worlds.into_iter().map(|(world, runs)| self.put_together(world, runs, any_build)).collect()
    }

    fn read(&self, path: &Path, worlds: &mut BTreeMap<&'static str, Runs>) -> Result<(), MergeError> {
        let wrong = |error| MergeError::File { path: path.display().to_string(), error };
        let file = File::open(path).map_err(wrong)?;
        if file.metadata().map_err(wrong)?.len() == 0 {
            // Killed before it wrote its first line.
            return Ok(());
        }
        let other = || MergeError::OtherSweep {
            file: path.display().to_string(),
            first: self.files[0].parent().unwrap_or(Path::new("")).join("scenario.toml").display().to_string(),
        };
        let lines = Lines::read(&file, &self.scenario).map_err(wrong)?.ok_or_else(other)?;
        let world = ["simulator", "live"].into_iter().find(|world| *world == lines.header.world).ok_or_else(other)?;
        let runs = worlds.entry(world).or_default();
        lines.builds.all().iter().for_each(|build| runs.builds.push(build));
        runs.counts.extend(lines.header.shard.and_then(|shard| Some(shard.parse::<Shard>().ok()?.count())));
        runs.files += 1;
        // Where two files have a run, the first counts.
        for (place, outcome) in lines.kept {
            runs.done.entry(place).or_insert(outcome);
        }
        for (place, reason) in lines.not_run {
            runs.not_run.entry(place).or_insert(reason);
        }
        Ok(())
    }

    fn put_together(&self, world: &'static str, mut runs: Runs, any_build: bool) -> Result<Merged<'_>, MergeError> {
        if runs.builds.all().len() > 1 && !any_build {
            return Err(MergeError::OtherBuilds(runs.builds.all().to_vec()));
        }
        let mut results = Results::new(&self.scenario, world);
        let mut missing = Vec::new();
        for cell in 0..self.scenario.cells.len() {
            let mut outcomes = Vec::with_capacity(self.scenario.runs as usize);
            for run in 0..self.scenario.runs {
                let place = (cell, run);
                let done = runs.done.remove(&place).map(Ok);
                match done.or_else(|| runs.not_run.remove(&place).map(Err)) {
                    Some(outcome) => outcomes.push(outcome),
                    None => missing.push(cell * self.scenario.runs as usize + run as usize),
                }
            }
            results.set(cell, outcomes);
        }
        if missing.is_empty() {
            return Ok(Merged { results, builds: runs.builds, files: runs.files });
        }
        let all = self.scenario.cells.len() * self.scenario.runs as usize;
        let shards = match runs.counts.iter().collect::<Vec<_>>()[..] {
            [count] => {
                let dealt = Shard::deal(*count, all);
                let shards: BTreeSet<u32> = missing.iter().map(|run| dealt[*run] + 1).collect();
                shards.into_iter().map(|shard| format!("{shard}/{count}")).collect()
            }
            _ => Vec::new(),
        };
        Err(MergeError::Incomplete { world: world.into(), missing: missing.len(), all, shards })
    }
}

fn files_in(directory: &Path) -> Result<Vec<PathBuf>, MergeError> {
    let wrong = |error| MergeError::File { path: directory.display().to_string(), error };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(wrong)? {
        let path = entry.map_err(wrong)?.path();
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            files.push(path);
        }
    }
    Ok(files)
}
