//! The carriage *tunnel*.

use super::*;
use airtcp_core::SeqNum;
use airtcp_core::packet::{Segment, TcpFlags, TcpHeader, TcpOptions};
use core::net::Ipv6Addr;

/// What a message around a packet takes here: IPv4, UDP and our header, and the kind.
const OVERHEAD: u32 = 20 + 8 + 28 + 1;
const TUNNEL: (&str, &str) = ("carriage", "tunnel");

fn open_pair(settings: &[(&'static str, &'static str)]) -> Pair {
    let mut pair = Pair::one_way(&[&[TUNNEL], settings].concat());
    pair.supplies = [false; 2];
    pair.run(MS * 100);
    assert!(pair.is_open(0));
    pair
}

/// Offers a packet, and returns what arrived and what came back within a second: an acknowledgment may be delayed.
fn offer(pair: &mut Pair, packet: Packet) -> [Vec<Packet>; 2] {
    pair.arrived = Default::default();
    pair.ends[0].packet(pair.now, Port::INNER, packet);
    pair.run(Duration::from_secs(1));
    assert!(pair.left[0].is_empty(), "nothing is beside the tunnel");
    let [back, there] = std::mem::take(&mut pair.arrived);
    [there, back]
}

fn ipv4(length: usize, dont_fragment: bool) -> Packet {
    let ip = |last| IpAddr::V4(Ipv4Addr::new(10, 2, 0, last));
    let mut wire = Packet::opaque(ip(1), ip(2), 17, std::vec![7; length - 20].into()).to_wire().to_vec();
    wire[6] = if dont_fragment { 0x40 } else { 0 };
    Packet::parse(wire.into()).unwrap()
}

fn ipv6(length: usize) -> Packet {
    let ip = |last| IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, last));
    Packet::opaque(ip(1), ip(2), 17, std::vec![7; length - 40].into())
}

#[test]
fn data_arrive_in_messages_as_they_were_and_count_as_long_as_they_are_on_the_path() {
    let mut pair = Pair::one_way(&[TUNNEL, ("vmss", "1000")]);
    pair.run(MS * 100);
    let beside = pair.left[0].len();
    pair.run(Duration::from_secs(2));
    assert_eq!(pair.left[0].len(), beside, "what left before it was open, and no more");
    let numbers: Vec<u32> = pair.arrived[1].iter().map(number).collect();
    assert_in_order(&numbers);
    assert!(numbers.len() > 1900, "{}", numbers.len());
    for packet in &pair.arrived[1] {
        assert_eq!(packet.to_wire(), data(number(packet)).to_wire());
        assert_eq!(packet.wire_len(), 1000);
    }
    let [tunnelled, headers] = [events::TUNNELLED, events::HEADER_PACKET].map(|event| pair.ends[0].count(event));
    let expected = tunnelled * u64::from(1000 + OVERHEAD) / 1000;
    assert!(headers.abs_diff(expected) <= 3, "{headers} header packets for {tunnelled} packets");
    assert_eq!(pair.ends[1].count(events::DECAPSULATED), numbers.len() as u64);
}

#[test]
fn what_fits_is_carried_and_what_is_a_byte_longer_is_cut_or_its_sender_told() {
    let mut pair = open_pair(&[]);
    for path_mtu in [1500, 1400] {
        pair.ends[0].io.path_mtu = Some(path_mtu);
        let mtu = (path_mtu - OVERHEAD) as usize;
        for packet in [ipv4(mtu, true), ipv4(mtu, false), ipv6(mtu)] {
            let wire = packet.to_wire();
            let [there, back] = offer(&mut pair, packet);
            assert_eq!((there[0].to_wire(), there.len(), back.len()), (wire, 1, 0));
        }
        assert_eq!(pair.ends[0].gauge(events::TUNNEL_MTU), Some(mtu as u64));

        let [there, _] = offer(&mut pair, ipv4(mtu + 1, false));
        let lengths: Vec<u32> = there.iter().map(|part| part.ip().total_len).collect();
        assert_eq!((there.len(), lengths.iter().sum::<u32>()), (2, mtu as u32 + 1 + 20));
        for (packet, at, told) in [
            (ipv4(mtu + 1, true), 26, &(mtu as u16).to_be_bytes()[..]),
            (ipv6(mtu + 1), 44, &(mtu as u32).to_be_bytes()),
        ] {
            let (source, destination) = (packet.ip().source, packet.ip().destination);
            let [there, back] = offer(&mut pair, packet);
            assert_eq!((there.len(), back.len()), (0, 1));
            assert_eq!((back[0].ip().source, back[0].ip().destination), (destination, source));
            assert_eq!(&back[0].to_wire()[at..at + told.len()], told);
        }
    }
    let counts = [events::FRAGMENTED, events::TOO_BIG_TOLD].map(|event| pair.ends[0].count(event));
    assert_eq!((counts, pair.ends[0].ledger.discarded.get(DropReason::TOO_BIG)), ([2, 4], 4));
}

