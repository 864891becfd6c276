//! A shim: bytes that one end of a hop puts behind a packet's IP header and the other end takes
//! off again, as a link-layer protocol has its header in every frame.
//!
//! Addresses stay where they are, so routers between the two ends, and the kernel's own
//! forwarding on both, carry a shimmed packet like any other. Its protocol number becomes 254
//! (RFC 4727: experimentation), so nobody on the way takes it for TCP.
//!
//! ```text
//!  0               1               2               4
//!  | protocol      | body length   | checksum      | body …      | the packet's own content …
//! ```
//!
//! A fragment of IPv4 is none on the hop, so that nobody on the way puts it together with others: its fragment word is
//! the last two bytes of the body then, and the highest bit of the body length says so. IPv6 has it in a header of its own,
//! which is content here.
//!
//! The checksum (RFC 1071) covers the shim and everything behind it: a hop that repairs must find
//! damage itself, also in what is not TCP. A simulated packet has its mark for that.

use super::ip::protocol;
use super::tcp::TcpHeader;
use super::{Content, Packet, checksum};
use alloc::boxed::Box;
use alloc::vec::Vec;
use bytes::Bytes;

/// Bytes of a shim before its body.
pub const SHIM_HEADER: u32 = 4;

/// What the fragment word of an IPv4 header takes.
const FRAGMENT_WORD: u32 = 2;
/// In the length of a body: its last two bytes are the fragment word.
const IS_FRAGMENT: u8 = 0x80;
/// Longest body of a shim, in bytes.
const MAX_BODY: usize = 125;

/// The shim of a packet whose bytes are not written out.
#[derive(Clone, Debug)]
pub(super) struct Shim {
    pub body: Bytes,
    /// What the IP header said before.
    pub protocol: u8,
    pub tcp: Option<TcpHeader>,
    /// Damaged before the hop: that is not the hop's to find.
    pub corrupted: bool,
}

/// What [`Packet::take_shim`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TakenShim {
    /// There is none; the packet is as it was.
    None,
    /// The body of the shim; the packet is as it was before [`Packet::push_shim`].
    Body(Bytes),
    /// The packet was damaged on the way, and is as it came.
    Damaged,
}

impl Packet {
    /// Puts a shim with `body` behind the IP header; the packet grows by [`SHIM_HEADER`] and the
    /// body, and by two bytes more if it is a fragment of IPv4. False, and nothing changes, where that cannot be: a datagram
    /// that would be too long, a body above 125 bytes, a simulated packet that has a shim already.
    pub fn push_shim(&mut self, body: &[u8]) -> bool {
        let grown = SHIM_HEADER + body.len() as u32;
        let inner = &mut *self.0;
        if inner.ip.total_len + grown + FRAGMENT_WORD > 0xffff || body.len() > MAX_BODY || inner.shim.is_some() {
            return false;
        }
        if let Content::Wire { datagram, .. } = &inner.content {
            let shimmed = insert(datagram, body);
            let grown = shimmed.len() as i64 - datagram.len() as i64;
            let Some(packet) = Packet::parse(shimmed.into()) else { return false };
            self.replace_bytes(packet, grown);
            return true;
        }
        let protocol = core::mem::replace(&mut inner.ip.protocol, protocol::EXPERIMENT);
        inner.ip.total_len += grown;
        inner.override_wire_len(inner.wire_len_override().map(|len| len + grown));
        let corrupted = core::mem::take(&mut inner.corrupted);
        let body = Bytes::copy_from_slice(body);
        inner.shim = Some(Box::new(Shim { body, protocol, tcp: inner.tcp.take(), corrupted }));
        true
    }

    /// Takes the shim off.
    pub fn take_shim(&mut self) -> TakenShim {
        let inner = &mut *self.0;
        if inner.ip.protocol != protocol::EXPERIMENT || inner.ip.is_fragment {
            return TakenShim::None;
        }
        if let Content::Wire { datagram, .. } = &inner.content {
            let Some((body, rest)) = remove(datagram, usize::from(inner.ip.header_len)).filter(|_| !inner.corrupted)
            else {
                return TakenShim::Damaged;
            };
            let Some(packet) = Packet::parse(rest.into()) else { return TakenShim::Damaged };
            let shrunk = i64::from(packet.0.ip.total_len) - i64::from(self.0.ip.total_len);
            self.replace_bytes(packet, shrunk);
            return TakenShim::Body(body);
        }
        let Some(shim) = inner.shim.take_if(|_| !inner.corrupted) else {
            return if inner.shim.is_some() { TakenShim::Damaged } else { TakenShim::None };
        };
        let grown = SHIM_HEADER + shim.body.len() as u32;
        (inner.ip.protocol, inner.tcp, inner.corrupted) = (shim.protocol, shim.tcp, shim.corrupted);
        inner.ip.total_len -= grown;
        inner.override_wire_len(inner.wire_len_override().map(|len| len.saturating_sub(grown)));
        TakenShim::Body(shim.body)
    }

