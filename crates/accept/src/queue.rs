//! What a router that keeps its queue short is worth, live, beside a drop-tail queue: `scenarios/router-queue.toml`.

use crate::judge::{self, Verdict};
use serde_json::Value;

/// How a cell's number may stand to that of the drop-tail queue.
#[derive(Clone, Copy, Debug)]
pub enum Limit {
    /// At most so many times as much.
    AtMost(f64),
    /// At least so many times as much.
    AtLeast(f64),
}

/// What is compared, each from the medians over the runs.
#[derive(Clone, Copy, Debug)]
pub enum Measure {
    /// Goodput of the bulk flows together.
    Goodput,
    /// 95th percentile of what segments with data wait on their way to the receiver.
    ForwardWait,
    /// The same of that and what their acknowledgments wait: the passive round trip without the way itself.
    BothWaits,
    /// 95th percentile of a ping's round trip.
    Ping,
    /// Time that a short flow takes with its handshake, of all of them in all runs: a percentile.
    ShortFlows(usize),
}

/// The demand that `scheme` does as well with a measure as a limit says.
#[derive(Clone, Copy, Debug)]
pub struct Demand {
    /// What is compared.
    pub measure: Measure,
    /// The target.
    pub limit: Limit,
}

/// Runs that each cell must have at least.
const RUNS: usize = 5;
/// There and back without a queue, in ns: 40.2 ms of propagation, and a segment's time on the 10 Mbit/s link.
const EMPTY_ROUND_TRIP: f64 = 41.4e6;

/// Judges `case` of the scenario's queues beside drop-tail, with senders of `controller`.
pub fn judge(demand: &Demand, controller: &str, case: &str, summary: &Value) -> Verdict {
    let find = |case: &str| {
        let is_it =
            |cell: &&Value| cell["at"]["cases.queue"] == case && cell["at"]["flows.bulk.controller"] == controller;
        judge::cells(summary).iter().find(is_it).ok_or_else(|| format!("the summary has no cell '{case}'"))
    };
    let is_void = ["drop-tail", case].iter().any(|case| find(case).is_ok_and(judge::is_void));
    let (name, unit, scale) = demand.measure.describe();
    let what = format!("{controller:<5}  {case}  {name:<26}");
    let values = find(case).and_then(|ours| Ok((demand.measure.of(ours)?, demand.measure.of(find("drop-tail")?)?)));
    match values {
        Ok((ours, plain)) => {
            let ratio = ours / plain;
            let (passed, target) = match demand.limit {
                Limit::AtMost(most) => (ratio <= most, format!("at most {most:.2}")),
                Limit::AtLeast(least) => (ratio >= least, format!("at least {least:.2}")),
            };
            let (ours, plain) = (ours / scale, plain / scale);
            let line = format!("{what}  {ours:.1} {unit}, drop-tail {plain:.1} {unit}: {ratio:.3}  target {target}");
            Verdict { passed: passed && !is_void, is_void, line }
        }
        Err(reason) => Verdict { passed: false, is_void, line: format!("{what}  {reason}") },
    }
}

impl Measure {
    fn describe(self) -> (String, &'static str, f64) {
        match self {
            Measure::Goodput => ("goodput of the bulk flows".into(), "Mbit/s", 1e6),
            Measure::ForwardWait => ("forward wait p95".into(), "ms", 1e6),
            Measure::BothWaits => ("forward wait and hold p95".into(), "ms", 1e6),
            Measure::Ping => ("ping p95".into(), "ms", 1e6),
            Measure::ShortFlows(percentile) => (format!("short flows p{percentile}"), "ms", 1e6),
        }
    }

    fn of(self, cell: &Value) -> Result<f64, String> {
        judge::check(cell, cell["goodput_bps"]["runs"].as_array().map_or(0, Vec::len), RUNS)?;
        let median = |value: &Value| value["median"].as_f64();
        let found = match self {
            Measure::Goodput => flows(cell, "bulk").map(|flow| median(&flow["goodput_bps"])).sum(),
            Measure::ForwardWait => median(&cell["path"]["data_wait_ns"]["p95"]),
            Measure::BothWaits => median(&cell["path"]["round_trip_ns"]["p95"]).map(|time| time - EMPTY_ROUND_TRIP),
            Measure::Ping => median(&cell["probes"][0]["rtt_ns"]["p95"]),
            Measure::ShortFlows(percentile) => short_flows(cell, percentile),
        };
        found.filter(|value| *value > 0.0).ok_or_else(|| "the cell has no such measure".to_owned())
    }
}

