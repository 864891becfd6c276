//! What is kept of a sweep while it runs, so that an interrupted one goes on where it was, and so that several processes
//! can share one.
//!
//! `results/<name>-<hash>/.<world>.partial`, or `shards/<world>-<i>-of-<n>.jsonl` for a shard: a line of JSON that says of
//! which scenario and which build the runs are, then one line per finished run, written soon after ([`super::run`]). A killed process
//! leaves at most one torn line, which is dropped. Numbers round-trip exactly, so a resumed sweep ends with the bytes
//! of an uninterrupted one. Runs that were skipped or failed are tried again by whoever resumes. Runs of another scenario
//! are never mixed in; runs of another build only if that is asked for, and then a line says so.

use super::directory;
use super::kept::{Builds, Header, LineRef, Lines, SCHEMA};
use super::shard::Shard;
use crate::scenario::Scenario;
use crate::world::{NotRun, RunOutcome, World};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// How a journal is opened.
#[derive(Clone, Copy, Debug)]
pub struct Opening<'a> {
    /// Tells one program from another that might give other results.
    pub build: &'a str,
    /// Whose sweep it is besides the scenario's: a paper in a mode; empty otherwise.
    pub owner: &'a str,
    /// What becomes of runs that are there.
    pub earlier: Earlier,
    /// The part of the sweep that this process runs, if not all.
    pub shard: Option<Shard>,
}

/// What becomes of runs that an earlier process kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Earlier {
    /// They are used; those of another build are an error.
    Resume,
    /// They are used, whatever build made them.
    ResumeAny,
    /// They are dropped.
    Drop,
}

/// The finished runs of a sweep, on disk.
#[derive(Debug)]
pub struct Journal {
    file: File,
    /// The line that was written last: room for the next one.
    line: Vec<u8>,
    path: PathBuf,
    kept: BTreeMap<(usize, u32), RunOutcome>,
    builds: Builds,
    shard: Option<Shard>,
    resumed: usize,
    runs: usize,
    outdated: bool,
    problem: Option<io::Error>,
}

/// Why a sweep cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// Two processes would write the same results.
    #[error(
        "another airtcp is running this scenario, as {0} is locked; wait for it, or give --results another directory"
    )]
    Busy(String),
    /// Another program made what is there.
    #[error(
        "{runs} runs of this sweep are kept in {path}, but another build of airtcp made them ({build}): --resume uses them, --fresh drops them"
    )]
    OtherBuild {
        /// The journal.
        path: String,
        /// How many there are.
        runs: usize,
        /// Version and revision of the build that kept the last of them.
        build: String,
    },
    /// The file system's.
    #[error("cannot keep finished runs in {path}: {error}")]
    File {
        /// The journal.
        path: String,
        /// What the system says.
        error: io::Error,
    },
}

