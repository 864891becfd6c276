//! The simulator with controllers of Python in it.

use crate::controller::watch_over;
use crate::watch::Watch;
use airtcp_experiment::{Catalogue, NotRun, ResolvedScenario, RunOutcome, Simulator, World};
use airtcp_tcp::congestion::ControllerEntry;
use pyo3::prelude::*;
use std::sync::Arc;

/// The simulator, which a failure of a controller ends.
pub(crate) struct Watched<'a> {
    simulator: Simulator,
    watch: &'a Watch,
    /// There are controllers in Python.
    has_own: bool,
}

impl<'a> Watched<'a> {
    pub(crate) fn new(watch: &'a Watch, controllers: &[ControllerEntry]) -> Self {
        let simulator = Simulator { stop: Some(Arc::clone(watch.end())), ..Simulator::default() };
        Watched { simulator, watch, has_own: controllers.len() > Catalogue::BUILT_IN.controllers.len() }
    }
}

impl World for Watched<'_> {
    fn name(&self) -> &'static str {
        self.simulator.name()
    }

    fn run(&self, cell: &ResolvedScenario, seed: u64) -> Result<RunOutcome, NotRun> {
        if !self.has_own {
            return self.simulator.run(cell, seed);
        }
        // The interpreter knows the thread for as long as the run, so that hooks need not introduce it each time.
        let outcome = Python::attach(|py| {
            let thread = py.import("threading").and_then(|module| module.call_method0("get_ident"));
            let thread = thread.and_then(|thread| thread.extract()).unwrap_or(0);
            self.watch.begin_hooks(thread);
            let outcome = py.detach(|| watch_over(self.watch.end(), || self.simulator.run(cell, seed)));
            self.watch.end_hooks(thread);
            outcome
        });
        outcome.unwrap_or_else(|failure| {
            self.watch.fail(failure, format!(", in a run of '{}' with seed {seed}", cell.name));
            Err(NotRun::Failed("a controller failed".into()))
        })
    }
}
