//! Whether the link has had time for more of late.

use airtcp_core::{Duration, Instant};

/// It is told over no less time.
const LEAST: Duration = Duration::from_millis(10);

/// See the module.
#[derive(Debug, Default)]
pub(super) struct SpareTime {
    since: Instant,
    /// Time that the link took for what has left since.
    busy: Duration,
    /// So many quarters of the time before it was busy, rounded down.
    quarters: u64,
}

impl SpareTime {
    /// Something left that takes the link `time`: none, where its rate is not known. What counts is the time `span` before. True if
    /// that changed how much time it had.
    pub fn add(&mut self, now: Instant, time: Duration, span: Duration) -> bool {
        let before = self.quarters;
        let elapsed = now.saturating_since(self.since);
        if elapsed >= span.max(LEAST) {
            self.quarters = self.busy.saturating_mul(4).as_nanos() / elapsed.as_nanos();
            (self.since, self.busy) = (now, Duration::ZERO);
        }
        self.busy += time;
        self.quarters != before
    }

    /// True if the link was idle for more than a quarter of that time.
    pub fn is_ample(&self) -> bool {
        self.quarters < 3
    }

    /// True if it was idle for more than three quarters of it.
    pub fn is_plenty(&self) -> bool {
        self.quarters == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// Whether there was ample time after packets of 1 ms, so many ms apart, for 100 ms.
    fn is_ample(spare: &mut SpareTime, from: Instant, apart: u64) -> bool {
        (0..100 / apart).for_each(|n| {
            let before = (spare.is_ample(), spare.is_plenty());
            let is_changed = spare.add(from + MS * (n * apart), MS, MS * 20);
            assert!(is_changed || before == (spare.is_ample(), spare.is_plenty()));
        });
        spare.is_ample()
    }

    #[test]
    fn a_quarter_of_a_round_trip_is_ample_and_what_takes_no_time_leaves_all() {
        let mut spare = SpareTime::default();
        let begin = Instant::from_nanos(5_000_000_000);
        assert!(spare.is_ample() && spare.is_plenty());
        assert!(is_ample(&mut spare, begin, 2) && !spare.is_plenty());
        assert!(!is_ample(&mut spare, begin + MS * 200, 1));
        assert!(is_ample(&mut spare, begin + MS * 400, 5) && spare.is_plenty(), "again");
        assert!(!is_ample(&mut spare, begin + MS * 600, 1));
        assert_eq!((0..50).filter(|n| spare.add(begin + MS * (800 + n), Duration::ZERO, MS * 20)).count(), 1);
        assert!(spare.is_ample());
    }
}
