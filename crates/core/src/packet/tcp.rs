//! The TCP header (RFC 9293) and the options a middlebox or endpoint acts on: MSS, window
//! scale and timestamps (RFC 7323), SACK (RFC 2018). Other options stay in the original bytes
//! of a live packet, untouched.

use crate::serial::SeqNum;
use core::fmt;
use core::mem::offset_of;

/// A parsed TCP header; by default one in which all is zero.
///
/// In this order in memory, as are its parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct TcpHeader {
    /// Sender's port.
    pub source_port: u16,
    /// Receiver's port.
    pub destination_port: u16,
    /// First sequence number of the segment.
    pub sequence: SeqNum,
    /// Next byte expected from the other side; meaningful with ACK.
    pub acknowledgment: SeqNum,
    /// Control bits.
    pub flags: TcpFlags,
    /// Receive window as on the wire: before scaling.
    pub window: u16,
    /// Urgent pointer; meaningful with URG.
    pub urgent: u16,
    /// Options we understand.
    pub options: TcpOptions,
}

impl TcpHeader {
    /// Bytes in memory before the blocks of [`SackBlocks`], which few segments have.
    pub(super) const FIRST_MEMORY: usize =
        offset_of!(TcpHeader, options) + offset_of!(TcpOptions, sack) + offset_of!(SackBlocks, blocks);
}

/// Control bits, in the order of the wire (bit 8 is AE, formerly NS; bits 9 and 10 are the lower of the three reserved ones).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpFlags(pub u16);

