//! `airtcp reload`: has a gateway or a forwarder read its file again, and says what became of it.

use crate::{Failure, output};
use airtcp_linux::gateway::config::RUN_DIRECTORY;
use airtcp_linux::gateway::status::names;
use airtcp_linux::gateway::{ask_reload, name_of};
use anyhow::anyhow;
use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// A gateway or forwarder; may be left out if one runs here
    name: Option<String>,
    /// The daemon with this process id, in place of its name
    #[arg(long, conflicts_with = "name")]
    pid: Option<u32>,
    /// Directory with their sockets
    #[arg(long, default_value = RUN_DIRECTORY)]
    run_directory: PathBuf,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let of_pid = arguments.pid.map(|pid| {
        let nobody = || {
            Failure::input(anyhow!("process {pid} is no gateway and no forwarder: leave out --pid and say its name"))
        };
        name_of(&arguments.run_directory, pid).ok_or_else(nobody)
    });
    let name = match (of_pid.transpose()?.or(arguments.name.clone()), names(&arguments.run_directory).as_slice()) {
        (Some(name), _) => name,
        (None, [name]) => name.clone(),
        (None, []) => {
            let place = arguments.run_directory.display();
            return Err(Failure::input(anyhow!("nothing runs here that could reload: there is no socket in {place}")));
        }
        (None, several) => return Err(Failure::input(anyhow!("say which: {}", several.join(", ")))),
    };
    let reloads = ask_reload(&arguments.run_directory, &name)?;
    if reloads.last_refused {
        return Err(anyhow!("{name}: refused, all stays as it was: {}", reloads.last).into());
    }
    output::print(&format!("{name}: {}", reloads.last));
    Ok(())
}
