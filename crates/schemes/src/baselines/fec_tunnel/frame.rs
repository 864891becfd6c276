//! What the shim of a shard says. Big endian.
//!
//! ```text
//! shim      version (1), stream u64, block u32, index u8, k u8, r u8
//! message   version (1), HELLO (see peer.rs)
//! ```
//!
//! With the IPv4 header and the shim's own that is 40 bytes, what UDPspeeder reckons with for headers (fec_manager.cpp:
//! header_overhead).

use crate::peer::Hello;
use airtcp_core::SeqNum;
use alloc::vec::Vec;

const VERSION: u8 = 1;

/// What the shim of a shard says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Epoch of the sender.
    pub stream: u64,
    /// Blocks are counted.
    pub block: SeqNum,
    /// Place among the shards of the block.
    pub index: u8,
    /// Shards of data.
    pub k: u8,
    /// Shards of redundancy.
    pub r: u8,
}

/// Bytes of the shim's body.
pub const FRAME_LEN: usize = 16;

impl Frame {
    /// The shim's body.
    pub fn encode(&self) -> [u8; FRAME_LEN] {
        let mut body = [0; FRAME_LEN];
        body[0] = VERSION;
        body[1..9].copy_from_slice(&self.stream.to_be_bytes());
        body[9..13].copy_from_slice(&self.block.0.to_be_bytes());
        body[13..].copy_from_slice(&[self.index, self.k, self.r]);
        body
    }

    /// Reads a shim's body; `None` if it is none of ours.
    pub fn decode(body: &[u8]) -> Option<Frame> {
        let (&[version, ref stream @ .., b0, b1, b2, b3, index, k, r], []) = body.split_first_chunk::<FRAME_LEN>()?
        else {
            return None;
        };
        let shards = k.checked_add(r).filter(|shards| k > 0 && index < *shards);
        let is_ours = version == VERSION && shards.is_some();
        let block = SeqNum(u32::from_be_bytes([b0, b1, b2, b3]));
        is_ours.then_some(Frame { stream: u64::from_be_bytes(*stream), block, index, k, r })
    }
}

/// The message of a HELLO.
pub(super) fn encode_hello(hello: &Hello) -> Vec<u8> {
    let mut out = Vec::with_capacity(33);
    out.push(VERSION);
    hello.write(&mut out);
    out
}

/// Reads a HELLO; `None` for anything that is not exactly one.
pub(super) fn decode_hello(bytes: &[u8]) -> Option<Hello> {
    let (&version, mut rest) = bytes.split_first()?;
    let hello = Hello::read(&mut rest)?;
    (version == VERSION && rest.is_empty()).then_some(hello)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: Frame = Frame { stream: 1 << 40, block: SeqNum(u32::MAX), index: 29, k: 20, r: 10 };

    #[test]
    fn frames_and_hellos_read_back_and_nothing_shorter_or_longer_does() {
        assert_eq!(Frame::decode(&FRAME.encode()), Some(FRAME));
        assert_eq!(Frame::decode(&FRAME.encode()[..15]), None);
        assert_eq!(Frame::decode(&[&FRAME.encode()[..], &[0]].concat()), None);
        let hello = Hello { epoch: 1, stamp: 2, echo: 3, held: 4 };
        let bytes = encode_hello(&hello);
        assert_eq!(decode_hello(&bytes), Some(hello));
        assert!((0..bytes.len()).all(|len| decode_hello(&bytes[..len]).is_none()));
        assert_eq!(decode_hello(&[&bytes[..], &[0]].concat()), None);
    }

    #[test]
    fn a_shard_outside_its_block_is_none_of_ours() {
        for frame in [Frame { index: 30, ..FRAME }, Frame { k: 0, ..FRAME }, Frame { k: 250, ..FRAME }] {
            assert_eq!(Frame::decode(&frame.encode()), None, "{frame:?}");
        }
    }
}
