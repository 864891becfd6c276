//! The lines of a journal: who made the runs, and what came out of each.

use crate::scenario::Scenario;
use crate::world::{NotRun, RunOutcome};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek, SeekFrom};

/// Changes whenever a line means something else.
pub(super) const SCHEMA: &str = "airtcp.journal/3";

/// First line: whose runs these are.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Header {
    pub(super) schema: String,
    pub(super) build: String,
    #[serde(default)]
    pub(super) owner: String,
    pub(super) world: String,
    pub(super) scenario: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) shard: Option<String>,
}

impl Header {
    /// True if both are of one sweep, whatever build and shard made them.
    pub(super) fn is_same_sweep(&self, other: &Header) -> bool {
        let sweep =
            |header: &Header| [&header.schema, &header.owner, &header.world, &header.scenario].map(String::clone);
        sweep(self) == sweep(other)
    }
}

/// Any other line: a run with its outcome, or why it gave none; or the build that goes on from here.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Line {
    cell: usize,
    run: u32,
    outcome: Option<Box<RunOutcome>>,
    skipped: Option<String>,
    failed: Option<String>,
    build: Option<String>,
}

/// The same, as it is written.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum LineRef<'a> {
    Done { cell: usize, run: u32, outcome: &'a RunOutcome },
    Skipped { cell: usize, run: u32, skipped: &'a str },
    Failed { cell: usize, run: u32, failed: &'a str },
    Build { build: &'a str },
}

impl<'a> LineRef<'a> {
    pub(super) fn not_run(cell: usize, run: u32, why: &'a NotRun) -> Self {
        match why {
            NotRun::Skipped(skipped) => LineRef::Skipped { cell, run, skipped },
            NotRun::Failed(failed) => LineRef::Failed { cell, run, failed },
        }
    }
}

/// The builds that made the runs of a journal, each once; behind the others the one that went on last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Builds(Vec<String>);

impl Builds {
    pub(super) fn of(build: &str) -> Builds {
        Builds(vec![build.to_owned()])
    }

    pub(super) fn push(&mut self, build: &str) {
        self.0.retain(|known| known != build);
        self.0.push(build.to_owned());
    }

    /// Whose runs came last.
    pub(super) fn last(&self) -> &str {
        self.0.last().map_or("", String::as_str)
    }

    /// Each of them.
    pub fn all(&self) -> &[String] {
        &self.0
    }
}

/// What a journal holds.
pub(super) struct Lines {
    pub(super) header: Header,
    pub(super) builds: Builds,
    pub(super) kept: BTreeMap<(usize, u32), RunOutcome>,
    /// Runs that gave nothing.
    pub(super) not_run: BTreeMap<(usize, u32), NotRun>,
    /// Where the last whole line ends, in bytes.
    pub(super) end: u64,
}

impl Lines {
    /// Reads `file` from its beginning. A torn line ends it, a damaged one is left out; `None` if it does not begin as
    /// one of `scenario` does.
    ///
    /// # Errors
    /// The file system's.
    pub(super) fn read(file: &File, scenario: &Scenario) -> io::Result<Option<Lines>> {
        let mut reader = file.try_clone()?;
        reader.seek(SeekFrom::Start(0))?;
        let mut reader = BufReader::new(reader);
        let mut line = Vec::new();
        let mut next = |line: &mut Vec<u8>| {
            line.clear();
            reader.read_until(b'\n', line).map(|length| length > 0 && line.ends_with(b"\n"))
        };
        if !next(&mut line)? {
            return Ok(None);
        }
        let header = serde_json::from_slice::<Header>(&line).ok();
        let is_ours = |header: &Header| header.schema == SCHEMA && header.scenario == scenario.resolved;
        let Some(header) = header.filter(is_ours) else { return Ok(None) };
        let builds = Builds::of(&header.build);
        let (kept, not_run) = (BTreeMap::new(), BTreeMap::new());
        let mut lines = Lines { header, builds, kept, not_run, end: line.len() as u64 };
        while next(&mut line)? {
            lines.end += line.len() as u64;
            if let Ok(entry) = serde_json::from_slice::<Line>(&line) {
                lines.add(entry, scenario);
            }
        }
        Ok(Some(lines))
    }

    fn add(&mut self, line: Line, scenario: &Scenario) {
        if let Some(build) = line.build {
            self.builds.push(&build);
        }
        if line.cell >= scenario.cells.len() || line.run >= scenario.runs {
            return;
        }
        let place = (line.cell, line.run);
        if let Some(outcome) = line.outcome {
            self.kept.insert(place, *outcome);
        } else if let Some(reason) = line.skipped {
            self.not_run.insert(place, NotRun::Skipped(reason));
        } else if let Some(reason) = line.failed {
            self.not_run.insert(place, NotRun::Failed(reason));
        }
    }
}
