//! What is demanded, as a table.

use crate::judge::{Cell, Demand, Measure};

/// One run of the command and what its result must show.
pub struct Part {
    /// Name on the command line.
    pub name: &'static str,
    /// Arguments of `airtcp`.
    pub arguments: Vec<&'static str>,
    /// Each one line of the report.
    pub demands: Vec<Demand>,
}

/// Levels of loss on the hop, as the scenarios write them; the last is the Gilbert-Elliott case.
const LOSSES: [&str; 5] = ["0%", "1%", "5%", "10%", "gilbert-elliott"];

/// The levels with loss.
const LOSSY: &str =
    "vary.links.air.loss=[\"1%\", \"5%\", \"10%\", { kind = \"gilbert-elliott\", mean = \"2%\", burst = 5 }]";
const CUBIC: &str = "vary.flows.bulk.controller=[\"cubic\"]";

/// Live: at least 5 runs of at least 20 s measured.
const LIVE: [&str; 10] = [
    "run",
    "scenarios/demo.toml",
    "--live",
    "--json",
    "--set",
    "runs=5",
    "--set",
    "duration=24s",
    "--set",
    "warmup=4s",
];

/// Every part, the quick one first. Each runs only the cells that its demands are about, and what they are compared with.
pub fn parts() -> Vec<Part> {
    let live = |sets: &[&'static str]| {
        LIVE.into_iter().chain(sets.iter().flat_map(|set| ["--set", *set])).collect::<Vec<&str>>()
    };
    let simulated = [("1%", 0.98), ("5%", 0.98), ("10%", 0.97)].map(|(loss, target)| of_ceiling(loss, target));
    let repaired = [("1%", 0.97), ("5%", 0.97), ("10%", 0.95), ("gilbert-elliott", 0.93)];
    let bbr = LOSSES.map(|loss| Demand {
        cell: Cell { loss, controller: "bbr" },
        measure: Measure::TimesBaseline,
        at_least: 0.95,
        runs: 5,
    });
    vec![
        Part {
            name: "simulator",
            arguments: vec!["run", "scenarios/demo.toml", "--json", "--set", "runs=30"],
            demands: simulated.map(|demand| Demand { runs: 30, ..demand }).to_vec(),
        },
        Part {
            name: "live-loss-free",
            arguments: live(&["vary.links.air.loss=[\"0%\"]", CUBIC]),
            demands: vec![Demand { measure: Measure::TimesBaseline, ..of_ceiling("0%", 0.98) }],
        },
        Part {
            name: "live-cubic",
            arguments: live(&[LOSSY, CUBIC, "vary.schemes.repair.kind=[\"gsnoop\"]"]),
            demands: repaired.map(|(loss, target)| of_ceiling(loss, target)).to_vec(),
        },
        Part { name: "live-bbr", arguments: live(&["vary.flows.bulk.controller=[\"bbr\"]"]), demands: bbr.to_vec() },
        Part {
            name: "live-50mbit",
            arguments: vec!["run", "scenarios/accept-50mbit.toml", "--live", "--json"],
            demands: vec![of_ceiling("5%", 0.93)],
        },
    ]
}

fn of_ceiling(loss: &'static str, at_least: f64) -> Demand {
    Demand { cell: Cell { loss, controller: "cubic" }, measure: Measure::OfCeiling, at_least, runs: 5 }
}
