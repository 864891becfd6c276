//! The compressed form of a header packet. Big endian.
//!
//! ```text
//! mask u8     1: whole header   2: context follows   4: sequence   8: acknowledgment
//!             16: window   32: low bits of the timestamps   64: timestamps as they are
//! context u8  if not 0, so that one connection alone needs none
//! whole       step of the sequence number u16, of the acknowledgment number u16, the datagram
//! changes     TCP checksum u16, then what the mask names: how much the sequence and the acknowledgment number grew,
//!             window u16, low half of both timestamps 2 x u16 or the option's 12 bytes
//! ```
//!
//! What grew by 1 to 255 takes one byte; by 0 or by 256 to 65535 three, the first of them 0 (RFC 1144 section 3.2.3).
//! What grew by its step takes none, so a header that nothing but VMSS tells from the one before is 3 bytes long (DEC-41).
//! Unlike RFC 1144, numbers grow by the last *step* and not by the last packet's payload, since there is none; and an
//! IPv4 identification has no place, since atomic datagrams need none (RFC 6864).

use super::context::Steps;
use crate::hop::take;
use airtcp_core::Timestamps;
use alloc::vec::Vec;
use bytes::Bytes;

/// A compressed header packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// A whole header: the other end forgets what it knew of this context.
    Whole {
        /// Which context.
        context: u8,
        /// What is expected of the next header.
        steps: Steps,
        /// The packet.
        datagram: Bytes,
    },
    /// What changed.
    Changes {
        /// Which context.
        context: u8,
        /// What.
        changes: Changes,
    },
}

/// What changed since the last header; `None` where a number grew by its step, or the window is the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// The packet's TCP checksum.
    pub checksum: u16,
    /// Growth of the sequence number; the new step.
    pub sequence: Option<u16>,
    /// Growth of the acknowledgment number; the new step.
    pub acknowledgment: Option<u16>,
    /// The window.
    pub window: Option<u16>,
    /// Timestamps, where the connection has them.
    pub timestamps: Option<Stamps>,
}

/// How timestamps are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stamps {
    /// The low halves of value and echo; those that are nearest to the last ones are meant. A delta would mean nothing once
    /// the packet before it was lost.
    Low(u16, u16),
    /// As they are, with the option's kind, length and padding.
    Whole(Timestamps),
}

mod mask {
    pub const WHOLE: u8 = 1;
    pub const CONTEXT: u8 = 2;
    pub const SEQUENCE: u8 = 4;
    pub const ACKNOWLEDGMENT: u8 = 8;
    pub const WINDOW: u8 = 16;
    pub const LOW: u8 = 32;
    pub const STAMPS: u8 = 64;
}

/// NOP, NOP, kind, length (RFC 7323 appendix A).
const STAMP_PREFIX: [u8; 4] = [1, 1, 8, 10];

impl Body {
    /// The body as bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(64);
        out.push(0);
        let (Body::Whole { context, .. } | Body::Changes { context, .. }) = self;
        if *context > 0 {
            out[0] |= mask::CONTEXT;
            out.push(*context);
        }
        match self {
            Body::Whole { steps, datagram, .. } => {
                out[0] |= mask::WHOLE;
                out.extend(steps.sequence.to_be_bytes());
                out.extend(steps.acknowledgment.to_be_bytes());
                out.extend_from_slice(datagram);
            }
            Body::Changes { changes, .. } => {
                let bits = changes.encode(&mut out);
                out[0] |= bits;
            }
        }
        out
    }

    /// Reads a body; `None` for anything that [`Body::encode`] does not write.
    pub fn decode(bytes: &[u8]) -> Option<Body> {
        let (&bits, mut rest) = bytes.split_first()?;
        let context = if bits & mask::CONTEXT != 0 { take::<1>(&mut rest)?[0] } else { 0 };
        if (bits & mask::CONTEXT != 0) != (context > 0) || bits & 128 != 0 {
            return None;
        }
        if bits & mask::WHOLE != 0 {
            let steps = Steps {
                sequence: u16::from_be_bytes(take(&mut rest)?),
                acknowledgment: u16::from_be_bytes(take(&mut rest)?),
            };
            let datagram = Bytes::copy_from_slice(rest);
            return (bits & !mask::CONTEXT == mask::WHOLE).then_some(Body::Whole { context, steps, datagram });
        }
        let changes = Changes::decode(bits, &mut rest)?;
        rest.is_empty().then_some(Body::Changes { context, changes })
    }
}