macro_rules! flags {
    ($($(#[$doc:meta])* $constant:ident $getter:ident = $bit:literal;)+) => {
        impl TcpFlags {
            $($(#[$doc])* pub const $constant: TcpFlags = TcpFlags($bit);
              $(#[$doc])* pub const fn $getter(self) -> bool { self.0 & $bit != 0 })+
        }
    };
}

flags! {
    /// No more data from the sender.
    FIN fin = 0x01;
    /// Synchronise sequence numbers.
    SYN syn = 0x02;
    /// Reset the connection.
    RST rst = 0x04;
    /// Push.
    PSH psh = 0x08;
    /// The acknowledgment field is meaningful.
    ACK ack = 0x10;
    /// The urgent pointer is meaningful.
    URG urg = 0x20;
    /// ECN echo (RFC 3168).
    ECE ece = 0x40;
    /// Congestion window reduced (RFC 3168).
    CWR cwr = 0x80;
    /// Accurate ECN (formerly nonce sum).
    AE ae = 0x100;
    /// Explicit loss notification: the segment acknowledged next was lost by a link, not by
    /// congestion (Balakrishnan & Katz 1998, "one of the unreserved bits"; R-10). No RFC assigns it.
    ELN eln = 0x200;
    /// The sender's box makes acknowledgments of the link's own for this connection: the other box of AS-TCP needs to send
    /// none (ours; the paper does not say how it knows). No RFC assigns it.
    EMULATED emulated = 0x400;
}

impl TcpFlags {
    /// Both sets.
    pub const fn with(self, other: TcpFlags) -> TcpFlags {
        TcpFlags(self.0 | other.0)
    }
    /// Without the bits of `other`.
    pub const fn without(self, other: TcpFlags) -> TcpFlags {
        TcpFlags(self.0 & !other.0)
    }
}

/// The timestamp option (RFC 7323 section 3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timestamps {
    /// Sender's clock (TSval).
    pub value: u32,
    /// Echo of the other side's clock (TSecr).
    pub echo: u32,
}

/// Up to four SACK blocks (RFC 2018), in the order of the wire.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct SackBlocks {
    len: u8,
    /// Behind the first `len` of them is anything.
    blocks: [(SeqNum, SeqNum); 4],
}

impl PartialEq for SackBlocks {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for SackBlocks {}

impl SackBlocks {
    /// The blocks as `[left, right)` edges.
    pub fn as_slice(&self) -> &[(SeqNum, SeqNum)] {
        &self.blocks[..usize::from(self.len)]
    }
    /// Adds a block if there is space; says whether it did.
    pub fn push(&mut self, left: SeqNum, right: SeqNum) -> bool {
        let Some(slot) = self.blocks.get_mut(usize::from(self.len)) else {
            return false;
        };
        *slot = (left, right);
        self.len += 1;
        true
    }
    /// Takes all out.
    #[inline]
    pub fn clear(&mut self) {
        self.len = 0;
    }
    /// True without blocks.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl fmt::Debug for SackBlocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.as_slice().iter().map(|(l, r)| (l.0, r.0))).finish()
    }
}

/// The options we understand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct TcpOptions {
    /// Largest segment the sender of this packet can receive; on SYN.
    pub mss: Option<u16>,
    /// Shift count of the window; on SYN.
    pub window_scale: Option<u8>,
    /// The sender of this packet can receive SACK; on SYN.
    pub sack_permitted: bool,
    /// Timestamps.
    pub timestamps: Option<Timestamps>,
    /// Received blocks.
    pub sack: SackBlocks,
}

/// Longest option area TCP can carry.
pub const MAX_OPTIONS: usize = 40;

impl TcpOptions {
    /// Bytes of options when synthesised by [`TcpOptions::write`]; a multiple of four.
    ///
    /// SACK blocks that do not fit beside the others are left out.
    #[inline]
    pub fn len(&self) -> usize {
        let fixed = self.mss.map_or(0, |_| 4)
            + self.window_scale.map_or(0, |_| 4)
            + if self.sack_permitted && self.timestamps.is_none() { 4 } else { 0 }
            + self.timestamps.map_or(0, |_| 12);
        // As in nearly every segment.
        if self.sack.is_empty() {
            return fixed;
        }
        let blocks = self.fitting_sack(fixed);
        fixed + blocks * 8 + if blocks > 0 { 4 } else { 0 }
    }

    /// True without any option.
    pub fn is_empty(&self) -> bool {
        *self == TcpOptions::default()
    }

    fn fitting_sack(&self, fixed: usize) -> usize {
        self.sack.as_slice().len().min((MAX_OPTIONS.saturating_sub(fixed + 4)) / 8)
    }

    /// Writes the options as Linux lays them out; returns their length.
    pub fn write(&self, out: &mut [u8; MAX_OPTIONS]) -> usize {
        let mut writer = Writer { out, at: 0 };
        if let Some(mss) = self.mss {
            writer.put(&[2, 4]);
            writer.put(&mss.to_be_bytes());
        }
        if let Some(timestamps) = self.timestamps {
            writer.put(if self.sack_permitted { &[4, 2, 8, 10] } else { &[1, 1, 8, 10] });
            writer.put(&timestamps.value.to_be_bytes());
            writer.put(&timestamps.echo.to_be_bytes());
        } else if self.sack_permitted {
            writer.put(&[1, 1, 4, 2]);
        }
        if let Some(shift) = self.window_scale {
            writer.put(&[1, 3, 3, shift]);
        }
        let blocks = self.fitting_sack(writer.at);
        if blocks > 0 {
            writer.put(&[1, 1, 5, 2 + 8 * blocks as u8]);
            for (left, right) in &self.sack.as_slice()[..blocks] {
                writer.put(&left.0.to_be_bytes());
                writer.put(&right.0.to_be_bytes());
            }
        }
        writer.at
    }

    /// Reads an option area. Unknown kinds are skipped; `None` if the area is malformed.
    ///
    /// Also returns where the timestamp value stands, for edits in place.
    pub fn parse(area: &[u8]) -> Option<(TcpOptions, Option<usize>)> {
        let (mut options, mut timestamps_at, mut at) = (TcpOptions::default(), None, 0);
        while at < area.len() {
            let kind = area[at];
            if kind == 0 {
                break;
            }
            if kind == 1 {
                at += 1;
                continue;
            }
            let len = usize::from(*area.get(at + 1)?);
            let body = area.get(at + 2..at + len)?;
            match (kind, body.len()) {
                (2, 2) => options.mss = Some(u16::from_be_bytes([body[0], body[1]])),
                (3, 1) => options.window_scale = Some(body[0]),
                (4, 0) => options.sack_permitted = true,
                (5, 8 | 16 | 24 | 32) => {
                    options.sack = SackBlocks::default();
                    for block in body.chunks_exact(8) {
                        options.sack.push(SeqNum(be32(block)), SeqNum(be32(&block[4..])));
                    }
                }
                (8, 8) => {
                    options.timestamps = Some(Timestamps { value: be32(body), echo: be32(&body[4..]) });
                    timestamps_at = Some(at + 2);
                }
                _ => {}
            }
            at += len;
        }
        Some((options, timestamps_at))
    }

    /// Whether [`TcpOptions::parse`] understands every option of an area.
    pub fn are_known(area: &[u8]) -> bool {
        let mut rest = area;
        loop {
            let (kind, len) = match *rest {
                [] | [0, ..] => return true,
                [1, ..] => (1, 1),
                [kind, len, ..] => (kind, usize::from(len)),
                [_] => return false,
            };
            let is_known = matches!((kind, len), (1, 1) | (2, 4) | (3, 3) | (4, 2) | (5, 10 | 18 | 26 | 34) | (8, 10));
            match rest.get(len..).filter(|_| is_known) {
                Some(behind) => rest = behind,
                None => return false,
            }
        }
    }
}

struct Writer<'a> {
    out: &'a mut [u8; MAX_OPTIONS],
    at: usize,
}

impl Writer<'_> {
    /// Appends what fits; `len` made sure that everything we write does.
    fn put(&mut self, bytes: &[u8]) {
        if let Some(slot) = self.out.get_mut(self.at..self.at + bytes.len()) {
            slot.copy_from_slice(bytes);
            self.at += bytes.len();
        }
    }
}

