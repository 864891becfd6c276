//! `airtcp reproduce`: a paper's experiments, and a verdict on each of its claims.

use crate::interrupt::{self, Interrupt};
use crate::live::Live;
use crate::output::say;
use crate::{Failure, machine, output};
use airtcp_experiment::html::{self, Stored};
use airtcp_experiment::paper::reproduce::JudgedClaim;
use airtcp_experiment::paper::resume::Journals;
use airtcp_experiment::paper::{
    Claim, Mode, PaperFile, Plan, Reproduction, Verdict, Worlds, built_in, output as written,
};
use airtcp_experiment::results::{Observer, RunOptions, directory};
use airtcp_experiment::table::Style;
use airtcp_experiment::{Catalogue, Simulator, World};
use anyhow::{Context, anyhow};
use clap::Args;
use indicatif::ProgressBar;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Name of a paper (airtcp show papers), or a folder or file of your own
    paper: String,
    /// Fewer and shorter runs, without variants: minutes instead of an hour
    #[arg(long)]
    quick: bool,
    /// Replace every scheme by plain forwarding; a comparative claim that still holds is vacuous and fails
    #[arg(long)]
    control: bool,
    /// Fail unless every claim holds; without it a claim that does not hold is a finding
    #[arg(long)]
    strict: bool,
    /// Print claims.json instead of rows
    #[arg(long)]
    json: bool,
    /// Number of simulator threads; one per core if left out
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: Option<u32>,
    /// Begin again, even if an interrupted reproduction left finished runs
    #[arg(long)]
    fresh: bool,
    /// Directory for all results
    #[arg(long, value_name = "DIR", default_value = directory::DEFAULT_ROOT)]
    results: PathBuf,
}

pub(crate) fn run(arguments: &Arguments, catalogue: &Catalogue<'_>) -> Result<(), Failure> {
    let mode = Mode { quick: arguments.quick, control: arguments.control };
    let plan = Plan::new(&file(&arguments.paper)?, mode, catalogue).map_err(Failure::input)?;
    let threads = arguments.threads.map_or_else(machine::threads_available, |threads| threads as usize);
    let interrupt = Interrupt::listen().context("cannot listen for Ctrl-C")?;
    let simulator = Simulator { stop: Some(Arc::clone(&interrupt.end)), ..Simulator::default() };
    let worlds: [&dyn World; 2] = [&simulator, &Live::new()];
    let worlds = Worlds(&worlds);
    let all = plan.runs();
    let begin = machine::wall_clock();
    let mut journals = Journals::open(&arguments.results, &plan, worlds, &machine::build(), arguments.fresh)?;
    let resumed_runs = journals.resumed();
    if resumed_runs > 0 {
        say!("airtcp: continuing after {resumed_runs} of {all} runs; --fresh begins again");
    }
    let bar = output::progress(all);
    let results = journals.run(worlds, RunOptions { threads }, &interrupt.stop, &mut Progress(bar.clone(), &interrupt));
    bar.finish_and_clear();
    if let Some(problem) = journals.problem() {
        tracing::warn!("finished runs cannot be saved, so an interrupted reproduction would begin again: {problem}");
    }
    let Some(results) = results else {
        let kept = journals.runs();
        say!("airtcp: interrupted; {kept} of {all} runs are saved, and the same command continues from there");
        return Err(Failure::Code(interrupt::EXIT_CODE));
    };
    let reproduction = plan.judge(results);
    let wall = machine::wall_clock().duration_since(begin);
    let manifest = |world: &str| machine::manifest(&machine::Work { world, threads, resumed_runs, wall });
    let (directory, experiments) = written::write(&arguments.results, &reproduction, &manifest)
        .with_context(|| format!("cannot write results below {}", arguments.results.display()))?;
    journals.remove().context("cannot remove the journals of finished runs")?;
    let claims = written::claims(&reproduction, &directory.display().to_string());
    let report = write_report(&directory, &experiments, &claims, catalogue)?;
    if arguments.json {
        output::print(written::to_text(&claims).trim_end());
    } else {
        let places = format!("results  {}\nreport   {}", directory.display(), report.display());
        output::print(&format!("{}\n{places}", rows(&reproduction, output::style())));
    }
    close(&reproduction, arguments.strict)
}

/// The paper's file: a built-in one by its name, or one of the user's.
fn file(paper: &str) -> Result<PaperFile<'static>, Failure> {
    match built_in::find(paper) {
        Some(built_in) if !Path::new(paper).join("paper.toml").exists() => built_in.file().map_err(Failure::input),
        _ if Path::new(paper).exists() => PaperFile::load(Path::new(paper)).map_err(Failure::input),
        _ => {
            let names: Vec<&str> = built_in::PAPERS.iter().map(|paper| paper.slug).collect();
            let names = names.join(", ");
            Err(Failure::input(anyhow!(
                "there is no paper '{paper}'; there are: {names}; or name a folder with a paper.toml"
            )))
        }
    }
}

