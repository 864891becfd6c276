//! Where a connection is to lead, as one forwarder tells the other.

use bytes::{Buf, BufMut};
use std::fmt;
use std::net::{IpAddr, SocketAddr};

/// Longest name (RFC 1035 section 2.3.4).
pub const NAME_MAX: usize = 253;

/// A host, by address or by a name that the far end looks up.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Host {
    /// Its address.
    Address(IpAddr),
    /// Its name.
    Name(String),
}

/// What is to be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    /// The host.
    pub host: Host,
    /// Its port.
    pub port: u16,
    /// The application's own address, where it is to be kept.
    pub source: Option<SocketAddr>,
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Host::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
            Host::Address(address) => write!(f, "{address}"),
            Host::Name(name) => f.write_str(name),
        }
    }
}

impl Host {
    /// Reads an address, in brackets if it is of IPv6, or a name; `None` if it is neither.
    pub fn parse(text: &str) -> Option<Host> {
        let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
        if let Ok(address) = bare.parse() {
            return Some(Host::Address(address));
        }
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
        let is_name = (1..=NAME_MAX).contains(&text.len()) && text.chars().all(is_plain);
        is_name.then(|| Host::Name(text.to_ascii_lowercase()))
    }
}

impl Opening {
    /// As it stands on the wire.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        match &self.host {
            Host::Address(address) => put_address(*address, &mut out),
            Host::Name(name) => {
                out.put_u8(name.len() as u8);
                out.put_slice(name.as_bytes());
            }
        }
        out.put_u16(self.port);
        if let Some(source) = self.source {
            put_address(source.ip(), &mut out);
            out.put_u16(source.port());
        }
        out
    }

    /// Reads one; `None` if it is none.
    pub fn decode(mut bytes: &[u8]) -> Option<Opening> {
        let host = take_host(&mut bytes)?;
        let port = bytes.try_get_u16().ok()?;
        if bytes.is_empty() {
            return Some(Opening { host, port, source: None });
        }
        let Host::Address(address) = take_host(&mut bytes)? else { return None };
        let source = SocketAddr::new(address, bytes.try_get_u16().ok()?);
        bytes.is_empty().then_some(Opening { host, port, source: Some(source) })
    }
}

/// An address begins with 0 and its length: no name is empty.
fn put_address(address: IpAddr, out: &mut Vec<u8>) {
    out.put_u8(0);
    match address {
        IpAddr::V4(address) => {
            out.put_u8(4);
            out.put_slice(&address.octets());
        }
        IpAddr::V6(address) => {
            out.put_u8(16);
            out.put_slice(&address.octets());
        }
    }
}

fn take_host(bytes: &mut &[u8]) -> Option<Host> {
    let length = usize::from(bytes.try_get_u8().ok()?);
    if length > 0 {
        let (name, rest) = bytes.split_at_checked(length)?;
        *bytes = rest;
        return Host::parse(std::str::from_utf8(name).ok()?).filter(|host| matches!(host, Host::Name(_)));
    }
    let length = usize::from(bytes.try_get_u8().ok()?);
    let (octets, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    if let Ok(octets) = <[u8; 4]>::try_from(octets) {
        return Some(Host::Address(octets.into()));
    }
    <[u8; 16]>::try_from(octets).ok().map(|octets| Host::Address(octets.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_encoded_is_decoded_and_no_part_of_it_is() {
        let hosts = ["10.9.0.2", "[fd00::2]", "server.example"].map(|text| Host::parse(text).unwrap());
        for host in hosts {
            for source in [None, Some("10.0.0.1:5000".parse().unwrap()), Some("[fd00::1]:5000".parse().unwrap())] {
                let opening = Opening { host: host.clone(), port: 443, source };
                let bytes = opening.encode();
                assert_eq!(Opening::decode(&bytes), Some(opening));
                let whole = |length: usize| Opening::decode(&bytes[..length]).is_some_and(|read| read.source == source);
                assert!((0..bytes.len()).all(|length| !whole(length)), "{host}");
            }
        }
    }

    #[test]
    fn a_name_that_could_upset_a_resolver_or_a_terminal_is_refused() {
        for text in ["", "a b", "\u{1b}[2J", &"n".repeat(NAME_MAX + 1)] {
            assert_eq!(Host::parse(text), None);
        }
        assert_eq!(Host::parse("Server.Example"), Some(Host::Name("server.example".into())));
    }
}
