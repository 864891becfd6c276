//! `airtcp report`: one HTML file from stored results.

use crate::output::say;
use crate::{Failure, output};
use airtcp_experiment::Catalogue;
use airtcp_experiment::html::{self, Stored};
use airtcp_experiment::paper::output::stored_claims;
use anyhow::Context;
use clap::Args;
use serde_json::Value;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Directories that `airtcp run` or `airtcp reproduce` wrote: results/NAME-HASH
    #[arg(required = true, value_name = "DIR")]
    directories: Vec<PathBuf>,
    /// File to write; report.html in the first directory if left out
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments, catalogue: &Catalogue<'_>) -> Result<(), Failure> {
    let read = |directory: &PathBuf| Results::read(directory, catalogue);
    let mut results = arguments.directories.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let path = arguments.output.clone().unwrap_or_else(|| arguments.directories[0].join("report.html"));
    let size = match &results[..] {
        // With its claims; beside others, only its experiments are of the same kind as theirs.
        [Results { claims: Some(claims), stored }] => write(&path, |to| html::write_paper(claims, stored, to)),
        _ => {
            let all: Vec<_> = results.drain(..).flat_map(|results| results.stored).collect();
            write(&path, |to| html::write(&all, to))
        }
    }?;
    output::print(&path.display().to_string());
    say!("{size}");
    Ok(())
}

/// What one directory holds: a scenario's results, or a paper's.
struct Results {
    claims: Option<Value>,
    stored: Vec<Stored<'static>>,
}

impl Results {
    fn read(directory: &Path, catalogue: &Catalogue<'_>) -> Result<Results, Failure> {
        let stored = |directory: &Path| Stored::read(directory, catalogue).map_err(Failure::input);
        match stored_claims(directory).map_err(Failure::input)? {
            None => Ok(Results { claims: None, stored: vec![stored(directory)?] }),
            Some((claims, experiments)) => {
                let stored = experiments.iter().map(|experiment| stored(experiment)).collect::<Result<_, _>>()?;
                Ok(Results { claims: Some(claims), stored })
            }
        }
    }
}

/// Has `put` write a report to `path`; returns its size as people say it.
pub(crate) fn write(path: &Path, put: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<String, Failure> {
    let written = File::create(path).and_then(|mut file| {
        put(&mut file)?;
        Ok(file.metadata()?.len())
    });
    Ok(match written.with_context(|| format!("cannot write {}", path.display()))? {
        bytes @ ..1_000_000 => format!("{} kB", bytes.div_ceil(1000)),
        bytes => format!("{:.1} MB", bytes as f64 / 1e6),
    })
}
