//! `airtcp gateway`: one daemon, every scheme that works on real packets.

use super::doctor::show;
use super::observation;
use crate::log::{self, Log};
use crate::own_program::what_runs;
use crate::service::Service;
use crate::{Failure, gateway_file, output};
use airtcp_experiment::Catalogue;
use airtcp_linux::gateway::supervisor::{self, Host, Report, Upgrade};
use airtcp_linux::gateway::worker::{self, Mode};
use airtcp_linux::gateway::{Config, check, path_test, plan, scheme, upgrade};
use anyhow::anyhow;
use clap::Args;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
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
    /// Repair nothing and change nothing: watch what passes on the link, and say whether gateways would gain anything
    #[arg(long, conflicts_with_all = ["check", "dry_run"])]
    observe: bool,
    /// With --observe: how long, as 90s, 10m, 8h or 1d; until Ctrl-C if left out
    #[arg(long = "for", value_name = "DURATION", requires = "observe", value_parser = observation::span)]
    time: Option<airtcp_core::Duration>,
    /// With --check or --observe: print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    log: log::Options,
    /// Leave out the test of the path: another program works on it, and asks whether this one can take over
    #[arg(long, hide = true, requires = "check")]
    upgrading: bool,
    /// The process that moves packets; started by the supervisor
    #[arg(long, hide = true, exclusive = true)]
    worker: bool,
}

pub(crate) fn run(arguments: &Arguments, catalogue: &Catalogue<'_>) -> Result<(), Failure> {
    let Some(file) = arguments.file.as_ref().filter(|_| !arguments.worker) else {
        return worker::main(&|config| scheme::make(catalogue.schemes, config)).map_err(|_| Failure::Code(1));
    };
    if arguments.json && !arguments.check && !arguments.observe {
        return Err(Failure::input(anyhow!("--json is for --check and --observe: give one of them, too")));
    }
    if arguments.observe {
        let config = gateway_file::load_to_observe(file, catalogue).map_err(Failure::input)?;
        return observation::observe(&config, catalogue, arguments.time, arguments.json);
    }
    if !arguments.check && !arguments.dry_run {
        return serve(file, arguments.log, catalogue).map_err(|failure| arguments.log.refuse("gateway", file, failure));
    }
    let config = gateway_file::load(file, catalogue).map_err(Failure::input)?;
    if arguments.check {
        let path = if arguments.upgrading { Vec::new() } else { path_test::findings(&config) };
        let findings = [check(&config), path].concat();
        return show(&findings, arguments.json);
    }
    output::print(plan(&config)?.trim_end());
    Ok(())
}

/// Runs the gateway to its end.
fn serve(file: &Path, log: log::Options, catalogue: &Catalogue<'_>) -> Result<(), Failure> {
    let config = gateway_file::load_to_start(file, catalogue).map_err(Failure::input)?;
    let log = Log::new("gateway", &config.name, log);
    let (service, program) = (Service::of_environment(), std::env::current_exe()?);
    let mut daemon = Daemon { log, service, file, catalogue, program };
    supervisor::run(&config, Mode::Scheme, &mut daemon)?;
    Ok(())
}

struct Daemon<'a> {
    log: Log,
    service: Service,
    file: &'a Path,
    catalogue: &'a Catalogue<'a>,
    program: PathBuf,
}

fn worker_of(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.args(["gateway", "--worker"]);
    command
}

impl Host for Daemon<'_> {
    fn worker(&mut self) -> Command {
        let mut command = worker_of(&what_runs(&self.program));
        // In lists of processes.
        command.arg0(&self.program);
        command
    }

    fn reload(&mut self) -> Result<Config, String> {
        gateway_file::load_to_start(self.file, self.catalogue).map_err(|error| error.to_string())
    }

    fn upgrade(&mut self) -> Result<Upgrade, String> {
        // The worker that runs knows the path, and a test of it takes 12 s a peer.
        let check = ["gateway".into(), self.file.into(), "--check".into(), "--upgrading".into()];
        let daemon = upgrade::checked(&self.program, &check, &mut || self.service.beat())?;
        Ok(Upgrade { daemon, worker: worker_of(&self.program) })
    }

    fn report(&mut self, report: Report) {
        match report {
            // Also without its link a gateway does what it can.
            Report::Running { .. } | Report::Waiting { .. } => self.service.ready(),
            Report::Ending => self.service.stopping(),
            _ => {}
        }
        let notice = report.notice();
        self.service.status(&notice.text);
        self.log.write(&notice);
    }

    fn beat(&mut self) {
        self.service.beat();
    }
}
