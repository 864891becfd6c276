//! What a gateway is told: one struct, filled by the caller (the command line reads it from
//! TOML), handed from the supervisor to the worker as JSON.

use super::control::Secret;
use super::divert::Method;
use super::facts::Facts;
use super::network::Network;
use super::peers::{self, CONTROL_PORT, Common, PeerConfig, PeerError};
use crate::sys::tun::NAME_MAX;
use airtcp_core::Value;
use airtcp_schemes::MAX_MEMORY;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

/// Longest name of a gateway: its devices are called `NAME-out` and `NAME-in`.
pub const GATEWAY_NAME_MAX: usize = NAME_MAX - "-out".len();
/// Longest name of a gateway with several peers: its devices are called `NAME-0-out` and so on.
pub const HUB_NAME_MAX: usize = GATEWAY_NAME_MAX - "-63".len();

/// Where status sockets live unless told otherwise.
pub const RUN_DIRECTORY: &str = "/run/airtcp";

/// Priority under SCHED_FIFO unless told otherwise: below the live link emulator's.
pub const REALTIME_PRIORITY: u8 = 40;

/// Which ways a scheme along a path works, seen from one gateway.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Both.
    #[default]
    Both,
    /// It begins here: packets that leave here enter it.
    Out,
    /// It ends here.
    In,
}

/// Which side of a Wi-Fi link this is, for a scheme whose two sides send each other no messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The access point, or the router next to it: takes what it forwards.
    AccessPoint,
    /// A host that has joined the access point: takes its own packets, and sends the frames itself.
    Station,
}

/// Everything a gateway process needs to know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Names the devices, the nft table and the status socket; unique on the machine.
    pub name: String,
    /// Which scheme, by its slug.
    pub scheme: String,
    /// The scheme's parameters as the user wrote them, defaults left out.
    #[serde(with = "super::values")]
    pub settings: BTreeMap<String, Value>,
    /// The lossy interface.
    pub link: String,
    /// What is known about it.
    pub facts: Facts,
    /// Address of the other gateway, for control messages in both directions.
    pub peer: Option<SocketAddr>,
    /// Where control messages are received; [`Config::default_listen`] unless told otherwise.
    pub listen: Option<SocketAddr>,
    /// File with the secret both ends share: control messages must carry a valid MAC. Required with a peer, unless the
    /// gateway is `insecure`.
    pub key: Option<PathBuf>,
    /// File with the secret that was used before, accepted as well while the two ends change to another.
    pub previous_key: Option<PathBuf>,
    /// Control messages carry no MAC: for links on which nobody else can send.
    pub insecure: bool,
    /// Hops to the peer: 1 if no router is in between.
    pub hops: u8,
    /// What is behind the peer: only packets from and to there are the gateway's. If there is nothing here, those of the
    /// next hop to it are, or of the whole link.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub networks: Vec<Network>,
    /// Which ways a scheme along a path works; others have no choice.
    #[serde(default)]
    pub direction: Direction,
    /// Which side of a Wi-Fi link this is; schemes of other links have no choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// Several peers in place of the one above. What is above of `peer`, keys and `hops` is then said of each, and
    /// `insecure` is for those without a key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub peers: Vec<PeerConfig>,
    /// Rate of the link in IP bits per second, where one queue leads to all peers: they share it fairly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_rate_bps: Option<u64>,
    /// Bound of all tables of the scheme, in bytes.
    pub max_memory_bytes: u64,
    /// Priority under SCHED_FIFO; `None` runs as a normal task (a tail of 3 to 5 ms).
    pub realtime: Option<u8>,
    /// Where metrics are told over HTTP; nowhere if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metrics: Option<SocketAddr>,
    /// Directory of the status socket and the pid file.
    pub run_directory: PathBuf,
    /// Seed of the scheme's random stream; `None` draws one.
    pub seed: Option<u64>,
    /// How packets are taken, for tests; `None` takes the best that the kernel has.
    pub method: Option<Method>,
}

/// Why a configuration makes no sense.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The name cannot be part of a device name.
    #[error("'{0}' cannot name a gateway: use 1 to {1} letters, digits, '-' or '_'")]
    Name(String, usize),
    /// The link cannot be the name of a device.
    #[error("'{0}' cannot be a network interface: use a name that `ip link` shows")]
    Link(String),
    /// Peer and listen address are of different families.
    #[error("peer {peer} and listen {listen} are of different address families: make them equal")]
    Families {
        /// The peer's address.
        peer: SocketAddr,
        /// The own address.
        listen: SocketAddr,
    },
    /// Neither a key nor the statement that none is wanted.
    #[error(
        "a gateway with a peer needs a key, so that nobody else can pretend to be the peer: set `key`; {make}. On a link \
         where nobody else can send, set `insecure = true` instead",
        make = Secret::HOW_TO_MAKE
    )]
    NoKey,
    /// A key and the statement that none is wanted.
    #[error("`insecure = true` says that there is no key, but there is one: leave out one of the two")]
    KeyAndInsecure,
    /// An old key without a new one.
    #[error("`previous_key` is accepted besides `key`: set `key`, too")]
    PreviousKeyOnly,
    /// Nothing is closer than one hop.
    #[error("0 hops lead nowhere: write 1 if no router is between the gateways, one more for each that is")]
    Hops,
    /// Not a priority.
    #[error("{0} is no real-time priority: use 1 to 99, or leave it out")]
    Priority(u8),
    /// Several peers, or networks, where packets are not told apart.
    #[error("policy routes do not tell packets apart: leave out `method`, or `networks`, and have one peer")]
    RoutedPeers,
    /// The peers make no sense; which of them, if it is one.
    #[error("{1}")]
    Peer(Option<usize>, PeerError),
}

