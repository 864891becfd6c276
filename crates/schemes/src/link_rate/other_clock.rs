//! Whether a report can be true. The other end's clock is ahead of this one by some unknown time, but a packet comes after it
//! left and before its report comes here. So each report says between which two times that is, and one that contradicts
//! those before it is of no use: the other end lies, or its clock was set, which shows as several in a row.

use super::departures::Sample;
use airtcp_core::Instant;

/// Clocks are read once for a batch of packets, so this early or late.
const TOLERANCE: i64 = 10_000_000;
/// One part in so many by which clocks drift apart, at most: either may be slewed by 500 parts in a million.
const DRIFT: u64 = 1000;
/// So many contradictions in a row are another clock.
const CONTRADICTIONS: u32 = 8;

/// Whether a report fits those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    /// It does.
    True,
    /// It does not, so it tells nothing.
    False,
    /// It does not, and neither did those before it: everything begins anew with this one.
    Anew,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct OtherClock {
    ahead: Option<Ahead>,
    contradictions: u32,
}

/// The other clock is ahead by no less and no more, in ns; what is known since then.
#[derive(Clone, Copy, Debug)]
struct Ahead {
    least: i64,
    most: i64,
    at: Instant,
}

impl OtherClock {
    /// A report about this packet came.
    pub fn judge(&mut self, now: Instant, sample: &Sample) -> Fit {
        // The planted bug proves that the fuzzer would find one (make fuzz-canary).
        if cfg!(airtcp_planted_bug) {
            return Fit::True;
        }
        // A clock that runs for centuries is none, and sums with it would overflow.
        let Ok(came) = i64::try_from(sample.came) else { return Fit::False };
        let ahead_of = |here: Instant| came.saturating_sub(i64::try_from(here.as_nanos()).unwrap_or(i64::MAX));
        let told = Ahead { least: ahead_of(now), most: ahead_of(sample.left), at: now };
        let known = self.ahead.map_or(told, |known| known.drifted(now));
        let (least, most) = (known.least.max(told.least), known.most.min(told.most));
        if least <= most.saturating_add(TOLERANCE) {
            // What the tolerance lets pass leaves the two in order.
            self.ahead = Some(Ahead { least: least.min(most), most: most.max(least), at: now });
            self.contradictions = 0;
            return Fit::True;
        }
        self.contradictions += 1;
        if self.contradictions < CONTRADICTIONS {
            return Fit::False;
        }
        *self = OtherClock { ahead: Some(told), contradictions: 0 };
        Fit::Anew
    }
}

impl Ahead {
    /// The same after the clocks may have drifted.
    fn drifted(self, now: Instant) -> Ahead {
        let drift = now.saturating_since(self.at) / DRIFT;
        let drift = i64::try_from(drift.as_nanos()).unwrap_or(i64::MAX);
        Ahead { least: self.least.saturating_sub(drift), most: self.most.saturating_add(drift), at: now }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airtcp_core::Duration;

    const SECOND: u64 = 1_000_000_000;
    const MS: u64 = 1_000_000;

    /// A packet that left at `left`, of whose clock `came` is told 30 ms later.
    fn judge(clock: &mut OtherClock, left: u64, came: u64) -> Fit {
        let left = Instant::from_nanos(left);
        let sample = Sample { left, came, sent: 0, packets: 0, received: 0, bytes: 0, pause: Duration::ZERO };
        clock.judge(left + Duration::from_millis(30), &sample)
    }

    #[test]
    fn whatever_a_way_does_fits() {
        let mut clock = OtherClock::default();
        for n in 1..1000 {
            let delay = [0, 15, 30][n as usize % 3] * MS;
            assert_eq!(judge(&mut clock, n * SECOND, 77 * SECOND + n * SECOND + delay), Fit::True, "{n}");
        }
    }

    #[test]
    fn clocks_may_drift_apart() {
        for per_second in [999 * MS / 1000, 0] {
            let mut clock = OtherClock::default();
            for n in 1..1000 {
                let came = 77 * SECOND + n * (SECOND + per_second / 1000) + 15 * MS;
                assert_eq!(judge(&mut clock, n * SECOND, came), Fit::True, "{n}");
            }
        }
    }

    #[test]
    fn nothing_comes_before_it_left_or_after_it_was_reported() {
        let mut clock = OtherClock::default();
        assert_eq!(judge(&mut clock, SECOND, 5 * SECOND), Fit::True);
        assert_eq!(judge(&mut clock, SECOND + MS, 5 * SECOND + 42 * MS), Fit::False);
        assert_eq!(judge(&mut clock, SECOND + MS, 5 * SECOND - 40 * MS), Fit::False);
        assert_eq!(judge(&mut clock, SECOND + MS, 5 * SECOND + 20 * MS), Fit::True);
        assert_eq!(judge(&mut clock, SECOND + MS, u64::MAX), Fit::False);
    }

    #[test]
    fn a_clock_that_was_set_is_believed_after_a_while_and_one_of_centuries_never() {
        let mut clock = OtherClock::default();
        assert_eq!(judge(&mut clock, SECOND, 5 * SECOND), Fit::True);
        for n in 1..CONTRADICTIONS {
            assert_eq!(judge(&mut clock, SECOND, 9 * SECOND), Fit::False, "{n}");
        }
        assert_eq!(judge(&mut clock, SECOND, 9 * SECOND), Fit::Anew);
        assert_eq!(judge(&mut clock, SECOND, 9 * SECOND), Fit::True);
        assert!((0..100).all(|_| judge(&mut clock, SECOND, u64::MAX) == Fit::False));
    }
}
