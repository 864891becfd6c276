//! The `[[figures]]` of a scenario: what is to be drawn, as plain data ([`Figure`]), and its forms ([`svg`], [`csv`]).
//!
//! A figure is made from a summary, or over time from a series, so a stored result gives the figure that a fresh one gave,
//! to the byte.

pub mod csv;
mod horizontal;
mod over_time;
mod printed;
mod scatter;
pub mod svg;
mod ticks;

pub use horizontal::{Horizontal, Scale};
pub use scatter::Spread;

use crate::formula;
use crate::results::series::Series;
use crate::results::summary::{Summary, by_cell};
use crate::scenario::{Across, CurveSpec, FigureSpec, Scenario};
use crate::table::measure::Measure;

/// Everything that stands in a figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// File name without ending.
    pub name: String,
    /// Name and hash of the scenario, the world, how many runs: what a reader needs to trust the numbers.
    pub source: String,
    /// To the right.
    pub x: Horizontal,
    /// What goes to the right.
    pub across: Across,
    /// Upwards.
    pub y: Measure,
    /// The varied key that makes a pane each.
    pub panes_by: Option<String>,
    /// The varied key that makes a line each, or `level` where several levels do.
    pub lines_by: Option<String>,
    /// Labels of the lines that have a point in any pane, in the order of the scenario; a line's colour is its place
    /// here, the same in every pane. One empty label if nothing makes lines.
    pub legend: Vec<String>,
    /// Panes that have a point, in the order of the scenario.
    pub panes: Vec<Pane>,
}

/// One drawing surface.
#[derive(Clone, Debug, PartialEq)]
pub struct Pane {
    /// Value of the key that makes panes; empty if none does.
    pub label: String,
    /// Lines that have a point here.
    pub lines: Vec<Line>,
}

/// Points that belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Value of the key that makes lines; empty if none does.
    pub label: String,
    /// Place of the label in the legend.
    pub index: usize,
    /// From left to right.
    pub points: Vec<Point>,
    /// Printed in the paper, not measured.
    pub is_printed: bool,
}

/// What one cell gave.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Point {
    /// What is to the right, as text: the value of the key as the scenario names it, or the measure.
    pub label: String,
    /// The same as a number in [`Horizontal::unit`]; `None` where the axis has no numbers.
    pub x: Option<f64>,
    /// Place of the value on the axis, from 0.
    pub step: usize,
    /// Median over the runs, in the measure's base unit.
    pub y: f64,
    /// Its 95 % interval, where the summary has one.
    pub ci95: Option<[f64; 2]>,
    /// Of one measure over another: the values of the keys that make neither panes nor lines.
    pub cell: String,
    /// Of one measure over another: how the runs lie around the point.
    pub spread: Option<Spread>,
}

/// In place of a varied key where several levels over time make the lines.
const LEVEL: &str = "level";

impl Figure {
    /// The figure `spec` of `scenario` from a whole summary and series, fresh or read from `summary.json` and
    /// `series.json`. Cells that did not run, or have no such measure, have no point.
    pub fn of(scenario: &Scenario, spec: &FigureSpec, summary: &Summary, series: &Series) -> Figure {
        let cells = by_cell(scenario, &summary.cells, |cell| &cell.at);
        let over_time = by_cell(scenario, &series.cells, |cell| &cell.at);
        let measures: Vec<Measure> = spec.measures().map(Measure::named).collect();
        let mut x = Horizontal::of(scenario, &spec.x);
        let steps_of =
            |axis: &Option<String>| axis.as_deref().map_or(vec![String::new()], |axis| labels(scenario, axis));
        let (pane_labels, mut line_labels) = (steps_of(&spec.panes), steps_of(&spec.lines));
        if !spec.beside.is_empty() {
            line_labels = measures.iter().map(|measure| measure.title.clone()).collect();
        }
        let mut points = vec![vec![Vec::new(); line_labels.len()]; pane_labels.len()];
        for ((cell, found), series) in scenario.cells.iter().zip(cells).zip(over_time) {
            let label_on = |axis: &str| cell.at.iter().find(|(key, _)| key == axis).map(|(_, label)| label.as_str());
            let place = |axis: &Option<String>, labels: &[String]| {
                let label = axis.as_deref().and_then(label_on).unwrap_or_default();
                labels.iter().position(|known| known == label).unwrap_or(0)
            };
            let of_pane = &mut points[place(&spec.panes, &pane_labels)];
            let line = place(&spec.lines, &line_labels);
            let of_cell = &mut of_pane[line];
            match spec.across {
                // Several levels are the lines, and no key makes any.
                Across::Time => of_pane[line..].iter_mut().zip(&measures).for_each(|(of_level, level)| {
                    of_level.extend(series.into_iter().flat_map(|cell| over_time::points(cell, &level.name)));
                }),
                Across::Measure => of_cell.extend(found.and_then(|found| scatter::point(cell, found, spec))),
                Across::Key => {
                    let Some(found) = found.and_then(|cell| cell.readings.get(&spec.y)) else { continue };
                    let step = label_on(&spec.x).and_then(|label| x.steps.iter().position(|(known, _)| known == label));
                    let step = step.unwrap_or(0);
                    let (label, number) = x.steps[step].clone();
                    let (y, ci95) = (found.median, found.ci95);
                    of_cell.push(Point { label, x: number, step, y, ci95, ..Point::default() });
                }
            }
        }
        match spec.across {
            Across::Time => x = over_time::axis(points.iter().flatten().flatten()),
            Across::Measure => x = scatter::axis(&spec.x, points.iter_mut().flatten().flatten()),
            Across::Key => {}
        }
        let (panes, legend) = drawn(spec, &x, points, (pane_labels, line_labels));
        Figure {
            name: spec.name.clone(),
            source: source(scenario, spec, summary),
            panes,
            legend,
            panes_by: spec.panes.clone(),
            lines_by: spec.lines.clone().or_else(|| (!spec.beside.is_empty()).then(|| LEVEL.to_owned())),
            across: spec.across,
            x,
            y: together(measures),
        }
    }
}

