//! The checks a claim can be decided by: a closed set. Reading one resolves its selections to cells, so that whatever
//! does not fit the experiments is an error of the file, with its line, before anything runs.

mod kinds;
mod points;
mod read;

pub use kinds::{CheckKind, KINDS};
pub use read::read;

use super::decide::{Bounds, Direction};
use super::selection::{At, CellRef};

/// The decision rule of a check, with its thresholds.
#[derive(Clone, Debug)]
pub enum Rule {
    /// The first cell of a point over the second.
    Ratio(Bounds),
    /// The first cell of a point less the second.
    Difference(Bounds),
    /// Each cell of a point more than this factor times the next.
    Ordering(f64),
    /// The cells of a point in their order.
    Monotone(Direction, f64),
    /// The one cell of a point.
    Within(Bounds),
    /// The first half of a point's cells against the second half.
    Crossover {
        /// The first half is above the second before the crossing.
        starts_above: bool,
        /// The interval on the axis.
        between: [f64; 2],
    },
    /// The cells of a point in their order.
    Diminishing,
    /// The gain of the first cell over the second, and that of the third over the fourth, at most so far apart.
    Agreement(f64),
    /// A number that needs no runs.
    Analytic(f64, Bounds),
    /// Tests of the repository.
    Test {
        /// The crate they are in.
        package: String,
        /// Their names.
        tests: Vec<String>,
    },
}

/// How many points have to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quorum {
    /// Every one.
    All,
    /// More than half.
    Most,
}

/// One place at which a rule is applied.
#[derive(Clone, Debug)]
pub struct Point {
    /// What distinguishes it from the other points of the check.
    pub at: At,
    /// The cells the rule takes, in its order.
    pub cells: Vec<CellRef>,
    /// Where they lie along the axis, for a rule that follows one.
    pub x: Vec<f64>,
}

/// What the paper prints: both ends of a range, the same for a single number.
pub type Printed = [f64; 2];

/// One check, resolved to cells.
#[derive(Clone, Debug)]
pub struct Check {
    /// Name of its kind.
    pub kind: &'static str,
    /// What it asks, in words.
    pub text: String,
    /// What is compared; empty where nothing is measured.
    pub measure: String,
    /// What of the second line of a ratio or a difference it is compared with, if that is another measure.
    pub over_measure: Option<String>,
    /// How it is decided.
    pub rule: Rule,
    /// What the paper prints.
    pub printed: Option<Printed>,
    /// Whether the claim depends on it; if not, it only puts our number beside the printed one.
    pub decides: bool,
    /// How many points have to hold.
    pub quorum: Quorum,
    /// Where; empty where nothing is measured.
    pub points: Vec<Point>,
}
