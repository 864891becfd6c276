//! One measure over another: each cell is a point, and an ellipse says how its runs lie around it.
//!
//! The ellipse is the contour of one standard deviation of the normal distribution in two dimensions that fits the runs
//! best, as in Winstein and Balakrishnan, *TCP ex Machina* (SIGCOMM 2013). It leans where the measures go together.

use super::{Horizontal, Point, Scale};
use crate::results::summary::CellSummary;
use crate::scenario::{Cell, FigureSpec};
use crate::table::measure::Measure;

/// Fewer runs than this have no ellipse.
const FEWEST_RUNS: usize = 3;
/// Corners of the polygon that is drawn for an ellipse.
const CORNERS: usize = 48;

/// How runs lie around their mean, in two measures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// To the right in the axis's unit, upwards in the measure's base unit.
    pub mean: [f64; 2],
    /// Standard deviations, of the runs themselves (divided by their number).
    pub deviation: [f64; 2],
    /// −1 to 1; 0 where one of the measures is the same in all runs.
    pub correlation: f64,
}

impl Spread {
    /// Of the runs of a cell; `None` for fewer than three, or where a run tells only one of the measures.
    pub fn of(x: &[f64], y: &[f64]) -> Option<Spread> {
        if x.len() < FEWEST_RUNS || x.len() != y.len() {
            return None;
        }
        let mean = [x, y].map(|values| values.iter().sum::<f64>() / values.len() as f64);
        let product = |a: f64, b: f64| (a - mean[0]) * (b - mean[1]) / x.len() as f64;
        let covariance: f64 = x.iter().zip(y).map(|(&a, &b)| product(a, b)).sum();
        let squares = |values: &[f64], mean: f64| values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
        let deviation = [squares(x, mean[0]), squares(y, mean[1])].map(|sum| (sum / x.len() as f64).sqrt());
        // What rounding leaves of equal runs.
        let deviation =
            [0, 1].map(|axis| if deviation[axis] < mean[axis].abs() * 1e-9 { 0.0 } else { deviation[axis] });
        let both = deviation[0] * deviation[1];
        let correlation = if both > 0.0 { (covariance / both).clamp(-1.0, 1.0) } else { 0.0 };
        Some(Spread { mean, deviation, correlation })
    }

    /// The least and greatest value, to the right or upwards.
    pub fn ends(&self, axis: usize) -> [f64; 2] {
        [self.mean[axis] - self.deviation[axis], self.mean[axis] + self.deviation[axis]]
    }

    /// Corners of a polygon along the ellipse.
    pub fn outline(&self) -> impl Iterator<Item = [f64; 2]> {
        let Spread { mean, deviation, correlation } = *self;
        let own = (1.0 - correlation * correlation).sqrt();
        (0..CORNERS).map(move |corner| {
            let (sine, cosine) = (std::f64::consts::TAU * corner as f64 / CORNERS as f64).sin_cos();
            [mean[0] + deviation[0] * cosine, mean[1] + deviation[1] * (correlation * cosine + own * sine)]
        })
    }
}

/// What a cell gave, if it tells both measures.
pub fn point(cell: &Cell, found: &CellSummary, spec: &FigureSpec) -> Option<Point> {
    let (x, y) = (Measure::named(&spec.x), found.readings.get(&spec.y)?);
    let right = x.reading(found)?;
    let converted: Vec<f64> = right.runs.iter().map(|&run| x.unit.convert(run)).collect();
    let is_named = |key: &String| [&spec.panes, &spec.lines].into_iter().flatten().any(|axis| axis == key);
    let rest = cell.at.iter().filter(|(key, _)| !is_named(key)).map(|(_, label)| label.as_str());
    Some(Point {
        label: x.write(right.median),
        x: Some(x.unit.convert(right.median)),
        y: y.median,
        ci95: y.ci95,
        cell: rest.collect::<Vec<_>>().join(", "),
        spread: Spread::of(&converted, &y.runs),
        ..Point::default()
    })
}

/// The axis of the measure `name`, and each point's step on it: one for each different number.
pub fn axis<'a>(name: &str, points: impl Iterator<Item = &'a mut Point>) -> Horizontal {
    let mut points: Vec<&mut Point> = points.collect();
    points.sort_by(|a, b| a.x.unwrap_or(0.0).total_cmp(&b.x.unwrap_or(0.0)));
    let mut steps: Vec<(String, Option<f64>)> = Vec::new();
    for point in points {
        if steps.last().is_none_or(|(_, number)| *number != point.x) {
            steps.push((point.label.clone(), point.x));
        }
        point.step = steps.len() - 1;
    }
    let measure = Measure::named(name);
    let ends = steps.first().zip(steps.last()).and_then(|((_, low), (_, high))| low.zip(*high));
    let is_wide = ends.is_some_and(|(low, high)| low > 0.0 && high / low > super::horizontal::TWO_DECADES);
    let scale = if is_wide { Scale::Logarithmic } else { Scale::Linear };
    Horizontal { name: name.to_owned(), title: measure.title, unit: measure.unit.label().to_owned(), scale, steps }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ellipse_has_the_deviations_of_the_runs_and_leans_as_they_do() {
        let spread = Spread::of(&[1.0, 2.0, 3.0], &[10.0, 20.0, 30.0]).unwrap();
        assert_eq!(spread.mean, [2.0, 20.0]);
        assert!((spread.deviation[0] - (2.0f64 / 3.0).sqrt()).abs() < 1e-12, "divided by three runs, not by two");
        assert!((spread.correlation - 1.0).abs() < 1e-12);
        // Runs on a straight line: the ellipse is that line.
        assert!(spread.outline().all(|[x, y]| (y - 10.0 * x).abs() < 1e-6));
        let falling = Spread::of(&[1.0, 2.0, 3.0], &[3.0, 2.0, 1.0]).unwrap();
        assert!((falling.correlation + 1.0).abs() < 1e-12);
    }

    #[test]
    fn runs_that_differ_in_one_measure_only_have_a_flat_ellipse() {
        let spread = Spread::of(&[5.0, 5.0, 5.0], &[1.0, 2.0, 6.0]).unwrap();
        assert_eq!((spread.correlation, spread.ends(0)), (0.0, [5.0, 5.0]));
        assert!(spread.outline().all(|[x, y]| x == 5.0 && y.is_finite()));
    }

    #[test]
    fn two_runs_and_runs_that_tell_one_measure_have_no_ellipse() {
        assert_eq!(Spread::of(&[1.0, 2.0], &[1.0, 2.0]), None);
        assert_eq!(Spread::of(&[1.0, 2.0, 3.0], &[1.0, 2.0]), None);
        assert_eq!(Spread::of(&[], &[]), None);
    }
}
