//! The body of the shim in every frame. Big endian. A *short* frame has only what the other end needs beside what it knows: the
//! low halves of numbers, and fields only where they say something. A *whole* one can be read by whoever knows nothing. The length
//! of the body tells which one it is.
//!
//! ```text
//! whole     incarnation u16, number u32, sequence u32, back u16, part (2 bits) and after (14 bits)      14 bytes
//! short     what follows u8, incarnation u8, number u16, sequence u16, [after u8 or u16], [back u16]    6 to 10 bytes
//! covered   either, and traffic class u8, hop limit u8: a packet that is in codes, and what routers may change of it
//! code      either, part 3: packets from `sequence` on, `after` of them; seed: the low bits of `number`
//!
//! part      0 whole packet, 1 head, 2 tail, 3 code
//! after     distance to the packet that this one goes behind, 0 for none
//! what follows, from the highest bit:
//!           part (2 bits), after (2 bits: 0 none, 1 the one before, 2 told in u8, 3 told in u16), back is told, covered, 0, 0
//! ```
//!
//! The near end sends short frames once the other end has acknowledged one of its frames, as long as no more than [`NEAR`] are in
//! between, and somebody answers. The other end then reads a number as the one that is nearest to the newest that came, so a frame that is late by
//! as many is still read right. Whoever does not follow the frames (it was restarted, or gave up the near end in an outage) cannot
//! read short ones, does not acknowledge them, and gets whole ones for that.

use crate::hop::Part;
use crate::position::{self, Position};
use crate::selective_repeat::{Frame, IN_STEP};
use airtcp_core::SeqNum;
use alloc::vec::Vec;

/// Bytes of the shim's body of a code, at most.
pub(super) const CODE_LEN: usize = WHOLE;
/// Bytes of the shim's body, at most.
pub const FRAME_LEN: usize = WHOLE + COVERED;

/// Bytes of a whole frame that is not covered.
const WHOLE: usize = 14;
/// Bytes of what routers may change.
const COVERED: usize = 2;
/// Short frames are sent while so many are in between, at most.
const NEAR: u64 = IN_STEP;
// What is near is read right although as many come late.
const _: () = assert!(NEAR <= 1 << 14);

/// The longest distance that a frame can tell, in packets.
const MOST_AFTER: u16 = 0x3fff;
/// In place of a part: a code.
const CODE: u8 = 3;
/// `back` of a frame that does not tell it: nothing can be so far back.
const NOT_TOLD: u16 = u16::MAX;

/// Bits of the first byte of a short frame.
mod follows {
    pub const PART: u32 = 6;
    pub const AFTER: u32 = 4;
    pub const BACK: u8 = 8;
    pub const COVERED: u8 = 4;
    pub const NOTHING: u8 = 3;
}

/// What a shim says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shim {
    /// As link ARQ has it; of a code, `sequence` is that of the first packet in it. Of a short frame that was not
    /// [completed](Shim::completed), the low bits of each number.
    pub frame: Frame,
    /// What the frame carries.
    pub kind: Kind,
    /// How much of it is told.
    pub form: Form,
}

/// How much a frame tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// All.
    Whole,
    /// The low bits of numbers.
    Short {
        /// Also the distance to the oldest packet that may be sent again.
        tells_back: bool,
    },
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

/// What short frames are read by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    /// The other end's present incarnation.
    pub incarnation: u16,
    /// Of its frames, if they are followed: the newest number, and the first sequence number that has not come.
    pub places: Option<(Position, Position)>,
}

impl Shim {
    /// A frame without its numbers is of no use: it is no packet.
    pub(super) fn is_partial(&self) -> bool {
        matches!(self.kind, Kind::Code { .. }) || self.frame.part != Part::Whole
    }

    /// True for a frame of the other end's present incarnation, as far as it tells.
    pub(super) fn is_of(&self, known: &Known) -> bool {
        let told = if self.form == Form::Whole { u16::MAX } else { 0xff };
        self.frame.incarnation == known.incarnation & told
    }

