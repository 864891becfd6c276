//! Runs a cell and says whether it kept what is demanded of every run.

use super::Cell;
use crate::scenario::judge::{MOST_EVENTS, Run, check, judge_file};
use airtcp_core::{Duration, Instant};
use airtcp_sim::Outcome;

/// Bytes on the air for one of a file, all that repeats them included, where stations share it unevenly.
const OVERHEAD: u64 = 40;
/// What a packet takes besides its bytes: contention, and collisions of others.
const PER_PACKET: Duration = Duration::from_millis(20);
/// Timeouts, and beacons that a sleeping station waits for.
const WAITS: Duration = Duration::from_secs(60);
/// Shares of the time allowed that are tried.
const ATTEMPTS: [u64; 3] = [32, 4, 1];
/// How long a wild cell runs.
const WILD: Duration = Duration::from_secs(5);

/// When everything must have arrived.
pub fn bound(cell: &Cell) -> Duration {
    let bytes: u64 = cell.flows.iter().map(|flow| flow.size + 10_000).sum();
    let slowest = cell.settings().data_rate().min(cell.wire.rate.constant().unwrap_or(cell.settings().data_rate()));
    let sending =
        Duration::from_nanos((u128::from(bytes * 8 * OVERHEAD) * 1_000_000_000 / u128::from(slowest.bps())) as u64);
    WAITS + sending + PER_PACKET.saturating_mul(2 * bytes / 500)
}

/// Runs the cell and judges it.
///
/// # Errors
/// A sentence: what broke first.
pub fn run(cell: &Cell) -> Result<Run, String> {
    let spans = match cell.is_calm {
        true => ATTEMPTS.map(|divisor| Duration::from_nanos(bound(cell).as_nanos() / divisor)).to_vec(),
        false => vec![WILD],
    };
    let mut verdict = Ok(Run { trace_hash: 0, events: 0 });
    let mut events = 0;
    for span in spans {
        let outcome = cell.topology().run(&cell.run_settings(span)).map_err(|error| error.to_string())?;
        events += outcome.events;
        check(&outcome)?;
        check_medium(&outcome, span)?;
        if events > MOST_EVENTS {
            return Err(format!("{events} events in runs for up to {span}, not {MOST_EVENTS}"));
        }
        verdict = judge_progress(cell, &outcome).map(|()| Run { trace_hash: outcome.trace_hash, events });
        if verdict.is_ok() {
            break;
        }
    }
    verdict
}

/// Runs the cell twice and judges it.
///
/// # Errors
/// What broke first, or that the two runs differ.
pub fn run_twice(cell: &Cell) -> Result<Run, String> {
    let (first, second) = (run(cell)?, run(cell)?);
    if first != second {
        return Err(format!("two runs of the same seed differ: {first:x?} and {second:x?}"));
    }
    Ok(first)
}

/// What the counts of a medium say of each other.
fn check_medium(outcome: &Outcome, span: Duration) -> Result<(), String> {
    for wlan in &outcome.wlans {
        let medium = wlan.medium;
        let is_possible = medium.collisions <= medium.exchanges
            && medium.aggregates <= medium.aggregated_frames
            // The last exchange may end after the run.
            && medium.busy <= span;
        if !is_possible {
            return Err(format!("the medium of {} cannot have been used like this: {medium:?}", wlan.name));
        }
    }
    Ok(())
}

fn judge_progress(cell: &Cell, outcome: &Outcome) -> Result<(), String> {
    let deadline = Instant::ZERO + bound(cell);
    for (plan, flow) in cell.flows.iter().zip(&outcome.flows) {
        // In a wild cell a file need not arrive; if it did, it is whole.
        if cell.is_calm || flow.completed_at.is_some() {
            judge_file(plan.size, deadline, flow)?;
        }
    }
    Ok(())
}
