//! Figures over time: how the first run of each cell went, from `series.json`.

use super::{Horizontal, Point, Scale};
use crate::scenario::FLOW_COLUMNS;
use serde_json::Value;

/// The axis of time, with a step for each time at which a line has a point.
pub fn axis<'a>(points: impl Iterator<Item = &'a Point>) -> Horizontal {
    let mut steps: Vec<(String, Option<f64>)> = points.map(|point| (point.label.clone(), point.x)).collect();
    steps.sort_by(|a, b| a.1.unwrap_or(0.0).total_cmp(&b.1.unwrap_or(0.0)));
    steps.dedup();
    Horizontal { name: "time".into(), title: "time".into(), unit: "s".into(), scale: Scale::Linear, steps }
}

/// The points of a cell of `series.json`: a column of its flows, added up, or a level.
pub fn points(series: &Value, name: &str) -> Vec<Point> {
    let samples = if FLOW_COLUMNS.contains(&name) { of_flows(series, name) } else { of_level(series, name) };
    let point = |(step, (seconds, y)): (usize, (f64, f64))| Point {
        label: format!("{seconds}"),
        x: Some(seconds),
        step,
        y,
        ci95: None,
    };
    samples.into_iter().enumerate().map(point).collect()
}

/// Flows of a run are sampled at the same times; one that has not begun has no sample and adds nothing.
fn of_flows(series: &Value, name: &str) -> Vec<(f64, f64)> {
    let mut sums = std::collections::BTreeMap::new();
    for flow in series["flows"].as_array().into_iter().flatten() {
        let column = |key: &str| flow[key].as_array().into_iter().flatten().filter_map(Value::as_f64);
        for (millis, value) in column("at_ms").zip(column(name)) {
            *sums.entry(millis as u64).or_insert(0.0) += value;
        }
    }
    sums.into_iter().map(|(millis, sum)| (millis as f64 / 1e3, sum)).collect()
}

fn of_level(series: &Value, name: &str) -> Vec<(f64, f64)> {
    let pair = |sample: &Value| Some((sample.get(0)?.as_f64()? / 1e9, sample.get(1)?.as_f64()?));
    series["levels"][name].as_array().into_iter().flatten().filter_map(pair).collect()
}
