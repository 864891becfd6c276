//! From fields to a [`Packet`], and from any packet to bytes.

use super::ip::{FlowKey, IpHeader, protocol};
use super::payload::{Payload, fill_virtual};
use super::tcp::{MAX_OPTIONS, SackBlocks, TcpFlags, TcpHeader, Timestamps};
use super::{Content, Inner, Packet, checksum, shim};
use crate::serial::SeqNum;
use alloc::vec::Vec;
use bytes::Bytes;
use core::net::IpAddr;

/// Everything about a packet of ours but its content.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    /// Source address.
    pub source: IpAddr,
    /// Destination address, same family.
    pub destination: IpAddr,
    /// DSCP and ECN.
    pub traffic_class: u8,
    /// The TCP header.
    pub tcp: TcpHeader,
}

/// What differs from one segment of a connection to the next.
#[derive(Clone, Copy, Debug)]
pub struct Fields {
    /// DSCP and ECN.
    pub traffic_class: u8,
    /// First sequence number of the segment.
    pub sequence: SeqNum,
    /// Next byte expected from the other side.
    pub acknowledgment: SeqNum,
    /// Control bits.
    pub flags: TcpFlags,
    /// Receive window as on the wire.
    pub window: u16,
    /// Timestamps, if the connection has them.
    pub timestamps: Option<Timestamps>,
}

impl Segment {
    /// Its IP header, with so many bytes of payload.
    fn ip(&self, payload_len: u32) -> IpHeader {
        let transport_len = 20 + self.tcp.options.len() as u32 + payload_len;
        let ip = ip_header(self.source, self.destination, protocol::TCP, transport_len);
        IpHeader { traffic_class: self.traffic_class, ..ip }
    }
}

/// Hop limit of packets made here (Linux's default).
const HOP_LIMIT: u8 = 64;

impl Packet {
    /// A TCP segment that carries `len` bytes from `offset` of the virtual stream `stream`.
    pub fn tcp_virtual(segment: &Segment, stream: u64, offset: u64, len: u32) -> Packet {
        Packet::new(segment.ip(len), Some(segment.tcp), Content::Virtual { stream, offset, len })
    }

    /// A TCP segment that carries real bytes.
    pub fn tcp_bytes(segment: &Segment, payload: Bytes) -> Packet {
        Packet::new(segment.ip(payload.len() as u32), Some(segment.tcp), Content::Bytes(payload))
    }

    /// As [`Packet::tcp_virtual`], of the connection between these ends, in the memory of `spare`, a packet that has ended.
    #[inline]
    pub fn tcp_virtual_in(
        spare: Option<Packet>,
        ends: &FlowKey,
        fields: &Fields,
        [stream, offset]: [u64; 2],
        len: u32,
    ) -> Packet {
        Packet::from_fields(spare, ends, fields, Content::Virtual { stream, offset, len }, len)
    }

    /// As [`Packet::tcp_bytes`], alike.
    #[inline]
    pub fn tcp_bytes_in(spare: Option<Packet>, ends: &FlowKey, fields: &Fields, payload: Bytes) -> Packet {
        let len = payload.len() as u32;
        Packet::from_fields(spare, ends, fields, Content::Bytes(payload), len)
    }

    /// Field by field, so that nothing is put together elsewhere and copied.
    #[inline(always)]
    fn from_fields(spare: Option<Packet>, ends: &FlowKey, fields: &Fields, content: Content, len: u32) -> Packet {
        let mut packet = spare.unwrap_or_else(|| Packet::blank(ends));
        let inner = &mut *packet.0;
        let ip = &mut inner.ip;
        ip.source = ends.source;
        ip.destination = ends.destination;
        ip.traffic_class = fields.traffic_class;
        ip.hop_limit = HOP_LIMIT;
        ip.protocol = protocol::TCP;
        ip.is_fragment = false;
        ip.header_len = ip_header_len(&ends.source);
        let stamps_len = if fields.timestamps.is_some() { 12 } else { 0 };
        ip.total_len = u32::from(ip.header_len) + 20 + stamps_len + len;
        inner.has_wire_len = false;
        inner.corrupted = false;
        inner.checksum_is_known_good = false;
        inner.origin = None;
        let tcp = inner.tcp.get_or_insert_default();
        tcp.source_port = ends.source_port;
        tcp.destination_port = ends.destination_port;
        tcp.sequence = fields.sequence;
        tcp.acknowledgment = fields.acknowledgment;
        tcp.flags = fields.flags;
        tcp.window = fields.window;
        tcp.urgent = 0;
        tcp.options.mss = None;
        tcp.options.window_scale = None;
        tcp.options.sack_permitted = false;
        tcp.options.timestamps = fields.timestamps;
        tcp.options.sack.clear();
        inner.content = content;
        inner.shim = None;
        packet
    }

