//! A quantity that is drawn anew each time the link changes its other end: a satellite, a base station.
//!
//! Starlink plans anew each 15 seconds, for all dishes at the same moments (Mohan et al., WWW 2024): rate and delay jump then.

use super::course::{Piece, Pieces};
use super::power::{exponent_between, times_power};
use airtcp_core::{Duration, Rate, Rng, parameters};
use alloc::string::String;

parameters! {
    /// A rate that is drawn anew at each handover, evenly in its logarithm.
    pub struct RateHandover {
        /// The least rate.
        pub low: Rate = Rate::from_bps(50_000_000), "ours: a Starlink dish's downlink";
        /// The highest rate.
        pub high: Rate = Rate::from_bps(250_000_000), "ours: a Starlink dish's downlink";
        /// Time between handovers.
        pub every: Duration = Duration::from_secs(15), "Starlink, Mohan et al., WWW 2024";
        /// How long nothing is sent at a handover; packets wait.
        pub gap: Duration = Duration::ZERO, "ours";
    }
}

parameters! {
    /// A delay that is drawn anew at each handover, evenly.
    pub struct DelayHandover {
        /// The least delay.
        pub low: Duration = Duration::from_millis(15), "ours: a Starlink dish, one way";
        /// The longest delay.
        pub high: Duration = Duration::from_millis(35), "ours: a Starlink dish, one way";
        /// Time between handovers.
        pub every: Duration = Duration::from_secs(15), "Starlink, Mohan et al., WWW 2024";
    }
}

impl RateHandover {
    pub(super) fn check(&self) -> Result<(), String> {
        if self.low.bps() == 0 {
            return Err("a rate of zero lets nothing pass; for a pause at each handover set 'gap'".into());
        }
        if self.gap >= self.every {
            return Err("a gap that lasts until the next handover never ends; make 'every' longer than 'gap'".into());
        }
        ordered(self.low <= self.high, self.every)
    }

    /// The middle of the draws.
    pub(super) fn middle(&self) -> Rate {
        let half = exponent_between(self.low.bps(), self.high.bps()) / 2;
        Rate::from_bps(times_power(self.low.bps(), half))
    }

    pub(super) fn start(&self, rng: Rng) -> RateHandovers {
        RateHandovers { model: self.clone(), rng, begun: 0, is_open: false }
    }
}

impl DelayHandover {
    pub(super) fn check(&self) -> Result<(), String> {
        ordered(self.low <= self.high, self.every)
    }

    pub(super) fn start(&self, rng: Rng) -> DelayHandovers {
        DelayHandovers { model: self.clone(), rng, begun: 0 }
    }
}

fn ordered(is_ordered: bool, every: Duration) -> Result<(), String> {
    match (is_ordered, every.is_zero()) {
        (_, true) => Err("handovers need a time between them; set 'every'".into()),
        (false, _) => Err("'low' is above 'high'; exchange them".into()),
        _ => Ok(()),
    }
}

#[derive(Debug)]
pub(super) struct RateHandovers {
    model: RateHandover,
    rng: Rng,
    /// Handovers so far, and whether the gap of the last one is over.
    begun: u64,
    is_open: bool,
}

impl Pieces<Rate> for RateHandovers {
    fn next(&mut self) -> Piece<Rate> {
        // The run begins between two handovers, without a gap.
        if self.begun > 0 && !self.is_open && !self.model.gap.is_zero() {
            self.is_open = true;
            let until = self.model.every.saturating_mul(self.begun).saturating_add(self.model.gap);
            return Piece { value: Rate::from_bps(0), until };
        }
        let span = exponent_between(self.model.low.bps(), self.model.high.bps());
        let value = times_power(self.model.low.bps(), self.rng.below(u64::from(span) + 1) as u32);
        self.begun += 1;
        self.is_open = false;
        Piece { value: Rate::from_bps(value), until: self.model.every.saturating_mul(self.begun) }
    }
}

#[derive(Debug)]
pub(super) struct DelayHandovers {
    model: DelayHandover,
    rng: Rng,
    begun: u64,
}

impl Pieces<Duration> for DelayHandovers {
    fn next(&mut self) -> Piece<Duration> {
        let span = self.model.high.saturating_sub(self.model.low).as_nanos();
        let value = self.model.low.saturating_add(Duration::from_nanos(self.rng.below(span.saturating_add(1))));
        self.begun += 1;
        Piece { value, until: self.model.every.saturating_mul(self.begun) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn each_handover_draws_a_rate_after_its_gap() {
        let model = RateHandover { gap: Duration::from_millis(80), ..RateHandover::default() };
        let mut handovers = model.start(Rng::derive(1, "handover"));
        let pieces: Vec<Piece<Rate>> = (0..2001).map(|_| handovers.next()).collect();
        let seconds = Duration::from_secs;
        assert_eq!(pieces[0].until, seconds(15));
        assert_eq!((pieces[1].value.bps(), pieces[1].until), (0, seconds(15) + model.gap));
        assert_eq!(pieces[2].until, seconds(30));
        let drawn: Vec<Rate> = pieces.iter().step_by(2).map(|piece| piece.value).collect();
        assert!(drawn.iter().all(|rate| (model.low..=model.high).contains(rate)));
        let below = drawn.iter().filter(|rate| **rate < model.middle()).count();
        assert!((400..600).contains(&below), "{below} of 1001");
    }

    #[test]
    fn each_handover_draws_a_delay() {
        let model = DelayHandover::default();
        let mut handovers = model.start(Rng::derive(1, "handover"));
        let pieces: Vec<Piece<Duration>> = (0..1000).map(|_| handovers.next()).collect();
        assert!(pieces.iter().all(|piece| (model.low..=model.high).contains(&piece.value)));
        assert_eq!(pieces[9].until, Duration::from_secs(150));
        let below = pieces.iter().filter(|piece| piece.value < Duration::from_millis(25)).count();
        assert!((400..600).contains(&below), "{below} of 1000");
    }

    #[test]
    fn handovers_that_never_end_are_refused() {
        let default = RateHandover::default;
        assert!(RateHandover { gap: Duration::from_secs(15), ..default() }.check().is_err());
        assert!(RateHandover { every: Duration::ZERO, gap: Duration::ZERO, ..default() }.check().is_err());
        assert!(RateHandover { low: Rate::from_bps(0), ..default() }.check().is_err());
        assert!(DelayHandover { low: Duration::from_secs(1), ..DelayHandover::default() }.check().is_err());
        assert_eq!((default().check(), DelayHandover::default().check()), (Ok(()), Ok(())));
    }
}