impl Config {
    /// A gateway on `link` with every other field at its default.
    pub fn new(scheme: &str, link: &str) -> Config {
        Config {
            name: Config::default_name(link),
            scheme: scheme.to_owned(),
            settings: BTreeMap::new(),
            link: link.to_owned(),
            facts: Facts::default(),
            peer: None,
            listen: None,
            key: None,
            previous_key: None,
            insecure: false,
            hops: 1,
            networks: Vec::new(),
            direction: Direction::Both,
            role: None,
            peers: Vec::new(),
            shared_rate_bps: None,
            max_memory_bytes: MAX_MEMORY.0,
            realtime: Some(REALTIME_PRIORITY),
            metrics: None,
            run_directory: RUN_DIRECTORY.into(),
            seed: None,
            method: None,
        }
    }

    /// The gateway's name unless told otherwise: the link's, as far as it fits.
    pub fn default_name(link: &str) -> String {
        link.chars().filter(|c| is_name_char(*c)).take(GATEWAY_NAME_MAX).collect()
    }

    /// Address that control messages are received at: the configured one, else the peer's port on every address.
    pub fn listen_address(&self) -> Option<SocketAddr> {
        self.listen.or_else(|| self.peer.map(Config::default_listen)).or_else(|| self.hub_listen())
    }

    /// With several peers: one port for all.
    fn hub_listen(&self) -> Option<SocketAddr> {
        let some_ipv6 = self.peers.iter().any(|peer| peer.address.is_some_and(|address| address.is_ipv6()));
        let any = if some_ipv6 { IpAddr::V6(Ipv6Addr::UNSPECIFIED) } else { IpAddr::V4(Ipv4Addr::UNSPECIFIED) };
        (!self.peers.is_empty()).then_some(SocketAddr::new(any, CONTROL_PORT))
    }

    /// Longest name that leaves room for the names of the devices.
    pub fn name_max(&self) -> usize {
        if self.peers.is_empty() { GATEWAY_NAME_MAX } else { HUB_NAME_MAX }
    }

    /// The peer's port on every address of the peer's family.
    pub fn default_listen(peer: SocketAddr) -> SocketAddr {
        let any = match peer.ip() {
            IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        };
        SocketAddr::new(any, peer.port())
    }

