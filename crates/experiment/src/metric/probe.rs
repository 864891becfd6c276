//! What probes found.

use super::table::metrics;
use super::{Combine, Members, Unit};
use crate::world::{ProbeOutcome, RunOutcome};

metrics! { METRICS: Combine::Whole, Members::Probes;
    /// there and back, median
    "probes.<name>.rtt_ns.p50", "*.rtt p50", Unit::Millis => |run, name| of(run.outcome, name, |probe| probe.rtt.p50);
    /// 95th percentile of the same
    "probes.<name>.rtt_ns.p95", "*.rtt p95", Unit::Millis => |run, name| of(run.outcome, name, |probe| probe.rtt.p95);
    /// 99th percentile of the same
    "probes.<name>.rtt_ns.p99", "*.rtt p99", Unit::Millis => |run, name| of(run.outcome, name, |probe| probe.rtt.p99);
    /// the same over all that were sent, median: a lost one counts as the whole measured time
    "probes.<name>.rtt_or_lost_ns.p50", "*.rtt or lost p50", Unit::Millis =>
        |run, name| of(run.outcome, name, |probe| probe.rtt_or_lost.p50);
    /// 95th percentile of the same
    "probes.<name>.rtt_or_lost_ns.p95", "*.rtt or lost p95", Unit::Millis =>
        |run, name| of(run.outcome, name, |probe| probe.rtt_or_lost.p95);
    /// 99th percentile of the same
    "probes.<name>.rtt_or_lost_ns.p99", "*.rtt or lost p99", Unit::Millis =>
        |run, name| of(run.outcome, name, |probe| probe.rtt_or_lost.p99);
    /// datagrams that the probe sent
    "probes.<name>.sent", "*.sent", Unit::Count("datagrams") => |run, name| of(run.outcome, name, |probe| probe.sent);
    /// datagrams of the probe that did not come back
    "probes.<name>.lost", "*.lost", Unit::Count("datagrams") =>
        |run, name| of(run.outcome, name, |probe| probe.sent - probe.received.min(probe.sent));
}

fn of(run: &RunOutcome, name: &str, value: fn(&ProbeOutcome) -> u64) -> Option<f64> {
    run.probes.iter().find(|probe| probe.name == name).map(|probe| value(probe) as f64)
}
