//! When the next acknowledgment may leave (FTC-4, FTC-5): the delay controller's clock.

use airtcp_core::{Duration, Instant};

/// Lateness of a timer that is made up for, as in the queue before the link.
const CATCH_UP: Duration = Duration::from_millis(8);

/// Spaces what leaves.
#[derive(Debug, Default)]
pub(super) struct Pace {
    free_at: Instant,
}

impl Pace {
    /// When the next acknowledgment may leave.
    pub fn free_at(&self) -> Instant {
        self.free_at
    }

    /// Something waits after nothing did: only a late timer is made up for, not idle time.
    pub fn begin(&mut self, now: Instant) {
        self.free_at = self.free_at.max(now);
    }

    /// An acknowledgment left in its turn; the next follows `distance` behind.
    pub fn charge(&mut self, now: Instant, distance: Duration) {
        self.free_at = self.free_at.max(now - CATCH_UP).saturating_add(distance);
    }

    /// An acknowledgment left out of turn: what it costs is no debt of those behind it.
    pub fn restart(&mut self, now: Instant, distance: Duration) {
        self.free_at = now.saturating_add(distance);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MS, at};

    #[test]
    fn a_late_timer_is_made_up_for_and_a_pause_is_not() {
        let mut pace = Pace::default();
        pace.begin(at(0));
        pace.charge(at(0), MS * 2);
        assert_eq!(pace.free_at(), at(2));
        pace.charge(at(5), MS * 2);
        assert_eq!(pace.free_at(), at(4), "3 ms late");
        pace.charge(at(100), MS * 2);
        assert_eq!(pace.free_at(), at(94), "96 ms late, of which 8 are made up for");
        pace.begin(at(200));
        assert_eq!(pace.free_at(), at(200));
    }

    #[test]
    fn what_leaves_out_of_turn_leaves_no_debt() {
        let mut pace = Pace::default();
        pace.begin(at(0));
        pace.charge(at(0), MS * 500);
        pace.restart(at(10), MS * 2);
        assert_eq!(pace.free_at(), at(12));
    }
}
