//! `airtcp gateway`: one daemon, every scheme that works on real packets.

use super::doctor::show;
use super::observation;
use crate::log::{self, Log};
use crate::own_program::or_what_runs;
use crate::service::Service;
use crate::{Failure, gateway_file, output};
use airtcp_experiment::Catalogue;
use airtcp_linux::gateway::supervisor::{self, Host, Report};
use airtcp_linux::gateway::worker::{self, Mode};
use airtcp_linux::gateway::{Config, check, path_test, plan, scheme, upgrade};
use anyhow::anyhow;
use clap::Args;
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
    let config = gateway_file::load(file, catalogue).map_err(Failure::input)?;
    if arguments.check {
        let findings = [check(&config), path_test::findings(&config)].concat();
        return show(&findings, arguments.json);
    }
    if arguments.dry_run {
        output::print(plan(&config)?.trim_end());
        return Ok(());
    }
    let log = Log::new("gateway", &config.name, arguments.log);
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

impl Host for Daemon<'_> {
    fn worker(&mut self) -> Command {
        // A worker that is started again after an upgrade is the upgraded one.
        let mut command = Command::new(or_what_runs(&self.program));
        command.args(["gateway", "--worker"]);
        command
    }

    fn reload(&mut self) -> Result<Config, String> {
        gateway_file::load(self.file, self.catalogue).map_err(|error| error.to_string())
    }

    fn upgrade(&mut self) -> Result<Command, String> {
        let check = ["gateway".into(), self.file.into(), "--check".into()];
        upgrade::checked(&self.program, &check, &mut || self.service.beat())
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
