//! Whole datagrams: the header that all worlds share ([`airtcp_core::control`]), the message, and with a key the MAC,
//! which is the first 16 bytes of HMAC-SHA256 (RFC 2104, truncated as in RFC 4868) over everything before it.

use super::Ignored;
use super::key::Key;
use airtcp_core::control::{HEADER_LEN, Header, HeaderError, MAC_LEN};
use sha2::{Digest, Sha256};

/// A scheme's number on the wire: the first four bytes of the SHA-256 of its slug.
pub fn scheme_id(slug: &str) -> u32 {
    let digest = Sha256::digest(slug.as_bytes());
    u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]])
}

/// Appends the datagram to `out`; whether the header announces a MAC follows from the key.
pub fn seal(header: &Header, message: &[u8], key: Option<&Key>, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend(Header { has_mac: key.is_some(), ..*header }.encode());
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
pub fn open<'a>(datagram: &'a [u8], key: Option<&Key>) -> Result<(Header, &'a [u8]), Ignored> {
    let header = Header::decode(datagram).map_err(|error| match error {
        HeaderError::Malformed => Ignored::Malformed,
        HeaderError::Version => Ignored::Version,
    })?;
    let message = &datagram[HEADER_LEN..];
    if !header.has_mac {
        return if key.is_some() { Err(Ignored::Unauthenticated) } else { Ok((header, message)) };
    }
    let (message, mac) = message.split_last_chunk::<MAC_LEN>().ok_or(Ignored::Malformed)?;
    // Without a key here the MAC cannot be checked; it is as good as none.
    match key {
        Some(key) if !key.verifies(&datagram[..HEADER_LEN + message.len()], mac) => Err(Ignored::BadMac),
        _ => Ok((header, message)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airtcp_core::control::{MESSAGE_MAX, UDP_HEADER_LEN, overhead};

    const HEADER: Header = Header { has_mac: false, scheme: 7, epoch: 1 << 40, sequence: u64::MAX };

    #[test]
    fn what_was_sealed_is_opened() {
        let mut datagram = Vec::new();
        seal(&HEADER, b"hello", None, &mut datagram);
        assert_eq!(open(&datagram, None), Ok((HEADER, &b"hello"[..])));
    }

    #[test]
    fn every_truncation_of_the_header_is_malformed() {
        let mut datagram = Vec::new();
        seal(&HEADER, b"", None, &mut datagram);
        for length in 0..datagram.len() {
            assert_eq!(open(&datagram[..length], None), Err(Ignored::Malformed));
        }
    }

    #[test]
    fn a_mac_that_would_overlap_the_header_is_malformed() {
        let key = Key::from_bytes(b"sixteen bytes ok").unwrap();
        let mut datagram = Vec::new();
        seal(&HEADER, b"", Some(&key), &mut datagram);
        let short = &datagram[..datagram.len() - 1];
        assert_eq!(open(short, Some(&key)), Err(Ignored::Malformed));
    }

    #[test]
    fn a_message_takes_the_overhead_that_the_worlds_state_with_and_without_a_key() {
        let key = Key::from_bytes(b"sixteen bytes ok").unwrap();
        for key in [None, Some(&key)] {
            let mut datagram = Vec::new();
            seal(&HEADER, &[0; MESSAGE_MAX], key, &mut datagram);
            let bytes = 40 + UDP_HEADER_LEN + datagram.len();
            assert_eq!(bytes, MESSAGE_MAX + overhead(true, key.is_some()) as usize);
        }
    }
}
