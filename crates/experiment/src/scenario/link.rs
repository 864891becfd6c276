//! `[links.<name>]`: `between`, the keys of [`LinkSettings`], and `reverse` that overrides some of them.

use super::LinkSpec;
use super::error::{Problem, ScenarioError};
use super::keys::Keys;
use super::limits::LONGEST;
use super::traces::{self, TraceFiles};
use airtcp_link::LinkSettings;

/// Reads every link of the file.
pub(super) fn links(file: &Keys<'_>, nodes: &[String], files: &TraceFiles) -> Result<Vec<LinkSpec>, ScenarioError> {
    let mut links: Vec<LinkSpec> = Vec::new();
    file.each("links", "link", |keys| {
        let link = link(keys, nodes, files)?;
        let [a, b] = link.between;
        if let Some(other) = links.iter().find(|other| [[a, b], [b, a]].contains(&other.between)) {
            let [a, b] = link.between.map(|node| &nodes[node]);
            let sentence = format!("links '{}' and '{}' are both between '{a}' and '{b}'", other.name, link.name);
            return Err(Problem::Topology(sentence).at(keys.origin));
        }
        links.push(link);
        Ok(())
    })?;
    Ok(links)
}

fn link(keys: &Keys<'_>, nodes: &[String], files: &TraceFiles) -> Result<LinkSpec, ScenarioError> {
    let mut forward = LinkSettings::default();
    keys.set_all(&mut forward, &["between", "reverse"], "a value")?;
    let mut reverse = forward.clone();
    check(&mut forward, keys, false, files)?;
    match keys.table.get("reverse") {
        Some(entry) => {
            let below = keys.below(entry, "link")?;
            below.set_all(&mut reverse, &[], "a value")?;
            check(&mut reverse, &below, true, files)?;
        }
        None => check(&mut reverse, keys, true, files)?,
    }
    Ok(LinkSpec { name: keys.name().to_owned(), between: between(keys, nodes)?, forward, reverse })
}

fn between(keys: &Keys<'_>, nodes: &[String]) -> Result<[usize; 2], ScenarioError> {
    let entry = keys.required("between", "between = [\"a\", \"b\"]")?;
    let expected = "a list of two nodes, [\"a\", \"b\"]";
    let names = keys.texts(entry, expected)?;
    let [first, second] = names.as_slice() else { return Err(keys.bad(entry, format!("it takes {expected}"))) };
    let mut ends = [0; 2];
    for (end, (name, node)) in ends.iter_mut().zip([first, second]) {
        *end = keys.index_of(name, ("node", "between"), &node.origin, nodes)?;
    }
    if ends[0] == ends[1] {
        let sentence = format!("link '{}' leads from '{}' to itself", keys.name(), first.0);
        return Err(Problem::Topology(sentence).at(&entry.node.origin));
    }
    Ok(ends)
}

/// Loads what a direction's settings name, and checks what they are together.
fn check(
    settings: &mut LinkSettings,
    keys: &Keys<'_>,
    is_reverse: bool,
    files: &TraceFiles,
) -> Result<(), ScenarioError> {
    for (_, trace) in settings.traces_mut() {
        traces::load(keys, trace, is_reverse, files)?;
    }
    let is_long = settings.delay.longest() > LONGEST;
    let checked = if is_long { Err(format!("a delay of more than {LONGEST} is a mistake")) } else { settings.check() };
    checked.map_err(|reason| Problem::Topology(format!("{}: {reason}", keys.place)).at(keys.origin))
}
