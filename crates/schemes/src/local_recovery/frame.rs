//! The body of the shim in every frame: that of link ARQ (`selective_repeat/frame.rs`), and what the order of flows needs. Big
//! endian. The messages between the two ends are those of link ARQ, too; each ACK may say what the link carried.
//!
//! ```text
//! shim      incarnation u16, number u32, sequence u32, back u16, part (2 bits: 0 whole, 1 head, 2 tail), after (14 bits)
//! ```
//!
//! `after` is the distance to the packet that this one goes behind, 0 for none.

use crate::hop::Part;
use crate::selective_repeat::Frame;

/// Bytes of the shim's body.
pub const FRAME_LEN: usize = 14;

/// The longest distance that a frame can tell, in packets.
const MOST_AFTER: u16 = 0x3fff;

/// The shim's body.
pub fn encode_frame(frame: &Frame) -> [u8; FRAME_LEN] {
    let mut out = [0; FRAME_LEN];
    out[..12].copy_from_slice(&frame.encode());
    let after = if frame.after > MOST_AFTER { 0 } else { frame.after };
    out[12..].copy_from_slice(&((frame.part as u16) << 14 | after).to_be_bytes());
    out
}

/// Reads a shim's body; `None` if it is none of ours.
pub fn decode_frame(body: &[u8]) -> Option<Frame> {
    let (rest, last) = body.split_last_chunk::<2>()?;
    let last = u16::from_be_bytes(*last);
    let part = [Part::Whole, Part::Head, Part::Tail].into_iter().find(|part| *part as u16 == last >> 14)?;
    Some(Frame { after: last & MOST_AFTER, part, ..Frame::decode(rest)? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use airtcp_core::SeqNum;

    #[test]
    fn frames_read_back_and_nothing_shorter_does() {
        let frame = Frame {
            incarnation: 1,
            number: SeqNum(2),
            sequence: SeqNum(u32::MAX),
            back: 4,
            after: 5,
            part: Part::Tail,
        };
        assert_eq!(decode_frame(&encode_frame(&frame)), Some(frame));
        assert_eq!(decode_frame(&encode_frame(&frame)[1..]), None);
        let far = Frame { after: 0x4000, part: Part::Head, ..frame };
        assert_eq!(decode_frame(&encode_frame(&far)), Some(Frame { after: 0, ..far }), "too far to tell");
    }
}
