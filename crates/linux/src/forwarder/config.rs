//! What a forwarder is told.

use super::LineKey;
use super::opening::Host;
use super::stream;
use crate::gateway::config::{REALTIME_PRIORITY, RUN_DIRECTORY};
use crate::sys::datagram_socket::DatagramSocket;
use airtcp_core::{ByteSize, Duration};
use airtcp_schemes::papers::decoupling::CircuitSettings;
use airtcp_schemes::papers::decoupling::socket::ReliableSettings;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

/// UDP port unless told otherwise.
pub const PORT: u16 = 4792;
/// Shortest datagrams that make sense: IPv6 carries so much everywhere.
const MTU: std::ops::RangeInclusive<u32> = 576..=9000;
/// Connections that the numbers and a process have room for.
const CONNECTIONS_MAX: usize = 1 << 20;
/// Descriptors beside those of connections.
const OTHER_DESCRIPTORS: u64 = 128 + 2 * LineKey::STREAMS as u64;
/// Least buffer of a connection.
pub const LEAST_BUFFER: ByteSize = ByteSize(64 << 10);

/// Where connections are taken, and where they lead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forward {
    /// Where this end listens.
    pub listen: SocketAddr,
    /// Where the far end opens them; `None` where the application wanted to go (TPROXY).
    pub to: Option<(Host, u16)>,
    /// The far end uses the application's own address.
    pub keep_source: bool,
}

/// Where datagrams of an application are taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inlet {
    /// A UDP port. Its sender is not told that the circuit is slower.
    Udp(SocketAddr),
    /// The path of a Unix socket, whose sender waits.
    Unix(PathBuf),
}

impl FromStr for Inlet {
    type Err = String;

    fn from_str(text: &str) -> Result<Inlet, String> {
        if text.starts_with('/') {
            return Ok(Inlet::Unix(text.into()));
        }
        let hint = "write an address and a port, 127.0.0.1:5004, or the path of a Unix socket, /run/camera";
        text.parse().map(Inlet::Udp).map_err(|_| format!("datagrams cannot be taken at '{text}'; {hint}"))
    }
}

impl fmt::Display for Inlet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Inlet::Udp(address) => write!(f, "{address}"),
            Inlet::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}

impl Inlet {
    /// The socket there.
    ///
    /// # Errors
    /// What the system says.
    pub fn open(&self) -> io::Result<DatagramSocket> {
        match self {
            Inlet::Udp(address) => DatagramSocket::udp(*address),
            Inlet::Unix(path) => DatagramSocket::unix(path),
        }
    }
}

/// A stream of datagrams that this end takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    /// Where.
    pub listen: Inlet,
    /// Where the far end gives them out.
    pub to: (Host, u16),
}

/// What the peer may have opened here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allowed {
    hosts: Hosts,
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Hosts {
    All,
    Network(IpAddr, u8),
    Name(String),
}

impl FromStr for Allowed {
    type Err = String;

    fn from_str(text: &str) -> Result<Allowed, String> {
        let wrong = || {
            format!(
                "'{text}' says nothing that can be allowed; write 10.1.0.0/16:443, [fd00::]/8:*, server.example:80 or *:443"
            )
        };
        let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
        let port = if port == "*" { None } else { Some(port.parse().map_err(|_| wrong())?) };
        if host == "*" {
            return Ok(Allowed { hosts: Hosts::All, port });
        }
        let (address, bits) = host.split_once('/').map_or((host, None), |(address, bits)| (address, Some(bits)));
        let hosts = match Host::parse(address).ok_or_else(wrong)? {
            Host::Address(address) => {
                let all = if address.is_ipv4() { 32 } else { 128 };
                let bits = bits.map_or(Ok(all), str::parse).ok().filter(|bits| *bits <= all).ok_or_else(wrong)?;
                Hosts::Network(address, bits)
            }
            Host::Name(name) if bits.is_none() => Hosts::Name(name),
            Host::Name(_) => return Err(wrong()),
        };
        Ok(Allowed { hosts, port })
    }
}

impl Allowed {
    /// Whether `host` and `port` are among it.
    pub fn includes(&self, host: &Host, port: u16) -> bool {
        let is_host = match (&self.hosts, host) {
            (Hosts::All, _) => true,
            (Hosts::Network(network, bits), Host::Address(address)) => is_within(*address, *network, *bits),
            (Hosts::Name(allowed), Host::Name(name)) => allowed == name,
            _ => false,
        };
        is_host && self.port.is_none_or(|allowed| allowed == port)
    }
}

