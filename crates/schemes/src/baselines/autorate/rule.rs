//! The rate of the shaper: what the main loop of cake-autorate.sh does at each answer.

use super::AutorateSettings;
use airtcp_core::{Duration, Instant, Probability, Rate};

/// See the module.
#[derive(Debug)]
pub(super) struct Rule {
    settings: AutorateSettings,
    /// Bits of a packet as long as the link takes.
    packet_bits: u64,
    rate: u64,
    last_fall: Instant,
    last_decay: Instant,
}

/// What is known when an answer comes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    /// Enough of the last answers were late.
    pub is_bloat: bool,
    /// By how much they were beyond the baseline on average, in ns.
    pub mean: u64,
    /// What the shaper sends, in bits per second.
    pub load: u64,
    /// Nobody has seen this load before.
    pub is_new_load: bool,
}

/// What an answer led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The rate is what it was.
    None,
    /// It fell, as there was bufferbloat.
    Fall,
    /// It rose under high load, which needs a new measurement before it does so again.
    Climb,
    /// It went towards the base rate.
    Decay,
}

impl Rule {
    pub fn new(settings: &AutorateSettings, mtu: u32) -> Rule {
        Rule {
            settings: settings.clone(),
            packet_bits: u64::from(mtu) * 8,
            rate: settings.base_rate.bps(),
            last_fall: Instant::ZERO,
            last_decay: Instant::ZERO,
        }
    }

    /// The rate.
    pub fn rate(&self) -> Rate {
        Rate::from_bps(self.rate)
    }

