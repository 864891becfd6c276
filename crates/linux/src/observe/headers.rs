//! What the first bytes of a packet tell an onlooker. A packet is never an error here: what is not understood is *other*.
//!
//! Only a copy of the beginning is looked at ([`SNAP`] bytes), so lengths come from the IP header, and a super-frame that the
//! kernel has not cut yet is one long segment.

use airtcp_core::{FlowKey, SeqNum};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Bytes of a packet that are looked at: IPv6 with some extensions, TCP with all its options (60), or the beginning of a
/// datagram.
pub const SNAP: usize = 192;
/// Extension headers of IPv6 that are followed.
const EXTENSIONS: usize = 4;

/// IP protocol numbers (IANA).
const TCP: u8 = 6;
const UDP: u8 = 17;
const FRAGMENT: u8 = 44;
const ESP: u8 = 50;
const AH: u8 = 51;
/// Frames of airtcp's gateways (RFC 3692: for experiments).
const SHIM: u8 = 254;

/// UDP ports (IANA): IKE and ESP in UDP (RFC 3948), OpenVPN, WireGuard's usual one, and that of airtcp's control messages.
const IPSEC: [u16; 2] = [500, 4500];
const OPENVPN: u16 = 1194;
const HTTPS: u16 = 443;
const CONTROL: u16 = 4791;

/// A packet as an onlooker sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Glance {
    /// Its flow; ports are 0 where it has none.
    pub flow: FlowKey,
    /// Bytes of the IP packet.
    pub length: u32,
    /// What is in it.
    pub content: Content,
}

/// What is in a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// A segment of TCP.
    Tcp(Segment),
    /// QUIC, surely: a long header of a known version, or from or to port 443.
    Quic,
    /// A datagram of UDP that is QUIC's if its flow is: a short header tells nothing, not even by its fixed bit (RFC 9287).
    Datagram,
    /// Data in a WireGuard tunnel, with the tunnel's name and the packet's number there, which are not encrypted.
    Wireguard(Option<(u32, u64)>),
    /// IPsec, with the number of the security association and the packet's there (RFC 4303).
    Ipsec(Option<(u32, u32)>),
    /// Another VPN.
    Vpn,
    /// Frames and messages of airtcp's own gateways.
    Ours,
    /// Anything else.
    Other,
}

/// What a segment of TCP says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// First sequence number.
    pub seq: SeqNum,
    /// Sequence numbers that it takes: its payload, and one for a SYN and a FIN.
    pub taken: u32,
    /// Bytes of payload.
    pub payload: u32,
    /// What it acknowledges, if anything.
    pub ack: Option<SeqNum>,
    /// It opens a connection.
    pub is_syn: bool,
    /// It ends one at once.
    pub is_reset: bool,
    /// Longest segment that its sender takes.
    pub mss: Option<u16>,
    /// Timestamp, and the one that is echoed (RFC 7323).
    pub stamps: Option<(u32, u32)>,
    /// The furthest byte that is acknowledged selectively (RFC 2018).
    pub sacked: Option<SeqNum>,
    /// It tells of bytes that came twice (RFC 2883).
    pub is_duplicate_told: bool,
}

/// Reads the first bytes of an IP packet; `None` if they are none.
pub fn read(bytes: &[u8]) -> Option<Glance> {
    let ip = match bytes.first()? >> 4 {
        4 => read_v4(bytes)?,
        6 => read_v6(bytes)?,
        _ => return None,
    };
    let rest = bytes.get(ip.header..).unwrap_or_default();
    let carried = ip.length.saturating_sub(ip.header as u32);
    let (ports, content) = match ip.protocol {
        _ if ip.is_fragment => (None, Content::Other),
        TCP => read_tcp(rest, carried).map_or((None, Content::Other), |(ports, tcp)| (Some(ports), Content::Tcp(tcp))),
        UDP => read_udp(rest, carried),
        ESP => (None, Content::Ipsec(be32(rest, 0).zip(be32(rest, 4)))),
        AH => (None, Content::Ipsec(be32(rest, 4).zip(be32(rest, 8)))),
        SHIM => (None, Content::Ours),
        _ => (None, Content::Other),
    };
    let (source_port, destination_port) = ports.unwrap_or_default();
    let flow = FlowKey { source: ip.source, destination: ip.destination, source_port, destination_port };
    Some(Glance { flow, length: ip.length, content })
}

