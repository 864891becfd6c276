//! A sweep on a thread of its own, while Python's looks for Ctrl-C and tells how far it is.

use crate::controller::{Failure, Stop};
use airtcp_experiment::results::{self, Observer, Results, RunOptions};
use airtcp_experiment::{Scenario, World};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::ScopedJoinHandle;
use std::time::Duration;

/// How often Ctrl-C is looked for and progress is told.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// What the thread that runs is told, and tells.
#[derive(Default)]
pub(crate) struct Watch {
    /// No further run begins.
    stop: AtomicBool,
    /// Runs under way end where they are.
    end: Stop,
    done: AtomicUsize,
    /// What failed first in a controller, and in which run.
    failure: Mutex<Option<(Failure, String)>>,
    /// The threads on which hooks of controllers may run, as Python numbers them.
    hooks: Mutex<BTreeSet<u64>>,
}

impl Watch {
    pub(crate) fn end(&self) -> &Stop {
        &self.end
    }

    /// A controller failed: the sweep ends.
    pub(crate) fn fail(&self, failure: Failure, whence: String) {
        self.stop();
        lock(&self.failure).get_or_insert((failure, whence));
    }

    pub(crate) fn begin_hooks(&self, thread: u64) {
        lock(&self.hooks).insert(thread);
    }

    pub(crate) fn end_hooks(&self, thread: u64) {
        lock(&self.hooks).remove(&thread);
    }

    /// A hook that never returns would hold the sweep for ever.
    fn interrupt_hooks(&self, py: Python<'_>) -> PyResult<()> {
        let threads: Vec<u64> = lock(&self.hooks).iter().copied().collect();
        if !threads.is_empty() {
            py.import("airtcp._controller")?.call_method1("interrupt", (threads,))?;
        }
        Ok(())
    }

    fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.end.store(true, Ordering::Relaxed);
    }

    pub(crate) fn run<'a>(&self, scenario: &'a Scenario, world: &dyn World, threads: Option<usize>) -> Results<'a> {
        let options = RunOptions { threads: threads.unwrap_or_else(available).max(1) };
        results::run_until(scenario, world, options, &self.stop, &mut Counter(&self.done))
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// As many threads as the machine has.
pub(crate) fn available() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Counter<'a>(&'a AtomicUsize);

impl Observer for Counter<'_> {
    fn on_run(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Does `work` on a thread of its own while this one looks for Ctrl-C and tells `progress`.
///
/// # Errors
/// KeyboardInterrupt, what `progress` raises, and ControllerError: the work was stopped then.
pub(crate) fn watched<T: Send>(
    py: Python<'_>,
    all: usize,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Watch) -> T + Send,
) -> PyResult<T> {
    let watch = Watch::default();
    let mut told = None;
    let mut tell = |done: usize| match progress {
        Some(progress) if told.replace(done) != Some(done) => progress.call1((done, all)).map(drop),
        _ => Ok(()),
    };
    std::thread::scope(|scope| {
        let (ended, end) = mpsc::channel::<Infallible>();
        let worker = scope.spawn(|| {
            let _ended = ended; // Dropping it wakes the thread that waits.
            work(&watch)
        });
        let mut goes_on = move || end.recv_timeout(LOOK_AGAIN) != Err(RecvTimeoutError::Disconnected);
        let join = |worker: ScopedJoinHandle<'_, T>| match py.detach(|| worker.join()) {
            Ok(outcome) => Ok(outcome),
            Err(_) => Err(PyRuntimeError::new_err("airtcp has a bug: a run panicked; its words are on stderr")),
        };
        while py.detach(&mut goes_on) {
            if let Err(error) = py.check_signals().and_then(|()| tell(watch.done.load(Ordering::Relaxed))) {
                watch.stop();
                while py.detach(&mut goes_on) {
                    // Where that is not possible, the run ends all the same, at the next event after the hook.
                    drop(watch.interrupt_hooks(py));
                }
                join(worker)?;
                return Err(error);
            }
        }
        let outcome = join(worker)?;
        if let Some((failure, whence)) = lock(&watch.failure).take() {
            return Err(failure.raise(py, &whence));
        }
        tell(watch.done.load(Ordering::Relaxed))?;
        Ok(outcome)
    })
}
