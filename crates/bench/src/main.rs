//! `make bench`: CPU time, instructions and memory of the simulator beside those of ns-2 and ns-3, on the same networks
//! (`dumbbell.rs`, `cell.rs`, `bench/ns2`, `bench/ns3`) one after the other, and of the event queue beside a binary heap.
//!
//! What was found, and what is done for a data packet (`profile.rs`), becomes docs/performance.md.
//!
//! A row counts only where both simulators carried the same goodput within 5 %. Ratios are of data packets or
//! simulated seconds per CPU second, the start-up of each program (its shortest run) subtracted.
#![forbid(unsafe_code)]

mod cell;
mod contest;
mod dumbbell;
mod hold;
mod measure;
mod network;
mod profile;
mod race;
mod rivals;
mod start_up;
mod train;
mod verdicts;

use clap::{Parser, Subcommand};
use mimalloc::MiMalloc;
use network::Network;
use std::path::PathBuf;
use std::process::ExitCode;
use verdicts::Verdicts;

/// That of `airtcp`.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// The `airtcp` whose start-up is judged.
    #[arg(long, default_value = "target/release/airtcp")]
    airtcp: PathBuf,
}

#[derive(Subcommand)]
enum Command {
    /// Simulates a network, as a contestant.
    #[command(subcommand)]
    Simulate(Simulated),
    /// Runs a command and prints what it cost, for this program itself.
    Measure {
        /// The command and its arguments.
        #[arg(trailing_var_arg = true, required = true)]
        command: Vec<String>,
    },
    /// Only the event queue.
    Hold,
    /// Runs what a profile-guided build learns from.
    Train,
    /// Only the race in a cell of 802.11n.
    Aggregated,
}

/// A network, named as its script for ns-2 and its program for ns-3.
#[derive(Subcommand)]
enum Simulated {
    /// Flows over one link.
    Dumbbell(dumbbell::Dumbbell),
    /// Uploads in an 802.11b cell.
    Cell(cell::Cell),
}

fn main() -> anyhow::Result<ExitCode> {
    let Arguments { command, airtcp } = Arguments::parse();
    let mut verdicts = Verdicts::default();
    match command {
        Some(Command::Simulate(Simulated::Dumbbell(dumbbell))) => dumbbell.simulate(),
        Some(Command::Simulate(Simulated::Cell(cell))) => cell.simulate(),
        Some(Command::Measure { command }) => return measure::as_only_child(&command),
        Some(Command::Hold) => hold::compare(&mut verdicts),
        Some(Command::Aggregated) => contest::aggregated_cell(&mut verdicts)?,
        Some(Command::Train) => train::run(),
        None => {
            contest::all(&mut verdicts)?;
            hold::compare(&mut verdicts);
            start_up::judge(&mut verdicts, &airtcp)?;
            profile::write(&verdicts)?;
        }
    }
    Ok(if verdicts.all_hold() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
