//! `airtcp-wifi`: what `make wifi` runs in and around a machine of its own with the kernel's 802.11 stack and simulated radios.
//!
//! - `medium` is the air between the radios: the simulator's 802.11 cell on the wall clock;
//! - `send` and `receive` move files by the kernel's TCP and tell their sums and ends;
//! - `matrix` boots the machine for each cell and prints the table, `faults` kills and stops gateways in it.
//!
//! A tool and not a verb of `airtcp`: nobody needs it who has real radios, and it joins two crates that otherwise do not
//! know each other, the simulator's cell and Linux's sockets.

mod matrix;
mod medium;
mod transfer;

use airtcp_core::Value;
use airtcp_core::parameters::Parameters;
use airtcp_sim::dot11::CellSettings;
use anyhow::{Context, bail};
use clap::{Parser, Subcommand};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// AS-TCP on the kernel's 802.11 stack.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Be the air between simulated radios until SIGTERM; then print what each of them did.
    Medium {
        /// Stations: radios behind radio 0, the access point.
        #[arg(long)]
        stations: u8,
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// A setting of the cell, as in a scenario's `[wlans]` (airtcp show wlans).
        #[arg(long = "set", value_name = "KEY=VALUE")]
        settings: Vec<String>,
    },
    /// Boot the machine that scripts/wifi-image built, for each cell, and print a table.
    Matrix {
        /// The program that simulates.
        #[arg(long)]
        airtcp: PathBuf,
        /// 2 MB and one transfer for each cell, in place of 20 MB and twenty transfers.
        #[arg(long)]
        short: bool,
        /// One upload, to see whether it works.
        #[arg(long, conflicts_with_all = ["short", "stations", "phy"])]
        smoke: bool,
        /// Only cells with so many stations.
        #[arg(long)]
        stations: Option<u32>,
        /// Only cells of this standard.
        #[arg(long)]
        phy: Option<matrix::Phy>,
    },
    /// Kill and stop gateways under uploads in that machine.
    Faults {
        #[arg(long, default_value_t = 20)]
        count: u64,
    },
    /// Send bytes by TCP, and print what became of them.
    Send {
        to: SocketAddr,
        #[arg(long)]
        bytes: u64,
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Receive connections, and print a line for each.
    Receive {
        at: SocketAddr,
        #[arg(long, default_value_t = 1)]
        count: usize,
        /// Seconds of silence after which a connection is given up.
        #[arg(long, default_value_t = 120)]
        patience: u64,
    },
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().verb {
        Verb::Medium { stations, seed, settings } => {
            let cell = medium::Cell::new(&cell_settings(&settings)?, stations, seed);
            let summary = medium::serve(cell, || println!("ready"))?;
            println!("{}", serde_json::to_string(&summary)?);
        }
        Verb::Matrix { smoke: true, .. } => matrix::smoke(&std::env::current_dir()?)?,
        Verb::Matrix { airtcp, short, stations, phy, .. } => {
            let size = if short { matrix::Size::SHORT } else { matrix::Size::FULL };
            let is_wanted = |cell: &matrix::Cell| {
                stations.is_none_or(|wanted| cell.stations == wanted) && phy.is_none_or(|wanted| cell.phy == wanted)
            };
            let cells: Vec<_> = matrix::cells().into_iter().filter(is_wanted).collect();
            matrix::run(&std::env::current_dir()?, &airtcp, size, &cells)?;
        }
        Verb::Faults { count } => matrix::faults::run(&std::env::current_dir()?, count)?,
        Verb::Send { to, bytes, seed } => {
            println!("{}", serde_json::to_string(&transfer::send(to, bytes, seed)?)?);
        }
        Verb::Receive { at, count, patience } => {
            let print = |seen| println!("{}", serde_json::to_string(&seen).expect("numbers and words"));
            transfer::receive(at, count, Duration::from_secs(patience), print)?;
        }
    }
    Ok(())
}

/// The default cell with these keys set.
fn cell_settings(words: &[String]) -> anyhow::Result<CellSettings> {
    let mut settings = CellSettings::default();
    for word in words {
        let Some((key, value)) = word.split_once('=') else { bail!("'{word}' sets nothing: write KEY=VALUE") };
        let is_number = value.parse::<f64>().is_ok();
        let value = if is_number { Value::Number(value.into()) } else { Value::from(value) };
        settings.set(key, &value).with_context(|| format!("--set {word}"))?;
    }
    settings.check().map_err(anyhow::Error::msg)?;
    Ok(settings)
}
