//! A world that knows for how long it ran: what is left of a process's time went to files, tables and waiting.

use crate::machine::{self, Spent};
use airtcp_experiment::{NotRun, ResolvedScenario, RunOutcome, World};
use nix::sys::time::TimeValLike;
use nix::time::{ClockId, clock_gettime};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

pub(crate) struct Timed<'a> {
    world: &'a dyn World,
    wall: AtomicU64,
    processor: AtomicU64,
}

impl<'a> Timed<'a> {
    pub(crate) fn new(world: &'a dyn World) -> Self {
        Timed { world, wall: AtomicU64::new(0), processor: AtomicU64::new(0) }
    }

    /// So far.
    pub(crate) fn spent(&self) -> Spent {
        let [wall, processor] =
            [&self.wall, &self.processor].map(|nanos| Duration::from_nanos(nanos.load(Ordering::Relaxed)));
        Spent { wall, processor }
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
        let (begin, processor) = (machine::wall_clock(), processor_time());
        let outcome = self.world.run(cell, seed);
        let took = machine::wall_clock().duration_since(begin).as_nanos() as u64;
        self.wall.fetch_add(took, Ordering::Relaxed);
        self.processor.fetch_add(processor_time().saturating_sub(processor), Ordering::Relaxed);
        outcome
    }
}

/// Of this thread, ns; 0 where the system does not tell.
fn processor_time() -> u64 {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(0, |time| time.num_nanoseconds().unsigned_abs())
}