struct Ip {
    source: IpAddr,
    destination: IpAddr,
    protocol: u8,
    is_fragment: bool,
    header: usize,
    length: u32,
}

fn read_v4(bytes: &[u8]) -> Option<Ip> {
    let fixed: &[u8; 20] = bytes.first_chunk()?;
    let header = usize::from(fixed[0] & 15) * 4;
    let length = u32::from(u16::from_be_bytes([fixed[2], fixed[3]]));
    if header < 20 || (length as usize) < header {
        return None;
    }
    let address = |at: usize| IpAddr::V4(Ipv4Addr::new(fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]));
    let is_fragment = u16::from_be_bytes([fixed[6], fixed[7]]) & 0x3fff != 0;
    Some(Ip { source: address(12), destination: address(16), protocol: fixed[9], is_fragment, header, length })
}

fn read_v6(bytes: &[u8]) -> Option<Ip> {
    let fixed: &[u8; 40] = bytes.first_chunk()?;
    let length = 40 + u32::from(u16::from_be_bytes([fixed[4], fixed[5]]));
    let address = |at: usize| {
        let octets: [u8; 16] = std::array::from_fn(|byte| fixed[at + byte]);
        IpAddr::V6(Ipv6Addr::from(octets))
    };
    let (mut protocol, mut header, mut is_fragment) = (fixed[6], 40, false);
    for _ in 0..EXTENSIONS {
        // Hop-by-hop, routing, fragment and destination options (RFC 8200).
        let extension = match protocol {
            0 | 43 | 60 => bytes.get(header..header + 2).map(|two| (two[0], 8 + usize::from(two[1]) * 8)),
            FRAGMENT => bytes.get(header..header + 8).map(|eight| {
                is_fragment |= u16::from_be_bytes([eight[2], eight[3]]) & 0xfff9 != 0;
                (eight[0], 8)
            }),
            _ => break,
        };
        let Some((next, taken)) = extension else { break };
        (protocol, header) = (next, header + taken);
    }
    Some(Ip { source: address(8), destination: address(24), protocol, is_fragment, header, length })
}

fn read_tcp(bytes: &[u8], carried: u32) -> Option<((u16, u16), Segment)> {
    let fixed: &[u8; 20] = bytes.first_chunk()?;
    let header = usize::from(fixed[12] >> 4) * 4;
    let payload = carried.checked_sub(header as u32).filter(|_| header >= 20)?;
    let flag = |bit: u8| fixed[13] & bit != 0;
    let (is_fin, is_syn, is_reset, has_ack) = (flag(1), flag(2), flag(4), flag(16));
    let mut segment = Segment {
        seq: SeqNum(be32(fixed, 4)?),
        taken: payload + u32::from(is_syn) + u32::from(is_fin),
        payload,
        ack: be32(fixed, 8).filter(|_| has_ack).map(SeqNum),
        is_syn,
        is_reset,
        mss: None,
        stamps: None,
        sacked: None,
        is_duplicate_told: false,
    };
    read_options(bytes.get(20..header.min(bytes.len())).unwrap_or_default(), &mut segment);
    let port = |at: usize| u16::from_be_bytes([fixed[at], fixed[at + 1]]);
    Some(((port(0), port(2)), segment))
}

