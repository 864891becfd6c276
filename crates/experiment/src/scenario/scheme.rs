//! `[schemes.<name>]`: `kind`, the link or cell it is `on` or the nodes it leads `from` and `to`, and the scheme's own
//! parameters. A scheme with both ends of a link may have either.

use super::document::Entry;
use super::error::{Problem, ScenarioError};
use super::keys::Keys;
use super::topology::{Network, Step};
use super::{On, SchemeSpec};
use crate::catalogue::{Catalogue, NO_SCHEME};
use airtcp_core::Rng;
use airtcp_schemes::{End, LinkFacts, MAX_MEMORY, PathEnds, Placement, SchemeChoice, SchemeEntry, Site};
use std::net::{IpAddr, Ipv4Addr};

/// Keys that say where a scheme is.
const PLACE: &[&str] = &["kind", "on", "from", "to"];

/// Reads every scheme; those of kind `none` are checked and left out.
pub(super) fn schemes(
    file: &Keys<'_>,
    network: &Network<'_>,
    catalogue: &Catalogue<'_>,
) -> Result<Vec<SchemeSpec>, ScenarioError> {
    let mut placed: Vec<SchemeSpec> = Vec::new();
    file.each("schemes", "schemes", |keys| {
        let Some(scheme) = scheme(keys, network, catalogue)? else { return Ok(()) };
        if let Some(other) = placed.iter().find(|other| is_shared(network, other, &scheme)) {
            let place = match scheme.on {
                On::Link(link) => format!("on link '{}'", network.links[link].name),
                On::Wlan(wlan) => format!("on cell '{}'", network.wlans[wlan].name),
                On::Path(from, _) => format!("at node '{}' before the same link", network.nodes[from]),
            };
            let sentence = format!("schemes '{}' and '{}' are both {place}; one fits", other.name, scheme.name);
            return Err(Problem::Topology(sentence).at(keys.origin));
        }
        placed.push(scheme);
        Ok(())
    })?;
    Ok(placed)
}

/// True if both want to meet packets at one place.
fn is_shared(network: &Network<'_>, one: &SchemeSpec, other: &SchemeSpec) -> bool {
    let gates = gates(network, other);
    one.on == other.on || gates.iter().any(|gate| self::gates(network, one).contains(gate))
}

/// The links, with the node they are left from, before which a scheme has a box.
fn gates(network: &Network<'_>, scheme: &SchemeSpec) -> Vec<(usize, usize)> {
    match scheme.on {
        On::Wlan(_) => Vec::new(),
        On::Link(link) => {
            let ends = if scheme.choice.entry.placement == Placement::BothEnds { 2 } else { 1 };
            network.links[link].between[..ends].iter().map(|node| (link, *node)).collect()
        }
        On::Path(from, to) => {
            let ends: &[[usize; 2]] = match scheme.choice.entry.placement {
                Placement::BothEnds => &[[from, to], [to, from]],
                Placement::NearEnd | Placement::Path => &[[from, to]],
            };
            let first = |[node, other]: &[usize; 2]| {
                let steps = network.paths.between(*node, *other).unwrap_or_default();
                steps.first().copied().and_then(Step::link).map(|hop| (hop.link, *node))
            };
            ends.iter().filter_map(first).collect()
        }
    }
}

