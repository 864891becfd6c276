//! Whether the link has had time for more of late.

use airtcp_core::{Duration, Instant};

/// It is told over no less time.
const LEAST: Duration = Duration::from_millis(10);

/// See the module.
#[derive(Debug)]
pub(super) struct SpareTime {
    since: Instant,
    /// Time that the link took for what has left since.
    busy: Duration,
    is_ample: bool,
}

impl Default for SpareTime {
    fn default() -> Self {
        SpareTime { since: Instant::ZERO, busy: Duration::ZERO, is_ample: true }
    }
}

impl SpareTime {
    /// Something left that takes the link `time`: none, where its rate is not known. What counts is the time `span` before. True if
    /// that changed whether it had time.
    pub fn add(&mut self, now: Instant, time: Duration, span: Duration) -> bool {
        let was_ample = self.is_ample;
        let elapsed = now.saturating_since(self.since);
        if elapsed >= span.max(LEAST) {
            self.is_ample = self.busy.saturating_mul(4) < elapsed.saturating_mul(3);
            (self.since, self.busy) = (now, Duration::ZERO);
        }
        self.busy += time;
        self.is_ample != was_ample
    }

    /// True if the link was idle for more than a quarter of that time.
    pub fn is_ample(&self) -> bool {
        self.is_ample
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// Whether there was ample time after packets of 1 ms, so many ms apart, for 100 ms.
    fn is_ample(spare: &mut SpareTime, from: Instant, apart: u64) -> bool {
        (0..100 / apart).for_each(|n| {
            let before = spare.is_ample();
            assert_eq!(spare.add(from + MS * (n * apart), MS, MS * 20), before != spare.is_ample());
        });
        spare.is_ample()
    }

    #[test]
    fn a_quarter_of_a_round_trip_is_ample_and_what_takes_no_time_leaves_all() {
        let mut spare = SpareTime::default();
        let begin = Instant::from_nanos(5_000_000_000);
        assert!(spare.is_ample() && is_ample(&mut spare, begin, 4));
        assert!(!is_ample(&mut spare, begin + MS * 200, 1));
        assert!(is_ample(&mut spare, begin + MS * 400, 4), "again");
        assert!(!is_ample(&mut spare, begin + MS * 600, 1));
        assert_eq!((0..50).filter(|n| spare.add(begin + MS * (800 + n), Duration::ZERO, MS * 20)).count(), 1);
        assert!(spare.is_ample());
    }
}
