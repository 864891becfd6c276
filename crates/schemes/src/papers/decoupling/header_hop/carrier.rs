//! What goes over the link instead of a header packet.
//!
//! ```text
//! bare        the body (see body.rs)
//! repairable  128 + n u8, incarnation u8, checksum u16, number u16, sequence u16, back u16,
//!             n x (length u8, earlier body), body
//! ```
//!
//! The middle fields are those of link ARQ's frames, cut to what a link's window needs; the checksum (RFC 1071) is over
//! the whole. An earlier body is that of the header one, two, … before this one, the latest first (FEC).
//!
//! In the simulator a carrier is on the medium what its bytes are, as a link layer with a type for it would send them
//! (RFC 1144 section 2.1). On a live link it has an IP header besides, or the kernel would not carry it.

use crate::hop::{Part, take};
use crate::position;
use crate::selective_repeat::{Frame, START};
use airtcp_core::{Packet, SeqNum};
use alloc::vec::Vec;
use bytes::Bytes;

/// Protocol number of carriers (RFC 4727: experimentation; 254 is that of shims).
const PROTOCOL: u8 = 253;

const REPAIRABLE: u8 = 128;

/// A carrier of `content`. What is on the way may need comes from `like`: addresses, and the class, so that queues know it
/// for a header packet still.
pub(super) fn carrier(like: &Packet, content: Vec<u8>) -> Packet {
    make(like, content, like.datagram().is_some())
}

/// A carrier with another content.
pub(super) fn with_content(carrier: &Packet, content: Vec<u8>) -> Packet {
    make(carrier, content, carrier.wire_len() == carrier.ip().total_len)
}

fn make(like: &Packet, content: Vec<u8>, is_live: bool) -> Packet {
    let len = content.len() as u32;
    let mut packet = Packet::opaque(like.ip().source, like.ip().destination, PROTOCOL, content.into());
    packet.set_traffic_class(like.ip().traffic_class);
    if !is_live {
        packet.set_wire_len(len);
    }
    packet
}

/// The content of a packet that may be a carrier.
pub(super) fn content(packet: &Packet) -> Option<Bytes> {
    packet.payload_bytes().filter(|_| packet.ip().protocol == PROTOCOL && packet.tcp().is_none())
}

/// A content that can be had again if it is lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repairable {
    /// Low byte of the sender's incarnation, low halves of the counters.
    pub incarnation: u8,
    /// Counts transmissions.
    pub number: u16,
    /// Counts headers.
    pub sequence: u16,
    /// So many headers back is the oldest that may still be sent again.
    pub back: u16,
    /// The bodies of the headers before this one, the latest first; at most 15, of at most 255 bytes.
    pub earlier: Vec<Bytes>,
    /// The header's own.
    pub body: Bytes,
}

impl Repairable {
    /// Shortens a frame of link ARQ.
    pub(super) fn of(frame: &Frame, earlier: Vec<Bytes>, body: Bytes) -> Repairable {
        Repairable {
            incarnation: frame.incarnation as u8,
            number: frame.number.0 as u16,
            sequence: frame.sequence.0 as u16,
            back: frame.back,
            earlier,
            body,
        }
    }

    /// The frame again: its counters are those nearest to the last frame of this incarnation.
    pub(super) fn frame(&self, incarnation: u16, last: Option<&Frame>) -> Frame {
        let near = |last: SeqNum, low: u16| {
            let distance = low.wrapping_sub(last.0 as u16).cast_signed();
            position::sequence(position::first(last).saturating_add_signed(i64::from(distance)))
        };
        let number = last.map_or(START, |frame| frame.number);
        let sequence = last.map_or(START, |frame| frame.sequence);
        Frame {
            incarnation,
            number: near(number, self.number),
            sequence: near(sequence, self.sequence),
            back: self.back,
            after: 0,
            part: Part::Whole,
        }
    }

    /// The content as bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(64);
        out.extend([REPAIRABLE | self.earlier.len() as u8, self.incarnation, 0, 0]);
        out.extend(self.number.to_be_bytes());
        out.extend(self.sequence.to_be_bytes());
        out.extend(self.back.to_be_bytes());
        for earlier in &self.earlier {
            out.push(earlier.len() as u8);
            out.extend_from_slice(earlier);
        }
        out.extend_from_slice(&self.body);
        let checksum = !sum(&out);
        out[2..4].copy_from_slice(&checksum.to_be_bytes());
        out
    }

    /// Reads a content; `None` if it is damaged or none of ours.
    pub fn decode(content: &Bytes) -> Option<Repairable> {
        let mut rest: &[u8] = content;
        let [kind, incarnation, _, _] = take(&mut rest)?;
        let number = u16::from_be_bytes(take(&mut rest)?);
        let sequence = u16::from_be_bytes(take(&mut rest)?);
        let back = u16::from_be_bytes(take(&mut rest)?);
        let count = usize::from(kind.checked_sub(REPAIRABLE)?);
        if count > usize::from(super::settings::MAX_COPIES) || sum(content) != 0xffff {
            return None;
        }
        let mut earlier = Vec::with_capacity(count);
        for _ in 0..count {
            let [len] = take(&mut rest)?;
            let (body, tail) = rest.split_at_checked(usize::from(len))?;
            earlier.push(content.slice_ref(body));
            rest = tail;
        }
        Some(Repairable { incarnation, number, sequence, back, earlier, body: content.slice_ref(rest) })
    }
}

/// One's-complement sum of big-endian words (RFC 1071).
fn sum(bytes: &[u8]) -> u16 {
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | pair.get(1).copied().map_or(0, u32::from);
    let mut sum: u32 = bytes.chunks(2).map(word).sum();
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;

    fn repairable() -> Repairable {
        let bodies = vec![Bytes::from_static(&[1, 2, 3]), Bytes::new()];
        Repairable {
            incarnation: 9,
            number: 3,
            sequence: 2,
            back: 1,
            earlier: bodies,
            body: Bytes::from_static(&[4, 5]),
        }
    }

    #[test]
    fn contents_read_back_and_damage_is_found() {
        let bytes = repairable().encode();
        assert_eq!(Repairable::decode(&bytes.clone().into()), Some(repairable()));
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Repairable::decode(&damaged.into()), None, "bit {bit}");
        }
        assert!((0..10).all(|len| Repairable::decode(&bytes[..len].to_vec().into()).is_none()));
    }

    #[test]
    fn counters_grow_across_the_wrap_of_their_low_half() {
        let last = Frame {
            incarnation: 265,
            number: SeqNum(0x1_fffe),
            sequence: SeqNum(u32::MAX),
            back: 0,
            after: 0,
            part: Part::Whole,
        };
        let frame = repairable().frame(265, Some(&last));
        assert_eq!((frame.number, frame.sequence, frame.back), (SeqNum(0x2_0003), SeqNum(2), 1));
        assert_eq!(Repairable::of(&frame, vec![], Bytes::new()).sequence, 2);
    }
}
