//! What each run of a cell gave, one number per run in the order of the seeds: what claims are judged on.

use super::rates::{fairness, goodput, rate_of, throughput};
use super::summary::{FLOW_TIMES, dropped_by_links, dropped_by_queues, latest};
use super::{Results, baseline_of, ceiling_bps, controllers, path, probes};
use crate::world::{FlowOutcome, RunOutcome};

/// The measure called `name` in files, run by run; `None` if the cell was not run or has no such measure.
///
/// `times_baseline` divides each run by the baseline's run with the same seed; where that got nothing it is infinite.
pub fn values(results: &Results<'_>, cell: usize, name: &str) -> Option<Vec<f64>> {
    let runs = results.outcomes(cell)?;
    let scenario = &results.scenario.cells[cell].scenario;
    let each = |value: &dyn Fn(&RunOutcome) -> Option<f64>| runs.iter().map(value).collect::<Option<Vec<f64>>>();
    let of_flows = |value: fn(&FlowOutcome) -> u64| each(&|run| Some(run.flows.iter().map(value).sum::<u64>() as f64));
    // Of several flows the one that waits longest, as in the summary.
    let of_slowest =
        |value: fn(&FlowOutcome) -> u64| each(&|run| Some(run.flows.iter().map(value).max().unwrap_or(0) as f64));
    if let Some((_, of)) = FLOW_TIMES.iter().find(|(known, _)| *known == name) {
        return each(&|run| latest(run, *of));
    }
    match name {
        "goodput_bps" => each(&|run| Some(goodput(run))),
        "throughput_bps" => each(&|run| Some(throughput(scenario, run))),
        "of_ceiling" => {
            let ceiling = ceiling_bps(scenario)?;
            each(&|run| Some(goodput(run) / ceiling))
        }
        "times_baseline" => {
            let plain = results.outcomes(baseline_of(results.scenario, cell)?)?;
            Some(runs.iter().zip(plain).map(|(run, plain)| quotient(goodput(run), goodput(plain))).collect())
        }
        "jain" => each(&|run| Some(fairness(scenario, run))),
        "rtt_ns.p50" => of_slowest(|flow| flow.rtt.p50),
        "rtt_ns.p95" => of_slowest(|flow| flow.rtt.p95),
        "rtt_ns.p99" => of_slowest(|flow| flow.rtt.p99),
        "sender.retransmitted_segments" => of_flows(|flow| flow.retransmitted_segments),
        "sender.acked_bytes" => of_flows(|flow| flow.acked_bytes),
        "queue.bytes_max" => each(&|run| Some(run.queue?.bytes_max as f64)),
        "queue.drops" => each(&|run| Some(dropped_by_queues(run) as f64)),
        // A run without a drop has no first one.
        "queue.first_drop_ns" => each(&|run| Some(run.queue?.first_drop?.as_nanos() as f64)),
        "queue.header_drops" => each(&|run| Some(dropped_by_links(run).0 as f64)),
        "queue.data_drops" => each(&|run| Some(dropped_by_links(run).1 as f64)),
        "queue.headers_max" => each(&|run| Some(run.queue?.headers_max? as f64)),
        "queue.headers_mean" => each(&|run| run.queue?.headers_mean),
        "sender.rtos" => of_flows(|flow| flow.rtos),
        "sender.acknowledged_missing_bytes" => each(&|run| {
            let missing = run.flows.iter().map(|flow| flow.acknowledged_missing);
            missing.sum::<Option<u64>>().map(|bytes| bytes as f64)
        }),
        name if name.starts_with("probes.") => each(&|run| probes::value(run, name.strip_prefix("probes.")?)),
        name if name.starts_with("path.") => each(&|run| path::value(run, name.strip_prefix("path.")?)),
        name if name.starts_with("wlan.") => {
            let counter = name.strip_prefix("wlan.")?;
            each(&|run| run.wlan.get(counter).map(|count| *count as f64))
        }
        name if name.starts_with("controller.") => {
            let counter = name.strip_prefix("controller.")?;
            each(&|run| Some(controllers::value(run, counter)))
        }
        name if name.starts_with("control.") => {
            let counter = name.strip_prefix("control.")?;
            each(&|run| Some(controllers::control_count(run, counter) as f64))
        }
        name if name.starts_with("flows.") => {
            let flow = name.strip_prefix("flows.")?.strip_suffix(".goodput_bps")?;
            each(&|run| run.flows.iter().find(|found| found.name == flow).map(rate_of))
        }
        name => {
            let counter = name.strip_prefix("scheme.")?;
            // A cell without a scheme counted nothing.
            each(&|run| Some(run.schemes.iter().filter_map(|scheme| scheme.counters.get(counter)).sum::<u64>() as f64))
        }
    }
}

/// `a` over `b`: 1 where both are nothing, infinite where only `b` is.
pub fn quotient(a: f64, b: f64) -> f64 {
    match (a == 0.0, b == 0.0) {
        (true, true) => 1.0,
        (false, true) => f64::INFINITY,
        _ => a / b,
    }
}
