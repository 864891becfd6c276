//! `claims.json`, and the directory of a reproduced paper.
//!
//! ```text
//! results/paper-<slug>-<hash>/
//!   claims.json                     every claim with its verdict
//!   <slug>-<experiment>-<hash>/sim/ what `airtcp run` writes for each experiment
//!   report.html                     written by the command
//! ```
//!
//! Numbers have six significant digits; what is not finite (a gain over nothing) is `null`.

use super::check::Printed;
use super::decide::Finding;
use super::judge::{CheckResult, Judgement, Verdict};
use super::reproduce::{JudgedClaim, Reproduction, share_that_holds};
use super::selection::At;
use super::{Claim, Paper, SettingSweep};
use crate::html::StoredError;
use crate::results::{Estimate, directory};
use airtcp_core::ValueType as _;
use serde_json::{Value, json};
use std::io;
use std::path::{Path, PathBuf};

/// Name of the file of verdicts.
pub const CLAIMS: &str = "claims.json";

/// The verdict of a claim as `claims.json` has it, with what explains it.
pub fn verdict_in_words(claim: &Value) -> String {
    let word = claim["verdict"].as_str().unwrap_or_default();
    match claim["item"].as_str() {
        Some(item) if word == "holds only with" => format!("{word} {item}"),
        Some(item) => format!("{word} ({item})"),
        None => word.to_owned(),
    }
}

/// Where a paper's results lie.
pub fn of_paper(root: &Path, paper: &Paper) -> PathBuf {
    root.join(format!("paper-{}-{}", paper.slug, paper.hash))
}

/// Writes each experiment and `claims.json` below `root`, beside the `manifest` of its world; returns the paper's directory and those of its experiments.
///
/// # Errors
/// The file system's.
pub fn write(
    root: &Path,
    reproduction: &Reproduction<'_>,
    manifest: &dyn Fn(&str) -> Value,
) -> io::Result<(PathBuf, Vec<PathBuf>)> {
    let target = of_paper(root, &reproduction.plan.paper);
    let mut experiments = Vec::new();
    for results in &reproduction.results {
        directory::write(&target, results, directory::of_world(results.world), &manifest(results.world))?;
        experiments.push(directory::of_scenario(&target, results.scenario));
    }
    std::fs::create_dir_all(&target)?;
    std::fs::write(target.join(CLAIMS), to_text(&claims(reproduction, &target.display().to_string())))?;
    Ok((target, experiments))
}

/// What [`write()`] left in `directory`: the verdicts, and where each experiment lies; `None` if it is no paper's.
///
/// # Errors
/// The verdicts cannot be read.
pub fn stored_claims(directory: &Path) -> Result<Option<(Value, Vec<PathBuf>)>, StoredError> {
    let file = directory.join(CLAIMS);
    if !file.exists() {
        return Ok(None);
    }
    let wrong = |reason: String| StoredError::File { file: file.display().to_string(), reason };
    let text = std::fs::read_to_string(&file).map_err(|error| wrong(error.to_string()))?;
    let claims: Value = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    let place = |experiment: &Value| {
        let (name, hash) = (experiment["name"].as_str()?, experiment["hash"].as_str()?);
        Some(directory.join(format!("{name}-{hash}")))
    };
    let experiments = claims["experiments"].as_array().and_then(|all| all.iter().map(place).collect());
    experiments.map(|experiments| Some((claims, experiments))).ok_or_else(|| wrong("names no experiments".into()))
}

/// The whole of `claims.json`; `directory` is where it lies.
pub fn claims(reproduction: &Reproduction<'_>, directory: &str) -> Value {
    let paper = &reproduction.plan.paper;
    let mode = reproduction.plan.mode;
    let experiment = |experiment: &super::Experiment| {
        let scenario = &experiment.scenario;
        json!({"id": experiment.id, "name": scenario.name, "hash": scenario.hash, "cells": scenario.cells.len(), "runs": scenario.runs})
    };
    let judged = paper.claims.iter().zip(&reproduction.claims);
    json!({
        "schema": "airtcp.claims/1",
        "version": env!("CARGO_PKG_VERSION"),
        "paper": {"slug": paper.slug, "title": paper.title, "citation": paper.citation, "hash": paper.hash},
        "directory": directory,
        "quick": mode.quick,
        "control": mode.control,
        "mutations": mode.mutations,
        "vacuous": reproduction.vacuous(),
        "experiments": reproduction.plan.experiments().iter().map(experiment).collect::<Vec<_>>(),
        "claims": judged.map(|(claim, judged)| claim_of(paper, claim, judged)).collect::<Vec<_>>(),
    })
}