fn is_within(address: IpAddr, network: IpAddr, bits: u8) -> bool {
    let shifted = |address: IpAddr| match address {
        IpAddr::V4(address) => u32::from(address).checked_shr(32 - u32::from(bits)).map_or(0, u128::from),
        IpAddr::V6(address) => u128::from(address).checked_shr(128 - u32::from(bits)).unwrap_or(0),
    };
    address.is_ipv4() == network.is_ipv4() && shifted(address) == shifted(network)
}

/// Everything a forwarder needs to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Names the status socket.
    pub name: String,
    /// Where datagrams are received and sent from.
    pub listen: SocketAddr,
    /// The other forwarder.
    pub peer: SocketAddr,
    /// File with the secret that both share.
    pub key: PathBuf,
    /// Longest datagram, in IP bytes.
    pub mtu: u32,
    /// Connections of both ends together.
    pub connections: usize,
    /// Bytes in all buffers together; more only where 18 KiB for each connection are more than a third of it.
    pub memory: ByteSize,
    /// Most bytes of one connection in each direction.
    pub buffer: ByteSize,
    /// After so long without an answer of the peer, its connections are reset.
    pub silence: Duration,
    /// What this end takes.
    pub forwards: Vec<Forward>,
    /// What the peer may have opened here.
    pub allow: Vec<Allowed>,
    /// Streams that this end takes.
    pub streams: Vec<Stream>,
    /// Where the peer may have datagrams led to from here.
    pub allow_streams: Vec<Allowed>,
    /// The peer may name the address that a connection comes from.
    pub keep_source: bool,
    /// Priority under SCHED_FIFO; `None` runs as a normal task, whose acknowledgments wait behind other programs.
    pub realtime: Option<u8>,
    /// Where metrics are told over HTTP; nowhere if left out.
    pub metrics: Option<SocketAddr>,
    /// Directory of the status socket.
    pub run_directory: PathBuf,
    /// The decoupling socket.
    pub reliable: ReliableSettings,
    /// The circuit of a stream.
    pub streaming: CircuitSettings,
}

/// Why a configuration makes no sense: the key of the file, and a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// Where it is wrong.
    pub key: &'static str,
    /// What to do.
    pub sentence: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

impl Config {
    /// With every other field at its default.
    pub fn new(name: &str, peer: SocketAddr, key: PathBuf) -> Config {
        let any: IpAddr = if peer.is_ipv4() { [0; 4].into() } else { [0; 16].into() };
        Config {
            name: name.to_owned(),
            listen: SocketAddr::new(any, peer.port()),
            peer,
            key,
            mtu: 1500,
            connections: 16_384,
            memory: ByteSize(128 << 20),
            buffer: ByteSize(4 << 20),
            silence: Duration::from_secs(20),
            forwards: Vec::new(),
            allow: Vec::new(),
            streams: Vec::new(),
            allow_streams: Vec::new(),
            keep_source: false,
            realtime: Some(REALTIME_PRIORITY),
            metrics: None,
            run_directory: RUN_DIRECTORY.into(),
            reliable: super::settings::reliable(),
            streaming: CircuitSettings::default(),
        }
    }