/// Panes and legend: of the points of each pane and line, and their labels, those that there are, the curves and what is printed.
fn drawn(
    spec: &FigureSpec,
    x: &Horizontal,
    points: Vec<Vec<Vec<Point>>>,
    (pane_labels, line_labels): (Vec<String>, Vec<String>),
) -> (Vec<Pane>, Vec<String>) {
    let has_points = |line: &usize| points.iter().any(|pane| !pane[*line].is_empty());
    let shown: Vec<usize> = (0..line_labels.len()).filter(has_points).collect();
    let curves = curves(spec, x, shown.len());
    let line_labels: Vec<String> = line_labels.into_iter().map(as_shown).collect();
    let panes = pane_labels
        .into_iter()
        .zip(points)
        .map(|(label, lines)| Pane { label: as_shown(label), lines: measured(lines, &shown, &line_labels) });
    let panes = panes.filter(|pane| !pane.lines.is_empty()).map(|mut pane| {
        pane.lines.extend(curves.iter().cloned());
        pane
    });
    let of_curves = curves.iter().map(|curve| curve.label.clone());
    let mut legend = shown.iter().map(|&line| line_labels[line].clone()).chain(of_curves).collect();
    let mut panes = panes.collect::<Vec<Pane>>();
    printed::put(spec, x, &mut panes, &mut legend);
    (panes, legend)
}

/// What the axis upwards shows: one measure, or values of several levels of one unit.
fn together(mut measures: Vec<Measure>) -> Measure {
    let titles = measures.iter().map(|measure| measure.title.as_str()).collect::<Vec<_>>().join(", ");
    let is_one = measures.len() == 1;
    let first = measures.swap_remove(0);
    if is_one { first } else { first.renamed("value", &titles) }
}

/// The lines of a pane that have points, of those that are `shown` in the figure.
fn measured(mut lines: Vec<Vec<Point>>, shown: &[usize], labels: &[String]) -> Vec<Line> {
    let line = |(index, &line): (usize, &usize)| {
        let points = from_left_to_right(std::mem::take(&mut lines[line]));
        (!points.is_empty()).then(|| Line { label: labels[line].clone(), index, points, is_printed: false })
    };
    shown.iter().enumerate().filter_map(line).collect()
}

/// The formulas of a figure, a line each behind `lines` others.
fn curves(spec: &FigureSpec, x: &Horizontal, lines: usize) -> Vec<Line> {
    let curve = |(place, curve): (usize, &CurveSpec)| {
        let steps = x.steps.iter().enumerate();
        let points = steps.filter_map(|(step, (label, number))| {
            let y = curve.call.at(formula::input(label))?;
            Some(Point { label: label.clone(), x: *number, step, y, ..Point::default() })
        });
        let (label, points) = (curve.label.clone(), from_left_to_right(points.collect()));
        Line { label, index: lines + place, points, is_printed: false }
    };
    spec.curves.iter().enumerate().map(curve).collect()
}

fn labels(scenario: &Scenario, axis: &str) -> Vec<String> {
    scenario.axes.iter().find(|(name, _)| name == axis).map(|(_, labels)| labels.clone()).unwrap_or_default()
}

/// `none` in files is called plain in figures.
fn as_shown(label: String) -> String {
    if label == crate::catalogue::NO_SCHEME { "plain".into() } else { label }
}

fn from_left_to_right(mut points: Vec<Point>) -> Vec<Point> {
    points.sort_by(|a, b| match (a.x, b.x) {
        (Some(a), Some(b)) => a.total_cmp(&b),
        _ => a.step.cmp(&b.step),
    });
    points
}

fn source(scenario: &Scenario, spec: &FigureSpec, summary: &Summary) -> String {
    let world = match summary.cells.first().map(|cell| cell.world.as_str()) {
        Some("live") => "kernel TCP (live)",
        Some(world) => world,
        None => "nothing ran",
    };
    let numbers = match scenario.runs {
        1 => "one run each".to_owned(),
        _ if spec.is_over_time() => "the first run each".to_owned(),
        runs if spec.across == Across::Measure => {
            format!("medians of {runs} runs, ellipses: one standard deviation of the runs")
        }
        runs => format!("medians of {runs} runs, bars: 95 % intervals"),
    };
    format!("{} {} · {world} · {numbers}", scenario.name, scenario.hash)
}

#[cfg(test)]
mod tests;
