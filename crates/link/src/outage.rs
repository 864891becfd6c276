//! Outages: spans of time in which everything that is transmitted is lost.
//!
//! The transmitter does not know and goes on sending, as a radio does behind a hill.

use crate::table::single_kind;
use airtcp_core::{Duration, Instant, parameters};
use alloc::string::String;

parameters! {
    /// When the link is down.
    pub struct Outage {
        /// When the first outage begins, from the start of the run.
        pub start: Duration = Duration::ZERO, "ours";
        /// How long each outage lasts; zero for none.
        pub duration: Duration = Duration::ZERO, "ours";
        /// Time from the start of one outage to the start of the next; once only without.
        pub every: Option<Duration> = None, "ours";
    }
}

impl Outage {
    fn check(&self) -> Result<(), String> {
        if self.every.is_some_and(|every| every <= self.duration) {
            return Err(
                "outages that follow each other without a pause never end; make 'every' longer than 'duration'".into(),
            );
        }
        Ok(())
    }

    /// Whether a transmission that lasts from `begin` to `end` meets an outage; `origin` is the start of the run.
    pub(crate) fn meets(&self, origin: Instant, begin: Instant, end: Instant) -> bool {
        if self.duration.is_zero() {
            return false;
        }
        let first = origin.saturating_add(self.start);
        // A transmission in no time at `begin` counts as lasting a nanosecond.
        let last_moment = end.max(begin.saturating_add(Duration::from_nanos(1)));
        if last_moment <= first {
            return false;
        }
        // The last outage that begins before the transmission ends; no earlier one lasts as long.
        let since =
            (last_moment.saturating_since(first).as_nanos() - 1).checked_div(self.every.map_or(0, Duration::as_nanos));
        let latest = match (since, self.every) {
            (Some(periods), Some(every)) => first.saturating_add(every.saturating_mul(periods)),
            _ => first,
        };
        latest.saturating_add(self.duration) > begin
    }
}

single_kind!(Outage, "{ start = \"5s\", duration = \"2s\", every = \"30s\" }");

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(n)
    }

    fn outage(every: Option<u64>) -> Outage {
        let millis = Duration::from_millis;
        Outage { start: millis(100), duration: millis(20), every: every.map(millis) }
    }

    #[test]
    fn a_transmission_that_touches_an_outage_meets_it() {
        let meets = |begin, end| outage(None).meets(Instant::ZERO, ms(begin), ms(end));
        assert!(!meets(90, 100));
        assert!(meets(90, 101));
        assert!(meets(105, 110));
        assert!(meets(119, 130));
        assert!(!meets(120, 130));
        assert!(meets(90, 130));
        assert!(meets(100, 100) && !meets(120, 120), "an instant has its place too");
        assert!(!meets(200, 210));
    }

    #[test]
    fn outages_repeat_with_their_period() {
        let meets = |begin, end| outage(Some(50)).meets(Instant::ZERO, ms(begin), ms(end));
        assert!(!meets(40, 60), "none before the first");
        for k in 0..10 {
            let start = 100 + 50 * k;
            assert!(meets(start, start + 1) && meets(start + 19, start + 21));
            assert!(!meets(start + 20, start + 50));
            assert!(meets(start + 20, start + 51));
        }
    }

    #[test]
    fn outages_count_from_the_start_of_the_run() {
        let origin = Instant::from_nanos(77_000_000_000);
        let begin = origin + Duration::from_millis(110);
        assert!(outage(None).meets(origin, begin, begin));
        assert!(!outage(None).meets(Instant::ZERO, begin, begin));
    }

    #[test]
    fn outages_without_a_pause_are_refused() {
        use airtcp_core::ValueType;
        assert!(Outage::read(&"{ duration = \"2s\", every = \"2s\" }".into()).is_err());
        assert!(Outage::read(&"{ duration = \"2s\", every = \"2001ms\" }".into()).is_ok());
    }
}
