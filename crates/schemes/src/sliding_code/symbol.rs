//! What is coded of a packet: its bytes with their length and a hash in front.
//!
//! The hash also covers the position, so that neither a symbol computed from damaged codes nor one computed for another
//! position passes for a packet.

use crate::position::Position;
use alloc::vec::Vec;
use core::hash::Hasher;
use siphasher::sip::SipHasher13;

/// Bytes in front of a symbol's own: length u16, hash u32.
pub(crate) const HEAD: usize = 6;
/// The longest symbol with its head.
pub(super) const LONGEST: usize = HEAD + u16::MAX as usize;

/// The symbol with its head; `None` for one too long to be coded.
pub(super) fn with_head(sequence: Position, bytes: &[u8]) -> Option<Vec<u8>> {
    let len = u16::try_from(bytes.len()).ok()?;
    let mut symbol = Vec::with_capacity(HEAD + bytes.len());
    symbol.extend(len.to_be_bytes());
    symbol.extend(hash(sequence, bytes).to_be_bytes());
    symbol.extend_from_slice(bytes);
    Some(symbol)
}

/// The bytes of a symbol with its head and padding of zeros; `None` if it is not the symbol of this position.
pub(super) fn bytes_of(sequence: Position, symbol: &[u8]) -> Option<&[u8]> {
    let (&[l0, l1, h0, h1, h2, h3], rest) = symbol.split_first_chunk::<HEAD>()?;
    let (bytes, padding) = rest.split_at_checked(usize::from(u16::from_be_bytes([l0, l1])))?;
    let is_whole = padding.iter().all(|byte| *byte == 0);
    (is_whole && hash(sequence, bytes) == u32::from_be_bytes([h0, h1, h2, h3])).then_some(bytes)
}

fn hash(sequence: Position, bytes: &[u8]) -> u32 {
    let mut hasher = SipHasher13::new();
    hasher.write(&(sequence as u32).to_be_bytes());
    hasher.write(bytes);
    hasher.finish() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_symbol_of_any_length_comes_back_from_its_padding() {
        for len in [0, 1, 1500, 65_535] {
            let bytes = std::vec![0; len];
            let mut symbol = with_head(9, &bytes).unwrap();
            symbol.resize(symbol.len() + 10, 0);
            assert_eq!(bytes_of(9, &symbol), Some(&bytes[..]));
        }
        assert_eq!(with_head(9, &[0; 65_536]), None);
    }

    #[test]
    fn a_changed_bit_another_position_and_a_cut_are_noticed() {
        let mut symbol = with_head(9, b"abc").unwrap();
        symbol.extend([0, 0]);
        assert_eq!(bytes_of(10, &symbol), None);
        for bit in 0..symbol.len() * 8 {
            let mut changed = symbol.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(bytes_of(9, &changed), None, "bit {bit}");
        }
        for len in 0..HEAD + 3 {
            assert_eq!(bytes_of(9, &symbol[..len]), None);
        }
    }
}
