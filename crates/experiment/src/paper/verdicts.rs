//! `docs/verdicts.md`: every claim of every paper in a row, made from the papers' files and what their runs left.

use super::check::Check;
use super::output::verdict_in_words;
use super::tally::Tally;
use super::{Basis, Claim, Paper, Subject};
use crate::marked;
use serde_json::Value;
use std::fmt::Write;

/// A paper with what a full run and a run under mutations left as `claims.json`, where there is such a run.
pub struct Judged {
    /// The paper.
    pub paper: Paper,
    /// Of `airtcp reproduce`.
    pub full: Option<Value>,
    /// Of `airtcp reproduce --mutations`.
    pub mutations: Option<Value>,
}

const HEAD: &str = "# Verdicts

This page is for readers who want to know how much of each paper we confirm: a row for each claim. `make verdicts` writes it
from the papers' files and the results of `airtcp reproduce SLUG` and `airtcp reproduce SLUG --mutations`; of a paper
without results the section stays as it was. [papers.md](papers.md) says how claims are judged. *Settings*: in how many
settings of its sweeps a claim holds. *Mutation*: what becomes of it with its mechanism switched off. Numbers are in base
units (bit/s, ns, bytes, shares of one), with their 95 % intervals.
";

/// The page after `old`: a paper that was not run keeps its section.
pub fn page(old: &str, papers: &[Judged]) -> String {
    let body = |judged: &Judged| {
        let kept = kept(old, &judged.paper).filter(|_| judged.full.is_none());
        kept.unwrap_or_else(|| section(judged))
    };
    let sections = papers.iter().map(|judged| marked::section(&judged.paper.slug, &body(judged)));
    format!("{HEAD}\n{}", sections.collect::<Vec<_>>().join("\n"))
}

/// The section of a paper in the page as it was, which says if the paper's file is another now.
fn kept(old: &str, paper: &Paper) -> Option<String> {
    let body = marked::find(old, &paper.slug)?;
    let body = body.strip_prefix(CHANGED).unwrap_or(body);
    let changed = if body.starts_with(&file_of(paper)) { "" } else { CHANGED };
    Some(format!("{changed}{body}"))
}

const CHANGED: &str = "**The paper's file has changed since this was judged.**\n\n";

/// Which file a section is about.
fn file_of(paper: &Paper) -> String {
    format!("<!-- file {} -->\n", paper.hash)
}

fn section(judged: &Judged) -> String {
    let paper = &judged.paper;
    let mut own = Tally::default();
    let mut rows = String::new();
    let mut sweeps = String::new();
    for claim in &paper.claims {
        let row = of(judged.full.as_ref(), &claim.id);
        own.add(claim.basis(), row["verdict"].as_str().unwrap_or("not run"));
        let columns = columns(paper, claim, row, of(judged.mutations.as_ref(), &claim.id));
        let _ = writeln!(rows, "| {} |", columns.map(|column| cell(&column)).join(" | "));
        row["sweeps"].as_array().into_iter().flatten().for_each(|sweep| sweeps.push_str(&sweep_rows(&claim.id, sweep)));
    }
    let citation = paper.citation.trim_end_matches('.');
    let (number, tally) = (paper.claims.len(), own.sentence());
    let mut text = format!("{}\n## {}\n\n", file_of(paper), paper.title);
    let _ = write!(text, "{citation}.\n\n{number} claims; {tally}.\n\n");
    let titles = ["claim", "the paper", "our check", "setting", "ours", "theirs", "verdict", "settings", "mutation"];
    let _ = writeln!(text, "| {} |\n|{}", titles.join(" | "), "---|".repeat(titles.len()));
    text.push_str(&rows);
    let abouts = paper.experiments.iter().map(|experiment| (&experiment.id, experiment.scenario.about.trim()));
    let abouts: Vec<String> = abouts.map(|(id, about)| format!("*{id}*: {about}.")).collect();
    let _ = write!(text, "\nSettings: {}\n", abouts.join(" "));
    if !sweeps.is_empty() {
        let _ = write!(text, "\n| claim | swept | setting | verdict | ours |\n|---|---|---|---|---|\n{sweeps}");
    }
    text
}

/// What `claims.json` says of a claim; null without a run.
fn of<'a>(claims: Option<&'a Value>, id: &str) -> &'a Value {
    let rows = claims.and_then(|claims| claims["claims"].as_array()).map(Vec::as_slice).unwrap_or_default();
    rows.iter().find(|row| row["id"] == id).unwrap_or(&Value::Null)
}

