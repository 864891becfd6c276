//! Cells named by the labels of what varies: `{ cases.scheme = "gsnoop" }`, `{ links.air.loss = { from = "0.1%", to = "10%" } }`.

use super::Experiment;
use super::number;
use crate::scenario::document::{Entry, Node, Table, Value};
use crate::scenario::{Keys, Problem, ScenarioError};

/// A cell of one of the paper's experiments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CellRef {
    /// Index of the experiment.
    pub experiment: usize,
    /// Index of the cell in its scenario.
    pub cell: usize,
}

/// Label of each axis, in the order of the file.
pub type At = Vec<(String, String)>;

/// What a selection wants of one axis.
#[derive(Clone, Debug)]
enum Want {
    Labels(Vec<String>),
    /// Both ends, as numbers and as written.
    Range([f64; 2], [String; 2]),
}

/// Axes and what is wanted of each.
#[derive(Clone, Debug)]
pub struct Selection {
    /// The experiment it is about.
    pub experiment: usize,
    wants: Vec<(String, Want)>,
}

impl Selection {
    /// Everything of `experiment`.
    pub fn all(experiment: usize) -> Selection {
        Selection { experiment, wants: Vec::new() }
    }

    /// A line to compare, the table `entry`: one label for each axis it names, and perhaps another experiment.
    ///
    /// # Errors
    /// An experiment, axis or label that is not there; several labels for an axis.
    pub fn line(
        keys: &Keys<'_>,
        entry: &Entry,
        node: &Node,
        experiments: &[Experiment],
        default: usize,
    ) -> Result<Selection, ScenarioError> {
        let mut table = table_of(keys, entry, node)?.clone();
        let experiment = match table.remove("experiment") {
            Some(named) => find_experiment(keys, &named, experiments)?,
            None => default,
        };
        let selection = Selection::read(keys, entry, &table, experiments, experiment)?;
        match selection.wants.iter().find(|(_, want)| !matches!(want, Want::Labels(labels) if labels.len() == 1)) {
            Some((axis, _)) => Err(keys.bad(entry, format!("a line has one label of '{axis}', not several"))),
            None => Ok(selection),
        }
    }

    /// The points to compare at, the table of `entry`: a label, a list of labels or a range for each axis it names.
    ///
    /// # Errors
    /// An axis or label that is not there.
    pub fn points(
        keys: &Keys<'_>,
        entry: &Entry,
        experiments: &[Experiment],
        experiment: usize,
    ) -> Result<Selection, ScenarioError> {
        let table = table_of(keys, entry, &entry.node)?;
        Selection::read(keys, entry, table, experiments, experiment)
    }

    fn read(
        keys: &Keys<'_>,
        entry: &Entry,
        table: &Table,
        experiments: &[Experiment],
        experiment: usize,
    ) -> Result<Selection, ScenarioError> {
        let axes = &experiments[experiment].scenario.axes;
        let mut wants = Vec::new();
        for (path, node) in leaves(table) {
            let Some((axis, labels)) = axes.iter().find(|(axis, _)| *axis == path) else {
                let choices = axes.iter().map(|(axis, _)| axis.clone()).collect();
                return Err(keys.no_such("varied key", &path, &entry.key, &node.origin, choices));
            };
            wants.push((axis.clone(), want(keys, entry, node, labels)?));
        }
        Ok(Selection { experiment, wants })
    }

    /// The same of another experiment.
    #[must_use]
    pub fn of_experiment(&self, experiment: usize) -> Selection {
        Selection { experiment, wants: self.wants.clone() }
    }

    /// True if a cell with these labels is meant.
    pub fn takes(&self, at: &At) -> bool {
        self.wants.iter().all(|(axis, want)| {
            let label = at.iter().find(|(key, _)| key == axis).map(|(_, label)| label);
            label.is_some_and(|label| match want {
                Want::Labels(labels) => labels.contains(label),
                Want::Range([from, to], _) => {
                    number::of_label(label).is_some_and(|x| number::is_between(x, *from, *to))
                }
            })
        })
    }

