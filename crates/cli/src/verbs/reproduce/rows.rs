//! The verdicts of a paper as lines of a terminal.

use airtcp_experiment::paper::judge::CheckResult;
use airtcp_experiment::paper::reproduce::JudgedClaim;
use airtcp_experiment::paper::{Claim, Reproduction, Verdict};
use airtcp_experiment::table::Style;
use std::fmt::Write;

/// A row per claim, and below it the variants that come out otherwise.
pub(super) fn of(reproduction: &Reproduction<'_>, style: Style) -> String {
    let paper = &reproduction.plan.paper;
    let quick = reproduction.plan.mode.quick;
    let columns =
        |(claim, judged): (&Claim, &JudgedClaim)| [claim.id.clone(), verdict(claim, judged, quick), number(judged)];
    let cells: Vec<[String; 3]> = paper.claims.iter().zip(&reproduction.claims).map(columns).collect();
    let width = |column: usize| cells.iter().map(|cells| cells[column].chars().count()).max().unwrap_or(0);
    let widths = [width(0), width(1), width(2)];
    let mut text = format!("{}\n\n", style.bold(&paper.title));
    for ((claim, judged), cells) in paper.claims.iter().zip(&reproduction.claims).zip(&cells) {
        for (cell, width) in cells.iter().zip(widths) {
            let _ = write!(text, "{cell:width$}  ");
        }
        let _ = writeln!(text, "{}", claim.sentence);
        for line in details(reproduction, claim, judged) {
            let _ = writeln!(text, "{:indent$}{}", "", style.dim(&line), indent = widths[0] + 2);
        }
    }
    let mode = reproduction.plan.mode;
    let tally = reproduction.tally().sentence();
    let words = if mode.mutations {
        "with the mechanism of each claim switched off; a claim that still holds fails"
    } else if mode.control {
        "without the scheme; a comparative claim that holds is vacuous"
    } else {
        ""
    };
    let quick = if mode.quick { "indicative only: fewer and shorter runs, one set of seeds, no sweeps" } else { "" };
    for line in [&*tally, words, quick].into_iter().filter(|line| !line.is_empty()) {
        let _ = write!(text, "\n{line}");
    }
    text
}

fn verdict(claim: &Claim, judged: &JudgedClaim, quick: bool) -> String {
    if judged.is_vacuous {
        return "vacuous".into();
    }
    let is_judged = !matches!(judged.verdict, Verdict::NotJudged(_) | Verdict::NotCheckable(_));
    let quick = if quick && is_judged && claim.is_measured() { " (indicative)" } else { "" };
    let settings = judged.share_of_settings().map(|(holds, all)| format!(", in {holds} of {all} settings"));
    format!("{}{quick}{}", judged.verdict, settings.unwrap_or_default())
}

fn number(judged: &JudgedClaim) -> String {
    let Some(estimate) = judged.judgement.estimate else { return String::new() };
    let [low, high] = estimate.ci95;
    let ours = format!("{} [{}, {}]", digits(estimate.median), digits(low), digits(high));
    match judged.judgement.printed().filter(|_| judged.verdict == Verdict::Beside) {
        Some((theirs, ratio)) => format!("{ours} beside {}, ratio {}", range(theirs), digits(ratio)),
        None => ours,
    }
}

fn range([low, high]: [f64; 2]) -> String {
    if low == high { digits(low) } else { format!("{} to {}", digits(low), digits(high)) }
}

/// Three significant digits, or – for what is not finite.
fn digits(value: f64) -> String {
    if !value.is_finite() {
        return "–".into();
    }
    let magnitude = if value == 0.0 { 0 } else { value.abs().log10().floor() as i32 };
    let decimals = usize::try_from((2 - magnitude).clamp(0, 6)).unwrap_or(0);
    format!("{value:.decimals$}")
}

/// Ours beside what the paper prints.
fn beside(check: &CheckResult) -> Option<String> {
    let (theirs, ratio) = check.printed?;
    let ours = digits(check.estimate?.median);
    Some(format!("ours {ours}, theirs {}, ratio {}: {}", range(theirs), digits(ratio), check.text))
}