#[test]
fn a_path_too_narrow_for_ipv6_carries_its_least_mtu_all_the_same() {
    let mut pair = open_pair(&[]);
    pair.ends[0].io.path_mtu = Some(1280);
    assert_eq!(offer(&mut pair, ipv6(1280)).map(|packets| packets.len()), [1, 0]);
    let [there, back] = offer(&mut pair, ipv6(1281));
    assert_eq!((there.len(), &back[0].to_wire()[44..48]), (0, &1280u32.to_be_bytes()[..]));
}

#[test]
fn senders_are_told_at_a_bounded_rate() {
    let mut pair = open_pair(&[]);
    for _ in 0..1000 {
        pair.ends[0].packet(pair.now, Port::INNER, ipv4(1500, true));
    }
    assert_eq!(pair.ends[0].count(events::TOO_BIG_TOLD), 100);
    assert_eq!(pair.ends[0].ledger.discarded.get(DropReason::TOO_BIG), 1000);
    let [_, back] = offer(&mut pair, ipv4(1500, true));
    assert_eq!(back.len(), 100, "those above");
    assert_eq!(offer(&mut pair, ipv4(1500, true))[1].len(), 1);
}

#[test]
fn a_syn_announces_what_fits_only_if_the_file_asks_for_it() {
    let syn = || {
        let tcp = TcpHeader {
            source_port: 5000,
            destination_port: 80,
            sequence: SeqNum(1),
            acknowledgment: SeqNum(0),
            flags: TcpFlags::SYN,
            window: 65_535,
            urgent: 0,
            options: TcpOptions { mss: Some(1460), ..TcpOptions::default() },
        };
        let [source, destination] = [1, 2].map(|last| IpAddr::V4(Ipv4Addr::new(10, 2, 0, last)));
        let segment = Segment { source, destination, traffic_class: 0, tcp };
        Packet::parse(Packet::tcp_bytes(&segment, Default::default()).to_wire()).unwrap()
    };
    for (clamp, wanted) in [("false", 1460), ("true", 1500 - OVERHEAD as u16 - 40)] {
        let mut pair = open_pair(&[("clamp_mss", clamp)]);
        let [there, _] = offer(&mut pair, syn());
        assert_eq!(there[0].tcp().unwrap().options.mss, Some(wanted));
        assert!(Packet::parse(there[0].to_wire()).unwrap().checksum_holds());
    }
}

#[test]
fn what_waits_when_the_far_end_falls_silent_leaves_as_it_came() {
    let mut pair = Pair::one_way(&[TUNNEL]);
    pair.run(Duration::from_secs(1));
    // The window is used up: what comes waits, until the silence is noticed.
    pair.loses = Box::new(|_, _| true);
    pair.run(Duration::from_secs(3));
    assert!(!pair.is_open(0));
    assert_in_order(&pair.left[0]);
    assert_eq!(pair.lengths, BTreeSet::from([1000]));
}

#[test]
fn an_end_that_takes_no_trunk_takes_no_packet_of_one() {
    let mut pair = open_pair(&[]);
    let message = [&[3], &data(1).to_wire()[..]].concat();
    pair.ends[0].control(pair.now, &message);
    assert_eq!(pair.ends[0].count(Event::CONTROL_MALFORMED), 1);
    assert!(pair.ends[0].io.inner.is_empty());
    // A byte too much or too few is no packet.
    for bad in [[&message[..], &[0]].concat(), message[..message.len() - 1].to_vec(), std::vec![3]] {
        assert!(message::decode(&bad).is_none());
    }
}
