//! `base = "other.toml"` and `--set key=value`, both on the level of the file, so that what they
//! bring in is checked like anything else.

use super::document::{Origin, Table, Value, split_path};
use super::error::{Problem, ScenarioError};
use super::parse;

/// Tables of named things: each name is taken from the base unless it is written here.
const NAMED: [&str; 6] = ["nodes", "links", "flows", "probes", "schemes", "defaults"];

/// What varies and how it is shown belong together: from the base only if none is written here.
const PRESENTATION: [&str; 3] = ["vary", "tables", "figures"];

/// Fills `table` with what stands in `base` only.
///
/// # Errors
/// The base has a base.
pub fn fill_from_base(table: &mut Table, base: Table) -> Result<(), ScenarioError> {
    let presents = PRESENTATION.iter().any(|key| table.get(key).is_some());
    for entry in base.entries {
        let key = entry.key.as_str();
        if key == "base" {
            return Err(Problem::Base("a base may not have a base itself; one level only".into()).at(&entry.origin));
        }
        if key == "name" || presents && PRESENTATION.contains(&key) {
            continue;
        }
        let here = table.entries.iter_mut().find(|here| here.key == key);
        match here.map(|here| &mut here.node.value) {
            None => table.entries.push(entry),
            Some(Value::Table(here)) if NAMED.contains(&key) => {
                if let Value::Table(theirs) = entry.node.value {
                    let missing = theirs.entries.into_iter().filter(|entry| here.get(&entry.key).is_none());
                    let missing: Vec<_> = missing.collect();
                    here.entries.extend(missing);
                }
            }
            Some(_) => {}
        }
    }
    Ok(())
}

/// Applies one `--set links.air.loss=5%`. A value that is not TOML is text. What is set no longer varies.
///
/// # Errors
/// No `=`, a path through a value, or a key inside a table that varies as a whole.
pub fn apply_set(table: &mut Table, set: &str) -> Result<(), ScenarioError> {
    let file = format!("--set {set}");
    let origin = Origin::of_file(&file);
    let wrong = |message: String| Problem::Set(message).at(&origin);
    let (key, text) = set.split_once('=').ok_or_else(|| wrong("write key=value, links.air.loss=5%".into()))?;
    let path = split_path(key);
    if path.iter().any(String::is_empty) {
        return Err(wrong(format!("'{}' is no key; write for example links.air.loss", key.trim())));
    }
    let text = text.trim();
    let mut node = parse::parse_value(&file, text)
        .unwrap_or_else(|_| super::document::Node { value: Value::Text(text.to_owned()), origin: origin.clone() });
    relocate(&mut node, &origin);
    stop_varying(table, &path).map_err(wrong)?;
    table.put_at(&path, node).map_err(|part| wrong(format!("'{part}' is not a table")))
}

/// Removes `path`, and everything below it, from `[vary]`.
fn stop_varying(table: &mut Table, path: &[String]) -> Result<(), String> {
    if path[0] == "vary" {
        return Ok(());
    }
    let varied: Vec<String> = std::iter::once("vary".to_owned()).chain(path.iter().cloned()).collect();
    for length in 2..varied.len() {
        let above = table.at(&varied[..length]);
        let is_axis = above.is_some_and(|node| match &node.value {
            Value::Table(table) => super::overlay::is_range(table),
            _ => true,
        });
        if is_axis {
            let whole = varied[1..length].join(".");
            return Err(format!("[vary] replaces '{whole}' as a whole; set 'vary.{whole}' or '{whole}' instead"));
        }
    }
    if let Some(name) = super::vary::case_that_sets(table, path) {
        return Err(format!("'vary.{name}' sets it in one of its cases; set 'vary.{name}' instead"));
    }
    table.remove_at(&varied);
    Ok(())
}

fn relocate(node: &mut super::document::Node, origin: &Origin) {
    node.origin = origin.clone();
    match &mut node.value {
        Value::List(items) => items.iter_mut().for_each(|item| relocate(item, origin)),
        Value::Table(table) => {
            for entry in &mut table.entries {
                entry.origin = origin.clone();
                relocate(&mut entry.node, origin);
            }
        }
        _ => {}
    }
}
