//! What is printed and written once all runs of a scenario are there.

use crate::{Failure, output};
use airtcp_experiment::Scenario;
use airtcp_experiment::html::{self, Stored, StoredWorld};
use airtcp_experiment::metric::Metric;
use airtcp_experiment::results::directory::{self, Written};
use airtcp_experiment::results::summary::{self, CellSummary, Summary, by_cell};
use airtcp_experiment::results::{self, Results};
use airtcp_experiment::scenario::TableSpec;
use airtcp_experiment::table::measure::Measure;
use airtcp_experiment::table::{Layout, TextTable, fit};
use anyhow::Context;
use clap::Args;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// How results are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Form {
    /// Tables as text.
    #[default]
    Text,
    /// `summary.json`.
    Json,
    /// Tables as Markdown.
    Markdown,
}

/// What a command is told of it.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct FormArguments {
    /// Print summary.json instead of tables
    #[arg(long)]
    json: bool,
    /// Print the tables as Markdown
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
}

impl FormArguments {
    pub(super) fn form(self) -> Form {
        match (self.json, self.markdown) {
            (true, _) => Form::Json,
            (_, true) => Form::Markdown,
            _ => Form::Text,
        }
    }
}

/// The tables of a scenario, and what stands beside it in them.
pub(super) struct Tables<'a> {
    pub(super) layouts: Vec<Layout>,
    /// The simulator's results of each cell, beside a live run.
    companion: Option<Vec<Option<&'a CellSummary>>>,
    form: Form,
}

/// The field of a cell that holds the simulator's share of the ceiling.
const COMPANION: &str = "simulator_of_ceiling";

impl<'a> Tables<'a> {
    /// The tables of `scenario`, which are wrapped where text is printed.
    pub(super) fn of(scenario: &Scenario, companion: Option<&'a StoredWorld>, form: Form) -> Tables<'a> {
        let layout = |spec: &TableSpec| {
            let mut layout = Layout::of(scenario, spec);
            if companion.is_some() {
                for group in &mut layout.groups {
                    group.measures.push(Measure::named("of_ceiling").renamed(COMPANION, "simulator"));
                }
            }
            layout
        };
        let layouts = scenario.tables.iter().map(layout);
        let layouts = match output::columns().filter(|_| form == Form::Text) {
            Some(columns) => layouts.flat_map(|layout| fit(&layout, columns)).collect(),
            None => layouts.collect(),
        };
        Tables { layouts, companion: companion.map(|world| world.cells(scenario)), form }
    }

    /// What a cell of unfinished results has to show in a table with these metrics.
    pub(super) fn value_of<'b>(
        &self,
        results: &Results<'_>,
        metrics: &[&Metric],
        index: usize,
    ) -> Option<Cow<'b, CellSummary>> {
        self.beside_companion(CellSummary::of_metrics(results, index, metrics).map(Cow::Owned), index)
    }

    fn beside_companion<'b>(
        &self,
        mut cell: Option<Cow<'b, CellSummary>>,
        index: usize,
    ) -> Option<Cow<'b, CellSummary>> {
        if let Some(simulated) = self.companion.as_ref().and_then(|cells| cells[index]) {
            let cell = cell.get_or_insert_default().to_mut();
            simulated.readings.get("of_ceiling").iter().for_each(|share| cell.readings.put(COMPANION, share));
        }
        cell
    }

    /// Prints `results`, of which `summary` was made, then `places`; as text without the first `printed` tables.
    pub(super) fn show(&self, printed: usize, results: &Results<'_>, summary: &Summary, places: &str) {
        let cells = by_cell(results.scenario, &summary.cells, |cell| &cell.at);
        let lookup = |cell: usize| self.beside_companion(cells[cell].map(Cow::Borrowed), cell);
        match self.form {
            Form::Json => output::print(summary::to_text(summary).trim_end()),
            Form::Markdown => {
                for layout in &self.layouts {
                    output::print(&airtcp_experiment::table::markdown(layout, &lookup));
                }
            }
            Form::Text => {
                for (index, layout) in self.layouts.iter().enumerate().skip(printed) {
                    let gap = if index == 0 { "" } else { "\n" };
                    output::print(&format!("{gap}{}", TextTable::new(layout, output::style()).render(&lookup)));
                }
                output::print(&format!("\n{}", closing(results, summary)));
                output::print(places);
            }
        }
    }
}

/// Writes one world's results below `root`; returns their directory and what it holds.
pub(super) fn write(root: &Path, results: &Results<'_>, manifest: Value) -> Result<(PathBuf, StoredWorld), Failure> {
    let Written { directory, summary, series } =
        directory::write(root, results, directory::of_world(results.world), &manifest)
            .with_context(|| format!("cannot write results below {}", root.display()))?;
    Ok((directory, StoredWorld { name: results.world.to_owned(), summary, series, manifest }))
}

/// Notes below the table: which cells were left out and why, and what the numbers mean.
pub(super) fn closing(results: &Results<'_>, summary: &Summary) -> String {
    let style = output::style();
    let mut lines: Vec<String> = Vec::new();
    let reasons = summary.reasons_not_run();
    lines.extend(reasons.iter().map(|(reason, count)| {
        let cells = if *count == 1 { "cell" } else { "cells" };
        format!("{count} {cells} not run: {reason}")
    }));
    let invalid = summary.cells.iter().filter(|cell| cell.is_void()).count();
    if invalid > 0 {
        lines.push(format!(
            "{invalid} cells where the emulated link did not behave as configured; see \"emulator\" in summary.json"
        ));
    }
    lines.extend(results::headline(results.scenario, summary));
    for scheme in bending(results) {
        lines.push(format!(
            "{scheme} does not keep end-to-end semantics: it acknowledges data that the receiver may not have"
        ));
    }
    if !results.is_empty() {
        let runs = results.scenario.runs;
        let medians = if runs == 1 { String::new() } else { format!("medians of {runs} runs; ") };
        let meaning = "goodput counts application bytes; the ceiling is the goodput that no repair can exceed";
        lines.push(format!("{medians}{meaning}"));
    }
    let mut lines: Vec<String> = lines.iter().map(|line| output::hang("", 0, line)).collect();
    if let (false, Some(last)) = (results.is_empty(), lines.last_mut()) {
        *last = style.dim(last);
    }
    lines.join("\n")
}

/// Schemes in the results that bend end-to-end semantics.
fn bending(results: &Results<'_>) -> BTreeSet<String> {
    let schemes = results.scenario.cells.iter().flat_map(|cell| &cell.scenario.schemes);
    schemes.filter(|scheme| !scheme.choice.entry.keeps_end_to_end).map(|scheme| scheme.kind.clone()).collect()
}

/// One report of all worlds that the scenario was run in, of which `written` was put into `directory` just now.
pub(super) fn write_report(directory: &Path, scenario: &Scenario, written: &StoredWorld) -> Result<String, Failure> {
    let stored = Stored::with(directory, scenario, written)?;
    let path = directory.join("report.html");
    let size = super::report::write(&path, |to| html::write(&[stored], to))?;
    Ok(format!("{} ({size})", path.display()))
}