    /// Refuses what can be refused without looking at the machine.
    ///
    /// # Errors
    /// A sentence that names the wrong value and what is allowed.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let name_ok = (1..=self.name_max()).contains(&self.name.len())
            && self.name.chars().all(is_name_char)
            && !self.name.starts_with('-');
        if !name_ok {
            return Err(ConfigError::Name(self.name.clone(), self.name_max()));
        }
        // The name goes into nft's language between quotes.
        let link_ok = (1..=NAME_MAX).contains(&self.link.len())
            && self.link.chars().all(|c| is_name_char(c) || matches!(c, '.' | '@' | ':' | '+'));
        if !link_ok {
            return Err(ConfigError::Link(self.link.clone()));
        }
        if let (Some(peer), Some(listen)) = (self.peer, self.listen)
            && peer.is_ipv4() != listen.is_ipv4()
        {
            return Err(ConfigError::Families { peer, listen });
        }
        match (&self.key, &self.previous_key) {
            (Some(_), _) if self.insecure => return Err(ConfigError::KeyAndInsecure),
            (None, Some(_)) => return Err(ConfigError::PreviousKeyOnly),
            (None, None) if self.peer.is_some() && !self.insecure => return Err(ConfigError::NoKey),
            _ => {}
        }
        if self.hops == 0 {
            return Err(ConfigError::Hops);
        }
        if self.method == Some(Method::Routed) && !self.takes_whole_link() {
            return Err(ConfigError::RoutedPeers);
        }
        self.validate_peers()?;
        match self.realtime {
            Some(priority) if !(1..=99).contains(&priority) => Err(ConfigError::Priority(priority)),
            _ => Ok(()),
        }
    }

    /// False if packets of several peers, or of networks, are to be told from others: policy routes cannot.
    pub(super) fn takes_whole_link(&self) -> bool {
        self.peers.is_empty() && self.networks.is_empty()
    }

    fn validate_peers(&self) -> Result<(), ConfigError> {
        if self.peers.is_empty() {
            let refused = ConfigError::Peer(None, PeerError::NothingToShare);
            return if self.shared_rate_bps.is_some() { Err(refused) } else { Ok(()) };
        }
        let of_one = [
            ("peer", self.peer.is_some()),
            ("key", self.key.is_some()),
            ("previous_key", self.previous_key.is_some()),
            ("hops", self.hops != 1),
            ("networks", !self.networks.is_empty()),
        ];
        if let Some((key, _)) = of_one.iter().find(|(_, is_set)| *is_set) {
            return Err(ConfigError::Peer(None, PeerError::ForOne(key)));
        }
        let (insecure, listen, max_memory_bytes) = (self.insecure, self.listen_address(), self.max_memory_bytes);
        peers::validate(&self.peers, Common { insecure, listen, max_memory_bytes })
            .map_err(|(peer, error)| ConfigError::Peer(peer, error))
    }

    /// The configuration of each peer as that of a gateway which has only this one. Names are those of the devices; the
    /// memory is divided.
    pub fn each_peer(&self) -> Vec<Config> {
        if self.peers.is_empty() {
            return vec![self.clone()];
        }
        let of = |(index, peer): (usize, &PeerConfig)| Config {
            name: format!("{}-{index}", self.name),
            peer: peer.address,
            listen: self.listen_address(),
            key: peer.key.clone(),
            previous_key: peer.previous_key.clone(),
            insecure: peer.key.is_none(),
            hops: peer.hops,
            facts: peer.facts,
            max_memory_bytes: self.max_memory_bytes / self.peers.len() as u64,
            peers: Vec::new(),
            shared_rate_bps: None,
            ..self.clone()
        };
        self.peers.iter().enumerate().map(of).collect()
    }

    /// Names of the peers; one that is the only one has none.
    pub fn peer_names(&self) -> Vec<Option<&str>> {
        if self.peers.is_empty() {
            return vec![None];
        }
        self.peers.iter().map(|peer| Some(peer.name.as_str())).collect()
    }

    /// The files with secrets, the current one first.
    pub fn secrets(&self) -> impl Iterator<Item = &Path> {
        [&self.key, &self.previous_key].into_iter().flatten().map(PathBuf::as_path)
    }

    /// The status socket.
    pub fn socket_path(&self) -> PathBuf {
        socket_path(&self.run_directory, &self.name)
    }

    /// The file with the supervisor's process id.
    pub fn pid_path(&self) -> PathBuf {
        self.run_directory.join(self.pid_name())
    }

    /// Its name there.
    pub(super) fn pid_name(&self) -> String {
        format!("{}.pid", self.name)
    }
}

/// The status socket of the gateway `name`.
pub fn socket_path(run_directory: &Path, name: &str) -> PathBuf {
    run_directory.join(socket_name(name))
}

/// Its file.
pub(super) fn socket_name(name: &str) -> String {
    format!("{name}.sock")
}

fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_configuration_is_valid() {
        assert_eq!(Config::new("gsnoop", "wlan0").validate(), Ok(()));
    }

    #[test]
    fn a_long_or_odd_link_name_still_gives_a_valid_gateway_name() {
        assert_eq!(Config::new("gsnoop", "wlp0s20f3.1234@").validate(), Ok(()));
    }

    #[test]
    fn a_link_name_that_could_end_a_quoted_string_is_refused() {
        let config = Config { link: "a\"b".into(), ..Config::new("gsnoop", "wlan0") };
        assert_eq!(config.validate(), Err(ConfigError::Link("a\"b".into())));
    }

    #[test]
    fn names_are_refused_just_above_the_longest_that_fits_a_device() {
        let config = |length| Config { name: "n".repeat(length), ..Config::new("gsnoop", "air") };
        assert_eq!(config(GATEWAY_NAME_MAX).validate(), Ok(()));
        assert!(config(GATEWAY_NAME_MAX + 1).validate().is_err());
    }

    #[test]
    fn a_gateway_with_a_peer_needs_a_key_or_says_that_it_wants_none() {
        let peer = Some("10.9.0.2:4791".parse().unwrap());
        let config = Config { peer, ..Config::new("gsnoop", "air") };
        assert_eq!(config.validate(), Err(ConfigError::NoKey));
        let sentence = ConfigError::NoKey.to_string();
        assert!(sentence.contains("airtcp key") && sentence.contains("insecure = true"), "{sentence}");
        let insecure = Config { insecure: true, ..config.clone() };
        assert_eq!(insecure.validate(), Ok(()));
        let keyed = Config { key: Some("link.key".into()), ..config.clone() };
        assert_eq!(keyed.validate(), Ok(()));
        assert_eq!(Config { insecure: true, ..keyed }.validate(), Err(ConfigError::KeyAndInsecure));
        let previous = Config { previous_key: Some("old.key".into()), ..insecure };
        assert_eq!(previous.validate(), Err(ConfigError::PreviousKeyOnly));
    }

    #[test]
    fn no_hops_are_refused() {
        assert_eq!(Config { hops: 0, ..Config::new("gsnoop", "air") }.validate(), Err(ConfigError::Hops));
    }

    #[test]
    fn control_messages_are_received_on_the_peers_port_by_default() {
        let mut config = Config::new("gsnoop", "air");
        config.peer = Some("10.9.0.2:4791".parse().unwrap());
        assert_eq!(config.listen_address(), Some("0.0.0.0:4791".parse().unwrap()));
    }
}
