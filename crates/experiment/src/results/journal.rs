//! What is kept of a sweep while it runs, so that an interrupted one goes on where it was.
//!
//! `results/<name>-<hash>/.<world>.partial`: a line of JSON that says of which scenario and which build the runs are,
//! then one line per finished run, written when it finishes. A killed process leaves at most one torn line, which is
//! dropped. Runs of another scenario or build are never mixed in. Numbers round-trip exactly, so a resumed sweep ends
//! with the bytes of an uninterrupted one. Runs that were skipped or failed are not kept: they are tried again.

use super::directory;
use crate::scenario::Scenario;
use crate::world::{RunOutcome, World};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Changes whenever a line means something else.
const SCHEMA: &str = "airtcp.journal/1";

/// The finished runs of a sweep, on disk.
#[derive(Debug)]
pub struct Journal {
    file: File,
    path: PathBuf,
    kept: BTreeMap<(usize, u32), RunOutcome>,
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
    /// The file system's.
    #[error("cannot keep finished runs in {path}: {error}")]
    File {
        /// The journal.
        path: String,
        /// What the system says.
        error: io::Error,
    },
}

/// First line: whose runs these are.
#[derive(Serialize, Deserialize, PartialEq)]
struct Header {
    schema: String,
    build: String,
    world: String,
    scenario: String,
}

/// Any other line.
#[derive(Deserialize)]
struct Entry {
    cell: usize,
    run: u32,
    outcome: RunOutcome,
}

/// The same, as it is written.
#[derive(Serialize)]
struct EntryRef<'a> {
    cell: usize,
    run: u32,
    outcome: &'a RunOutcome,
}

impl Journal {
    /// The journal of `scenario` in `world` below `root`, with the runs that an earlier process finished. `build` tells
    /// one program from another that might give other results. With `fresh` what was kept is dropped. Nobody else can
    /// open it meanwhile.
    ///
    /// # Errors
    /// Another process has it, or the file system's.
    pub fn open(
        root: &Path,
        scenario: &Scenario,
        world: &dyn World,
        build: &str,
        fresh: bool,
    ) -> Result<Journal, JournalError> {
        let directory = directory::of_scenario(root, scenario);
        let path = directory.join(format!(".{}.partial", super::directory::of_world(world.name())));
        let wrong = |error| JournalError::File { path: path.display().to_string(), error };
        std::fs::create_dir_all(&directory).map_err(wrong)?;
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path).map_err(wrong)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(JournalError::Busy(path.display().to_string())),
            Err(TryLockError::Error(error)) => return Err(wrong(error)),
        }
        if fresh {
            file.set_len(0).map_err(wrong)?;
        }
        let header = Header {
            schema: SCHEMA.into(),
            build: build.into(),
            world: world.name().into(),
            scenario: scenario.resolved.clone(),
        };
        let kept = BTreeMap::new();
        let mut journal =
            Journal { file, path: path.clone(), kept, resumed: 0, runs: 0, outdated: false, problem: None };
        journal.read(&header, scenario).map_err(wrong)?;
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

    /// True if there were runs of another build, which are dropped.
    pub fn was_outdated(&self) -> bool {
        self.outdated
    }

    /// Why runs are no longer kept, if so. The sweep goes on without.
    pub fn problem(&self) -> Option<&io::Error> {
        self.problem.as_ref()
    }

    /// Takes the outcome of a run that was finished before.
    pub(super) fn take(&mut self, cell: usize, run: u32) -> Option<RunOutcome> {
        self.kept.remove(&(cell, run))
    }

    /// Keeps the outcome of a run. It is with the kernel when this returns, so a killed process loses nothing of it.
    pub(super) fn keep(&mut self, cell: usize, run: u32, outcome: &RunOutcome) {
        if self.problem.is_none() {
            self.problem = self.append(&EntryRef { cell, run, outcome }).err();
            self.runs += usize::from(self.problem.is_none());
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
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        self.file.write_all(&text)
    }

    /// Reads what is there and cuts off what is torn; begins anew if it is somebody else's.
    fn read(&mut self, header: &Header, scenario: &Scenario) -> io::Result<()> {
        let mut lines = BufReader::new(self.file.try_clone()?);
        let (mut line, mut end) = (Vec::new(), 0);
        let mut is_ours = false;
        while lines.read_until(b'\n', &mut line)? > 0 && line.ends_with(b"\n") {
            if end == 0 {
                is_ours = serde_json::from_slice::<Header>(&line).is_ok_and(|found| found == *header);
                self.outdated = !is_ours;
                if !is_ours {
                    break;
                }
            } else if let Ok(entry) = serde_json::from_slice::<Entry>(&line)
                && entry.cell < scenario.cells.len()
                && entry.run < scenario.runs
            {
                self.kept.insert((entry.cell, entry.run), entry.outcome);
            }
            end += line.len() as u64;
            line.clear();
        }
        self.resumed = self.kept.len();
        self.runs = self.resumed;
        self.file.set_len(end)?;
        self.file.seek(SeekFrom::Start(end))?;
        if is_ours { Ok(()) } else { self.append(header) }
    }
}
