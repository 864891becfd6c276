//! A [`Figure`] as data for `sweep.js`; figures of the same kind from several results as one.
//!
//! Numbers are in the unit of their axis; each point also brings the text that tables show for it, so that a hovered
//! value and a printed one never differ.

use crate::figure::{Figure, Line, Scale};
use crate::scenario::Across;
use crate::table::title_of;
use indexmap::IndexSet;
use serde_json::{Value, json};

/// One figure, or the same figure of several results laid over each other; `names` says whose it is.
pub fn data(figures: &[(String, Figure)]) -> Value {
    let first = &figures[0].1;
    let legend = union(figures.iter().flat_map(|(_, figure)| figure.legend.iter()));
    let steps = steps(figures);
    let panes = union(figures.iter().flat_map(|(_, figure)| figure.panes.iter().map(|pane| &pane.label)));
    let pane = |label: &String| {
        let lines: Vec<Value> = figures
            .iter()
            .enumerate()
            .flat_map(|(entry, (_, figure))| {
                let same = figure.panes.iter().filter(|pane| pane.label == *label);
                same.flat_map(|pane| &pane.lines).map(move |line| (entry, figure, line))
            })
            .map(|(entry, figure, line)| {
                json!({
                    "label": legend.iter().position(|known| *known == line.label),
                    "entry": entry,
                    "points": points(figure, line, &steps),
                })
            })
            .collect();
        let title = first.panes_by.as_ref().map_or(String::new(), |axis| format!("{} {label}", title_of(axis)));
        json!({"title": title, "lines": lines})
    };
    json!({
        "name": first.name,
        "title": format!("{} over {}", first.y.title, first.x.title),
        "sources": figures.iter().map(|(_, figure)| figure.source.as_str()).collect::<Vec<_>>(),
        "entries": figures.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(),
        "legend": legend,
        "lines_by": first.lines_by.as_deref().map_or(String::new(), title_of),
        "x": {
            "title": first.x.title,
            "unit": first.x.unit,
            "measured": first.across == Across::Measure,
            "scale": match first.x.scale { Scale::Categories => "even", Scale::Linear => "linear", Scale::Logarithmic => "log" },
            "steps": steps,
        },
        "y": {"title": first.y.title, "unit": first.y.unit.label()},
        "panes": panes.iter().map(pane).collect::<Vec<_>>(),
    })
}

/// True if both can be drawn on the same axes.
pub fn fits(a: &Figure, b: &Figure) -> bool {
    let axes = |figure: &Figure| {
        let (x, y) = (&figure.x, &figure.y);
        (x.name.clone(), x.unit.clone(), x.scale == Scale::Categories, y.name.clone(), figure.panes_by.clone())
    };
    axes(a) == axes(b) && a.lines_by == b.lines_by
}

/// Every value on the axis to the right, with its number; in order of the numbers where all have one.
fn steps(figures: &[(String, Figure)]) -> Vec<(String, Option<f64>)> {
    let mut steps: Vec<(String, Option<f64>)> = Vec::new();
    for step in figures.iter().flat_map(|(_, figure)| &figure.x.steps) {
        if !steps.contains(step) {
            steps.push(step.clone());
        }
    }
    if steps.iter().all(|(_, number)| number.is_some()) {
        steps.sort_by(|a, b| a.1.unwrap_or(0.0).total_cmp(&b.1.unwrap_or(0.0)));
    }
    steps
}

/// `[step, y, low, high, text, interval]` each; without an interval the last ones are null. Of one measure over another,
/// the cell's labels and `[mean, mean, deviation, deviation, correlation]` of its runs follow.
fn points(figure: &Figure, line: &Line, steps: &[(String, Option<f64>)]) -> Vec<Value> {
    let y = &figure.y;
    let point = |point: &crate::figure::Point| {
        let step = steps.iter().position(|(label, number)| *label == point.label && *number == point.x);
        let value = rounded(y.unit.convert(point.y));
        let mut values = match point.ci95 {
            Some([low, high]) => {
                let interval = format!("{} to {}", y.write(low), y.write(high));
                json!([
                    step,
                    value,
                    rounded(y.unit.convert(low)),
                    rounded(y.unit.convert(high)),
                    y.write(point.y),
                    interval
                ])
            }
            None => json!([step, value, null, null, y.write(point.y), null]),
        };
        if let (Across::Measure, Value::Array(values)) = (figure.across, &mut values) {
            values.push(point.cell.as_str().into());
            values.push(point.spread.map_or(Value::Null, |spread| {
                let [x, dx] = [spread.mean[0], spread.deviation[0]].map(rounded);
                let [up, dy] = [spread.mean[1], spread.deviation[1]].map(|value| rounded(y.unit.convert(value)));
                json!([x, up, dx, dy, rounded(spread.correlation)])
            }));
        }
        values
    };
    line.points.iter().map(point).collect()
}

/// More digits than a screen shows would only make the page longer.
fn rounded(value: f64) -> f64 {
    format!("{value:.6e}").parse().unwrap_or(value)
}

fn union<'a>(labels: impl Iterator<Item = &'a String>) -> Vec<String> {
    labels.cloned().collect::<IndexSet<String>>().into_iter().collect()
}
