//! What the two ends of a hop do to packets: shims, images, clamped MSS.

mod common;

use airtcp_core::packet::protocol;
use airtcp_core::{Ecn, Packet, Payload, Segment, SeqNum, TakenShim, TcpFlags, TcpHeader, TcpOptions, Timestamps};
use bytes::Bytes;
use common::Reference;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

fn segment(v6: bool, options: TcpOptions, flags: TcpFlags) -> Segment {
    let address = |last| match v6 {
        false => IpAddr::V4(Ipv4Addr::new(10, 0, 0, last)),
        true => IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, last.into())),
    };
    let tcp = TcpHeader {
        source_port: 1,
        destination_port: 2,
        sequence: SeqNum(u32::MAX - 3),
        acknowledgment: SeqNum(9),
        flags,
        window: 7,
        urgent: 0,
        options,
    };
    Segment { source: address(1), destination: address(2), traffic_class: 0, tcp }
}

fn simulated(v6: bool) -> Packet {
    let options = TcpOptions { timestamps: Some(Timestamps { value: 1, echo: 2 }), ..TcpOptions::default() };
    Packet::tcp_virtual(&segment(v6, options, TcpFlags::ACK), 5, 1 << 33, 1000)
}

fn live(v6: bool) -> Packet {
    Packet::parse(simulated(v6).to_wire()).unwrap()
}

#[test]
fn a_shimmed_packet_is_opaque_and_longer_and_comes_back_as_it_was() {
    for original in [simulated(false), simulated(true), live(false), live(true)] {
        let mut packet = original.clone();
        assert!(packet.push_shim(&[1, 2, 3]));
        assert_eq!((packet.ip().protocol, packet.tcp(), packet.flow()), (protocol::EXPERIMENT, None, None));
        assert_eq!(packet.wire_len(), original.wire_len() + 7);
        assert_eq!(packet.to_wire().len(), packet.wire_len() as usize);
        assert_eq!(packet.take_shim(), TakenShim::Body(Bytes::from_static(&[1, 2, 3])));
        assert_eq!((packet.to_wire(), packet.payload()), (original.to_wire(), original.payload()));
        assert_eq!(packet.wire_len(), original.wire_len());
        assert_eq!(packet.take_shim(), TakenShim::None);
    }
}

#[test]
fn simulated_and_live_shims_are_the_same_bytes() {
    for v6 in [false, true] {
        let (mut simulated, mut live) = (simulated(v6), live(v6));
        assert!(simulated.push_shim(b"abc") && live.push_shim(b"abc"));
        assert_eq!(simulated.to_wire(), live.to_wire());
    }
}

#[test]
fn what_routers_change_survives_the_shim() {
    for mut packet in [simulated(false), live(false), live(true)] {
        packet.push_shim(b"x");
        packet.set_hop_limit(3);
        packet.set_ecn(Ecn::Ce);
        assert!(matches!(packet.take_shim(), TakenShim::Body(_)));
        assert_eq!((packet.ip().hop_limit, packet.ip().ecn()), (3, Ecn::Ce));
        assert!(packet.checksum_holds());
    }
}

#[test]
fn one_wrong_bit_behind_the_ip_header_is_noticed() {
    for v6 in [false, true] {
        let mut packet = live(v6);
        packet.push_shim(b"four");
        let good = packet.to_wire();
        for bit in usize::from(packet.ip().header_len) * 8..good.len() * 8 {
            let mut bytes = good.to_vec();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Packet::parse(bytes.into()).unwrap().take_shim(), TakenShim::Damaged, "bit {bit}");
        }
    }
    let mut marked = simulated(false);
    marked.push_shim(b"four");
    marked.mark_corrupted();
    assert_eq!(marked.take_shim(), TakenShim::Damaged);
}

#[test]
fn damage_from_before_the_hop_is_not_the_hops() {
    let mut packet = simulated(false);
    packet.mark_corrupted();
    packet.push_shim(b"x");
    assert!(matches!(packet.take_shim(), TakenShim::Body(_)));
    assert!(packet.is_corrupted());
}

