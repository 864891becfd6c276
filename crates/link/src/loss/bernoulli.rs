//! Independent loss.

use airtcp_core::{Probability, parameters};
use alloc::string::String;

parameters! {
    /// Every packet is lost with the same chance, whatever its length and its neighbours' fate.
    pub struct Bernoulli {
        /// Chance that a packet is lost.
        pub probability: Probability = Probability::NEVER, "ours";
    }
}

impl Bernoulli {
    pub(super) fn check(&self) -> Result<(), String> {
        Ok(())
    }
}
