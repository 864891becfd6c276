//! `airtcp run`: a scenario in a world; rows of its table are printed as they are finished.

use super::earlier::EarlierArguments;
use super::emit::{self, EmitArguments, Sweep};
use super::finish::{self, Form, FormArguments, Tables};
use super::process::{Process, cannot_begin};
use super::{load, shard};
use crate::capture::CaptureArguments;
use crate::interrupt::{self, Interrupt};
use crate::live::Live;
use crate::machine::Work;
use crate::output::say;
use crate::timed::Timed;
use crate::{Failure, machine, output};
use airtcp_experiment::html::StoredWorld;
use airtcp_experiment::metric::Metric;
use airtcp_experiment::results::summary::Summary;
use airtcp_experiment::results::{
    self, Interruptible, Journal, Observer, Opening, Results, RunOptions, Shard, directory,
};
use airtcp_experiment::table::{Layout, Row, TextTable};
use airtcp_experiment::{Catalogue, Scenario, Simulator, World};
use anyhow::Context;
use clap::Args;
use indicatif::ProgressBar;
use std::mem::ManuallyDrop;
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
    #[command(flatten)]
    form: FormArguments,
    /// Number of simulator threads; one per core if left out
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: Option<u32>,
    #[command(flatten)]
    earlier: EarlierArguments,
    /// Run the I-th of N parts of the sweep and keep its runs, for airtcp merge
    #[arg(long, value_name = "I/N", conflicts_with_all = ["json", "markdown", "pcap", "emit"])]
    shard: Option<Shard>,
    #[command(flatten)]
    emit: EmitArguments,
    /// Directory for all results
    #[arg(long, value_name = "DIR", alias = "out", default_value = directory::DEFAULT_ROOT)]
    results: PathBuf,
    #[command(flatten)]
    capture: CaptureArguments,
}

pub(crate) fn run(arguments: &Arguments, catalogue: &Catalogue<'_>) -> Result<(), Failure> {
    let begin = machine::wall_clock();
    let scenario = kept(load(&arguments.file, &arguments.sets, catalogue)?);
    if let Some(engine) = arguments.emit.engine {
        let sweep = Sweep {
            scenario: &scenario,
            file: &arguments.file,
            sets: &arguments.sets,
            results: &arguments.results,
            loading: machine::wall_clock().duration_since(begin),
        };
        return emit::run(engine, arguments.emit.tasks, &sweep);
    }
    let build = machine::build();
    let process = Process {
        opening: Opening { build: &build, owner: "", earlier: arguments.earlier.choice(), shard: arguments.shard },
        threads: arguments.threads.map_or_else(machine::threads_available, |threads| threads as usize),
        interrupt: Interrupt::listen().context("cannot listen for Ctrl-C")?,
    };
    let simulator = Simulator { stop: Some(Arc::clone(&process.interrupt.end)), ..Simulator::default() };
    let world: Box<dyn World> = if arguments.live { Box::new(Live::new()) } else { Box::new(simulator) };
    let world = Timed::new(&*world);
    if let Some(shard) = arguments.shard {
        return shard::run(&arguments.results, &scenario, &world, &process, shard);
    }
    whole(arguments, &scenario, &world, &process)
}