fn columns(paper: &Paper, claim: &Claim, row: &Value, mutated: &Value) -> [String; 9] {
    let (check, setting) = match &claim.subject {
        Subject::NotCheckable { reason, .. } => (reason.clone(), String::new()),
        Subject::Checks(checks) => (texts(checks), settings(paper, claim, checks)),
    };
    let settings = row["sweeps"].as_array().into_iter().flatten();
    let share = settings.filter_map(|sweep| Some((sweep["holds"].as_u64()?, sweep["of"].as_u64()?)));
    let share = share.reduce(|(holds, all), (more, others)| (holds + more, all + others));
    let share = share.map_or_else(String::new, |(holds, all)| format!("{holds} of {all}"));
    let mutation = mutation(paper, claim, mutated);
    [claim.id.clone(), claim.sentence.clone(), check, setting, ours(row), theirs(row), verdict(row), share, mutation]
}

fn texts(checks: &[Check]) -> String {
    checks.iter().map(|check| check.text.clone()).collect::<Vec<_>>().join("; ")
}

/// The experiments and their runs.
fn settings(paper: &Paper, claim: &Claim, checks: &[Check]) -> String {
    let cells = checks.iter().flat_map(|check| &check.points).flat_map(|point| &point.cells);
    let mut used: Vec<usize> = cells.map(|cell| cell.experiment).collect();
    used.sort_unstable();
    used.dedup();
    let of = |index: &usize| {
        let experiment = &paper.experiments[*index];
        format!("{}, {} runs", experiment.id, experiment.scenario.runs)
    };
    let experiments: Vec<String> = used.iter().map(of).collect();
    if claim.is_measured() {
        format!("{}, {} sets of seeds", experiments.join("; "), paper.seed_bases)
    } else {
        String::new()
    }
}

fn ours(row: &Value) -> String {
    let Some(value) = row["value"].as_f64() else { return String::new() };
    match (row["ci95"][0].as_f64(), row["ci95"][1].as_f64()) {
        (Some(low), Some(high)) if low < high => format!("{} [{}, {}]", digits(value), digits(low), digits(high)),
        _ => digits(value),
    }
}

/// The printed number, and ours over it.
fn theirs(row: &Value) -> String {
    let (Some(low), Some(high)) = (row["printed"][0].as_f64(), row["printed"][1].as_f64()) else {
        return String::new();
    };
    let printed = if low == high { digits(low) } else { format!("{} to {}", digits(low), digits(high)) };
    row["ratio"].as_f64().map_or(printed.clone(), |ratio| format!("{printed}, ratio {}", digits(ratio)))
}

fn verdict(row: &Value) -> String {
    if row.is_null() { "not run".into() } else { verdict_in_words(row) }
}

fn mutation(paper: &Paper, claim: &Claim, row: &Value) -> String {
    let what = claim.mutation.map(|index| &paper.mutations[index]);
    let outcome = match row["verdict"].as_str() {
        None => "not run",
        Some("does not hold") => "fails, as it must",
        Some("holds") => "still holds",
        Some(other) => other,
    };
    match (what, &claim.mutation_explained) {
        (Some(mutation), None) => format!("{}: {outcome}", mutation.about),
        (Some(mutation), Some(why)) => format!("{}: {outcome}; {why}", mutation.about),
        (None, Some(why)) => why.clone(),
        (None, None) if claim.basis() == Basis::Measured => "not comparative".into(),
        (None, None) => String::new(),
    }
}

fn sweep_rows(id: &str, sweep: &Value) -> String {
    let mut rows = String::new();
    for step in sweep["settings"].as_array().into_iter().flatten() {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let columns =
            [id.to_owned(), text(&sweep["about"]), text(&step["setting"]), text(&step["verdict"]), ours(step)];
        let _ = writeln!(rows, "| {} |", columns.map(|column| cell(&column)).join(" | "));
    }
    rows
}

/// Four significant digits; large numbers in powers of ten.
fn digits(value: f64) -> String {
    let magnitude = if value == 0.0 { 0 } else { value.abs().log10().floor() as i32 };
    if magnitude > 5 {
        return format!("{value:.3e}");
    }
    format!("{value:.*}", usize::try_from((3 - magnitude).clamp(0, 6)).unwrap_or(0))
}

/// Text in a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
