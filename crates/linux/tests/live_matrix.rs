//! The matrix of live file transfers: 20 MB of real kernel TCP through two gateways, of G-Snoop and of
//! local recovery, and every impairment of the air, in both directions at once; over IPv4 and IPv6; with
//! the clocks of TCP in the middle of their range and just below the wrap. What arrives must have the same
//! SHA-256 as what was sent. The simulated half is in crates/sim/tests/matrix.rs.
//!
//! A sixth of the cells runs by default, all with AIRTCP_TEST_LONG; AIRTCP_MATRIX runs all cells
//! whose impairment contains its text.

#[path = "../../sim/tests/common/impairments.rs"]
mod impairments;
mod live_support;

use airtcp_core::{DropReason, Duration};
use airtcp_linux::emulator::DirectionReport;
use airtcp_linux::testbed::Family;
use airtcp_linux::traffic::{FlowResult, FlowSpec, Outcome, Wrap, Wrapped, hex};
use impairments::IMPAIRMENTS;
use live_support::gateway::Gateway;
use live_support::{Path, SCHEMES, family_name, is_long, seconds, turn};

const FILE_BYTES: u64 = 20_000_000;
const DEADLINE: Duration = Duration::from_secs(60);
/// Of the first cell; each cell has its own links and content.
const FIRST_SEED: u64 = 20_260_101;

/// In the middle of a file that takes two seconds at least.
const NEAR_WRAP: Wrap = Wrap { sequence_bytes: Some(5_000_000), timestamp_ms: Some(700) };

#[derive(Clone, Copy)]
struct Cell {
    scheme: &'static str,
    impairment: usize,
    family: Family,
    near_wrap: bool,
}

impl Cell {
    fn name(&self) -> String {
        let wrap = if self.near_wrap { "wrapping" } else { "" };
        format!("{:<14} {:<12} {} {wrap:<8}", self.scheme, IMPAIRMENTS[self.impairment].0, family_name(self.family))
    }

    fn seed(&self) -> u64 {
        let variant = 2 * u64::from(self.near_wrap) + u64::from(self.family == Family::V6);
        FIRST_SEED + 4 * self.impairment as u64 + variant
    }

    /// Runs it; what is wrong with the outcome, if anything is.
    fn run(&self, path: &Path, gateways: &mut [Gateway; 2]) -> Result<(), String> {
        let (seed, impairment) = (self.seed(), IMPAIRMENTS[self.impairment].1);
        // An outage of the cell before may have parted them.
        let _ = path.restart(seed, Some(&[]));
        gateways.iter_mut().for_each(Gateway::wait_in_reach);
        let origin = path.restart(seed, Some(impairment));
        let wrap = if self.near_wrap { NEAR_WRAP } else { Wrap::default() };
        let spec = FlowSpec { wrap, ..path.file(self.family, FILE_BYTES, seed, DEADLINE) };
        let result = path.start(spec, origin).join().expect("sockets");
        println!(
            "{} {:>7.3} s, longest stall {:.3} s, sha256 {} {}",
            self.name(),
            result.last_byte_at.map_or(f64::NAN, seconds),
            seconds(result.longest_stall),
            hex(&result.receiver_sha256),
            if result.stream_is_intact() { "equal" } else { "DIFFERENT" }
        );
        let report = path.testbed.emulator().report().expect("the emulator runs");
        if !report.is_conserved() {
            return Err(format!("the emulator lost count: {report:?}"));
        }
        for direction in ["links.air.forward", "links.air.reverse"] {
            let happened = happened(report.direction(direction).expect("the air"));
            if impairment.iter().any(|(key, _)| !happened.contains(key)) || happened.len() > impairment.len() {
                return Err(format!("on {direction} happened {happened:?}"));
            }
        }
        self.judge(&result)
    }

    fn judge(&self, result: &FlowResult) -> Result<(), String> {
        if result.outcome != Outcome::Complete || result.received_bytes != FILE_BYTES {
            return Err(format!("{:?} after {} bytes", result.outcome, result.received_bytes));
        }
        if !result.stream_is_intact() {
            return Err(format!("first wrong byte {:?}", result.first_wrong_byte));
        }
        let wanted = Wrapped { sequence: self.near_wrap, timestamp: self.near_wrap };
        if result.wrapped != wanted {
            return Err(format!("the clocks were to wrap: {wanted:?}, did: {:?}", result.wrapped));
        }
        Ok(())
    }
}

/// Which of a link's impairments packets met, by the keys of its settings.
fn happened(air: &DirectionReport) -> Vec<&'static str> {
    let counts = [
        ("loss", air.dropped(DropReason::LOSS)),
        ("reorder", air.reordered_packets),
        ("duplicate", air.duplicated_packets),
        ("corrupt", air.corrupted_packets),
        ("outage", air.dropped(DropReason::OUTAGE)),
    ];
    counts.into_iter().filter(|(_, count)| *count > 0).map(|(key, _)| key).collect()
}

fn cells(scheme: usize) -> Vec<Cell> {
    let only = std::env::var("AIRTCP_MATRIX").ok();
    let mut cells = Vec::new();
    for (impairment, (name, _)) in IMPAIRMENTS.iter().enumerate() {
        for (variant, near_wrap) in [false, true].into_iter().enumerate() {
            for (index, family) in Family::BOTH.into_iter().enumerate() {
                // One variant of each impairment, another one each time, so that all come up, and the schemes in turn.
                let is_next = impairment % 4 == 2 * variant + index && (impairment + impairment / 4) % 2 == scheme;
                let chosen = is_next || *name == "everything" && index == scheme;
                let wanted = match &only {
                    Some(text) => name.contains(text.as_str()),
                    None => chosen || is_long(),
                };
                if wanted {
                    cells.push(Cell { scheme: SCHEMES[scheme], impairment, family, near_wrap });
                }
            }
        }
    }
    cells
}

#[test]
fn live_files_arrive_with_equal_hashes_through_every_impairment() {
    let Some(_turn) = turn() else { return };
    let path = Path::up(&[]);
    let mut gateways = path.gateways();
    let mut failed = Vec::new();
    let cells: Vec<Cell> = (0..SCHEMES.len()).flat_map(cells).collect();
    for cell in &cells {
        if gateways[0].config.scheme != cell.scheme {
            drop(gateways);
            gateways = path.gateways_with(cell.scheme);
        }
        if let Err(why) = cell.run(&path, &mut gateways) {
            println!("FAILED: {why}");
            println!(
                "again: AIRTCP_MATRIX='{}' cargo test -p airtcp-linux --test live_matrix -- --nocapture",
                IMPAIRMENTS[cell.impairment].0
            );
            failed.push(format!("{}: {why}", cell.name()));
        }
        for gateway in &mut gateways {
            gateway.assert_sound();
        }
    }
    let all = 4 * IMPAIRMENTS.len() * SCHEMES.len();
    println!("{} cells of {all}, {} failed", cells.len(), failed.len());
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
