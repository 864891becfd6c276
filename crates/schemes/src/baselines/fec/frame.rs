//! What the two ends say to each other: the body of the shim in every frame, and the messages.
//! Big endian.
//!
//! ```text
//! shim      kind (0 source, 1 code), incarnation u16, block u32, index u8, then
//!           source: traffic class, hop limit      code: k u8, r u8
//! message   version (1), type: 1 HELLO (see peer.rs), 2 REPORT
//! REPORT    incarnation u16, highest sequence u32, arrived u32
//! ```
//!
//! A block is named by the sequence number of its first packet. Routers between the ends change
//! class and hop limit, and the code is over the packets as they were before.

use crate::hop::take;
use crate::peer::Hello;
use airtcp_core::SeqNum;
use alloc::vec::Vec;

const VERSION: u8 = 1;

/// What the shim of a frame says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Incarnation of the sender: the low 16 bits of its epoch.
    pub incarnation: u16,
    /// Sequence number of the first packet of the block.
    pub block: SeqNum,
    /// Position in the block, or among its code packets.
    pub index: u8,
    /// What the frame carries.
    pub kind: Kind,
}

/// What a frame carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A packet, which had this traffic class and hop limit.
    Source {
        /// DSCP and ECN.
        traffic_class: u8,
        /// TTL.
        hop_limit: u8,
    },
    /// Redundancy of a block of `k` packets and `r` code packets.
    Code {
        /// Packets.
        k: u8,
        /// Code packets.
        r: u8,
    },
}

/// Bytes of the shim's body.
pub const FRAME_LEN: usize = 10;

impl Frame {
    /// The shim's body.
    pub fn encode(&self) -> [u8; FRAME_LEN] {
        let (kind, first, second) = match self.kind {
            Kind::Source { traffic_class, hop_limit } => (0, traffic_class, hop_limit),
            Kind::Code { k, r } => (1, k, r),
        };
        let ([l0, l1], [b0, b1, b2, b3]) = (self.incarnation.to_be_bytes(), self.block.0.to_be_bytes());
        [kind, l0, l1, b0, b1, b2, b3, self.index, first, second]
    }

    /// Reads a shim's body; `None` if it is none of ours.
    pub fn decode(body: &[u8]) -> Option<Frame> {
        let &[kind, l0, l1, b0, b1, b2, b3, index, first, second] = body.first_chunk::<FRAME_LEN>()?;
        let kind = match kind {
            0 => Kind::Source { traffic_class: first, hop_limit: second },
            1 if first > 0 && index < second => Kind::Code { k: first, r: second },
            _ => return None,
        };
        let frame = Frame {
            incarnation: u16::from_be_bytes([l0, l1]),
            block: SeqNum(u32::from_be_bytes([b0, b1, b2, b3])),
            index,
            kind,
        };
        (body.len() == FRAME_LEN).then_some(frame)
    }
}

/// A message between the two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// I am here.
    Hello(Hello),
    /// So many of your packets came.
    Report(Report),
}

/// What arrived from one incarnation of the sender, repairs not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// The sender's incarnation.
    pub incarnation: u16,
    /// The highest sequence number that came.
    pub highest: SeqNum,
    /// Packets that came, modulo 2^32.
    pub arrived: u32,
}

impl Message {
    /// The message as bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(36);
        out.push(VERSION);
        match self {
            Message::Hello(hello) => {
                out.push(1);
                hello.write(&mut out);
            }
            Message::Report(report) => {
                out.push(2);
                out.extend(report.incarnation.to_be_bytes());
                out.extend(report.highest.0.to_be_bytes());
                out.extend(report.arrived.to_be_bytes());
            }
        }
        out
    }

    /// Reads a message; `None` for anything that is not exactly one.
    pub fn decode(bytes: &[u8]) -> Option<Message> {
        let (head, mut rest) = bytes.split_first_chunk::<2>()?;
        let message = match head {
            [VERSION, 1] => Message::Hello(Hello::read(&mut rest)?),
            [VERSION, 2] => Message::Report(Report {
                incarnation: u16::from_be_bytes(take(&mut rest)?),
                highest: SeqNum(u32::from_be_bytes(take(&mut rest)?)),
                arrived: u32::from_be_bytes(take(&mut rest)?),
            }),
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
        for kind in [Kind::Source { traffic_class: 3, hop_limit: 64 }, Kind::Code { k: 10, r: 3 }] {
            let frame = Frame { incarnation: 1, block: SeqNum(u32::MAX), index: 2, kind };
            assert_eq!(Frame::decode(&frame.encode()), Some(frame));
            assert_eq!(Frame::decode(&frame.encode()[..9]), None);
            assert_eq!(Frame::decode(&[&frame.encode()[..], &[0]].concat()), None);
        }
        let report = Message::Report(Report { incarnation: 1, highest: SeqNum(2), arrived: 3 });
        for message in [report, Message::Hello(Hello { epoch: 1, stamp: 2, echo: 3, held: 4 })] {
            let bytes = message.encode();
            assert_eq!(Message::decode(&bytes), Some(message));
            assert!((0..bytes.len()).all(|len| Message::decode(&bytes[..len]).is_none()));
        }
    }

    #[test]
    fn a_code_packet_outside_its_block_is_none_of_ours() {
        let frame = Frame { incarnation: 1, block: SeqNum(0), index: 3, kind: Kind::Code { k: 10, r: 3 } };
        assert_eq!(Frame::decode(&frame.encode()), None);
    }
}
