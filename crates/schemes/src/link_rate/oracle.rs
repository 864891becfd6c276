//! The rate that a link will have, told by its world a round trip of the hop ahead: what no law can do better. For comparisons.

use airtcp_core::{Duration, Instant, Rate};
use airtcp_link::varying::{Forecast, Foresight};

/// It is asked so often.
const EVERY: Duration = Duration::from_millis(1);
/// A link that stands still is given so much, so that what waits is timed.
const LEAST: Rate = Rate::from_bps(8_000);

/// See the module.
#[derive(Debug)]
pub(super) struct Oracle {
    foresight: Foresight,
    due: Instant,
    told: Option<Rate>,
}

impl Oracle {
    pub fn new(forecast: &Forecast) -> Oracle {
        Oracle { foresight: forecast.start(), due: Instant::ZERO, told: None }
    }

    /// The mean rate of the coming `ahead`, if it is time and another one than was told before.
    pub fn rate(&mut self, now: Instant, ahead: Duration) -> Option<Rate> {
        if now < self.due {
            return None;
        }
        self.due = now + EVERY;
        let rate = self.foresight.mean(now, ahead).max(LEAST);
        (self.told.replace(rate) != Some(rate)).then_some(rate)
    }

    /// When to ask again.
    pub fn due(&self) -> Instant {
        self.due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airtcp_core::ValueType;
    use airtcp_link::LinkRate;

    #[test]
    fn it_tells_each_change_once_and_ahead_of_its_time() {
        let rate = LinkRate::read(&"20Mbit, 0Mbit from 1s, 4Mbit from 2s".into()).unwrap();
        let mut oracle = Oracle::new(&Forecast::of(&rate, 1, "x", Instant::ZERO).unwrap());
        let mut told =
            |ms: u64| oracle.rate(Instant::from_nanos(ms * 1_000_000), Duration::from_millis(40)).map(Rate::bps);
        assert_eq!([0, 500, 980].map(&mut told), [Some(20_000_000), None, Some(10_000_000)]);
        assert_eq!([1000, 1500, 1990].map(&mut told), [Some(8000), None, Some(3_000_000)]);
        assert_eq!([1990, 2000, 9000].map(&mut told), [None, Some(4_000_000), None], "not twice in a millisecond");
    }
}
