//! What became of the requests of workloads: those that began in the measured time, by the size of their answers.

use super::table::metrics;
use super::{Combine, Members, Unit};
use crate::world::{Percentiles, RequestClass, RunOutcome, WorkloadOutcome};

metrics! { METRICS: Combine::WholeWithRuns, Members::Workloads;
    /// requests that began in the measured time
    "workloads.<name>.requests", "* requests", Unit::Count("requests") => |run, name| of(run.outcome, name, "", |class| Some(class.requests));
    /// requests of these without an answer when the run ended; each counts as if it had taken all of the measured time
    "workloads.<name>.unfinished", "* unfinished", Unit::Count("requests") => |run, name| of(run.outcome, name, "", |class| Some(class.unfinished));
    /// most connections that the client had open at one time
    "workloads.<name>.most_open", "* open", Unit::Count("connections") => |run, name| workload(run.outcome, name).map(|workload| workload.most_open as f64);
    /// bits per second of answers, without headers
    "workloads.<name>.goodput_bps", "* goodput", Unit::Rate => |run, name|
        workload(run.outcome, name).map(|workload| workload.window_bytes as f64 * 8e9 / workload.window.as_nanos().max(1) as f64);
    /// from when a request was due to the last byte of its answer, median
    "workloads.<name>.completion_ns.p50", "* complete p50", Unit::Millis => |run, name| completion(run.outcome, name, "", |times| times.p50);
    /// 95th percentile of the same
    "workloads.<name>.completion_ns.p95", "* complete p95", Unit::Millis => |run, name| completion(run.outcome, name, "", |times| times.p95);
    /// 99th percentile of the same
    "workloads.<name>.completion_ns.p99", "* complete p99", Unit::Millis => |run, name| completion(run.outcome, name, "", |times| times.p99);
    /// the same over the time of such a request alone on an idle path, median
    "workloads.<name>.slowdown.p50", "* slowdown p50", Unit::Times, Combine::Decimals(3) => |run, name| slowdown(run.outcome, name, "", |times| times.p50);
    /// 95th percentile of the same
    "workloads.<name>.slowdown.p95", "* slowdown p95", Unit::Times, Combine::Decimals(3) => |run, name| slowdown(run.outcome, name, "", |times| times.p95);
    /// 99th percentile of the same
    "workloads.<name>.slowdown.p99", "* slowdown p99", Unit::Times, Combine::Decimals(3) => |run, name| slowdown(run.outcome, name, "", |times| times.p99);
    /// completion of requests for less than 15 kB, median
    "workloads.<name>.short.completion_ns.p50", "* < 15 kB p50", Unit::Millis => |run, name| completion(run.outcome, name, "short", |times| times.p50);
    /// 95th percentile of the same
    "workloads.<name>.short.completion_ns.p95", "* < 15 kB p95", Unit::Millis => |run, name| completion(run.outcome, name, "short", |times| times.p95);
    /// 99th percentile of the same
    "workloads.<name>.short.completion_ns.p99", "* < 15 kB p99", Unit::Millis => |run, name| completion(run.outcome, name, "short", |times| times.p99);
    /// slowdown of requests for less than 15 kB, median
    "workloads.<name>.short.slowdown.p50", "* < 15 kB slowdown p50", Unit::Times, Combine::Decimals(3) => |run, name| slowdown(run.outcome, name, "short", |times| times.p50);
    /// 95th percentile of the same
    "workloads.<name>.short.slowdown.p95", "* < 15 kB slowdown p95", Unit::Times, Combine::Decimals(3) => |run, name| slowdown(run.outcome, name, "short", |times| times.p95);
    /// 99th percentile of the same
    "workloads.<name>.short.slowdown.p99", "* < 15 kB slowdown p99", Unit::Times, Combine::Decimals(3) => |run, name| slowdown(run.outcome, name, "short", |times| times.p99);
    /// slowdown of requests for 15 to 150 kB, median
    "workloads.<name>.medium.slowdown.p50", "* 15–150 kB slowdown p50", Unit::Times, Combine::Decimals(3) => |run, name| slowdown(run.outcome, name, "medium", |times| times.p50);
    /// 95th percentile of the same
    "workloads.<name>.medium.slowdown.p95", "* 15–150 kB slowdown p95", Unit::Times, Combine::Decimals(3) => |run, name| slowdown(run.outcome, name, "medium", |times| times.p95);
    /// 99th percentile of the same
    "workloads.<name>.medium.slowdown.p99", "* 15–150 kB slowdown p99", Unit::Times, Combine::Decimals(3) => |run, name| slowdown(run.outcome, name, "medium", |times| times.p99);
    /// slowdown of requests for 150 kB or more, median
    "workloads.<name>.long.slowdown.p50", "* ≥ 150 kB slowdown p50", Unit::Times, Combine::Decimals(3) => |run, name| slowdown(run.outcome, name, "long", |times| times.p50);
    /// 95th percentile of the same
    "workloads.<name>.long.slowdown.p95", "* ≥ 150 kB slowdown p95", Unit::Times, Combine::Decimals(3) => |run, name| slowdown(run.outcome, name, "long", |times| times.p95);
    /// requests for 150 kB or more without an answer when the run ended
    "workloads.<name>.long.unfinished", "* ≥ 150 kB unfinished", Unit::Count("requests") => |run, name| of(run.outcome, name, "long", |class| Some(class.unfinished));
}

fn workload<'a>(run: &'a RunOutcome, name: &str) -> Option<&'a WorkloadOutcome> {
    run.workloads.iter().find(|workload| workload.name == name)
}

/// Of the requests of a class; of all where it has no name.
fn of(run: &RunOutcome, name: &str, class: &str, value: impl Fn(&RequestClass) -> Option<u64>) -> Option<f64> {
    let workload = workload(run, name)?;
    let mut classes = workload.classes.iter();
    let class = if class.is_empty() { &workload.all } else { classes.find(|found| found.name == class)? };
    value(class).map(|value| value as f64)
}

fn completion(run: &RunOutcome, name: &str, class: &str, at: fn(&Percentiles) -> u64) -> Option<f64> {
    of(run, name, class, |class| class.completion.as_ref().map(at))
}

fn slowdown(run: &RunOutcome, name: &str, class: &str, at: fn(&Percentiles) -> u64) -> Option<f64> {
    of(run, name, class, |class| class.slowdown.as_ref().map(at)).map(|thousandths| thousandths / 1e3)
}
