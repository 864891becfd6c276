//! `airtcp-drill FILE…`: plays scripts against our TCP, and with `--kernel` against Linux's, too. `airtcp-drill --random
//! 300`: random traces of our sender, given to Linux's.

use airtcp_drill::random::{self, Setting};
use airtcp_drill::{Difference, Ours, Script, collection, play};
use airtcp_linux::sys::clock;
use clap::Parser;
use std::path::PathBuf;
use std::process::ExitCode;

/// Plays drill scripts, or random traces (docs/drills.md).
#[derive(Parser)]
struct Arguments {
    /// Scripts, or directories of them.
    #[arg(required_unless_present_any = ["random", "show"])]
    paths: Vec<PathBuf>,
    /// Also against the kernel's TCP (root).
    #[arg(long)]
    kernel: bool,
    /// So many random traces of our sender, given to the kernel's (root).
    #[arg(long, value_name = "COUNT", conflicts_with = "paths")]
    random: Option<u64>,
    /// Seed of the first trace.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Fail unless so many traces are equal; all of them if not said.
    #[arg(long, value_name = "COUNT")]
    equal: Option<u64>,
    /// Traces at a time.
    #[arg(long, default_value_t = 8)]
    at_once: usize,
    /// Print the trace of `--seed`, as a script.
    #[arg(long)]
    show: bool,
}

fn main() -> anyhow::Result<ExitCode> {
    let arguments = Arguments::parse();
    let is_good = if arguments.show {
        print!("{}", random::record(&Setting::of(arguments.seed), random::Host::linux(clock::tick())));
        true
    } else if let Some(count) = arguments.random {
        play_random(&arguments, count)?
    } else {
        play_scripts(&arguments)?
    };
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn play_scripts(arguments: &Arguments) -> anyhow::Result<bool> {
    let (mut played, mut failed) = (0, 0);
    for path in &arguments.paths {
        for (path, script) in collection::read(path)? {
            let differences = differences(&script, arguments.kernel)?;
            played += 1;
            failed += usize::from(!differences.is_empty());
            println!("{}  {}", if differences.is_empty() { "PASS" } else { "FAIL" }, path.display());
            differences.iter().for_each(|difference| println!("      {difference}"));
        }
    }
    println!("{} of {played} scripts", played - failed);
    Ok(failed == 0)
}

fn differences(script: &Script, kernel: bool) -> anyhow::Result<Vec<Difference>> {
    let ours = play(script, &mut Ours::new(script)).err();
    let kernels = if kernel { collection::play_on_kernel(script)? } else { None };
    Ok(ours.into_iter().chain(kernels).collect())
}

fn play_random(arguments: &Arguments, count: u64) -> anyhow::Result<bool> {
    let seeds = arguments.seed..arguments.seed + count;
    let outcomes = random::compare_all(seeds, arguments.at_once, |outcome| {
        if let Some(difference) = &outcome.difference {
            println!("seed {}  {}\n      {difference}", outcome.seed, outcome.setting);
        }
    })?;
    let equal = outcomes.iter().filter(|outcome| outcome.difference.is_none());
    let at_once = equal.clone().filter(|outcome| outcome.attempts == 1).count();
    let (equal, last) = (equal.count() as u64, arguments.seed + count - 1);
    println!("{equal} of {count} traces are equal, {at_once} at the first attempt, seeds {} to {last}", arguments.seed);
    Ok(equal >= arguments.equal.unwrap_or(count))
}
