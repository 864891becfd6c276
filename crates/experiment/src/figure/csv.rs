//! A figure as CSV, one row per point: pane, line, value of the varied key as the scenario names it, the same as a number
//! with its unit, then the measure in its base unit (bits per second, nanoseconds, ratios) with its 95 % interval. Of one
//! measure over another: which cell it is, both measures, and how the runs lie around them.

use super::{Figure, Spread};
use crate::scenario::Across;

/// The text. Columns: the varied keys that make panes, lines and the axis to the right, `x`, `x_unit`, the measure,
/// `ci95_low`, `ci95_high`; what does not exist is empty. Of one measure over another, `cell` is in place of the varied key, the
/// measure's name in place of `x`, and means, deviations and correlation of the runs follow.
pub fn text(figure: &Figure) -> String {
    let mut rows = csv::WriterBuilder::new().terminator(csv::Terminator::Any(b'\n')).from_writer(Vec::new());
    let own = |key: &Option<String>| key.clone().into_iter();
    let is_scatter = figure.across == Across::Measure;
    let (what, x) = if is_scatter { ("cell", figure.x.name.as_str()) } else { (figure.x.name.as_str(), "x") };
    let keys: Vec<String> = own(&figure.panes_by).chain(own(&figure.lines_by)).chain([what.to_owned()]).collect();
    let numbers = [x, "x_unit", figure.y.name.as_str(), "ci95_low", "ci95_high"];
    let of_runs = ["x_mean", "y_mean", "x_deviation", "y_deviation", "correlation"];
    let of_runs = || of_runs.into_iter().filter(|_| is_scatter);
    let mut put = |row: Vec<String>| rows.write_record(row).expect("writing to memory, rows of one length");
    put(keys.into_iter().chain(numbers.into_iter().chain(of_runs()).map(str::to_owned)).collect());
    for pane in &figure.panes {
        for line in &pane.lines {
            for point in &line.points {
                let number = |number: Option<f64>| number.map_or_else(String::new, |number| number.to_string());
                let (unit, ends) = (point.x.map(|_| figure.x.unit.clone()), point.ci95);
                let labels =
                    figure.panes_by.iter().map(|_| &pane.label).chain(figure.lines_by.iter().map(|_| &line.label));
                let values = [
                    number(point.x),
                    unit.unwrap_or_default(),
                    number(Some(point.y)),
                    number(ends.map(|ends| ends[0])),
                    number(ends.map(|ends| ends[1])),
                ];
                let spread = point
                    .spread
                    .map(|Spread { mean: [x, y], deviation: [dx, dy], correlation }| [x, y, dx, dy, correlation]);
                let spread = of_runs().enumerate().map(|(place, _)| number(spread.map(|values| values[place])));
                let label = if is_scatter { &point.cell } else { &point.label };
                put(labels.chain([label]).cloned().chain(values).chain(spread).collect());
            }
        }
    }
    let bytes = rows.into_inner().expect("writing to memory");
    String::from_utf8(bytes).expect("made of text")
}
