//! Runs every cell as often as the scenario says, over several threads where the world allows it.
//!
//! Run *i* of every cell uses seed + *i*, so compared schemes meet the same random numbers. Each run's outcome has its
//! place beforehand, so the results do not depend on how many threads there are, which was faster, or which runs an
//! interrupted sweep had finished before.

use super::{Journal, Results, dynamics};
use crate::scenario::Scenario;
use crate::world::{NotRun, RunOutcome, World};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

/// How to run.
#[derive(Clone, Copy, Debug)]
pub struct RunOptions {
    /// Threads, where runs do not disturb each other; at least 1.
    pub threads: usize,
}

/// Hears how far the runs are; called on the thread that called [`run`].
pub trait Observer {
    /// So many runs were done before, by an earlier process.
    fn on_resumed(&mut self, _runs: usize) {}
    /// One more run is done.
    fn on_run(&mut self) {}
    /// A cell is about to run; only in worlds that run one after the other.
    fn on_start(&mut self, _cell: usize, _run: u32) {}
    /// It was asked to stop; the runs under way go on to their end.
    fn on_stopping(&mut self) {}
    /// A cell is complete.
    fn on_cell(&mut self, _results: &Results<'_>, _cell: usize) {}
}

impl Observer for () {}

/// What a sweep that may be interrupted needs besides.
pub struct Interruptible<'a> {
    /// Holds the runs that are done, and keeps those to come.
    pub journal: &'a mut Journal,
    /// Once it is true no further run begins.
    pub stop: &'a AtomicBool,
}

/// How often a request to stop is looked for while nothing is finished.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// In a scenario of more cells than this no series are kept: they would fill memory and reports, and nobody looks at
/// thousands of curves.
pub const MAX_CELLS_WITH_SERIES: usize = 1000;

/// Runs `scenario` in `world`.
pub fn run<'a>(
    scenario: &'a Scenario,
    world: &dyn World,
    options: RunOptions,
    observer: &mut dyn Observer,
) -> Results<'a> {
    run_until(scenario, world, options, &AtomicBool::new(false), observer)
}

/// The same until `stop` is true: then no further run begins, and cells are left [`super::CellState::Pending`].
pub fn run_until<'a>(
    scenario: &'a Scenario,
    world: &dyn World,
    options: RunOptions,
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> Results<'a> {
    Sweep::new(scenario, world, observer, None).run(options, stop)
}

/// Runs what the journal does not have yet. If it was stopped, cells are left [`super::CellState::Pending`].
pub fn run_interruptible<'a>(
    scenario: &'a Scenario,
    world: &dyn World,
    options: RunOptions,
    interruptible: Interruptible<'_>,
    observer: &mut dyn Observer,
) -> Results<'a> {
    let Interruptible { journal, stop } = interruptible;
    Sweep::new(scenario, world, observer, Some(journal)).run(options, stop)
}

type Outcome = Result<RunOutcome, NotRun>;

/// A cell, and which of its runs.
type Job = (usize, u32);

/// What a worker did and does now: one message, as each wakes the thread that hears it.
struct Message {
    finished: Option<(Job, Box<Outcome>)>,
    started: Option<Job>,
}

/// A scenario on its way to results.
struct Sweep<'a, 'b> {
    scenario: &'a Scenario,
    world: &'b dyn World,
    observer: &'b mut dyn Observer,
    journal: Option<&'b mut Journal>,
    results: Results<'a>,
    /// Outcomes of cells that are not complete, in the order of the seeds.
    waiting: Vec<Vec<Option<Outcome>>>,
}

impl<'a, 'b> Sweep<'a, 'b> {
    fn new(
        scenario: &'a Scenario,
        world: &'b dyn World,
        observer: &'b mut dyn Observer,
        journal: Option<&'b mut Journal>,
    ) -> Self {
        let waiting = scenario.cells.iter().map(|_| vec![None; scenario.runs as usize]).collect();
        Sweep { scenario, world, observer, journal, results: Results::new(scenario, world.name()), waiting }
    }

