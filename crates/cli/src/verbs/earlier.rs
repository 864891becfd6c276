//! What becomes of the runs that an interrupted sweep left.

use airtcp_experiment::results::Earlier;
use clap::Args;

/// They are used, if this build made them.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct EarlierArguments {
    /// Use the runs of an interrupted sweep even if another build of airtcp made them
    #[arg(long)]
    resume: bool,
    /// Begin again, even if an interrupted sweep left finished runs
    #[arg(long, conflicts_with = "resume")]
    fresh: bool,
}

impl EarlierArguments {
    pub(super) fn choice(self) -> Earlier {
        match (self.fresh, self.resume) {
            (true, _) => Earlier::Drop,
            (_, true) => Earlier::ResumeAny,
            _ => Earlier::Resume,
        }
    }
}
