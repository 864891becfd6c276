//! Figures over time: how the first run of each cell went, from `series.json`.

use super::{Horizontal, Point, Scale};
use crate::results::series::CellSeries;
use crate::scenario::FLOW_COLUMNS;

/// The axis of time, with a step for each time at which a line has a point.
pub fn axis<'a>(points: impl Iterator<Item = &'a Point>) -> Horizontal {
    let mut steps: Vec<(String, Option<f64>)> = points.map(|point| (point.label.clone(), point.x)).collect();
    steps.sort_by(|a, b| a.1.unwrap_or(0.0).total_cmp(&b.1.unwrap_or(0.0)));
    steps.dedup();
    Horizontal { name: "time".into(), title: "time".into(), unit: "s".into(), scale: Scale::Linear, steps }
}

/// The points of a cell of `series.json`: a column of its flows, added up, a level, or what a box believes.
pub fn points(series: &CellSeries, name: &str) -> Vec<Point> {
    let samples = if FLOW_COLUMNS.contains(&name) { of_flows(series, name) } else { of_level(series, name) };
    let point = |(step, (seconds, y)): (usize, (f64, f64))| Point {
        label: format!("{seconds}"),
        x: Some(seconds),
        step,
        y,
        ..Point::default()
    };
    samples.into_iter().enumerate().map(point).collect()
}

/// Flows of a run are sampled at the same times; one that has not begun has no sample and adds nothing.
fn of_flows(series: &CellSeries, name: &str) -> Vec<(f64, f64)> {
    let mut sums = std::collections::BTreeMap::new();
    for flow in &series.flows {
        for (millis, value) in flow.column("at_ms").iter().zip(flow.column(name)) {
            *sums.entry(*millis).or_insert(0) += value;
        }
    }
    sums.into_iter().map(|(millis, sum)| (millis as f64 / 1e3, sum as f64)).collect()
}

fn of_level(series: &CellSeries, name: &str) -> Vec<(f64, f64)> {
    let of_box = name.rsplit_once('.').and_then(|(owner, column)| {
        let found = series.schemes.iter().find(|columns| columns.name == owner)?;
        Some((found.column("at_ms"), found.column(column)))
    });
    if let Some((times, values)) = of_box {
        return times.iter().zip(values).map(|(millis, value)| (*millis as f64 / 1e3, *value as f64)).collect();
    }
    let samples = series.levels.get(name).into_iter().flatten();
    samples.map(|(nanos, level)| (*nanos as f64 / 1e9, *level as f64)).collect()
}
