//! What the programs are told when they are loaded.

use crate::gateway::peers::PEERS_MAX;

/// The devices of one peer, by index.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pair {
    pub out: u32,
    pub r#in: u32,
}

/// `struct settings` of the program.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    pub link: u32,
    pub has_mac: bool,
    pub control_port: u16,
    /// Some peers are told by networks.
    pub by_network: bool,
    /// There are [`airtcp_core::OwnSegments`].
    pub own_segments: bool,
    /// What the machine itself sends is taken, too.
    pub takes_own: bool,
    /// One pair for each peer.
    pub devices: Vec<Pair>,
}

impl Settings {
    pub fn bytes(&self) -> Vec<u8> {
        let peers = self.devices.len() as u32;
        let (has_mac, control_port) = (u32::from(self.has_mac), u32::from(self.control_port));
        let flags = [self.by_network, self.own_segments, self.takes_own].map(u32::from);
        let words = [self.link, has_mac, control_port, peers].into_iter().chain(flags);
        let unused = std::iter::repeat_n(Pair::default(), PEERS_MAX - self.devices.len());
        let devices = self.devices.iter().copied().chain(unused).flat_map(|pair| [pair.out, pair.r#in]);
        words.chain(devices).flat_map(u32::to_ne_bytes).collect()
    }
}
