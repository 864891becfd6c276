//! `airtcp merge`: what `airtcp run --shard` left in several processes, as one process would have left it.

use super::finish::{self, Form, FormArguments, Tables};
use crate::output::say;
use crate::{Failure, machine};
use airtcp_experiment::Catalogue;
use airtcp_experiment::results::summary::Summary;
use airtcp_experiment::results::{MergeError, Merged, Shards, directory};
use anyhow::Context;
use clap::Args;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Directories of one scenario, results/NAME-HASH, in which shards are
    #[arg(required = true, value_name = "DIR")]
    directories: Vec<PathBuf>,
    /// Merge runs of different builds of airtcp, too
    #[arg(long)]
    any_build: bool,
    #[command(flatten)]
    form: FormArguments,
    /// Directory for all results; where the first DIR is if left out
    #[arg(long, value_name = "DIR", alias = "out")]
    results: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments, catalogue: &Catalogue<'_>) -> Result<(), Failure> {
    let begin = machine::wall_clock();
    let shards = Shards::find(&arguments.directories, catalogue).map_err(wrong)?;
    let root = match &arguments.results {
        Some(root) => root.clone(),
        None => root_of(arguments)?,
    };
    let mut failures = Vec::new();
    for merged in shards.merge(arguments.any_build).map_err(wrong)? {
        let wall = machine::wall_clock().duration_since(begin);
        failures.extend(finish_world(&root, arguments.form.form(), &merged, wall)?);
    }
    failures.iter().for_each(|failure| say!("airtcp: {failure}"));
    if failures.is_empty() { Ok(()) } else { Err(Failure::Code(1)) }
}

/// Writes and prints one world, which took `wall` to merge; returns what went wrong in it.
fn finish_world(root: &Path, form: Form, merged: &Merged<'_>, wall: Duration) -> Result<Vec<String>, Failure> {
    let results = &merged.results;
    let scenario = results.scenario;
    if results.is_empty() {
        return Ok(vec![finish::closing(results, &Summary::of(results, ""))]);
    }
    let runs = scenario.cells.len() * scenario.runs as usize;
    let work = machine::Work {
        world: results.world,
        // One for each shard: nobody kept how many each had.
        threads: merged.files,
        resumed_runs: runs,
        builds: merged.builds.all(),
        wall,
        in_runs: None,
    };
    let (written, world) = finish::write(root, results, machine::manifest(&work))?;
    let report = finish::write_report(&directory::of_scenario(root, scenario), scenario, &world)?;
    let places = format!("results  {}\nreport   {report}", written.display());
    Tables::of(scenario, None, form).show(0, results, &world.summary, &places);
    say!("airtcp: merged {runs} runs of {} shards, which are no longer needed", merged.files);
    Ok(results.failures())
}

/// The directory that holds the first of the scenario's: `results` of `results/NAME-HASH`.
fn root_of(arguments: &Arguments) -> Result<PathBuf, Failure> {
    let first = &arguments.directories[0];
    let home = first.canonicalize().with_context(|| first.display().to_string())?;
    let home = if home.ends_with(directory::SHARDS) { home.parent().unwrap_or(&home).to_owned() } else { home };
    // As the user wrote it, so that the summary names what one process would have named.
    if home.ends_with(first)
        && let Some(parent) = first.parent()
    {
        return Ok(parent.to_owned());
    }
    Ok(home.parent().unwrap_or(&home).to_owned())
}

/// Runs that are missing can be made; anything else was asked for wrongly.
fn wrong(error: MergeError) -> Failure {
    match error {
        MergeError::Incomplete { .. } => Failure::Failed(error.into()),
        _ => Failure::input(error),
    }
}