    /// True for a frame of an end that lives, and that cannot be read as long as it is not followed: it is not acknowledged, so its
    /// packet will be sent again, and must not come out twice.
    pub(super) fn comes_again(&self, known: &Known) -> bool {
        self.form != Form::Whole && self.is_of(known)
    }

    /// With its numbers; `None` if it is of another incarnation, or if there is nothing to read it by.
    pub(crate) fn completed(mut self, known: &Known) -> Option<Shim> {
        let Form::Short { tells_back } = self.form else {
            return (self.frame.incarnation == known.incarnation).then_some(self);
        };
        let (newest, expected) = known.places.filter(|_| self.frame.incarnation == known.incarnation & 0xff)?;
        let complete = |near, low: SeqNum| position::sequence(position::near_low(near, low.0 as u16));
        let frame = &mut self.frame;
        frame.incarnation = known.incarnation;
        frame.number = complete(newest, frame.number);
        frame.sequence = complete(expected, frame.sequence);
        if !tells_back {
            frame.back = NOT_TOLD;
        }
        Some(self)
    }
}

/// How a packet is ordered, as every frame of it says it.
pub(super) fn order_word(frame: &Frame) -> [u8; 2] {
    ((frame.part as u16) << 14 | told_after(frame)).to_be_bytes()
}

fn told_after(frame: &Frame) -> u16 {
    if frame.after > MOST_AFTER { 0 } else { frame.after }
}

/// The reverse: which packet it goes behind, and what it is.
pub(super) fn read_order_word(word: [u8; 2]) -> Option<(u16, Part)> {
    let word = u16::from_be_bytes(word);
    Some((word & MOST_AFTER, part_of((word >> 14) as u8)?))
}

fn part_of(number: u8) -> Option<Part> {
    [Part::Whole, Part::Head, Part::Tail].into_iter().find(|part| *part as u8 == number)
}

/// The shim's body.
pub fn encode_shim(shim: &Shim) -> Vec<u8> {
    let mut out = Vec::with_capacity(FRAME_LEN);
    match shim.form {
        Form::Whole => {
            out.extend(shim.frame.encode());
            match shim.kind {
                Kind::Code { count } => out.extend([CODE << 6, count]),
                _ => out.extend(order_word(&shim.frame)),
            }
        }
        Form::Short { tells_back } => write_short(shim, tells_back, &mut out),
    }
    if let Kind::Covered { traffic_class, hop_limit } = shim.kind {
        out.extend([traffic_class, hop_limit]);
    }
    out
}

fn write_short(Shim { frame, kind, .. }: &Shim, tells_back: bool, out: &mut Vec<u8>) {
    let after = told_after(frame);
    let (part, after_form, after) = match *kind {
        Kind::Code { count } => (CODE, 2, count.into()),
        _ => (frame.part as u8, if after > 0xff { 3 } else { after.min(2) as u8 }, after),
    };
    let (back, covered) = (u8::from(tells_back) * follows::BACK, matches!(kind, Kind::Covered { .. }));
    let covered = u8::from(covered) * follows::COVERED;
    out.extend([part << follows::PART | after_form << follows::AFTER | back | covered, frame.incarnation as u8]);
    out.extend((frame.number.0 as u16).to_be_bytes());
    out.extend((frame.sequence.0 as u16).to_be_bytes());
    match after_form {
        2 => out.push(after as u8),
        3 => out.extend(after.to_be_bytes()),
        _ => {}
    }
    if tells_back {
        out.extend(frame.back.to_be_bytes());
    }
}

/// Reads a shim's body; `None` if it is none of ours.
pub fn decode_shim(body: &[u8]) -> Option<Shim> {
    if body.len() < WHOLE { read_short(body) } else { read_whole(body) }
}