/// What fails; of several checks with numbers each with its own, as the row has only one of them.
fn deciding(checks: &[CheckResult]) -> impl Iterator<Item = String> {
    let is_deciding = |check: &&CheckResult| check.decides && check.holds.is_ok();
    let measured = checks.iter().filter(|check| check.estimate.is_some()).count();
    checks.iter().filter(is_deciding).filter_map(move |check| {
        let word = if check.holds == Ok(true) { "holds" } else { "fails" };
        match check.estimate.filter(|_| measured > 1 && check.printed.is_none()) {
            Some(estimate) => Some(format!("{word}, {}: {}", digits(estimate.median), check.text)),
            None => (check.holds == Ok(false)).then(|| format!("fails: {}", check.text)),
        }
    })
}

fn details(reproduction: &Reproduction<'_>, claim: &Claim, judged: &JudgedClaim) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    if !judged.judgement.reason.is_empty() {
        lines.push(judged.judgement.reason.clone());
    }
    lines.extend(deciding(&judged.judgement.checks));
    let mode = reproduction.plan.mode;
    if let Some(index) = claim.mutation.filter(|_| mode.mutations) {
        let mutation = &reproduction.plan.paper.mutations[index];
        lines.push(format!("{}: {}", mutation.name, mutation.about));
    }
    if !mode.control && !mode.mutations {
        let tests = judged.judgement.checks.iter().filter(|check| check.kind == "test" && check.holds != Ok(false));
        let word = |check: &CheckResult| if check.holds.is_ok() { "passed" } else { "not run" };
        lines.extend(tests.map(|check| format!("{}: {}", word(check), check.text)));
    }
    lines.extend(judged.judgement.checks.iter().filter_map(beside));
    let otherwise = judged.sensitivity.iter().filter(|(_, other)| other.verdict != judged.judgement.verdict);
    lines.extend(otherwise.map(|(index, other)| {
        let variant = &reproduction.plan.paper.variants[*index];
        format!("{}: {} ({})", variant.words(), other.verdict, variant.about)
    }));
    for (index, steps) in &judged.sweeps {
        let sweep = &reproduction.plan.paper.sweeps[*index];
        let settings = sweep.steps.iter().zip(steps).map(|(label, step)| format!("{label}: {}", step.verdict));
        lines.push(format!("{}: {}", sweep.about, settings.collect::<Vec<_>>().join(", ")));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use airtcp_experiment::results::Estimate;

    fn check(text: &str, holds: Result<bool, String>, median: Option<f64>) -> CheckResult {
        CheckResult {
            kind: "ratio",
            text: text.into(),
            measure: String::new(),
            holds,
            decides: true,
            printed: None,
            estimate: median.map(|median| Estimate { median, ci95: [median; 2] }),
            points: Vec::new(),
        }
    }

    #[test]
    fn of_several_checks_each_has_its_number() {
        let lines = |checks: &[CheckResult]| deciding(checks).collect::<Vec<_>>();
        let goodput = check("goodput is as high", Ok(true), Some(0.992));
        assert_eq!(lines(std::slice::from_ref(&goodput)), [""; 0], "the row has it");
        assert_eq!(lines(&[check("goodput is as high", Ok(false), Some(0.5))]), ["fails: goodput is as high"]);
        let checks = [goodput, check("pings are short", Ok(false), Some(1.031)), check("a test", Ok(false), None)];
        assert_eq!(
            lines(&checks),
            ["holds, 0.992: goodput is as high", "fails, 1.03: pings are short", "fails: a test"]
        );
        let beside = CheckResult { decides: false, ..check("as in the paper", Ok(true), Some(1.1)) };
        assert_eq!(
            lines(&[beside, checks[0].clone()]),
            ["holds, 0.992: goodput is as high"],
            "the row may have the other"
        );
        assert_eq!(
            lines(&[checks[1].clone(), check("not run", Err("no root".into()), None)]),
            ["fails: pings are short"]
        );
    }
}
