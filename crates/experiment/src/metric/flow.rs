//! What flows achieve: rates, fairness, times.

use super::members::group_of;
use super::rates::{fairness, goodput, rate_of, throughput};
use super::table::metrics;
use super::{Combine, Members, Run, Unit};
use crate::results::statistics::quotient;
use crate::world::{FlowOutcome, RunOutcome};
use airtcp_core::Duration;

// Of all flows together.
metrics! { METRICS: Combine::Whole, Members::None;
    /// application bits per second, all flows together
    "goodput_bps", "goodput", Unit::Rate, Combine::WholeWithRuns => |run, _| Some(goodput(run.outcome));
    /// the same in IP bits, with headers
    "throughput_bps", "throughput", Unit::Rate => |run, _| Some(throughput(run.scenario, run.outcome));
    /// goodput over the goodput that no repair can exceed
    "of_ceiling", "of ceiling", Unit::Share, Combine::Ratio(4) => |run, _| Some(goodput(run.outcome) / run.ceiling_bps?);
    /// goodput over that of the cell without a scheme, run by run
    "times_baseline", "× plain", Unit::Times, Combine::OverBaseline =>
        |run, _| Some(quotient(goodput(run.outcome), goodput(run.baseline?)));
    /// Jain's index of the flows' rates, each over its weight
    "jain", "Jain", Unit::Index, Combine::Decimals(4) => |run, _| Some(fairness(run.scenario, run.outcome));
    /// median of the sender's round-trip times; of several flows the highest
    "rtt_ns.p50", "RTT p50", Unit::Millis, Combine::Count => |run, _| highest(run.outcome, |flow| flow.rtt.p50);
    /// 95th percentile of the same
    "rtt_ns.p95", "RTT p95", Unit::Millis, Combine::Count => |run, _| highest(run.outcome, |flow| flow.rtt.p95);
    /// 99th percentile of the same
    "rtt_ns.p99", "RTT p99", Unit::Millis, Combine::Count => |run, _| highest(run.outcome, |flow| flow.rtt.p99);
    /// time until the last flow of fixed size is complete, with its handshake
    "completion_ns", "complete", Unit::Seconds => |run, _| latest(run.outcome, |flow| flow.completion);
    /// median of the times until each flow of fixed size is complete
    "completions_ns.p50", "complete p50", Unit::Millis => |run, _| completions(run, 50);
    /// 95th percentile of the same
    "completions_ns.p95", "complete p95", Unit::Millis => |run, _| completions(run, 95);
    /// mean of the same
    "completions_ns.mean", "complete mean", Unit::Millis => |run, _| mean(run, |flow| flow.completion);
    /// mean of the same without the handshake
    "transfers_ns.mean", "transfer mean", Unit::Millis => |run, _| mean(run, |flow| flow.transfer);
    /// time until the last flow of fixed size is complete, without its handshake
    "transfer_ns", "transfer", Unit::Seconds => |run, _| latest(run.outcome, |flow| flow.transfer);
}

metrics! { STALLS: Combine::Count, Members::None;
    /// longest time in which a flow delivered nothing
    "longest_stall_ns", "longest stall", Unit::Seconds =>
        |run, _| highest(run.outcome, |flow| flow.longest_stall.as_nanos());
}

// Of each flow of several by itself.
metrics! { BY_ITSELF: Combine::WholeWithRuns, Members::Flows;
    /// goodput of one flow
    "flows.<name>.goodput_bps", "flows.*.goodput", Unit::Rate => |run, name| flow(run.outcome, name).map(rate_of);
    /// data segments that the flow's sender sent again
    "flows.<name>.retransmitted_segments", "flows.* resent", Unit::Count("segments") =>
        |run, name| flow(run.outcome, name).map(|flow| flow.retransmitted_segments as f64);
    /// retransmission timeouts of the flow's sender
    "flows.<name>.rtos", "flows.* RTOs", Unit::Count("") =>
        |run, name| flow(run.outcome, name).map(|flow| flow.rtos as f64);
    /// time until the flow is complete
    "flows.<name>.completion_ns", "flows.* complete", Unit::Seconds =>
        |run, name| flow(run.outcome, name)?.completion.map(nanos);
    /// the same without the handshake
    "flows.<name>.transfer_ns", "flows.* transfer", Unit::Seconds =>
        |run, name| flow(run.outcome, name)?.transfer.map(nanos);
}

