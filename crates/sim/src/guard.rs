//! Ends a run that would not end by itself: time must go on, and nobody may have asked to stop.

use crate::error::SimError;
use airtcp_core::{Instant, count_one};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Steps of a run, an event or a packet each: so many at once, and so many in each nanosecond that passes. No link has
/// such a rate, and no run with so many would end.
const AT_ONCE: u64 = 10_000_000;
const EACH_NANOSECOND: u64 = 4;
/// Steps between two looks.
const LOOK_EVERY: u64 = 4096;

/// Counts the steps of a run.
#[derive(Debug, Default)]
pub struct Guard {
    steps: u64,
    look_at: u64,
    stop: Option<Arc<AtomicBool>>,
}

impl Guard {
    /// `stop` ends the run once it is true.
    pub fn new(stop: Option<Arc<AtomicBool>>) -> Guard {
        Guard { stop, ..Guard::default() }
    }

    #[inline]
    pub fn step(&mut self) {
        count_one(&mut self.steps);
    }

    /// True if it is time to [look](Guard::look).
    #[inline]
    pub fn is_due(&self) -> bool {
        self.steps >= self.look_at
    }

    /// Why the run cannot go on, if it is so.
    #[cold]
    pub fn look(&mut self, now: Instant) -> Result<(), SimError> {
        self.look_at = self.steps + LOOK_EVERY;
        if self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            return Err(SimError::Stopped);
        }
        let most = AT_ONCE.saturating_add(now.as_nanos().saturating_mul(EACH_NANOSECOND));
        if self.steps > most { Err(SimError::Endless { at: now, steps: self.steps }) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(steps: u64, nanoseconds: u64) -> Result<(), SimError> {
        Guard { steps, ..Guard::default() }.look(Instant::from_nanos(nanoseconds))
    }

    #[test]
    fn as_time_goes_on_so_may_the_run() {
        assert_eq!(after(AT_ONCE, 0), Ok(()));
        assert_eq!(after(AT_ONCE + 4_000_000, 1_000_000), Ok(()));
        let sentence = after(AT_ONCE + 1, 0).unwrap_err().to_string();
        assert!(sentence.contains("give the links on their way a rate"), "{sentence}");
        assert!(after(AT_ONCE + 4_000_001, 1_000_000).is_err());
    }

    #[test]
    fn it_looks_now_and_then_and_at_first() {
        let mut guard = Guard::default();
        assert!(guard.is_due());
        guard.look(Instant::ZERO).unwrap();
        (1..LOOK_EVERY).for_each(|_| guard.step());
        assert!(!guard.is_due());
        guard.step();
        assert!(guard.is_due());
    }
}
