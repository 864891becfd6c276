//! From what the runs gave to a verdict.

use super::check::{Check, Point, Quorum, Rule};
use super::decide::{self, Finding};
use super::selection::{At, CellRef};
use super::{Claim, Subject};
use crate::results::{self, CellState, Estimate, Results};
use std::fmt;

/// What became of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It holds with the defaults of everything the paper leaves open.
    Holds,
    /// It does not hold with the defaults, but with another setting of this item.
    HoldsOnlyWith(String),
    /// It does not hold, with the defaults and with every variant tried.
    DoesNotHold,
    /// It cannot be decided; the item, or what was not run.
    NotCheckable(String),
}

impl Verdict {
    /// One of the four words of the closed set.
    pub fn word(&self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::HoldsOnlyWith(_) => "holds only with",
            Verdict::DoesNotHold => "does not hold",
            Verdict::NotCheckable(_) => "not checkable",
        }
    }

    /// The item that belongs to it.
    pub fn item(&self) -> Option<&str> {
        match self {
            Verdict::HoldsOnlyWith(item) | Verdict::NotCheckable(item) => Some(item),
            Verdict::Holds | Verdict::DoesNotHold => None,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::HoldsOnlyWith(item) => write!(f, "holds only with {item}"),
            Verdict::NotCheckable(item) => write!(f, "not checkable ({item})"),
            _ => f.write_str(self.word()),
        }
    }
}

/// A check and what it found.
#[derive(Clone, Debug)]
pub struct CheckResult {
    /// Name of its kind.
    pub kind: &'static str,
    /// What it asks.
    pub text: String,
    /// What is compared; empty where nothing is measured.
    pub measure: String,
    /// Whether it holds; `Err` says what was not run.
    pub holds: Result<bool, String>,
    /// The number at the point that decided.
    pub estimate: Option<Estimate>,
    /// Every point, in the order of the cells.
    pub points: Vec<(At, Finding)>,
}

/// A claim, judged.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// Of the check that decided: the first that fails, or the first.
    pub estimate: Option<Estimate>,
    /// One sentence where the verdict needs one.
    pub reason: String,
    /// One per check.
    pub checks: Vec<CheckResult>,
}

/// Where runs are found.
pub struct Evidence<'a> {
    /// One per experiment.
    pub results: Vec<Results<'a>>,
    /// Where each cell of an experiment lies in its results; `None` if it was left out. Empty: all are where they are.
    pub places: Vec<Vec<Option<usize>>>,
}

impl<'a> Evidence<'a> {
    /// All cells were run.
    pub fn complete(results: Vec<Results<'a>>) -> Self {
        Evidence { places: vec![Vec::new(); results.len()], results }
    }

    /// The measure, run by run.
    fn values(&self, cell: CellRef, measure: &str) -> Result<Vec<f64>, String> {
        let results = &self.results[cell.experiment];
        let places = &self.places[cell.experiment];
        let place = if places.is_empty() { Some(cell.cell) } else { places.get(cell.cell).copied().flatten() };
        let place = place.ok_or("a cell was left out")?;
        let name = || results::describe(&results.scenario.cells[place]);
        match &results.cells[place] {
            CellState::Done(runs) if runs.iter().any(|run| run.emulator.is_some_and(|link| !link.valid)) => Err(
                format!("{}: the emulator did not hold its rate, delay or loss; run again on an idle machine", name()),
            ),
            CellState::Done(_) => {
                results::values(results, place, measure).ok_or_else(|| format!("{} has no {measure}", name()))
            }
            CellState::Pending => Err(format!("{} was not run", name())),
            CellState::Skipped(reason) | CellState::Failed(reason) => Err(format!("{}: {reason}", name())),
        }
    }
}

/// Judges `claim` on `evidence`.
pub fn judge(claim: &Claim, evidence: &Evidence<'_>) -> Judgement {
    let checks = match &claim.subject {
        Subject::NotCheckable { item, reason } => {
            let verdict = Verdict::NotCheckable(item.clone());
            return Judgement { verdict, estimate: None, reason: reason.clone(), checks: Vec::new() };
        }
        Subject::Checks(checks) => checks,
    };
    let checks: Vec<CheckResult> = checks.iter().map(|check| apply(check, evidence)).collect();
    let failing = checks.iter().find(|check| check.holds == Ok(false));
    let undecided = checks.iter().find_map(|check| check.holds.as_ref().err());
    // One check that fails settles it, whatever could not be run.
    let (verdict, reason) = match (failing, undecided) {
        (Some(_), _) => (Verdict::DoesNotHold, String::new()),
        (None, Some(reason)) => (Verdict::NotCheckable("not run".into()), reason.clone()),
        (None, None) => (Verdict::Holds, String::new()),
    };
    let estimate = match failing {
        Some(check) => check.estimate,
        None => checks.iter().find_map(|check| check.estimate),
    };
    Judgement { verdict, estimate, reason, checks }
}

/// The verdict on a claim that was judged again under variants, each with the item it settles otherwise.
pub fn with_variants<'a>(base: &Verdict, variants: impl IntoIterator<Item = (&'a str, &'a Verdict)>) -> Verdict {
    if *base != Verdict::DoesNotHold {
        return base.clone();
    }
    let mut items = variants.into_iter().filter(|(_, verdict)| **verdict == Verdict::Holds).map(|(item, _)| item);
    items.next().map_or(Verdict::DoesNotHold, |item| Verdict::HoldsOnlyWith(item.to_owned()))
}

