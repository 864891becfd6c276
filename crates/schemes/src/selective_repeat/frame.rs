//! What the two ends say to each other: the body of the shim in every frame, and the messages.
//! Big endian.
//!
//! ```text
//! shim      incarnation u16, number u32, sequence u32, back u16
//! message   version (1), type: 1 HELLO (see peer.rs), 2 ACK, 3 OLDEST
//! ACK       incarnation u16, newest number u32, expected sequence u32, words u8, so many words u64 of
//!           what came (received.rs)
//! OLDEST    incarnation u16, sequence u32
//! ```
//!
//! A packet has one sequence number; each of its transmissions has a number of its own. The
//! link keeps order, so a number that is missing below one that came is lost, be it the first
//! transmission or the fifth, and no timer has to tell an old copy from a new one.

use super::received::Received;
use crate::hop::{Part, take};
use crate::peer::Hello;
use crate::position::Position;
use airtcp_core::SeqNum;
use alloc::vec::Vec;

/// What the shim of a frame says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Incarnation of the sender: the low 16 bits of its epoch.
    pub incarnation: u16,
    /// Counts transmissions.
    pub number: SeqNum,
    /// Counts packets.
    pub sequence: SeqNum,
    /// Distance, in packets, to the oldest one that the sender may still send again.
    pub back: u16,
    /// Distance, in packets, to the one that this one goes behind; 0 if there is none, or if it is not told.
    pub after: u16,
    /// What it carries, as far as it is told.
    pub part: Part,
}

/// Bytes of the shim's body.
pub const FRAME_LEN: usize = 12;

impl Frame {
    /// The shim's body, without `after` and `part`.
    pub fn encode(&self) -> [u8; FRAME_LEN] {
        let mut out = [0; FRAME_LEN];
        out[..2].copy_from_slice(&self.incarnation.to_be_bytes());
        out[2..6].copy_from_slice(&self.number.0.to_be_bytes());
        out[6..10].copy_from_slice(&self.sequence.0.to_be_bytes());
        out[10..].copy_from_slice(&self.back.to_be_bytes());
        out
    }

    /// Reads a shim's body; `None` if it is none of ours.
    pub fn decode(mut body: &[u8]) -> Option<Frame> {
        let frame = Frame {
            incarnation: u16::from_be_bytes(take(&mut body)?),
            number: SeqNum(u32::from_be_bytes(take(&mut body)?)),
            sequence: SeqNum(u32::from_be_bytes(take(&mut body)?)),
            back: u16::from_be_bytes(take(&mut body)?),
            after: 0,
            part: Part::Whole,
        };
        body.is_empty().then_some(frame)
    }
}

/// A message between the two ends, whose acknowledgments say `A`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said<A> {
    /// I am here.
    Hello(Hello),
    /// This is what came.
    Ack(A),
    /// The sender, in this incarnation, will not send anything before this packet again.
    Oldest(u16, SeqNum),
}

/// The messages of link ARQ.
pub type Message = Said<Ack>;

/// What an acknowledgment says, as it stands in a message.
pub trait Acknowledgment: Sized {
    /// Version of the messages that have it.
    const VERSION: u8;

    /// Appends it.
    fn write(&self, out: &mut Vec<u8>);

    /// Takes it off the front of `rest`.
    fn read(rest: &mut &[u8]) -> Option<Self>;
}

/// What came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// Incarnation of the sender of the acknowledged frames.
    pub incarnation: u16,
    /// The newest transmission that came.
    pub newest: SeqNum,
    /// Everything before this packet needs no repair.
    pub expected: SeqNum,
    /// Which of the latest came.
    pub received: Received,
}

/// What came of all transmissions so far, of each once; both count modulo 2^32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrived {
    /// Transmissions that came.
    pub frames: u32,
    /// Times that some were missing before one that came.
    pub gaps: u32,
}

impl Ack {
    /// What this acknowledgment, whose newest transmission is at `newest`, says of the one at `number`: whether it came, if
    /// anything.
    pub(super) fn tells_of(&self, newest: Position, number: Position) -> Option<bool> {
        // One that is newer is not told of: acknowledgments overtake each other.
        newest.checked_sub(number).and_then(|back| self.received.tells(back))
    }
}

impl Acknowledgment for Ack {
    const VERSION: u8 = 1;

    fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.incarnation.to_be_bytes());
        out.extend(self.newest.0.to_be_bytes());
        out.extend(self.expected.0.to_be_bytes());
        self.received.write(out);
    }

    fn read(rest: &mut &[u8]) -> Option<Ack> {
        Some(Ack {
            incarnation: u16::from_be_bytes(take(rest)?),
            newest: SeqNum(u32::from_be_bytes(take(rest)?)),
            expected: SeqNum(u32::from_be_bytes(take(rest)?)),
            received: Received::read(rest)?,
        })
    }
}

impl<A: Acknowledgment> Said<A> {
    /// The message as bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(48);
        out.push(A::VERSION);
        match self {
            Said::Hello(hello) => {
                out.push(1);
                hello.write(&mut out);
            }
            Said::Ack(ack) => {
                out.push(2);
                ack.write(&mut out);
            }
            Said::Oldest(incarnation, sequence) => {
                out.push(3);
                out.extend(incarnation.to_be_bytes());
                out.extend(sequence.0.to_be_bytes());
            }
        }
        out
    }

    /// Reads a message; `None` for anything that is not exactly one.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (head, mut rest) = bytes.split_first_chunk::<2>()?;
        let [version, kind] = *head;
        let message = match kind {
            _ if version != A::VERSION => return None,
            1 => Said::Hello(Hello::read(&mut rest)?),
            2 => Said::Ack(A::read(&mut rest)?),
            3 => Said::Oldest(u16::from_be_bytes(take(&mut rest)?), SeqNum(u32::from_be_bytes(take(&mut rest)?))),
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
            after: 0,
            part: Part::Whole,
        };
        assert_eq!(Frame::decode(&frame.encode()), Some(frame));
        assert_eq!(Frame::decode(&frame.encode()[1..]), None);
        let ack = Ack { incarnation: 1, newest: SeqNum(2), expected: SeqNum(3), received: Received::filled(true) };
        let hello = Hello { epoch: 1, stamp: 2, echo: 3, held: 4 };
        for message in [Message::Hello(hello), Message::Ack(ack), Message::Oldest(7, SeqNum(8))] {
            let mut bytes = message.encode();
            assert_eq!(Message::decode(&bytes), Some(message));
            for len in 0..bytes.len() {
                assert_eq!(Message::decode(&bytes[..len]), None);
            }
            bytes.push(0);
            assert_eq!(Message::decode(&bytes), None);
        }
    }
}
