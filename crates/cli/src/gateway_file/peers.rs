//! The tables `[[peer]]` of a gateway file: the gateways behind a hub.

use super::facts;
use crate::settings_file::address_and_port;
use airtcp_experiment::scenario::{Entry, Keys, Place, ScenarioError, Value};
use airtcp_linux::gateway::Network;
use airtcp_linux::gateway::peers::{CONTROL_PORT, PeerConfig, PeerError};
use airtcp_schemes::{LinkFacts, Placement, SchemeEntry};

/// Keys of a table `[[peer]]`: key, example, meaning.
pub const PEER_KEYS: &[(&str, &str, &str)] = &[
    ("name", "\"east\"", "name of the peer in log, status and metrics; required"),
    (
        "peer",
        "\"10.9.0.2\"",
        "its address, and port if that is not 4791; if left out, it is known by its key, wherever it is and moves to",
    ),
    (
        "key",
        "\"/etc/airtcp/east.key\"",
        "file with the secret that it shares with this gateway alone; required, or else `insecure`",
    ),
    ("previous_key", "\"/etc/airtcp/old.key\"", "file with a secret that is accepted as well, while you change `key`"),
    ("hops", "1", "hops to it: 1 if no router is in between; messages from further away are ignored"),
    (
        "networks",
        "[\"10.1.0.0/16\"]",
        "what is behind it: packets from and to there are its; known by the next hop's hardware address if left out",
    ),
    ("rate", "\"20Mbit\"", "rate of the link to it; that of the file if left out, as the next three"),
    ("round_trip", "\"10ms\"", "round-trip time over the link to it"),
    ("queue", "\"75kB\"", "limit of the egress queue of the link to it"),
    ("mtu", "1500", "longest IP packet that the link to it carries"),
];

/// The tables `[[peer]]` of a file, where the link is what is known of it.
///
/// # Errors
/// What cannot be read in them, or a scheme that has no peers.
pub(super) fn read(file: &Keys<'_>, scheme: &SchemeEntry, link: LinkFacts) -> Result<Vec<PeerConfig>, ScenarioError> {
    if scheme.placement == Placement::NearEnd {
        let reason = format!("'{}' works alone at its end of a link: leave out the peers", scheme.slug);
        return Err(file.refuse("peer", reason));
    }
    tables(file).iter().map(|keys| peer(keys, link)).collect()
}

/// One table after the other; none where `peer` is an address or not there.
fn tables<'a>(file: &Keys<'a>) -> Vec<Keys<'a>> {
    let Some(Value::List(items)) = file.table.get("peer").map(|entry| &entry.node.value) else { return Vec::new() };
    let tables = items.iter().filter_map(|item| match &item.value {
        Value::Table(table) => {
            let name = table.get("name").and_then(|name| name.node.scalar());
            let place = Place::Item { list: "peer".into(), name };
            Some(Keys { table, place, origin: &item.origin, show: file.show.clone() })
        }
        _ => None,
    });
    tables.collect()
}

/// True if the file has tables `[[peer]]`, or what should be some.
pub(super) fn are_in(entry: &Entry) -> bool {
    matches!(&entry.node.value, Value::List(items) if items.iter().any(|item| matches!(item.value, Value::Table(_))))
}

fn peer(keys: &Keys<'_>, link: LinkFacts) -> Result<PeerConfig, ScenarioError> {
    let valid: Vec<&str> = PEER_KEYS.iter().map(|(key, ..)| *key).collect();
    keys.only(&valid)?;
    let name = keys.required("name", "name = \"east\"")?;
    let address = keys.table.get("peer").map(|entry| address_and_port(keys, entry, CONTROL_PORT));
    Ok(PeerConfig {
        name: keys.scalar(name, "the name of a peer")?,
        address: address.transpose()?,
        key: keys.value::<String>("key")?.map(Into::into),
        previous_key: keys.value::<String>("previous_key")?.map(Into::into),
        hops: keys.value("hops")?.unwrap_or(1),
        facts: airtcp_linux::gateway::Facts::near(facts(keys, link)?),
        networks: networks(keys)?,
    })
}

pub(super) fn networks(keys: &Keys<'_>) -> Result<Vec<Network>, ScenarioError> {
    let Some(entry) = keys.table.get("networks") else { return Ok(Vec::new()) };
    let read = |(text, _): (String, _)| text.parse::<Network>().map_err(|error| keys.bad(entry, error.to_string()));
    keys.texts(entry, "a list of networks")?.into_iter().map(read).collect()
}

/// Refuses key files of peers that cannot be used.
pub(super) fn secrets(file: &Keys<'_>, peers: &[PeerConfig]) -> Result<(), ScenarioError> {
    let of = |(keys, peer): (Keys<'_>, &PeerConfig)| {
        super::secrets(&keys, peer.key.as_deref(), peer.previous_key.as_deref())
    };
    tables(file).into_iter().zip(peers).try_for_each(of)
}

/// What is wrong with the peers, at its line.
pub(super) fn refuse(file: &Keys<'_>, peer: Option<usize>, error: &PeerError) -> ScenarioError {
    let reason = error.to_string();
    let key = match error {
        PeerError::Name(_) | PeerError::SameName(_) => "name",
        PeerError::SameAddress(..) | PeerError::Unknown(_) | PeerError::Families(_) | PeerError::TooMany => "peer",
        PeerError::NoKey(_) | PeerError::SameKey(..) => "key",
        PeerError::Overlap(..) => "networks",
        PeerError::Hops(_) => "hops",
        PeerError::Memory(_) => "max_memory",
        PeerError::NothingToShare => "shared_rate",
        PeerError::ForOne(key) => key,
    };
    match peer.and_then(|index| tables(file).into_iter().nth(index)) {
        Some(table) => table.refuse(key, reason),
        None => file.refuse(key, reason),
    }
}
