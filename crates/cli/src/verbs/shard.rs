//! `airtcp run --shard 2/8`: a part of a sweep, kept for `airtcp merge`.

use super::process::{Process, cannot_begin};
use crate::interrupt::{self, Interrupt};
use crate::output::{self, say};
use crate::timed::Timed;
use crate::{Failure, machine};
use airtcp_experiment::results::{
    self, Interruptible, Journal, JournalError, Observer, Opening, RunOptions, Shard, directory,
};
use airtcp_experiment::{Scenario, World};
use indicatif::ProgressBar;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How often a shard that another process has is asked for.
const ASK_AGAIN: Duration = Duration::from_millis(200);

/// Runs what is left of `shard`, whose journal the process opens.
pub(super) fn run(
    root: &Path,
    scenario: &Scenario,
    world: &Timed<'_>,
    Process { opening, threads, interrupt }: &Process<'_>,
    shard: Shard,
) -> Result<(), Failure> {
    let begin = machine::wall_clock();
    let mut journal = wait_for(root, scenario, world, opening, interrupt)?;
    let all = shard.size(scenario.cells.len() * scenario.runs as usize);
    let mut counter = Counter { bar: output::progress(all as u64), runs: 0, interrupt };
    let interruptible = Interruptible { journal: &mut journal, is_removed_at_end: false, stop: &interrupt.stop };
    results::run_interruptible(scenario, world, RunOptions { threads: *threads }, interruptible, &mut counter);
    counter.bar.finish_and_clear();
    if let Some(problem) = journal.problem() {
        return Err(Failure::Failed(anyhow::anyhow!("finished runs cannot be saved: {problem}")));
    }
    if counter.runs < all {
        say!(
            "airtcp: interrupted; {} of {all} runs of shard {shard} are saved, and the same command continues from there",
            counter.runs
        );
        return Err(Failure::Code(interrupt::EXIT_CODE));
    }
    let home = directory::of_scenario(root, scenario);
    let (spent, wall) = (world.spent().wall.as_secs_f64(), machine::wall_clock().duration_since(begin).as_secs_f64());
    let share = spent / (wall * *threads as f64).max(1e-9) * 100.0;
    output::print(&format!(
        "shard {shard}: {all} runs are in {0}\ntime     {wall:.1} s; in runs {spent:.1} s, {share:.0} % of {threads} threads\nmerge    airtcp merge {0}",
        home.display()
    ));
    Ok(())
}

/// Opens the shard's journal. A cluster that lost a worker starts its task again, while the process that the worker had
/// started may still run: then waits for that one, and goes on with its runs.
fn wait_for(
    root: &Path,
    scenario: &Scenario,
    world: &dyn World,
    opening: &Opening<'_>,
    interrupt: &Interrupt,
) -> Result<Journal, Failure> {
    let mut has_told = false;
    loop {
        match Journal::open(root, scenario, world, opening) {
            Err(JournalError::Busy(path)) if !interrupt.stop.load(Ordering::Relaxed) => {
                if !std::mem::replace(&mut has_told, true) {
                    say!("airtcp: another process runs this shard, as {path} is locked; waiting for it");
                }
                std::thread::sleep(ASK_AGAIN);
            }
            opened => return opened.map_err(cannot_begin),
        }
    }
}

/// Counts the runs of this shard that are done.
struct Counter<'a> {
    bar: ProgressBar,
    runs: usize,
    interrupt: &'a Interrupt,
}

impl Observer for Counter<'_> {
    fn on_resumed(&mut self, runs: usize) {
        self.runs = runs;
        self.bar.set_position(runs as u64);
        self.bar.reset_eta();
    }

    fn on_run(&mut self) {
        self.runs += 1;
        self.bar.inc(1);
    }

    fn on_stopping(&mut self) {
        self.bar.suspend(|| say!("{}", self.interrupt.words()));
    }
}
