//! The files that recorded rates, delays and losses name, `rate = { trace = "walk.csv" }`, and those of sizes of requests,
//! `sizes = { file = "sizes.csv" }`.
//!
//! They are read once for a scenario, before it is resolved, and belong to it: the results keep a copy beside
//! `scenario.toml`, and what is in them is part of its hash. From then on a file stands in the document by its base name.

use super::document::{Entry, Node, Table, Value};
use super::error::{Problem, ScenarioError};
use super::keys::Keys;
use super::source::Source;
use airtcp_link::varying::trace::Trace;
use std::collections::BTreeMap;
use std::path::Path;

/// Keys whose value may be a table with a file, and the key of the file in it.
const KEYS: [(&str, &str); 6] = [
    ("rate", "trace"),
    ("delay", "trace"),
    ("loss", "trace"),
    ("data_loss", "trace"),
    ("control_loss", "trace"),
    ("sizes", "file"),
];

/// Traces that need no file, of our own making: `airtcp trace` with the models that their first lines name.
const BUILT_IN: &[(&str, &str)] = &[
    ("cellular.csv", include_str!("../../../../scenarios/traces/cellular.csv")),
    ("satellite.csv", include_str!("../../../../scenarios/traces/satellite.csv")),
];

/// Name and content of each file.
pub type TraceFiles = BTreeMap<String, String>;

/// Reads every trace that `document` names; in it, each then stands by its base name.
pub(super) fn gather(
    document: &mut Table,
    open: &mut dyn FnMut(&str) -> Result<Source, ScenarioError>,
) -> Result<TraceFiles, ScenarioError> {
    let mut found = Gathered { files: TraceFiles::new(), paths: BTreeMap::new(), open };
    found.table(document)?;
    Ok(found.files)
}

struct Gathered<'a> {
    files: TraceFiles,
    /// What each file was called, by its base name.
    paths: BTreeMap<String, String>,
    open: &'a mut dyn FnMut(&str) -> Result<Source, ScenarioError>,
}

impl Gathered<'_> {
    fn table(&mut self, table: &mut Table) -> Result<(), ScenarioError> {
        for Entry { key, node, .. } in &mut table.entries {
            let last = key.rsplit('.').next().unwrap_or(key);
            let names_file = KEYS.iter().find(|(key, _)| *key == last).map(|(_, inner)| *inner);
            self.node(node, names_file)?;
        }
        Ok(())
    }

    /// `inner` is the key that names a file in a table here, if one does.
    fn node(&mut self, node: &mut Node, inner: Option<&str>) -> Result<(), ScenarioError> {
        match &mut node.value {
            Value::List(nodes) => nodes.iter_mut().try_for_each(|node| self.node(node, inner)),
            Value::Table(table) => match table.entries.iter_mut().find(|entry| inner == Some(entry.key.as_str())) {
                Some(entry) => self.file(&mut entry.node),
                None => self.table(table),
            },
            Value::Text(_) | Value::Number(_) | Value::Boolean(_) => Ok(()),
        }
    }

    fn file(&mut self, node: &mut Node) -> Result<(), ScenarioError> {
        let Value::Text(path) = &node.value else { return Ok(()) };
        let last = Path::new(path).file_name().map(|name| name.to_string_lossy().into_owned());
        let Some(name) = last else {
            return Err(Problem::Trace { file: path.clone(), reason: "it names no file".into() }.at(&node.origin));
        };
        match self.paths.get(&name) {
            Some(known) if known == path => {}
            Some(known) => {
                let reason = format!("'{known}' has the same base name, and the results keep both; rename one");
                return Err(Problem::Trace { file: path.clone(), reason }.at(&node.origin));
            }
            None => {
                let text = self.read(path).map_err(|problem| problem.at(&node.origin))?;
                self.files.insert(name.clone(), text);
                self.paths.insert(name.clone(), path.clone());
            }
        }
        node.value = Value::Text(name);
        Ok(())
    }

    /// A file beside the scenario comes before one that ships.
    fn read(&mut self, path: &str) -> Result<String, Problem> {
        let error = match (self.open)(path) {
            Ok(source) => return Ok(source.text),
            Err(error) => error,
        };
        if let Some((_, text)) = BUILT_IN.iter().find(|(name, _)| *name == path) {
            return Ok((*text).to_owned());
        }
        let ships = BUILT_IN.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        let reason = match *error.problem {
            Problem::Unreadable(reason) => format!("{reason}; it is looked for beside the scenario, and {ships} ship"),
            other => other.to_string(),
        };
        Err(Problem::Trace { file: path.to_owned(), reason })
    }
}

/// Gives a trace of `keys` what its file holds.
pub(super) fn load(
    keys: &Keys<'_>,
    trace: &mut Trace,
    is_reverse: bool,
    files: &TraceFiles,
) -> Result<(), ScenarioError> {
    let name = trace.trace.name();
    let file = name.to_owned();
    let Some(text) = files.get(name) else {
        return Err(Problem::Trace { file, reason: "it was not read".into() }.at(keys.origin));
    };
    trace.load(text, is_reverse).map_err(|reason| Problem::Trace { file, reason }.at(keys.origin))
}
