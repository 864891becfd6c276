//! What a process has for its sweep, or its shard of one.

use crate::Failure;
use crate::interrupt::Interrupt;
use airtcp_experiment::results::{JournalError, Opening};

pub(super) struct Process<'a> {
    /// How its journal is opened.
    pub(super) opening: Opening<'a>,
    /// Threads of the simulator.
    pub(super) threads: usize,
    pub(super) interrupt: Interrupt,
}

/// Runs of another build are the user's to decide about; a file that cannot be written has failed.
pub(super) fn cannot_begin(error: JournalError) -> Failure {
    match error {
        JournalError::OtherBuild { .. } => Failure::input(error),
        _ => Failure::Failed(error.into()),
    }
}
