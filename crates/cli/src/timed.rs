//! A world that knows for how long it ran: what is left of a process's time went to files, tables and waiting.

use crate::machine;
use airtcp_experiment::{NotRun, ResolvedScenario, RunOutcome, World};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

pub(crate) struct Timed<'a> {
    world: &'a dyn World,
    nanos: AtomicU64,
}

impl<'a> Timed<'a> {
    pub(crate) fn new(world: &'a dyn World) -> Self {
        Timed { world, nanos: AtomicU64::new(0) }
    }

    /// Time in runs so far, all threads together.
    pub(crate) fn spent(&self) -> Duration {
        Duration::from_nanos(self.nanos.load(Ordering::Relaxed))
    }
}

impl World for Timed<'_> {
    fn name(&self) -> &'static str {
        self.world.name()
    }

    fn runs_in_parallel(&self) -> bool {
        self.world.runs_in_parallel()
    }

    fn run(&self, cell: &ResolvedScenario, seed: u64) -> Result<RunOutcome, NotRun> {
        let begin = machine::wall_clock();
        let outcome = self.world.run(cell, seed);
        let took = machine::wall_clock().duration_since(begin);
        self.nanos.fetch_add(took.as_nanos() as u64, Ordering::Relaxed);
        outcome
    }
}
