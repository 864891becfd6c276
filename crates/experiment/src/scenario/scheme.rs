//! `[schemes.<name>]`: `kind`, the link or cell it is `on`, and the scheme's own parameters.

use super::document::Entry;
use super::error::{Problem, ScenarioError};
use super::keys::Keys;
use super::{LinkSpec, On, SchemeSpec, WlanSpec};
use crate::catalogue::{Catalogue, NO_SCHEME};
use airtcp_core::Rng;
use airtcp_core::parameters::ParameterError;
use airtcp_schemes::{End, LinkFacts, MAX_MEMORY, SchemeEntry, Site};

/// Reads every scheme; those of kind `none` are checked and left out.
pub(super) fn schemes(
    keys: &Keys<'_>,
    links: &[LinkSpec],
    wlans: &[WlanSpec],
    catalogue: &Catalogue<'_>,
) -> Result<Vec<SchemeSpec>, ScenarioError> {
    let mut placed: Vec<SchemeSpec> = Vec::new();
    for entry in &keys.table.entries {
        let Some(scheme) = scheme(entry, links, wlans, catalogue)? else { continue };
        if let Some(other) = placed.iter().find(|other| other.on == scheme.on) {
            let place = match scheme.on {
                On::Link(link) => format!("link '{}'", links[link].name),
                On::Wlan(wlan) => format!("cell '{}'", wlans[wlan].name),
            };
            let sentence = format!("schemes '{}' and '{}' are both on {place}; one fits", other.name, scheme.name);
            return Err(Problem::Topology(sentence).at(&entry.origin));
        }
        placed.push(scheme);
    }
    Ok(placed)
}

fn scheme(
    entry: &Entry,
    links: &[LinkSpec],
    wlans: &[WlanSpec],
    catalogue: &Catalogue<'_>,
) -> Result<Option<SchemeSpec>, ScenarioError> {
    let mut keys = Keys::of(entry, &format!("schemes.{}", entry.key), "schemes")?;
    let kind_entry = keys.required("kind", "kind = \"gsnoop\"")?;
    let kind = keys.scalar(kind_entry, "text")?;
    if kind == NO_SCHEME {
        // What stands beside `kind = "none"` belongs to the kinds it is compared with.
        let known = catalogue.scheme_keys();
        let known: Vec<&str> = ["kind", "on"].into_iter().chain(known.iter().copied()).collect();
        keys.only(&known)?;
        return Ok(None);
    }
    let Some(found) = catalogue.scheme(&kind) else {
        return Err(keys.no_such("scheme", &kind, "kind", &kind_entry.node.origin, catalogue.scheme_names()));
    };
    keys.show = found.slug.to_owned();
    let fields = (found.fields)();
    let valid: Vec<&str> = ["kind", "on"].into_iter().chain(fields.iter().map(|field| field.name)).collect();
    keys.only(&valid)?;
    let on_entry = keys.required("on", "on = \"air\"")?;
    let name = keys.scalar(on_entry, "the name of a link")?;
    let link = links.iter().position(|link| link.name == name).map(On::Link);
    let on = link.or_else(|| wlans.iter().position(|wlan| wlan.name == name).map(On::Wlan)).ok_or_else(|| {
        let choices = links.iter().map(|link| &link.name).chain(wlans.iter().map(|wlan| &wlan.name)).cloned().collect();
        keys.no_such("link", &name, "on", &on_entry.node.origin, choices)
    })?;
    let parameters = scheme_parameters(&keys, found, &["kind", "on"], &valid)?;
    Ok(Some(SchemeSpec { name: entry.key.clone(), kind, on, parameters, entry: *found }))
}

/// The parameters of `scheme` in a table, all keys of it but `others`, checked together: what one may be can depend on
/// another. `valid` are all keys that the table may have.
///
/// # Errors
/// The first that the scheme refuses, at its line.
pub fn scheme_parameters(
    keys: &Keys<'_>,
    scheme: &SchemeEntry,
    others: &[&str],
    valid: &[&str],
) -> Result<Vec<(String, String)>, ScenarioError> {
    let entries: Vec<&Entry> =
        keys.table.entries.iter().filter(|entry| !others.contains(&entry.key.as_str())).collect();
    let value = |entry: &&Entry| Ok((entry.key.clone(), keys.scalar(entry, "a single value")?));
    let parameters = entries.iter().map(value).collect::<Result<Vec<_>, ScenarioError>>()?;
    let mut rng = Rng::derive(0, "check");
    let mut site = Site { end: End::Near, link: LinkFacts::default(), rng: &mut rng, max_memory: MAX_MEMORY };
    let Err(error) = (scheme.make)(&parameters, &mut site) else { return Ok(parameters) };
    let refused = match &error {
        ParameterError::Unknown { key, .. } => key.as_str(),
        ParameterError::BadValue { key, .. } => key,
    };
    match (entries.iter().find(|entry| entry.key == refused), entries.last()) {
        (Some(entry), _) => Err(keys.parameter(entry, error, valid)),
        // A default that does not go with what the table says.
        (None, Some(last)) => Err(keys.bad(last, error.to_string())),
        (None, None) => Ok(parameters),
    }
}