fn read_whole(body: &[u8]) -> Option<Shim> {
    let (frame, rest) = body.split_at_checked(crate::selective_repeat::FRAME_LEN)?;
    let frame = Frame::decode(frame)?;
    let (&word, rest) = rest.split_first_chunk::<2>()?;
    if let [high, count] = word
        && high == CODE << 6
    {
        let is_code = count > 0 && rest.is_empty();
        return is_code.then_some(Shim { frame, kind: Kind::Code { count }, form: Form::Whole });
    }
    let (after, part) = read_order_word(word)?;
    Some(Shim { frame: Frame { after, part, ..frame }, kind: read_kind(rest)?, form: Form::Whole })
}

fn read_kind(rest: &[u8]) -> Option<Kind> {
    match *rest {
        [] => Some(Kind::Packet),
        [traffic_class, hop_limit] => Some(Kind::Covered { traffic_class, hop_limit }),
        _ => None,
    }
}

fn read_short(body: &[u8]) -> Option<Shim> {
    let (&[what, incarnation, n0, n1, s0, s1], rest) = body.split_first_chunk::<6>()?;
    if what & follows::NOTHING != 0 {
        return None;
    }
    let (after, rest) = match (what >> follows::AFTER & 3, rest) {
        (3, &[high, low, ref rest @ ..]) => (u16::from_be_bytes([high, low]), rest),
        (2, &[after, ref rest @ ..]) => (after.into(), rest),
        (few @ 0..2, rest) => (few.into(), rest),
        _ => return None,
    };
    let tells_back = what & follows::BACK != 0;
    let (back, rest) = match rest {
        &[high, low, ref rest @ ..] if tells_back => (u16::from_be_bytes([high, low]), rest),
        _ if tells_back => return None,
        rest => (0, rest),
    };
    let (part, kind) = match (what >> follows::PART, read_kind(rest)?) {
        (CODE, Kind::Packet) => {
            (Part::Whole, Kind::Code { count: u8::try_from(after).ok().filter(|count| *count > 0)? })
        }
        (part, kind) => (part_of(part)?, kind),
    };
    let after = if part_of(what >> follows::PART).is_some() { after } else { 0 };
    let [number, sequence] = [[n0, n1], [s0, s1]].map(|low| SeqNum(u16::from_be_bytes(low).into()));
    let frame = Frame { incarnation: incarnation.into(), number, sequence, back, after, part };
    let shim = Shim { frame, kind, form: Form::Short { tells_back } };
    // Each has one encoding only.
    (encode_shim(&shim) == body).then_some(shim)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: Frame = Frame {
        incarnation: 0x0102,
        number: SeqNum(2),
        sequence: SeqNum(u32::MAX),
        back: 4,
        after: 5,
        part: Part::Tail,
    };
    const COVERED: Kind = Kind::Covered { traffic_class: 0xb8, hop_limit: 63 };
    const SHORT: Form = Form::Short { tells_back: false };
    const WITH_BACK: Form = Form::Short { tells_back: true };

    fn shim(frame: Frame, kind: Kind, form: Form) -> Shim {
        Shim { frame, kind, form }
    }

    fn known(newest: Position, expected: Position) -> Known {
        Known { incarnation: 0x0102, places: Some((newest, expected)) }
    }

    #[test]
    fn frames_read_back_and_nothing_shorter_or_longer_does() {
        let code = Frame { after: 0, part: Part::Whole, ..FRAME };
        for form in [Form::Whole, SHORT, WITH_BACK] {
            for (frame, kind) in [(FRAME, Kind::Packet), (FRAME, COVERED), (code, Kind::Code { count: 255 })] {
                for after in [0, 1, 2, 255, 256, MOST_AFTER] {
                    let is_code = matches!(kind, Kind::Code { .. });
                    let shim = shim(Frame { after: if is_code { 0 } else { after }, ..frame }, kind, form);
                    let bytes = encode_shim(&shim);
                    let read = decode_shim(&bytes).unwrap();
                    // Of numbers near those that are known, only the low bits are needed.
                    let read = read.completed(&known((7 << 32) + 9, (7 << 32) - 9)).unwrap();
                    let back = if form == SHORT { NOT_TOLD } else { frame.back };
                    assert_eq!(read, Shim { frame: Frame { back, ..shim.frame }, ..shim });
                    assert_eq!(decode_shim(&bytes[1..]).map(|shim| encode_shim(&shim).len()), None, "{shim:?}");
                    assert_eq!(decode_shim(&[&bytes[..], &[0]].concat()), None, "{shim:?}");
                }
            }
        }
        for form in [Form::Whole, SHORT] {
            let far = shim(Frame { after: 0x4000, part: Part::Head, ..FRAME }, Kind::Packet, form);
            let read = decode_shim(&encode_shim(&far)).unwrap();
            assert_eq!((read.frame.after, read.frame.part), (0, Part::Head), "too far to tell");
        }
    }

    #[test]
    fn a_frame_takes_as_many_bytes_as_the_page_says() {
        let len = |frame, kind, form| encode_shim(&shim(frame, kind, form)).len();
        let next = Frame { after: 1, ..FRAME };
        assert_eq!([len(next, Kind::Packet, SHORT), len(next, COVERED, SHORT)], [6, 8]);
        assert_eq!([len(FRAME, Kind::Packet, SHORT), len(FRAME, Kind::Code { count: 1 }, SHORT)], [7, 7]);
        let longest = len(Frame { after: 256, ..FRAME }, COVERED, WITH_BACK);
        assert!(longest < WHOLE, "{longest}");
        assert_eq!([len(FRAME, Kind::Packet, Form::Whole), len(FRAME, COVERED, Form::Whole)], [14, FRAME_LEN]);
    }

    #[test]
    fn a_short_frame_is_read_right_from_as_far_as_half_of_its_numbers() {
        let number = 5 << 32;
        let frame = Frame { number: position::sequence(number), sequence: position::sequence(number), ..FRAME };
        let read = decode_shim(&encode_shim(&shim(frame, Kind::Packet, SHORT))).unwrap();
        let from = |newest| read.completed(&known(newest, newest)).unwrap().frame.number;
        for newest in [number, number + 1, number - 1, number + (1 << 15), number + 1 - (1 << 15)] {
            assert_eq!(from(newest), frame.number, "{newest:#x}");
        }
        assert_ne!(from(number - (1 << 15)), frame.number);
        assert_ne!(from(number + (1 << 15) + 1), frame.number);
    }

    #[test]
    fn nobody_reads_a_frame_of_another_incarnation_and_a_short_one_only_whoever_follows() {
        for (form, needs) in [(Form::Whole, false), (SHORT, true)] {
            let read = decode_shim(&encode_shim(&shim(FRAME, Kind::Packet, form))).unwrap();
            assert!(read.completed(&Known { incarnation: 0x0103, places: Some((1, 1)) }).is_none());
            assert_eq!(read.completed(&Known { incarnation: 0x0102, places: None }).is_none(), needs);
        }
    }

    #[test]
    fn what_says_the_same_in_more_bytes_or_nothing_known_is_none_of_ours() {
        let ours = [0x30, 2, 0, 1, 0, 2, 1, 0];
        assert!(decode_shim(&ours).is_some());
        let others: [&[u8]; 6] = [
            &[0x30, 2, 0, 1, 0, 2, 0, 9],
            &[0x20, 2, 0, 1, 0, 2, 1],
            &[0x11, 2, 0, 1, 0, 2],
            &[0x30, 2, 0, 1, 0, 2, 0x40, 0],
            &[0xe0, 2, 0, 1, 0, 2, 0],
            &[0xd0, 2, 0, 1, 0, 2],
        ];
        for other in others {
            assert_eq!(decode_shim(other), None, "{other:x?}");
        }
        for form in [Form::Whole, SHORT] {
            assert_eq!(decode_shim(&encode_shim(&shim(FRAME, Kind::Code { count: 0 }, form))), None);
        }
    }
}
