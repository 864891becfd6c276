//! What a router does with a packet that is longer than the way ahead: it cuts it (RFC 791), or tells its sender (RFC 1191
//! and RFC 8201).

use super::build::pseudo_header;
use super::{Packet, checksum, protocol};
use alloc::vec::Vec;
use core::net::IpAddr;

const DONT_FRAGMENT: u16 = 0x4000;
const MORE_FRAGMENTS: u16 = 0x2000;
const OFFSET: u16 = 0x1fff;

/// Longest "fragmentation needed" (RFC 1812 section 4.3.2.3) and "packet too big" (RFC 4443 section 2.4 c).
const ERROR_MAX: [usize; 2] = [576, 1280];
const ICMP_HEADER: usize = 8;
/// ICMP types of errors, about which nobody is told of another.
const ICMP_ERRORS: [u8; 5] = [3, 4, 5, 11, 12];
const ICMPV6_FIRST_INFORMATION: u8 = 128;

impl Packet {
    /// The packet as fragments of at most `mtu` IP bytes, in order. `None` if no router may cut it: IPv6, "don't fragment",
    /// or an MTU that leaves no room behind the header.
    pub fn fragments(&self, mtu: u32) -> Option<Vec<Packet>> {
        if self.ip().source.is_ipv6() {
            return None;
        }
        let wire = self.to_wire();
        let field = u16::from_be_bytes([wire[6], wire[7]]);
        let header_len = usize::from(wire[0] & 15) * 4;
        let (mut header, content) = (wire[..header_len].to_vec(), &wire[header_len..]);
        if field & DONT_FRAGMENT != 0 || (mtu as usize) < header_len + 8 {
            return None;
        }
        let (mut fragments, mut at) = (Vec::new(), 0);
        while at < content.len() {
            let room = (mtu as usize - header.len()) & !7;
            let is_last = content.len() - at <= mtu as usize - header.len();
            let length = if is_last { content.len() - at } else { room };
            let more = if is_last { field & MORE_FRAGMENTS } else { MORE_FRAGMENTS };
            let offset = (field & OFFSET) + (at / 8) as u16;
            fragments.push(fragment(&header, &content[at..at + length], more | offset)?);
            at += length;
            if fragments.len() == 1 {
                keep_copied_options(&mut header);
            }
        }
        Some(fragments)
    }

    /// What tells the packet's sender that packets of at most `mtu` IP bytes pass. It bears the address that the packet was
    /// for, as there is no other that its sender is sure to have a route to. `None` where nobody may be told: the packet is
    /// an ICMP error or a later fragment, or has no single sender.
    pub fn too_big(&self, mtu: u32) -> Option<Packet> {
        let (ip, wire) = (self.ip(), self.to_wire());
        let is_somebody = |address: IpAddr| !address.is_unspecified() && !address.is_multicast();
        if !is_somebody(ip.source) || !is_somebody(ip.destination) || ip.source.is_loopback() {
            return None;
        }
        let first = wire.get(usize::from(ip.header_len)).copied();
        let mut error = Vec::with_capacity(ERROR_MAX[1]);
        if ip.source.is_ipv4() {
            let is_later = u16::from_be_bytes([wire[6], wire[7]]) & OFFSET != 0;
            if is_later || (ip.protocol == protocol::ICMP && first.is_none_or(|kind| ICMP_ERRORS.contains(&kind))) {
                return None;
            }
            error.extend([3, 4, 0, 0, 0, 0]);
            error.extend(u16::try_from(mtu).unwrap_or(u16::MAX).to_be_bytes());
            error.extend(&wire[..wire.len().min(ERROR_MAX[0] - 20 - ICMP_HEADER)]);
            set_checksum(&mut error, 0);
            return Some(Packet::opaque(ip.destination, ip.source, protocol::ICMP, error.into()));
        }
        if ip.protocol == protocol::ICMPV6 && first.is_none_or(|kind| kind < ICMPV6_FIRST_INFORMATION) {
            return None;
        }
        error.extend([2, 0, 0, 0]);
        error.extend(mtu.to_be_bytes());
        error.extend(&wire[..wire.len().min(ERROR_MAX[1] - 40 - ICMP_HEADER)]);
        let sum = pseudo_header(ip, protocol::ICMPV6, error.len());
        set_checksum(&mut error, sum);
        Some(Packet::opaque(ip.destination, ip.source, protocol::ICMPV6, error.into()))
    }
}

