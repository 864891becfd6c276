//! The `[[tables]]` of a scenario, as terminal text and as Markdown.
//!
//! A table is laid out before anything has run ([`Layout`]), so rows can be printed while the others still run. What
//! stands in it is read from the cells of a summary ([`measure`]), so a stored result prints like a fresh one.

pub mod measure;
mod text;

pub use text::{Style, TextTable, fit, markdown};

use crate::metric::{self, Metric};
use crate::scenario::{Scenario, TableSpec};
use indexmap::{IndexMap, IndexSet};
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
    /// The metrics that it shows, in the order of all.
    pub fn metrics(&self) -> Vec<&'static Metric> {
        let measures = self.groups.iter().flat_map(|group| &group.measures);
        let shown: BTreeSet<&str> = measures.filter_map(|measure| Some(metric::find(&measure.name)?.0.name)).collect();
        metric::all().filter(|metric| shown.contains(metric.name)).collect()
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
        let (mut groups, mut rows) = (IndexSet::new(), IndexMap::<Vec<String>, Vec<usize>>::new());
        for cell in 0..scenario.cells.len() {
            groups.insert(labels_of(cell, &spec.columns));
            rows.entry(labels_of(cell, &spec.rows)).or_default().push(cell);
        }
        let rows: Vec<Row> = rows.into_iter().map(|(labels, cells)| Row { labels, cells }).collect();
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