    fn run(mut self, options: RunOptions, stop: &AtomicBool) -> Results<'a> {
        let jobs = self.take_from_journal();
        let is_parallel = self.world.runs_in_parallel();
        let threads = if is_parallel { options.threads.clamp(1, jobs.len().max(1)) } else { 1 };
        let next = AtomicUsize::new(0);
        let (sender, receiver) = mpsc::channel();
        std::thread::scope(|scope| {
            for _ in 0..threads {
                let (sender, next, jobs, scenario, world) = (sender.clone(), &next, &jobs, self.scenario, self.world);
                scope.spawn(move || work(scenario, world, jobs, next, stop, &sender));
            }
            drop(sender);
            let mut is_stopping = false;
            loop {
                match receiver.recv_timeout(LOOK_AGAIN) {
                    Ok(message) => self.on_message(message, stop),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => break,
                }
                if stop.load(Ordering::Relaxed) && !std::mem::replace(&mut is_stopping, true) {
                    self.observer.on_stopping();
                }
            }
        });
        self.results
    }

    /// Puts finished runs in their places; returns those that are left to do.
    fn take_from_journal(&mut self) -> Vec<Job> {
        let (cells, runs) = (self.scenario.cells.len(), self.scenario.runs);
        if let Some(journal) = self.journal.as_deref_mut() {
            self.observer.on_resumed(journal.resumed());
            for (cell, waiting) in self.waiting.iter_mut().enumerate() {
                for (run, place) in (0..).zip(waiting) {
                    *place = journal.take(cell, run).map(Ok);
                }
            }
        }
        let is_left = |(cell, run): &Job| self.waiting[*cell][*run as usize].is_none();
        let mut jobs: Vec<_> = (0..cells).flat_map(|cell| (0..runs).map(move |run| (cell, run))).collect();
        if let Some(shard) = self.journal.as_ref().and_then(|journal| journal.shard()) {
            jobs = shard.of(jobs);
        }
        jobs.retain(is_left);
        (0..cells).for_each(|cell| self.complete(cell));
        jobs
    }

    fn on_message(&mut self, message: Message, stop: &AtomicBool) {
        if let Some((job, outcome)) = message.finished {
            self.on_finished(job, *outcome, stop);
        }
        if let Some((cell, run)) = message.started {
            self.observer.on_start(cell, run);
        }
    }

    fn on_finished(&mut self, (cell, run): Job, outcome: Outcome, stop: &AtomicBool) {
        // Whoever interrupts us may have interrupted the parts of a live run as well.
        if outcome.is_err() && stop.load(Ordering::Relaxed) {
            return;
        }
        if let Some(journal) = &mut self.journal {
            journal.keep(cell, run, &outcome);
        }
        self.waiting[cell][run as usize] = Some(outcome);
        self.observer.on_run();
        self.complete(cell);
    }

    /// Moves a cell to the results once all of its runs are there.
    fn complete(&mut self, cell: usize) {
        if !self.waiting[cell].is_empty() && self.waiting[cell].iter().all(Option::is_some) {
            let runs = std::mem::take(&mut self.waiting[cell]);
            self.results.set(cell, runs.into_iter().flatten().collect());
            self.observer.on_cell(&self.results, cell);
        }
    }
}

fn work(
    scenario: &Scenario,
    world: &dyn World,
    jobs: &[Job],
    next: &AtomicUsize,
    stop: &AtomicBool,
    sender: &mpsc::Sender<Message>,
) {
    let take_job = || {
        let is_stopped = stop.load(Ordering::Relaxed);
        if is_stopped { None } else { jobs.get(next.fetch_add(1, Ordering::Relaxed)).copied() }
    };
    let mut job = take_job();
    let mut finished = None;
    while finished.is_some() || job.is_some() {
        // The receiver outlives every worker, so a message always arrives.
        let _ = sender.send(Message { finished: finished.take(), started: job });
        if let Some(done) = job {
            finished = Some((done, Box::new(run_once(scenario, world, done))));
            job = take_job();
        }
    }
}

fn run_once(scenario: &Scenario, world: &dyn World, (cell, run): Job) -> Outcome {
    let seed = scenario.seed.wrapping_add(u64::from(run));
    let mut outcome = world.run(&scenario.cells[cell].scenario, seed)?;
    outcome.dynamics = dynamics::of(&scenario.cells[cell].scenario, &outcome.flows);
    if run > 0 || scenario.cells.len() > MAX_CELLS_WITH_SERIES {
        // One run per cell is drawn; the others' series would only fill the memory.
        outcome.flows.iter_mut().for_each(|flow| flow.series = Vec::new());
        (outcome.levels, outcome.link_rates, outcome.beliefs) = (Vec::new(), Vec::new(), Vec::new());
    }
    Ok(outcome)
}
