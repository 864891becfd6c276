//! The table of `make wifi`, and what it must show.

use super::{Cell, Phy, Run};
use anyhow::{Context, ensure};
use clap::ValueEnum;
use serde_json::Value;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

/// Acknowledgments on the air with AS-TCP, of those without: at most so many.
const ACKS_MOST: f64 = 0.05;
/// The gain differs from the simulator's by so much at most.
const GAIN_APART: f64 = 0.15;
/// The scenario of the cells, below the tree's root.
const SCENARIO: &str = "crates/wifi/machine/cell.toml";

/// Goodput in the simulator, in bits per second, by cell: plain and with AS-TCP.
#[derive(Clone, Debug, PartialEq)]
pub struct Simulated(Vec<(Cell, [f64; 2])>);

/// Runs the scenario.
///
/// # Errors
/// The simulator's words.
pub fn simulate(root: &Path, airtcp: &Path) -> anyhow::Result<Simulated> {
    let results = root.join("target/wifi/results");
    let output =
        Command::new(airtcp).arg("run").arg(root.join(SCENARIO)).arg("--json").arg("--results").arg(results).output();
    let output = output.with_context(|| format!("{} does not start", airtcp.display()))?;
    ensure!(output.status.success(), "the simulator: {}", String::from_utf8_lossy(&output.stderr));
    Simulated::read(&serde_json::from_slice(&output.stdout)?).context("the simulator's JSON has other cells")
}

impl Simulated {
    fn read(json: &Value) -> Option<Simulated> {
        let mut all: Vec<(Cell, [f64; 2])> = Vec::new();
        for row in json["cells"].as_array()? {
            let at = |key: &str| row["at"][key].as_str();
            let phy = Phy::from_str(at("cases.phy")?, false).ok()?;
            let stations = at("nodes.sta.count")?.parse().ok()?;
            let loss = at("wlans.wifi.data_loss")?.trim_end_matches('%').parse().ok()?;
            let cell = Cell { phy, stations, loss, tries: at("wlans.wifi.retry_limit")?.parse().ok()? };
            let which = usize::from(at("schemes.cell")? != "plain");
            let place = all.iter().position(|(known, _)| *known == cell).unwrap_or(all.len());
            if place == all.len() {
                all.push((cell, [0.0; 2]));
            }
            all[place].1[which] = row["goodput_bps"]["median"].as_f64()?;
        }
        Some(Simulated(all))
    }

    fn of(&self, cell: Cell) -> [f64; 2] {
        self.0.iter().find(|(known, _)| *known == cell).map_or([f64::NAN; 2], |(_, goodput)| *goodput)
    }
}

/// What came of a cell.
#[derive(Debug)]
pub struct Row {
    cell: Cell,
    /// Goodput of all stations together: plain, and the median with AS-TCP.
    live: [f64; 2],
    simulated: [f64; 2],
    /// TCP acknowledgments on the air for each megabyte.
    acks: [f64; 2],
    given_up: u64,
    /// Transfers with AS-TCP whose sums are equal, and all of them.
    equal: [usize; 2],
    /// The plain transfer's sums are equal.
    is_plain_equal: bool,
}

impl Row {
    /// Of a plain run and at least one with AS-TCP.
    pub fn new(cell: Cell, runs: &[Run], simulated: &Simulated) -> Row {
        let (plain, with): (Vec<&Run>, Vec<&Run>) = runs.iter().partition(|run| run.asked.scheme == "plain");
        let goodput = |runs: &[&Run]| median(runs.iter().map(|run| run.goodput_bps()).collect());
        let acks = |runs: &[&Run]| {
            let megabytes = |run: &Run| (run.asked.bytes * u64::from(run.asked.stations)) as f64 / 1e6;
            median(runs.iter().map(|run| run.tcp_ack_frames() as f64 / megabytes(run)).collect())
        };
        Row {
            cell,
            live: [goodput(&plain), goodput(&with)],
            simulated: simulated.of(cell),
            acks: [acks(&plain), acks(&with)],
            given_up: with.iter().map(|run| run.given_up()).sum(),
            equal: [with.iter().filter(|run| run.is_equal()).count(), with.len()],
            is_plain_equal: plain.iter().all(|run| run.is_equal()),
        }
    }

    fn gains(&self) -> [f64; 2] {
        [self.live, self.simulated].map(|[plain, with]| with / plain)
    }

