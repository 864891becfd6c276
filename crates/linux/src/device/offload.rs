//! What the kernel leaves undone on a datagram that it hands over, and what it is to do on one that it is given: the
//! header before each (`struct virtio_net_hdr`, linux/virtio_net.h; tun's in the byte order of the machine).
//!
//! A *super-frame* is many TCP segments of one flow in one datagram, with one header (TSO, GRO).

use crate::sys::tun::OFFLOAD_HEADER as HEADER;
use airtcp_core::packet::checksum;

const NEEDS_CHECKSUM: u8 = 1;
const CHECKSUM_IS_CHECKED: u8 = 2;
const TCP_V4: u8 = 1;
const TCP_V6: u8 = 4;
/// Added to the kind where the first segment has CWR.
const ECN: u8 = 0x80;

/// The header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offload {
    flags: u8,
    kind: u8,
    headers: u16,
    segment: u16,
    checksum_from: u16,
    checksum_offset: u16,
}

impl Offload {
    /// From the bytes before a datagram.
    pub fn read(bytes: [u8; HEADER]) -> Offload {
        let word = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        Offload {
            flags: bytes[0],
            kind: bytes[1],
            headers: word(2),
            segment: word(4),
            checksum_from: word(6),
            checksum_offset: word(8),
        }
    }

    /// The bytes before a datagram.
    pub fn bytes(self) -> [u8; HEADER] {
        let mut bytes = [self.flags, self.kind, 0, 0, 0, 0, 0, 0, 0, 0];
        let words = [self.headers, self.segment, self.checksum_from, self.checksum_offset];
        for (at, word) in words.into_iter().enumerate() {
            bytes[2 + 2 * at..4 + 2 * at].copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }

    /// Of a super-frame: its headers' length, where TCP begins, and the payload of each segment but the last.
    pub fn tcp(is_ipv4: bool, tcp_at: usize, headers: usize, segment: usize) -> Offload {
        Offload {
            flags: NEEDS_CHECKSUM,
            kind: if is_ipv4 { TCP_V4 } else { TCP_V6 },
            headers: headers as u16,
            segment: segment as u16,
            checksum_from: tcp_at as u16,
            checksum_offset: 16,
        }
    }

    /// True if the kernel answers for the checksum once it is completed: it checked it, or the datagram was on no link yet.
    pub fn checksum_is_known_good(self) -> bool {
        self.flags & (NEEDS_CHECKSUM | CHECKSUM_IS_CHECKED) != 0
    }

    /// True if the datagram stands for several.
    pub fn is_super_frame(self) -> bool {
        self.kind != 0
    }

    /// Payload of each TCP segment of a super-frame but the last; `None` for another kind of frame.
    pub fn tcp_segment(self) -> Option<usize> {
        let is_tcp = matches!(self.kind & !ECN, TCP_V4 | TCP_V6);
        (is_tcp && self.segment > 0).then_some(usize::from(self.segment))
    }

    /// Computes the checksum that the kernel left to the hardware. A field that would lie outside stays as it is.
    pub fn complete_checksum(self, datagram: &mut [u8]) {
        let from = usize::from(self.checksum_from);
        let at = from + usize::from(self.checksum_offset);
        if self.flags & NEEDS_CHECKSUM == 0 || at + 2 > datagram.len() {
            return;
        }
        // The field holds the sum of the pseudo header already. UDP writes 0 for "no checksum" (RFC 768).
        let sum = !checksum::fold(checksum::add(0, &datagram[from..]));
        let sum = if sum == 0 { 0xffff } else { sum };
        datagram[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_as_it_was_written() {
        let offload = Offload::tcp(false, 40, 72, 1428);
        assert_eq!(Offload::read(offload.bytes()), offload);
        assert_eq!(offload.tcp_segment(), Some(1428));
        assert!(!Offload::default().is_super_frame());
    }

    #[test]
    fn the_kernel_answers_for_what_it_checked_or_did_not_compute_yet() {
        let known = |flags| Offload::read([flags, 0, 0, 0, 0, 0, 0, 0, 0, 0]).checksum_is_known_good();
        assert_eq!([0, NEEDS_CHECKSUM, CHECKSUM_IS_CHECKED].map(known), [false, true, true]);
    }

    #[test]
    fn a_checksum_outside_of_the_datagram_is_left_alone() {
        let mut bytes = [NEEDS_CHECKSUM, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        bytes[6..8].copy_from_slice(&60_000u16.to_ne_bytes());
        let mut datagram = [7; 40];
        Offload::read(bytes).complete_checksum(&mut datagram);
        assert_eq!(datagram, [7; 40]);
    }
}
