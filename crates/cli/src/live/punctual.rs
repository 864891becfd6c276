//! Emulated links that are late are other links than were asked for. They are late where something else has the processor, so
//! such a run is made again, and void if it is late each time.

use airtcp_core::Duration;
use airtcp_experiment::world::EmulatorReport;
use airtcp_experiment::{NotRun, RunOutcome};

/// The latest that packets may leave a link, at the 99th percentile.
const LATEST: Duration = Duration::from_millis(20);
/// Runs tried before one with late links is void.
const RUNS: u32 = 3;

/// What `run` finds on links that are on time, or else the last of [`RUNS`] runs, which is void.
pub(super) fn punctual(mut run: impl FnMut() -> Result<RunOutcome, NotRun>) -> Result<RunOutcome, NotRun> {
    let mut number = 0;
    loop {
        let mut outcome = run()?;
        number += 1;
        let Some(links) = outcome.emulator.as_mut().filter(|links| lateness(links) > LATEST) else {
            return Ok(outcome);
        };
        let late = lateness(links);
        if number == RUNS {
            links.valid = false;
            tracing::warn!("the emulated links were late by {late} (p99) in each of {RUNS} runs: use an idle machine");
            return Ok(outcome);
        }
        tracing::info!("the emulated links were late by {late} (p99); the run is made again");
    }
}

fn lateness(links: &EmulatorReport) -> Duration {
    Duration::from_nanos(links.release_error_p99_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the run that is kept is valid, and how many were made of links late by so many ms one after the other.
    fn made(late: &[u64]) -> (bool, usize) {
        let mut number = 0;
        let outcome = punctual(|| {
            let release_error_p99_ns = late[number] * 1_000_000;
            number += 1;
            let links = EmulatorReport { valid: true, release_error_p99_ns, ..EmulatorReport::default() };
            Ok(RunOutcome { emulator: Some(links), ..RunOutcome::default() })
        });
        (outcome.unwrap().emulator.unwrap().valid, number)
    }

    #[test]
    fn a_run_on_late_links_is_made_again_at_most_twice_and_then_void() {
        assert_eq!(made(&[20]), (true, 1));
        assert_eq!(made(&[21, 3]), (true, 2));
        assert_eq!(made(&[21, 30, 20]), (true, 3));
        assert_eq!(made(&[21, 30, 21]), (false, 3));
    }
}
