//! `[defaults]`: what every link, cell or flow has unless it says otherwise.
//!
//! ```toml
//! [defaults.flows]
//! controller = "reno"
//! mtu = 512
//! ```
//!
//! A key is taken as a whole: a link with a `queue` of its own takes nothing from the default queue.

use super::document::{Table, Value};
use super::error::ScenarioError;
use super::keys::Keys;
use std::borrow::Cow;

/// What can have defaults.
const NAMED: [&str; 3] = ["links", "wlans", "flows"];

/// The document with its defaults filled in.
pub(super) fn applied(document: &Table) -> Result<Cow<'_, Table>, ScenarioError> {
    let Some(entry) = document.get("defaults") else { return Ok(Cow::Borrowed(document)) };
    let defaults = Keys::of(entry, "defaults", "scenario")?;
    defaults.only(&NAMED)?;
    let mut filled = document.clone();
    for named in NAMED {
        let Some(entry) = defaults.table.get(named) else { continue };
        let ours = Keys::of(entry, &format!("defaults.{named}"), named.trim_end_matches('s'))?.table;
        let things = filled.entries.iter_mut().find(|entry| entry.key == named);
        let Some(Value::Table(things)) = things.map(|entry| &mut entry.node.value) else { continue };
        for thing in &mut things.entries {
            let Value::Table(thing) = &mut thing.node.value else { continue };
            let missing = ours.entries.iter().filter(|entry| thing.get(&entry.key).is_none());
            let missing: Vec<_> = missing.cloned().collect();
            thing.entries.extend(missing);
        }
    }
    Ok(Cow::Owned(filled))
}
