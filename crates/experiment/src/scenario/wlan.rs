//! `[wlans.<name>]`: an 802.11 cell: its access point `ap`, its `stations`, and the keys of [`CellSettings`].

use super::WlanSpec;
use super::document::Entry;
use super::error::{Problem, ScenarioError};
use super::keys::Keys;
use airtcp_core::parameters::Parameters;
use airtcp_sim::dot11::{CellSettings, Edca};

/// Keys of a cell besides its settings: key, example, meaning.
pub const KEYS: &[(&str, &str, &str)] = &[
    ("ap", "\"ap\"", "node that is the access point; required"),
    ("stations", "[\"sta\"]", "nodes or groups that are its stations; required"),
    ("edca", "{ sta = { cw_min = 63 } }", "`aifs`, `cw_min`, `cw_max` of single stations or groups"),
];

/// Reads every cell.
pub(super) fn wlans(keys: &Keys<'_>, nodes: &[String]) -> Result<Vec<WlanSpec>, ScenarioError> {
    keys.table.entries.iter().map(|entry| wlan(keys, entry, nodes)).collect()
}

fn wlan(all: &Keys<'_>, entry: &Entry, nodes: &[String]) -> Result<WlanSpec, ScenarioError> {
    let keys = all.below(entry, "wlan")?;
    let own: Vec<&str> = KEYS.iter().map(|(key, ..)| *key).collect();
    let fields = CellSettings::default().fields();
    let valid: Vec<&str> = own.iter().copied().chain(fields.iter().map(|field| field.name)).collect();
    keys.only(&valid)?;
    let mut settings = CellSettings::default();
    for entry in keys.table.entries.iter().filter(|entry| !own.contains(&entry.key.as_str())) {
        keys.set(&mut settings, entry, "a value", &valid)?;
    }
    let refused = |reason| Problem::Topology(format!("{}: {reason}", keys.place)).at(&entry.origin);
    settings.check().map_err(refused)?;
    let node = |name: &str, key: &str, at: &super::document::Origin| {
        let index = nodes.iter().position(|node| node == name);
        index.ok_or_else(|| keys.no_such("node", name, key, at, nodes.to_vec()))
    };
    let ap_entry = keys.required("ap", "ap = \"ap\"")?;
    let ap = node(&keys.scalar(ap_entry, "the name of a node")?, "ap", &ap_entry.node.origin)?;
    let stations_entry = keys.required("stations", "stations = [\"sta\"]")?;
    let names = keys.texts(stations_entry, "a list of nodes, [\"sta\"]")?;
    let stations: Vec<usize> =
        names.iter().map(|(name, at)| node(name, "stations", &at.origin)).collect::<Result<_, _>>()?;
    let is_twice = |(index, station): (usize, &usize)| *station == ap || stations[..index].contains(station);
    if let Some((_, twice)) = stations.iter().enumerate().find(|(index, station)| is_twice((*index, station))) {
        return Err(refused(format!("'{}' is in the cell twice", nodes[*twice])));
    }
    if stations.is_empty() {
        return Err(refused("a cell has at least one station".into()));
    }
    let edca = edca(&keys, nodes, &stations, &settings)?;
    Ok(WlanSpec { name: entry.key.clone(), ap, stations, settings, edca })
}

/// How stations contend that do not as the others do.
fn edca(
    keys: &Keys<'_>,
    nodes: &[String],
    stations: &[usize],
    settings: &CellSettings,
) -> Result<Vec<(usize, Edca)>, ScenarioError> {
    let Some(table) = keys.table.get("edca") else { return Ok(Vec::new()) };
    let of = keys.below(table, "wlan")?;
    let names: Vec<&str> = stations.iter().map(|station| nodes[*station].as_str()).collect();
    of.only(&names)?;
    of.table.entries.iter().map(|entry| edca_of(&of, entry, nodes, settings)).collect()
}

fn edca_of(
    edca: &Keys<'_>,
    entry: &Entry,
    nodes: &[String],
    settings: &CellSettings,
) -> Result<(usize, Edca), ScenarioError> {
    let keys = edca.below(entry, "wlan")?;
    let mut edca = Edca::default();
    let fields = edca.fields();
    let valid: Vec<&str> = fields.iter().map(|field| field.name).collect();
    keys.only(&valid)?;
    for entry in &keys.table.entries {
        keys.set(&mut edca, entry, "a number", &valid)?;
    }
    settings
        .check_edca(&edca)
        .map_err(|reason| Problem::Topology(format!("{}: {reason}", keys.place)).at(&entry.origin))?;
    let node = nodes.iter().position(|node| *node == entry.key).expect("one of the stations");
    Ok((node, edca))
}
