//! Runs every cell as often as the scenario says, over several threads where the world allows it.
//!
//! Run *i* of every cell uses seed + *i*, so compared schemes meet the same random numbers. Each run's outcome has its
//! place beforehand, so the results do not depend on how many threads there are or which was faster.

use super::Results;
use crate::scenario::Scenario;
use crate::world::{NotRun, RunOutcome, World};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

/// How to run.
#[derive(Clone, Copy, Debug)]
pub struct RunOptions {
    /// Threads, where runs do not disturb each other; at least 1.
    pub threads: usize,
}

/// Hears how far the runs are; called on the thread that called [`run`].
pub trait Observer {
    /// One more run is done.
    fn on_run(&mut self) {}
    /// A cell is about to run; only in worlds that run one after the other.
    fn on_start(&mut self, _cell: usize, _run: u32) {}
    /// A cell is complete.
    fn on_cell(&mut self, _results: &Results<'_>, _cell: usize) {}
}

impl Observer for () {}

enum Message {
    Started { cell: usize, run: u32 },
    Finished { cell: usize, run: u32, outcome: Box<Result<RunOutcome, NotRun>> },
}

/// Runs `scenario` in `world`.
pub fn run<'a>(
    scenario: &'a Scenario,
    world: &dyn World,
    options: RunOptions,
    observer: &mut dyn Observer,
) -> Results<'a> {
    let runs = scenario.runs as usize;
    let jobs = scenario.cells.len() * runs;
    let threads = if world.runs_in_parallel() { options.threads.clamp(1, jobs.max(1)) } else { 1 };
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    let mut results = Results::new(scenario, world.name());
    let mut waiting: Vec<Vec<Option<Result<RunOutcome, NotRun>>>> =
        scenario.cells.iter().map(|_| vec![None; runs]).collect();

    std::thread::scope(|scope| {
        for _ in 0..threads {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || work(scenario, world, next, &sender));
        }
        drop(sender);
        for message in receiver {
            match message {
                Message::Started { cell, run } => observer.on_start(cell, run),
                Message::Finished { cell, run, outcome } => {
                    waiting[cell][run as usize] = Some(*outcome);
                    observer.on_run();
                    if waiting[cell].iter().all(Option::is_some) {
                        let runs = std::mem::take(&mut waiting[cell]);
                        results.set(cell, runs.into_iter().flatten().collect());
                        observer.on_cell(&results, cell);
                    }
                }
            }
        }
    });
    results
}

fn work(scenario: &Scenario, world: &dyn World, next: &AtomicUsize, sender: &mpsc::Sender<Message>) {
    let runs = scenario.runs as usize;
    loop {
        let job = next.fetch_add(1, Ordering::Relaxed);
        let (cell, run) = (job / runs, (job % runs) as u32);
        if cell >= scenario.cells.len() {
            return;
        }
        // The receiver outlives every worker, so a message always arrives.
        let _ = sender.send(Message::Started { cell, run });
        let seed = scenario.seed.wrapping_add(u64::from(run));
        let mut outcome = world.run(&scenario.cells[cell].scenario, seed);
        if let (Ok(outcome), true) = (&mut outcome, run > 0) {
            // One run per cell is drawn; the others' series would only fill the memory.
            outcome.flows.iter_mut().for_each(|flow| flow.series = Vec::new());
        }
        let _ = sender.send(Message::Finished { cell, run, outcome: Box::new(outcome) });
    }
}
