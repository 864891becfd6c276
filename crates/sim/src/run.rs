//! Running a topology: build, event loop, outcome.

use crate::engine::Engine;
use crate::error::SimError;
use crate::outcome::Outcome;
use crate::settings::RunSettings;
use crate::tap::Tap;
use crate::topology::Topology;
use airtcp_core::Instant;

impl Topology {
    /// Runs the topology.
    ///
    /// # Errors
    /// The topology cannot be run as described, or the run would not end, or it was stopped. Failed checks are in the
    /// outcome.
    pub fn run(&self, settings: &RunSettings) -> Result<Outcome, SimError> {
        Engine::new(self, settings, None)?.run(Instant::ZERO + settings.duration)
    }

    /// Runs the topology while `tap` looks on; the outcome is that of [`Topology::run`].
    ///
    /// # Errors
    /// As [`Topology::run`].
    pub fn run_tapped(&self, settings: &RunSettings, tap: &mut dyn Tap) -> Result<Outcome, SimError> {
        Engine::new(self, settings, Some(tap))?.run(Instant::ZERO + settings.duration)
    }
}
