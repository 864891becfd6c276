//! From what the runs gave to a verdict.

use super::check::{Check, Point, Printed, Quorum, Rule};
use super::decide::{self, Finding};
use super::selection::{At, CellRef};
use super::{Basis, Claim, Subject};
use crate::results::{self, CellState, Estimate, Results};
use std::collections::BTreeMap;
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
    /// Sets of seeds differ: what each of them says.
    Undecided(String),
    /// The paper prints a number, and ours stands beside it.
    Beside,
    /// It could not be judged in this mode; why.
    NotJudged(String),
    /// It cannot be decided; the item, or what was not run.
    NotCheckable(String),
}

impl Verdict {
    /// One of the words of the closed set.
    pub fn word(&self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::HoldsOnlyWith(_) => "holds only with",
            Verdict::DoesNotHold => "does not hold",
            Verdict::Undecided(_) => "undecided",
            Verdict::Beside => "ours beside theirs",
            Verdict::NotJudged(_) => "not judged",
            Verdict::NotCheckable(_) => "not checkable",
        }
    }

    /// The item that belongs to it, or what else explains it.
    pub fn item(&self) -> Option<&str> {
        match self {
            Verdict::HoldsOnlyWith(item)
            | Verdict::NotCheckable(item)
            | Verdict::Undecided(item)
            | Verdict::NotJudged(item) => Some(item),
            Verdict::Holds | Verdict::DoesNotHold | Verdict::Beside => None,
        }
    }

    /// It holds, with the defaults or with something else.
    pub fn is_favourable(&self) -> bool {
        matches!(self, Verdict::Holds | Verdict::HoldsOnlyWith(_))
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::HoldsOnlyWith(item) => write!(f, "holds only with {item}"),
            Verdict::NotCheckable(item) => write!(f, "not checkable ({item})"),
            Verdict::Undecided(each) => write!(f, "undecided ({each})"),
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
    /// Whether the claim depends on it.
    pub decides: bool,
    /// What the paper prints, and ours over it at the point where they differ most.
    pub printed: Option<(Printed, f64)>,
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
    /// Of the check that decided: the first that fails, or the first; beside a printed number that one.
    pub estimate: Option<Estimate>,
    /// One sentence where the verdict needs one.
    pub reason: String,
    /// One per check.
    pub checks: Vec<CheckResult>,
}

/// What became of the tests that claims name.
#[derive(Clone, Debug)]
pub enum TestRuns {
    /// They are taken to pass: what they show does not depend on a control or a mutation.
    Assumed,
    /// Package and test, and whether it passed; `Err` says why it was not run.
    Run(BTreeMap<(String, String), Result<bool, String>>),
}

impl TestRuns {
    /// None was run.
    pub const NONE: TestRuns = TestRuns::Run(BTreeMap::new());

    /// Whether all `tests` of `package` pass; `Err` says what was not run.
    fn pass(&self, package: &str, tests: &[String]) -> Result<bool, String> {
        let TestRuns::Run(runs) = self else { return Ok(true) };
        let mut not_run = None;
        for test in tests {
            match runs.get(&(package.to_owned(), test.clone())) {
                Some(Ok(true)) => {}
                Some(Ok(false)) => return Ok(false),
                Some(Err(reason)) => not_run = Some(reason.clone()),
                None => not_run = Some(format!("the test {test} of {package} was not run")),
            }
        }
        not_run.map_or(Ok(true), Err)
    }
}

/// Where runs are found.
pub struct Evidence<'r, 't> {
    /// One per experiment.
    pub results: Vec<Results<'r>>,
    /// Where each cell of an experiment lies in its results; `None` if it was left out. Empty: all are where they are.
    pub places: Vec<Vec<Option<usize>>>,
    /// The tests that claims name.
    pub tests: &'t TestRuns,
}

