//! Captures of simulated runs as pcapng files for Wireshark and tshark (draft-ietf-opsawg-pcapng).
//!
//! A captured run is the first run of a cell, run again while a tap looks on: the same seed gives the same run, which
//! the trace hash confirms. So captures cost nothing when nobody asks for them, and an interrupted sweep resumes
//! without them.
//!
//! Each end of a link is an interface (`air@a`: link `air`, at node `a`), where a packet is seen going out, before the
//! queue, and coming in. Wireshark follows one stream over all interfaces unless told to keep them apart: set
//! *Conversation deinterlacing* to *Interface*, or filter by `frame.interface_name` and save.

mod file;

use crate::results::{Results, describe};
use crate::scenario::{Cell, Scenario};
use crate::simulator::Simulator;
use crate::world::NotRun;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

pub use file::Capture;

/// Most files of one run of a scenario.
pub const MAX_FILES: usize = 16;

/// Where captures lie in the directory of a world.
pub const DIRECTORY: &str = "captures";

/// What to keep of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CaptureSettings {
    /// Bytes kept of each packet. The default holds the largest headers, IPv6 (40) and TCP with all options (60), and
    /// 64 bytes of payload; a checksum over the payload needs all 65535.
    pub snap_len: u32,
    /// Longest file in bytes; a capture that would be longer ends early.
    pub max_bytes: u64,
}

impl Default for CaptureSettings {
    fn default() -> Self {
        CaptureSettings { snap_len: 164, max_bytes: 256 << 20 }
    }
}

/// A capture that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The file.
    pub path: PathBuf,
    /// Its length.
    pub bytes: u64,
    /// Packets in it.
    pub packets: u64,
    /// Packets that came after it was full.
    pub left_out: u64,
}

/// Why there is no capture.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// More cells than [`MAX_FILES`].
    #[error(
        "{cells} cells would make {cells} captures, at most {MAX_FILES} are written; name cells: --pcap=0,3\n{list}"
    )]
    TooMany {
        /// Cells asked for.
        cells: usize,
        /// What can be named.
        list: String,
    },
    /// A number that names no cell.
    #[error("there is no cell {index}; name one of these: --pcap=0,3\n{list}")]
    NoSuchCell {
        /// The number.
        index: usize,
        /// What can be named.
        list: String,
    },
    /// It could not be run.
    #[error("{cell}: {reason}")]
    NotRun {
        /// The cell.
        cell: String,
        /// Why.
        reason: NotRun,
    },
    /// The second run was another one.
    #[error("{cell}: the captured run differs from the measured one; please report this, with the scenario")]
    Differs {
        /// The cell.
        cell: String,
    },
    /// The file system's.
    #[error("cannot write {path}: {error}")]
    Io {
        /// The file.
        path: String,
        /// What it says.
        error: std::io::Error,
    },
}

/// The cells to capture: those that `wanted` names by their position in the scenario, or all.
///
/// # Errors
/// A position that is none, or more cells than [`MAX_FILES`].
pub fn select(scenario: &Scenario, wanted: Option<&[usize]>) -> Result<Vec<usize>, CaptureError> {
    let all: Vec<usize> = (0..scenario.cells.len()).collect();
    let mut cells = wanted.map_or(all, <[usize]>::to_vec);
    cells.sort_unstable();
    cells.dedup();
    if let Some(&index) = cells.iter().find(|&&index| index >= scenario.cells.len()) {
        return Err(CaptureError::NoSuchCell { index, list: list(scenario) });
    }
    if cells.len() > MAX_FILES {
        return Err(CaptureError::TooMany { cells: cells.len(), list: list(scenario) });
    }
    Ok(cells)
}

/// The cells with their numbers, a line each.
fn list(scenario: &Scenario) -> String {
    const MOST: usize = 40;
    let lines =
        scenario.cells.iter().enumerate().take(MOST).map(|(index, cell)| format!("  {index}: {}", describe(cell)));
    let mut lines: Vec<String> = lines.collect();
    if scenario.cells.len() > MOST {
        lines.push(format!("  … and {} more", scenario.cells.len() - MOST));
    }
    lines.join("\n")
}

/// Captures the first run of `cells` into `directory`; cells that were not run are left out.
///
/// # Errors
/// A run that cannot be repeated, or the file system's.
pub fn write(
    results: &Results<'_>,
    cells: &[usize],
    directory: &Path,
    settings: CaptureSettings,
) -> Result<Vec<Written>, CaptureError> {
    let scenario = results.scenario;
    let mut written = Vec::new();
    for &index in cells {
        let Some(measured) = results.outcomes(index).and_then(|runs| runs.first()) else { continue };
        let path = directory.join(file_name(scenario, index));
        let (captured, trace) = write_cell(&scenario.cells[index], scenario.seed, &path, settings)?;
        if trace != measured.trace {
            return Err(CaptureError::Differs { cell: describe(&scenario.cells[index]) });
        }
        written.push(captured);
    }
    Ok(written)
}

/// Captures one run; also returns what identifies it.
fn write_cell(
    cell: &Cell,
    seed: u64,
    path: &Path,
    settings: CaptureSettings,
) -> Result<(Written, Option<crate::world::Trace>), CaptureError> {
    let io = |error| CaptureError::Io { path: path.display().to_string(), error };
    std::fs::create_dir_all(path.parent().unwrap_or(Path::new(""))).map_err(io)?;
    let out = BufWriter::new(File::create(path).map_err(io)?);
    let mut capture = Capture::new(out, &cell.scenario, &note(cell, seed), settings).map_err(io)?;
    let outcome = Simulator::default().run_tapped(&cell.scenario, seed, &mut capture);
    let outcome = outcome.map_err(|reason| CaptureError::NotRun { cell: describe(cell), reason })?;
    let (mut out, counts) = capture.finish().map_err(io)?;
    out.flush().map_err(io)?;
    let bytes = std::fs::metadata(path).map_err(io)?.len();
    let written = Written { path: path.to_owned(), bytes, packets: counts.packets, left_out: counts.left_out };
    Ok((written, outcome.trace))
}

/// What the file says about itself.
fn note(cell: &Cell, seed: u64) -> String {
    let at: Vec<String> = cell.at.iter().map(|(key, label)| format!("{key} = {label}")).collect();
    format!("scenario {}, seed {seed}{}{}", cell.scenario.name, if at.is_empty() { "" } else { ": " }, at.join(", "))
}

/// `05-5pct-cubic-gsnoop.pcapng`: the cell's number and what it is.
pub fn file_name(scenario: &Scenario, index: usize) -> String {
    let width = (scenario.cells.len() - 1).to_string().len();
    let label = describe(&scenario.cells[index]).replace('%', "pct");
    let words = label.split(|c: char| !c.is_ascii_alphanumeric() && c != '.').filter(|word| !word.is_empty());
    let label: String = words.collect::<Vec<_>>().join("-").chars().take(80).collect();
    format!("{index:0width$}-{label}.pcapng")
}