    /// Time of a full-size packet. All thresholds are higher by so much: a ping may have to wait for it.
    pub fn packet_time(&self) -> Duration {
        let nanos = u128::from(self.packet_bits) * 1_000_000_000 / u128::from(self.rate.max(1));
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Delay above which an answer is late, in ns.
    pub fn late(&self) -> u64 {
        self.threshold(self.settings.late)
    }

    fn threshold(&self, configured: Duration) -> u64 {
        configured.saturating_add(self.packet_time()).as_nanos()
    }

    /// An answer came.
    pub fn on_answer(&mut self, now: Instant, seen: Seen) -> Step {
        let may_move = now > self.last_fall.saturating_add(self.settings.pause_after_fall);
        let is_high = seen.load > part(self.rate, self.settings.high_load);
        let step = if seen.is_bloat {
            if may_move { self.fall(seen.mean) } else { Step::None }
        } else if is_high {
            if may_move && seen.is_new_load { self.climb(seen.mean) } else { Step::None }
        } else if now > self.last_decay.saturating_add(self.settings.pause_after_decay) {
            self.decay()
        } else {
            Step::None
        };
        if step == Step::Fall {
            self.last_fall = now;
        }
        if step != Step::None {
            self.last_decay = now;
        }
        self.rate = self.rate.clamp(self.settings.min_rate.bps(), self.settings.max_rate.bps());
        step
    }

    fn fall(&mut self, mean: u64) -> Step {
        let (late, most) = (self.late(), self.threshold(self.settings.fall_from));
        let share = share(mean.saturating_sub(late), most.saturating_sub(late));
        self.rate -= part(self.rate, between(self.settings.least_fall, self.settings.most_fall, share));
        Step::Fall
    }

    fn climb(&mut self, mean: u64) -> Step {
        let (late, most) = (self.late(), self.threshold(self.settings.climb_up_to));
        let share = share(late.saturating_sub(mean), late.saturating_sub(most));
        let step = part(self.rate, between(self.settings.least_climb, self.settings.most_climb, share));
        self.rate = self.rate.saturating_add(step);
        Step::Climb
    }

    fn decay(&mut self) -> Step {
        let base = self.settings.base_rate.bps();
        let step = part(self.rate, self.settings.decay);
        self.rate =
            if self.rate > base { (self.rate - step).max(base) } else { self.rate.saturating_add(step).min(base) };
        Step::Decay
    }
}

/// `of` the whole.
pub(super) fn part(whole: u64, of: Probability) -> u64 {
    ((u128::from(whole) * u128::from(of.fixed())) >> 64) as u64
}

/// `some` of `all`, everything if that is nothing.
fn share(some: u64, all: u64) -> Probability {
    if all == 0 { Probability::ALWAYS } else { Probability::ratio(some, all) }
}

/// The step between the least and the most.
fn between(least: Probability, most: Probability, share: Probability) -> Probability {
    let more = part(most.fixed().saturating_sub(least.fixed()), share);
    Probability::from_fixed(least.fixed() + more)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::at;

    const MBIT: u64 = 1_000_000;
    const MS: u64 = 1_000_000;

    /// At 20 Mbit/s, where a packet takes 0.6 ms.
    fn rule() -> Rule {
        Rule::new(&AutorateSettings::default(), 1500)
    }

    fn seen(is_bloat: bool, mean_ms: u64, load: u64) -> Seen {
        Seen { is_bloat, mean: mean_ms * MS, load, is_new_load: true }
    }

    fn after(seen: Seen) -> (Step, u64) {
        let mut rule = rule();
        let step = rule.on_answer(at(5000), seen);
        (step, (rule.rate().bps() + 500) / 1000)
    }

    #[test]
    fn bufferbloat_costs_between_one_and_twenty_five_percent_by_how_late_the_answers_are() {
        assert_eq!(after(seen(true, 20, 0)), (Step::Fall, 19_800));
        assert_eq!(after(Seen { mean: 45_600_000, ..seen(true, 0, 0) }), (Step::Fall, 17_400), "13 %: half-way");
        assert_eq!(after(seen(true, 200, 0)), (Step::Fall, 15_000));
    }

    #[test]
    fn high_load_earns_between_nothing_and_four_percent() {
        assert_eq!(after(seen(false, 0, 16 * MBIT)), (Step::Climb, 20_800));
        assert_eq!(after(Seen { mean: 20_600_000, ..seen(false, 0, 16 * MBIT) }), (Step::Climb, 20_400));
        assert_eq!(after(seen(false, 50, 16 * MBIT)), (Step::Climb, 20_000));
    }

    #[test]
    fn high_load_is_more_than_three_quarters_of_the_rate() {
        assert_ne!(after(seen(false, 0, 15 * MBIT)).0, Step::Climb);
        assert_eq!(after(seen(false, 0, 15 * MBIT + 1)).0, Step::Climb);
    }

    #[test]
    fn a_climb_needs_a_new_measurement_of_the_load() {
        let old = Seen { is_new_load: false, ..seen(false, 0, 16 * MBIT) };
        assert_eq!(after(old), (Step::None, 20_000));
    }

    #[test]
    fn nothing_moves_for_300_ms_after_a_fall() {
        let mut rule = rule();
        let fall = seen(true, 200, 16 * MBIT);
        assert_eq!(rule.on_answer(at(5000), fall), Step::Fall);
        assert_eq!(rule.on_answer(at(5300), fall), Step::None);
        assert_eq!(rule.on_answer(at(5300), seen(false, 0, 16 * MBIT)), Step::None);
        assert_eq!(rule.on_answer(at(5301), fall), Step::Fall);
    }

    #[test]
    fn low_load_leads_back_to_the_base_rate_by_one_percent_a_second() {
        let idle = seen(false, 0, 0);
        for (begin, expected) in [(40 * MBIT, 39_600), (10 * MBIT, 10_100), (20_100_000, 20_000), (19_900_000, 20_000)]
        {
            let mut rule = Rule { rate: begin, ..rule() };
            assert_eq!(rule.on_answer(at(5000), idle), Step::Decay);
            assert_eq!((rule.rate().bps() + 500) / 1000, expected, "{begin}");
            assert_eq!(rule.on_answer(at(6000), idle), Step::None);
            assert_eq!(rule.on_answer(at(6001), idle), Step::Decay);
        }
    }

    #[test]
    fn the_rate_stays_between_the_least_and_the_highest() {
        let mut rule = rule();
        for n in 0..100 {
            rule.on_answer(at(5000 + 400 * n), seen(true, 200, 0));
        }
        assert_eq!(rule.rate().bps(), 5 * MBIT);
        for n in 0..200 {
            rule.on_answer(at(50_000 + 400 * n), seen(false, 0, 80 * MBIT));
        }
        assert_eq!(rule.rate().bps(), 80 * MBIT);
    }

    #[test]
    fn thresholds_leave_time_for_a_packet_of_the_shaper() {
        let slow = Rule { rate: MBIT, ..rule() };
        assert_eq!((rule().late(), slow.late()), (30_600_000, 42_000_000));
    }
}
