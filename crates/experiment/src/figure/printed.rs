//! What a paper prints, as points beside our lines.

use super::{Horizontal, Line, Pane, Point, as_shown, from_left_to_right};
use crate::scenario::FigureSpec;

/// Puts the printed points of `spec` into `panes`, behind the lines of `legend`, which gets their names. What lies beside
/// the axis is left out.
pub fn put(spec: &FigureSpec, x: &Horizontal, panes: &mut [Pane], legend: &mut Vec<String>) {
    for printed in &spec.points {
        let points = from_left_to_right(printed.points.iter().filter_map(|point| place(x, point)).collect());
        let is_meant = |pane: &Pane| printed.pane.as_ref().is_none_or(|label| as_shown(label.clone()) == pane.label);
        for pane in panes.iter_mut().filter(|pane| is_meant(pane) && !points.is_empty()) {
            let index = legend.iter().position(|label| *label == printed.label).unwrap_or_else(|| {
                legend.push(printed.label.clone());
                legend.len() - 1
            });
            let (label, points) = (printed.label.clone(), points.clone());
            pane.lines.push(Line { label, index, points, is_printed: true });
        }
    }
}

/// A printed point on the axis: where a step has its label, or at its number.
fn place(x: &Horizontal, (label, y): &(String, f64)) -> Option<Point> {
    let step = x.steps.iter().position(|(known, _)| known == label);
    let number = step.map_or_else(|| x.number(label), |step| x.steps[step].1);
    let is_on_axis = step.is_some() || number.is_some_and(|number| x.reaches(number));
    let point = Point { label: label.clone(), x: number, step: step.unwrap_or(0), y: *y, ..Point::default() };
    is_on_axis.then_some(point)
}
