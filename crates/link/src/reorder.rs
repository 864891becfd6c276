//! Reordering: now and then a packet takes longer, and later ones overtake it (as netem's `gap`-less reorder does,
//! seen from the other side: here the exception is late, so the delay of the others stays what was asked for).

use crate::table::single_kind;
use airtcp_core::{Duration, Probability, parameters};
use alloc::string::String;

parameters! {
    /// Packets that are overtaken.
    pub struct Reordering {
        /// Chance that a packet is held back.
        pub probability: Probability = Probability::NEVER, "ours";
        /// How much longer than the link's delay it then takes.
        pub delay: Duration = Duration::from_millis(5), "ours: a few packets at 10 Mbit/s";
    }
}

impl Reordering {
    fn check(&self) -> Result<(), String> {
        if !self.probability.is_never() && self.delay.is_zero() {
            return Err("a reordering delay of zero reorders nothing; give it a delay such as \"5ms\"".into());
        }
        Ok(())
    }
}

single_kind!(Reordering, "{ probability = \"1%\", delay = \"5ms\" }");