fn set_checksum(message: &mut [u8], sum: u64) {
    let field = !checksum::fold(checksum::add(sum, message));
    message[2..4].copy_from_slice(&field.to_be_bytes());
}

fn fragment(header: &[u8], content: &[u8], field: u16) -> Option<Packet> {
    let mut bytes = [header, content].concat();
    let total = (bytes.len() as u16).to_be_bytes();
    bytes[2..4].copy_from_slice(&total);
    bytes[6..8].copy_from_slice(&field.to_be_bytes());
    bytes[10..12].fill(0);
    let sum = !checksum::fold(checksum::add(0, &bytes[..header.len()]));
    bytes[10..12].copy_from_slice(&sum.to_be_bytes());
    Packet::parse(bytes.into())
}

/// Leaves of a header's options those that belong in every fragment.
fn keep_copied_options(header: &mut Vec<u8>) {
    let options = header.split_off(20);
    let mut at = 0;
    while let Some(&kind) = options.get(at).filter(|kind| **kind != 0) {
        let length = if kind == 1 { 1 } else { options.get(at + 1).map_or(0, |length| usize::from(*length)) };
        let Some(option) = options.get(at..at + length).filter(|option| !option.is_empty()) else { break };
        if kind & 0x80 != 0 {
            header.extend(option);
        }
        at += length;
    }
    header.resize(header.len().next_multiple_of(4), 0);
    header[0] = 0x40 | (header.len() / 4) as u8;
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::{Ipv4Addr, Ipv6Addr};
    use std::vec;

    /// An IPv4 packet of UDP without "don't fragment", with these options.
    fn cuttable(options: &[u8], content: &[u8], field: u16) -> Packet {
        let [from, to] = [1, 2].map(|last| Ipv4Addr::new(10, 0, 0, last).into());
        let mut header = Packet::opaque(from, to, 17, vec![].into()).to_wire().to_vec();
        header.extend(options);
        header[0] = 0x40 | (header.len() / 4) as u8;
        super::fragment(&header, content, field).unwrap()
    }

    fn content(length: usize) -> Vec<u8> {
        (0..length).map(|i| (i * 7) as u8).collect()
    }

    /// What a host makes of fragments, and the field of the first and the last.
    fn put_together(fragments: &[Packet]) -> (Vec<u8>, u16, u16) {
        let mut whole = Vec::new();
        let field = |wire: &[u8]| u16::from_be_bytes([wire[6], wire[7]]);
        let base = field(&fragments[0].to_wire()) & OFFSET;
        for (index, one) in fragments.iter().enumerate() {
            let wire = one.to_wire();
            let header = usize::from(wire[0] & 15) * 4;
            assert_eq!(checksum::fold(checksum::add(0, &wire[..header])), 0xffff, "header checksum of {index}");
            assert_eq!(usize::from((field(&wire) & OFFSET) - base) * 8, whole.len(), "offset of {index}");
            let is_more = field(&wire) & MORE_FRAGMENTS != 0;
            assert!(is_more || index + 1 == fragments.len());
            whole.extend(&wire[header..]);
        }
        (whole, field(&fragments[0].to_wire()), field(&fragments.last().unwrap().to_wire()))
    }

    #[test]
    fn fragments_are_short_enough_and_make_the_packet_again() {
        for length in [1, 8, 548, 1000, 1473, 1480, 4000] {
            for mtu in [68, 576, 1427] {
                let fragments = cuttable(&[], &content(length), 0).fragments(mtu).unwrap();
                assert!(fragments.iter().all(|one| one.wire_len() <= mtu), "{length} {mtu}");
                let (whole, first, last) = put_together(&fragments);
                assert_eq!(whole, content(length));
                assert_eq!((first & OFFSET, last & MORE_FRAGMENTS), (0, 0));
                assert!(fragments.len() == 1 || first & MORE_FRAGMENTS != 0);
            }
        }
    }

    #[test]
    fn a_fragment_is_cut_at_its_place_and_says_that_more_follow_if_it_did() {
        let fragments = cuttable(&[], &content(1400), MORE_FRAGMENTS | 100).fragments(576).unwrap();
        let (whole, first, last) = put_together(&fragments);
        assert_eq!(whole, content(1400));
        assert_eq!((first & OFFSET, last & MORE_FRAGMENTS), (100, MORE_FRAGMENTS));
    }

    #[test]
    fn only_options_that_say_so_are_in_every_fragment() {
        // Router alert is copied, record route is not.
        let options = [0x07, 7, 4, 0, 0, 0, 0, 1, 0x94, 4, 0, 0];
        let fragments = cuttable(&options, &content(1400), 0).fragments(576).unwrap();
        assert_eq!(fragments[0].to_wire()[20..32], options);
        assert_eq!((fragments[1].ip().header_len, &fragments[1].to_wire()[20..24]), (24, &options[8..]));
        assert_eq!(put_together(&fragments).0, content(1400));
        // A length that leads nowhere.
        for bad in [[0x94, 0, 0, 0], [0x94, 9, 0, 0], [0x83, 1, 0x94, 4]] {
            assert_eq!(put_together(&cuttable(&bad, &content(1400), 0).fragments(576).unwrap()).0, content(1400));
        }
    }

    #[test]
    fn what_may_not_be_cut_is_not() {
        assert!(cuttable(&[], &content(1400), DONT_FRAGMENT).fragments(576).is_none());
        assert!(cuttable(&[], &content(1400), 0).fragments(27).is_none());
        let ipv6 = Ipv6Addr::LOCALHOST.into();
        assert!(Packet::opaque(ipv6, ipv6, 17, content(1400).into()).fragments(1280).is_none());
    }

    #[test]
    fn the_sender_is_told_the_mtu_with_the_beginning_of_its_packet() {
        let packet = cuttable(&[], &content(1400), DONT_FRAGMENT);
        let error = packet.too_big(1427).unwrap();
        assert_eq!((error.ip().source, error.ip().destination), (packet.ip().destination, packet.ip().source));
        let wire = error.to_wire();
        assert_eq!((wire.len(), error.ip().protocol), (576, 1));
        assert_eq!(wire[20..22], [3, 4]);
        assert_eq!(wire[26..28], 1427u16.to_be_bytes());
        assert_eq!(wire[28..], packet.to_wire()[..548]);
        assert_eq!(checksum::fold(checksum::add(0, &wire[20..])), 0xffff);

        let [from, to] = [1, 2].map(|last| Ipv6Addr::from(0xfd00 << 112 | last).into());
        let packet = Packet::opaque(from, to, 17, content(1400).into());
        let error = packet.too_big(1407).unwrap();
        let wire = error.to_wire();
        assert_eq!((wire.len(), wire[6], &wire[40..42]), (1280, 58, &[2, 0][..]));
        assert_eq!(wire[44..48], 1407u32.to_be_bytes());
        assert_eq!(wire[48..], packet.to_wire()[..1232]);
        let sum = pseudo_header(error.ip(), protocol::ICMPV6, wire.len() - 40);
        assert_eq!(checksum::fold(checksum::add(sum, &wire[40..])), 0xffff);
    }

    #[test]
    fn nobody_is_told_of_errors_later_fragments_and_packets_of_many() {
        let [from, to] = [1, 2].map(|last| IpAddr::from(Ipv4Addr::new(10, 0, 0, last)));
        let icmp = |kind: u8| Packet::opaque(from, to, 1, [&[kind], &content(900)[..]].concat().into());
        assert!(icmp(3).too_big(576).is_none());
        assert!(icmp(8).too_big(576).is_some());
        assert!(cuttable(&[], &content(900), DONT_FRAGMENT | 9).too_big(576).is_none());
        let group = Ipv4Addr::new(224, 0, 0, 9).into();
        assert!(Packet::opaque(from, group, 17, content(900).into()).too_big(576).is_none());
        assert!(Packet::opaque(Ipv4Addr::UNSPECIFIED.into(), to, 17, content(900).into()).too_big(576).is_none());
        let ipv6 = Ipv6Addr::from(0xfd00 << 112 | 1).into();
        let icmpv6 = |kind: u8| Packet::opaque(ipv6, ipv6, 58, [&[kind], &content(1400)[..]].concat().into());
        assert!(icmpv6(2).too_big(1280).is_none());
        assert!(icmpv6(128).too_big(1280).is_some());
    }
}
