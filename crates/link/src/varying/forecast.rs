//! What a link will carry, and what it could carry so far: for comparisons with a sender that is told.

use super::{LinkRate, RateCourse, VaryingRate};
use airtcp_core::{Duration, Instant, Rate};
use alloc::boxed::Box;
use alloc::string::String;

/// The rate of a link, known ahead of time.
#[derive(Clone, Debug)]
pub struct Forecast {
    rate: Box<VaryingRate>,
    seed: u64,
    name: String,
    origin: Instant,
}

impl Forecast {
    /// Of the direction called `name` of a link with this rate, in the run seeded with `seed`, which starts at `origin`. `None`
    /// where the rate is always the same: then there is nothing to tell.
    pub fn of(rate: &LinkRate, seed: u64, name: &str, origin: Instant) -> Option<Forecast> {
        let LinkRate::Varying(varying) = rate else { return None };
        Some(Forecast { rate: varying.clone(), seed, name: name.into(), origin })
    }

    /// At work.
    pub fn start(&self) -> Foresight {
        let passed = || Passed { course: self.course(), at: self.origin, bits: 0 };
        Foresight { until_now: passed(), until_then: passed() }
    }

    /// What it has been, as time goes by.
    pub fn hindsight(&self) -> Hindsight {
        Hindsight(Passed { course: self.course(), at: self.origin, bits: 0 })
    }

    fn course(&self) -> RateCourse {
        let mut course = self.rate.course(self.seed, &self.name);
        course.origin = self.origin;
        course
    }
}

/// A forecast at work.
#[derive(Debug)]
pub struct Foresight {
    until_now: Passed,
    until_then: Passed,
}

impl Foresight {
    /// The mean rate from `now` until `ahead` later. Neither time may be earlier than in a call before; where it is, that one counts.
    pub fn mean(&mut self, now: Instant, ahead: Duration) -> Rate {
        let ahead = ahead.max(Duration::from_millis(1));
        let bits = self.until_then.by(now + ahead).saturating_sub(self.until_now.by(now));
        let bps = bits / u128::from(ahead.as_nanos());
        Rate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX))
    }
}

/// What a link could carry so far.
#[derive(Debug)]
pub struct Hindsight(Passed);

impl Hindsight {
    /// Bytes that could pass until `until`, which may not be earlier than in a call before; where it is, that one counts.
    pub fn bytes(&mut self, until: Instant) -> u64 {
        u64::try_from(self.0.by(until) / 8_000_000_000).unwrap_or(u64::MAX)
    }
}

/// What passes a link, counted up.
#[derive(Debug)]
struct Passed {
    course: RateCourse,
    at: Instant,
    /// In bits × nanoseconds per second.
    bits: u128,
}

impl Passed {
    fn by(&mut self, until: Instant) -> u128 {
        while self.at < until {
            let (rate, end) = self.course.at(self.at);
            let end = end.min(until);
            self.bits += u128::from(rate.bps()) * u128::from(end.saturating_since(self.at).as_nanos());
            self.at = end;
        }
        self.bits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airtcp_core::ValueType;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn it_tells_the_mean_of_what_comes_and_steps_before_they_do() {
        let rate = LinkRate::read(&"20Mbit, 5Mbit from 1s, 0Mbit from 2s, 8Mbit from 3s".into()).unwrap();
        let origin = Instant::from_nanos(7_000_000_000);
        let mut foresight = Forecast::of(&rate, 1, "links.air.forward", origin).unwrap().start();
        let mut mean = |ms: u64| foresight.mean(origin + MS * ms, MS * 30).bps() / 1000;
        assert_eq!([0, 970, 985, 1000].map(&mut mean), [20_000, 20_000, 12_500, 5000]);
        assert_eq!([1985, 2500, 2985, 3000].map(&mut mean), [2500, 0, 4000, 8000]);
        assert_eq!(mean(9000), 8000);
    }

    #[test]
    fn a_model_is_told_as_the_link_draws_it_and_a_constant_rate_not_at_all() {
        let walk = LinkRate::read(&"{ kind = \"walk\" }".into()).unwrap();
        let mut foresight = Forecast::of(&walk, 5, "links.air.forward", Instant::ZERO).unwrap().start();
        let means = walk.means(5, "links.air.forward", MS * 100, 50).unwrap();
        for (span, mean) in means.iter().enumerate() {
            let told = foresight.mean(Instant::ZERO + MS * 100 * span as u64, MS * 100);
            assert!(told.bps().abs_diff(mean.bps()) <= 10, "{span}: {told} {mean}, of whole bits");
        }
        assert!(Forecast::of(&LinkRate::from(Rate::from_bps(7)), 5, "x", Instant::ZERO).is_none());
    }
}
