//! What probes found.

use super::{Combine, Members, Metric, PerRun, Unit};
use crate::world::{ProbeOutcome, RunOutcome};

pub(super) const METRICS: &[Metric] = &[
    metric("probes.<name>.rtt_ns.p50", "*.rtt p50", Unit::Millis, "there and back, median", |run, name| {
        of(run.outcome, name, |probe| probe.rtt.p50)
    }),
    metric("probes.<name>.rtt_ns.p95", "*.rtt p95", Unit::Millis, "95th percentile of the same", |run, name| {
        of(run.outcome, name, |probe| probe.rtt.p95)
    }),
    metric("probes.<name>.rtt_ns.p99", "*.rtt p99", Unit::Millis, "99th percentile of the same", |run, name| {
        of(run.outcome, name, |probe| probe.rtt.p99)
    }),
    metric("probes.<name>.sent", "*.sent", Unit::Count("datagrams"), "datagrams that the probe sent", |run, name| {
        of(run.outcome, name, |probe| probe.sent)
    }),
    metric(
        "probes.<name>.lost",
        "*.lost",
        Unit::Count("datagrams"),
        "datagrams of the probe that did not come back",
        |run, name| of(run.outcome, name, |probe| probe.sent - probe.received.min(probe.sent)),
    ),
];

const fn metric(name: &'static str, title: &'static str, unit: Unit, about: &'static str, per_run: PerRun) -> Metric {
    Metric { name, title, unit, about, per_run, combine: Combine::Whole, members: Members::Probes }
}

fn of(run: &RunOutcome, name: &str, value: fn(&ProbeOutcome) -> u64) -> Option<f64> {
    run.probes.iter().find(|probe| probe.name == name).map(|probe| value(probe) as f64)
}