/// The file's text: a line per claim.
pub fn to_text(claims: &Value) -> String {
    crate::results::summary::to_text(claims)
}

fn claim_of(paper: &Paper, claim: &Claim, judged: &JudgedClaim) -> Value {
    let sensitivity = |(index, judgement): &(usize, Judgement)| {
        let variant = &paper.variants[*index];
        let mut row = json!({"variant": variant.name, "item": variant.item, "about": variant.about, "verdict": judgement.verdict.word()});
        put_estimate(&mut row, judgement.estimate);
        row
    };
    let explained = claim.mutation_explained.clone();
    let mut row = json!({
        "id": claim.id,
        "sentence": claim.sentence,
        "kind": claim.kind.write(),
        "basis": claim.basis().write(),
        "comparative": claim.comparative,
        "verdict": judged.verdict.word(),
        "item": judged.verdict.item(),
        "reason": judged.judgement.reason,
    });
    put_estimate(&mut row, judged.judgement.estimate);
    put_printed(&mut row, judged.judgement.printed());
    row["vacuous"] = judged.is_vacuous.into();
    row["mutation"] = claim.mutation.map_or(Value::Null, |index| paper.mutations[index].name.clone().into());
    row["mutation_explained"] = explained.into();
    row["bases"] = judged.bases.iter().map(base_of).collect();
    row["checks"] = judged.judgement.checks.iter().map(check_of).collect();
    row["leans_on"] = claim.leans_on.clone().into();
    row["sensitivity"] = judged.sensitivity.iter().map(sensitivity).collect();
    row["sweeps"] = judged.sweeps.iter().map(|(index, steps)| sweep_of(&paper.sweeps[*index], steps)).collect();
    row
}

fn base_of((verdict, estimate): &(Verdict, Option<Estimate>)) -> Value {
    let mut row = json!({"verdict": verdict.to_string()});
    put_estimate(&mut row, *estimate);
    row
}

fn sweep_of(sweep: &SettingSweep, judged: &[Judgement]) -> Value {
    let step = |(label, judgement): (&String, &Judgement)| {
        let mut row = json!({"setting": label, "verdict": judgement.verdict.word()});
        put_estimate(&mut row, judgement.estimate);
        row
    };
    let share = share_that_holds(judged);
    let (holds, all) = (share.map(|(holds, _)| holds), share.map(|(_, all)| all));
    let steps: Vec<Value> = sweep.steps.iter().zip(judged).map(step).collect();
    json!({"name": sweep.name, "about": sweep.about, "holds": holds, "of": all, "settings": steps})
}

fn put_printed(row: &mut Value, printed: Option<(Printed, f64)>) {
    row["printed"] = printed.map_or(Value::Null, |(theirs, _)| theirs.map(number).to_vec().into());
    row["ratio"] = printed.map_or(Value::Null, |(_, ratio)| number(ratio));
}

fn check_of(check: &CheckResult) -> Value {
    let point = |(at, finding): &(At, Finding)| {
        let labels = at.iter().map(|(axis, label)| (axis.clone(), label.clone().into())).collect();
        let mut row = json!({"at": Value::Object(labels), "holds": finding.holds});
        put_estimate(&mut row, Some(finding.estimate));
        row
    };
    let mut row =
        json!({"kind": check.kind, "text": check.text, "measure": check.measure, "holds": check.holds.as_ref().ok()});
    row["decides"] = check.decides.into();
    put_estimate(&mut row, check.estimate);
    put_printed(&mut row, check.printed);
    row["points"] = check.points.iter().map(point).collect();
    row
}

fn put_estimate(row: &mut Value, estimate: Option<Estimate>) {
    row["value"] = estimate.map_or(Value::Null, |estimate| number(estimate.median));
    row["ci95"] = estimate.map_or(Value::Null, |estimate| estimate.ci95.map(number).to_vec().into());
}

fn number(value: f64) -> Value {
    if !value.is_finite() {
        return Value::Null;
    }
    // Through text, so that the digits are those that are printed.
    format!("{value:.5e}").parse::<f64>().map_or(Value::Null, Value::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_six_digits_and_infinity_is_null() {
        assert_eq!(number(1.0 / 3.0).to_string(), "0.333333");
        assert_eq!(number(12_345_678.9).to_string(), "12345700.0");
        assert_eq!(number(f64::INFINITY), Value::Null);
        assert_eq!(number(f64::NAN), Value::Null);
    }
}
