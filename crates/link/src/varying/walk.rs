//! A rate that wanders as a cellular one does: a random walk of its logarithm between two bounds, now and then in a fade.
//!
//! Each `step` the rate is multiplied or divided by a factor of up to 1 + `spread`, evenly drawn in its logarithm; at
//! a bound the walk turns back. In each period of `fade_every` there is one fade, at a time evenly drawn, in which the rate
//! is `depth` of what it would be.

use super::course::{Piece, Pieces};
use super::power::{exponent_between, times_power};
use airtcp_core::{Duration, Probability, Rate, Rng, parameters};
use alloc::string::String;

parameters! {
    /// A random walk of the logarithm of the rate, with fades.
    pub struct Walk {
        /// The rate is never below, but in a fade.
        pub low: Rate = Rate::from_bps(2_000_000), "ours: a cellular link of a moving user";
        /// The rate is never above.
        pub high: Rate = Rate::from_bps(20_000_000), "ours: a cellular link of a moving user";
        /// Time between two changes.
        pub step: Duration = Duration::from_millis(100), "ours";
        /// How much a change multiplies or divides the rate by at most, less one.
        pub spread: Probability = Probability::from_fixed(u64::MAX / 5), "ours";
        /// In each such time there is one fade; none if auto.
        pub fade_every: Option<Duration> = Some(Duration::from_secs(15)), "ours";
        /// How long a fade lasts.
        pub fade: Duration = Duration::from_millis(400), "ours";
        /// What is left of the rate in a fade; 0% for an outage in which packets wait.
        pub depth: Probability = Probability::from_fixed(u64::MAX / 10), "ours";
    }
}

impl Walk {
    pub(super) fn check(&self) -> Result<(), String> {
        let zero = self.low.bps() == 0 || self.step.is_zero();
        let fits = self.fade_every.is_none_or(|every| self.fade < every);
        match (zero, self.low <= self.high, fits) {
            (true, _, _) => Err("a walk needs a 'low' and a 'step' above zero".into()),
            (_, false, _) => Err("'low' is above 'high'; exchange them".into()),
            (_, _, false) => Err("a fade lasts less than 'fade_every', or the link never recovers".into()),
            _ => Ok(()),
        }
    }

    /// The middle of the walk, in which it is as long above as below.
    pub(super) fn middle(&self) -> Rate {
        let half = exponent_between(self.low.bps(), self.high.bps()) / 2;
        Rate::from_bps(times_power(self.low.bps(), half))
    }

    pub(super) fn start(&self, rng: Rng) -> Walking {
        let span = exponent_between(self.low.bps(), self.high.bps());
        let one = 1u64 << 32;
        let widest = one + (self.spread.fixed() >> 32);
        let mut walking = Walking {
            model: self.clone(),
            rng,
            span,
            reach: exponent_between(one, widest),
            place: 0,
            step_end: Duration::ZERO,
            fade: None,
            fade_lap: 0,
            now: Duration::ZERO,
        };
        walking.place = walking.rng.below(u64::from(span) + 1) as u32;
        walking.fade = walking.draw_fade();
        walking.step_end = self.step;
        walking
    }
}

/// A walk at work.
#[derive(Debug)]
pub(super) struct Walking {
    model: Walk,
    rng: Rng,
    /// From `low` to `high`, as exponents of two; where the walk is; how far it goes at once.
    span: u32,
    place: u32,
    reach: u32,
    /// When the next change comes.
    step_end: Duration,
    /// The fade that is or comes next, and its number.
    fade: Option<[Duration; 2]>,
    fade_lap: u64,
    now: Duration,
}

impl Walking {
    fn draw_fade(&mut self) -> Option<[Duration; 2]> {
        let every = self.model.fade_every.filter(|_| !self.model.fade.is_zero())?;
        let within = every.saturating_sub(self.model.fade);
        let lap = every.saturating_mul(self.fade_lap);
        let begin = lap.saturating_add(Duration::from_nanos(self.rng.below(within.as_nanos())));
        self.fade_lap += 1;
        Some([begin, begin.saturating_add(self.model.fade)])
    }

