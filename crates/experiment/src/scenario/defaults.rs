//! `[defaults]`: what every link, cell, flow or workload has unless it says otherwise.
//!
//! ```toml
//! [defaults.flows]
//! controller = "reno"
//! mtu = 512
//! ```
//!
//! A key is taken as a whole: a link with a `queue` of its own takes nothing from the default queue.
//!
//! ```toml
//! [defaults.sockets.decoupling]
//! vmss = 3000
//! ```
//!
//! is for the options of every flow with this socket, option by option.

use super::document::{Entry, Node, Table, Value};
use super::error::ScenarioError;
use super::keys::Keys;
use super::place::Place;
use crate::catalogue::Catalogue;
use std::borrow::Cow;

/// What can have defaults.
const NAMED: [&str; 4] = ["links", "wlans", "flows", "workloads"];
/// What has them by its kind.
const SOCKET_OPTIONS: &str = "sockets";

/// The document with its defaults filled in.
pub(super) fn applied<'a>(document: &'a Table, catalogue: &Catalogue<'_>) -> Result<Cow<'a, Table>, ScenarioError> {
    let Some(entry) = document.get("defaults") else { return Ok(Cow::Borrowed(document)) };
    let defaults = Keys::of(entry, &Place::File, "scenario")?;
    defaults.only(&[&NAMED[..], &[SOCKET_OPTIONS]].concat())?;
    let mut filled = document.clone();
    for named in NAMED {
        let Some(entry) = defaults.table.get(named) else { continue };
        let ours = defaults.below(entry, named.trim_end_matches('s'))?.table;
        tables_of(&mut filled, named).for_each(|thing| fill(thing, ours));
    }
    if let Some(entry) = defaults.table.get(SOCKET_OPTIONS) {
        let sockets = defaults.below(entry, "sockets")?;
        let known: Vec<&str> = catalogue.sockets.iter().map(|socket| socket.slug).collect();
        sockets.only(&known)?;
        for socket in &sockets.table.entries {
            let ours = sockets.below(socket, "sockets")?.table;
            let is_of = |flow: &Table| {
                let of = flow.get("socket").and_then(|entry| entry.node.scalar());
                of.is_some_and(|slug| slug == socket.key)
            };
            tables_of(&mut filled, "flows").filter(|flow| is_of(flow)).for_each(|flow| fill_options(flow, ours, entry));
        }
    }
    Ok(Cow::Owned(filled))
}

/// The tables in the section `named`: for `links` the table of each link.
fn tables_of<'a>(document: &'a mut Table, named: &str) -> impl Iterator<Item = &'a mut Table> {
    let things = document.entries.iter_mut().find(|entry| entry.key == named);
    let things = things.and_then(|entry| match &mut entry.node.value {
        Value::Table(things) => Some(things),
        _ => None,
    });
    things.into_iter().flat_map(|things| &mut things.entries).filter_map(|thing| match &mut thing.node.value {
        Value::Table(thing) => Some(thing),
        _ => None,
    })
}

fn fill(thing: &mut Table, ours: &Table) {
    let missing: Vec<_> = ours.entries.iter().filter(|entry| thing.get(&entry.key).is_none()).cloned().collect();
    thing.entries.extend(missing);
}

fn fill_options(flow: &mut Table, ours: &Table, from: &Entry) {
    let options = flow.entries.iter_mut().find(|entry| entry.key == "socket_options");
    match options.map(|entry| &mut entry.node.value) {
        Some(Value::Table(options)) => fill(options, ours),
        Some(_) => {}
        None => {
            let node = Node { value: Value::Table(ours.clone()), origin: from.node.origin.clone() };
            flow.entries.push(Entry { key: "socket_options".into(), origin: from.origin.clone(), node });
        }
    }
}
