//! The `[[tables]]` of a scenario, as terminal text and as Markdown.
//!
//! A table is laid out before anything has run ([`Layout`]), so rows can be printed while the others still run. What
//! stands in it is read from the cells of a summary ([`measure`]), so a stored result prints like a fresh one.

pub mod measure;
mod text;

pub use text::{Style, TextTable, fit, markdown};

use crate::metric;
use crate::scenario::{Scenario, TableSpec};
use indexmap::IndexSet;
use measure::Measure;
use std::collections::BTreeSet;

/// Which cell stands where.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Titles of the columns that name a row.
    pub row_titles: Vec<String>,
    /// Columns of measures, by what they have in common.
    pub groups: Vec<Group>,
    /// In the order of the scenario.
    pub rows: Vec<Row>,
}

/// Columns of one combination of the column axes.
#[derive(Clone, Debug)]
pub struct Group {
    /// What they have in common; empty if nothing varies sideways.
    pub title: String,
    /// One column each.
    pub measures: Vec<Measure>,
}

/// One line.
#[derive(Clone, Debug)]
pub struct Row {
    /// One per title.
    pub labels: Vec<String>,
    /// The scenario's cell for each group.
    pub cells: Vec<usize>,
}

impl Layout {
    /// Names of the metrics that it shows.
    pub fn metrics(&self) -> BTreeSet<&'static str> {
        let measures = self.groups.iter().flat_map(|group| &group.measures);
        measures.filter_map(|measure| Some(metric::find(&measure.name)?.0.name)).collect()
    }

    /// Lays `spec` out; the order of rows and groups is that of the scenario's cells.
    pub fn of(scenario: &Scenario, spec: &TableSpec) -> Layout {
        let labels_of = |cell: usize, axes: &[String]| -> Vec<String> {
            let at = &scenario.cells[cell].at;
            axes.iter()
                .filter_map(|axis| at.iter().find(|(key, _)| key == axis))
                .map(|(_, label)| label.clone())
                .collect()
        };
        let (mut groups, mut rows): (IndexSet<Vec<String>>, Vec<Row>) = (IndexSet::new(), Vec::new());
        for cell in 0..scenario.cells.len() {
            let (labels, group) = (labels_of(cell, &spec.rows), labels_of(cell, &spec.columns));
            groups.insert(group);
            match rows.iter_mut().find(|row| row.labels == labels) {
                Some(row) => row.cells.push(cell),
                None => rows.push(Row { labels, cells: vec![cell] }),
            }
        }
        let group = |(index, labels): (usize, Vec<String>)| {
            let is_baseline = rows
                .iter()
                .all(|row| row.cells.get(index).is_some_and(|&cell| scenario.cells[cell].scenario.schemes.is_empty()));
            let shown = spec.show.iter().filter(|name| !(is_baseline && *name == "times_baseline"));
            let names = labels.into_iter().map(|label| if label == "none" { "plain".to_owned() } else { label });
            Group {
                title: names.collect::<Vec<_>>().join(", "),
                measures: shown.map(|name| Measure::named(name)).collect(),
            }
        };
        Layout {
            row_titles: spec.rows.iter().map(|axis| title_of(axis)).collect(),
            groups: groups.into_iter().enumerate().map(group).collect(),
            rows,
        }
    }
}

/// `links.air.loss` as people say it: `air loss`.
pub fn title_of(axis: &str) -> String {
    match axis.split_once('.') {
        Some(("links" | "flows" | "schemes" | "nodes" | "cases", rest)) => rest.replace('.', " "),
        _ => axis.to_owned(),
    }
}
