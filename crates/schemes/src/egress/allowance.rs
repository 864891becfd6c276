//! How much of the link's time may go to what others can make a gateway send: repairs, questions and requests. A host can
//! make connections that need many of them, and they leave before the traffic of all others.

use airtcp_core::{Duration, Instant};

/// One part in so many of the link's time. What was not used for a while can be used at once.
#[derive(Debug)]
pub(crate) struct Allowance {
    parts: u64,
    /// What was sent so far has used up the part until then.
    used_until: Instant,
}

impl Allowance {
    /// One part in `parts`.
    pub const fn new(parts: u64) -> Allowance {
        Allowance { parts, used_until: Instant::ZERO }
    }

    /// From when on something may be sent, if at most `at_once` is used in a row.
    pub fn free_from(&self, at_once: Duration) -> Instant {
        let saved_up = at_once.saturating_mul(self.parts);
        Instant::from_nanos(self.used_until.as_nanos().saturating_sub(saved_up.as_nanos()))
    }

    /// [`take`](Allowance::take), of one part in `parts` from now on. What was sent before counts as if that had always been the part.
    pub fn take_part(&mut self, parts: u64, now: Instant, time: Duration, at_once: Duration) -> bool {
        let before = core::mem::replace(&mut self.parts, parts);
        if before != parts {
            let used = self.used_until.saturating_since(now).as_nanos() / before;
            self.used_until = self.used_until.min(now).saturating_add(Duration::from_nanos(used).saturating_mul(parts));
        }
        self.take(now, time, at_once)
    }

    /// True if something that takes the link `time` may be sent now. At most `at_once` of the link's time is used in a row,
    /// and what was begun.
    pub fn take(&mut self, now: Instant, time: Duration, at_once: Duration) -> bool {
        let from = self.used_until.max(now);
        if self.free_from(at_once) > now {
            return false;
        }
        self.used_until = from.saturating_add(time.saturating_mul(self.parts));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn what_is_always_wanted_gets_its_part_and_what_was_saved_up() {
        let mut allowance = Allowance::new(4);
        let start = Instant::from_nanos(1_000_000_000);
        let sent = (0..1000).filter(|n| allowance.take(start + MS * *n, MS, MS * 50)).count();
        assert_eq!(sent, 250 + 50);
    }

    #[test]
    fn what_was_used_counts_by_the_part_of_today() {
        let (mut allowance, start) = (Allowance::new(2000), Instant::from_nanos(1_000_000_000));
        assert!(allowance.take(start, MS, Duration::ZERO) && !allowance.take(start + MS * 1999, MS, Duration::ZERO));
        let mut freed = Allowance::new(2000);
        assert!(freed.take(start, MS, Duration::ZERO) && !freed.take_part(50, start + MS, MS, Duration::ZERO));
        assert!(freed.take_part(50, start + MS * 51, MS, Duration::ZERO), "not after two seconds");
        assert!(!freed.take_part(2000, start + MS * 52, MS, Duration::ZERO), "and one in 2000 again");
    }

    #[test]
    fn what_takes_no_time_is_free() {
        let mut allowance = Allowance::new(4);
        assert!((0..1000).all(|_| allowance.take(Instant::ZERO, Duration::ZERO, Duration::ZERO)));
    }
}
