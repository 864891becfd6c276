//! The keys of one gateway: those of the current secret, and during a rotation also those of the previous one.

use super::key::{Key, Secret};
use std::net::SocketAddr;

/// Which secret a message was made with: 0 is the current one.
pub type KeyNumber = usize;

struct Pair {
    send: Key,
    receive: Key,
}

/// Keys for both directions, by secret. Without any secret nothing is authenticated.
pub struct Keyring {
    secrets: Vec<Secret>,
    /// Empty until both addresses are known.
    pairs: Vec<Pair>,
    /// This end's and the peer's, once both are known.
    ends: Option<(SocketAddr, SocketAddr)>,
}

impl Keyring {
    /// For secrets of which the current one comes first.
    pub fn new(secrets: Vec<Secret>) -> Keyring {
        Keyring { secrets, pairs: Vec::new(), ends: None }
    }

    /// The addresses that this gateway and its peer send from.
    pub fn set_ends(&mut self, local: SocketAddr, peer: SocketAddr) {
        self.ends = Some((local, peer));
        let pair = |secret: &Secret| Pair { send: secret.key(local, peer), receive: secret.key(peer, local) };
        self.pairs = self.secrets.iter().map(pair).collect();
    }

    /// Takes other secrets. Which number each of the former ones has now, by its former number; `None` for one that is gone.
    pub fn renew(&mut self, secrets: Vec<Secret>) -> Vec<Option<KeyNumber>> {
        let former = std::mem::replace(&mut self.secrets, secrets);
        match self.ends {
            Some((local, peer)) => self.set_ends(local, peer),
            None => self.pairs.clear(),
        }
        former.iter().map(|secret| self.secrets.iter().position(|now| now.is_same(secret))).collect()
    }

    /// The keys of the same secrets for other addresses.
    pub fn between(&self, local: SocketAddr, peer: SocketAddr) -> Keyring {
        let mut keys = Keyring::new(self.secrets.clone());
        keys.set_ends(local, peer);
        keys
    }

    /// The keys of a test of the path, by secret.
    pub fn of_test(&self, test: u64) -> impl Iterator<Item = Key> {
        self.secrets.iter().map(move |secret| secret.test_key(test))
    }

    /// True if messages carry a MAC.
    pub fn is_secured(&self) -> bool {
        !self.secrets.is_empty()
    }

    /// Messages can be made and read.
    pub fn is_ready(&self) -> bool {
        self.pairs.len() == self.secrets.len()
    }

    /// How many secrets there are.
    pub fn len(&self) -> usize {
        self.secrets.len()
    }

    /// The key for what is sent; `None` without secrets.
    pub fn send(&self, number: KeyNumber) -> Option<&Key> {
        self.pairs.get(number).map(|pair| &pair.send)
    }

    /// The keys for what is received.
    pub fn receive(&self) -> impl Iterator<Item = &Key> {
        self.pairs.iter().map(|pair| &pair.receive)
    }
}