    /// What is not as it should be; `is_long`: transfers are long enough to judge their goodput.
    pub fn complaints(&self, is_long: bool) -> Vec<String> {
        let Cell { phy, stations, loss, tries } = self.cell;
        let name = format!("{}, {stations} stations, {loss} % loss, {tries} transmissions", phy.name());
        let [live, simulated] = self.gains();
        let mut wrong = Vec::new();
        if self.equal[0] != self.equal[1] || !self.is_plain_equal {
            wrong.push(format!("{name}: what arrived is not what was sent"));
        }
        // False also where one of them is no number.
        let is_spared = self.acks[1] <= self.acks[0] * ACKS_MOST;
        let is_as_fast = live >= 1.0;
        let is_as_simulated = (live / simulated - 1.0).abs() <= GAIN_APART;
        if !is_spared {
            wrong.push(format!("{name}: {:.1} acknowledgments a MB on the air, of {:.1}", self.acks[1], self.acks[0]));
        }
        if is_long && !is_as_fast {
            wrong.push(format!("{name}: slower than plain TCP, {live:.2} times"));
        }
        if is_long && !is_as_simulated {
            wrong.push(format!("{name}: {live:.2} times plain TCP, {simulated:.2} in the simulator"));
        }
        wrong
    }
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    match numbers.len() {
        0 => f64::NAN,
        length if length % 2 == 1 => numbers[length / 2],
        length => (numbers[length / 2 - 1] + numbers[length / 2]) / 2.0,
    }
}

/// The table in Markdown; Mbit/s of all stations together.
pub fn print(rows: &[Row]) -> String {
    let mut text = String::from(
        "| 802.11 | stations | loss | transmissions | plain | AS-TCP | gain | simulated: plain | AS-TCP | gain | TCP ACKs a MB: plain | AS-TCP | \
         frames given up | equal sums |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for row in rows {
        let ([plain, with], [sim_plain, sim_with]) =
            (row.live.map(|bps| bps / 1e6), row.simulated.map(|bps| bps / 1e6));
        let [live, simulated] = row.gains().map(|gain| (gain - 1.0) * 100.0);
        let _ = writeln!(
            text,
            "| {} | {} | {} % | {} | {plain:.2} | {with:.2} | {live:.0} % | {sim_plain:.2} | {sim_with:.2} | {simulated:.0} % | {:.0} | \
             {:.1} | {} | {} of {} |",
            row.cell.phy.name(),
            row.cell.stations,
            row.cell.loss,
            row.cell.tries,
            row.acks[0],
            row.acks[1],
            row.given_up,
            row.equal[0],
            row.equal[1]
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const CELL: Cell = Cell { phy: Phy::B, stations: 1, loss: 2, tries: 7 };

    fn row() -> Row {
        let (live, simulated, acks) = ([4.8e6, 5.7e6], [4.9e6, 5.8e6], [350.0, 15.0]);
        Row { cell: CELL, live, simulated, acks, given_up: 0, equal: [2, 2], is_plain_equal: true }
    }

    #[test]
    fn a_row_as_it_should_be_has_no_complaint_and_each_wrong_figure_one() {
        assert_eq!(row().complaints(true), Vec::<String>::new());
        let wrong = [
            Row { equal: [1, 2], ..row() },
            Row { is_plain_equal: false, ..row() },
            Row { acks: [350.0, 18.0], ..row() },
            Row { live: [5.8e6, 5.7e6], simulated: [5.8e6, 5.8e6], ..row() },
            Row { live: [4.8e6, 6.7e6], ..row() },
            Row { simulated: [f64::NAN; 2], ..row() },
        ];
        for row in wrong {
            assert_eq!(row.complaints(true).len(), 1, "{row:?}");
        }
    }

    #[test]
    fn the_simulators_cells_are_found_by_stations_and_loss() {
        let row = |scheme: &str, bps: f64| {
            let at = json!({"cases.phy": "b", "nodes.sta.count": "1", "wlans.wifi.data_loss": "2%", "wlans.wifi.retry_limit": "7", "schemes.cell": scheme});
            json!({"at": at, "goodput_bps": {"median": bps}})
        };
        let simulated = Simulated::read(&json!({"cells": [row("plain", 1.0), row("as-tcp", 2.0)]})).unwrap();
        assert_eq!(simulated.of(CELL), [1.0, 2.0]);
        assert!(simulated.of(Cell { stations: 3, ..CELL })[0].is_nan());
        assert_eq!(Simulated::read(&json!({"cells": [{"at": {}}]})), None);
    }
}
