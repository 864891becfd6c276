//! `airtcp run --emit`: a script that runs a sweep as shards on a cluster and merges them.
//!
//! The script only starts `airtcp run --shard I/N` for each I, and `airtcp merge` behind them: what is done and what is
//! left is in the results directory, which all machines have to see. So a task that was killed is simply started again.

mod scripts;

use crate::Failure;
use crate::machine;
use crate::output::{self, say};
use airtcp_experiment::results::directory;
use airtcp_experiment::{Scenario, Simulator, World};
use anyhow::Context;
use clap::{Args, ValueEnum};
use std::path::Path;
use std::time::Duration;

#[derive(Clone, Copy, Debug, Args)]
pub(super) struct EmitArguments {
    /// Print a script that runs the sweep on a cluster, instead of running it
    #[arg(id = "emit", long = "emit", value_name = "ENGINE", conflicts_with_all = ["live", "json", "markdown", "pcap", "threads", "fresh", "resume"])]
    pub(super) engine: Option<Engine>,
    /// Tasks of the script; as many as take a second each, at most 1000, if left out
    #[arg(long, value_name = "N", requires = "emit", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(super) tasks: Option<u32>,
}

/// What starts the tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Engine {
    /// An array job for sbatch
    Slurm,
    /// A task array for hq submit
    Hyperqueue,
    /// A Python program for a dask.distributed cluster
    Dask,
}

/// The sweep of a command.
pub(super) struct Sweep<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) file: &'a str,
    pub(super) sets: &'a [String],
    pub(super) results: &'a Path,
    /// How long it took to read the scenario.
    pub(super) loading: Duration,
}

/// Slurm's own limit for an array is 1001 unless its administrator raised it.
const MAX_TASKS: u32 = 1000;
/// A shorter task would cost the cluster more than it does.
const SHORTEST_TASK: Duration = Duration::from_secs(1);
/// A task takes at least so many times as long as it takes to begin one.
const TIMES_BEGINNING: u32 = 10;
/// Runs that are made to learn how long one takes.
const SAMPLES: usize = 5;
/// No further one begins after this time.
const SAMPLING_MAX: Duration = Duration::from_secs(5);

pub(super) fn run(engine: Engine, asked: Option<u32>, sweep: &Sweep<'_>) -> Result<(), Failure> {
    let runs = sweep.scenario.cells.len() * sweep.scenario.runs as usize;
    let all = a_thousand_runs(sweep.scenario).saturating_mul(u32::try_from(runs).unwrap_or(u32::MAX)) / 1000;
    let tasks = tasks(all, sweep.loading, runs, asked);
    if let Some(asked) = asked.filter(|asked| *asked != tasks) {
        say!(
            "airtcp: {tasks} tasks, not {asked}: more would take less than a second each, or ten times what it takes to begin one"
        );
    }
    let directory = std::env::current_dir().context("cannot tell the current directory")?;
    let program = std::env::current_exe().context("cannot tell where airtcp is")?;
    let home = directory::of_scenario(sweep.results, sweep.scenario);
    let script = scripts::Script {
        name: &sweep.scenario.name,
        about: format!(
            "{runs} runs of {} ({}) in {tasks} tasks of about {} s each, on one core",
            sweep.scenario.name,
            sweep.scenario.hash,
            (all / tasks).as_secs_f64().ceil(),
        ),
        directory: directory.display().to_string(),
        program: program.display().to_string(),
        run: arguments(sweep),
        home: home.display().to_string(),
        tasks,
    };
    output::print(script.text(engine).trim_end());
    Ok(())
}

/// How long a thousand runs take on one core, judged by some from all over the sweep.
fn a_thousand_runs(scenario: &Scenario) -> Duration {
    let cells = scenario.cells.len();
    let samples = SAMPLES.min(cells);
    let begin = machine::wall_clock();
    let mut made = 0;
    for sample in 0..samples {
        let cell = sample * cells / samples;
        // A cell that cannot be run takes no time.
        drop(Simulator::default().run(&scenario.cells[cell].scenario, scenario.seed));
        made += 1;
        if machine::wall_clock().duration_since(begin) > SAMPLING_MAX {
            break;
        }
    }
    machine::wall_clock().duration_since(begin) * 1000 / made
}

/// How many tasks there are of a sweep that takes `all`; `asked` for at most.
fn tasks(all: Duration, beginning: Duration, runs: usize, asked: Option<u32>) -> u32 {
    let shortest = SHORTEST_TASK.max(beginning * TIMES_BEGINNING);
    let most = u32::try_from(all.as_nanos() / shortest.as_nanos()).unwrap_or(MAX_TASKS);
    let runs = u32::try_from(runs).unwrap_or(MAX_TASKS);
    most.min(asked.unwrap_or(MAX_TASKS)).min(MAX_TASKS).min(runs).max(1)
}

/// What follows `airtcp` in every task, but for its shard.
fn arguments(sweep: &Sweep<'_>) -> Vec<String> {
    let sets = sweep.sets.iter().flat_map(|set| ["--set".to_owned(), set.clone()]);
    let results = ["--results".to_owned(), sweep.results.display().to_string()];
    let head = ["run".to_owned(), sweep.file.to_owned()];
    head.into_iter().chain(sets).chain(results).chain(["--threads".to_owned(), "1".to_owned()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_takes_a_second_and_ten_times_what_its_beginning_takes() {
        let seconds = Duration::from_secs;
        let quick = Duration::from_millis(10);
        assert_eq!(tasks(seconds(300), quick, 100_000, None), 300);
        assert_eq!(tasks(seconds(300), seconds(3), 100_000, None), 10);
        assert_eq!(tasks(seconds(300), quick, 100_000, Some(8)), 8);
        assert_eq!(tasks(seconds(300), quick, 12, None), 12, "a run is not divided");
        assert_eq!(tasks(seconds(100_000), quick, 100_000, None), 1000);
        assert_eq!(tasks(quick, quick, 5, Some(4)), 1);
    }
}
