//! `airtcp verdicts`: a page with a row for each claim of each paper, from what their runs left.

use crate::{Failure, output};
use airtcp_experiment::Catalogue;
use airtcp_experiment::paper::verdicts::{self, Judged};
use airtcp_experiment::paper::{Mode, Paper, PaperFile, built_in, output as written};
use airtcp_experiment::results::directory;
use anyhow::{Context, anyhow};
use clap::Args;
use serde_json::Value;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Where `reproduce` wrote its results
    #[arg(long, value_name = "DIR", default_value = directory::DEFAULT_ROOT)]
    results: PathBuf,
    /// Write the page to this file instead of printing it; a paper without results keeps its section there
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments, catalogue: &Catalogue<'_>) -> Result<(), Failure> {
    let mut papers = Vec::new();
    for paper in built_in::PAPERS {
        let file = paper.file().map_err(Failure::input)?;
        let (paper, full) = left(&file, Mode::default(), catalogue, &arguments.results)?;
        let mutations = Mode { mutations: true, ..Mode::default() };
        let (_, mutations) = left(&file, mutations, catalogue, &arguments.results)?;
        papers.push(Judged { paper, full, mutations });
    }
    let old = match arguments.output.as_ref().map(std::fs::read_to_string) {
        Some(Err(error)) if error.kind() != ErrorKind::NotFound => {
            return Err(anyhow!(error).context("cannot read the page as it was").into());
        }
        old => old.and_then(Result::ok).unwrap_or_default(),
    };
    let page = verdicts::page(&old, &papers);
    match &arguments.output {
        Some(path) => std::fs::write(path, page).with_context(|| format!("cannot write {}", path.display()))?,
        None => output::print(page.trim_end()),
    }
    Ok(())
}

/// The paper in `mode`, and what its run left, if it was run as the file is now.
fn left(
    file: &PaperFile<'_>,
    mode: Mode,
    catalogue: &Catalogue<'_>,
    root: &Path,
) -> Result<(Paper, Option<Value>), Failure> {
    let paper = file.read(mode, &[], catalogue).map_err(Failure::input)?;
    let found = written::stored_claims(&written::of_paper(root, &paper)).context("cannot read the verdicts")?;
    Ok((paper, found.map(|(claims, _)| claims)))
}