/// Runs all of `scenario` in this process, and writes and prints the results.
fn whole(
    arguments: &Arguments,
    scenario: &Scenario,
    world: &Timed<'_>,
    Process { opening, threads, interrupt }: &Process<'_>,
) -> Result<(), Failure> {
    let begin = machine::wall_clock();
    let captured = arguments.capture.cells(scenario)?;
    let companion = if arguments.live { companion(&arguments.results, scenario) } else { None };
    let form = arguments.form.form();
    let tables = Tables::of(scenario, companion.as_ref(), form);

    let bar = output::progress(runs_of(scenario) as u64);
    let mut printer = Printer::new(form, &tables, scenario, bar.clone(), interrupt);
    let mut journal = Journal::open(&arguments.results, scenario, world, opening).map_err(cannot_begin)?;
    tell_of_earlier_runs(&journal, scenario);
    let interruptible = Interruptible { journal: &mut journal, is_removed_at_end: true, stop: &interrupt.stop };
    let options = RunOptions { threads: *threads };
    let results = kept(results::run_interruptible(scenario, world, options, interruptible, &mut printer));
    bar.finish_and_clear();
    if let Some(problem) = journal.problem() {
        tracing::warn!("finished runs cannot be saved, so an interrupted sweep would begin again: {problem}");
    }
    if !results.is_complete() {
        let (kept, all) = (journal.runs(), runs_of(scenario));
        say!("airtcp: interrupted; {kept} of {all} runs are saved, and the same command continues from there");
        return Err(Failure::Code(interrupt::EXIT_CODE));
    }
    if results.is_empty() && form != Form::Json {
        journal.remove().context("cannot remove the journal of finished runs")?;
        output::print(&finish::closing(&results, &Summary::of(&results, "")));
        return Err(Failure::Code(1));
    }
    let work = Work {
        world: world.name(),
        threads: if world.runs_in_parallel() { *threads } else { 1 },
        resumed_runs: journal.resumed(),
        builds: journal.builds().all(),
        wall: machine::wall_clock().duration_since(begin),
        in_runs: Some(world.spent()),
    };
    let (written, world) = finish::write(&arguments.results, &results, machine::manifest(&work))?;
    let world = kept(world);
    journal.remove().context("cannot remove the journal of finished runs")?;
    let captures = arguments.capture.write(&results, &captured, &written)?;
    let report = finish::write_report(&directory::of_scenario(&arguments.results, scenario), scenario, &world)?;
    let places = [format!("results  {}", written.display()), format!("report   {report}")];
    let places: Vec<String> = places.into_iter().chain(captures).collect();
    tables.show(1, &results, &world.summary, &places.join("\n"));
    let failures = results.failures();
    failures.iter().for_each(|failure| say!("airtcp: {failure}"));
    if failures.is_empty() && !results.is_empty() { Ok(()) } else { Err(Failure::Code(1)) }
}

/// Something large that is there until the process ends: the kernel takes all memory back at once, and faster than piece by piece.
fn kept<T>(value: T) -> ManuallyDrop<T> {
    ManuallyDrop::new(value)
}

fn runs_of(scenario: &Scenario) -> usize {
    scenario.cells.len() * scenario.runs as usize
}

fn tell_of_earlier_runs(journal: &Journal, scenario: &Scenario) {
    let (earlier, all) = (journal.resumed(), runs_of(scenario));
    if earlier > 0 {
        say!("airtcp: continuing an interrupted sweep after {earlier} of {all} runs; --fresh begins again");
    } else if journal.was_outdated() {
        say!("airtcp: what an interrupted sweep left cannot be used, as it is of another version; beginning again");
    }
}

/// The simulator's results of the same scenario, to stand beside a live run.
fn companion(root: &Path, scenario: &Scenario) -> Option<StoredWorld> {
    StoredWorld::read(&directory::of_scenario(root, scenario).join("sim")).ok()
}

/// The table whose rows are printed.
struct Printed<'a> {
    layout: &'a Layout,
    text: TextTable<'a>,
    /// The metrics in it.
    metrics: Vec<&'static Metric>,
}

/// Prints a row once all of its cells are done, in the order of the table.
struct Printer<'a> {
    table: Option<Printed<'a>>,
    tables: &'a Tables<'a>,
    scenario: &'a Scenario,
    bar: ProgressBar,
    interrupt: &'a Interrupt,
    /// The row to print next.
    next: usize,
    has_header: bool,
}

impl<'a> Printer<'a> {
    fn new(
        form: Form,
        tables: &'a Tables<'a>,
        scenario: &'a Scenario,
        bar: ProgressBar,
        interrupt: &'a Interrupt,
    ) -> Self {
        let first = tables.layouts.first().filter(|_| form == Form::Text);
        let table = first.map(|layout| Printed {
            layout,
            text: TextTable::new(layout, output::style()),
            metrics: layout.metrics(),
        });
        Printer { table, tables, scenario, bar, interrupt, next: 0, has_header: false }
    }
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
        if !self.bar.is_hidden() {
            self.bar.set_message(results::describe(&self.scenario.cells[cell]));
        }
    }

    fn on_cell(&mut self, results: &Results<'_>, _cell: usize) {
        let Some(Printed { layout, text: table, metrics }) = &self.table else { return };
        let is_settled = |row: &&Row| row.cells.iter().all(|cell| results.is_settled(*cell));
        while let Some(row) = layout.rows.get(self.next).filter(is_settled) {
            self.next += 1;
            // A row without any run is left out; a note below the table says why.
            if row.cells.iter().all(|cell| results.outcomes(*cell).is_none()) {
                continue;
            }
            let line = table.row(row, &|cell| self.tables.value_of(results, metrics, cell));
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
