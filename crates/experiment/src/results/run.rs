//! Runs every cell as often as the scenario says, over several threads where the world allows it.
//!
//! Run *i* of every cell uses seed + *i*, so compared schemes meet the same random numbers. Each run's outcome has its
//! place beforehand, so the results do not depend on how many threads there are, which was faster, or which runs an
//! interrupted sweep had finished before.

use super::{Journal, Results, dynamics};
use crate::scenario::Scenario;
use crate::world::{NotRun, RunOutcome, World};
use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How to run.
#[derive(Clone, Copy, Debug)]
pub struct RunOptions {
    /// Threads, where runs do not disturb each other; at least 1.
    pub threads: usize,
}

/// Hears how far the runs are, from one thread at a time.
pub trait Observer: Send {
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
    /// The results are written, and the journal is removed, as soon as the sweep is complete: its last runs need not be kept.
    pub is_removed_at_end: bool,
    /// Once it is true no further run begins.
    pub stop: &'a AtomicBool,
}

/// How often finished runs are put into the journal, and a request to stop is looked for. Only so much work is lost
/// with a killed process besides the runs in progress, and a sweep that is over by then is written down once, as its results.
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
    Sweep::new(scenario, world, observer, None).run(options, stop).results
}

/// Runs what the journal does not have yet. If it was stopped, cells are left [`super::CellState::Pending`].
pub fn run_interruptible<'a>(
    scenario: &'a Scenario,
    world: &dyn World,
    options: RunOptions,
    interruptible: Interruptible<'_>,
    observer: &mut dyn Observer,
) -> Results<'a> {
    let Interruptible { journal, is_removed_at_end, stop } = interruptible;
    let mut sweep = Sweep::new(scenario, world, observer, Some(journal)).run(options, stop);
    if !is_removed_at_end || !sweep.results.is_complete() {
        sweep.save();
    }
    sweep.results
}

type Outcome = Result<RunOutcome, NotRun>;

/// A cell, and which of its runs.
type Job = (usize, u32);

/// A scenario on its way to results.
struct Sweep<'a, 'b> {
    scenario: &'a Scenario,
    world: &'b dyn World,
    observer: &'b mut dyn Observer,
    journal: Option<&'b mut Journal>,
    results: Results<'a>,
    /// Outcomes of cells that are not complete, in the order of the seeds.
    waiting: Vec<Vec<Option<Outcome>>>,
    /// Runs with an outcome that the journal does not have.
    unsaved: Vec<Job>,
}

impl<'a, 'b> Sweep<'a, 'b> {
    fn new(
        scenario: &'a Scenario,
        world: &'b dyn World,
        observer: &'b mut dyn Observer,
        journal: Option<&'b mut Journal>,
    ) -> Self {
        let waiting = scenario.cells.iter().map(|_| vec![None; scenario.runs as usize]).collect();
        let results = Results::new(scenario, world.name());
        Sweep { scenario, world, observer, journal, results, waiting, unsaved: Vec::new() }
    }

    /// The thread that called works as well, and each thread keeps what it has run: to hand a run to another thread, which has
    /// to wake for it, takes longer than to keep it.
    fn run(mut self, options: RunOptions, stop: &AtomicBool) -> Self {
        let jobs = Jobs { left: self.take_from_journal(), next: AtomicUsize::new(0), stop };
        let is_parallel = self.world.runs_in_parallel();
        let threads = if is_parallel { options.threads.clamp(1, jobs.left.len().max(1)) } else { 1 };
        let (scenario, world) = (self.scenario, self.world);
        let sweep = Mutex::new(self);
        std::thread::scope(|scope| {
            let (over, is_over) = mpsc::channel();
            let (sweep, jobs) = (&sweep, &jobs);
            scope.spawn(move || look_again(&is_over, stop, sweep));
            let work = || work(scenario, world, jobs, sweep);
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
            work();
            others.into_iter().for_each(|other| other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            drop::<mpsc::Sender<Infallible>>(over);
        });
        sweep.into_inner().unwrap_or_else(PoisonError::into_inner)
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

    fn on_finished(&mut self, (cell, run): Job, outcome: Outcome, stop: &AtomicBool) {
        // Whoever interrupts us may have interrupted the parts of a live run as well.
        if outcome.is_err() && stop.load(Ordering::Relaxed) {
            return;
        }
        match (&outcome, &mut self.journal) {
            (Ok(_), Some(_)) => self.unsaved.push((cell, run)),
            (Err(why), Some(journal)) => journal.note(cell, run, why),
            (_, None) => {}
        }
        self.waiting[cell][run as usize] = Some(outcome);
        self.observer.on_run();
        self.complete(cell);
    }

    /// Moves a cell to the results once all of its runs are there.
    fn complete(&mut self, cell: usize) {
        if !self.waiting[cell].is_empty() && self.waiting[cell].iter().all(Option::is_some) {
            // One run that failed is all that the results say of a cell, but the others need not be made again.
            if self.waiting[cell].iter().flatten().any(Result::is_err) {
                self.save();
            }
            let runs = std::mem::take(&mut self.waiting[cell]);
            self.results.set(cell, runs.into_iter().flatten().collect());
            self.observer.on_cell(&self.results, cell);
        }
    }

    /// Puts what the journal does not have yet into it.
    fn save(&mut self) {
        let Some(journal) = self.journal.as_deref_mut() else { return };
        for (cell, run) in self.unsaved.drain(..) {
            let waiting = self.waiting[cell].get(run as usize).and_then(|run| run.as_ref()?.as_ref().ok());
            let complete = || self.results.outcomes(cell)?.get(run as usize);
            if let Some(outcome) = waiting.or_else(complete) {
                journal.keep(cell, run, outcome);
            }
        }
    }
}

/// What is left to do.
struct Jobs<'a> {
    left: Vec<Job>,
    /// The first that nobody has begun.
    next: AtomicUsize,
    /// Once it is true no further one begins.
    stop: &'a AtomicBool,
}

impl Jobs<'_> {
    fn take(&self) -> Option<Job> {
        let is_stopped = self.stop.load(Ordering::Relaxed);
        if is_stopped { None } else { self.left.get(self.next.fetch_add(1, Ordering::Relaxed)).copied() }
    }
}

/// Does jobs until none is left.
fn work(scenario: &Scenario, world: &dyn World, jobs: &Jobs<'_>, sweep: &Mutex<Sweep<'_, '_>>) {
    while let Some((cell, run)) = jobs.take() {
        lock(sweep).observer.on_start(cell, run);
        let outcome = run_once(scenario, world, (cell, run));
        lock(sweep).on_finished((cell, run), outcome, jobs.stop);
    }
}

/// Until all is over, keeps finished runs, and tells the observer once it was asked to stop: also while no run ends.
fn look_again(is_over: &Receiver<Infallible>, stop: &AtomicBool, sweep: &Mutex<Sweep<'_, '_>>) {
    let mut is_stopping = false;
    loop {
        let waited = is_over.recv_timeout(LOOK_AGAIN);
        if stop.load(Ordering::Relaxed) && !std::mem::replace(&mut is_stopping, true) {
            lock(sweep).observer.on_stopping();
        }
        if waited == Err(RecvTimeoutError::Disconnected) {
            return;
        }
        lock(sweep).save();
    }
}

/// The panic of another thread goes on in the one that began the sweep, so no results are made of what that thread left.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
