//! A packet as a string of bytes from which the same packet can be made again: what an erasure
//! code works on.
//!
//! For real bytes it is the datagram, with the IPv4 header checksum computed afresh: routers update
//! it in ways that differ by the two representations of zero. A virtual payload is written as the stretch of the stream
//! that it is, so that what is recovered in the simulator is again exactly that stretch; one without bytes is no stretch.
//!
//! ```text
//! byte 0     bit 0: virtual, bit 1: a length on the medium follows, bit 2: damaged
//! then       [length on the medium u32]  [stream u64, offset u64]  datagram, or its headers if virtual
//! ```

use super::{Content, Packet, checksum};
use alloc::vec::Vec;
use bytes::Bytes;

const VIRTUAL: u8 = 1;
const WIRE_LEN: u8 = 2;
const DAMAGED: u8 = 4;

impl Packet {
    /// The packet as bytes for [`Packet::from_image`].
    pub fn to_image(&self) -> Vec<u8> {
        let inner = &*self.0;
        let mut out = Vec::with_capacity(64);
        let bit = |set: bool, bit: u8| if set { bit } else { 0 };
        let is_virtual = matches!(inner.content, Content::Virtual { len: 1.., .. });
        out.push(bit(is_virtual, VIRTUAL) | bit(inner.has_wire_len, WIRE_LEN) | bit(inner.corrupted, DAMAGED));
        out.extend(inner.wire_len_override().iter().flat_map(|len| len.to_be_bytes()));
        if let Content::Virtual { stream, offset, len: 1.. } = inner.content {
            out.extend(stream.to_be_bytes());
            out.extend(offset.to_be_bytes());
            out.extend_from_slice(&self.headers());
        } else {
            let at = out.len();
            out.extend_from_slice(&self.to_wire());
            seal_ipv4(&mut out[at..]);
        }
        out
    }

    /// The packet that an image shows; `None` if the bytes are not one.
    pub fn from_image(image: &[u8]) -> Option<Packet> {
        let (&kind, mut rest) = image.split_first()?;
        let wire_len = if kind & WIRE_LEN != 0 { Some(u32::from_be_bytes(take(&mut rest)?)) } else { None };
        let mut packet = if kind & VIRTUAL != 0 {
            let (stream, offset) = (u64::from_be_bytes(take(&mut rest)?), u64::from_be_bytes(take(&mut rest)?));
            from_headers(rest, stream, offset)?
        } else {
            Packet::parse(Bytes::copy_from_slice(rest))?
        };
        packet.0.override_wire_len(wire_len);
        packet.0.corrupted = kind & DAMAGED != 0;
        (kind & !(VIRTUAL | WIRE_LEN | DAMAGED) == 0).then_some(packet)
    }
}

/// Computes the header checksum of an IPv4 datagram.
fn seal_ipv4(datagram: &mut [u8]) {
    let len = usize::from(datagram[0] & 15) * 4;
    if datagram[0] >> 4 == 4 {
        datagram[10..12].fill(0);
        let field = !checksum::fold(checksum::add(0, &datagram[..len]));
        datagram[10..12].copy_from_slice(&field.to_be_bytes());
    }
}

/// A packet of headers that count a payload which is not there.
fn from_headers(headers: &[u8], stream: u64, offset: u64) -> Option<Packet> {
    let total = match headers.first()? >> 4 {
        4 => usize::from(u16::from_be_bytes([*headers.get(2)?, *headers.get(3)?])),
        _ => 40 + usize::from(u16::from_be_bytes([*headers.get(4)?, *headers.get(5)?])),
    };
    let len = total.checked_sub(headers.len())?;
    let mut datagram = Vec::with_capacity(total);
    datagram.extend_from_slice(headers);
    datagram.resize(total, 0);
    let mut packet = Packet::parse(datagram.into())?;
    packet.tcp().filter(|_| packet.payload_len() as usize == len)?;
    packet.0.content = Content::Virtual { stream, offset, len: len as u32 };
    Some(packet)
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (head, tail) = rest.split_first_chunk::<N>()?;
    *rest = tail;
    Some(*head)
}
