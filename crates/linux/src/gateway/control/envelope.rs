//! Whole datagrams: the header that all worlds share ([`airtcp_core::control`]), the message, and with a key the MAC,
//! which is the first 16 bytes of HMAC-SHA256 (RFC 2104, truncated as in RFC 4868) over everything before it.

use super::ignored::Ignored;
use super::key::Key;
use super::keyring::{KeyNumber, Keyring};
use airtcp_core::control::{HEADER_LEN, Header, HeaderError, MAC_LEN};
use sha2::{Digest, Sha256};

/// A scheme's number on the wire: the first four bytes of the SHA-256 of its slug.
pub fn scheme_id(slug: &str) -> u32 {
    let digest = Sha256::digest(slug.as_bytes());
    u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]])
}

/// Bytes around a message: before it, and behind it with a key or without.
pub const fn margins(is_secured: bool) -> [usize; 2] {
    [HEADER_LEN, if is_secured { MAC_LEN } else { 0 }]
}

/// Writes what is around a message to the [`margins`] of `datagram`; whether the header announces a MAC follows from the key.
pub fn seal(header: &Header, key: Option<&Key>, datagram: &mut [u8]) {
    datagram[..HEADER_LEN].copy_from_slice(&Header { has_mac: key.is_some(), ..*header }.encode());
    if let Some((key, (covered, mac))) = key.zip(datagram.split_last_chunk_mut::<MAC_LEN>()) {
        *mac = key.mac(covered);
    }
}

/// Writes a message to `out`, with margins around it to be sealed.
pub fn wrap(message: &[u8], is_secured: bool, out: &mut Vec<u8>) {
    let [before, behind] = margins(is_secured);
    out.clear();
    out.resize(before, 0);
    out.extend_from_slice(message);
    out.resize(out.len() + behind, 0);
}

/// Takes a datagram apart: header, message, and the secret that it was made with. With keys, only one that an owner of
/// the secret made.
///
/// # Errors
/// Why it is ignored.
pub fn open<'a>(datagram: &'a [u8], keys: &Keyring) -> Result<(Header, &'a [u8], KeyNumber), Ignored> {
    let header = Header::decode(datagram).map_err(|error| match error {
        HeaderError::Malformed => Ignored::Malformed,
        HeaderError::Version => Ignored::Version,
    })?;
    let message = &datagram[HEADER_LEN..];
    match (header.has_mac, keys.is_secured()) {
        (false, false) => return Ok((header, message, 0)),
        (false, true) => return Err(Ignored::Unauthenticated),
        (true, false) => return Err(Ignored::Keyed),
        (true, true) => {}
    }
    let (message, mac) = message.split_last_chunk::<MAC_LEN>().ok_or(Ignored::Malformed)?;
    let covered = &datagram[..HEADER_LEN + message.len()];
    let number = keys.receive().position(|key| key.verifies(covered, mac)).ok_or(Ignored::BadMac)?;
    Ok((header, message, number))
}

#[cfg(test)]
mod tests {
    use super::super::key::Secret;
    use super::*;
    use airtcp_core::control::{MESSAGE_MAX, UDP_HEADER_LEN, overhead};
    use std::net::SocketAddr;

    const HEADER: Header =
        Header { has_mac: false, is_handshake: false, scheme: 7, epoch: 1 << 40, sequence: u64::MAX };

    fn sealed(header: &Header, message: &[u8], key: Option<&Key>, out: &mut Vec<u8>) {
        wrap(message, key.is_some(), out);
        seal(header, key, out);
    }

    fn ends() -> [SocketAddr; 2] {
        ["10.0.0.1:1", "10.0.0.2:1"].map(|end| end.parse().unwrap())
    }

    fn keyring(secrets: &[&[u8]], from: usize) -> Keyring {
        let secrets = secrets.iter().map(|secret| Secret::from_bytes(secret).unwrap()).collect();
        let mut keys = Keyring::new(secrets);
        keys.set_ends(ends()[from], ends()[1 - from]);
        keys
    }

    #[test]
    fn what_was_sealed_is_opened_with_and_without_keys() {
        let mut datagram = Vec::new();
        for secrets in [&[][..], &[&b"sixteen bytes ok"[..]], &[b"another secret, ", b"sixteen bytes ok"]] {
            let sender = keyring(&secrets[secrets.len().saturating_sub(1)..], 0);
            sealed(&HEADER, b"hello", sender.send(0), &mut datagram);
            let header = Header { has_mac: !secrets.is_empty(), ..HEADER };
            let number = secrets.len().saturating_sub(1);
            assert_eq!(open(&datagram, &keyring(secrets, 1)), Ok((header, &b"hello"[..], number)));
        }
    }

    #[test]
    fn every_truncation_of_the_header_is_malformed() {
        let mut datagram = Vec::new();
        sealed(&HEADER, b"", None, &mut datagram);
        for length in 0..datagram.len() {
            assert_eq!(open(&datagram[..length], &keyring(&[], 1)), Err(Ignored::Malformed));
        }
    }

    #[test]
    fn a_mac_that_would_overlap_the_header_is_malformed() {
        let secrets: [&[u8]; 1] = [b"sixteen bytes ok"];
        let mut datagram = Vec::new();
        sealed(&HEADER, b"", keyring(&secrets, 0).send(0), &mut datagram);
        let short = &datagram[..datagram.len() - 1];
        assert_eq!(open(short, &keyring(&secrets, 1)), Err(Ignored::Malformed));
    }

    #[test]
    fn a_message_takes_the_overhead_that_the_worlds_state_with_and_without_a_key() {
        let mut datagram = Vec::new();
        for secrets in [&[][..], &[&b"sixteen bytes ok"[..]]] {
            let keys = keyring(secrets, 0);
            sealed(&HEADER, &[0; MESSAGE_MAX], keys.send(0), &mut datagram);
            let bytes = 40 + UDP_HEADER_LEN + datagram.len();
            assert_eq!(bytes, MESSAGE_MAX + overhead(true, keys.is_secured()) as usize);
        }
    }
}
