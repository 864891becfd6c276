//! Loss that changes from one time to the next.

use crate::varying::steps::Steps;
use airtcp_core::{Duration, Probability, parameters};
use alloc::string::String;

parameters! {
    /// Independent loss whose chance is another one from a time on.
    pub struct LossSteps {
        /// The chances, each from a time on.
        pub steps: Steps<Probability> = Steps::constant(Probability::NEVER), "ours";
        /// After which they begin again; the last one stays if auto.
        pub every: Option<Duration> = None, "ours";
    }
}

impl LossSteps {
    pub(super) fn check(&self) -> Result<(), String> {
        self.steps.check(self.every)
    }

    pub(super) fn mean(&self) -> Probability {
        Probability::ratio(self.steps.mean(self.every, |loss| loss.parts_per_billion()), 1_000_000_000)
    }
}
