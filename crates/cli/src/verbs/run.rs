//! `airtcp run`: a scenario in a world; rows of its table are printed as they are finished.

use super::load;
use crate::capture::CaptureArguments;
use crate::interrupt::{self, Interrupt};
use crate::live::Live;
use crate::machine::Work;
use crate::output::say;
use crate::{Failure, machine, output};
use airtcp_experiment::html::{self, Stored, StoredWorld};
use airtcp_experiment::results::summary::{self, CellSummary, Summary};
use airtcp_experiment::results::{self, Interruptible, Journal, Observer, Results, RunOptions, directory};
use airtcp_experiment::table::measure::Measure;
use airtcp_experiment::table::{Layout, Row, TextTable};
use airtcp_experiment::{Catalogue, Scenario, Simulator, World};
use anyhow::Context;
use clap::Args;
use indicatif::ProgressBar;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Scenario file, or the name of a built-in one (airtcp show)
    file: String,
    /// Run on kernel TCP between network namespaces of this machine (needs root)
    #[arg(long)]
    live: bool,
    /// Override a key of the file; may be given several times
    #[arg(long = "set", value_name = "KEY=VALUE")]
    sets: Vec<String>,
    /// Print summary.json instead of tables
    #[arg(long)]
    json: bool,
    /// Print the tables as Markdown
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    /// Number of simulator threads; one per core if left out
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: Option<u32>,
    /// Begin again, even if an interrupted sweep left finished runs
    #[arg(long)]
    fresh: bool,
    /// Directory for all results
    #[arg(long, value_name = "DIR", alias = "out", default_value = directory::DEFAULT_ROOT)]
    results: PathBuf,
    #[command(flatten)]
    capture: CaptureArguments,
}

pub(crate) fn run(arguments: &Arguments, catalogue: &Catalogue<'_>) -> Result<(), Failure> {
    let scenario = load(&arguments.file, &arguments.sets, catalogue)?;
    let captured = arguments.capture.cells(&scenario)?;
    let interrupt = Interrupt::listen().context("cannot listen for Ctrl-C")?;
    let simulator = Simulator { stop: Some(Arc::clone(&interrupt.end)), ..Simulator::default() };
    let world: Box<dyn World> = if arguments.live { Box::new(Live::new()) } else { Box::new(simulator) };
    let threads = arguments.threads.map_or_else(machine::threads_available, |threads| threads as usize);
    let companion = if arguments.live { companion(&arguments.results, &scenario) } else { None };
    let layouts: Vec<Layout> =
        scenario.tables.iter().map(|spec| layout(&scenario, spec, companion.is_some())).collect();
    let prints_rows = !arguments.json && !arguments.markdown;

    let bar = output::progress(runs_of(&scenario) as u64);
    let table = layouts.first().filter(|_| prints_rows).map(|layout| (layout, TextTable::new(layout, output::style())));
    let mut printer = Printer {
        table,
        scenario: &scenario,
        companion: companion.as_ref(),
        bar: bar.clone(),
        interrupt: &interrupt,
        next: 0,
        has_header: false,
    };
    let begin = machine::wall_clock();
    let mut journal = Journal::open(&arguments.results, &scenario, &*world, &machine::build(), arguments.fresh)?;
    tell_of_earlier_runs(&journal, &scenario);
    let interruptible = Interruptible { journal: &mut journal, stop: &interrupt.stop };
    let results = results::run_interruptible(&scenario, &*world, RunOptions { threads }, interruptible, &mut printer);
    bar.finish_and_clear();
    if let Some(problem) = journal.problem() {
        tracing::warn!("finished runs cannot be saved, so an interrupted sweep would begin again: {problem}");
    }
    if !results.is_complete() {
        let (kept, all) = (journal.runs(), runs_of(&scenario));
        say!("airtcp: interrupted; {kept} of {all} runs are saved, and the same command continues from there");
        return Err(Failure::Code(interrupt::EXIT_CODE));
    }
    if results.is_empty() && !arguments.json {
        journal.remove().context("cannot remove the journal of finished runs")?;
        output::print(&closing(&results));
        return Err(Failure::Code(1));
    }
    let work = Work {
        world: world.name(),
        threads: if world.runs_in_parallel() { threads } else { 1 },
        resumed_runs: journal.resumed(),
        wall: machine::wall_clock().duration_since(begin),
    };
    let written =
        directory::write(&arguments.results, &results, directory::of_world(world.name()), &machine::manifest(&work))
            .with_context(|| format!("cannot write results below {}", arguments.results.display()))?;
    journal.remove().context("cannot remove the journal of finished runs")?;
    let captures = arguments.capture.write(&results, &captured, &written)?;
    let report = write_report(&directory::of_scenario(&arguments.results, &scenario), catalogue)?;
    let places = [format!("results  {}", written.display()), format!("report   {report}")];
    let places: Vec<String> = places.into_iter().chain(captures).collect();
    show(arguments, &results, companion.as_ref(), &layouts, &written, &places.join("\n"));
    let failures = results.failures();
    failures.iter().for_each(|failure| say!("airtcp: {failure}"));
    if failures.is_empty() && !results.is_empty() { Ok(()) } else { Err(Failure::Code(1)) }
}

/// Prints the requested output, except the rows of the first table, which were printed during the run.
fn show(
    arguments: &Arguments,
    results: &Results<'_>,
    companion: Option<&StoredWorld>,
    layouts: &[Layout],
    written: &Path,
    places: &str,
) {
    let lookup = |cell: usize| value_of(results, companion, cell);
    if arguments.json {
        output::print(summary::to_text(&Summary::of(results, &written.display().to_string())).trim_end());
    } else if arguments.markdown {
        layouts.iter().for_each(|layout| output::print(&airtcp_experiment::table::markdown(layout, &lookup)));
    } else {
        for layout in layouts.iter().skip(1) {
            output::print(&format!("\n{}", TextTable::new(layout, output::style()).render(&lookup)));
        }
        output::print(&format!("\n{}", closing(results)));
        output::print(places);
    }
}

