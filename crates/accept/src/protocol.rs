//! What is demanded, as a table.

use crate::judge::{Cell, Demand, Measure};

/// One run of the command and what its result must show.
pub struct Part {
    /// Name on the command line.
    pub name: &'static str,
    /// Arguments of `airtcp`.
    pub arguments: &'static [&'static str],
    /// Each one line of the report.
    pub demands: Vec<Demand>,
}

/// Levels of loss on the hop, as the scenarios write them; the last is the Gilbert-Elliott case.
const LOSSES: [&str; 5] = ["0%", "1%", "5%", "10%", "gilbert-elliott"];

/// Every part, the quick one first. Live cells: at least 5 runs of at least 20 s measured.
pub fn parts() -> Vec<Part> {
    let simulated = [("1%", 0.98), ("5%", 0.98), ("10%", 0.97)].map(|(loss, target)| of_ceiling(loss, target));
    let mut live = vec![Demand { measure: Measure::TimesBaseline, ..of_ceiling("0%", 0.98) }];
    live.extend([("1%", 0.97), ("5%", 0.97), ("10%", 0.95), ("gilbert-elliott", 0.93)].map(|(l, t)| of_ceiling(l, t)));
    live.extend(LOSSES.map(|loss| Demand {
        cell: Cell { loss, controller: "bbr" },
        measure: Measure::TimesBaseline,
        at_least: 0.95,
        runs: 5,
    }));
    vec![
        Part {
            name: "simulator",
            arguments: &["run", "scenarios/demo.toml", "--json", "--set", "runs=30"],
            demands: simulated.map(|demand| Demand { runs: 30, ..demand }).to_vec(),
        },
        Part {
            name: "live",
            arguments: &[
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
            ],
            demands: live,
        },
        Part {
            name: "live-50mbit",
            arguments: &["run", "scenarios/accept-50mbit.toml", "--live", "--json"],
            demands: vec![of_ceiling("5%", 0.93)],
        },
    ]
}

fn of_ceiling(loss: &'static str, at_least: f64) -> Demand {
    Demand { cell: Cell { loss, controller: "cubic" }, measure: Measure::OfCeiling, at_least, runs: 5 }
}
