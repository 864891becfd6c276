//! Times of packets between hosts: `path` in a cell of the summary, `path.data_wait_ns.p95` as a measure.

use super::estimate;
use super::summary::integers;
use crate::world::{Path, Percentiles, RunOutcome};
use serde_json::{Map, Value, json};

type PathTime = fn(&Path) -> Percentiles;

/// By their names in files.
const TIMES: [(&str, PathTime); 3] = [
    ("data_wait_ns", |path| path.data_wait),
    ("ack_wait_ns", |path| path.ack_wait),
    ("round_trip_ns", |path| path.round_trip),
];

type Percentile = fn(&Percentiles) -> u64;

const PERCENTILES: [(&str, Percentile); 3] = [("p50", |p| p.p50), ("p95", |p| p.p95), ("p99", |p| p.p99)];

/// Every measure of paths.
pub fn measures() -> impl Iterator<Item = String> {
    TIMES
        .iter()
        .flat_map(|(time, _)| PERCENTILES.iter().map(move |(percentile, _)| format!("path.{time}.{percentile}")))
}

/// A cell's field, with median and interval over the runs.
pub(super) fn of(paths: &[Path]) -> Value {
    let mut value = Map::new();
    for (name, time) in TIMES {
        let percentiles = PERCENTILES.iter().map(|(percentile, of)| {
            let samples: Vec<f64> = paths.iter().map(|path| of(&time(path)) as f64).collect();
            ((*percentile).to_owned(), integers(estimate(&samples)))
        });
        value.insert(name.into(), Value::Object(percentiles.collect()));
    }
    json!(value)
}

/// One run's value of the measure `path.<name>`; none in a world that does not see both ends.
pub(super) fn value(run: &RunOutcome, name: &str) -> Option<f64> {
    let (time, percentile) = name.split_once('.')?;
    let (_, time) = TIMES.iter().find(|(known, _)| *known == time)?;
    let (_, of) = PERCENTILES.iter().find(|(known, _)| *known == percentile)?;
    Some(of(&time(&run.path?)) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_measure_is_found_in_a_run_and_in_the_summary() {
        let percentiles = |base: u64| Percentiles { p50: base, p95: base + 1, p99: base + 2 };
        let path = Path { data_wait: percentiles(10), ack_wait: percentiles(20), round_trip: percentiles(30) };
        let run = RunOutcome { path: Some(path), ..RunOutcome::default() };
        let found: Vec<f64> =
            measures().filter_map(|name| value(&run, name.strip_prefix("path.").expect("the prefix"))).collect();
        assert_eq!(found, [10., 11., 12., 20., 21., 22., 30., 31., 32.]);
        assert_eq!(of(&[path])["ack_wait_ns"]["p95"]["median"], 21);
        assert_eq!((value(&RunOutcome::default(), "ack_wait_ns.p95"), value(&run, "ack_wait_ns.p90")), (None, None));
    }
}
