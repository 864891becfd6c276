//! What the senders of all flows did.

use super::{Combine, Members, Metric, PerRun, Unit};
use crate::world::{FlowOutcome, RunOutcome};

pub(super) const METRICS: &[Metric] = &[
    metric(
        "sender.retransmitted_segments",
        "resent",
        Unit::Count("segments"),
        "data segments sent again in the measured time",
        |run, _| sum(run.outcome, |flow| Some(flow.retransmitted_segments)),
    ),
    metric("sender.rtos", "RTOs", Unit::Count(""), "retransmission timeouts in the measured time", |run, _| {
        sum(run.outcome, |flow| Some(flow.rtos))
    }),
    metric(
        "sender.acked_bytes",
        "acknowledged",
        Unit::Megabytes,
        "application bytes of which the senders know that they arrived",
        |run, _| sum(run.outcome, |flow| Some(flow.acked_bytes)),
    ),
    metric(
        "sender.acknowledged_missing_bytes",
        "acknowledged, missing",
        Unit::Count("bytes"),
        "bytes that were acknowledged and that the receiver misses at the end; in the simulator only",
        |run, _| sum(run.outcome, |flow| flow.acknowledged_missing),
    ),
];

const fn metric(name: &'static str, title: &'static str, unit: Unit, about: &'static str, per_run: PerRun) -> Metric {
    Metric { name, title, unit, about, per_run, combine: Combine::Count, members: Members::None }
}

fn sum(run: &RunOutcome, of: fn(&FlowOutcome) -> Option<u64>) -> Option<f64> {
    run.flows.iter().map(of).sum::<Option<u64>>().map(|sum| sum as f64)
}
