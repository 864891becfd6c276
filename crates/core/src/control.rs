//! Control messages between two boxes of ours, as every world puts them on the wire: UDP, and in the datagram
//!
//! ```text
//!  0        4       5       6        8        12       20         28
//!  | "ATCP" | vers. | flags | 0 (2)  | scheme | epoch  | sequence | message … | MAC (16) |
//! ```
//!
//! Big endian. Flag bit 0 says that a MAC follows the message; only a live gateway with a key has one. Bit 1 says that the
//! message is a handshake of live gateways and not for the scheme.

/// Bytes before the message.
pub const HEADER_LEN: usize = 28;
/// Bytes of the MAC behind the message, where there is one.
pub const MAC_LEN: usize = 16;
/// Bytes of a UDP header.
pub const UDP_HEADER_LEN: usize = 8;
/// Longest message, so that a datagram with a MAC fits every link with an MTU of 1280 bytes.
pub const MESSAGE_MAX: usize = 1280 - overhead(true, true) as usize;

const MAGIC: [u8; 4] = *b"ATCP";
const VERSION: u8 = 2;
const FLAG_MAC: u8 = 1;
const FLAG_HANDSHAKE: u8 = 2;

/// IP bytes that a message takes besides its own: IP and UDP header, the [`Header`], and the MAC.
pub const fn overhead(is_ipv6: bool, has_mac: bool) -> u32 {
    let ip_header = if is_ipv6 { 40 } else { 20 };
    let mac = if has_mac { MAC_LEN } else { 0 };
    (ip_header + UDP_HEADER_LEN + HEADER_LEN + mac) as u32
}

/// What stands before a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// A MAC follows the message.
    pub has_mac: bool,
    /// The message is a handshake.
    pub is_handshake: bool,
    /// Whose message it is. Live, a hash of the scheme's slug; in the simulator, the number of the element it is for.
    pub scheme: u32,
    /// Which life of the sending process, a random number; 0 in the simulator.
    pub epoch: u64,
    /// Counts the messages of one life from 1; 0 in the simulator.
    pub sequence: u64,
}

/// Why a datagram does not begin with a [`Header`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderError {
    /// It is too short, or something else altogether.
    Malformed,
    /// It is of a version that we do not speak.
    Version,
}

impl Header {
    /// As it stands on the wire.
    pub fn encode(&self) -> [u8; HEADER_LEN] {
        let mut bytes = [0; HEADER_LEN];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4] = VERSION;
        bytes[5] = (u8::from(self.has_mac) * FLAG_MAC) | (u8::from(self.is_handshake) * FLAG_HANDSHAKE);
        bytes[8..12].copy_from_slice(&self.scheme.to_be_bytes());
        bytes[12..20].copy_from_slice(&self.epoch.to_be_bytes());
        bytes[20..].copy_from_slice(&self.sequence.to_be_bytes());
        bytes
    }

    /// Reads the front of a datagram.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn decode(datagram: &[u8]) -> Result<Header, HeaderError> {
        let bytes: &[u8; HEADER_LEN] = datagram.first_chunk().ok_or(HeaderError::Malformed)?;
        if bytes[..4] != MAGIC {
            return Err(HeaderError::Malformed);
        }
        if bytes[4] != VERSION {
            return Err(HeaderError::Version);
        }
        if bytes[5] & !(FLAG_MAC | FLAG_HANDSHAKE) != 0 || bytes[6..8] != [0, 0] {
            return Err(HeaderError::Malformed);
        }
        let number = |at, len| bytes[at..at + len].iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
        let (scheme, epoch, sequence) = (number(8, 4) as u32, number(12, 8), number(20, 8));
        let [has_mac, is_handshake] = [FLAG_MAC, FLAG_HANDSHAKE].map(|flag| bytes[5] & flag != 0);
        Ok(Header { has_mac, is_handshake, scheme, epoch, sequence })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: Header =
        Header { has_mac: true, is_handshake: true, scheme: 7, epoch: 1 << 40, sequence: u64::MAX - 1 };

    #[test]
    fn what_was_encoded_is_decoded() {
        let (plain, message) = (Header { has_mac: false, ..HEADER }, Header { is_handshake: false, ..HEADER });
        for header in [HEADER, plain, message, Header::default()] {
            assert_eq!(Header::decode(&header.encode()), Ok(header));
        }
    }

    #[test]
    fn the_layout_is_what_gateways_in_the_field_speak() {
        let bytes = Header { scheme: 0x0102_0304, epoch: 5, sequence: 6, ..Header::default() }.encode();
        assert_eq!(&bytes[..12], b"ATCP\x02\0\0\0\x01\x02\x03\x04");
        assert_eq!((bytes[19], bytes[27]), (5, 6));
    }

    #[test]
    fn every_truncation_is_malformed() {
        for length in 0..HEADER_LEN {
            assert_eq!(Header::decode(&HEADER.encode()[..length]), Err(HeaderError::Malformed));
        }
    }

    #[test]
    fn another_version_is_told_from_noise() {
        for (at, error) in [(0, HeaderError::Malformed), (4, HeaderError::Version), (5, HeaderError::Malformed)] {
            let mut bytes = HEADER.encode();
            bytes[at] ^= 0x10;
            assert_eq!(Header::decode(&bytes), Err(error));
        }
    }

    #[test]
    fn a_message_takes_56_bytes_more_over_ipv4_and_92_over_ipv6_with_a_mac() {
        assert_eq!((overhead(false, false), overhead(true, true)), (56, 92));
        assert_eq!(overhead(true, true) as usize + MESSAGE_MAX, 1280);
    }
}