// Of the flows NAME1, NAME2, … that a group is written out as, together.
metrics! { OF_GROUPS: Combine::WholeWithRuns, Members::Groups;
    /// goodput of the flows of a group together
    "groups.<name>.goodput_bps", "groups.*.goodput", Unit::Rate => |run, name| sum(run.outcome, name, rate_of);
    /// data segments that their senders sent again
    "groups.<name>.retransmitted_segments", "groups.* resent", Unit::Count("segments") =>
        |run, name| sum(run.outcome, name, |flow| flow.retransmitted_segments as f64);
    /// retransmission timeouts of their senders
    "groups.<name>.rtos", "groups.* RTOs", Unit::Count("") => |run, name| sum(run.outcome, name, |flow| flow.rtos as f64);
}

fn flow<'a>(run: &'a RunOutcome, name: &str) -> Option<&'a FlowOutcome> {
    run.flows.iter().find(|flow| flow.name == name)
}

/// Over the flows of a group; `None` if there is none.
fn sum(run: &RunOutcome, group: &str, of: impl Fn(&FlowOutcome) -> f64) -> Option<f64> {
    let flows = || run.flows.iter().filter(|flow| group_of(&flow.name) == Some(group));
    flows().next().map(|_| flows().map(&of).sum())
}

/// Of several flows the one that waits longest.
fn highest(run: &RunOutcome, of: fn(&FlowOutcome) -> u64) -> Option<f64> {
    Some(run.flows.iter().map(of).max().unwrap_or(0) as f64)
}

/// The time of the flow that takes longest, of those that were complete.
fn latest(run: &RunOutcome, of: fn(&FlowOutcome) -> Option<Duration>) -> Option<f64> {
    run.flows.iter().filter_map(of).max().map(nanos)
}

/// A percentile (nearest rank) over the flows of fixed size, in ns; `None` unless all of them were complete.
fn completions(run: &Run<'_>, percentile: usize) -> Option<f64> {
    let sized = run.scenario.flows.iter().zip(&run.outcome.flows).filter(|(spec, _)| spec.size.is_some());
    let mut times = sized.map(|(_, flow)| flow.completion).collect::<Option<Vec<Duration>>>()?;
    times.sort_unstable();
    times.get((times.len() * percentile).div_ceil(100).saturating_sub(1)).copied().map(nanos)
}

/// The mean over the flows of fixed size, in ns; `None` unless all of them were complete.
fn mean(run: &Run<'_>, of: fn(&FlowOutcome) -> Option<Duration>) -> Option<f64> {
    let sized = run.scenario.flows.iter().zip(&run.outcome.flows).filter(|(spec, _)| spec.size.is_some());
    let times = sized.map(|(_, flow)| of(flow).map(nanos)).collect::<Option<Vec<f64>>>()?;
    (!times.is_empty()).then(|| times.iter().sum::<f64>() / times.len() as f64)
}

fn nanos(time: Duration) -> f64 {
    time.as_nanos() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_has_what_its_flows_have_together() {
        let flow = |name: &str, rtos| FlowOutcome { name: name.into(), rtos, ..FlowOutcome::default() };
        let flows = vec![flow("new1", 1), flow("new2", 2), flow("new", 40), flow("news1", 500), flow("other10", 7)];
        let run = RunOutcome { flows, ..RunOutcome::default() };
        let rtos = |name: &str| sum(&run, name, |flow| flow.rtos as f64);
        assert_eq!(["new", "other", "ne", "call"].map(rtos), [Some(3.0), Some(7.0), None, None]);
        assert_eq!(*Members::Groups.in_run(&run), ["new", "news", "other"]);
    }
}
