//! What the command can do.

mod cc;
mod doctor;
mod emulate;
mod forward;
mod gateway;
mod key;
mod papers;
mod reload;
mod report;
mod reproduce;
mod run;
mod show;
mod status;
mod topic;
mod trace;
mod verdicts;

use crate::Failure;
use airtcp_experiment::scenario::Source;
use airtcp_experiment::{Catalogue, Scenario};
use clap::Subcommand;
use std::path::Path;

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Run a scenario in the simulator, or on kernel TCP with --live
    Run(run::Arguments),
    /// Run a paper's experiments and judge its claims
    Reproduce(reproduce::Arguments),
    /// Make a page with a row for each claim of each paper, of what reproduce left
    Verdicts(verdicts::Arguments),
    /// Run your own program on the hosts of a live scenario
    Emulate(emulate::Arguments),
    /// Write a rate that varies as a file of seconds and Mbit/s
    Trace(trace::Arguments),
    /// Run a scheme on this router's real packets
    Gateway(gateway::Arguments),
    /// Carry other programs' TCP connections to a peer over decoupling sockets
    Forward(forward::Arguments),
    /// Say what the gateways and forwarders on this machine do
    Status(status::Arguments),
    /// Have a gateway or forwarder read its file again, without an outage
    Reload(reload::Arguments),
    /// Make the key that two gateways share
    Key(key::Arguments),
    /// Load, unload or list congestion controllers in the kernel
    Cc(cc::Arguments),
    /// List schemes, controllers, links and their parameters
    Show(show::Arguments),
    /// Check what this machine can do, and print how to fix what it cannot
    Doctor(doctor::Arguments),
    /// Make an HTML report of stored results, or of several side by side
    Report(report::Arguments),
}

impl Verb {
    pub(crate) fn run(self, catalogue: &Catalogue<'_>) -> Result<(), Failure> {
        match self {
            Verb::Run(arguments) => run::run(&arguments, catalogue),
            Verb::Reproduce(arguments) => reproduce::run(&arguments, catalogue),
            Verb::Verdicts(arguments) => verdicts::run(&arguments, catalogue),
            Verb::Emulate(arguments) => emulate::run(&arguments, catalogue),
            Verb::Trace(arguments) => trace::run(&arguments),
            Verb::Gateway(arguments) => gateway::run(&arguments, catalogue),
            Verb::Forward(arguments) => forward::run(&arguments),
            Verb::Status(arguments) => status::run(&arguments),
            Verb::Reload(arguments) => reload::run(&arguments),
            Verb::Key(arguments) => key::run(&arguments),
            Verb::Cc(arguments) => cc::run(&arguments),
            Verb::Show(arguments) => show::run(&arguments, catalogue),
            Verb::Doctor(arguments) => doctor::run(&arguments, catalogue),
            Verb::Report(arguments) => report::run(&arguments, catalogue),
        }
    }
}

/// What the small program for routers can do.
#[derive(Debug, Subcommand)]
pub(crate) enum DaemonVerb {
    /// Run a scheme on this router's real packets
    Gateway(gateway::Arguments),
    /// Carry other programs' TCP connections to a peer over decoupling sockets
    Forward(forward::Arguments),
    /// Say what the gateways and forwarders on this machine do
    Status(status::Arguments),
    /// Have a gateway or forwarder read its file again, without an outage
    Reload(reload::Arguments),
    /// Make the key that two gateways share
    Key(key::Arguments),
    /// Check what this machine can do, and print how to fix what it cannot
    Doctor(doctor::Arguments),
}

impl DaemonVerb {
    pub(crate) fn run(self, catalogue: &Catalogue<'_>) -> Result<(), Failure> {
        match self {
            DaemonVerb::Gateway(arguments) => gateway::run(&arguments, catalogue),
            DaemonVerb::Forward(arguments) => forward::run(&arguments),
            DaemonVerb::Status(arguments) => status::run(&arguments),
            DaemonVerb::Reload(arguments) => reload::run(&arguments),
            DaemonVerb::Key(arguments) => key::run(&arguments),
            DaemonVerb::Doctor(arguments) => doctor::run(&arguments, catalogue),
        }
    }
}

/// Scenarios that need no file: name and text.
const BUILT_IN: &[(&str, &str)] = &[
    ("demo", include_str!("../../../../scenarios/demo.toml")),
    ("showcase", include_str!("../../../../scenarios/showcase.toml")),
    ("showcase-field", include_str!("../../../../scenarios/showcase-field.toml")),
    ("sweep", include_str!("../../../../scenarios/sweep.toml")),
    ("satellite", include_str!("../../../../scenarios/satellite.toml")),
    ("wifi-upload", include_str!("../../../../scenarios/wifi-upload.toml")),
    ("wifi-acks", include_str!("../../../../scenarios/wifi-acks.toml")),
    ("newzag", include_str!("../../../../scenarios/newzag.toml")),
    ("trunk", include_str!("../../../../scenarios/trunk.toml")),
    ("decoupling-socket", include_str!("../../../../scenarios/decoupling-socket.toml")),
    ("decoupling-live", include_str!("../../../../scenarios/decoupling-live.toml")),
    ("streaming", include_str!("../../../../scenarios/streaming.toml")),
    ("router-queue", include_str!("../../../../scenarios/router-queue.toml")),
    ("shared-hop", include_str!("../../../../scenarios/shared-hop.toml")),
    ("newzag-harm", include_str!("../../../../scenarios/newzag-harm.toml")),
    ("wrong-rate", include_str!("../../../../scenarios/wrong-rate.toml")),
    ("field", include_str!("../../../../scenarios/field.toml")),
    ("rivals", include_str!("../../../../scenarios/rivals.toml")),
    ("rivals-tuned", include_str!("../../../../scenarios/rivals-tuned.toml")),
    ("any-traffic", include_str!("../../../../scenarios/any-traffic.toml")),
    ("long-hop", include_str!("../../../../scenarios/long-hop.toml")),
    ("web", include_str!("../../../../scenarios/web.toml")),
    ("web-mixed", include_str!("../../../../scenarios/web-mixed.toml")),
    ("bundler", include_str!("../../../../scenarios/bundler.toml")),
    ("accept-50mbit", include_str!("../../../../scenarios/accept-50mbit.toml")),
];

/// Reads the scenario of a file, or a built-in one by its name.
fn load(file: &str, sets: &[String], catalogue: &Catalogue<'_>) -> Result<Scenario, Failure> {
    if let (Some(source), false) = (built_in(file), Path::new(file).exists()) {
        // Its base is built in, too; a trace that `--set` names is a file here.
        let mut base =
            |name: &str| built_in(name.trim_end_matches(".toml")).map_or_else(|| Source::read(Path::new(name)), Ok);
        return Scenario::read(&source, sets, catalogue, &mut base).map_err(Failure::input);
    }
    Scenario::load(Path::new(file), sets, catalogue).map_err(Failure::input)
}

fn built_in(name: &str) -> Option<Source> {
    let (name, text) = BUILT_IN.iter().find(|(known, _)| *known == name)?;
    Some(Source { file: format!("{name}.toml"), text: (*text).to_owned() })
}