/// One bar over the runs of all experiments.
struct Progress<'a>(ProgressBar, &'a Interrupt);

impl Observer for Progress<'_> {
    fn on_resumed(&mut self, runs: usize) {
        self.0.inc(runs as u64);
        // They took no time here, so they say nothing about the time that is left.
        self.0.reset_eta();
    }

    fn on_run(&mut self) {
        self.0.inc(1);
    }

    fn on_stopping(&mut self) {
        self.0.suspend(|| say!("{}", self.1.words()));
    }
}

fn write_report(
    directory: &Path,
    experiments: &[PathBuf],
    claims: &serde_json::Value,
    catalogue: &Catalogue<'_>,
) -> Result<PathBuf, Failure> {
    let stored = experiments.iter().map(|experiment| Stored::read(experiment, catalogue));
    let stored = stored.collect::<Result<Vec<_>, _>>()?;
    let path = directory.join("report.html");
    super::report::write(&path, &html::render_paper(claims, &stored))?;
    Ok(path)
}

/// A row per claim, and below it the variants that come out otherwise.
fn rows(reproduction: &Reproduction<'_>, style: Style) -> String {
    let paper = &reproduction.plan.paper;
    let columns = |(claim, judged): (&Claim, &JudgedClaim)| [claim.id.clone(), verdict(judged), number(judged)];
    let cells: Vec<[String; 3]> = paper.claims.iter().zip(&reproduction.claims).map(columns).collect();
    let width = |column: usize| cells.iter().map(|cells| cells[column].chars().count()).max().unwrap_or(0);
    let widths = [width(0), width(1), width(2)];
    let mut text = format!("{}\n\n", style.bold(&paper.title));
    for ((claim, judged), cells) in paper.claims.iter().zip(&reproduction.claims).zip(&cells) {
        for (cell, width) in cells.iter().zip(widths) {
            let _ = write!(text, "{cell:width$}  ");
        }
        let _ = writeln!(text, "{}", claim.sentence);
        for line in details(reproduction, judged) {
            let _ = writeln!(text, "{:indent$}{}", "", style.dim(&line), indent = widths[0] + 2);
        }
    }
    let holding = reproduction.claims.iter().filter(|judged| judged.verdict == Verdict::Holds).count();
    let _ = write!(text, "\n{holding} of {} claims hold", paper.claims.len());
    let mode = reproduction.plan.mode;
    if mode.control {
        text.push_str(" without the scheme; a comparative claim that does is vacuous");
    }
    if mode.quick {
        text.push_str("; quick: fewer and shorter runs, no variants");
    }
    text
}

fn verdict(judged: &JudgedClaim) -> String {
    if judged.is_vacuous { "vacuous".into() } else { judged.verdict.to_string() }
}

fn number(judged: &JudgedClaim) -> String {
    let Some(estimate) = judged.judgement.estimate else { return String::new() };
    let [low, high] = estimate.ci95;
    format!("{} [{}, {}]", digits(estimate.median), digits(low), digits(high))
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

fn details(reproduction: &Reproduction<'_>, judged: &JudgedClaim) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    if !judged.judgement.reason.is_empty() {
        lines.push(judged.judgement.reason.clone());
    }
    let failing = judged.judgement.checks.iter().filter(|check| check.holds == Ok(false));
    lines.extend(failing.map(|check| format!("fails: {}", check.text)));
    let tests = judged.judgement.checks.iter().filter(|check| check.kind == "test");
    lines.extend(tests.map(|check| format!("shown by: {}", check.text)));
    let otherwise = judged.sensitivity.iter().filter(|(_, other)| other.verdict != judged.judgement.verdict);
    lines.extend(otherwise.map(|(index, other)| {
        let variant = &reproduction.plan.paper.variants[*index];
        format!("{}: {} ({})", variant.item, other.verdict, variant.about)
    }));
    lines
}

/// Broken runs and vacuous claims are failures; a claim that does not hold is a finding.
fn close(reproduction: &Reproduction<'_>, strict: bool) -> Result<(), Failure> {
    let failures = reproduction.failures();
    failures.iter().for_each(|failure| say!("airtcp: {failure}"));
    let vacuous = reproduction.vacuous();
    if !vacuous.is_empty() {
        let names = vacuous.join(", ");
        say!(
            "airtcp: vacuous, because they hold without the scheme: {names}; make their checks demand what only the scheme can do"
        );
    }
    let all_hold = reproduction.claims.iter().all(|judged| judged.verdict == Verdict::Holds);
    if failures.is_empty() && vacuous.is_empty() && (all_hold || !strict) { Ok(()) } else { Err(Failure::Code(1)) }
}
