//! `airtcp forward`: TCP connections of other programs over decoupling sockets.

use super::doctor::show;
use crate::{Failure, forward_file, output};
use airtcp_linux::forwarder::check;
use airtcp_linux::forwarder::daemon::Daemon;
use clap::Args;
use std::path::PathBuf;

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
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let config = forward_file::load(&arguments.file).map_err(Failure::input)?;
    if arguments.check {
        return show(&check::check(&config), arguments.json);
    }
    let name = config.name.clone();
    let mut daemon = Daemon::open(config)?;
    output::log(&format!("airtcp forward {name}: running"));
    daemon.run()?;
    output::log(&format!("airtcp forward {name}: ending"));
    Ok(())
}