    /// Takes over the bytes of `packet`, which has `grown` bytes more than this one.
    fn replace_bytes(&mut self, mut packet: Packet, grown: i64) {
        packet.0.corrupted = self.0.corrupted;
        let wire_len = self.0.wire_len_override();
        let grown_len = |len| (i64::from(len) + grown).clamp(0, i64::from(u32::MAX)) as u32;
        packet.0.override_wire_len(wire_len.map(grown_len));
        *self = packet;
    }
}

/// Completes the shim that starts at `at`: everything behind it is written.
pub(super) fn seal(datagram: &mut [u8], at: usize) {
    datagram[at + 2..at + 4].fill(0);
    let field = !checksum::fold(checksum::add(0, &datagram[at..]));
    datagram[at + 2..at + 4].copy_from_slice(&field.to_be_bytes());
}

/// Where the content begins: IPv4 options stay in front, IPv6 extension headers go behind.
pub(super) fn content_at(datagram: &[u8]) -> usize {
    if datagram[0] >> 4 == 4 { usize::from(datagram[0] & 15) * 4 } else { 40 }
}

/// A datagram with a shim in it.
fn insert(datagram: &[u8], body: &[u8]) -> Vec<u8> {
    let at = content_at(datagram);
    let fragment = fragment_of(datagram);
    let mut out = Vec::with_capacity(datagram.len() + SHIM_HEADER as usize + body.len() + FRAGMENT_WORD as usize);
    out.extend_from_slice(&datagram[..at]);
    let len = body.len() as u8 + fragment.map_or(0, |_| IS_FRAGMENT + FRAGMENT_WORD as u8);
    out.extend_from_slice(&[protocol_of(datagram), len, 0, 0]);
    out.extend_from_slice(body);
    if let Some(word) = fragment {
        out.extend_from_slice(&word);
        set_fragment(&mut out, [0; 2]);
    }
    out.extend_from_slice(&datagram[at..]);
    seal(&mut out, at);
    rewrite_header(&mut out, protocol::EXPERIMENT);
    out
}

/// The body of the shim and the datagram without it; `None` if the checksum or a length is wrong.
fn remove(datagram: &Bytes, at: usize) -> Option<(Bytes, Vec<u8>)> {
    let shim = datagram.get(at..)?;
    let (next, len) = (*shim.first()?, *shim.get(1)?);
    let is_fragment = len & IS_FRAGMENT != 0;
    let len = usize::from(len & !IS_FRAGMENT);
    let rest_at = at + SHIM_HEADER as usize + len;
    let word_len = if is_fragment { FRAGMENT_WORD as usize } else { 0 };
    if datagram.len() < rest_at
        || len < word_len
        || is_fragment && datagram[0] >> 4 != 4
        || checksum::fold(checksum::add(0, shim)) != 0xffff
    {
        return None;
    }
    let mut out = Vec::with_capacity(datagram.len());
    out.extend_from_slice(&datagram[..at]);
    out.extend_from_slice(&datagram[rest_at..]);
    if let Some(word) = datagram[..rest_at].last_chunk::<2>().filter(|_| is_fragment) {
        set_fragment(&mut out, *word);
    }
    rewrite_header(&mut out, next);
    Some((datagram.slice(rest_at - len..rest_at - word_len), out))
}

/// Flags and offset of a fragment of IPv4.
fn fragment_of(datagram: &[u8]) -> Option<[u8; 2]> {
    let word = [datagram[6], datagram[7]];
    (datagram[0] >> 4 == 4 && u16::from_be_bytes(word) & 0x3fff != 0).then_some(word)
}

fn set_fragment(datagram: &mut [u8], word: [u8; 2]) {
    let (old, sum) = (u16::from_be_bytes([datagram[6], datagram[7]]), u16::from_be_bytes([datagram[10], datagram[11]]));
    datagram[6..8].copy_from_slice(&word);
    datagram[10..12].copy_from_slice(&checksum::update(sum, old, u16::from_be_bytes(word)).to_be_bytes());
}

pub(super) fn protocol_of(datagram: &[u8]) -> u8 {
    if datagram[0] >> 4 == 4 { datagram[9] } else { datagram[6] }
}

/// Sets protocol and length of an IP header to what the datagram has become.
pub(super) fn rewrite_header(d: &mut [u8], protocol: u8) {
    if d[0] >> 4 == 4 {
        let length = (d.len() as u16).to_be_bytes();
        let word = |d: &[u8], at: usize| u16::from_be_bytes([d[at], d[at + 1]]);
        let (old_length, old_protocol) = (word(d, 2), word(d, 8));
        d[2..4].copy_from_slice(&length);
        d[9] = protocol;
        let sum = checksum::update(word(d, 10), old_length, word(d, 2));
        let sum = checksum::update(sum, old_protocol, word(d, 8));
        d[10..12].copy_from_slice(&sum.to_be_bytes());
    } else {
        let length = ((d.len() - 40) as u16).to_be_bytes();
        d[4..6].copy_from_slice(&length);
        d[6] = protocol;
    }
}