    /// True if it says anything about `axis`.
    pub fn names(&self, axis: &str) -> bool {
        self.wants.iter().any(|(key, _)| key == axis)
    }

    /// The selection in a few words: labels, or a range.
    pub fn describe(&self) -> String {
        let words = self.wants.iter().map(|(axis, want)| match want {
            Want::Labels(labels) => labels.join(", "),
            Want::Range(_, [from, to]) => format!("{} from {from} to {to}", crate::table::title_of(axis)),
        });
        words.collect::<Vec<_>>().join(", ")
    }
}

/// The index of the experiment that `entry` names.
///
/// # Errors
/// There is none of that name.
pub fn find_experiment(keys: &Keys<'_>, entry: &Entry, experiments: &[Experiment]) -> Result<usize, ScenarioError> {
    let id = keys.scalar(entry, "the name of an experiment")?;
    experiments.iter().position(|experiment| experiment.id == id).ok_or_else(|| {
        let choices = experiments.iter().map(|experiment| experiment.id.clone()).collect();
        keys.no_such("experiment", &id, &entry.key, &entry.node.origin, choices)
    })
}

fn table_of<'a>(keys: &Keys<'_>, entry: &Entry, node: &'a Node) -> Result<&'a Table, ScenarioError> {
    match &node.value {
        Value::Table(table) => Ok(table),
        _ => Err(keys.wrong_type(entry, "a table of varied keys and labels, { links.air.loss = \"1%\" }")),
    }
}

/// Dotted paths of a selection and their values; quoted and dotted keys mean the same.
fn leaves(table: &Table) -> Vec<(String, &Node)> {
    let mut found = Vec::new();
    for entry in &table.entries {
        match &entry.node.value {
            Value::Table(below) if below.get("from").is_none() && below.get("to").is_none() => {
                found.extend(leaves(below).into_iter().map(|(path, node)| (format!("{}.{path}", entry.key), node)));
            }
            _ => found.push((entry.key.clone(), &entry.node)),
        }
    }
    found
}

fn want(keys: &Keys<'_>, entry: &Entry, node: &Node, labels: &[String]) -> Result<Want, ScenarioError> {
    let known = |node: &Node| -> Result<String, ScenarioError> {
        let label = node.scalar().ok_or_else(|| keys.wrong_type(entry, "labels"))?;
        if labels.contains(&label) {
            return Ok(label);
        }
        Err(keys.no_such("step", &label, &entry.key, &node.origin, labels.to_vec()))
    };
    match &node.value {
        Value::List(items) => Ok(Want::Labels(items.iter().map(known).collect::<Result<_, _>>()?)),
        Value::Table(range) => {
            let below = Keys { table: range, place: keys.place.clone(), origin: &node.origin, show: keys.show.clone() };
            below.only(&["from", "to"])?;
            let end = |key: &str, example: &str| -> Result<(f64, String), ScenarioError> {
                let end = below.required(key, example)?;
                let text = below.scalar(end, "a number with its unit")?;
                match number::of_label(&text) {
                    Some(number) => Ok((number, text)),
                    None => Err(below.bad(end, format!("'{text}' is not a number"))),
                }
            };
            let ((from, from_text), (to, to_text)) = (end("from", "from = \"0.1%\"")?, end("to", "to = \"10%\"")?);
            let is_met =
                labels.iter().filter_map(|label| number::of_label(label)).any(|x| number::is_between(x, from, to));
            if !is_met {
                let sentence = format!("no step lies in this range; there are: {}", labels.join(", "));
                return Err(Problem::BadValue {
                    key: entry.key.clone(),
                    table: keys.place.to_string(),
                    reason: sentence,
                    show: keys.show.clone(),
                }
                .at(&node.origin));
            }
            Ok(Want::Range([from, to], [from_text, to_text]))
        }
        _ => Ok(Want::Labels(vec![known(node)?])),
    }
}
