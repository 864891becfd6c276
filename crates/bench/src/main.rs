//! `make bench`: CPU time, instructions and memory of the simulator beside those of ns-2 and ns-3, on the same networks
//! (`dumbbell.rs`, `cell.rs`, `bench/ns2`, `bench/ns3`) one after the other, and of the event queue beside a binary heap.
//!
//! `profile` counts what is done for a data packet and writes docs/performance.md.
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

use clap::{Parser, Subcommand};
use network::Network;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
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
    /// Only what an `airtcp` needs beside its simulation.
    StartUp {
        /// The program.
        program: PathBuf,
    },
    /// Runs what a profile-guided build learns from.
    Train,
    /// Only the race in a cell of 802.11n.
    Aggregated,
    /// Counts what is done for a data packet and writes docs/performance.md.
    Profile,
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
    let passed = match Arguments::parse().command {
        Some(Command::Simulate(network)) => {
            match network {
                Simulated::Dumbbell(dumbbell) => dumbbell.simulate(),
                Simulated::Cell(cell) => cell.simulate(),
            }
            true
        }
        Some(Command::Measure { command }) => return measure::as_only_child(&command),
        Some(Command::Hold) => hold::compare(),
        Some(Command::Aggregated) => contest::aggregated_cell()?,
        Some(Command::StartUp { program }) => start_up::judge(&program)?,
        Some(Command::Train) => {
            train::run();
            true
        }
        Some(Command::Profile) => {
            profile::write()?;
            true
        }
        None => {
            let raced = contest::all()?;
            hold::compare() && raced
        }
    };
    Ok(if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// How much better than its target a value must be, so that noise does not decide.
const TO_SPARE: f64 = 1.1;

/// Prints a verdict; returns whether `value` is above `target` with a tenth to spare.
fn judge(what: &str, value: f64, target: f64) -> bool {
    verdict(what, value, target, value >= target * TO_SPARE)
}

/// The same of what must be below.
fn judge_at_most(what: &str, value: f64, target: f64) -> bool {
    verdict(what, value, target, value * TO_SPARE <= target)
}

/// The same where a tenth to spare makes no sense.
fn verdict(what: &str, value: f64, target: f64, passed: bool) -> bool {
    println!("{}  {what:<58}  {value:8.2}  target {target:.2}", if passed { "PASS" } else { "FAIL" });
    passed
}
