//! `airtcp reproduce`: a paper's experiments, and a verdict on each of its claims.

mod rows;
mod source;

use super::earlier::EarlierArguments;
use super::process::cannot_begin;
use crate::interrupt::{self, Interrupt};
use crate::live::Live;
use crate::output::say;
use crate::{Failure, machine, output};
use airtcp_experiment::html::{self, Stored};
use airtcp_experiment::paper::resume::Journals;
use airtcp_experiment::paper::{
    Mode, PaperFile, Plan, Reproduction, TestRuns, Verdict, Worlds, built_in, output as written,
};
use airtcp_experiment::results::{Observer, RunOptions, directory};
use airtcp_experiment::{Catalogue, Simulator, World};
use anyhow::{Context, anyhow};
use clap::Args;
use indicatif::ProgressBar;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Name of a paper (airtcp show papers), or a folder or file of your own
    paper: String,
    /// Fewer and shorter runs, one set of seeds, no sweeps: a minute or two instead of up to hours
    #[arg(long)]
    quick: bool,
    /// Replace every scheme by plain forwarding; a comparative claim that still holds is vacuous and fails
    #[arg(long)]
    control: bool,
    /// Switch the mechanism of each comparative claim off; a claim that still holds fails
    #[arg(long, conflicts_with = "control")]
    mutations: bool,
    /// Do not run the tests that claims name; their claims are not checkable then
    #[arg(long)]
    no_tests: bool,
    /// Fail unless every claim holds; without it a claim that does not hold is a finding
    #[arg(long)]
    strict: bool,
    /// Print claims.json instead of rows
    #[arg(long)]
    json: bool,
    /// Number of simulator threads; one per core if left out
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: Option<u32>,
    #[command(flatten)]
    earlier: EarlierArguments,
    /// Directory for all results
    #[arg(long, value_name = "DIR", default_value = directory::DEFAULT_ROOT)]
    results: PathBuf,
}

pub(crate) fn run(arguments: &Arguments, catalogue: &Catalogue<'_>) -> Result<(), Failure> {
    let mode = Mode { quick: arguments.quick, control: arguments.control, mutations: arguments.mutations };
    let plan = Plan::new(&file(&arguments.paper)?, mode, catalogue).map_err(Failure::input)?;
    let threads = arguments.threads.map_or_else(machine::threads_available, |threads| threads as usize);
    let interrupt = Interrupt::listen().context("cannot listen for Ctrl-C")?;
    let simulator = Simulator { stop: Some(Arc::clone(&interrupt.end)), ..Simulator::default() };
    let worlds: [&dyn World; 2] = [&simulator, &Live::new()];
    let worlds = Worlds(&worlds);
    let all = plan.runs();
    let begin = machine::wall_clock();
    let build = machine::build();
    let journals = Journals::open(&arguments.results, &plan, worlds, &build, arguments.earlier.choice());
    let mut journals = journals.map_err(cannot_begin)?;
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
    let tests = if arguments.no_tests { TestRuns::NONE } else { source::run(&plan.tests()) };
    let reproduction = plan.judge(results, &tests);
    let wall = machine::wall_clock().duration_since(begin);
    let manifest = |world: &str| {
        machine::manifest(&machine::Work {
            world,
            threads,
            resumed_runs,
            builds: &journals.builds(),
            wall,
            in_runs: None,
        })
    };
    let (directory, experiments) = written::write(&arguments.results, &reproduction, &manifest)
        .with_context(|| format!("cannot write results below {}", arguments.results.display()))?;
    journals.remove().context("cannot remove the journals of finished runs")?;
    let claims = written::claims(&reproduction, &directory.display().to_string());
    let report = write_report(&directory, &experiments, &claims, catalogue)?;
    if arguments.json {
        output::print(written::to_text(&claims).trim_end());
    } else {
        let places = format!("results  {}\nreport   {}", directory.display(), report.display());
        output::print(&format!("{}\n{places}", rows::of(&reproduction, output::style())));
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
    super::report::write(&path, |to| html::write_paper(claims, &stored, to))?;
    Ok(path)
}

/// Broken runs and vacuous claims are failures; a claim that does not hold is a finding.
fn close(reproduction: &Reproduction<'_>, strict: bool) -> Result<(), Failure> {
    let failures = reproduction.failures();
    failures.iter().for_each(|failure| say!("airtcp: {failure}"));
    let vacuous = reproduction.vacuous();
    if !vacuous.is_empty() {
        let names = vacuous.join(", ");
        let what =
            if reproduction.plan.mode.mutations { "with their mechanism switched off" } else { "without the scheme" };
        say!("airtcp: vacuous, because they hold {what}: {names}; make their checks demand what only it can do");
    }
    let is_fine = |verdict: &Verdict| matches!(verdict, Verdict::Holds | Verdict::Beside);
    let all_hold = reproduction.claims.iter().all(|judged| is_fine(&judged.verdict));
    if failures.is_empty() && vacuous.is_empty() && (all_hold || !strict) { Ok(()) } else { Err(Failure::Code(1)) }
}
