//! Keeps the finished runs of a reproduction, so that an interrupted one goes on where it was.
//!
//! Every sweep of the plan has a journal of its own, and none goes before all are complete. The cells of a variant
//! depend on the paper's claims, so a journal belongs to the paper's hash and the mode besides its scenario.

use super::output::of_paper;
use super::plan::{Plan, Sweep, Worlds};
use crate::results::{self, Earlier, Interruptible, Journal, JournalError, Observer, Opening, Results, RunOptions};
use indexmap::IndexSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// The journals of a plan.
pub struct Journals<'a> {
    plan: &'a Plan,
    journals: Vec<Journal>,
    /// Directories made for journals only.
    folders: Vec<PathBuf>,
}

impl<'a> Journals<'a> {
    /// Those of `plan` below `root`, see [`Journal::open`].
    ///
    /// # Errors
    /// Another process has one of them, or the file system's.
    pub fn open(
        root: &Path,
        plan: &'a Plan,
        worlds: Worlds<'_>,
        build: &str,
        earlier: Earlier,
    ) -> Result<Self, JournalError> {
        let target = of_paper(root, &plan.paper);
        let mode = plan.mode;
        let owner = format!("paper {}, {mode:?}", plan.paper.hash);
        let opening = Opening { build, owner: &owner, earlier, shard: None };
        let folder = |sweep: &Sweep<'_>| sweep.branch.map_or(target.clone(), |name| target.join(format!(".{name}")));
        let sweeps = plan.sweeps();
        let open = |sweep: &Sweep<'_>| Journal::open(&folder(sweep), sweep.scenario, worlds.of(sweep), &opening);
        let journals = sweeps.iter().map(open).collect::<Result<_, _>>()?;
        let mut folders: Vec<PathBuf> = sweeps.iter().filter(|sweep| sweep.branch.is_some()).map(folder).collect();
        folders.dedup();
        Ok(Journals { plan, journals, folders })
    }

    /// Runs what is missing; `None` if that was stopped.
    pub fn run(
        &mut self,
        worlds: Worlds<'_>,
        options: RunOptions,
        stop: &AtomicBool,
        observer: &mut dyn Observer,
    ) -> Option<Vec<Results<'a>>> {
        let mut all = Vec::new();
        for (sweep, journal) in self.plan.sweeps().into_iter().zip(&mut self.journals) {
            let interruptible = Interruptible { journal, is_removed_at_end: false, stop };
            all.push(results::run_interruptible(sweep.scenario, worlds.of(&sweep), options, interruptible, observer));
            if stop.load(Ordering::Relaxed) && all.last().is_some_and(|results| !results.is_complete()) {
                return None;
            }
        }
        Some(all)
    }

    /// Runs that earlier processes finished.
    pub fn resumed(&self) -> usize {
        self.journals.iter().map(Journal::resumed).sum()
    }

    /// Runs that are kept now.
    pub fn runs(&self) -> usize {
        self.journals.iter().map(Journal::runs).sum()
    }

    /// Every build that made runs, each once.
    pub fn builds(&self) -> Vec<String> {
        let all = self.journals.iter().flat_map(|journal| journal.builds().all()).cloned();
        all.collect::<IndexSet<String>>().into_iter().collect()
    }

    /// Why runs are no longer kept, if so.
    pub fn problem(&self) -> Option<&io::Error> {
        self.journals.iter().find_map(Journal::problem)
    }

    /// Removes them all once the results are written.
    ///
    /// # Errors
    /// The file system's.
    pub fn remove(self) -> io::Result<()> {
        self.journals.into_iter().try_for_each(Journal::remove)?;
        self.folders.iter().try_for_each(std::fs::remove_dir)
    }
}
