//! `make wifi`: boots a machine for each cell, has its stations upload plainly and with AS-TCP, and prints a table of what
//! came of it beside the simulator's figures of the same cell.

pub mod faults;
mod table;
mod told;

pub use told::Run;

use anyhow::{Context, ensure};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;

/// How the radios send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Phy {
    /// 802.11b at 11 Mbit/s.
    B,
    /// 802.11g at 54 Mbit/s.
    G,
    /// 802.11n at 65 Mbit/s, with aggregates.
    N,
}

impl Phy {
    /// Of the cell, as the scenario of the same cells has it.
    fn settings(self) -> &'static str {
        match self {
            Phy::B => "phy=b-long",
            Phy::G => "phy=g",
            Phy::N => "phy=n",
        }
    }

    /// Its letter.
    fn name(self) -> &'static str {
        match self {
            Phy::B => "b",
            Phy::G => "g",
            Phy::N => "n",
        }
    }
}

/// Radios, a number of stations, a chance that a frame is damaged, in per cent, and when it is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// How they send.
    pub phy: Phy,
    /// Stations that upload.
    pub stations: u32,
    /// Of each transmission.
    pub loss: u32,
    /// Transmissions of a frame, the first one included.
    pub tries: u32,
}

/// How much is tried.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// What each station sends.
    pub bytes: u64,
    /// Transfers without and with AS-TCP in each cell, by number of stations: one, and more.
    pub runs: [u64; 2],
    /// Transfers are long enough for their goodput to be judged.
    pub is_judged: bool,
    /// Host seconds that a machine may take.
    pub limit: u64,
}

impl Size {
    /// 20 MB, 69 transfers with AS-TCP.
    pub const FULL: Size = Size { bytes: 20_000_000, runs: [5, 2], is_judged: true, limit: 3600 };
    /// Whether it works at all.
    pub const SMOKE: Size = Size { bytes: 300_000, runs: [1, 1], is_judged: false, limit: 300 };
    /// 2 MB, a transfer for each cell.
    pub const SHORT: Size = Size { bytes: 2_000_000, runs: [1, 1], is_judged: false, limit: 1200 };
}

/// All cells.
pub fn cells() -> Vec<Cell> {
    // 7 is the standard's; with 2, TCP has to repair what the radio gives up.
    let kinds = [(0, 7), (2, 7), (5, 7), (10, 7), (2, 2), (5, 2), (10, 2)];
    let with_b =
        [1, 3].into_iter().flat_map(|stations| kinds.map(|(loss, tries)| Cell { phy: Phy::B, stations, loss, tries }));
    let others = [Phy::G, Phy::N]
        .into_iter()
        .flat_map(|phy| [(0, 7), (5, 2)].map(|(loss, tries)| Cell { phy, stations: 1, loss, tries }));
    with_b.chain(others).collect()
}

impl Cell {
    /// As the cell's settings are written.
    fn settings(self) -> String {
        format!("{} data_loss={}% retry_limit={}", self.phy.settings(), self.loss, self.tries)
    }

    /// What the machine is to do for it: transfers of some seeds without AS-TCP, and of the same with it.
    fn plan(self, size: Size) -> String {
        let count = size.runs[usize::from(self.stations > 1)];
        let run = |scheme: &str, seed: u64| format!("run {scheme} {seed} {} {}\n", size.bytes, self.settings());
        (1..=count).map(|seed| run("plain", seed) + &run("as-tcp", seed)).collect()
    }
}

/// Runs a plan in the machine, on one core of this one; everything that it said.
///
/// # Errors
/// The machine does not start, or does not end in time.
pub fn machine(
    root: &Path,
    (phy, stations): (Phy, u32),
    plan: &str,
    limit: u64,
    core: usize,
) -> anyhow::Result<String> {
    let mut child = Command::new(root.join("scripts/wifi-machine"))
        .args([&stations.to_string(), &limit.to_string(), phy.name(), &core.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("scripts/wifi-machine does not start")?;
    child.stdin.take().context("a pipe")?.write_all(plan.as_bytes())?;
    let output = child.wait_with_output()?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// One upload with AS-TCP, where a twentieth of the frames is damaged.
///
/// # Errors
/// It does not arrive, or acknowledgments are on the air.
pub fn smoke(root: &Path) -> anyhow::Result<()> {
    let size = Size::SMOKE;
    let text = machine(root, (Phy::B, 1), &format!("run as-tcp 1 {} data_loss=5%\n", size.bytes), size.limit, 0)?;
    let runs = told::read(&text)?;
    ensure!(runs.len() == 1 && runs[0].is_equal(), "the upload did not arrive; the machine said:\n{text}");
    let (segments, acks) = (size.bytes / 1448, runs[0].tcp_ack_frames());
    ensure!(acks * 10 < segments, "{acks} acknowledgments on the air for {segments} segments: none was spared");
    println!(
        "{} bytes arrived at {:.2} Mbit/s, with {acks} acknowledgments on the air",
        size.bytes,
        runs[0].goodput_bps() / 1e6
    );
    Ok(())
}

/// Runs cells, each in a machine of its own and as many machines at once as there are cores, prints the table, and says what
/// is not as it should be.
///
/// # Errors
/// A cell did not end, or a claim does not hold.
pub fn run(root: &Path, airtcp: &Path, size: Size, cells: &[Cell]) -> anyhow::Result<()> {
    let simulated = table::simulate(root, airtcp)?;
    let machines = std::thread::available_parallelism().map_or(1, usize::from);
    // A machine with more stations works longer: those are first.
    let queue = Mutex::new(cells.iter().copied().enumerate().collect::<Vec<_>>());
    let rows = Mutex::new(Vec::new());
    let work = |core: usize| -> anyhow::Result<()> {
        loop {
            let Some((place, cell)) = queue.lock().expect("no thread panics").pop() else { return Ok(()) };
            let row = table::Row::new(cell, &run_cell(root, cell, size, core)?, &simulated);
            eprint!("{}", table::print(std::slice::from_ref(&row)));
            rows.lock().expect("no thread panics").push((place, row));
        }
    };
    let work = &work;
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..machines).map(|core| scope.spawn(move || work(core))).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("no thread panics"))
    })?;
    let mut rows = rows.into_inner().expect("no thread panics");
    rows.sort_by_key(|(place, _)| *place);
    let rows: Vec<_> = rows.into_iter().map(|(_, row)| row).collect();
    print!("{}", table::print(&rows));
    let wrong: Vec<String> = rows.iter().flat_map(|row| row.complaints(size.is_judged)).collect();
    ensure!(wrong.is_empty(), "not as it should be:\n{}", wrong.join("\n"));
    Ok(())
}

fn run_cell(root: &Path, cell: Cell, size: Size, core: usize) -> anyhow::Result<Vec<Run>> {
    let plan = cell.plan(size);
    let text = machine(root, (cell.phy, cell.stations), &plan, size.limit, core)?;
    let runs = told::read(&text)?;
    let wanted = plan.lines().count();
    let are_of_cell = runs.iter().all(|run| run.asked.settings == cell.settings());
    ensure!(
        are_of_cell && runs.len() == wanted,
        "{} of {wanted} transfers ended; the machine said:\n{text}",
        runs.len()
    );
    Ok(runs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_least_twenty_transfers_with_as_tcp_make_the_full_matrix() {
        let lines: Vec<String> = cells().into_iter().map(|cell| cell.plan(Size::FULL)).collect();
        let count = |word: &str| lines.iter().flat_map(|plan| plan.lines()).filter(|line| line.contains(word)).count();
        assert_eq!((count("as-tcp"), count("plain")), (69, 69));
    }
}
