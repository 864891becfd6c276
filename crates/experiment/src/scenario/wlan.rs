//! `[wlans.<name>]`: an 802.11 cell: its access point `ap`, its `stations`, and the keys of [`CellSettings`].

use super::WlanSpec;
use super::error::{Problem, ScenarioError};
use super::keys::Keys;
use super::section::{Key, names};
use super::traces::{self, TraceFiles};
use airtcp_sim::dot11::{CellSettings, Edca};

/// Keys of a cell besides its settings: key, example, meaning.
pub const KEYS: &[Key] = &[
    ("ap", "\"ap\"", "node that is the access point; required"),
    ("stations", "[\"sta\"]", "nodes or groups that are its stations; required"),
    ("edca", "{ sta = { cw_min = 63 } }", "`aifs`, `cw_min`, `cw_max`, `txop` of single stations or groups"),
];

/// Reads the cell in `keys`.
pub(super) fn wlan(keys: &Keys<'_>, nodes: &[String], files: &TraceFiles) -> Result<WlanSpec, ScenarioError> {
    let mut settings = CellSettings::default();
    keys.set_all(&mut settings, &names(KEYS), "a value")?;
    for trace in [settings.data_loss.trace_mut(), settings.control_loss.trace_mut()].into_iter().flatten() {
        traces::load(keys, trace, false, files)?;
    }
    let refused = |reason| Problem::Topology(format!("{}: {reason}", keys.place)).at(keys.origin);
    settings.check().map_err(refused)?;
    keys.required("ap", "ap = \"ap\"")?;
    let ap = keys.one_of("ap", "node", nodes)?.unwrap_or_default();
    let listed = keys.texts(keys.required("stations", "stations = [\"sta\"]")?, "a list of nodes, [\"sta\"]")?;
    let station =
        |(name, at): (String, &super::document::Node)| keys.index_of(&name, ("node", "stations"), &at.origin, nodes);
    let stations: Vec<usize> = listed.into_iter().map(station).collect::<Result<_, _>>()?;
    let is_twice = |(index, station): (usize, &usize)| *station == ap || stations[..index].contains(station);
    if let Some((_, twice)) = stations.iter().enumerate().find(|(index, station)| is_twice((*index, station))) {
        return Err(refused(format!("'{}' is in the cell twice", nodes[*twice])));
    }
    if stations.is_empty() {
        return Err(refused("a cell has at least one station".into()));
    }
    let of_station = |of: &Keys<'_>| edca(of, nodes, &settings);
    if let Some(table) = keys.table.get("edca") {
        let names: Vec<&str> = stations.iter().map(|station| nodes[*station].as_str()).collect();
        keys.below(table, "wlan")?.only(&names)?;
    }
    let edca = keys.each("edca", "wlan", of_station)?;
    Ok(WlanSpec { name: keys.name().to_owned(), ap, stations, settings, edca })
}

/// How a station contends that does not as the others do.
fn edca(keys: &Keys<'_>, nodes: &[String], settings: &CellSettings) -> Result<(usize, Edca), ScenarioError> {
    let mut edca = Edca::default();
    keys.set_all(&mut edca, &[], "a number")?;
    let refused = |reason| Problem::Topology(format!("{}: {reason}", keys.place)).at(keys.origin);
    settings.check_edca(&edca).map_err(refused)?;
    let node = nodes.iter().position(|node| node == keys.name()).expect("one of the stations");
    Ok((node, edca))
}
