//! The peers on one link: whose packets are whose, kept up to date in the programs' tables.

use super::Wanted;
use super::next_hop::{KnownBy, NextHops, SHARED, Whose};
use super::program::Program;
use crate::gateway::network::Network;
use airtcp_core::{Duration, Instant};
use std::io;
use std::net::IpAddr;

/// Between two looks at the next hops.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// `struct network` of the program: how many bits count, the protocol, the address.
pub fn network_key(network: &Network) -> [u8; 24] {
    let mut key = [0; 24];
    let (protocol, octets): (u16, &[u8]) = match &network.address() {
        IpAddr::V4(address) => (0x0800, &address.octets()),
        IpAddr::V6(address) => (0x86dd, &address.octets()),
    };
    key[..4].copy_from_slice(&(32 + u32::from(network.length())).to_ne_bytes());
    key[4..8].copy_from_slice(&u32::from(protocol.to_be()).to_ne_bytes());
    key[8..8 + octets.len()].copy_from_slice(octets);
    key
}

struct Peer {
    known_by: KnownBy,
    /// Where it was at the last look.
    address: Option<IpAddr>,
    whose: Whose,
    advice: Option<&'static str>,
}

/// All peers of a gateway.
pub struct Peers {
    next_hops: NextHops,
    peers: Vec<Peer>,
    look_at: Instant,
}

impl Peers {
    /// On the link with this index; how each peer's packets are known.
    pub fn new(link: u32, known_by: impl IntoIterator<Item = KnownBy>) -> Peers {
        let peer = |known_by| Peer { known_by, address: None, whose: Whose::Nobodys, advice: None };
        Peers {
            next_hops: NextHops::new(link),
            peers: known_by.into_iter().map(peer).collect(),
            look_at: Instant::ZERO,
        }
    }

    /// Looks at the next hops of those whose time has come, or whose address is new, and tells the programs.
    ///
    /// # Errors
    /// The kernel's words.
    pub fn look(&mut self, now: Instant, addresses: &[Option<IpAddr>], program: &Program) -> io::Result<()> {
        let is_time = now >= self.look_at;
        if is_time {
            self.look_at = now + LOOK_EVERY;
        }
        for (index, address) in addresses.iter().enumerate() {
            let peer = &self.peers[index];
            if is_time || peer.whose == Whose::Nobodys || peer.address != *address {
                let (whose, advice) = self.next_hops.look(peer.known_by, *address, peer.whose);
                self.set(index, whose, advice, program)?;
                self.peers[index].address = *address;
            }
        }
        Ok(())
    }

    fn set(
        &mut self,
        index: usize,
        mut whose: Whose,
        mut advice: Option<&'static str>,
        program: &Program,
    ) -> io::Result<()> {
        let others = || self.peers.iter().enumerate().filter(|(other, _)| *other != index);
        if let Whose::NextHops(_) = whose
            && others().any(|(_, other)| other.whose == whose)
        {
            // It stays with the one that had it first.
            (whose, advice) = (Whose::Nobodys, Some(SHARED));
        }
        let peer = &mut self.peers[index];
        let before = std::mem::replace(&mut peer.whose, whose);
        peer.advice = advice;
        if before == whose {
            return Ok(());
        }
        if let Whose::NextHops(address) = whose {
            program.set_neighbour(address, index as u32)?;
        }
        match before {
            Whose::NextHops(address) => program.forget_neighbour(address),
            _ => Ok(()),
        }
    }

    /// False while nothing tells which packets are this peer's.
    pub fn knows_whose(&self, peer: usize) -> bool {
        self.peers[peer].whose != Whose::Nobodys
    }

    /// Why not, if there is something to do about it.
    pub fn advice(&self, peer: usize) -> Option<&'static str> {
        self.peers[peer].advice
    }

    /// `struct state` of the programs, in which packets are taken until a time; `address` is the link's own.
    pub fn state(&self, alive_until: Instant, wanted: &[Wanted], address: [u8; 6]) -> Vec<u8> {
        let known = self.peers.iter().zip(wanted).map(|(peer, wanted)| match peer.whose {
            Whose::Nobodys => Wanted::Nothing,
            _ => *wanted,
        });
        let known: Vec<Wanted> = known.collect();
        let whole_link = self.peers.iter().any(|peer| peer.whose == Whose::WholeLink);
        super::state_bytes(alive_until, &known, whole_link, address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_wanted_while_nobody_is_known() {
        let most_wanted = |known_by, whose| {
            let mut peers = Peers::new(1, [known_by]);
            peers.peers[0].whose = whose;
            let bytes = peers.state(Instant::ZERO, &[Wanted::All], [0; 6]);
            (bytes[8], bytes[12], bytes[16])
        };
        let alone = KnownBy::NextHop { alone: true };
        assert_eq!(most_wanted(alone, Whose::Nobodys), (0, 0, 0));
        assert_eq!(most_wanted(alone, Whose::NextHops([2; 6])), (2, 0, 2));
        assert_eq!(most_wanted(KnownBy::Link, Whose::WholeLink), (2, 1, 2));
    }

    #[test]
    fn an_ipv4_network_counts_its_bits_behind_the_protocol() {
        let key = network_key(&"10.1.0.0/16".parse().unwrap());
        assert_eq!(key[..4], 48u32.to_ne_bytes());
        assert_eq!(key[4..12], [8, 0, 0, 0, 10, 1, 0, 0]);
        assert_eq!(network_key(&"::/0".parse().unwrap())[..8], [32, 0, 0, 0, 0x86, 0xdd, 0, 0]);
    }
}
