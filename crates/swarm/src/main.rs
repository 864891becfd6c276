//! The swarm as a command: `make swarm`, and the one line that reproduces a failure.
#![forbid(unsafe_code)]

mod report;

use airtcp_swarm::canary::CANARIES;
use airtcp_swarm::scenario::{Scenario, scenario, shrink};
use airtcp_swarm::{Tables, cell, check, check_cell, trace};
use clap::Parser;
use std::io::{BufWriter, stdout};
use std::process::ExitCode;
use std::sync::Mutex;

/// Random operations on every scheme and controller, and random networks: faults, then healing, then progress.
#[derive(Parser)]
struct Arguments {
    /// Number of seeds to run from each beginning.
    #[arg(long, default_value_t = 10_000)]
    count: u64,
    /// First seed; may be given several times, for several beginnings.
    #[arg(long, default_values_t = [0, 1_000_000])]
    from: Vec<u64>,
    /// Seeds that run at the same time; all cores if not given.
    #[arg(long)]
    threads: Option<usize>,
    /// Run only the 802.11 cells of the seeds.
    #[arg(long)]
    cells: bool,
    /// Run this seed only, and describe its network.
    #[arg(long, conflicts_with_all = ["count", "from"])]
    seed: Option<u64>,
    /// Make the network of a failing seed as small as possible.
    #[arg(long, requires = "seed")]
    shrink: bool,
    /// Write a line for every packet of its network instead; with `--shrink`, of the small one.
    #[arg(long, requires = "seed")]
    trace: bool,
    /// Look for each planted bug instead, and for nothing in its honest twin.
    #[arg(long, conflicts_with_all = ["count", "from", "seed"])]
    canary: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let passed = match arguments.seed {
        _ if arguments.canary => find_canaries(),
        Some(seed) => run_one(seed, &arguments),
        None => run_many(&arguments),
    };
    if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs the seeds of every beginning, several at a time.
fn run_many(arguments: &Arguments) -> bool {
    let seeds = arguments.from.iter().flat_map(|from| *from..from.saturating_add(arguments.count));
    let count = arguments.from.len() as u64 * arguments.count;
    let report = report::Report::new(count);
    let check = if arguments.cells { check_cell } else { check };
    let next = Mutex::new(seeds);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..arguments.threads.unwrap_or(cores).max(1) {
            scope.spawn(|| {
                // A guard in the condition of a `while let` would be held while the seed runs.
                let take = || next.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).next();
                while let Some(seed) = take() {
                    if let Err(what) = check(seed, &Tables::built_in()) {
                        report.fail(seed, &what);
                    }
                    report.step();
                }
            });
        }
    });
    report.finish() == 0
}

fn run_one(seed: u64, arguments: &Arguments) -> bool {
    let network = scenario(seed, &Tables::built_in());
    let cell = cell::cell(seed, &Tables::built_in());
    print!("{network}{cell}");
    if arguments.trace && !arguments.shrink {
        return write_trace(&network);
    }
    let Err(what) = check(seed, &Tables::built_in()) else {
        println!("passed");
        return true;
    };
    println!("failed: {what}");
    if arguments.shrink {
        match shrink::shrink(&network, &shrink::fails) {
            Some((small, what)) => {
                print!("\nshrunk to:\n{small}failed: {what}\n");
                return arguments.trace && write_trace(&small);
            }
            None => println!("the network does not fail, so there is nothing to shrink"),
        }
        if let Some((small, what)) = cell::shrink::shrink(&cell, &cell::shrink::fails) {
            print!("\nshrunk to:\n{small}failed: {what}\n");
        }
    }
    false
}

fn write_trace(network: &Scenario) -> bool {
    let written = trace::write(network, &mut BufWriter::new(stdout().lock()));
    if let Err(error) = &written {
        println!("no trace: {error}");
    }
    written.is_ok()
}

fn find_canaries() -> bool {
    let mut all_found = true;
    for canary in CANARIES {
        for (finder, budget) in canary.budgets {
            let name = format!("{} ({finder:?})", canary.planted.about);
            match canary.find((*finder, *budget)) {
                Ok((seed, what)) => println!("PASS  {name}: seed {seed} of {budget}: {what}"),
                Err(what) => {
                    all_found = false;
                    println!("FAIL  {name}: {what}");
                }
            }
        }
    }
    all_found
}
