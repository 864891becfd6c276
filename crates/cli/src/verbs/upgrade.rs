//! `airtcp upgrade`: has a gateway go on as the program that is installed now, and says what became of it.

use super::daemon_name::Which;
use crate::{Failure, output};
use airtcp_linux::gateway::ask_upgrade;
use anyhow::anyhow;
use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    which: Which,
}

pub(crate) fn run(Arguments { which }: &Arguments) -> Result<(), Failure> {
    let name = which.name()?;
    match ask_upgrade(&which.run_directory, &name)? {
        Ok(worker) => {
            output::print(&format!("{name}: goes on as the program that is installed now, worker {worker}"));
            Ok(())
        }
        Err(why) => Err(anyhow!("{name}: refused, all stays as it was: {why}").into()),
    }
}
