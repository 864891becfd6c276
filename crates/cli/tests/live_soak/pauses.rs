//! How long a thread that wants to run gets no turn: what a busy machine does to all that run on it, gateways or not.

use airtcp_core::Duration;
use airtcp_linux::sys::clock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const STEP: std::time::Duration = std::time::Duration::from_millis(10);

/// The longest pause since it was last asked for, in ns.
#[derive(Debug, Default)]
pub struct Pauses(AtomicU64);

impl Pauses {
    /// Sleeps shortly, again and again, and notes what takes longer.
    pub fn watch(&self, is_over: &AtomicBool) {
        while !is_over.load(Ordering::Relaxed) {
            let from = clock::now();
            std::thread::sleep(STEP);
            let took = clock::now().saturating_since(from).as_nanos();
            self.0.fetch_max(took.saturating_sub(STEP.as_nanos() as u64), Ordering::Relaxed);
        }
    }

    pub fn take(&self) -> Duration {
        Duration::from_nanos(self.0.swap(0, Ordering::Relaxed))
    }
}
