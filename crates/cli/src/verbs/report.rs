//! `airtcp report`: one HTML file from stored results.

use crate::{Failure, output};
use airtcp_experiment::Catalogue;
use airtcp_experiment::html::{self, Stored};
use anyhow::Context;
use clap::Args;
use std::path::{Path, PathBuf};

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
    let size = write(&path, &stored)?;
    output::print(&path.display().to_string());
    eprintln!("{size}");
    Ok(())
}

/// Writes the report of `stored` to `path`; returns its size as people say it.
pub(crate) fn write(path: &Path, stored: &[Stored]) -> Result<String, Failure> {
    let page = html::render(stored);
    std::fs::write(path, &page).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(match page.len() {
        bytes @ ..1_000_000 => format!("{} kB", bytes.div_ceil(1000)),
        bytes => format!("{:.1} MB", bytes as f64 / 1e6),
    })
}
