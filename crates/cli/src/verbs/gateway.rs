//! `airtcp gateway`: one daemon, every scheme that works on real packets.

use super::doctor::show;
use crate::own_program::or_what_runs;
use crate::{Failure, gateway_file, output};
use airtcp_experiment::Catalogue;
use airtcp_linux::gateway::supervisor::{self, Report};
use airtcp_linux::gateway::worker::{self, Mode};
use airtcp_linux::gateway::{check, path_test, plan, scheme};
use clap::Args;
use std::path::PathBuf;
use std::process::Command;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Gateway file (airtcp show gateway --example)
    #[arg(required_unless_present = "worker")]
    file: Option<PathBuf>,
    /// Check the file and the machine and change nothing; exit code 1 if the gateway could not start
    #[arg(long)]
    check: bool,
    /// Print every command that would be run, and the command that undoes them
    #[arg(long, conflicts_with = "check")]
    dry_run: bool,
    /// With --check: print JSON
    #[arg(long, requires = "check")]
    json: bool,
    /// The process that moves packets; started by the supervisor
    #[arg(long, hide = true, exclusive = true)]
    worker: bool,
}

pub(crate) fn run(arguments: &Arguments, catalogue: &Catalogue<'_>) -> Result<(), Failure> {
    let Some(file) = arguments.file.as_ref().filter(|_| !arguments.worker) else {
        return worker::main(&|config| scheme::make(catalogue.schemes, config)).map_err(|_| Failure::Code(1));
    };
    let config = gateway_file::load(file, catalogue).map_err(Failure::input)?;
    if arguments.check {
        let findings = [check(&config), path_test::findings(&config)].concat();
        return show(&findings, arguments.json);
    }
    if arguments.dry_run {
        output::print(plan(&config)?.trim_end());
        return Ok(());
    }
    // A worker that is started again after an upgrade is the upgraded one.
    let program = std::env::current_exe()?;
    let mut start_worker = || {
        let mut command = Command::new(or_what_runs(&program));
        command.args(["gateway", "--worker"]);
        command
    };
    supervisor::run(&config, Mode::Scheme, &mut start_worker, &mut |report| log(&config.name, &report))?;
    Ok(())
}

fn log(name: &str, report: &Report) {
    let what = match report {
        Report::Running { pid, how } => format!("running, worker {pid}; packets are taken {how}"),
        Report::Note { text } => text.clone(),
        Report::Restarting { why, after } => format!("{why}; the kernel forwards, next worker in {after}"),
        Report::Waiting { link } => format!("waiting for the interface {link}"),
        Report::Ending => "ending".into(),
    };
    output::log(&format!("airtcp gateway {name}: {what}"));
}
