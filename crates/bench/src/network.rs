//! What the race is about: networks that every rival can simulate.

use airtcp_core::parameters::Parameters;
use airtcp_link::LinkSettings;
use airtcp_sim::{Outcome, RunSettings, Topology};
use airtcp_tcp::Config;

/// NewReno with an acknowledgment for each segment, as the other simulators.
pub const CLASSIC: [(&str, &str); 6] = [
    ("controller", "reno"),
    ("recovery", "newreno"),
    ("sack", "false"),
    ("timestamps", "false"),
    ("delayed_ack_segments", "1"),
    ("slow_start_after_idle", "false"),
];

/// Who is told the arguments of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// This program.
    Ours,
    /// Scripts in `bench/ns2`.
    Ns2,
    /// Programs in `bench/ns3`.
    Ns3,
}

/// A network and how long it is simulated.
pub trait Network: Clone {
    /// Its script in `bench/ns2`, its program in `bench/ns3`, and this program's command for it.
    const NAME: &'static str;
    /// The modules of ns-3 it needs.
    const MODULES: &'static [&'static str];
    /// Simulated seconds of the run that is subtracted: everything is built and has begun.
    const START_UP: u64;

    /// What a program is called with.
    fn arguments(&self, dialect: Dialect) -> Vec<String>;
    /// Simulated seconds in which instructions are counted, if they are: valgrind takes fifty times as long.
    fn counted(&self) -> Option<u64>;
    /// Simulated seconds.
    fn seconds(&self) -> u64;
    /// The same for so many seconds.
    fn lasting(&self, seconds: u64) -> Self;
    /// Runs it here.
    fn run(&self) -> Outcome;

    /// Runs it and prints data packets sent, bytes delivered and events.
    fn simulate(&self) {
        let [packets, bytes, events] = totals(&self.run());
        println!("{packets} {bytes} {events}");
    }
}

/// Data packets sent, bytes delivered, events.
pub fn totals(outcome: &Outcome) -> [u64; 3] {
    let packets = outcome.flows.iter().map(|flow| flow.segments_sent).sum();
    let bytes = outcome.flows.iter().map(|flow| flow.total_bytes).sum();
    [packets, bytes, outcome.events]
}

/// Runs a network without what the other simulators have no like of.
pub fn simulated(topology: &Topology, seconds: u64, checks: bool) -> Outcome {
    let settings = RunSettings {
        duration: airtcp_core::Duration::from_secs(seconds),
        warmup: airtcp_core::Duration::ZERO,
        checks,
        series: false,
        ..RunSettings::default()
    };
    topology.run(&settings).expect("a valid network")
}

/// A link of this rate and delay, with so many packets of queue.
pub fn link(rate: &str, delay: &str, queue: &str) -> LinkSettings {
    set(LinkSettings::default(), &[("rate", rate), ("delay", delay), ("queue", queue)])
}

/// A sender and receiver with these parameters, and without habits of Linux, as the other simulators'.
pub fn tcp(settings: &[(&str, &str)]) -> Config {
    set(Config::without_habits(), settings)
}

/// `parameters` with these values.
pub fn set<P: Parameters>(mut parameters: P, values: &[(&str, &str)]) -> P {
    for &(key, value) in values {
        parameters.set(key, &value.into()).expect("a parameter and its value");
    }
    parameters
}
