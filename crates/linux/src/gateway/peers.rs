//! The gateways behind a hub: what its configuration says of each, beside what holds for all.

use super::control::Secret;
use super::facts::Facts;
use super::network::Network;
use airtcp_core::ByteSize;
use airtcp_schemes::LEAST_MEMORY;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::PathBuf;

/// Most peers of one gateway.
pub const PEERS_MAX: usize = 64;
/// Longest name of a peer: it is a label of every metric.
pub const PEER_NAME_MAX: usize = 32;
/// UDP port of control messages where nothing else is said.
pub const CONTROL_PORT: u16 = 4791;

/// One of many peers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PeerConfig {
    /// How the log, the status and the metrics call it.
    pub name: String,
    /// Its address and port; one without is known by its key, wherever it is.
    pub address: Option<SocketAddr>,
    /// File with the secret that it shares with this gateway, and with nobody else.
    pub key: Option<PathBuf>,
    /// A secret that is accepted besides, as for a single peer.
    pub previous_key: Option<PathBuf>,
    /// Hops to it: 1 if no router is in between.
    pub hops: u8,
    /// What is known about the link to it.
    pub facts: Facts,
    /// What is behind it. If there is nothing here, its packets are known by the hardware address of the next hop to it.
    pub networks: Vec<Network>,
}

/// Why the peers of a configuration make no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PeerError {
    /// Too many.
    #[error("a gateway has {PEERS_MAX} peers at most: give the others to another gateway, on a link of its own")]
    TooMany,
    /// The name cannot be a label.
    #[error("'{0}' cannot name a peer: use 1 to {PEER_NAME_MAX} letters, digits, '-' or '_'")]
    Name(String),
    /// Two of one name.
    #[error("two peers are called '{0}': give each a name of its own")]
    SameName(String),
    /// Two at one address.
    #[error("the peers '{0}' and '{1}' have the same address: correct one, or leave out one of the two")]
    SameAddress(String, String),
    /// No key, and none is wanted only where all say so.
    #[error(
        "the peer '{0}' has no key, so anybody could pretend to be it: set its `key`; {make}",
        make = Secret::HOW_TO_MAKE
    )]
    NoKey(String),
    /// A peer of any address without a key.
    #[error(
        "the peer '{0}' has no address, so it is known by its key, and it has none: set its `key`; {make}",
        make = Secret::HOW_TO_MAKE
    )]
    Unknown(String),
    /// Two with one key.
    #[error("the peers '{0}' and '{1}' have the same key, so each could pretend to be the other: make one for each")]
    SameKey(String, String),
    /// One network behind two peers.
    #[error("the network {0} of the peer '{1}' overlaps {2} of '{3}': packets go to one of them only")]
    Overlap(Network, String, Network, String),
    /// The address is of another family than that of this end.
    #[error("the peer '{0}' and `listen` are of different address families: make them equal, or listen on [::]")]
    Families(String),
    /// Keys of the single form beside the peers.
    #[error("`{0}` holds for one peer: with several, set it in each [[peer]]")]
    ForOne(&'static str),
    /// A rate that peers share, and no peers.
    #[error("`shared_rate` is divided among several peers: with one, set `rate`")]
    NothingToShare,
    /// Nothing is closer than one hop.
    #[error("the peer '{0}' is 0 hops away: write 1 if no router is between, one more for each that is")]
    Hops(String),
    /// Divided, the memory is too little.
    #[error("`max_memory` is divided among {0} peers, and each needs {LEAST_MEMORY}: raise it")]
    Memory(usize),
}

/// What is wrong with the peers, and at which it was found; `None` is about all of them.
pub type At = (Option<usize>, PeerError);

/// What holds for all peers, as far as it matters here.
#[derive(Clone, Copy, Debug)]
pub struct Common {
    /// Peers may be without a key.
    pub insecure: bool,
    /// Where messages are received.
    pub listen: Option<SocketAddr>,
    /// Divided among the peers.
    pub max_memory_bytes: u64,
}

/// Refuses what can be refused without looking at the machine.
///
/// # Errors
/// A sentence that says what to change.
pub fn validate(peers: &[PeerConfig], common: Common) -> Result<(), At> {
    if peers.len() > PEERS_MAX {
        return Err((None, PeerError::TooMany));
    }
    if ByteSize(common.max_memory_bytes / peers.len().max(1) as u64) < LEAST_MEMORY {
        return Err((None, PeerError::Memory(peers.len())));
    }
    for (index, peer) in peers.iter().enumerate() {
        alone(common, peer).map_err(|error| (Some(index), error))?;
        for other in &peers[..index] {
            together(other, peer).map_err(|error| (Some(index), error))?;
        }
    }
    Ok(())
}

/// What can be wrong with one peer.
fn alone(common: Common, peer: &PeerConfig) -> Result<(), PeerError> {
    let name = || peer.name.clone();
    let is_name = (1..=PEER_NAME_MAX).contains(&peer.name.len())
        && peer.name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
    if !is_name {
        return Err(PeerError::Name(name()));
    }
    if peer.hops == 0 {
        return Err(PeerError::Hops(name()));
    }
    match (&peer.key, peer.address) {
        (None, None) => return Err(PeerError::Unknown(name())),
        (None, _) if !common.insecure => return Err(PeerError::NoKey(name())),
        _ => {}
    }
    let listen = common.listen.filter(SocketAddr::is_ipv4);
    if listen.is_some() && peer.address.is_some_and(|address| !address.ip().to_canonical().is_ipv4()) {
        return Err(PeerError::Families(name()));
    }
    Ok(())
}

/// What can be wrong with two.
fn together(one: &PeerConfig, other: &PeerConfig) -> Result<(), PeerError> {
    let names = || (one.name.clone(), other.name.clone());
    if one.name == other.name {
        return Err(PeerError::SameName(one.name.clone()));
    }
    if one.address.is_some() && one.address == other.address {
        let (one, other) = names();
        return Err(PeerError::SameAddress(one, other));
    }
    let keys = |peer: &PeerConfig| [peer.key.clone(), peer.previous_key.clone()];
    if keys(one).iter().flatten().any(|key| keys(other).iter().flatten().any(|its| its == key)) {
        let (one, other) = names();
        return Err(PeerError::SameKey(one, other));
    }
    for network in &other.networks {
        if let Some(its) = one.networks.iter().find(|its| its.overlaps(*network)) {
            return Err(PeerError::Overlap(*network, other.name.clone(), *its, one.name.clone()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
