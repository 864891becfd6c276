//! Which daemon of this machine is meant, for the verbs that ask one for something.

use crate::Failure;
use airtcp_linux::gateway::config::RUN_DIRECTORY;
use airtcp_linux::gateway::name_of;
use airtcp_linux::gateway::status::names;
use anyhow::anyhow;
use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct Which {
    /// A gateway or forwarder; may be left out if one runs here
    name: Option<String>,
    /// The daemon with this process id, in place of its name
    #[arg(long, conflicts_with = "name")]
    pid: Option<u32>,
    /// Directory with their sockets
    #[arg(long, default_value = RUN_DIRECTORY)]
    pub(crate) run_directory: PathBuf,
}

impl Which {
    /// Its name.
    pub(crate) fn name(&self) -> Result<String, Failure> {
        let of_pid = self.pid.map(|pid| {
            let nobody = || {
                let words = "is no gateway and no forwarder: leave out --pid and say its name";
                Failure::input(anyhow!("process {pid} {words}"))
            };
            name_of(&self.run_directory, pid).ok_or_else(nobody)
        });
        match (of_pid.transpose()?.or(self.name.clone()), names(&self.run_directory).as_slice()) {
            (Some(name), _) => Ok(name),
            (None, [name]) => Ok(name.clone()),
            (None, []) => {
                let place = self.run_directory.display();
                Err(Failure::input(anyhow!("nothing runs here that could be asked: there is no socket in {place}")))
            }
            (None, several) => Err(Failure::input(anyhow!("say which: {}", several.join(", ")))),
        }
    }
}