fn apply(check: &Check, evidence: &Evidence<'_>) -> CheckResult {
    let mut result = CheckResult {
        kind: check.kind,
        text: check.text.clone(),
        measure: check.measure.clone(),
        holds: Ok(true),
        estimate: None,
        points: Vec::new(),
    };
    match &check.rule {
        // What a test shows is not shown again here; `make test` runs it and tidy holds that it is there.
        Rule::Test { .. } => return result,
        Rule::Analytic(value, bounds) => {
            let finding = decide::analytic(*value, *bounds);
            result.holds = Ok(finding.holds);
            result.estimate = Some(finding.estimate);
            return result;
        }
        _ => {}
    }
    for point in &check.points {
        match find(check, point, evidence) {
            Ok(finding) => result.points.push((point.at.clone(), finding)),
            Err(reason) => {
                result.holds = Err(reason);
                return result;
            }
        }
    }
    let (holds, deciding) = decide_points(check.quorum, &result.points);
    result.holds = Ok(holds);
    result.estimate = deciding.map(|finding| finding.estimate);
    result
}

fn find(check: &Check, point: &Point, evidence: &Evidence<'_>) -> Result<Finding, String> {
    let measure_of = |line| check.over_measure.as_ref().filter(|_| line == 1).unwrap_or(&check.measure);
    let values = |(line, cell): (usize, &CellRef)| evidence.values(*cell, measure_of(line));
    let lines: Vec<Vec<f64>> = point.cells.iter().enumerate().map(values).collect::<Result<_, _>>()?;
    Ok(match &check.rule {
        Rule::Ratio(bounds) => decide::ratio(&lines[0], &lines[1], *bounds),
        Rule::Difference(bounds) => decide::difference(&lines[0], &lines[1], *bounds),
        Rule::Ordering(by) => decide::ordering(&lines, *by),
        Rule::Monotone(direction, tolerance) => decide::monotone(&lines, *direction, *tolerance),
        Rule::Within(bounds) => decide::within(&lines[0], *bounds),
        Rule::Crossover { starts_above, between: [from, to] } => {
            let (a, b) = lines.split_at(lines.len() / 2);
            decide::crossover(&point.x, a, b, *starts_above, *from, *to)
        }
        Rule::Agreement(apart) => decide::agreement([&lines[0], &lines[1]], [&lines[2], &lines[3]], *apart),
        Rule::Diminishing => decide::diminishing(&lines),
        Rule::Analytic(..) | Rule::Test { .. } => unreachable!("these have no points"),
    })
}

/// Whether enough points hold, and the one that decided: of the points in order of their slack the last that is needed.
fn decide_points(quorum: Quorum, points: &[(At, Finding)]) -> (bool, Option<Finding>) {
    let needed = match quorum {
        Quorum::All => points.len(),
        Quorum::Most => points.len() / 2 + 1,
    };
    let mut findings: Vec<Finding> = points.iter().map(|(_, finding)| *finding).collect();
    findings.sort_by(|a, b| b.holds.cmp(&a.holds).then(b.slack.total_cmp(&a.slack)));
    let deciding = findings.get(needed.saturating_sub(1)).copied();
    (deciding.is_some_and(|finding| finding.holds), deciding)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(holding: usize, failing: usize) -> Vec<(At, Finding)> {
        let finding = |slack: f64| {
            let estimate = Estimate { median: 1.0 + slack, ci95: [1.0 + slack; 2] };
            (At::new(), Finding { estimate, holds: slack > 0.0, slack })
        };
        let held = (1..=holding).map(|n| finding(n as f64));
        held.chain((1..=failing).map(|n| finding(-(n as f64)))).collect()
    }

    #[test]
    fn all_points_means_every_single_one() {
        assert!(decide_points(Quorum::All, &points(4, 0)).0);
        assert!(!decide_points(Quorum::All, &points(4, 1)).0);
    }

    #[test]
    fn most_points_means_more_than_half() {
        assert!(decide_points(Quorum::Most, &points(3, 2)).0);
        assert!(!decide_points(Quorum::Most, &points(2, 2)).0);
    }

    #[test]
    fn the_number_shown_is_that_of_the_point_that_decided() {
        let shown = |quorum, points: &[_]| decide_points(quorum, points).1.unwrap().slack;
        assert_eq!(shown(Quorum::All, &points(3, 0)), 1.0, "the closest of those that hold");
        assert_eq!(shown(Quorum::All, &points(3, 2)), -2.0, "the worst of those that fail");
        assert_eq!(shown(Quorum::Most, &points(3, 2)), 1.0);
    }

    #[test]
    fn a_variant_can_only_rescue_a_claim_that_does_not_hold() {
        let variants = [("GSN-U1", &Verdict::DoesNotHold), ("GSN-U3", &Verdict::Holds)];
        assert_eq!(with_variants(&Verdict::DoesNotHold, variants).to_string(), "holds only with GSN-U3");
        assert_eq!(with_variants(&Verdict::DoesNotHold, [variants[0]]), Verdict::DoesNotHold);
        assert_eq!(with_variants(&Verdict::Holds, [variants[0]]), Verdict::Holds);
        let not_run = Verdict::NotCheckable("not run".into());
        assert_eq!(with_variants(&not_run, variants), not_run);
    }
}
