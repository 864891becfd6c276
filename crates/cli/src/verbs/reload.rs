//! `airtcp reload`: has a gateway or a forwarder read its file again, and says what became of it.

use super::daemon_name::Which;
use crate::{Failure, output};
use airtcp_linux::gateway::ask_reload;
use anyhow::anyhow;
use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    which: Which,
}

pub(crate) fn run(Arguments { which }: &Arguments) -> Result<(), Failure> {
    let name = which.name()?;
    let reloads = ask_reload(&which.run_directory, &name)?;
    if reloads.last_refused {
        return Err(anyhow!("{name}: refused, all stays as it was: {}", reloads.last).into());
    }
    output::print(&format!("{name}: {}", reloads.last));
    Ok(())
}
