//! `[vary]` mirrors the file: a list where the file has a value. Every combination is a cell.
//!
//! ```toml
//! [vary]
//! links.air.loss = ["0%", "5%", { kind = "gilbert-elliott", mean = "2%", burst = 5, label = "bursty" }]
//! links.air.delay = { linear = ["5ms", "25ms"], steps = 5 }
//! links.lan.loss = { log = ["0.01%", "20%"], steps = 13 }
//! ```
//!
//! What belongs together varies together: an axis below `cases` has a table for each step, with a label and
//! everything that is put into the file for it ([`super::overlay`]).
//!
//! ```toml
//! cases.sender = [
//!   { label = "Reno", flows.bulk.controller = "reno", flows.bulk.sack = false },
//!   { label = "CUBIC", flows.bulk.controller = "cubic" },
//! ]
//! ```
//!
//! The first axis of the file varies slowest. Steps of a range are rounded to four significant digits,
//! so they are the same text on every machine.

use super::document::{Entry, Node, Origin, Table, Value, join_path};
use super::error::{Problem, ScenarioError};
use super::overlay;

/// Top-level keys that say how the experiment is run and cannot differ between its cells.
const FIXED: [&str; 10] = ["schema", "name", "about", "base", "runs", "seed", "control", "vary", "tables", "figures"];

/// Axes below it set several keys in each step.
const CASES: &str = "cases";

/// More cells than this are a mistake in the file.
pub const MAX_CELLS: usize = 100_000;

/// One thing that varies.
#[derive(Clone, Debug)]
pub struct Axis {
    /// Path of the key, by parts.
    pub path: Vec<String>,
    /// What it takes, in the order of the file.
    pub steps: Vec<Step>,
    /// True for `{ log = … }`.
    pub is_logarithmic: bool,
    pub(super) origin: Origin,
}

impl Axis {
    /// The path as files and results write it.
    pub fn name(&self) -> String {
        join_path(&self.path)
    }

    fn is_cases(&self) -> bool {
        self.path[0] == CASES
    }

    /// Every path of the file that this axis changes, and where it says so.
    pub(super) fn changes(&self) -> Vec<(Vec<String>, Origin)> {
        if !self.is_cases() {
            return vec![(self.path.clone(), self.origin.clone())];
        }
        let of_step = |step: &Step| match &step.node.value {
            Value::Table(case) => overlay::paths(case),
            _ => Vec::new(),
        };
        self.steps.iter().flat_map(of_step).collect()
    }
}

/// One value of an axis.
#[derive(Clone, Debug)]
pub struct Step {
    /// How results name it.
    pub label: String,
    node: Node,
}

/// Reads `[vary]` of a document; no axes if there is none.
///
/// # Errors
/// Empty lists, ranges that cannot be stepped through, equal labels, keys that cannot vary.
pub fn axes(document: &Table, max_cells: usize) -> Result<Vec<Axis>, ScenarioError> {
    let mut found = Vec::new();
    let Some(entry) = document.get("vary") else { return Ok(found) };
    let Value::Table(vary) = &entry.node.value else {
        return Err(Problem::Vary { path: "vary".into(), reason: "has to be a table".into() }.at(&entry.origin));
    };
    if vary.entries.is_empty() {
        let reason = "is empty: give it a list, or remove it".into();
        return Err(Problem::Vary { path: "vary".into(), reason }.at(&entry.origin));
    }
    for (path, entry) in leaves(vary) {
        found.push(axis(&path, entry)?);
    }
    let cells = found.iter().try_fold(1usize, |product, axis| product.checked_mul(axis.steps.len()));
    if cells.is_none_or(|cells| cells > max_cells) {
        let reason = format!("makes more than {max_cells} combinations");
        return Err(Problem::Vary { path: "vary".into(), reason }.at(&entry.origin));
    }
    Ok(found)
}

/// Puts one step of every axis into a copy of the document; `choice[i]` belongs to `axes[i]`.
///
/// # Errors
/// An axis that leads through a value.
pub fn substitute(document: &Table, axes: &[Axis], choice: &[usize]) -> Result<Table, ScenarioError> {
    let mut cell = document.clone();
    for (axis, step) in axes.iter().zip(choice) {
        let node = axis.steps[*step].node.clone();
        if let (true, Value::Table(case)) = (axis.is_cases(), &node.value) {
            overlay::overlay(&mut cell, case);
            continue;
        }
        cell.put_at(&axis.path, node)
            .map_err(|part| wrong(&axis.path, format!("leads through '{part}', which is not a table"), &axis.origin))?;
    }
    Ok(cell)
}

fn wrong(path: &[String], reason: String, origin: &Origin) -> ScenarioError {
    Problem::Vary { path: join_path(path), reason }.at(origin)
}

