//! What is demanded, as a table.

use crate::gain::Gain;
use crate::judge::{Cell, Demand, Measure};
use crate::queue::{self, Limit};

/// Runs of the command that belong together.
pub struct Part {
    /// Name on the command line.
    pub name: &'static str,
    /// In the order in which they are made.
    pub trials: Vec<Trial>,
}

/// What is made and judged at once, and once more if the emulated link was not what it should be. Live, each level of loss
/// has its own, so that no more than that has to be made again when the machine was busy.
pub enum Trial {
    /// A run judged by itself.
    Run(Run),
    /// A live run beside a simulated one.
    Twin(Twin),
    /// A router's queue beside drop-tail.
    Queue(Queue),
}

/// One run of the command and what its result must show.
pub struct Run {
    /// Arguments of `airtcp`.
    pub arguments: Vec<String>,
    /// Each one line of the report.
    pub demands: Vec<Demand>,
}

/// A run of the router's queues, and what one of them has to show.
pub struct Queue {
    /// Arguments of `airtcp`.
    pub arguments: Vec<String>,
    /// Controller of the senders.
    pub controller: &'static str,
    /// The scenario's name for what is before the link.
    pub case: &'static str,
    /// Each one line of the report.
    pub demands: Vec<queue::Demand>,
}

/// A live run, the same in the simulator, and how near the two must be.
pub struct Twin {
    /// Arguments of `airtcp` for the kernel.
    pub live: Vec<String>,
    /// And for the simulator.
    pub simulated: Vec<String>,
    /// What both show.
    pub gain: Gain,
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
            trials: vec![Trial::Run(Run {
                arguments: owned(&["run", "scenarios/demo.toml", "--json", "--set", "runs=30"]),
                demands: simulated.map(|demand| Demand { runs: 30, ..demand }).to_vec(),
            })],
        },
        Part { name: "live-loss-free", trials: vec![live("0%", "cubic", &[], loss_free)] },
        Part { name: "live-cubic", trials: LOSSES[1..].iter().copied().map(repaired).collect() },
        Part { name: "live-bbr", trials: LOSSES.map(|(loss, _)| live(loss, "bbr", &[], bbr(loss))).into() },
        Part {
            name: "live-50mbit",
            trials: vec![Trial::Run(Run {
                arguments: owned(&["run", "scenarios/accept-50mbit.toml", "--live", "--json"]),
                demands: vec![of_ceiling("5%", 0.93)],
            })],
        },
        Part { name: "live-newzag", trials: ["0.5%", "1%", "1.5%"].map(newzag).into() },
        Part { name: "live-fast-tcp", trials: vec![fast_tcp()] },
    ]
}

/// For what is compared with the ceiling only.
const GSNOOP_ONLY: &str = "vary.schemes.repair.kind=[\"gsnoop\"]";

/// The demo at one level of loss: at least 5 runs of at least 20 s measured.
fn live(loss: &str, controller: &str, more: &[&str], demand: Demand) -> Trial {
    let loss = match loss {
        BURSTY => "{ kind = \"gilbert-elliott\", mean = \"2%\", burst = 5 }".to_owned(),
        loss => format!("\"{loss}\""),
    };
    let cells = [format!("vary.links.air.loss=[{loss}]"), format!("vary.flows.bulk.controller=[\"{controller}\"]")];
    let sets = owned(&["runs=5", "duration=24s", "warmup=4s"]).into_iter().chain(cells).chain(owned(more));
    let arguments = owned(&["run", "scenarios/demo.toml", "--live", "--json"]).into_iter();
    let arguments = arguments.chain(sets.flat_map(|set| ["--set".to_owned(), set])).collect();
    Trial::Run(Run { arguments, demands: vec![demand] })
}

/// NewZag in the kernel gains what it gains in the simulator, over Reno: the same growth with a half after every loss.
fn newzag(loss: &'static str) -> Trial {
    let common = owned(&["run", "scenarios/newzag.toml", "--json", "--set"]).into_iter();
    let common = common.chain([format!("vary.links.air.loss=[\"{loss}\"]")]);
    Trial::Twin(Twin {
        live: common.clone().chain(owned(&["--live"])).collect(),
        simulated: common.chain(owned(&["--set", "runs=30"])).collect(),
        gain: Gain { loss, controller: "newzag", over: "reno", at_most_apart: 0.1, runs: 8 },
    })
}

/// Fast-TCP keeps half the queue before the link at no price: eight CUBIC senders with windows of 5 BDP in all.
fn fast_tcp() -> Trial {
    let demand = |measure, limit| queue::Demand { measure, limit };
    let only = "vary.flows.bulk.controller=[\"cubic\"]";
    Trial::Queue(Queue {
        arguments: owned(&["run", "scenarios/router-queue.toml", "--live", "--json", "--set", only]),
        controller: "cubic",
        case: "fast-tcp",
        demands: vec![
            demand(queue::Measure::ForwardWait, Limit::AtMost(0.5)),
            demand(queue::Measure::Goodput, Limit::AtLeast(0.97)),
            demand(queue::Measure::BothWaits, Limit::AtMost(1.0)),
            demand(queue::Measure::Ping, Limit::AtMost(1.05)),
            demand(queue::Measure::ShortFlows(50), Limit::AtMost(1.05)),
            demand(queue::Measure::ShortFlows(95), Limit::AtMost(1.05)),
        ],
    })
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn of_ceiling(loss: &'static str, at_least: f64) -> Demand {
    Demand { cell: Cell { loss, controller: "cubic" }, measure: Measure::OfCeiling, at_least, runs: 5 }
}