impl Changes {
    fn encode(&self, out: &mut Vec<u8>) -> u8 {
        let mut bits = 0;
        out.extend(self.checksum.to_be_bytes());
        for (growth, bit) in [(self.sequence, mask::SEQUENCE), (self.acknowledgment, mask::ACKNOWLEDGMENT)] {
            if let Some(growth) = growth {
                bits |= bit;
                write_growth(growth, out);
            }
        }
        if let Some(window) = self.window {
            bits |= mask::WINDOW;
            out.extend(window.to_be_bytes());
        }
        match self.timestamps {
            None => {}
            Some(Stamps::Low(value, echo)) => {
                bits |= mask::LOW;
                out.extend(value.to_be_bytes());
                out.extend(echo.to_be_bytes());
            }
            Some(Stamps::Whole(stamps)) => {
                bits |= mask::STAMPS;
                out.extend(STAMP_PREFIX);
                out.extend(stamps.value.to_be_bytes());
                out.extend(stamps.echo.to_be_bytes());
            }
        }
        bits
    }

    fn decode(bits: u8, rest: &mut &[u8]) -> Option<Changes> {
        let has = |bit: u8| bits & bit != 0;
        let mut changes = Changes { checksum: u16::from_be_bytes(take(rest)?), ..Changes::default() };
        if has(mask::SEQUENCE) {
            changes.sequence = Some(read_growth(rest)?);
        }
        if has(mask::ACKNOWLEDGMENT) {
            changes.acknowledgment = Some(read_growth(rest)?);
        }
        if has(mask::WINDOW) {
            changes.window = Some(u16::from_be_bytes(take(rest)?));
        }
        changes.timestamps = match (has(mask::LOW), has(mask::STAMPS)) {
            (false, false) => None,
            (true, false) => Some(Stamps::Low(u16::from_be_bytes(take(rest)?), u16::from_be_bytes(take(rest)?))),
            (false, true) => {
                let prefix: [u8; 4] = take(rest)?;
                let stamps =
                    Timestamps { value: u32::from_be_bytes(take(rest)?), echo: u32::from_be_bytes(take(rest)?) };
                Some(Stamps::Whole(stamps)).filter(|_| prefix == STAMP_PREFIX)
            }
            (true, true) => return None,
        };
        (changes.timestamps.is_some() == has(mask::LOW | mask::STAMPS)).then_some(changes)
    }
}

fn write_growth(growth: u16, out: &mut Vec<u8>) {
    match u8::try_from(growth) {
        Ok(growth @ 1..) => out.push(growth),
        _ => {
            out.push(0);
            out.extend(growth.to_be_bytes());
        }
    }
}

fn read_growth(rest: &mut &[u8]) -> Option<u16> {
    match take(rest)? {
        [0] => Some(u16::from_be_bytes(take(rest)?)).filter(|growth| *growth == 0 || *growth > 255),
        [growth] => Some(u16::from(growth)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;

    fn changes(changes: Changes) -> Body {
        Body::Changes { context: 0, changes }
    }

    #[test]
    fn bodies_read_back_and_nothing_shorter_or_longer_does() {
        let plain = Changes { checksum: 0xabcd, ..Changes::default() };
        let stamps = Timestamps { value: 1 << 20, echo: 7 };
        let all = Changes {
            sequence: Some(3000),
            acknowledgment: Some(0),
            window: Some(9),
            timestamps: Some(Stamps::Low(1, 2)),
            ..plain
        };
        let bodies = vec![
            changes(plain),
            changes(Changes { sequence: Some(255), timestamps: Some(Stamps::Whole(stamps)), ..plain }),
            changes(all),
            Body::Changes { context: 9, changes: all },
        ];
        for body in bodies {
            let mut bytes = body.encode();
            assert_eq!(Body::decode(&bytes), Some(body));
            assert!((0..bytes.len()).all(|len| Body::decode(&bytes[..len]).is_none()));
            bytes.push(0);
            assert_eq!(Body::decode(&bytes), None);
        }
        let whole =
            Body::Whole { context: 3, steps: Steps { sequence: 1500, acknowledgment: 0 }, datagram: Bytes::new() };
        assert_eq!(Body::decode(&whole.encode()), Some(whole));
    }

    #[test]
    fn a_number_has_one_encoding_only() {
        for growth in [0, 1, 255, 256, 65535] {
            let mut out = Vec::new();
            write_growth(growth, &mut out);
            assert_eq!(out.len(), if (1..256).contains(&growth) { 1 } else { 3 });
            assert_eq!(read_growth(&mut &out[..]), Some(growth));
        }
        assert_eq!(read_growth(&mut &[0, 0, 255][..]), None);
    }

    #[test]
    fn dec_41_a_header_that_grew_by_its_step_is_3_bytes_and_15_with_timestamps() {
        let plain = Changes { checksum: 1, ..Changes::default() };
        let size = |timestamps| changes(Changes { timestamps, ..plain }).encode().len();
        let whole = Stamps::Whole(Timestamps::default());
        assert_eq!([size(None), size(Some(whole)), size(Some(Stamps::Low(1, 2)))], [3, 15, 7]);
    }
}
