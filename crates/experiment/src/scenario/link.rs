//! `[links.<name>]`: `between`, the keys of [`LinkSettings`], and `reverse` that overrides some of them.

use super::LinkSpec;
use super::document::{Entry, Table, Value};
use super::error::{Problem, ScenarioError};
use super::keys::Keys;
use super::resolve::LONGEST;
use super::write;
use airtcp_core::parameters::Parameters;
use airtcp_link::LinkSettings;
use airtcp_link::table::Kind;

/// Reads every link.
pub(super) fn links(keys: &Keys<'_>, nodes: &[String]) -> Result<Vec<LinkSpec>, ScenarioError> {
    let mut links: Vec<LinkSpec> = Vec::new();
    for entry in &keys.table.entries {
        let link = link(entry, nodes)?;
        let same_ends =
            |other: &&LinkSpec| other.between == link.between || other.between == [link.between[1], link.between[0]];
        if let Some(other) = links.iter().find(same_ends) {
            let [a, b] = link.between.map(|node| &nodes[node]);
            let sentence = format!("links '{}' and '{}' are both between '{a}' and '{b}'", other.name, link.name);
            return Err(Problem::Topology(sentence).at(&entry.origin));
        }
        links.push(link);
    }
    Ok(links)
}

fn link(entry: &Entry, nodes: &[String]) -> Result<LinkSpec, ScenarioError> {
    let keys = Keys::of(entry, &format!("links.{}", entry.key), "link")?;
    let fields = LinkSettings::default().fields();
    let mut valid: Vec<&str> = fields.iter().map(|field| field.name).collect();
    let directional = valid.clone();
    valid.extend(["between", "reverse"]);
    keys.only(&valid)?;

    let mut forward = LinkSettings::default();
    apply(&mut forward, &keys, &valid)?;
    check(&forward, &keys)?;
    let mut reverse = forward.clone();
    if let Some(entry) = keys.table.get("reverse") {
        let keys = Keys::of(entry, &format!("links.{}.reverse", keys_name(&keys)), "link")?;
        keys.only(&directional)?;
        apply(&mut reverse, &keys, &directional)?;
        check(&reverse, &keys)?;
    }
    Ok(LinkSpec { name: entry.key.clone(), between: between(&keys, nodes)?, forward, reverse })
}

fn keys_name(keys: &Keys<'_>) -> String {
    keys.name.trim_start_matches("[links.").trim_end_matches(']').to_owned()
}

fn between(keys: &Keys<'_>, nodes: &[String]) -> Result<[usize; 2], ScenarioError> {
    let entry = keys.required("between", "between = [\"a\", \"b\"]")?;
    let expected = "a list of two nodes, [\"a\", \"b\"]";
    let names = keys.texts(entry, expected)?;
    let [first, second] = names.as_slice() else { return Err(keys.bad(entry, format!("it takes {expected}"))) };
    let mut ends = [0; 2];
    for (end, (name, node)) in ends.iter_mut().zip([first, second]) {
        let index = nodes.iter().position(|node| node == name);
        *end = index.ok_or_else(|| keys.no_such("node", name, "between", &node.origin, nodes.to_vec()))?;
    }
    if ends[0] == ends[1] {
        let sentence = format!("link '{}' leads from '{}' to itself", keys_name(keys), first.0);
        return Err(Problem::Topology(sentence).at(&entry.node.origin));
    }
    Ok(ends)
}

fn apply(settings: &mut LinkSettings, keys: &Keys<'_>, valid: &[&str]) -> Result<(), ScenarioError> {
    for entry in keys.table.entries.iter().filter(|entry| !["between", "reverse"].contains(&entry.key.as_str())) {
        let text = match &entry.node.value {
            Value::Table(table) => {
                check_keys_of_table(keys, entry, table)?;
                write::inline(&entry.node)
            }
            _ => keys.scalar(entry, "a value")?,
        };
        settings.set(&entry.key, &text).map_err(|error| keys.parameter(entry, error, valid))?;
    }
    Ok(())
}

/// Unknown keys of `loss = { … }` and its like, each on its own line.
fn check_keys_of_table(keys: &Keys<'_>, entry: &Entry, table: &Table) -> Result<(), ScenarioError> {
    let Some((_, kinds)) = LinkSettings::TABLES.iter().find(|(key, _)| *key == entry.key) else {
        return Err(keys.wrong_type(entry, "a single value"));
    };
    let below = Keys {
        table,
        name: format!("{}.{}]", keys.name.trim_end_matches(']'), entry.key),
        origin: &entry.origin,
        show: keys.show.clone(),
    };
    for inner in &table.entries {
        below.scalar(inner, "a single value")?;
    }
    let name = table.get("kind").and_then(|kind| kind.node.scalar());
    let named = |kind: &&Kind| name.as_deref().is_none_or(|name| name == kind.name);
    // An unknown kind is reported, with the ones there are, when the value is read.
    let Some(kind) = kinds.iter().find(named) else { return Ok(()) };
    let fields = (kind.fields)();
    let mut valid: Vec<&str> = fields.iter().map(|field| field.name).collect();
    if !kind.name.is_empty() {
        valid.push("kind");
    }
    below.only(&valid)
}

fn check(settings: &LinkSettings, keys: &Keys<'_>) -> Result<(), ScenarioError> {
    let long = format!("a delay of more than {LONGEST} is a mistake");
    let in_bounds = if settings.delay > LONGEST { Err(long) } else { settings.check() };
    in_bounds.map_err(|reason| Problem::Topology(format!("{}: {reason}", keys.name)).at(keys.origin))
}
