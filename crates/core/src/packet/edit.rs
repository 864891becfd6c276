//! Edits of single header fields: parsed form and, for a live packet, the bytes in place with
//! the checksums corrected incrementally (RFC 1624).

use super::ip::Ecn;
use super::tcp::{TcpFlags, Timestamps};
use super::{Content, Inner, Packet, checksum, parse};
use crate::serial::SeqNum;
use bytes::BytesMut;

impl Packet {
    /// Sets the ECN field.
    pub fn set_ecn(&mut self, ecn: Ecn) {
        self.set_traffic_class(self.0.ip.traffic_class & !3 | ecn.bits());
    }

    /// Sets DSCP and ECN.
    pub fn set_traffic_class(&mut self, class: u8) {
        self.0.ip.traffic_class = class;
        let is_v4 = self.0.ip.source.is_ipv4();
        self.0.edit_wire(|d| {
            if is_v4 {
                replace_byte(d, 1, class, 10);
            } else {
                d[0] = d[0] & 0xf0 | class >> 4;
                d[1] = d[1] & 0x0f | class << 4;
            }
        });
    }

    /// Sets the hop limit (TTL).
    #[inline]
    pub fn set_hop_limit(&mut self, hop_limit: u8) {
        self.0.ip.hop_limit = hop_limit;
        if matches!(self.0.content, Content::Wire { .. }) {
            self.0.patch_hop_limit();
        }
    }

    /// Takes one from the hop limit, which is above zero.
    #[inline]
    pub fn take_hop(&mut self) {
        debug_assert!(self.0.ip.hop_limit > 0, "who forwards looks at it");
        self.set_hop_limit(self.0.ip.hop_limit.wrapping_sub(1));
    }

    /// Sets the first sequence number. No effect on a packet that is not TCP.
    pub fn set_sequence(&mut self, sequence: SeqNum) {
        if let Some(tcp) = &mut self.0.tcp {
            tcp.sequence = sequence;
            self.0.patch_tcp(4, &sequence.0.to_be_bytes());
        }
    }

    /// Sets the acknowledgment number. No effect on a packet that is not TCP.
    pub fn set_acknowledgment(&mut self, acknowledgment: SeqNum) {
        if let Some(tcp) = &mut self.0.tcp {
            tcp.acknowledgment = acknowledgment;
            self.0.patch_tcp(8, &acknowledgment.0.to_be_bytes());
        }
    }

    /// Sets the control bits. No effect on a packet that is not TCP.
    pub fn set_flags(&mut self, flags: TcpFlags) {
        if let Some(tcp) = &mut self.0.tcp {
            tcp.flags = flags;
            let header_len = self.0.ip.header_len;
            let upper = match &self.0.content {
                Content::Wire { datagram, .. } => datagram[usize::from(header_len) + 12] & 0xf8,
                _ => 0,
            };
            self.0.patch_tcp(12, &[upper | (flags.0 >> 8) as u8 & 7, flags.0 as u8]);
        }
    }

    /// Sets the window field as on the wire. No effect on a packet that is not TCP.
    pub fn set_window(&mut self, window: u16) {
        if let Some(tcp) = &mut self.0.tcp {
            tcp.window = window;
            self.0.patch_tcp(14, &window.to_be_bytes());
        }
    }

    /// Sets the timestamps of a segment that carries the option; no effect on others.
    pub fn set_timestamps(&mut self, timestamps: Timestamps) {
        let Some(tcp) = &mut self.0.tcp else { return };
        if tcp.options.timestamps.is_none() {
            return;
        }
        tcp.options.timestamps = Some(timestamps);
        let at = match &self.0.content {
            Content::Wire { datagram, .. } => parse::timestamps_at(&datagram[usize::from(self.0.ip.header_len)..]),
            _ => None,
        };
        if let Some(at) = at {
            self.0.patch_tcp(at, &timestamps.value.to_be_bytes());
            self.0.patch_tcp(at + 4, &timestamps.echo.to_be_bytes());
        }
    }
}

impl Packet {
    /// Lowers the MSS that a SYN announces to `limit`, so that what comes back leaves room for
    /// what a hop adds; says whether it was above. No effect on other packets.
    pub fn clamp_mss(&mut self, limit: u16) -> bool {
        let Some(tcp) = self.0.tcp.as_mut().filter(|tcp| tcp.flags.syn()) else { return false };
        if tcp.options.mss.is_none_or(|mss| mss <= limit) {
            return false;
        }
        tcp.options.mss = Some(limit);
        let at = match &self.0.content {
            Content::Wire { datagram, .. } => parse::mss_at(&datagram[usize::from(self.0.ip.header_len)..]),
            _ => None,
        };
        if let Some(at) = at {
            self.0.patch_tcp(at, &limit.to_be_bytes());
        }
        true
    }
}

impl Inner {
    /// Runs `edit` on the original bytes, if there are any; copies them first if they are shared.
    fn edit_wire(&mut self, edit: impl FnOnce(&mut BytesMut)) {
        if let Content::Wire { datagram, .. } = &mut self.content {
            let mut bytes =
                core::mem::take(datagram).try_into_mut().unwrap_or_else(|shared| BytesMut::from(&shared[..]));
            edit(&mut bytes);
            *datagram = bytes.freeze();
        }
    }

    /// Writes the hop limit into the original bytes.
    fn patch_hop_limit(&mut self) {
        let (hop_limit, is_v4) = (self.ip.hop_limit, self.ip.source.is_ipv4());
        self.edit_wire(|d| {
            if is_v4 {
                replace_byte(d, 8, hop_limit, 10);
            } else {
                d[7] = hop_limit;
            }
        });
    }

    /// Overwrites bytes of the TCP header at `at` and corrects its checksum.
    fn patch_tcp(&mut self, at: usize, new: &[u8]) {
        let tcp_at = usize::from(self.ip.header_len);
        self.edit_wire(|d| {
            let segment = &mut d[tcp_at..];
            for (index, byte) in new.iter().enumerate() {
                replace_byte(segment, at + index, *byte, 16);
            }
        });
    }
}

/// Replaces one byte and updates the checksum at `field` for the 16-bit word it lies in.
fn replace_byte(segment: &mut [u8], at: usize, byte: u8, field: usize) {
    let word = at & !1;
    let old = u16::from_be_bytes([segment[word], segment[word + 1]]);
    segment[at] = byte;
    let new = u16::from_be_bytes([segment[word], segment[word + 1]]);
    let sum = u16::from_be_bytes([segment[field], segment[field + 1]]);
    let sum = checksum::update(sum, old, new);
    segment[field..field + 2].copy_from_slice(&sum.to_be_bytes());
}