    /// Refuses what can be refused without looking at the machine.
    ///
    /// # Errors
    /// The wrong key, and what is allowed.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let refuse = |key, sentence: String| Err(ConfigError { key, sentence });
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        if !(1..=32).contains(&self.name.len()) || !self.name.chars().all(is_plain) || self.name.starts_with('-') {
            let sentence = format!("'{}' cannot name a forwarder: use 1 to 32 letters, digits, '-' or '_'", self.name);
            return refuse("name", sentence);
        }
        if self.peer.is_ipv4() != self.listen.is_ipv4() {
            let sentence =
                format!("{} and {} are of different address families: make them equal", self.peer, self.listen);
            return refuse("listen", sentence);
        }
        if !MTU.contains(&self.mtu) {
            let sentence =
                format!("datagrams of {} bytes do not fit; write {} to {}", self.mtu, MTU.start(), MTU.end());
            return refuse("mtu", sentence);
        }
        if !(1..=CONNECTIONS_MAX).contains(&self.connections) {
            return refuse("connections", format!("write 1 to {CONNECTIONS_MAX}"));
        }
        if self.buffer < LEAST_BUFFER {
            return refuse("buffer", format!("{} is too small; write {LEAST_BUFFER} or more", self.buffer));
        }
        if self.memory < self.buffer {
            let sentence = format!("{} is less than the `buffer` of one connection, {}", self.memory, self.buffer);
            return refuse("memory", sentence);
        }
        if self.silence < Duration::from_secs(2) {
            return refuse("silence", format!("{} is no silence yet; write 2s or more", self.silence));
        }
        if self.realtime.is_some_and(|priority| !(1..=99).contains(&priority)) {
            return refuse("realtime", "use 1 to 99, or 0 for a normal task".into());
        }
        if self.streams.len() > LineKey::STREAMS as usize {
            let sentence = format!("{} streams; write {} or fewer", self.streams.len(), LineKey::STREAMS);
            return refuse("stream", sentence);
        }
        let takes_nothing = self.forwards.is_empty() && self.streams.is_empty();
        if takes_nothing && self.allow.is_empty() && self.allow_streams.is_empty() {
            let sentence = "nothing is taken here and nothing may be opened here; \
                            add a table [[forward]] or [[stream]], or `allow` or `allow_streams`";
            return refuse("allow", sentence.into());
        }
        Ok(())
    }

    /// Bytes of the longest datagram of an application that fits.
    pub fn longest_datagram(&self) -> usize {
        let around = if self.peer.is_ipv4() { 28 } else { 48 };
        (self.mtu as usize).saturating_sub(around + stream::AROUND)
    }

    /// Descriptors that it may need.
    pub fn descriptors(&self) -> u64 {
        self.connections as u64 + OTHER_DESCRIPTORS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(text: &str) -> Host {
        Host::parse(text).unwrap()
    }

    #[test]
    fn what_may_be_opened_is_a_network_or_a_name_and_a_port() {
        let includes = |rule: &str, to: &str, port| rule.parse::<Allowed>().unwrap().includes(&host(to), port);
        assert!(includes("10.1.0.0/16:443", "10.1.200.7", 443) && !includes("10.1.0.0/16:443", "10.2.0.1", 443));
        assert!(!includes("10.1.0.0/16:443", "10.1.0.1", 80) && includes("10.1.0.0/16:*", "10.1.0.1", 80));
        assert!(includes("0.0.0.0/0:*", "9.9.9.9", 1) && !includes("0.0.0.0/0:*", "[fd00::1]", 1));
        assert!(includes("[fd00::]/8:22", "[fd12::9]", 22) && !includes("[fd00::]/8:22", "[fe80::1]", 22));
        assert!(
            includes("server.example:80", "Server.Example", 80) && !includes("server.example:80", "other.example", 80)
        );
        assert!(includes("10.0.0.1:80", "10.0.0.1", 80) && !includes("10.0.0.1:80", "10.0.0.2", 80));
        assert!(includes("*:80", "anything", 80) && !includes("*:80", "anything", 81));
    }

    #[test]
    fn what_allows_nothing_is_refused() {
        for text in ["", "10.0.0.1", "10.0.0.0/33:80", "name/8:80", "a b:80", "host:http", "host:70000"] {
            assert!(text.parse::<Allowed>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_defaults_are_valid_once_something_is_forwarded() {
        let config = Config::new("edge", "10.9.0.2:4792".parse().unwrap(), "link.key".into());
        assert_eq!(config.validate().unwrap_err().key, "allow");
        let config = Config { allow: vec!["*:*".parse().unwrap()], ..config };
        assert_eq!(config.validate(), Ok(()));
        let wrong = [
            Config { mtu: 100, ..config.clone() },
            Config { connections: 0, ..config.clone() },
            Config { buffer: ByteSize(1), ..config.clone() },
            Config { memory: ByteSize(1 << 20), ..config.clone() },
            Config { silence: Duration::from_millis(1), ..config.clone() },
            Config { listen: "[::]:1".parse().unwrap(), ..config.clone() },
            Config { name: "a b".into(), ..config },
        ];
        let keys = wrong.map(|config| config.validate().unwrap_err().key);
        assert_eq!(keys, ["mtu", "connections", "buffer", "memory", "silence", "listen", "name"]);
    }
}
