//! Bursty loss: E. N. Gilbert, "Capacity of a burst-noise channel" (1960), E. O. Elliott, "Estimates of error rates
//! for codes on burst-noise channels" (1963).
//!
//! A chain of two states, good and bad, each with its own loss, takes one step per packet transmitted. Spells in the
//! bad state have a geometric length with mean 1 / `bad_to_good` packets. The chain starts in its stationary
//! distribution, so the mean holds from the first packet on. It does not advance while the link is idle.

use airtcp_core::{Probability, Rng, parameters};
use alloc::format;
use alloc::string::String;

parameters! {
    /// Bursty loss by what one sees of it.
    pub struct GilbertElliott {
        /// Long-run share of packets lost.
        pub mean: Probability = Probability::from_fixed(368_934_881_474_191_032), "ours";
        /// Mean length of a bad spell, in packets; with the other defaults, of a run of lost packets.
        pub burst: u32 = 5, "ours: a fade of 6 ms at 10 Mbit/s, 1500-byte packets";
        /// Chance of loss in the good state.
        pub loss_good: Probability = Probability::NEVER, "Gilbert 1960";
        /// Chance of loss in the bad state.
        pub loss_bad: Probability = Probability::ALWAYS, "simple Gilbert model";
    }
}

impl GilbertElliott {
    pub(super) fn check(&self) -> Result<(), String> {
        let GilbertElliott { mean, burst, loss_good, loss_bad } = self;
        if *burst == 0 {
            return Err("bursts of 0 packets lose nothing; make 'burst' 1 or more".into());
        }
        if loss_good >= loss_bad || mean < loss_good || mean > loss_bad {
            return Err(format!(
                "a mean loss of {mean} cannot come from {loss_good} in the good and {loss_bad} in the bad state; \
                 'mean' lies between 'loss_good' and 'loss_bad'"
            ));
        }
        // Good spells have a mean length of at least one packet.
        let (bad, good) = self.share_of_states();
        if good * u128::from(*burst) < bad {
            let least = bad.div_ceil(good.max(1));
            return Err(format!("a mean loss of {mean} needs longer bursts; make 'burst' at least {least}"));
        }
        Ok(())
    }

    /// Time in the bad and in the good state, as a ratio.
    fn share_of_states(&self) -> (u128, u128) {
        let fixed = |p: Probability| u128::from(p.fixed()) + u128::from(p == Probability::ALWAYS);
        let (mean, good, bad) = (fixed(self.mean), fixed(self.loss_good), fixed(self.loss_bad));
        (mean.saturating_sub(good), bad.saturating_sub(mean))
    }

    /// The same chain by its transitions: the bad state is left with 1 / burst, and entered so that the mean holds.
    pub fn transitions(&self) -> GilbertElliottTransitions {
        let (bad, good) = self.share_of_states();
        // good × burst takes up to 97 bits; a ratio keeps 64 of them.
        let entered = good * u128::from(self.burst);
        let excess = 64u32.saturating_sub(entered.leading_zeros());
        GilbertElliottTransitions {
            good_to_bad: Probability::ratio((bad >> excess) as u64, (entered >> excess) as u64),
            bad_to_good: Probability::ratio(1, u64::from(self.burst)),
            loss_good: self.loss_good,
            loss_bad: self.loss_bad,
        }
    }
}

parameters! {
    /// Bursty loss by the chain's own four parameters.
    pub struct GilbertElliottTransitions {
        /// Chance to turn bad after a packet.
        pub good_to_bad: Probability = Probability::from_fixed(75_292_832_953_916_537), "2% mean loss in bursts of 5";
        /// Chance to turn good after a packet.
        pub bad_to_good: Probability = Probability::from_fixed(3_689_348_814_741_910_323), "2% mean loss in bursts of 5";
        /// Chance of loss in the good state.
        pub loss_good: Probability = Probability::NEVER, "Gilbert 1960";
        /// Chance of loss in the bad state.
        pub loss_bad: Probability = Probability::ALWAYS, "simple Gilbert model";
    }
}

impl GilbertElliottTransitions {
    pub(super) fn check(&self) -> Result<(), String> {
        if self.good_to_bad.is_never() && self.bad_to_good.is_never() {
            return Err("a chain that never changes its state has no mean; use independent loss instead".into());
        }
        Ok(())
    }

    /// Share of packets that find the bad state.
    fn share_bad(&self) -> Probability {
        let (enter, leave) = (self.good_to_bad.fixed() / 2, self.bad_to_good.fixed() / 2);
        Probability::ratio(enter, (enter + leave).max(1))
    }

    /// Long-run share of packets lost.
    pub fn mean(&self) -> Probability {
        let bad = self.share_bad();
        let (in_bad, in_good) = (bad.and(self.loss_bad), bad.complement().and(self.loss_good));
        Probability::from_fixed(in_bad.fixed().saturating_add(in_good.fixed()))
    }

    pub(super) fn start(&self, rng: &mut Rng) -> Chain {
        Chain { is_bad: rng.chance(self.share_bad()), model: self.clone() }
    }
}

/// The chain at work.
#[derive(Clone, Debug)]
pub(super) struct Chain {
    model: GilbertElliottTransitions,
    is_bad: bool,
}

impl Chain {
    pub(super) fn loses(&mut self, rng: &mut Rng) -> bool {
        let (loss, change) = match self.is_bad {
            true => (self.model.loss_bad, self.model.bad_to_good),
            false => (self.model.loss_good, self.model.good_to_bad),
        };
        // Both are drawn for every packet, so that the stream stays in step.
        let (lost, changes) = (rng.chance(loss), rng.chance(change));
        self.is_bad ^= changes;
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airtcp_core::ValueType;
    use std::string::ToString;

    fn model(text: &str) -> Result<super::super::Loss, String> {
        super::super::Loss::read(&format!("{{ kind = \"gilbert-elliott\", {text} }}").into())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn the_defaults_of_both_forms_are_the_same_chain() {
        assert_eq!(GilbertElliott::default().mean, "2%".parse().unwrap());
        assert_eq!(GilbertElliott::default().transitions().to_text(), GilbertElliottTransitions::default().to_text());
    }

    impl GilbertElliottTransitions {
        fn to_text(&self) -> [String; 4] {
            [self.good_to_bad, self.bad_to_good, self.loss_good, self.loss_bad].map(|p| p.to_string())
        }
    }

    #[test]
    fn transitions_have_the_mean_they_were_made_for() {
        for (mean, burst) in [("2%", 5), ("0.01%", 1000), ("50%", 1), ("90%", 10), ("0%", 3)] {
            let mean: Probability = mean.parse().unwrap();
            let chain = GilbertElliott { mean, burst, ..Default::default() }.transitions();
            assert!(chain.mean().fixed().abs_diff(mean.fixed()) < 1 << 24, "{mean} in {burst}: {}", chain.mean());
        }
        let mixed =
            GilbertElliott { loss_good: "1%".parse().unwrap(), loss_bad: "60%".parse().unwrap(), ..Default::default() };
        assert_eq!(mixed.transitions().mean().to_string(), "2%");
    }

    #[test]
    fn an_impossible_mean_is_refused_with_what_to_change() {
        assert!(model("mean = \"50%\", burst = 1").is_ok());
        assert!(model("mean = \"51%\", burst = 1").unwrap_err().to_string().contains("'burst' at least 2"));
        assert!(model("mean = \"2%\", burst = 0").is_err());
        assert!(model("mean = \"2%\", loss_bad = \"1%\"").unwrap_err().to_string().contains("between"));
        assert!(model("mean = \"2%\", loss_good = \"3%\"").is_err());
    }
}