    fn wander(&mut self) {
        let by = self.rng.below(2 * u64::from(self.reach) + 1) as i64 - i64::from(self.reach);
        let mut place = i64::from(self.place) + by;
        let span = i64::from(self.span);
        if place < 0 {
            place = -place;
        }
        if place > span {
            place = 2 * span - place;
        }
        // Where a change goes beyond both bounds there is nothing to turn back from.
        self.place = place.clamp(0, span) as u32;
    }
}

impl Pieces<Rate> for Walking {
    fn next(&mut self) -> Piece<Rate> {
        if self.now >= self.step_end {
            self.step_end = self.step_end.saturating_add(self.model.step);
            self.wander();
        }
        if self.fade.is_some_and(|[_, end]| end <= self.now) {
            self.fade = self.draw_fade();
        }
        let mut bps = times_power(self.model.low.bps(), self.place);
        let mut until = self.step_end;
        if let Some([begin, end]) = self.fade {
            let is_in = begin <= self.now;
            until = until.min(if is_in { end } else { begin });
            if is_in {
                bps = ((u128::from(bps) * u128::from(self.model.depth.fixed())) >> 64) as u64;
            }
        }
        self.now = until;
        Piece { value: Rate::from_bps(bps), until }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn pieces(model: &Walk, seed: u64, count: usize) -> Vec<Piece<Rate>> {
        let mut walking = model.start(Rng::derive(seed, "walk"));
        (0..count).map(|_| walking.next()).collect()
    }

    #[test]
    fn a_walk_stays_between_its_bounds_and_goes_everywhere() {
        let model = Walk { fade_every: None, ..Walk::default() };
        let pieces = pieces(&model, 1, 20_000);
        assert!(pieces.iter().all(|piece| (model.low..=model.high).contains(&piece.value)));
        let share_below = |rate| pieces.iter().filter(|piece| piece.value < rate).count() as f64 / 20_000.0;
        let middle = share_below(model.middle());
        assert!((0.4..0.6).contains(&middle), "as long below the middle as above: {middle}");
        assert!(share_below(Rate::from_bps(2_500_000)) > 0.03 && share_below(Rate::from_bps(16_000_000)) < 0.97);
        let ratio = |pair: &[Piece<Rate>]| pair[1].value.bps() as f64 / pair[0].value.bps() as f64;
        assert!(pieces.windows(2).all(|pair| (1.0 / 1.2001..1.2001).contains(&ratio(pair))));
        assert!(pieces.iter().zip(1..).all(|(piece, n)| piece.until == model.step * n));
    }

    #[test]
    fn a_fade_comes_once_in_each_period() {
        let model = Walk { depth: Probability::NEVER, ..Walk::default() };
        let (mut faded, mut last) = (Duration::ZERO, Duration::ZERO);
        for piece in pieces(&model, 2, 40_000) {
            assert!(piece.until > last, "time goes on");
            if piece.value.bps() == 0 {
                faded += piece.until.saturating_sub(last);
            }
            last = piece.until;
        }
        let periods = last.as_nanos() / Duration::from_secs(15).as_nanos();
        assert!(faded.as_nanos().abs_diff(periods * model.fade.as_nanos()) <= model.fade.as_nanos());
    }

    #[test]
    fn another_seed_has_another_course_and_the_same_seed_the_same() {
        let model = Walk::default();
        assert_eq!(pieces(&model, 3, 100), pieces(&model, 3, 100));
        assert_ne!(pieces(&model, 3, 100), pieces(&model, 4, 100));
    }

    #[test]
    fn what_cannot_be_walked_is_refused() {
        let default = Walk::default;
        assert!(Walk { low: Rate::from_bps(0), ..default() }.check().is_err());
        assert!(Walk { low: Rate::from_bps(30_000_000), ..default() }.check().is_err());
        assert!(Walk { fade: Duration::from_secs(15), ..default() }.check().is_err());
        assert!(default().check().is_ok());
        let narrow = Walk { low: default().high, ..default() };
        assert!(pieces(&narrow, 1, 50).iter().all(|piece| piece.value <= narrow.high));
    }
}
