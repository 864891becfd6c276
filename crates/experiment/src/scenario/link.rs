//! `[links.<name>]`: `between`, the keys of [`LinkSettings`], and `reverse` that overrides some of them.

use super::LinkSpec;
use super::document::Entry;
use super::error::{Problem, ScenarioError};
use super::keys::Keys;
use super::limits::LONGEST;
use airtcp_core::parameters::Parameters;
use airtcp_link::LinkSettings;

/// Reads every link.
pub(super) fn links(keys: &Keys<'_>, nodes: &[String]) -> Result<Vec<LinkSpec>, ScenarioError> {
    let mut links: Vec<LinkSpec> = Vec::new();
    for entry in &keys.table.entries {
        let link = link(keys, entry, nodes)?;
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

fn link(all: &Keys<'_>, entry: &Entry, nodes: &[String]) -> Result<LinkSpec, ScenarioError> {
    let keys = all.below(entry, "link")?;
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
        let keys = keys.below(entry, "link")?;
        keys.only(&directional)?;
        apply(&mut reverse, &keys, &directional)?;
        check(&reverse, &keys)?;
    }
    Ok(LinkSpec { name: entry.key.clone(), between: between(&keys, &entry.key, nodes)?, forward, reverse })
}

fn between(keys: &Keys<'_>, name: &str, nodes: &[String]) -> Result<[usize; 2], ScenarioError> {
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
        let sentence = format!("link '{name}' leads from '{}' to itself", first.0);
        return Err(Problem::Topology(sentence).at(&entry.node.origin));
    }
    Ok(ends)
}

fn apply(settings: &mut LinkSettings, keys: &Keys<'_>, valid: &[&str]) -> Result<(), ScenarioError> {
    for entry in keys.table.entries.iter().filter(|entry| !["between", "reverse"].contains(&entry.key.as_str())) {
        keys.set(settings, entry, "a value", valid)?;
    }
    Ok(())
}

fn check(settings: &LinkSettings, keys: &Keys<'_>) -> Result<(), ScenarioError> {
    let long = format!("a delay of more than {LONGEST} is a mistake");
    let in_bounds = if settings.delay > LONGEST { Err(long) } else { settings.check() };
    in_bounds.map_err(|reason| Problem::Topology(format!("{}: {reason}", keys.place)).at(keys.origin))
}