fn flows<'a>(cell: &'a Value, name: &'a str) -> impl Iterator<Item = &'a Value> {
    let flows = cell["flows"].as_array().into_iter().flatten();
    flows.filter(move |flow| flow["name"].as_str().is_some_and(|found| found.starts_with(name)))
}

/// None unless every one of them was complete in every run.
fn short_flows(cell: &Value, percentile: usize) -> Option<f64> {
    let mut times = Vec::new();
    for flow in flows(cell, "short") {
        let runs = flow["completion_ns"]["runs"].as_array().filter(|runs| runs.len() >= RUNS)?;
        times.extend(runs.iter().filter_map(Value::as_f64));
    }
    times.sort_by(f64::total_cmp);
    times.get((times.len() * percentile).div_ceil(100).saturating_sub(1)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Both cells; the second waits `wait` ms where drop-tail waits 100.
    fn summary(wait: u64) -> Value {
        let cell = |case: &str, ms: u64| {
            let time = |ms: u64| json!({"median": ms * 1_000_000, "runs": vec![ms * 1_000_000; 5]});
            json!({
                "at": {"cases.queue": case, "flows.bulk.controller": "cubic"},
                "goodput_bps": {"runs": [1, 2, 3, 4, 5]}, "emulator": {"valid": true}, "checks": {"stream": "passed"},
                "path": {"data_wait_ns": {"p95": time(ms)}, "round_trip_ns": {"p95": time(ms + 41)}},
                "probes": [{"name": "ping", "rtt_ns": {"p95": time(ms + 41)}}],
                "flows": [
                    {"name": "bulk1", "goodput_bps": {"median": 4_000_000}},
                    {"name": "bulk2", "goodput_bps": {"median": 5_000_000}},
                    {"name": "short1", "completion_ns": time(ms)}, {"name": "short2", "completion_ns": time(3 * ms)},
                ],
            })
        };
        json!({"cells": [cell("drop-tail", 100), cell("fast-tcp", wait)]})
    }

    fn verdict(measure: Measure, limit: Limit, summary: &Value) -> Verdict {
        judge(&Demand { measure, limit }, "cubic", "fast-tcp", summary)
    }

    #[test]
    fn half_the_wait_passes_and_more_does_not() {
        assert!(verdict(Measure::ForwardWait, Limit::AtMost(0.5), &summary(50)).passed);
        assert!(!verdict(Measure::ForwardWait, Limit::AtMost(0.5), &summary(51)).passed);
        assert!(verdict(Measure::Goodput, Limit::AtLeast(1.0), &summary(50)).passed);
        assert!(!verdict(Measure::Goodput, Limit::AtLeast(1.01), &summary(50)).passed);
    }

    #[test]
    fn the_line_has_both_numbers_and_the_target() {
        let line = verdict(Measure::ShortFlows(95), Limit::AtMost(1.05), &summary(104)).to_string();
        assert!(line.starts_with("PASS") && line.contains("312.0 ms, drop-tail 300.0 ms: 1.040"), "{line}");
        let line = verdict(Measure::ShortFlows(50), Limit::AtMost(1.05), &summary(106)).to_string();
        assert!(line.starts_with("FAIL") && line.contains("106.0 ms, drop-tail 100.0 ms: 1.060"), "{line}");
    }

    #[test]
    fn nothing_is_judged_without_the_runs() {
        for (pointer, value) in [
            ("/cells/1/goodput_bps/runs", json!([1, 2, 3, 4])),
            ("/cells/0/checks/stream", json!("failed")),
            ("/cells/0/at/cases.queue", json!("codel")),
            ("/cells/1/emulator/valid", json!(false)),
            ("/cells/1/flows/2/completion_ns/runs", json!([1, 1, 1, 1])),
            ("/cells/1/path", json!({})),
        ] {
            let mut broken = summary(10);
            *broken.pointer_mut(pointer).expect("the summary has it") = value;
            let all = [Measure::ForwardWait, Measure::BothWaits, Measure::Ping, Measure::ShortFlows(95)];
            let verdicts = all.map(|measure| verdict(measure, Limit::AtMost(1.0), &broken));
            assert!(verdicts.iter().any(|verdict| !verdict.passed), "{pointer}");
            assert!(verdicts.iter().all(|verdict| verdict.is_void == pointer.contains("emulator")), "{pointer}");
        }
    }
}