fn runs_of(scenario: &Scenario) -> usize {
    scenario.cells.len() * scenario.runs as usize
}

fn tell_of_earlier_runs(journal: &Journal, scenario: &Scenario) {
    let (earlier, all) = (journal.resumed(), runs_of(scenario));
    if earlier > 0 {
        say!("airtcp: continuing an interrupted sweep after {earlier} of {all} runs; --fresh begins again");
    } else if journal.was_outdated() {
        say!("airtcp: another build of airtcp made the runs of the interrupted sweep; beginning again");
    }
}

/// The simulator's results of the same scenario, to stand beside a live run.
fn companion(root: &Path, scenario: &Scenario) -> Option<StoredWorld> {
    StoredWorld::read(&directory::of_scenario(root, scenario).join("sim")).ok()
}

/// The field of a cell that holds the simulator's share of the ceiling.
const COMPANION: &str = "simulator_of_ceiling";

fn layout(scenario: &Scenario, spec: &airtcp_experiment::scenario::TableSpec, has_companion: bool) -> Layout {
    let mut layout = Layout::of(scenario, spec);
    if has_companion {
        for group in &mut layout.groups {
            group.measures.push(Measure::named("of_ceiling").renamed(COMPANION, "simulator"));
        }
    }
    layout
}

fn value_of(results: &Results<'_>, companion: Option<&StoredWorld>, index: usize) -> Option<CellSummary> {
    let mut cell = CellSummary::of(results, index);
    if let Some(simulated) = companion.and_then(|world| world.cell(results.scenario, index)) {
        let cell = cell.get_or_insert_default();
        simulated.readings.get("of_ceiling").iter().for_each(|share| cell.readings.put(COMPANION, share));
    }
    cell
}

/// Prints a row once all of its cells are done, in the order of the table.
struct Printer<'a> {
    table: Option<(&'a Layout, TextTable<'a>)>,
    scenario: &'a Scenario,
    companion: Option<&'a StoredWorld>,
    bar: ProgressBar,
    interrupt: &'a Interrupt,
    /// The row to print next.
    next: usize,
    has_header: bool,
}

impl Observer for Printer<'_> {
    fn on_resumed(&mut self, runs: usize) {
        self.bar.set_position(runs as u64);
        // They took no time here, so they say nothing about the time that is left.
        self.bar.reset_eta();
    }

    fn on_run(&mut self) {
        self.bar.inc(1);
    }

    fn on_stopping(&mut self) {
        self.bar.suspend(|| say!("{}", self.interrupt.words()));
    }

    fn on_start(&mut self, cell: usize, _run: u32) {
        self.bar.set_message(results::describe(&self.scenario.cells[cell]));
    }

    fn on_cell(&mut self, results: &Results<'_>, _cell: usize) {
        let Some((layout, table)) = &self.table else { return };
        let is_settled = |row: &&Row| row.cells.iter().all(|cell| results.is_settled(*cell));
        while let Some(row) = layout.rows.get(self.next).filter(is_settled) {
            self.next += 1;
            // A row without any run is left out; a note below the table says why.
            if row.cells.iter().all(|cell| results.outcomes(*cell).is_none()) {
                continue;
            }
            let line = table.row(row, &|cell| value_of(results, self.companion, cell));
            self.bar.suspend(|| {
                if !self.has_header {
                    output::print(&table.header());
                }
                output::print(&line);
            });
            self.has_header = true;
        }
    }
}

/// Notes below the table: which cells were left out and why, and what the numbers mean.
fn closing(results: &Results<'_>) -> String {
    let style = output::style();
    let mut lines: Vec<String> = Vec::new();
    let summary = Summary::of(results, "");
    let reasons = summary.reasons_not_run();
    lines.extend(reasons.iter().map(|(reason, count)| {
        let cells = if *count == 1 { "cell" } else { "cells" };
        format!("{count} {cells} not run: {reason}")
    }));
    let invalid = summary.cells.iter().filter(|cell| cell.is_void()).count();
    if invalid > 0 {
        lines.push(format!(
            "{invalid} cells where the emulated link did not behave as configured; see \"emulator\" in summary.json"
        ));
    }
    lines.extend(results::headline(results.scenario, &summary));
    for scheme in bending(results) {
        lines.push(format!(
            "{scheme} does not keep end-to-end semantics: it acknowledges data that the receiver may not have"
        ));
    }
    if !results.is_empty() {
        let runs = results.scenario.runs;
        let medians = if runs == 1 { String::new() } else { format!("medians of {runs} runs; ") };
        let meaning = "goodput counts application bytes; the ceiling is the goodput that no repair can exceed";
        lines.push(style.dim(&format!("{medians}{meaning}")));
    }
    lines.join("\n")
}

/// Schemes in the results that bend end-to-end semantics.
fn bending(results: &Results<'_>) -> BTreeSet<String> {
    let schemes = results.scenario.cells.iter().flat_map(|cell| &cell.scenario.schemes);
    schemes.filter(|scheme| !scheme.choice.entry.keeps_end_to_end).map(|scheme| scheme.kind.clone()).collect()
}

/// One report of all worlds that the scenario was run in.
fn write_report(directory: &Path, catalogue: &Catalogue<'_>) -> Result<String, Failure> {
    let stored = Stored::read(directory, catalogue)?;
    let path = directory.join("report.html");
    let size = super::report::write(&path, &html::render(&[stored]))?;
    Ok(format!("{} ({size})", path.display()))
}
