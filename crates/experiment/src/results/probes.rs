//! What probes found: `probes` in a cell of the summary, `probes.ping.rtt_ns.p95` as a measure.

use super::estimate;
use super::summary::integers;
use crate::world::{ProbeOutcome, RunOutcome};
use serde_json::{Value, json};

type Percentile = fn(&ProbeOutcome) -> u64;

const PERCENTILES: [(&str, Percentile); 3] = [("p50", |p| p.rtt.p50), ("p95", |p| p.rtt.p95), ("p99", |p| p.rtt.p99)];

/// Every measure of the probe called `name`.
pub fn measures(name: &str) -> impl Iterator<Item = String> {
    let name = name.to_owned();
    PERCENTILES.iter().map(move |(percentile, _)| format!("probes.{name}.rtt_ns.{percentile}"))
}

/// A cell's field: each probe with medians and intervals over the runs.
pub(super) fn of(runs: &[RunOutcome]) -> Vec<Value> {
    let count = runs.iter().map(|run| run.probes.len()).min().unwrap_or(0);
    let probe = |index: usize| {
        let over_runs = |of: &dyn Fn(&ProbeOutcome) -> u64| {
            integers(estimate(&runs.iter().map(|run| of(&run.probes[index]) as f64).collect::<Vec<_>>()))
        };
        let times = PERCENTILES.iter().map(|(name, of)| ((*name).to_owned(), over_runs(of)));
        json!({
            "name": runs[0].probes[index].name,
            "rtt_ns": Value::Object(times.collect()),
            "sent": over_runs(&|probe| probe.sent),
            "lost": over_runs(&|probe| probe.sent - probe.received.min(probe.sent)),
        })
    };
    (0..count).map(probe).collect()
}

/// One run's value of the measure `probes.<name>`.
pub(super) fn value(run: &RunOutcome, name: &str) -> Option<f64> {
    let (name, percentile) = name.rsplit_once(".rtt_ns.")?;
    let (_, of) = PERCENTILES.iter().find(|(known, _)| *known == percentile)?;
    run.probes.iter().find(|probe| probe.name == name).map(|probe| of(probe) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::Percentiles;

    #[test]
    fn every_measure_is_found_in_a_run_and_in_the_summary() {
        let rtt = Percentiles { p50: 1, p95: 2, p99: 3 };
        let probe = ProbeOutcome { name: "ping".into(), sent: 10, received: 9, rtt };
        let run = RunOutcome { probes: vec![probe], ..RunOutcome::default() };
        let of_run = |name: String| value(&run, name.strip_prefix("probes.").expect("the prefix"));
        assert_eq!(measures("ping").filter_map(of_run).collect::<Vec<_>>(), [1., 2., 3.]);
        let summary = of(std::slice::from_ref(&run));
        assert_eq!((&summary[0]["rtt_ns"]["p95"]["median"], &summary[0]["lost"]["median"]), (&json!(2), &json!(1)));
        assert_eq!((of(&[RunOutcome::default()]), value(&run, "pong.rtt_ns.p50")), (Vec::new(), None));
    }
}
