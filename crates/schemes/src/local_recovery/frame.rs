//! The body of the shim in every frame: that of link ARQ (`selective_repeat/frame.rs`), what the order of flows needs, and
//! what codes need. Big endian. The messages between the two ends are those of link ARQ, too; each ACK tells of the link.
//!
//! ```text
//! shim      incarnation u16, number u32, sequence u32, back u16, part (2 bits: 0 whole, 1 head, 2 tail), after (14 bits)
//! covered   the same, traffic class u8, hop limit u8: a packet that is in codes, and what routers may change of it
//! code      the same as shim with part 3: packets from `sequence` on, `after` of them; seed: the low bits of `number`
//! ```
//!
//! `after` is the distance to the packet that this one goes behind, 0 for none.

use crate::hop::Part;
use crate::selective_repeat::Frame;
use alloc::vec::Vec;

/// Bytes of the shim's body of a code.
pub(super) const CODE_LEN: usize = 14;
/// Bytes of the shim's body, at most.
pub const FRAME_LEN: usize = CODE_LEN + 2;

/// The longest distance that a frame can tell, in packets.
const MOST_AFTER: u16 = 0x3fff;
/// In place of a part: a code.
const CODE: u16 = 3;

/// What a shim says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shim {
    /// As link ARQ has it; of a code, `sequence` is that of the first packet in it.
    pub frame: Frame,
    /// What the frame carries.
    pub kind: Kind,
}

/// What a frame carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A packet that is in no code.
    Packet,
    /// A packet that is in codes, as it was when it was sent.
    Covered {
        /// DSCP and ECN.
        traffic_class: u8,
        /// Hop limit or TTL.
        hop_limit: u8,
    },
    /// A code.
    Code {
        /// Packets in it.
        count: u8,
    },
}

/// How a packet is ordered, as every frame of it says it.
pub(super) fn order_word(frame: &Frame) -> [u8; 2] {
    let after = if frame.after > MOST_AFTER { 0 } else { frame.after };
    ((frame.part as u16) << 14 | after).to_be_bytes()
}

/// The reverse: which packet it goes behind, and what it is.
pub(super) fn read_order_word(word: [u8; 2]) -> Option<(u16, Part)> {
    let word = u16::from_be_bytes(word);
    let part = [Part::Whole, Part::Head, Part::Tail].into_iter().find(|part| *part as u16 == word >> 14)?;
    Some((word & MOST_AFTER, part))
}

/// The shim's body.
pub fn encode_shim(shim: &Shim) -> Vec<u8> {
    let mut out = Vec::with_capacity(FRAME_LEN);
    out.extend(shim.frame.encode());
    match shim.kind {
        Kind::Packet => out.extend(order_word(&shim.frame)),
        Kind::Covered { traffic_class, hop_limit } => {
            out.extend(order_word(&shim.frame));
            out.extend([traffic_class, hop_limit]);
        }
        Kind::Code { count } => out.extend((CODE << 14 | u16::from(count)).to_be_bytes()),
    }
    out
}

/// Reads a shim's body; `None` if it is none of ours.
pub fn decode_shim(body: &[u8]) -> Option<Shim> {
    let (frame, rest) = body.split_at_checked(crate::selective_repeat::FRAME_LEN)?;
    let frame = Frame::decode(frame)?;
    let (&word, rest) = rest.split_first_chunk::<2>()?;
    if let [high, count] = word
        && (high, rest) == ((CODE << 6) as u8, &[])
        && count > 0
    {
        return Some(Shim { frame, kind: Kind::Code { count } });
    }
    let (after, part) = read_order_word(word)?;
    let kind = match rest {
        [] => Kind::Packet,
        &[traffic_class, hop_limit] => Kind::Covered { traffic_class, hop_limit },
        _ => return None,
    };
    Some(Shim { frame: Frame { after, part, ..frame }, kind })
}

#[cfg(test)]
mod tests {
    use super::*;
    use airtcp_core::SeqNum;

    #[test]
    fn frames_read_back_and_nothing_shorter_or_longer_does() {
        let frame = Frame {
            incarnation: 1,
            number: SeqNum(2),
            sequence: SeqNum(u32::MAX),
            back: 4,
            after: 5,
            part: Part::Tail,
        };
        let code = Frame { after: 0, part: Part::Whole, ..frame };
        let covered = Kind::Covered { traffic_class: 0xb8, hop_limit: 63 };
        for (frame, kind) in [(frame, Kind::Packet), (frame, covered), (code, Kind::Code { count: 255 })] {
            let shim = Shim { frame, kind };
            let bytes = encode_shim(&shim);
            assert_eq!(decode_shim(&bytes), Some(shim));
            assert_eq!(decode_shim(&bytes[1..]), None);
            assert_eq!(decode_shim(&[&bytes[..], &[0]].concat()), None);
        }
        let far = Shim { frame: Frame { after: 0x4000, part: Part::Head, ..frame }, kind: Kind::Packet };
        let read = decode_shim(&encode_shim(&far)).unwrap();
        assert_eq!((read.frame.after, read.frame.part), (0, Part::Head), "too far to tell");
    }

    #[test]
    fn a_code_over_nothing_is_none() {
        let frame =
            Frame { incarnation: 1, number: SeqNum(2), sequence: SeqNum(3), back: 0, after: 0, part: Part::Whole };
        assert_eq!(decode_shim(&encode_shim(&Shim { frame, kind: Kind::Code { count: 0 } })), None);
    }
}