#[test]
fn a_fragment_is_none_on_the_hop_and_one_again_behind_it() {
    for (offset, more) in [(1, true), (0, true), (7, false)] {
        let reference = Reference::v4(etherparse::TcpHeader::new(1, 2, 3, 4), &[0; 64]).fragment(offset, more);
        let mut packet = reference.parsed();
        let before = packet.to_wire();
        assert!(packet.ip().is_fragment && packet.push_shim(b"body"));
        assert_eq!((packet.ip().is_fragment, packet.wire_len() as usize), (false, before.len() + 4 + 4 + 2));
        let mut read = Packet::parse(packet.to_wire()).unwrap();
        assert_eq!(read.take_shim(), TakenShim::Body(Bytes::from_static(b"body")));
        assert_eq!((read.to_wire(), read.ip().is_fragment), (before, true));
    }
}

#[test]
fn long_bodies_and_second_shims_of_simulated_packets_are_refused() {
    let mut twice = simulated(false);
    assert!(twice.push_shim(b"x") && !twice.push_shim(b"x"));
    assert!(!live(false).push_shim(&[0; 126]) && live(false).push_shim(&[0; 125]));
}

#[test]
fn a_packet_in_two_is_the_same_again_whatever_was_put_around_the_halves() {
    for original in [simulated(false), simulated(true), live(false), live(true)] {
        let mut head = original.clone();
        let mut tail = head.split_off_tail(900).unwrap();
        assert_eq!(head.wire_len(), 900);
        assert_eq!(tail.payload_len(), original.wire_len() - 900);
        assert!(head.push_shim(b"head") && tail.push_shim(b"tail"));
        assert!(matches!(head.take_shim(), TakenShim::Body(_)) && matches!(tail.take_shim(), TakenShim::Body(_)));
        assert!(head.append_tail(&tail));
        assert_eq!((head.to_wire(), head.payload()), (original.to_wire(), original.payload()));
        assert_eq!((head.wire_len(), head.checksum_holds()), (original.wire_len(), true));
    }
}

#[test]
fn what_is_no_tail_is_not_put_on_and_what_is_short_is_not_cut() {
    assert!(simulated(false).split_off_tail(5000).is_none() && live(false).split_off_tail(20).is_none());
    let mut head = simulated(false);
    let tail = head.split_off_tail(900).unwrap();
    let mut other = simulated(false);
    assert!(other.split_off_tail(500).is_some());
    assert!(!other.append_tail(&tail), "of another length");
    let huge = Packet::opaque(tail.ip().source, tail.ip().destination, 59, vec![0; 65_000].into());
    assert!(!live(false).append_tail(&huge));
}

#[test]
fn an_image_shows_the_same_packet() {
    for original in [simulated(false), simulated(true), live(false), live(true)] {
        let mut original = original;
        original.set_wire_len(40);
        original.mark_corrupted();
        let shown = Packet::from_image(&original.to_image()).unwrap();
        assert_eq!((shown.to_wire(), shown.payload()), (original.to_wire(), original.payload()));
        assert_eq!((shown.ip(), shown.tcp()), (original.ip(), original.tcp()));
        assert_eq!((shown.wire_len(), shown.is_corrupted()), (40, true));
    }
    assert!(matches!(Packet::from_image(&simulated(true).to_image()).unwrap().payload(), Payload::Virtual { .. }));
}

#[test]
fn a_cut_image_shows_nothing_or_less_and_never_panics() {
    for original in [simulated(false), live(true)] {
        let image = original.to_image();
        for len in 0..image.len() {
            let shown = Packet::from_image(&image[..len]);
            assert!(shown.is_none_or(|shown| shown.payload() != original.payload() || shown.tcp() != original.tcp()));
        }
    }
}

#[test]
fn the_mss_of_a_syn_is_lowered_and_never_raised() {
    let options = TcpOptions { mss: Some(1460), window_scale: Some(7), sack_permitted: true, ..TcpOptions::default() };
    let syn = Packet::tcp_bytes(&segment(false, options, TcpFlags::SYN), Bytes::new());
    for mut packet in [syn.clone(), Packet::parse(syn.to_wire()).unwrap()] {
        assert!(packet.clamp_mss(1400) && !packet.clamp_mss(1460));
        let read = Packet::parse(packet.to_wire()).unwrap();
        assert!(read.checksum_holds());
        assert_eq!(read.tcp().unwrap().options, TcpOptions { mss: Some(1400), ..options });
    }
    let mut data = simulated(false);
    assert!(!data.clamp_mss(10));
}
