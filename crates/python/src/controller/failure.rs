//! What a hook raised. A hook has no way to fail in the contract, so the error waits here, on the thread of the run,
//! while the run ends, and nothing of Python is called in it any more.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Ends the runs of a sweep that are under way.
pub(crate) type Stop = Arc<AtomicBool>;

/// What went wrong first: where, and what was raised.
#[derive(Debug)]
pub(crate) struct Failure {
    place: String,
    error: PyErr,
}

#[derive(Default)]
struct Run {
    failure: Option<Failure>,
    stop: Option<Stop>,
}

thread_local! {
    static RUN: RefCell<Run> = RefCell::default();
}

/// Does `work`, a run on this thread; if a hook of it fails, `stop` becomes true.
///
/// # Errors
/// A hook failed.
pub(crate) fn watch_over<T>(stop: &Stop, work: impl FnOnce() -> T) -> Result<T, Failure> {
    RUN.set(Run { failure: None, stop: Some(Arc::clone(stop)) });
    let outcome = work();
    RUN.take().failure.map_or(Ok(outcome), Err)
}

/// True in a run that is watched over and where nothing failed: only there is anything of Python called.
pub(super) fn may_call() -> bool {
    RUN.with_borrow(|run| run.stop.is_some() && run.failure.is_none())
}

/// `error` was raised at `place`, which begins with the controller.
pub(super) fn note(place: String, error: PyErr) {
    RUN.with_borrow_mut(|run| {
        run.failure.get_or_insert(Failure { place, error });
        if let Some(stop) = &run.stop {
            stop.store(true, Ordering::Relaxed);
        }
    });
}

impl Failure {
    /// As Python raises it: what the class raised is the cause, with its traceback. `whence` says in which run.
    pub(crate) fn raise(self, py: Python<'_>, whence: &str) -> PyErr {
        let kind = self.error.get_type(py).name().map_or_else(|_| "an error".into(), |name| name.to_string());
        let sentence = format!("the controller {}{whence}: {kind}: {}", self.place, self.error.value(py));
        let raised = match py.import("airtcp").and_then(|package| package.getattr("ControllerError")) {
            Ok(kind) => kind.call1((sentence,)).map_or_else(|error| error, |value| PyErr::from_value(value)),
            Err(_) => PyRuntimeError::new_err(sentence),
        };
        raised.set_cause(py, Some(self.error));
        raised
    }
}
