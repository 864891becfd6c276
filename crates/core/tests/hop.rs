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
fn fragments_and_second_shims_of_simulated_packets_are_refused() {
    let reference = Reference::v4(etherparse::TcpHeader::new(1, 2, 3, 4), &[0; 64]).fragment(1, true);
    assert!(!reference.parsed().push_shim(b"x"));
    let mut twice = simulated(false);
    assert!(twice.push_shim(b"x") && !twice.push_shim(b"x"));
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