/// What varies, in the order of the file: dotted paths and their values. Other modules write it the same way.
pub fn leaves(vary: &Table) -> Vec<(Vec<String>, &Entry)> {
    fn collect<'a>(table: &'a Table, path: &[String], found: &mut Vec<(Vec<String>, &'a Entry)>) {
        for entry in &table.entries {
            let path: Vec<String> = path.iter().cloned().chain([entry.key.clone()]).collect();
            match &entry.node.value {
                Value::Table(below) if !overlay::is_range(below) && !below.entries.is_empty() => {
                    collect(below, &path, found)
                }
                _ => found.push((path, entry)),
            }
        }
    }
    let mut found = Vec::new();
    collect(vary, &[], &mut found);
    // `links.a.x`, `flows.b.y`, `links.a.z` come out of the tree as links, links, flows.
    found.sort_by_key(|(_, entry)| entry.origin.line);
    found
}

fn axis(path: &[String], entry: &Entry) -> Result<Axis, ScenarioError> {
    if FIXED.contains(&path[0].as_str()) {
        return Err(wrong(path, "is the same in every cell; write it at the top of the file".into(), &entry.origin));
    }
    let steps = match &entry.node.value {
        Value::List(items) if path[0] == CASES => cases(items, path, &entry.origin)?,
        _ if path[0] == CASES => {
            let reason = "needs a list of tables, each with a label and what it sets".into();
            return Err(wrong(path, reason, &entry.origin));
        }
        Value::List(items) => steps_of_list(items, path, &entry.origin)?,
        Value::Table(range) if overlay::is_range(range) => steps_of_range(range, path, &entry.origin)?,
        _ => {
            let reason =
                "needs a list of values, { linear = [from, to], steps = n } or { log = [from, to], steps = n }";
            return Err(wrong(path, reason.into(), &entry.origin));
        }
    };
    unique_labels(&steps, path)?;
    let is_logarithmic = matches!(&entry.node.value, Value::Table(range) if range.get("log").is_some());
    Ok(Axis { path: path.to_vec(), steps, is_logarithmic, origin: entry.origin.clone() })
}

fn cases(items: &[Node], path: &[String], origin: &Origin) -> Result<Vec<Step>, ScenarioError> {
    if path.len() != 2 {
        return Err(wrong(path, format!("needs one name: {CASES}.scheme = [{{ label = \"…\", … }}]"), origin));
    }
    if items.is_empty() {
        return Err(wrong(path, "is an empty list: there is nothing to run".into(), origin));
    }
    let case = |item: &Node| {
        let mut node = item.clone();
        let Value::Table(table) = &mut node.value else {
            return Err(wrong(path, format!("takes tables, not {}", item.value.kind()), &item.origin));
        };
        let label = table.remove("label").and_then(|entry| entry.node.scalar());
        let label = label.ok_or_else(|| wrong(path, "has a case without a label".into(), &item.origin))?;
        let fixed = table.entries.iter().find(|entry| FIXED.contains(&entry.key.as_str()));
        match fixed {
            Some(entry) => Err(wrong(
                path,
                format!("sets '{}', which is the same in every cell; write it at the top of the file", entry.key),
                &entry.origin,
            )),
            None => Ok(Step { label, node }),
        }
    };
    items.iter().map(case).collect()
}

/// The axis of cases of which one sets `path`, or something above or below it.
pub fn case_that_sets(document: &Table, path: &[String]) -> Option<String> {
    let axes = document.table("vary")?.table(CASES)?;
    let sets = |item: &Node| match &item.value {
        Value::Table(case) => {
            overlay::paths(case).iter().any(|(set, _)| set.starts_with(path) || path.starts_with(set))
        }
        _ => false,
    };
    let axis = axes.entries.iter().find(|axis| match &axis.node.value {
        Value::List(items) => items.iter().any(sets),
        _ => false,
    });
    axis.map(|axis| format!("{CASES}.{}", axis.key))
}

fn unique_labels(steps: &[Step], path: &[String]) -> Result<(), ScenarioError> {
    for (index, step) in steps.iter().enumerate() {
        if steps[..index].iter().any(|other| other.label == step.label) {
            let reason = format!("has '{}' twice; give the tables different labels, or remove one", step.label);
            return Err(wrong(path, reason, &step.node.origin));
        }
    }
    Ok(())
}

fn steps_of_list(items: &[Node], path: &[String], origin: &Origin) -> Result<Vec<Step>, ScenarioError> {
    if items.is_empty() {
        return Err(wrong(path, "is an empty list: there is nothing to run".into(), origin));
    }
    items.iter().map(|item| step_of(item, path)).collect()
}

fn step_of(item: &Node, path: &[String]) -> Result<Step, ScenarioError> {
    let mut node = item.clone();
    let label = match &mut node.value {
        Value::Table(table) => match table.remove("label") {
            Some(entry) => {
                entry.node.scalar().ok_or_else(|| wrong(path, "has a label that is not text".into(), &entry.origin))?
            }
            None => describe(table),
        },
        Value::List(_) => return Err(wrong(path, "has a list inside its list".into(), &item.origin)),
        _ => item.scalar().expect("neither list nor table"),
    };
    Ok(Step { label, node })
}

