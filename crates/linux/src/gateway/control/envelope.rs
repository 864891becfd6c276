//! What surrounds a control message on the wire.
//!
//! ```text
//!  0        4       5       6        8          12         20         28
//!  | "ATCP" | vers. | flags | 0 (2)  | scheme   | epoch    | sequence | message … | MAC (16) |
//! ```
//!
//! Big endian. Flag bit 0 says that a MAC follows: the first 16 bytes of HMAC-SHA256
//! (RFC 2104, truncated as in RFC 4868) over everything before it.

use super::Ignored;
use super::key::{Key, MAC_LEN};
use sha2::{Digest, Sha256};

const MAGIC: [u8; 4] = *b"ATCP";
const VERSION: u8 = 1;
const FLAG_MAC: u8 = 1;
const HEADER_LEN: usize = 28;

/// Longest message, so that a datagram fits every link with an MTU of 1280 bytes.
pub const MESSAGE_MAX: usize = 1280 - 40 - 8 - HEADER_LEN - MAC_LEN;

/// The fields around a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// Which scheme's message it is, as [`scheme_id`].
    pub scheme: u32,
    /// Which life of the sending process.
    pub epoch: u64,
    /// Counts the messages of one life from 1.
    pub sequence: u64,
}

/// A scheme's number on the wire: the first four bytes of the SHA-256 of its slug.
pub fn scheme_id(slug: &str) -> u32 {
    let digest = Sha256::digest(slug.as_bytes());
    u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]])
}

impl Envelope {
    /// Appends the datagram.
    pub fn write(&self, message: &[u8], key: Option<&Key>, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&MAGIC);
        let flags = if key.is_some() { FLAG_MAC } else { 0 };
        out.extend_from_slice(&[VERSION, flags, 0, 0]);
        out.extend_from_slice(&self.scheme.to_be_bytes());
        out.extend_from_slice(&self.epoch.to_be_bytes());
        out.extend_from_slice(&self.sequence.to_be_bytes());
        out.extend_from_slice(message);
        if let Some(key) = key {
            let mac = key.mac(&out[start..]);
            out.extend_from_slice(&mac);
        }
    }

    /// Takes a datagram apart; with a key, only one that the key's owner made.
    ///
    /// # Errors
    /// Why it is ignored.
    pub fn read<'a>(datagram: &'a [u8], key: Option<&Key>) -> Result<(Envelope, &'a [u8]), Ignored> {
        let header: &[u8; HEADER_LEN] = datagram.first_chunk().ok_or(Ignored::Malformed)?;
        if header[..4] != MAGIC {
            return Err(Ignored::Malformed);
        }
        if header[4] != VERSION {
            return Err(Ignored::Version);
        }
        if header[5] & !FLAG_MAC != 0 || header[6..8] != [0, 0] {
            return Err(Ignored::Malformed);
        }
        let has_mac = header[5] & FLAG_MAC != 0;
        let body = if has_mac {
            let (body, mac) = datagram.split_last_chunk::<MAC_LEN>().ok_or(Ignored::Malformed)?;
            if body.len() < HEADER_LEN {
                return Err(Ignored::Malformed);
            }
            // Without a key here the MAC cannot be checked; it is as good as none.
            if key.is_some_and(|key| !key.verifies(body, mac)) {
                return Err(Ignored::BadMac);
            }
            body
        } else if key.is_some() {
            return Err(Ignored::Unauthenticated);
        } else {
            datagram
        };
        let long = |at: usize| {
            let bytes = header[at..at + 8].try_into().expect("eight bytes of a longer array");
            u64::from_be_bytes(bytes)
        };
        let scheme = u32::from_be_bytes(header[8..12].try_into().expect("four bytes"));
        let envelope = Envelope { scheme, epoch: long(12), sequence: long(20) };
        Ok((envelope, &body[HEADER_LEN..]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENVELOPE: Envelope = Envelope { scheme: 7, epoch: 1 << 40, sequence: u64::MAX };

    #[test]
    fn what_was_written_is_read() {
        let mut datagram = Vec::new();
        ENVELOPE.write(b"hello", None, &mut datagram);
        assert_eq!(Envelope::read(&datagram, None), Ok((ENVELOPE, &b"hello"[..])));
    }

    #[test]
    fn every_truncation_of_the_header_is_malformed() {
        let mut datagram = Vec::new();
        ENVELOPE.write(b"", None, &mut datagram);
        for length in 0..datagram.len() {
            assert_eq!(Envelope::read(&datagram[..length], None), Err(Ignored::Malformed));
        }
    }

    #[test]
    fn a_mac_that_would_overlap_the_header_is_malformed() {
        let key = Key::from_bytes(b"sixteen bytes ok").unwrap();
        let mut datagram = Vec::new();
        ENVELOPE.write(b"", Some(&key), &mut datagram);
        let short = &datagram[..datagram.len() - 1];
        assert_eq!(Envelope::read(short, Some(&key)), Err(Ignored::Malformed));
    }

    #[test]
    fn the_longest_message_fits_the_smallest_ipv6_mtu() {
        let key = Key::from_bytes(b"sixteen bytes ok").unwrap();
        let mut datagram = Vec::new();
        ENVELOPE.write(&[0; MESSAGE_MAX], Some(&key), &mut datagram);
        assert_eq!(40 + 8 + datagram.len(), 1280);
    }
}
