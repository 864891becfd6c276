//! Rates of the flows of one run, over the measured time.

use crate::results::statistics::jain;
use crate::scenario::{FlowSpec, ResolvedScenario};
use crate::world::{FlowOutcome, RunOutcome};
use airtcp_core::Duration;

/// Application bits per second of one flow, over the part of the measured time in which it was alive.
pub(crate) fn rate_of(flow: &FlowOutcome) -> f64 {
    match flow.window.as_nanos() {
        // A flow that was over before the measured time began is measured by itself.
        0 => flow.completion.map_or(0.0, |time| flow.total_bytes as f64 * 8e9 / time.as_nanos().max(1) as f64),
        nanos => flow.window_bytes as f64 * 8e9 / nanos as f64,
    }
}

/// Application bits per second of all flows and requests together, over the measured time in which any was alive.
pub(crate) fn goodput(run: &RunOutcome) -> f64 {
    let requests = run.workloads.iter().map(|workload| workload.window_bytes as f64).sum();
    together(run, requests, |_, flow| (flow.window_bytes as f64, rate_of(flow)))
}

/// The same in IP bits.
pub(crate) fn throughput(scenario: &ResolvedScenario, run: &RunOutcome) -> f64 {
    let with_headers = |spec: &FlowSpec, flow: &FlowOutcome| {
        let full = spec.sizes();
        let segment = if flow.segment_bytes == 0 { full.payload } else { flow.segment_bytes };
        f64::from(segment + full.header) / f64::from(segment)
    };
    let of_requests = scenario.workloads.iter().zip(&run.workloads).map(|(spec, workload)| {
        let full = spec.sizes_of_packets();
        workload.window_bytes as f64 * f64::from(full.payload + full.header) / f64::from(full.payload)
    });
    together(run, of_requests.sum(), |index, flow| {
        let factor = with_headers(&scenario.flows[index], flow);
        (flow.window_bytes as f64 * factor, rate_of(flow) * factor)
    })
}

/// Jain's index of the flows' rates, each over its weight. (AST-17)
pub(crate) fn fairness(scenario: &ResolvedScenario, run: &RunOutcome) -> f64 {
    let share = |(spec, flow): (&FlowSpec, &FlowOutcome)| rate_of(flow) / f64::from(spec.weight);
    jain(&scenario.flows.iter().zip(&run.flows).map(share).collect::<Vec<_>>())
}

/// Of bytes and rate of each flow, and bytes of requests: all bytes over the time in which any was alive; where none was, the
/// rates' sum.
fn together(run: &RunOutcome, requests: f64, of: impl Fn(usize, &FlowOutcome) -> (f64, f64)) -> f64 {
    let flows = || run.flows.iter().enumerate().map(|(index, flow)| of(index, flow));
    match alive_nanos(run) {
        0 => flows().map(|(_, rate)| rate).sum(),
        nanos => (flows().map(|(bytes, _)| bytes).sum::<f64>() + requests) * 8e9 / nanos as f64,
    }
}

/// Time in which at least one flow or workload was alive, in ns.
fn alive_nanos(run: &RunOutcome) -> u64 {
    let of_flows = run.flows.iter().map(|flow| (flow.window_start, flow.window));
    let of_workloads = run.workloads.iter().map(|workload| (workload.window_start, workload.window));
    let interval = |(from, length): (Duration, Duration)| (from.as_nanos(), from.as_nanos() + length.as_nanos());
    let mut intervals: Vec<(u64, u64)> = of_flows.chain(of_workloads).map(interval).collect();
    intervals.sort_unstable();
    let (mut alive, mut until) = (0, 0);
    for (from, to) in intervals {
        alive += to.saturating_sub(from.max(until));
        until = until.max(to);
    }
    alive
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::WorkloadOutcome;

    /// Alive from and to, in seconds, and bytes.
    fn run(flows: &[(u64, u64, u64)]) -> RunOutcome {
        let flow = |(from, to, bytes): &(u64, u64, u64)| FlowOutcome {
            window_start: Duration::from_secs(*from),
            window: Duration::from_secs(to - from),
            window_bytes: *bytes,
            ..FlowOutcome::default()
        };
        RunOutcome { flows: flows.iter().map(flow).collect(), ..RunOutcome::default() }
    }

    #[test]
    fn short_flows_beside_a_long_one_count_by_their_bytes() {
        // 10 MB in 10 s, and twice 1 MB within a second of it.
        let rate = goodput(&run(&[(2, 12, 10_000_000), (3, 4, 1_000_000), (8, 9, 1_000_000)]));
        assert!((rate - 9_600_000.0).abs() < 1.0, "{rate}");
    }

    #[test]
    fn answers_count_with_what_flows_carry_over_all_of_the_measured_time() {
        let (window, window_bytes) = (Duration::from_secs(20), 19_000_000);
        let workload = WorkloadOutcome { window, window_bytes, ..WorkloadOutcome::default() };
        let rate = goodput(&RunOutcome { workloads: vec![workload], ..run(&[(2, 4, 1_000_000)]) });
        assert!((rate - 8_000_000.0).abs() < 1.0, "{rate}");
    }

    #[test]
    fn time_in_which_no_flow_was_alive_does_not_count() {
        let rate = goodput(&run(&[(0, 1, 1_000_000), (0, 2, 1_000_000), (5, 6, 1_000_000)]));
        assert!((rate - 8_000_000.0).abs() < 1.0, "{rate}");
    }

    #[test]
    fn flows_that_were_over_before_are_measured_by_themselves() {
        let over =
            FlowOutcome { total_bytes: 1_000_000, completion: Some(Duration::from_secs(2)), ..FlowOutcome::default() };
        let run = RunOutcome { flows: vec![over], ..RunOutcome::default() };
        assert!((goodput(&run) - 4_000_000.0).abs() < 1.0);
    }
}