fn scheme(
    keys: &Keys<'_>,
    network: &Network<'_>,
    catalogue: &Catalogue<'_>,
) -> Result<Option<SchemeSpec>, ScenarioError> {
    let kind_entry = keys.required("kind", "kind = \"gsnoop\"")?;
    let kind = keys.scalar(kind_entry, "text")?;
    if kind == NO_SCHEME {
        // What stands beside `kind = "none"` belongs to the kinds it is compared with.
        if keys.only(PLACE).is_err() {
            let known = catalogue.scheme_keys();
            let known: Vec<&str> = PLACE.iter().copied().chain(known.iter().copied()).collect();
            keys.only(&known)?;
        }
        return Ok(None);
    }
    let Some(found) = catalogue.scheme(&kind) else {
        return Err(keys.no_such("scheme", &kind, "kind", &kind_entry.node.origin, catalogue.scheme_names()));
    };
    let keys = &Keys { show: found.slug.to_owned(), place: keys.place.clone(), ..*keys };
    let fields = found.fields();
    let has = |key: &str| keys.table.get(key).is_some();
    let is_along = match found.placement {
        Placement::Path => true,
        Placement::NearEnd => false,
        Placement::BothEnds => !has("on") && (has("from") || has("to")),
    };
    let place: &[&str] = if is_along { &["kind", "from", "to"] } else { &["kind", "on"] };
    let valid: Vec<&str> = place.iter().copied().chain(fields.iter().map(|field| field.name)).collect();
    if let Some(other) = keys.table.entries.iter().find(|entry| is_of_the_other_kind(entry, place)) {
        let sentence = match found.placement {
            Placement::Path => format!("'{kind}' leads from a node to another one; write from and to"),
            Placement::NearEnd => format!("'{kind}' is on a link or a cell; write on"),
            Placement::BothEnds => format!(
                "'{kind}' is on a link or a cell, or leads from a node to another one; write on, or from and to"
            ),
        };
        return Err(keys.bad(other, sentence));
    }
    keys.only(&valid)?;
    let on = if is_along { along(keys, network)? } else { on(keys, network)? };
    let choice = scheme_settings(keys, found, place, &valid, PathEnds::Nodes)?;
    Ok(Some(SchemeSpec { name: keys.name().to_owned(), kind, on, choice }))
}

fn is_of_the_other_kind(entry: &Entry, place: &[&str]) -> bool {
    let key = entry.key.as_str();
    PLACE.contains(&key) && !place.contains(&key)
}

fn on(keys: &Keys<'_>, network: &Network<'_>) -> Result<On, ScenarioError> {
    keys.required("on", "on = \"air\"")?;
    let Network { links, wlans, .. } = network;
    let names: Vec<&String> = links.iter().map(|link| &link.name).chain(wlans.iter().map(|wlan| &wlan.name)).collect();
    let place = keys.one_of("on", "link", &names)?.unwrap_or_default();
    Ok(place.checked_sub(links.len()).map_or(On::Link(place), On::Wlan))
}

fn along(keys: &Keys<'_>, network: &Network<'_>) -> Result<On, ScenarioError> {
    let [from, to] = keys.ends(["a", "b"], "node", network.nodes)?;
    if from == to {
        return Err(keys.refuse("to", "a path ends at another node than it begins at"));
    }
    if !network.connects(from, to) {
        let [from, to] = [from, to].map(|node| &network.nodes[node]);
        return Err(keys.refuse("to", format!("no links lead from '{from}' to '{to}'")));
    }
    Ok(On::Path(from, to))
}

/// `scheme` with the settings in a table, all keys of it but `others`, checked together: what one may be can depend on
/// another. `valid` are all keys that the table may have, `of_path` is what a path of this file leads between.
///
/// # Errors
/// The first that the scheme refuses, at its line.
pub fn scheme_settings(
    keys: &Keys<'_>,
    scheme: &SchemeEntry,
    others: &[&str],
    valid: &[&str],
    of_path: fn([IpAddr; 2]) -> PathEnds,
) -> Result<SchemeChoice, ScenarioError> {
    let entries: Vec<&Entry> =
        keys.table.entries.iter().filter(|entry| !others.contains(&entry.key.as_str())).collect();
    let mut settings = (scheme.settings)();
    for entry in &entries {
        keys.set(&mut *settings, entry, "a single value", valid)?;
    }
    let mut rng = Rng::derive(0, "check");
    let mut link = LinkFacts::default();
    if scheme.placement == Placement::Path {
        link.ends = Some(of_path([1, 2].map(|last| IpAddr::V4(Ipv4Addr::new(192, 0, 2, last)))));
    }
    let mut site = Site { end: End::Near, link, rng: &mut rng, max_memory: MAX_MEMORY, forecast: None };
    if let (Err(error), Some(last)) = (settings.make(&mut site), entries.last()) {
        return Err(match entries.iter().find(|entry| entry.key == error.key()) {
            Some(entry) => keys.parameter(entry, error, valid),
            // A default that does not go with what the table says.
            None => keys.bad(last, error.to_string()),
        });
    }
    Ok(SchemeChoice { entry: *scheme, settings: settings.into() })
}
