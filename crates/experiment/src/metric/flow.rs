//! What flows achieve: rates, fairness, times.

use super::rates::{fairness, goodput, rate_of, throughput};
use super::{Combine, Members, Metric, PerRun, Run, Unit};
use crate::results::statistics::quotient;
use crate::world::{FlowOutcome, RunOutcome};
use airtcp_core::Duration;

/// Of all flows together.
pub(super) const METRICS: &[Metric] = &[
    Metric {
        combine: Combine::WholeWithRuns,
        ..metric("goodput_bps", "goodput", Unit::Rate, "application bits per second, all flows together", |run, _| {
            Some(goodput(run.outcome))
        })
    },
    metric("throughput_bps", "throughput", Unit::Rate, "the same in IP bits, with headers", |run, _| {
        Some(throughput(run.scenario, run.outcome))
    }),
    Metric {
        combine: Combine::Ratio(4),
        ..metric(
            "of_ceiling",
            "of ceiling",
            Unit::Share,
            "goodput over the goodput that no repair can exceed",
            |run, _| Some(goodput(run.outcome) / run.ceiling_bps?),
        )
    },
    Metric {
        combine: Combine::OverBaseline,
        ..metric(
            "times_baseline",
            "× plain",
            Unit::Times,
            "goodput over that of the cell without a scheme, run by run",
            |run, _| Some(quotient(goodput(run.outcome), goodput(run.baseline?))),
        )
    },
    Metric {
        combine: Combine::Decimals(4),
        ..metric("jain", "Jain", Unit::Index, "Jain's index of the flows' rates, each over its weight", |run, _| {
            Some(fairness(run.scenario, run.outcome))
        })
    },
    round_trip(
        "rtt_ns.p50",
        "RTT p50",
        "median of the sender's round-trip times; of several flows the highest",
        |run, _| highest(run.outcome, |flow| flow.rtt.p50),
    ),
    round_trip("rtt_ns.p95", "RTT p95", "95th percentile of the same", |run, _| {
        highest(run.outcome, |flow| flow.rtt.p95)
    }),
    round_trip("rtt_ns.p99", "RTT p99", "99th percentile of the same", |run, _| {
        highest(run.outcome, |flow| flow.rtt.p99)
    }),
    metric(
        "completion_ns",
        "complete",
        Unit::Seconds,
        "time until the last flow of fixed size is complete, with its handshake",
        |run, _| latest(run.outcome, |flow| flow.completion),
    ),
    metric(
        "completions_ns.p50",
        "complete p50",
        Unit::Millis,
        "median of the times until each flow of fixed size is complete",
        |run, _| completions(run, 50),
    ),
    metric("completions_ns.p95", "complete p95", Unit::Millis, "95th percentile of the same", |run, _| {
        completions(run, 95)
    }),
    metric("transfer_ns", "transfer", Unit::Seconds, "the same without the handshake", |run, _| {
        latest(run.outcome, |flow| flow.transfer)
    }),
];

/// Of each flow of several by itself.
pub(super) const BY_ITSELF: &[Metric] = &[
    Metric {
        combine: Combine::Count,
        ..metric(
            "longest_stall_ns",
            "longest stall",
            Unit::Seconds,
            "longest time in which a flow delivered nothing",
            |run, _| highest(run.outcome, |flow| flow.longest_stall.as_nanos()),
        )
    },
    of_flow("flows.<name>.goodput_bps", "flows.*.goodput", Unit::Rate, "goodput of one flow", |run, name| {
        flow(run.outcome, name).map(rate_of)
    }),
    of_flow(
        "flows.<name>.retransmitted_segments",
        "flows.* resent",
        Unit::Count("segments"),
        "data segments that the flow's sender sent again",
        |run, name| flow(run.outcome, name).map(|flow| flow.retransmitted_segments as f64),
    ),
    of_flow(
        "flows.<name>.rtos",
        "flows.* RTOs",
        Unit::Count(""),
        "retransmission timeouts of the flow's sender",
        |run, name| flow(run.outcome, name).map(|flow| flow.rtos as f64),
    ),
    of_flow(
        "flows.<name>.completion_ns",
        "flows.* complete",
        Unit::Seconds,
        "time until the flow is complete",
        |run, name| flow(run.outcome, name)?.completion.map(nanos),
    ),
    of_flow(
        "flows.<name>.transfer_ns",
        "flows.* transfer",
        Unit::Seconds,
        "the same without the handshake",
        |run, name| flow(run.outcome, name)?.transfer.map(nanos),
    ),
];

const fn metric(name: &'static str, title: &'static str, unit: Unit, about: &'static str, per_run: PerRun) -> Metric {
    Metric { name, title, unit, about, per_run, combine: Combine::Whole, members: Members::None }
}

const fn round_trip(name: &'static str, title: &'static str, about: &'static str, per_run: PerRun) -> Metric {
    Metric { combine: Combine::Count, ..metric(name, title, Unit::Millis, about, per_run) }
}

const fn of_flow(name: &'static str, title: &'static str, unit: Unit, about: &'static str, per_run: PerRun) -> Metric {
    Metric { combine: Combine::WholeWithRuns, members: Members::Flows, ..metric(name, title, unit, about, per_run) }
}

fn flow<'a>(run: &'a RunOutcome, name: &str) -> Option<&'a FlowOutcome> {
    run.flows.iter().find(|flow| flow.name == name)
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

fn nanos(time: Duration) -> f64 {
    time.as_nanos() as f64
}