    /// Has a segment of ours report these blocks besides.
    pub fn report(&mut self, blocks: SackBlocks) {
        debug_assert!(self.datagram().is_none(), "its bytes are not written yet");
        let Inner { ip, tcp: Some(tcp), .. } = &mut *self.0 else { return };
        let before = tcp.options.len();
        tcp.options.sack = blocks;
        ip.total_len += (tcp.options.len() - before) as u32;
    }

    /// Memory for a packet.
    #[inline(never)]
    fn blank(ends: &FlowKey) -> Packet {
        let ip = ip_header(ends.source, ends.destination, protocol::TCP, 0);
        Packet::new(ip, None, Content::Bytes(Bytes::new()))
    }

    /// A packet of another protocol; `payload` is everything behind the IP header.
    pub fn opaque(source: IpAddr, destination: IpAddr, protocol: u8, payload: Bytes) -> Packet {
        let ip = ip_header(source, destination, protocol, payload.len() as u32);
        Packet::new(ip, None, Content::Bytes(payload))
    }

    /// The datagram as bytes: the original ones where there are, else synthesised with correct
    /// checksums.
    pub fn to_wire(&self) -> Bytes {
        match &self.0.content {
            Content::Wire { datagram, .. } => datagram.clone(),
            Content::Bytes(_) | Content::Virtual { .. } => self.synthesise().into(),
        }
    }

    fn synthesise(&self) -> Vec<u8> {
        let ip = &self.0.ip;
        let mut out = Vec::with_capacity(ip.total_len as usize);
        write_ip(ip, &mut out);
        let (shim_at, shim) = (out.len(), self.0.shim.as_deref());
        if let Some(shim) = shim {
            out.extend([shim.protocol, shim.body.len() as u8, 0, 0]);
            out.extend_from_slice(&shim.body);
        }
        self.write_transport(&mut out);
        if shim.is_some() {
            shim::seal(&mut out, shim_at);
        }
        out
    }

    /// Appends what the packet holds behind its IP header to `out`. Of a packet whose bytes are not written out, what is
    /// behind its shim.
    pub fn write_transport(&self, out: &mut Vec<u8>) {
        if let Content::Wire { datagram, .. } = &self.0.content {
            return out.extend_from_slice(&datagram[usize::from(self.0.ip.header_len)..]);
        }
        let transport_at = out.len();
        let tcp = self.0.tcp.as_ref().or(self.0.shim.as_deref().and_then(|shim| shim.tcp.as_ref()));
        if let Some(tcp) = tcp {
            write_tcp(tcp, out);
        }
        match self.payload() {
            Payload::Bytes(payload) => out.extend_from_slice(payload),
            Payload::Virtual { stream, offset, len } => {
                let payload_at = out.len();
                out.resize(payload_at + len as usize, 0);
                fill_virtual(stream, offset, &mut out[payload_at..]);
            }
        }
        if tcp.is_some() {
            let sum = pseudo_header(&self.0.ip, protocol::TCP, out.len() - transport_at);
            let field = !checksum::fold(checksum::add(sum, &out[transport_at..]));
            out[transport_at + 16..transport_at + 18].copy_from_slice(&field.to_be_bytes());
        }
    }

    /// The headers alone of a packet without shim, as if the payload followed.
    pub(super) fn headers(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(64);
        write_ip(&self.0.ip, &mut out);
        if let Some(tcp) = &self.0.tcp {
            write_tcp(tcp, &mut out);
        }
        out
    }
}

/// Bytes of an IP header without options.
#[inline(always)]
fn ip_header_len(source: &IpAddr) -> u16 {
    if source.is_ipv4() { 20 } else { 40 }
}

#[inline(always)]
fn ip_header(source: IpAddr, destination: IpAddr, protocol: u8, transport_len: u32) -> IpHeader {
    let header_len = ip_header_len(&source);
    IpHeader {
        source,
        destination,
        traffic_class: 0,
        hop_limit: HOP_LIMIT,
        protocol,
        is_fragment: false,
        header_len,
        total_len: u32::from(header_len) + transport_len,
    }
}

fn write_ip(ip: &IpHeader, out: &mut Vec<u8>) {
    match (ip.source, ip.destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let total = (ip.total_len as u16).to_be_bytes();
            out.extend([0x45, ip.traffic_class, total[0], total[1], 0, 0, 0x40, 0]);
            out.extend([ip.hop_limit, ip.protocol, 0, 0]);
            out.extend(source.octets());
            out.extend(destination.octets());
            let field = !checksum::fold(checksum::add(0, out));
            out[10..12].copy_from_slice(&field.to_be_bytes());
        }
        (source, destination) => {
            let payload_len = ((ip.total_len - 40) as u16).to_be_bytes();
            out.extend([0x60 | ip.traffic_class >> 4, ip.traffic_class << 4, 0, 0]);
            out.extend([payload_len[0], payload_len[1], ip.protocol, ip.hop_limit]);
            for address in [source, destination] {
                match address {
                    IpAddr::V4(v4) => out.extend(v4.to_ipv6_mapped().octets()),
                    IpAddr::V6(v6) => out.extend(v6.octets()),
                }
            }
        }
    }
}

