//! What the sessions with peers are told: read from a configuration and the key files that it names.

use super::config::Config;
use super::control::{Introduction, KeyError, Secret, Setup};
use super::peers::PeerError;

/// Why there are no sessions.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// A key cannot be used.
    #[error("{0}; {remedy}", remedy = .0.remedy())]
    Key(#[from] KeyError),
    /// Two peers have the same.
    #[error(transparent)]
    Peer(#[from] PeerError),
}

/// One setup for each peer; none where there is nobody to speak to.
///
/// # Errors
/// A key cannot be used, or two peers have the same.
pub fn setups(config: &Config, introduction: &Introduction) -> Result<Vec<Setup>, SetupError> {
    if config.peer.is_none() && config.peers.is_empty() {
        return Ok(Vec::new());
    }
    let mut setups: Vec<Setup> = Vec::new();
    for peer in config.each_peer() {
        let secrets = peer.secrets().map(Secret::read).collect::<Result<Vec<_>, _>>()?;
        let same = |setup: &Setup| setup.secrets.iter().any(|its| secrets.iter().any(|secret| secret.is_same(its)));
        if let Some(other) = setups.iter().position(same) {
            let [one, other] = [setups.len(), other].map(|index| config.peers[index].name.clone());
            return Err(PeerError::SameKey(other, one).into());
        }
        let (hops, link) = (peer.hops, peer.facts.link());
        let (rate, mtu) = (link.rate, link.mtu);
        setups.push(Setup { peer: peer.peer, secrets, introduction: introduction.clone(), hops, rate, mtu });
    }
    Ok(setups)
}
