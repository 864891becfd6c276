//! Probes of the path between two gateways: what a path test sends from ports of its own, and a running gateway answers.
//!
//! ```text
//!  0        4      5       8       16       20      24     32          33      40         56
//!  | "ATPP" | kind | 0 (3) | test  | number | order | time | hop limit | 0 (7) | MAC (16) | zeros … |
//! ```
//!
//! Big endian; the kind is 0 in a probe and 1 in its answer. An answer ends with the MAC, so it is no longer than the probe. The
//! key is made from the secret of both gateways and the number of the test.

use super::key::Key;
use airtcp_core::control::MAC_LEN;

/// Bytes without zeros at the end.
const PROBE_LEN: usize = COVERED + MAC_LEN;
const MAGIC: [u8; 4] = *b"ATPP";
/// Bytes that the MAC is of.
const COVERED: usize = 40;

/// A probe, or the answer to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Probe {
    /// It is an answer.
    pub is_answer: bool,
    /// A random number, of all probes of one test.
    pub test: u64,
    /// Which probe.
    pub number: u32,
    /// In an answer: how many probes the other gateway had answered before.
    pub order: u32,
    /// In an answer: when the probe arrived, in nanoseconds of the other machine's clock.
    pub at_ns: u64,
    /// In an answer: the hop limit (TTL) that the probe arrived with.
    pub hop_limit: u8,
}

impl Probe {
    /// As it stands on the wire, with zeros up to `length`.
    pub fn encode(&self, key: Option<&Key>, length: usize) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend([u8::from(self.is_answer), 0, 0, 0]);
        bytes.extend(self.test.to_be_bytes());
        bytes.extend(self.number.to_be_bytes());
        bytes.extend(self.order.to_be_bytes());
        bytes.extend(self.at_ns.to_be_bytes());
        bytes.extend([self.hop_limit, 0, 0, 0, 0, 0, 0, 0]);
        let mac = key.map_or([0; MAC_LEN], |key| key.mac(&bytes));
        bytes.extend(mac);
        bytes.resize(length.max(PROBE_LEN), 0);
        bytes
    }

    /// Reads one, without a look at its MAC.
    pub fn decode(datagram: &[u8]) -> Option<Probe> {
        let bytes: &[u8; PROBE_LEN] = datagram.first_chunk()?;
        if bytes[..4] != MAGIC || bytes[4] > 1 {
            return None;
        }
        let number = |at: usize, length: usize| {
            bytes[at..at + length].iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
        };
        Some(Probe {
            is_answer: bytes[4] == 1,
            test: number(8, 8),
            number: number(16, 4) as u32,
            order: number(20, 4) as u32,
            at_ns: number(24, 8),
            hop_limit: bytes[32],
        })
    }

    /// True if what [`Probe::decode`] read is made with this key.
    pub fn is_authentic(datagram: &[u8], key: &Key) -> bool {
        let mac = datagram.get(COVERED..).and_then(<[u8]>::first_chunk);
        mac.is_some_and(|mac| key.verifies(&datagram[..COVERED], mac))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_encoded_is_decoded_and_only_with_the_key_authentic() {
        let probe = Probe { is_answer: true, test: 1 << 60, number: 7, order: 8, at_ns: 1 << 50, hop_limit: 252 };
        let [key, other] = [1, 2].map(|byte| Key::new(&[byte; 32]));
        let datagram = probe.encode(Some(&key), 100);
        assert_eq!((datagram.len(), Probe::decode(&datagram)), (100, Some(probe)));
        assert!(Probe::is_authentic(&datagram, &key) && !Probe::is_authentic(&datagram, &other));
        for at in 0..PROBE_LEN {
            let mut changed = datagram.clone();
            changed[at] ^= 1;
            assert!(!Probe::is_authentic(&changed, &key), "byte {at}");
        }
        assert_eq!(probe.encode(None, 0).len(), PROBE_LEN);
        assert!((0..PROBE_LEN).all(|length| Probe::decode(&datagram[..length]).is_none()));
    }
}
