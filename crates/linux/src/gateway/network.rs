//! A network as routes write it: `10.1.0.0/16`.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// Addresses that begin with the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Network {
    address: IpAddr,
    /// How many bits are the same.
    length: u8,
}

/// Why a text is no network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetworkError {
    /// Something else altogether.
    #[error("'{0}' is not a network; write an address and a length: 10.1.0.0/16 or fd01::/48")]
    Malformed(String),
    /// Bits behind the length are set.
    #[error("'{0}' has bits set behind its length; the network is {1}")]
    HostBits(String, Network),
}

/// The address as a number of so many bits.
fn bits(address: IpAddr) -> (u128, u8) {
    match address {
        IpAddr::V4(address) => (u128::from(u32::from(address)), 32),
        IpAddr::V6(address) => (u128::from(address), 128),
    }
}

impl Network {
    /// Its first address.
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// How many bits its addresses share.
    pub fn length(&self) -> u8 {
        self.length
    }

    /// True if some address is in both.
    pub fn overlaps(self, other: Network) -> bool {
        let ((ours, width), (theirs, other_width)) = (bits(self.address), bits(other.address));
        let free = width - self.length.min(other.length);
        width == other_width
            && ours.checked_shr(free.into()).unwrap_or(0) == theirs.checked_shr(free.into()).unwrap_or(0)
    }

    /// Without the bits behind the length.
    fn trimmed(self) -> Network {
        let (number, width) = bits(self.address);
        let free = u32::from(width - self.length);
        let kept = number.checked_shr(free).unwrap_or(0).checked_shl(free).unwrap_or(0);
        let address = match self.address {
            IpAddr::V4(_) => IpAddr::V4((kept as u32).into()),
            IpAddr::V6(_) => IpAddr::V6(kept.into()),
        };
        Network { address, ..self }
    }
}

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Network, NetworkError> {
        let malformed = || NetworkError::Malformed(text.to_owned());
        let (address, length) = text.split_once('/').ok_or_else(malformed)?;
        let address: IpAddr = address.parse().map_err(|_| malformed())?;
        let length = length.parse().ok().filter(|length| *length <= bits(address).1).ok_or_else(malformed)?;
        let network = Network { address, length };
        match network.trimmed() {
            trimmed if trimmed == network => Ok(network),
            trimmed => Err(NetworkError::HostBits(text.to_owned(), trimmed)),
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}

impl TryFrom<String> for Network {
    type Error = NetworkError;

    fn try_from(text: String) -> Result<Network, NetworkError> {
        text.parse()
    }
}

impl From<Network> for String {
    fn from(network: Network) -> String {
        network.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(text: &str) -> Network {
        text.parse().unwrap()
    }

    #[test]
    fn what_is_written_is_read_and_what_is_none_is_refused() {
        for text in ["10.1.0.0/16", "0.0.0.0/0", "10.1.2.3/32", "fd01::/48", "::/0", "fd01::1/128"] {
            assert_eq!(network(text).to_string(), text);
        }
        for text in ["10.1.0.0", "10.1.0.0/33", "10.1/16", "fd01::/129", "/8", "10.1.0.0/-1", ""] {
            assert_eq!(text.parse::<Network>(), Err(NetworkError::Malformed(text.into())));
        }
        let sentence = "10.1.2.3/16".parse::<Network>().unwrap_err().to_string();
        assert!(sentence.ends_with("the network is 10.1.0.0/16"), "{sentence}");
    }

    #[test]
    fn networks_overlap_if_one_is_in_the_other() {
        let overlap = |a, b| [network(a).overlaps(network(b)), network(b).overlaps(network(a))];
        for (a, b) in [("10.1.0.0/16", "10.1.7.0/24"), ("0.0.0.0/0", "10.1.7.0/24"), ("::/0", "fd01::/48")] {
            assert_eq!(overlap(a, b), [true; 2], "{a} {b}");
        }
        for (a, b) in [("10.1.0.0/16", "10.2.0.0/16"), ("10.1.2.0/25", "10.1.2.128/25"), ("0.0.0.0/0", "::/0")] {
            assert_eq!(overlap(a, b), [false; 2], "{a} {b}");
        }
    }
}