impl Journal {
    /// The journal of `scenario` in `world` below `root`, with the runs that an earlier process finished. Nobody else can
    /// open it meanwhile.
    ///
    /// # Errors
    /// Another process has it, another build made what is there, or the file system's.
    pub fn open(
        root: &Path,
        scenario: &Scenario,
        world: &dyn World,
        opening: &Opening<'_>,
    ) -> Result<Journal, JournalError> {
        let directory = directory::of_scenario(root, scenario);
        let path = match opening.shard {
            None => directory.join(format!(".{}.partial", directory::of_world(world.name()))),
            Some(shard) => directory.join(directory::SHARDS).join(name_of(world.name(), shard)),
        };
        let wrong = |error| JournalError::File { path: path.display().to_string(), error };
        std::fs::create_dir_all(path.parent().unwrap_or(&directory)).map_err(wrong)?;
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path).map_err(wrong)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(JournalError::Busy(path.display().to_string())),
            Err(TryLockError::Error(error)) => return Err(wrong(error)),
        }
        let header = Header {
            schema: SCHEMA.into(),
            build: opening.build.into(),
            owner: opening.owner.into(),
            world: world.name().into(),
            scenario: scenario.resolved.clone(),
            shard: opening.shard.map(|shard| shard.to_string()),
        };
        let mut journal = Journal {
            file,
            line: Vec::new(),
            path: path.clone(),
            kept: BTreeMap::new(),
            builds: Builds::of(opening.build),
            shard: opening.shard,
            resumed: 0,
            runs: 0,
            outdated: false,
            problem: None,
        };
        if opening.shard.is_some() {
            directory::write_scenario(path.parent().unwrap_or(&directory), scenario).map_err(wrong)?;
        }
        journal.begin(&header, scenario, opening.earlier)?;
        Ok(journal)
    }

    /// Runs that an earlier process finished.
    pub fn resumed(&self) -> usize {
        self.resumed
    }

    /// Runs that are kept now.
    pub fn runs(&self) -> usize {
        self.runs
    }

    /// Every build that made runs of it.
    pub fn builds(&self) -> &Builds {
        &self.builds
    }

    /// True if there was something of another kind, which is dropped.
    pub fn was_outdated(&self) -> bool {
        self.outdated
    }

    /// Why runs are no longer kept, if so. The sweep goes on without.
    pub fn problem(&self) -> Option<&io::Error> {
        self.problem.as_ref()
    }

    /// The part of the sweep that it is of.
    pub(super) fn shard(&self) -> Option<Shard> {
        self.shard
    }

    /// Takes the outcome of a run that was finished before.
    pub(super) fn take(&mut self, cell: usize, run: u32) -> Option<RunOutcome> {
        self.kept.remove(&(cell, run))
    }

    /// Keeps the outcome of a run. It is with the kernel when this returns, so a killed process loses nothing of it.
    pub(super) fn keep(&mut self, cell: usize, run: u32, outcome: &RunOutcome) {
        self.put(&LineRef::Done { cell, run, outcome });
        self.runs += usize::from(self.problem.is_none());
    }

    /// Says why a run gave no outcome.
    pub(super) fn note(&mut self, cell: usize, run: u32, why: &NotRun) {
        self.put(&LineRef::not_run(cell, run, why));
    }

    fn put(&mut self, line: &LineRef<'_>) {
        if self.problem.is_none() {
            self.problem = self.append(line).err();
        }
    }

    /// Removes the journal once its sweep is complete, and the scenario's directory if nothing else is there.
    ///
    /// # Errors
    /// The file system's.
    pub fn remove(self) -> io::Result<()> {
        std::fs::remove_file(&self.path)?;
        // Fails, as it should, while there is anything in it.
        let _ = self.path.parent().map(std::fs::remove_dir);
        Ok(())
    }

    fn append(&mut self, line: &impl Serialize) -> io::Result<()> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, line)?;
        self.line.push(b'\n');
        self.file.write_all(&self.line)
    }

    /// Reads what is there and cuts off what is torn; begins anew if it is somebody else's.
    fn begin(&mut self, header: &Header, scenario: &Scenario, earlier: Earlier) -> Result<(), JournalError> {
        let path = self.path.display().to_string();
        let wrong = |error| JournalError::File { path: path.clone(), error };
        let found = if earlier == Earlier::Drop { None } else { Lines::read(&self.file, scenario).map_err(wrong)? };
        let is_empty = self.file.metadata().map_err(wrong)?.len() == 0;
        let found = found.filter(|found| found.header.is_same_sweep(header));
        self.outdated = earlier != Earlier::Drop && found.is_none() && !is_empty;
        let Some(Lines { kept, builds, end, .. }) = found.filter(|found| !found.kept.is_empty()) else {
            self.file.set_len(0).and_then(|()| self.file.seek(SeekFrom::Start(0))).map_err(wrong)?;
            return self.append(header).map_err(wrong);
        };
        let is_ours = builds.last() == header.build;
        if !is_ours && earlier == Earlier::Resume {
            return Err(JournalError::OtherBuild { path, runs: kept.len(), build: builds.last().to_owned() });
        }
        self.file.set_len(end).and_then(|()| self.file.seek(SeekFrom::Start(end))).map_err(wrong)?;
        self.builds = builds;
        if !is_ours {
            self.builds.push(&header.build);
            self.append(&LineRef::Build { build: &header.build }).map_err(wrong)?;
        }
        self.kept = kept;
        (self.resumed, self.runs) = (self.kept.len(), self.kept.len());
        Ok(())
    }
}

/// The file of a shard.
fn name_of(world: &str, shard: Shard) -> String {
    format!("{}-{}-of-{}.jsonl", directory::of_world(world), shard.index(), shard.count())
}