pub(super) fn be32(bytes: &[u8]) -> u32 {
    u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every_option() -> TcpOptions {
        TcpOptions {
            mss: Some(1460),
            window_scale: Some(7),
            sack_permitted: true,
            timestamps: Some(Timestamps { value: 1, echo: 2 }),
            sack: SackBlocks::default(),
        }
    }

    #[test]
    fn written_options_read_back_and_have_the_promised_length() {
        let mut with_sack = every_option();
        with_sack.mss = None;
        with_sack.window_scale = None;
        with_sack.sack_permitted = false;
        for left in [10, 30, 50] {
            with_sack.sack.push(SeqNum(left), SeqNum(left + 10));
        }
        for options in [TcpOptions::default(), every_option(), with_sack] {
            let mut area = [0; MAX_OPTIONS];
            let len = options.write(&mut area);
            assert_eq!(len, options.len());
            assert_eq!(len % 4, 0);
            assert_eq!(TcpOptions::parse(&area[..len]).unwrap().0, options);
        }
    }

    #[test]
    fn options_that_run_past_their_area_are_malformed() {
        assert!(TcpOptions::parse(&[8, 10, 0, 0]).is_none());
        assert!(TcpOptions::parse(&[8]).is_none());
        assert!(TcpOptions::parse(&[8, 1]).is_none());
        assert!(TcpOptions::parse(&[99, 0]).is_none());
    }

    #[test]
    fn unknown_options_are_skipped() {
        let area = [254, 4, 1, 2, 2, 4, 5, 180];
        assert_eq!(TcpOptions::parse(&area).unwrap().0.mss, Some(1460));
    }

    #[test]
    fn unknown_options_are_noticed() {
        let mut area = [0; MAX_OPTIONS];
        let len = every_option().write(&mut area);
        assert!(TcpOptions::are_known(&area[..len]) && TcpOptions::are_known(&[]));
        assert!(TcpOptions::are_known(&[1, 0, 254, 4]), "nothing counts behind the end of the list");
        for area in [&[1, 254, 2][..], &[2, 4, 5, 180, 254, 4, 1, 2], &[8, 8, 0, 0, 0, 0, 0, 0], &[2, 4, 5], &[2]] {
            assert!(!TcpOptions::are_known(area), "{area:?}");
        }
    }
}
