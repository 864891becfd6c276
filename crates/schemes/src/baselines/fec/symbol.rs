//! What the code works on: a packet's image with its length and a hash in front, padded with
//! zeros to the longest of the block.
//!
//! The hash tells a decoded packet from rubbish: one packet of a block that changed on the way
//! unnoticed would spoil every packet that is computed from it.

use airtcp_core::Packet;
use alloc::vec::Vec;
use core::hash::Hasher;
use reed_solomon_erasure::galois_8::ReedSolomon;
use siphasher::sip::SipHasher13;

/// Bytes in front of an image: length u16, hash u32.
const HEAD: usize = 6;
/// Bytes of a code packet's payload beyond the longest packet: the head and the image's first byte.
pub(super) const OVERHEAD: u32 = HEAD as u32 + 1;

/// The symbol of a packet; `None` for one too long to be written.
pub(super) fn of_packet(packet: &Packet) -> Option<Vec<u8>> {
    let image = packet.to_image();
    let len = u16::try_from(image.len()).ok()?;
    let mut symbol = Vec::with_capacity(HEAD + image.len());
    symbol.extend(len.to_be_bytes());
    symbol.extend(hash(&image).to_be_bytes());
    symbol.extend_from_slice(&image);
    Some(symbol)
}

/// The packet of a symbol, padded or not; `None` if it is not one.
pub(super) fn to_packet(symbol: &[u8]) -> Option<Packet> {
    let (&[l0, l1, h0, h1, h2, h3], rest) = symbol.split_first_chunk::<HEAD>()?;
    let image = rest.get(..usize::from(u16::from_be_bytes([l0, l1])))?;
    (hash(image) == u32::from_be_bytes([h0, h1, h2, h3])).then(|| Packet::from_image(image))?
}

fn hash(image: &[u8]) -> u32 {
    let mut hasher = SipHasher13::new();
    hasher.write(image);
    hasher.finish() as u32
}

/// The `r` code symbols of these symbols.
pub(in crate::baselines) fn encode(mut symbols: Vec<Vec<u8>>, r: usize) -> Option<Vec<Vec<u8>>> {
    let longest = symbols.iter().map(Vec::len).max()?;
    for symbol in &mut symbols {
        symbol.resize(longest, 0);
    }
    let mut codes = alloc::vec![alloc::vec![0; longest]; r];
    ReedSolomon::new(symbols.len(), r).ok()?.encode_sep(&symbols, &mut codes).ok()?;
    Some(codes)
}

/// Computes the symbols that are missing of a block of `k`: `known` has the `k`, then the code
/// symbols. `None` if there are too few, or they do not belong together.
pub(in crate::baselines) fn decode(mut known: Vec<Option<Vec<u8>>>, k: usize) -> Option<Vec<Vec<u8>>> {
    let longest = known[k..].iter().flatten().map(Vec::len).next()?;
    for symbol in known.iter_mut().flatten() {
        if symbol.len() > longest {
            return None;
        }
        symbol.resize(longest, 0);
    }
    ReedSolomon::new(k, known.len() - k).ok()?.reconstruct_data(&mut known).ok()?;
    known.truncate(k);
    known.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hop::testing::{data, opaque};
    use std::vec;

    fn block() -> Vec<Packet> {
        vec![data(0), opaque(700), Packet::parse(opaque(901).to_wire()).unwrap(), data(7), opaque(20)]
    }

    /// What is left of the block and three code symbols without those at `lost`.
    fn after_loss(lost: &[usize]) -> Option<Vec<Vec<u8>>> {
        let symbols: Vec<_> = block().iter().map(|packet| of_packet(packet).unwrap()).collect();
        let codes = encode(symbols.clone(), 3).unwrap();
        let all = symbols.into_iter().chain(codes).enumerate();
        decode(all.map(|(at, symbol)| (!lost.contains(&at)).then_some(symbol)).collect(), 5)
    }

    #[test]
    fn any_three_losses_of_a_block_with_three_code_symbols_are_repaired() {
        for a in 0..8 {
            for b in a + 1..8 {
                for c in b + 1..8 {
                    let Some(symbols) = after_loss(&[a, b, c]) else {
                        assert_eq!((a, b, c), (5, 6, 7), "only without any code symbol there is nothing to compute");
                        continue;
                    };
                    for (symbol, packet) in symbols.iter().zip(block()) {
                        let read = to_packet(symbol).unwrap();
                        assert_eq!((read.to_wire(), read.payload()), (packet.to_wire(), packet.payload()));
                    }
                }
            }
        }
    }

    #[test]
    fn a_fourth_loss_is_too_many() {
        assert!(after_loss(&[0, 1, 2, 3]).is_none());
        assert!(after_loss(&[0, 1, 2, 6]).is_none());
    }

    #[test]
    fn a_packet_that_changed_on_the_way_spoils_no_other() {
        let mut symbols: Vec<_> = block().iter().map(|packet| of_packet(packet).unwrap()).collect();
        let codes = encode(symbols.clone(), 1).unwrap();
        symbols[1][20] ^= 1;
        let known = symbols.into_iter().map(Some).chain([Some(codes[0].clone())]);
        let known = known.enumerate().map(|(at, symbol)| symbol.filter(|_| at != 3)).collect();
        let decoded = decode(known, 5).unwrap();
        assert!(to_packet(&decoded[3]).is_none(), "the hash tells");
    }

    #[test]
    fn rubbish_is_no_packet() {
        let symbol = of_packet(&data(1)).unwrap();
        for len in 0..symbol.len() {
            assert!(to_packet(&symbol[..len]).is_none());
        }
    }
}
