//! `airtcp report`: one HTML file from stored results.

use crate::{Failure, output};
use airtcp_experiment::Catalogue;
use airtcp_experiment::html::{self, Stored};
use anyhow::Context;
use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Directories that `airtcp run` wrote: results/NAME-HASH
    #[arg(required = true, value_name = "DIR")]
    directories: Vec<PathBuf>,
    /// Where to write; report.html in the first directory if left out
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments, catalogue: &Catalogue<'_>) -> Result<(), Failure> {
    let read = |directory: &PathBuf| Stored::read(directory, catalogue).map_err(Failure::input);
    let stored = arguments.directories.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let path = arguments.output.clone().unwrap_or_else(|| arguments.directories[0].join("report.html"));
    std::fs::write(&path, html::render(&stored)).with_context(|| format!("cannot write {}", path.display()))?;
    output::print(&path.display().to_string());
    Ok(())
}