fn write_tcp(tcp: &TcpHeader, out: &mut Vec<u8>) {
    let mut options = [0; MAX_OPTIONS];
    let options_len = tcp.options.write(&mut options);
    let offset_and_flags = ((20 + options_len) as u16 / 4) << 12 | tcp.flags.0 & 0x7ff;
    out.extend(tcp.source_port.to_be_bytes());
    out.extend(tcp.destination_port.to_be_bytes());
    out.extend(tcp.sequence.0.to_be_bytes());
    out.extend(tcp.acknowledgment.0.to_be_bytes());
    out.extend(offset_and_flags.to_be_bytes());
    out.extend(tcp.window.to_be_bytes());
    out.extend([0, 0]);
    out.extend(tcp.urgent.to_be_bytes());
    out.extend(&options[..options_len]);
}

/// Sum of the pseudo header (RFC 9293 section 3.1, RFC 8200 section 8.1).
pub(super) fn pseudo_header(ip: &IpHeader, protocol: u8, transport_len: usize) -> u64 {
    let sum = transport_len as u64 + u64::from(protocol);
    [ip.source, ip.destination].iter().fold(sum, |sum, address| match address {
        IpAddr::V4(v4) => checksum::add(sum, &v4.octets()),
        IpAddr::V6(v6) => checksum::add(sum, &v6.octets()),
    })
}

/// Whether the TCP checksum of a whole datagram holds.
///
/// A routing header makes the final destination part of the sum (RFC 8200 section 8.1), so a
/// datagram with extension headers is given the benefit of the doubt.
pub(super) fn tcp_checksum_holds(ip: &IpHeader, datagram: &[u8]) -> bool {
    if ip.source.is_ipv6() && ip.header_len != 40 {
        return true;
    }
    segment_checksum_holds(ip, &datagram[usize::from(ip.header_len)..])
}

/// Whether the checksum of a TCP segment between the addresses of `ip` holds.
pub(super) fn segment_checksum_holds(ip: &IpHeader, segment: &[u8]) -> bool {
    checksum::fold(checksum::add(pseudo_header(ip, protocol::TCP, segment.len()), segment)) == 0xffff
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::TcpOptions;
    use crate::reason::CreateReason;
    use std::vec;

    #[test]
    fn what_differs_makes_the_segments_that_all_their_fields_make() {
        let [source, destination] = [1, 2].map(|last| IpAddr::from([10, 0, 0, last]));
        let mut blocks = SackBlocks::default();
        blocks.push(SeqNum(20), SeqNum(30));
        for (has_timestamps, reports) in [(false, false), (true, false), (false, true), (true, true)] {
            let stamps = has_timestamps.then_some(Timestamps { value: 7, echo: 6 });
            let options = TcpOptions { timestamps: stamps, ..TcpOptions::default() };
            let tcp = TcpHeader {
                source_port: 1,
                destination_port: 2,
                sequence: SeqNum(3),
                acknowledgment: SeqNum(4),
                flags: TcpFlags::ACK,
                window: 5,
                options,
                ..TcpHeader::default()
            };
            let mut segment = Segment { source, destination, traffic_class: 2, tcp };
            let ends = FlowKey { source, destination, source_port: 1, destination_port: 2 };
            if reports {
                segment.tcp.options.sack = blocks;
            }
            let reported = |mut made: Packet| {
                if reports {
                    made.report(blocks);
                }
                made
            };
            let fields = Fields {
                traffic_class: 2,
                sequence: tcp.sequence,
                acknowledgment: tcp.acknowledgment,
                flags: tcp.flags,
                window: tcp.window,
                timestamps: stamps,
            };
            let mut spare = Packet::opaque(destination, source, protocol::UDP, vec![1; 9].into());
            spare.mark_corrupted();
            spare.set_wire_len(9999);
            spare.set_origin(CreateReason::REPAIR);
            spare.set_checksum_known_good();
            for spare in [None, Some(spare)] {
                let made = reported(Packet::tcp_bytes_in(spare.clone(), &ends, &fields, vec![8; 5].into()));
                let whole = Packet::tcp_bytes(&segment, vec![8; 5].into());
                assert_eq!((made.ip(), made.tcp(), made.is_corrupted()), (whole.ip(), whole.tcp(), false));
                assert_eq!((made.wire_len(), made.origin()), (whole.wire_len(), None));
                assert!(!made.checksum_is_known_good());
                assert_eq!(made.to_wire(), whole.to_wire());
                let made = reported(Packet::tcp_virtual_in(spare, &ends, &fields, [9, 100], 50));
                assert_eq!(made.to_wire(), Packet::tcp_virtual(&segment, 9, 100, 50).to_wire());
            }
        }
    }
}
