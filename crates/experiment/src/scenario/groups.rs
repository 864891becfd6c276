//! Groups: many nodes of one kind, written once.
//!
//! ```toml
//! [nodes]
//! sta = { count = 20 }
//!
//! [flows.upload]
//! from = "sta"
//! to = "server"
//! ```
//!
//! makes the nodes `sta1` to `sta20`, and for each a flow `upload1` to `upload20`. A link between a group and a node
//! becomes one link for each member. Where both ends are groups they have the same size, and the n-th is joined to
//! the n-th. A flow with `count` of its own is written out so many times between the same nodes; with 0 it is only there where
//! a case gives it another count.

use super::document::{Entry, Node, Table, Value};
use super::error::{Problem, ScenarioError};
use super::keys::Keys;
use super::place::Place;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Larger groups are a mistake in the file.
const MAX_COUNT: u32 = 2000;

/// Names of the members of each group.
type Groups = BTreeMap<String, Vec<String>>;

/// The document with its groups written out.
pub(super) fn expanded(document: Cow<'_, Table>) -> Result<Cow<'_, Table>, ScenarioError> {
    let groups = groups(&document)?;
    let is_counted = |flow: &Entry| count_of(flow).is_some();
    if groups.is_empty() && !document.table("flows").is_some_and(|flows| flows.entries.iter().any(is_counted)) {
        return Ok(document);
    }
    let mut document = document.into_owned();
    for entry in &mut document.entries {
        let Value::Table(things) = &mut entry.node.value else { continue };
        let multiplied = |things: &Table, ends: &[&str]| -> Result<Vec<Entry>, ScenarioError> {
            let copies = things.entries.iter().map(|thing| copies(thing, ends, &groups));
            Ok(copies.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
        };
        match entry.key.as_str() {
            "nodes" => things.entries = things.entries.iter().flat_map(|node| members(node, &groups)).collect(),
            "flows" => {
                things.entries = multiplied(things, &["from", "to"])?;
                let alike = things.entries.iter().map(alike).collect::<Result<Vec<_>, _>>()?;
                things.entries = alike.into_iter().flatten().collect();
            }
            "workloads" => things.entries = multiplied(things, &["from", "to"])?,
            "links" => things.entries = multiplied(things, &["between"])?,
            "wlans" => things.entries.iter_mut().for_each(|wlan| write_out_stations(wlan, &groups)),
            _ => continue,
        }
        unique(things)?;
    }
    Ok(Cow::Owned(document))
}

/// Reads `count` of every node that has one.
fn groups(document: &Table) -> Result<Groups, ScenarioError> {
    let mut groups = Groups::new();
    for entry in document.table("nodes").into_iter().flat_map(|nodes| &nodes.entries) {
        let Value::Table(node) = &entry.node.value else { continue };
        let Some(count_entry) = node.get("count") else { continue };
        let keys = Keys::of(entry, &Place::File.below("nodes"), "scenario")?;
        keys.only(&["count"])?;
        let count: u32 = keys.value("count")?.unwrap_or(0);
        if !(1..=MAX_COUNT).contains(&count) {
            return Err(keys.bad(count_entry, format!("a group has from 1 to {MAX_COUNT} nodes")));
        }
        groups.insert(entry.key.clone(), (1..=count).map(|number| format!("{}{number}", entry.key)).collect());
    }
    Ok(groups)
}

fn count_of(flow: &Entry) -> Option<&Entry> {
    let Value::Table(table) = &flow.node.value else { return None };
    table.get("count")
}

/// A flow as many times as its `count` says, without that key; itself where it has none.
fn alike(flow: &Entry) -> Result<Vec<Entry>, ScenarioError> {
    let Some(count_entry) = count_of(flow) else { return Ok(vec![flow.clone()]) };
    let keys = Keys::of(flow, &Place::File.below("flows"), "flow")?;
    let count: u32 = keys.value("count")?.unwrap_or(0);
    if count > MAX_COUNT {
        return Err(keys.bad(count_entry, format!("a flow is there at most {MAX_COUNT} times")));
    }
    let copy = |number: u32| {
        let mut copy = flow.clone();
        copy.key = format!("{}{number}", flow.key);
        if let Value::Table(table) = &mut copy.node.value {
            table.entries.retain(|entry| entry.key != "count");
        }
        copy
    };
    Ok((1..=count).map(copy).collect())
}

fn members(node: &Entry, groups: &Groups) -> Vec<Entry> {
    let Some(names) = groups.get(&node.key) else { return vec![node.clone()] };
    let value = || Value::Table(Table::default());
    let member = |name: &String| Entry {
        key: name.clone(),
        origin: node.origin.clone(),
        node: Node { value: value(), origin: node.node.origin.clone() },
    };
    names.iter().map(member).collect()
}

/// The same table for each member of the group that it is called by; itself where there is none.
fn renamed(table: &Entry, groups: &Groups) -> Vec<Entry> {
    let Some(names) = groups.get(&table.key) else { return vec![table.clone()] };
    names.iter().map(|name| Entry { key: name.clone(), ..table.clone() }).collect()
}

/// A flow or link for each member of the groups that its `ends` name; itself where they name none.
fn copies(thing: &Entry, ends: &[&str], groups: &Groups) -> Result<Vec<Entry>, ScenarioError> {
    let Value::Table(table) = &thing.node.value else { return Ok(vec![thing.clone()]) };
    let values = table.entries.iter().filter(|entry| ends.contains(&entry.key.as_str()));
    let texts = values.flat_map(|entry| match &entry.node.value {
        Value::List(items) => items.iter().filter_map(Node::scalar).collect(),
        _ => entry.node.scalar().into_iter().collect::<Vec<_>>(),
    });
    let sizes: Vec<(String, usize)> =
        texts.filter_map(|name| groups.get(&name).map(|members| (name, members.len()))).collect();
    let Some((first, size)) = sizes.first() else { return Ok(vec![thing.clone()]) };
    if let Some((other, differs)) = sizes.iter().find(|(_, other)| other != size) {
        let sentence = format!(
            "'{}' joins the groups '{first}' of {size} and '{other}' of {differs}; give them the same count",
            thing.key
        );
        return Err(Problem::Topology(sentence).at(&thing.origin));
    }
    let copy = |index: usize| {
        let mut copy = thing.clone();
        copy.key = format!("{}{}", thing.key, index + 1);
        if let Value::Table(table) = &mut copy.node.value {
            for entry in table.entries.iter_mut().filter(|entry| ends.contains(&entry.key.as_str())) {
                name_member(&mut entry.node, groups, index);
            }
        }
        copy
    };
    Ok((0..*size).map(copy).collect())
}

/// Replaces a group's name by that of one of its members.
fn name_member(node: &mut Node, groups: &Groups, index: usize) {
    match &mut node.value {
        Value::Text(name) => {
            if let Some(members) = groups.get(name) {
                *name = members[index].clone();
            }
        }
        Value::List(items) => items.iter_mut().for_each(|item| name_member(item, groups, index)),
        _ => {}
    }
}

/// Writes out the groups in a cell: in the list of its stations, and among those that contend in their own way.
fn write_out_stations(wlan: &mut Entry, groups: &Groups) {
    let Value::Table(table) = &mut wlan.node.value else { return };
    if let Some(Value::Table(edca)) =
        table.entries.iter_mut().find(|entry| entry.key == "edca").map(|entry| &mut entry.node.value)
    {
        edca.entries = edca.entries.iter().flat_map(|station| renamed(station, groups)).collect();
    }
    let Some(stations) = table.entries.iter_mut().find(|entry| entry.key == "stations") else { return };
    let items = match &stations.node.value {
        Value::List(items) => items.clone(),
        _ => vec![stations.node.clone()],
    };
    let written = items.into_iter().flat_map(|item| match item.scalar().and_then(|name| groups.get(&name)) {
        Some(members) => {
            members.iter().map(|name| Node { value: Value::Text(name.clone()), origin: item.origin.clone() }).collect()
        }
        None => vec![item],
    });
    stations.node.value = Value::List(written.collect());
}

/// No member has the name of something else.
fn unique(things: &Table) -> Result<(), ScenarioError> {
    for (index, entry) in things.entries.iter().enumerate() {
        if let Some(other) = things.entries[..index].iter().find(|other| other.key == entry.key) {
            let sentence = format!("'{}' is also a member of a group; rename one of them", other.key);
            return Err(Problem::Topology(sentence).at(&entry.origin));
        }
    }
    Ok(())
}
