//! `airtcp forward`: TCP connections of other programs over decoupling sockets.

use super::doctor::show;
use crate::log::{self, Log};
use crate::service::Service;
use crate::{Failure, forward_file};
use airtcp_linux::forwarder::daemon::{Daemon, Host};
use airtcp_linux::forwarder::{Config, check};
use airtcp_linux::notice::{Notice, What};
use clap::Args;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// File of the forwarder (airtcp show forward --example)
    file: PathBuf,
    /// Check the file and the machine and change nothing; exit code 1 if the forwarder could not start
    #[arg(long)]
    check: bool,
    /// With --check: print JSON
    #[arg(long, requires = "check")]
    json: bool,
    #[command(flatten)]
    log: log::Options,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    if arguments.check {
        let config = forward_file::load(&arguments.file).map_err(Failure::input)?;
        return show(&check::check(&config), arguments.json);
    }
    serve(arguments).map_err(|failure| arguments.log.refuse("forward", &arguments.file, failure))
}

/// Runs the forwarder to its end.
fn serve(arguments: &Arguments) -> Result<(), Failure> {
    let config = forward_file::load(&arguments.file).map_err(Failure::input)?;
    let log = Log::new("forward", &config.name, arguments.log);
    let mut daemon = Daemon::open(config)?;
    let mut process = Process { log, service: Service::of_environment(), file: &arguments.file };
    process.tell(Notice::info(What::Running, "running"));
    process.service.ready();
    daemon.run(&mut process)?;
    process.service.stopping();
    process.tell(Notice::info(What::Ending, "ending"));
    Ok(())
}

struct Process<'a> {
    log: Log,
    service: Service,
    file: &'a Path,
}

impl Host for Process<'_> {
    fn reload(&mut self) -> Result<Config, String> {
        forward_file::load(self.file).map_err(|error| error.to_string())
    }

    fn tell(&mut self, notice: Notice) {
        self.service.status(&notice.text);
        self.log.write(&notice);
    }

    fn beat(&mut self) {
        self.service.beat();
    }
}
