//! How a topology is run.

use crate::levels::Level;
use airtcp_core::Duration;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// How a topology is run.
#[derive(Clone, Debug)]
pub struct RunSettings {
    /// Every random stream is derived from it.
    pub seed: u64,
    /// Simulated time.
    pub duration: Duration,
    /// Left out of every rate.
    pub warmup: Duration,
    /// Distance of samples in the series; also of the checks.
    pub sample_every: Duration,
    /// Conservation, streams and bounds are checked; off only for timing.
    pub checks: bool,
    /// Initial sequence numbers and timestamps just below the wrap, to show that nothing depends on them.
    pub near_wrap: bool,
    /// What the clocks of all schemes' machines show when the run begins, to show that nothing depends on it.
    pub uptime: Duration,
    /// Packets pass links without an event where nothing can come of it; off only to show that nothing does.
    pub express: bool,
    /// Keep the samples of every flow, and what schemes believe of their links.
    pub series: bool,
    /// What else to record at each sample.
    pub levels: Vec<Level>,
    /// Compute SHA-256 of what fixed-size flows sent and received.
    pub digests: bool,
    /// Ends the run with [`SimError::Stopped`](crate::SimError::Stopped) once it is true.
    pub stop: Option<Arc<AtomicBool>>,
}

impl Default for RunSettings {
    fn default() -> Self {
        RunSettings {
            seed: 1,
            duration: Duration::from_secs(20),
            warmup: Duration::from_secs(2),
            sample_every: Duration::from_millis(100),
            checks: true,
            near_wrap: false,
            uptime: Duration::ZERO,
            express: true,
            series: true,
            levels: Vec::new(),
            digests: false,
            stop: None,
        }
    }
}