fn read_options(mut options: &[u8], segment: &mut Segment) {
    while let Some(&kind) = options.first() {
        let length = match kind {
            0 => return,
            1 => 1,
            _ => options.get(1).map_or(0, |length| usize::from(*length)),
        };
        let Some(option) = options.get(..length).filter(|_| length >= 1) else { return };
        match (kind, length) {
            (2, 4) => segment.mss = Some(u16::from_be_bytes([option[2], option[3]])),
            (8, 10) => segment.stamps = be32(option, 2).zip(be32(option, 6)),
            (5, 10..) => read_sack(&option[2..], segment),
            (kind, 0 | 1) if kind > 1 => return,
            _ => {}
        }
        options = &options[length..];
    }
}

fn read_sack(blocks: &[u8], segment: &mut Segment) {
    let Some(ack) = segment.ack else { return };
    for (number, block) in blocks.chunks_exact(8).enumerate() {
        let (Some(left), Some(right)) = (be32(block, 0).map(SeqNum), be32(block, 4).map(SeqNum)) else { return };
        // Only the first block can tell of what came twice.
        if right.at_or_before(ack) {
            segment.is_duplicate_told |= number == 0;
            continue;
        }
        if left.before(right) {
            segment.sacked = Some(segment.sacked.map_or(right, |furthest| furthest.max(right)));
        }
    }
}

fn read_udp(bytes: &[u8], carried: u32) -> (Option<(u16, u16)>, Content) {
    let Some(fixed) = bytes.first_chunk::<8>() else { return (None, Content::Other) };
    let port = |at: usize| u16::from_be_bytes([fixed[at], fixed[at + 1]]);
    let (from, to) = (port(0), port(2));
    let is_of = |one: u16| from == one || to == one;
    let payload = &bytes[8..];
    let content = if is_of(CONTROL) {
        Content::Ours
    } else if IPSEC.into_iter().any(is_of) {
        read_ipsec(payload)
    } else if is_of(OPENVPN) {
        Content::Vpn
    } else if let Some(wireguard) = read_wireguard(payload, carried.saturating_sub(8)) {
        wireguard
    } else {
        read_quic(payload, is_of(HTTPS))
    };
    (Some((from, to)), content)
}

/// ESP in UDP begins with its association; four zeros are IKE's (RFC 3948).
fn read_ipsec(payload: &[u8]) -> Content {
    let numbers = be32(payload, 0).zip(be32(payload, 4)).filter(|(association, _)| *association != 0);
    Content::Ipsec(numbers)
}

/// The messages of WireGuard: a type from 1 to 4, three zeros, and a length that goes with it (whitepaper, section 5.4). Data are
/// to be padded to 16 bytes, but not all implementations do so.
fn read_wireguard(payload: &[u8], length: u32) -> Option<Content> {
    let begin: &[u8; 4] = payload.first_chunk()?;
    match (begin, length) {
        ([1, 0, 0, 0], 148) | ([2, 0, 0, 0], 92) | ([3, 0, 0, 0], 64) => Some(Content::Wireguard(None)),
        ([4, 0, 0, 0], 32..) => {
            let number = payload.get(8..16)?.try_into().ok().map(u64::from_le_bytes);
            Some(Content::Wireguard(be32(payload, 4).zip(number)))
        }
        _ => None,
    }
}

/// A long header of version 1 (RFC 9000) or 2 (RFC 9369), or what goes to port 443.
fn read_quic(payload: &[u8], is_https: bool) -> Content {
    let is_long = payload.first().is_some_and(|first| first & 0xc0 == 0xc0);
    let is_known = is_long && matches!(be32(payload, 1), Some(1 | 0x6b33_43cf));
    if is_known || is_https { Content::Quic } else { Content::Datagram }
}

fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().copied().map(u32::from_be_bytes)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An IPv4 packet of this protocol, with `bytes` behind its header and `more` that are not copied.
    pub fn v4(protocol: u8, bytes: &[u8], more: usize) -> Vec<u8> {
        let mut packet = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        packet[2..4].copy_from_slice(&((20 + bytes.len() + more) as u16).to_be_bytes());
        packet.extend(bytes);
        packet
    }

    fn udp(from: u16, payload: &[u8], more: usize) -> Vec<u8> {
        let mut bytes = [from.to_be_bytes(), 9999u16.to_be_bytes(), [0; 2], [0; 2]].concat();
        bytes.extend(payload);
        v4(UDP, &bytes, more)
    }

    fn content(packet: &[u8]) -> Content {
        read(packet).expect("a packet").content
    }

    #[test]
    fn a_segment_tells_its_numbers_its_stamps_and_what_is_acknowledged_selectively() {
        let mut tcp = [1, 187, 0, 80, 0, 0, 1, 0, 0, 0, 2, 0, 0xd0, 0x10, 0, 0, 0, 0, 0, 0].to_vec();
        tcp.extend([1, 1, 8, 10, 0, 0, 0, 7, 0, 0, 0, 9]);
        tcp.extend([1, 1, 5, 18, 0, 0, 1, 0, 0, 0, 1, 4, 0, 0, 3, 0, 0, 0, 4, 0]);
        let glance = read(&v4(TCP, &tcp, 1000)).expect("a packet");
        let Content::Tcp(segment) = glance.content else { panic!("{glance:?}") };
        assert_eq!((glance.length, glance.flow.source_port, glance.flow.destination_port), (1072, 443, 80));
        assert_eq!((segment.seq.0, segment.taken, segment.ack), (256, 1000, Some(SeqNum(512))));
        assert_eq!((segment.stamps, segment.sacked), (Some((7, 9)), Some(SeqNum(1024))));
        assert!(segment.is_duplicate_told, "its first block is below what it acknowledges");
    }

    #[test]
    fn tunnels_and_quic_are_told_by_what_they_begin_with() {
        let mut data = vec![4, 0, 0, 0, 1, 2, 3, 4, 5, 0, 0, 0, 0, 0, 0, 0];
        data.resize(32, 0);
        assert_eq!(content(&udp(7, &data, 64)), Content::Wireguard(Some((0x0102_0304, 5))));
        assert_eq!(content(&udp(7, &data[..16], 8)), Content::Datagram, "too short for a WireGuard message");
        assert_eq!(content(&udp(4500, &[0, 0, 0, 9, 0, 0, 0, 5, 1], 0)), Content::Ipsec(Some((9, 5))));
        assert_eq!(content(&v4(ESP, &[0, 0, 0, 9, 0, 0, 0, 5], 99)), Content::Ipsec(Some((9, 5))));
        assert_eq!(content(&udp(7, &[0xc3, 0, 0, 0, 1, 8], 1200)), Content::Quic);
        assert_eq!(content(&udp(443, &[0x41, 8, 8], 100)), Content::Quic);
        assert_eq!(content(&udp(7, &[0x41, 8, 8], 100)), Content::Datagram);
        assert_eq!(content(&udp(4791, &[0x41], 0)), Content::Ours);
    }

    #[test]
    fn a_fragment_is_no_segment() {
        let mut packet = v4(TCP, &[0; 20], 0);
        packet[6] = 0x20;
        assert_eq!(content(&packet), Content::Other);
    }

    proptest! {
        /// Whatever comes, also cut anywhere.
        #[test]
        fn no_bytes_are_too_strange(bytes in prop::collection::vec(any::<u8>(), 0..SNAP)) {
            let _ = read(&bytes);
        }

        /// The same behind a header that is in order.
        #[test]
        fn no_content_is_too_strange(
            protocol in prop::sample::select(vec![TCP, UDP, ESP, AH, FRAGMENT, 0]),
            bytes in prop::collection::vec(any::<u8>(), 0..SNAP),
            more in 0usize..60_000,
        ) {
            let glance = read(&v4(protocol, &bytes, more)).expect("a header in order");
            prop_assert_eq!(glance.length as usize, 20 + bytes.len() + more);
            let mut six = [0x60, 0, 0, 0, 1, 0, protocol, 64].to_vec();
            six.extend([7; 32]);
            six.extend(&bytes);
            prop_assert!(read(&six).is_some());
        }
    }
}
