//! What the command can do.

mod cc;
mod daemon_name;
mod data;
mod doctor;
mod earlier;
mod emit;
mod emulate;
mod finish;
mod forward;
mod gateway;
mod key;
mod merge;
mod observation;
mod papers;
mod probe;
mod process;
mod reload;
mod report;
mod reproduce;
mod run;
mod shard;
mod show;
mod status;
mod told;
mod topic;
mod trace;
mod upgrade;
mod verdicts;
mod watch;

use crate::Failure;
use airtcp_experiment::{Catalogue, Scenario};
use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Run a scenario in the simulator, or on kernel TCP with --live
    Run(run::Arguments),
    /// Put the runs of several shards of a sweep together (run --shard)
    Merge(merge::Arguments),
    /// Run a paper's experiments and judge its claims
    Reproduce(reproduce::Arguments),
    /// Make a page with a row for each claim of each paper, of what reproduce left
    Verdicts(verdicts::Arguments),
    /// Run your own program on the hosts of a live scenario
    Emulate(emulate::Arguments),
    /// Write a rate that varies as a file of seconds and Mbit/s
    Trace(trace::Arguments),
    #[command(flatten)]
    OnRouter(RouterVerb),
    /// Load, unload or list congestion controllers in the kernel
    Cc(cc::Arguments),
    /// Make an HTML report of stored results, or of several side by side
    Report(report::Arguments),
}

impl Verb {
    pub(crate) fn run(self, catalogue: &Catalogue<'_>) -> Result<(), Failure> {
        match self {
            Verb::Run(arguments) => run::run(&arguments, catalogue),
            Verb::Merge(arguments) => merge::run(&arguments, catalogue),
            Verb::Reproduce(arguments) => reproduce::run(&arguments, catalogue),
            Verb::Verdicts(arguments) => verdicts::run(&arguments, catalogue),
            Verb::Emulate(arguments) => emulate::run(&arguments, catalogue),
            Verb::Trace(arguments) => trace::run(&arguments),
            Verb::OnRouter(RouterVerb::Doctor(arguments)) => {
                doctor::run(&arguments, catalogue, doctor::Scope::Everything)
            }
            Verb::OnRouter(RouterVerb::Show(arguments)) => show::run(&arguments, catalogue),
            Verb::OnRouter(verb) => verb.run(catalogue),
            Verb::Cc(arguments) => cc::run(&arguments),
            Verb::Report(arguments) => report::run(&arguments, catalogue),
        }
    }
}

/// What both commands can do: all that the small program for routers has.
#[derive(Debug, Subcommand)]
pub(crate) enum RouterVerb {
    /// Run a scheme on this router's real packets
    Gateway(gateway::Arguments),
    /// Carry other programs' TCP connections to a peer over decoupling sockets
    Forward(forward::Arguments),
    /// Say what the gateways and forwarders on this machine do
    Status(status::Arguments),
    /// Have a gateway or forwarder read its file again, without an outage
    Reload(reload::Arguments),
    /// Have a gateway go on as the program that is installed now, without an outage
    Upgrade(upgrade::Arguments),
    /// Measure the way to another box that runs airtcp, and say whether gateways would gain anything there
    Probe(probe::Arguments),
    /// Make the key that two gateways share
    Key(key::Arguments),
    /// Check what this machine can do, with a file what a gateway needs there, and print how to fix what it cannot
    Doctor(doctor::Arguments),
    /// List schemes, files, their keys and defaults
    Show(show::Arguments),
}

impl RouterVerb {
    /// As the small program for routers does it.
    pub(crate) fn run(self, catalogue: &Catalogue<'_>) -> Result<(), Failure> {
        match self {
            RouterVerb::Gateway(arguments) => gateway::run(&arguments, catalogue),
            RouterVerb::Forward(arguments) => forward::run(&arguments),
            RouterVerb::Status(arguments) => status::run(&arguments),
            RouterVerb::Reload(arguments) => reload::run(&arguments),
            RouterVerb::Upgrade(arguments) => upgrade::run(&arguments),
            RouterVerb::Probe(arguments) => probe::run(&arguments),
            RouterVerb::Key(arguments) => key::run(&arguments),
            RouterVerb::Doctor(arguments) => doctor::run(&arguments, catalogue, doctor::Scope::Router),
            RouterVerb::Show(arguments) => show::run_on_router(&arguments, catalogue),
        }
    }
}

/// Reads the scenario of a file, or a built-in one by its name.
fn load(file: &str, sets: &[String], catalogue: &Catalogue<'_>) -> Result<Scenario, Failure> {
    Scenario::named(file, sets, catalogue).map_err(Failure::input)
}
