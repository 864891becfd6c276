//! Runs a scenario and says whether it kept what is demanded of every run.

use super::{Scenario, bound};
use airtcp_core::{Gauge, Instant};
use airtcp_schemes::MAX_MEMORY;
use airtcp_sim::{FlowOutcome, Outcome};

/// What a good run leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Hash of every packet arrival.
    pub trace_hash: u64,
    /// Events processed.
    pub events: u64,
}

/// Shares of the time allowed that are tried, as divisors: most networks are done long before the bound.
const ATTEMPTS: [u64; 4] = [32, 8, 2, 1];

/// Events that the attempts at a network may take together: a minute of a core. A network that takes more never rests, or
/// is drawn too large for a swarm of so many.
pub(crate) const MOST_EVENTS: u64 = 60_000_000;

/// Runs the scenario and judges it.
///
/// A run that ends early and is not done is no failure: the same run is done again for longer, up to the bound.
///
/// # Errors
/// A sentence: what broke first.
pub fn run(scenario: &Scenario) -> Result<Run, String> {
    run_within(scenario, MOST_EVENTS)
}

fn run_within(scenario: &Scenario, most: u64) -> Result<Run, String> {
    let mut events = 0;
    let mut verdict = Ok(());
    for divisor in ATTEMPTS {
        let outcome = scenario.topology().run(&scenario.run_settings(divisor)).map_err(|error| error.to_string())?;
        events += outcome.events;
        check(&outcome)?;
        verdict = judge_progress(scenario, &outcome);
        if events > most {
            let progress = verdict.err().unwrap_or_else(|| "what was demanded was met".into());
            return Err(format!("{events} events in runs for up to 1/{divisor} of the time, not {most}; {progress}"));
        }
        if verdict.is_ok() {
            return Ok(Run { trace_hash: outcome.trace_hash, events });
        }
    }
    verdict.map(|()| Run { trace_hash: 0, events })
}

/// Runs the scenario twice and judges it.
///
/// # Errors
/// What broke first, or that the two runs differ.
pub fn run_twice(scenario: &Scenario) -> Result<Run, String> {
    let (first, second) = (run(scenario)?, run(scenario)?);
    if first != second {
        return Err(format!("two runs of the same seed differ: {first:x?} and {second:x?}"));
    }
    Ok(first)
}

/// What must hold whenever a run ends.
pub(crate) fn check(outcome: &Outcome) -> Result<(), String> {
    if let Some(failure) = outcome.checks.failure() {
        return Err(failure.to_owned());
    }
    for element in outcome.schemes.iter().flat_map(|scheme| &scheme.elements) {
        let memory = element.gauges.iter().find(|(gauge, _)| *gauge == Gauge::MEMORY_BYTES);
        if let Some((_, bytes)) = memory.filter(|(_, bytes)| *bytes > MAX_MEMORY.0) {
            return Err(format!("the element on {} takes {bytes} bytes, more than its bound", element.node));
        }
    }
    Ok(())
}

fn judge_progress(scenario: &Scenario, outcome: &Outcome) -> Result<(), String> {
    for (plan, flow) in scenario.flows.iter().zip(&outcome.flows) {
        let deadline = Instant::ZERO + bound::deadline(scenario, plan);
        match plan.size {
            Some(size) => judge_file(size, deadline, flow)?,
            None if flow.measured_bytes == 0 => {
                return Err(format!("flow {}: nothing was delivered in the last part of the run", flow.name));
            }
            None => {}
        }
    }
    Ok(())
}

pub(crate) fn judge_file(size: u64, deadline: Instant, flow: &FlowOutcome) -> Result<(), String> {
    let name = &flow.name;
    let Some(at) = flow.completed_at else {
        return Err(format!("flow {name}: {} of {size} bytes arrived, and no more by {deadline}", flow.total_bytes));
    };
    if at > deadline {
        return Err(format!("flow {name}: complete at {at}, later than {deadline}"));
    }
    if flow.received_sha256.is_none() || flow.received_sha256 != flow.sent_sha256 {
        return Err(format!("flow {name}: what arrived is not what was sent"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tables;
    use crate::scenario::scenario;

    #[test]
    fn a_network_that_takes_too_many_events_fails_though_it_makes_progress() {
        let scenario = scenario(2, &Tables::built_in());
        let events = run(&scenario).unwrap().events;
        assert_eq!(run_within(&scenario, events).unwrap().events, events);
        let sentence = run_within(&scenario, events - 1).unwrap_err();
        assert!(sentence.contains("events") && sentence.contains(&events.to_string()), "{sentence}");
    }
}
