//! What is demanded, as a table.

use crate::judge::{Cell, Demand, Measure};

/// Runs of the command that belong together.
pub struct Part {
    /// Name on the command line.
    pub name: &'static str,
    /// In the order in which they are made.
    pub runs: Vec<Run>,
}

/// One run of the command and what its result must show. Live, each level of loss has its own, so that no more than
/// that has to be made again when the machine was busy.
pub struct Run {
    /// Arguments of `airtcp`.
    pub arguments: Vec<String>,
    /// Each one line of the report.
    pub demands: Vec<Demand>,
}

/// Levels of loss on the hop with the target for CUBIC (at 0 % beside plain, elsewhere of the ceiling); the last is
/// the Gilbert-Elliott case.
const LOSSES: [(&str, f64); 5] = [("0%", 0.98), ("1%", 0.97), ("5%", 0.97), ("10%", 0.95), (BURSTY, 0.93)];
const BURSTY: &str = "gilbert-elliott";

/// Every part, the quick one first. Each runs only the cells that its demands are about, and what they are compared with.
pub fn parts() -> Vec<Part> {
    let simulated = [("1%", 0.98), ("5%", 0.98), ("10%", 0.97)].map(|(loss, target)| of_ceiling(loss, target));
    let loss_free = Demand { measure: Measure::TimesBaseline, ..of_ceiling("0%", LOSSES[0].1) };
    let bbr = |loss| Demand {
        cell: Cell { loss, controller: "bbr" },
        measure: Measure::TimesBaseline,
        at_least: 0.95,
        runs: 5,
    };
    let repaired = |(loss, target): (&'static str, f64)| live(loss, "cubic", &[GSNOOP_ONLY], of_ceiling(loss, target));
    vec![
        Part {
            name: "simulator",
            runs: vec![Run {
                arguments: owned(&["run", "scenarios/demo.toml", "--json", "--set", "runs=30"]),
                demands: simulated.map(|demand| Demand { runs: 30, ..demand }).to_vec(),
            }],
        },
        Part { name: "live-loss-free", runs: vec![live("0%", "cubic", &[], loss_free)] },
        Part { name: "live-cubic", runs: LOSSES[1..].iter().copied().map(repaired).collect() },
        Part { name: "live-bbr", runs: LOSSES.map(|(loss, _)| live(loss, "bbr", &[], bbr(loss))).into() },
        Part {
            name: "live-50mbit",
            runs: vec![Run {
                arguments: owned(&["run", "scenarios/accept-50mbit.toml", "--live", "--json"]),
                demands: vec![of_ceiling("5%", 0.93)],
            }],
        },
    ]
}

/// For what is compared with the ceiling only.
const GSNOOP_ONLY: &str = "vary.schemes.repair.kind=[\"gsnoop\"]";

/// The demo at one level of loss: at least 5 runs of at least 20 s measured.
fn live(loss: &str, controller: &str, more: &[&str], demand: Demand) -> Run {
    let loss = match loss {
        BURSTY => "{ kind = \"gilbert-elliott\", mean = \"2%\", burst = 5 }".to_owned(),
        loss => format!("\"{loss}\""),
    };
    let cells = [format!("vary.links.air.loss=[{loss}]"), format!("vary.flows.bulk.controller=[\"{controller}\"]")];
    let sets = owned(&["runs=5", "duration=24s", "warmup=4s"]).into_iter().chain(cells).chain(owned(more));
    let arguments = owned(&["run", "scenarios/demo.toml", "--live", "--json"]).into_iter();
    Run { arguments: arguments.chain(sets.flat_map(|set| ["--set".to_owned(), set])).collect(), demands: vec![demand] }
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn of_ceiling(loss: &'static str, at_least: f64) -> Demand {
    Demand { cell: Cell { loss, controller: "cubic" }, measure: Measure::OfCeiling, at_least, runs: 5 }
}
