//! What the two ends say to each other: the body of the shim in every frame, and the messages. Big endian.
//!
//! ```text
//! shim      incarnation u16, number u32, sequence u32, back u16, part (2 bits: 0 whole, 1 head, 2 tail), after (14 bits)
//! message   version (1), type: 1 HELLO (see peer.rs), 2 FEEDBACK, 3 OLDEST
//! FEEDBACK  incarnation u16, newest number u32, expected sequence u32, received u128, then nothing, or
//!           what the link carried (see link_rate/report.rs)
//! OLDEST    incarnation u16, sequence u32
//! ```
//!
//! `after` is the distance to the packet that this one goes behind, 0 for none. The rest is as link ARQ has it
//! (`selective_repeat/frame.rs`): a packet has one sequence number, each of its transmissions has a number of its own.

use crate::hop::{Part, take};
use crate::link_rate::Report;
use crate::peer::Hello;
use crate::selective_repeat::{Ack, Frame};
use airtcp_core::SeqNum;
use alloc::vec::Vec;

const VERSION: u8 = 1;

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

/// A message between the two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// I am here.
    Hello(Hello),
    /// This is what came, and sometimes when and how much in all.
    Feedback(Ack, Option<Report>),
    /// The sender, in this incarnation, will not send anything before this packet again.
    Oldest(u16, SeqNum),
}

impl Message {
    /// The message as bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(48);
        out.push(VERSION);
        match self {
            Message::Hello(hello) => {
                out.push(1);
                hello.write(&mut out);
            }
            Message::Feedback(ack, report) => {
                out.push(2);
                ack.write(&mut out);
                if let Some(report) = report {
                    report.write(&mut out);
                }
            }
            Message::Oldest(incarnation, oldest) => {
                out.push(3);
                out.extend(incarnation.to_be_bytes());
                out.extend(oldest.0.to_be_bytes());
            }
        }
        out
    }

    /// Reads a message; `None` for anything that is not exactly one.
    pub fn decode(bytes: &[u8]) -> Option<Message> {
        let (head, mut rest) = bytes.split_first_chunk::<2>()?;
        let message = match head {
            [VERSION, 1] => Message::Hello(Hello::read(&mut rest)?),
            [VERSION, 2] => {
                let ack = Ack::read(&mut rest)?;
                let report = if rest.is_empty() { None } else { Some(Report::read(&mut rest)?) };
                Message::Feedback(ack, report)
            }
            [VERSION, 3] => {
                Message::Oldest(u16::from_be_bytes(take(&mut rest)?), SeqNum(u32::from_be_bytes(take(&mut rest)?)))
            }
            _ => return None,
        };
        rest.is_empty().then_some(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_and_messages_read_back_and_nothing_shorter_or_longer_does() {
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
        let ack = Ack { incarnation: 1, newest: SeqNum(2), expected: SeqNum(3), received: 1 << 127 | 1 };
        let report = Report { name: 7, received: 1 << 40, stamp: 9 };
        let hello = Hello { epoch: 1, stamp: 2, echo: 3, held: 4 };
        let feedback = [Message::Feedback(ack, None), Message::Feedback(ack, Some(report))];
        for message in feedback.into_iter().chain([Message::Hello(hello), Message::Oldest(7, SeqNum(8))]) {
            let mut bytes = message.encode();
            assert_eq!(Message::decode(&bytes), Some(message));
            for len in (0..bytes.len()).filter(|len| *len != feedback[0].encode().len()) {
                assert_eq!(Message::decode(&bytes[..len]), None);
            }
            bytes.push(0);
            assert_eq!(Message::decode(&bytes), None);
        }
    }
}
