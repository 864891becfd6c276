//! From bytes to a [`Packet`]. Nothing a device delivers can fail here: what is not a
//! well-formed, unfragmented TCP segment is opaque and passes as it is.

use super::build::{self, Segment};
use super::ip::{IpHeader, protocol};
use super::tcp::{TcpFlags, TcpHeader, TcpOptions, be32};
use super::{Content, Packet};
use crate::serial::SeqNum;
use bytes::Bytes;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

impl Packet {
    /// Takes a whole IP datagram. `None` if it is not even that: no version, header cut short,
    /// or longer by its own account than the bytes given (a device would not deliver it).
    pub fn parse(mut datagram: Bytes) -> Option<Packet> {
        let ip = parse_ip(&datagram)?;
        // Bytes beyond the datagram (link padding) are not part of the packet.
        datagram.truncate(ip.total_len as usize);
        let transport = &datagram[usize::from(ip.header_len)..];
        let parsed = if ip.protocol == protocol::TCP && !ip.is_fragment { parse_tcp(transport) } else { None };
        let (tcp, tcp_len) = parsed.map_or((None, 0), |(tcp, len)| (Some(tcp), len));
        let payload_at = u32::from(ip.header_len) + tcp_len as u32;
        Some(Packet::new(ip, tcp, Content::Wire { datagram, payload_at }))
    }

    /// Takes a TCP segment without payload that came without its IP header. `None` if it is anything else, or damaged.
    pub fn parse_bare_segment(source: IpAddr, destination: IpAddr, header: &[u8]) -> Option<Packet> {
        let (tcp, header_len) = parse_tcp(header)?;
        let packet = Packet::tcp_bytes(&Segment { source, destination, traffic_class: 0, tcp }, Bytes::new());
        let is_whole = header_len == header.len() && build::segment_checksum_holds(packet.ip(), header);
        is_whole.then_some(packet)
    }
}

fn parse_ip(datagram: &[u8]) -> Option<IpHeader> {
    match datagram.first()? >> 4 {
        4 => parse_v4(datagram),
        6 => parse_v6(datagram),
        _ => None,
    }
}

fn parse_v4(d: &[u8]) -> Option<IpHeader> {
    let header_len = usize::from(d[0] & 15) * 4;
    if header_len < 20 || d.len() < header_len {
        return None;
    }
    let total_len = usize::from(u16::from_be_bytes([d[2], d[3]]));
    if total_len < header_len || total_len > d.len() {
        return None;
    }
    let fragment = u16::from_be_bytes([d[6], d[7]]);
    Some(IpHeader {
        source: IpAddr::V4(Ipv4Addr::new(d[12], d[13], d[14], d[15])),
        destination: IpAddr::V4(Ipv4Addr::new(d[16], d[17], d[18], d[19])),
        traffic_class: d[1],
        hop_limit: d[8],
        protocol: d[9],
        is_fragment: fragment & 0x3fff != 0,
        header_len: header_len as u16,
        total_len: total_len as u32,
    })
}

fn parse_v6(d: &[u8]) -> Option<IpHeader> {
    if d.len() < 40 {
        return None;
    }
    let total_len = 40 + usize::from(u16::from_be_bytes([d[4], d[5]]));
    // The planted bug proves that the fuzzer would find one (make fuzz-canary).
    if total_len > d.len() + usize::from(cfg!(airtcp_planted_bug)) {
        return None;
    }
    let address = |at: usize| {
        let mut octets = [0; 16];
        octets.copy_from_slice(&d[at..at + 16]);
        IpAddr::V6(Ipv6Addr::from(octets))
    };
    let (protocol, header_len, is_fragment) = follow_extensions(&d[..total_len]);
    Some(IpHeader {
        source: address(8),
        destination: address(24),
        traffic_class: d[0] << 4 | d[1] >> 4,
        hop_limit: d[7],
        protocol,
        is_fragment,
        header_len: header_len as u16,
        total_len: total_len as u32,
    })
}

/// Walks hop-by-hop, routing, destination, fragment, mobility, HIP and shim6 headers
/// (RFC 8200 section 4, RFC 7045); stops at anything else, also at ESP, AH and a cut header.
fn follow_extensions(d: &[u8]) -> (u8, usize, bool) {
    let (mut next, mut at, mut is_fragment) = (d[6], 40, false);
    loop {
        let length = match next {
            0 | 43 | 60 | 135 | 139 | 140 => match d.get(at + 1) {
                Some(units) => 8 + usize::from(*units) * 8,
                None => return (next, at, is_fragment),
            },
            44 => 8,
            _ => return (next, at, is_fragment),
        };
        let Some(header) = d.get(at..at + length) else {
            return (next, at, is_fragment);
        };
        if next == 44 {
            is_fragment = true;
        }
        next = header[0];
        at += length;
        // Behind the first fragment's header there may be no more headers to follow.
        if is_fragment {
            return (next, at, true);
        }
    }
}

/// Byte offset of the timestamp value within a TCP header, for edits in place.
pub(super) fn timestamps_at(tcp: &[u8]) -> Option<usize> {
    let header_len = usize::from(tcp.get(12)? >> 4) * 4;
    TcpOptions::parse(tcp.get(20..header_len)?)?.1.map(|at| at + 20)
}

/// Byte offset of the last MSS value within a TCP header: the one that [`TcpOptions::parse`] reads.
pub(super) fn mss_at(tcp: &[u8]) -> Option<usize> {
    let header_len = usize::from(tcp.get(12)? >> 4) * 4;
    let (mut at, mut found) = (20, None);
    while let Some(&kind) = tcp.get(..header_len)?.get(at) {
        at += match kind {
            0 => break,
            1 => 1,
            _ => {
                let len = usize::from(*tcp.get(at + 1)?).max(2);
                if (kind, len) == (2, 4) {
                    found = Some(at + 2);
                }
                len
            }
        };
    }
    found
}

fn parse_tcp(t: &[u8]) -> Option<(TcpHeader, usize)> {
    if t.len() < 20 {
        return None;
    }
    let header_len = usize::from(t[12] >> 4) * 4;
    if header_len < 20 || header_len > t.len() {
        return None;
    }
    let (options, _) = TcpOptions::parse(&t[20..header_len])?;
    let header = TcpHeader {
        source_port: u16::from_be_bytes([t[0], t[1]]),
        destination_port: u16::from_be_bytes([t[2], t[3]]),
        sequence: SeqNum(be32(&t[4..])),
        acknowledgment: SeqNum(be32(&t[8..])),
        flags: TcpFlags(u16::from_be_bytes([t[12] & 7, t[13]])),
        window: u16::from_be_bytes([t[14], t[15]]),
        urgent: u16::from_be_bytes([t[18], t[19]]),
        options,
    };
    Some((header, header_len))
}