impl Evidence<'_, '_> {
    /// Where the cell's runs were made.
    fn world(&self, cell: CellRef) -> &'static str {
        self.results[cell.experiment].world
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
pub fn judge(claim: &Claim, evidence: &Evidence<'_, '_>) -> Judgement {
    let checks = match &claim.subject {
        Subject::NotCheckable { item, reason } => {
            let verdict = Verdict::NotCheckable(item.clone());
            return Judgement { verdict, estimate: None, reason: reason.clone(), checks: Vec::new() };
        }
        Subject::Checks(checks) => checks,
    };
    let checks: Vec<CheckResult> = checks.iter().map(|check| apply(check, evidence)).collect();
    let failing = checks.iter().find(|check| check.decides && check.holds == Ok(false));
    let undecided = checks.iter().find_map(|check| check.holds.as_ref().err());
    let is_beside = claim.basis() == Basis::Printed;
    // One check that fails settles it, whatever could not be run.
    let (verdict, reason) = match (failing, undecided) {
        (Some(_), _) => (Verdict::DoesNotHold, String::new()),
        (None, Some(reason)) => (Verdict::NotCheckable("not run".into()), reason.clone()),
        (None, None) if is_beside => (Verdict::Beside, String::new()),
        (None, None) => (Verdict::Holds, String::new()),
    };
    let shown = |check: &&CheckResult| check.estimate.is_some() && (!is_beside || check.printed.is_some());
    let estimate = failing.or_else(|| checks.iter().find(shown)).and_then(|check| check.estimate);
    Judgement { verdict, estimate, reason, checks }
}

impl Judgement {
    /// What the paper prints and ours over it, of the first check that has such a number.
    pub fn printed(&self) -> Option<(Printed, f64)> {
        self.checks.iter().find_map(|check| check.printed)
    }
}

/// The verdict that sets of seeds agree on.
pub fn over_bases(verdicts: &[Verdict]) -> Verdict {
    let first = &verdicts[0];
    let not_run = verdicts.iter().find(|verdict| matches!(verdict, Verdict::NotCheckable(_)));
    match not_run {
        Some(verdict) => verdict.clone(),
        None if verdicts.iter().all(|verdict| verdict == first) => first.clone(),
        None => Verdict::Undecided(verdicts.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")),
    }
}

/// The verdict on a claim that was judged again under the variant that it is said to need, which comes with its words.
pub fn with_variant(base: &Verdict, variant: Option<(String, &Verdict)>) -> Verdict {
    match variant {
        Some((words, Verdict::Holds)) if *base == Verdict::DoesNotHold => Verdict::HoldsOnlyWith(words),
        _ => base.clone(),
    }
}

fn apply(check: &Check, evidence: &Evidence<'_, '_>) -> CheckResult {
    let mut result = CheckResult {
        kind: check.kind,
        text: check.text.clone(),
        measure: check.measure.clone(),
        holds: Ok(true),
        decides: check.decides,
        printed: None,
        estimate: None,
        points: Vec::new(),
    };
    match &check.rule {
        Rule::Test { package, tests } => {
            result.holds = evidence.tests.pass(package, tests);
            return result;
        }
        Rule::Analytic(value, bounds) => {
            let finding = decide::analytic(*value, *bounds);
            result.holds = Ok(finding.holds);
            result.estimate = Some(finding.estimate);
            result.printed = check.printed.map(|theirs| (theirs, decide::beside(*value, theirs)));
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
    if let Some(theirs) = check.printed {
        put_beside(&mut result, theirs);
    }
    result
}

/// Sets ours beside `theirs`, at the point where they differ most.
fn put_beside(result: &mut CheckResult, theirs: Printed) {
    let ratio = |finding: &Finding| decide::beside(finding.estimate.median, theirs);
    let findings = result.points.iter().map(|(_, finding)| finding);
    let farthest = findings.max_by(|a, b| ratio(a).ln().abs().total_cmp(&ratio(b).ln().abs()));
    let Some(finding) = farthest.copied() else { return };
    result.printed = Some((theirs, ratio(&finding)));
    if !result.decides {
        result.estimate = Some(finding.estimate);
    }
}

fn find(check: &Check, point: &Point, evidence: &Evidence<'_, '_>) -> Result<Finding, String> {
    let measure_of = |line| check.over_measure.as_ref().filter(|_| line == 1).unwrap_or(&check.measure);
    let values = |(line, cell): (usize, &CellRef)| evidence.values(*cell, measure_of(line));
    let lines: Vec<Vec<f64>> = point.cells.iter().enumerate().map(values).collect::<Result<_, _>>()?;
    let cross_worlds = point.cells.iter().any(|cell| evidence.world(*cell) != evidence.world(point.cells[0]));
    Ok(match &check.rule {
        Rule::Ratio(bounds) if cross_worlds => decide::ratio_of_medians(&lines[0], &lines[1], *bounds),
        Rule::Difference(bounds) if cross_worlds => decide::difference_of_medians(&lines[0], &lines[1], *bounds),
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
    fn sets_of_seeds_that_differ_leave_a_claim_undecided() {
        let of = |verdicts: &[Verdict]| over_bases(verdicts).to_string();
        assert_eq!(of(&[Verdict::Holds, Verdict::Holds, Verdict::Holds]), "holds");
        assert_eq!(of(&[Verdict::Holds, Verdict::DoesNotHold]), "undecided (holds; does not hold)");
        let only = || Verdict::HoldsOnlyWith("a (GSN-U1)".into());
        assert_eq!(of(&[only(), only()]), "holds only with a (GSN-U1)");
        assert_eq!(of(&[only(), Verdict::Holds]), "undecided (holds only with a (GSN-U1); holds)");
        let not_run = Verdict::NotCheckable("not run".into());
        assert_eq!(of(&[Verdict::Holds, not_run]), "not checkable (not run)");
    }

    #[test]
    fn a_test_that_fails_or_was_not_run_shows_nothing() {
        let key = |name: &str| ("p".to_owned(), name.to_owned());
        let runs = [(key("good"), Ok(true)), (key("bad"), Ok(false)), (key("unknown"), Err("no cargo".to_owned()))];
        let runs = TestRuns::Run(runs.into());
        let pass = |names: &[&str]| runs.pass("p", &names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        assert_eq!(pass(&["good"]), Ok(true));
        assert_eq!(pass(&["unknown", "bad"]), Ok(false));
        assert_eq!(pass(&["good", "unknown"]), Err("no cargo".into()));
        assert_eq!(pass(&["absent"]), Err("the test absent of p was not run".into()));
        assert_eq!(TestRuns::Assumed.pass("p", &["absent".into()]), Ok(true));
    }

    #[test]
    fn a_variant_can_only_rescue_a_claim_that_does_not_hold() {
        let with = |verdict| Some(("b".to_owned(), verdict));
        assert_eq!(with_variant(&Verdict::DoesNotHold, with(&Verdict::Holds)).to_string(), "holds only with b");
        for helpless in [with(&Verdict::DoesNotHold), with(&Verdict::Beside), None] {
            assert_eq!(with_variant(&Verdict::DoesNotHold, helpless), Verdict::DoesNotHold);
        }
        assert_eq!(with_variant(&Verdict::Holds, with(&Verdict::DoesNotHold)), Verdict::Holds);
        let not_run = Verdict::NotCheckable("not run".into());
        assert_eq!(with_variant(&not_run, with(&Verdict::Holds)), not_run);
    }
}
