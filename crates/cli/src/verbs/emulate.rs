//! `airtcp emulate`: somebody else's program on the hosts of a live scenario, and what the links did meanwhile.

use super::load;
use crate::Failure;
use crate::live::{LinkReport, Session};
use crate::output::say;
use airtcp_experiment::{Catalogue, NotRun, results};
use airtcp_linux::sys::clock;
use airtcp_linux::testbed::{Exec, Family};
use anyhow::{Context, anyhow};
use clap::Args;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
#[command(after_help = "The addresses of all nodes are in the environment: AIRTCP_RECEIVER, AIRTCP_RECEIVER_V6.\n\
    Example: airtcp emulate demo --with 'receiver=iperf3 -s' --on sender -- sh -c 'iperf3 -c $AIRTCP_RECEIVER'")]
pub(crate) struct Arguments {
    /// Scenario file, or the name of a built-in one; every varied key has its first value
    file: String,
    /// Node to run the program on
    #[arg(long, value_name = "HOST")]
    on: String,
    /// Write what the links did into this file when the program has ended: counters, and rates over time (JSON)
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Also run a shell command on a node at the same time; may be given several times
    #[arg(long = "with", value_name = "HOST=COMMAND")]
    others: Vec<String>,
    /// Override a key of the file; may be given several times
    #[arg(long = "set", value_name = "KEY=VALUE")]
    sets: Vec<String>,
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments, catalogue: &Catalogue<'_>) -> Result<(), Failure> {
    let scenario = load(&arguments.file, &arguments.sets, catalogue)?;
    let cell = &scenario.cells[0];
    let others = arguments.others.iter().map(|other| {
        other
            .split_once('=')
            .ok_or_else(|| Failure::input(anyhow!("--with '{other}': write HOST=COMMAND, receiver='iperf3 -s'")))
    });
    let others = others.collect::<Result<Vec<_>, _>>()?;
    for node in others.iter().map(|(node, _)| *node).chain([arguments.on.as_str()]) {
        if !cell.scenario.nodes.iter().any(|name| name == node) {
            let there = cell.scenario.nodes.join(", ");
            return Err(Failure::input(anyhow!("there is no node '{node}' in {}; there are: {there}", arguments.file)));
        }
    }
    let session = Session::up(&cell.scenario, scenario.seed).map_err(refused)?;
    let began = clock::now();
    let mut gateways = session.start_gateways().map_err(refused)?;
    gateways.wait_until_up().map_err(refused)?;
    let testbed = session.testbed();
    say!("airtcp: {} ({})", scenario.about, results::describe(cell));
    let mut addresses: Vec<(String, String)> = Vec::new();
    for node in &cell.scenario.nodes {
        let variable = format!("AIRTCP_{}", node.to_uppercase().replace('-', "_"));
        for (family, suffix) in [(Family::V4, ""), (Family::V6, "_V6")] {
            let Some(address) = testbed.address(node, family) else { continue };
            say!("airtcp: {node:<12} {address}");
            addresses.push((format!("{variable}{suffix}"), address.to_string()));
        }
    }
    let exec =
        |program: &str| addresses.iter().fold(Exec::new(program), |exec, (name, address)| exec.env(name, address));
    let mut running = Vec::new();
    for (index, (node, command)) in others.iter().enumerate() {
        let log = session.directory().join(format!("with{index}.log"));
        running.push(testbed.start(node, &exec("sh").args(["-c", command]).log(log))?);
    }
    if !running.is_empty() {
        // A server needs a moment until it listens.
        std::thread::sleep(std::time::Duration::from_millis(300));
    }
    let program = exec(&arguments.command[0]).args(&arguments.command[1..]).foreground();
    let status = testbed.start(&arguments.on, &program)?.wait()?;
    drop(running);
    let directions = testbed.emulator().report().map_err(|error| Failure::Failed(error.into()))?.directions;
    let time = clock::now().saturating_since(began);
    let report = LinkReport::new(&cell.scenario, scenario.seed, time, &directions);
    report.to_string().lines().for_each(|line| say!("airtcp: {line}"));
    if let Some(path) = &arguments.report {
        write_report(path, &report)?;
    }
    match status.code() {
        Some(0) => Ok(()),
        code => Err(Failure::Code(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))),
    }
}

fn write_report(path: &Path, report: &LinkReport) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(report)?;
    std::fs::write(path, text + "\n").with_context(|| format!("cannot write {}", path.display()))
}

fn refused(error: NotRun) -> Failure {
    Failure::Failed(error.into())
}