/// `gilbert-elliott mean=2% burst=5`; where a scheme is placed is not worth a word.
fn describe(table: &Table) -> String {
    let word = |entry: &Entry| match (&*entry.key, &entry.node.value) {
        ("kind", _) => entry.node.scalar().unwrap_or_default(),
        (key, Value::Table(below)) => format!("{key}=({})", describe(below)),
        (key, _) => format!("{key}={}", entry.node.scalar().unwrap_or_else(|| "[…]".into())),
    };
    let kind_first = |entry: &&Entry| entry.key != "kind";
    let mut entries: Vec<_> = table.entries.iter().filter(|entry| entry.key != "on").collect();
    entries.sort_by_key(kind_first);
    entries.into_iter().map(word).collect::<Vec<_>>().join(" ")
}

fn steps_of_range(range: &Table, path: &[String], origin: &Origin) -> Result<Vec<Step>, ScenarioError> {
    let bad = |reason: &str| wrong(path, reason.into(), origin);
    if let Some(entry) = range.entries.iter().find(|entry| !["linear", "log", "steps"].contains(&entry.key.as_str())) {
        return Err(wrong(
            path,
            format!("has an unknown key '{}'; a range has linear or log, and steps", entry.key),
            &entry.origin,
        ));
    }
    let (key, is_log) = match (range.get("linear"), range.get("log")) {
        (Some(entry), None) => (entry, false),
        (None, Some(entry)) => (entry, true),
        _ => return Err(bad("has both linear and log; choose one")),
    };
    let Value::List(ends) = &key.node.value else { return Err(bad("needs two ends: linear = [\"0ms\", \"40ms\"]")) };
    let ends: Vec<_> = ends.iter().filter_map(Node::scalar).filter_map(|text| Quantity::read(&text)).collect();
    let [from, to] = ends.as_slice() else {
        return Err(bad("needs two ends with a number each: linear = [\"0ms\", \"40ms\"]"));
    };
    if from.unit != to.unit {
        return Err(bad("has ends in different units; write both in one"));
    }
    if is_log && (from.number <= 0.0 || to.number <= 0.0) {
        return Err(bad("is logarithmic, so both ends have to be above zero"));
    }
    let steps = range.get("steps").and_then(|entry| entry.node.scalar()).and_then(|text| text.parse::<u32>().ok());
    let Some(steps) = steps.filter(|steps| (2..=10_000).contains(steps)) else {
        return Err(bad("needs steps, from 2 to 10000"));
    };
    let at = |index: u32| {
        let part = f64::from(index) / f64::from(steps - 1);
        let number = if is_log {
            from.number * (to.number / from.number).powf(part)
        } else {
            from.number + (to.number - from.number) * part
        };
        let number = four_digits(match index {
            0 => from.number,
            index if index == steps - 1 => to.number,
            _ => number,
        });
        let label = format!("{number}{}", from.unit);
        let value = if from.unit.is_empty() { Value::Number(label.clone()) } else { Value::Text(label.clone()) };
        Step { label, node: Node { value, origin: origin.clone() } }
    };
    Ok((0..steps).map(at).collect())
}

struct Quantity {
    number: f64,
    unit: String,
}

impl Quantity {
    fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let number: f64 = text[..end].parse().ok()?;
        Some(Quantity { number, unit: text[end..].trim().to_owned() })
    }
}

/// `number` rounded to four significant digits, as text without an exponent.
fn four_digits(number: f64) -> String {
    if number == 0.0 {
        return "0".into();
    }
    let decimals = 3 - number.abs().log10().floor() as i32;
    let text = format!("{number:.*}", usize::try_from(decimals.max(0)).unwrap_or(0));
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::parse::parse;

    fn labels(text: &str) -> Vec<(String, Vec<String>)> {
        let axes = axes(&parse("t.toml", text).unwrap(), MAX_CELLS).unwrap();
        axes.iter().map(|axis| (axis.name(), axis.steps.iter().map(|step| step.label.clone()).collect())).collect()
    }

    #[test]
    fn axes_keep_the_order_of_the_file() {
        let text = "[vary]\nlinks.z.loss = [1]\nflows.b.controller = [\"x\"]\nlinks.a.loss = [2]\n";
        let names: Vec<_> = labels(text).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["links.z.loss", "flows.b.controller", "links.a.loss"]);
    }

    #[test]
    fn a_logarithmic_range_multiplies() {
        let text = "[vary]\nx.y = { log = [\"0.01%\", \"100%\"], steps = 5 }";
        assert_eq!(labels(text)[0].1, ["0.01%", "0.1%", "1%", "10%", "100%"]);
    }

    #[test]
    fn a_linear_range_adds() {
        assert_eq!(labels("[vary]\nx.y = { linear = [1, 2], steps = 4 }")[0].1, ["1", "1.333", "1.667", "2"]);
    }

    #[test]
    fn large_numbers_keep_their_zeros() {
        assert_eq!(labels("[vary]\nx.y = { linear = [1000, 20000], steps = 2 }")[0].1, ["1000", "20000"]);
    }

    #[test]
    fn a_table_is_named_by_its_label_or_by_what_it_says() {
        let text = "[vary]\nx = [{ mean = \"2%\", kind = \"ge\" }, { kind = \"a\", label = \"first\" }]";
        assert_eq!(labels(text)[0].1, ["ge mean=2%", "first"]);
    }
}
