//! Trunks whose control TCPs are segments between two gateways.

use super::*;
use airtcp_core::{TcpFlags, TcpHeader};

#[test]
fn control_tcps_are_segments_between_the_gateways_and_no_messages() {
    let mut pair = Pair::one_way(&[SEGMENTS, ("vmss", "1000"), ("dscp", "5")]);
    pair.loses = Box::new(|_, message| {
        assert!(matches!(message::decode(message), Some(Message::Hello(_))), "{message:?}");
        false
    });
    pair.run(Duration::from_secs(2));
    assert!(pair.is_open(0) && pair.is_open(1));
    assert_in_order(&pair.left[0]);
    let (tunnelled, headers) = (pair.ends[0].count(events::TUNNELLED), pair.ends[0].count(events::HEADER_PACKET));
    assert!(tunnelled > 1900 && headers.abs_diff(tunnelled) <= 2, "{tunnelled} packets, {headers} header packets");
    assert!(pair.segments_left[0] as u64 >= headers && pair.segments_left[1] as u64 * 2 + 50 >= headers);
    let on_their_way: Vec<&Packet> = pair.segments[1].iter().map(|(_, segment)| segment).collect();
    assert!(!on_their_way.is_empty());
    for segment in on_their_way {
        let flow = segment.flow().unwrap();
        assert_eq!([flow.source, flow.destination], GATEWAYS);
        assert_eq!((flow.source_port, flow.destination_port, segment.ip().traffic_class >> 2), (47_921, 47_920, 5));
        assert!(segment.checksum_holds() && segment.payload_len() == 0);
    }
    assert!(pair.arrived.iter().all(Vec::is_empty), "none reaches a kernel");
    for (end, traffic) in [(0, Traffic::Leaving), (1, Traffic::Nothing)] {
        let own = pair.ends[end].element.own_segments().unwrap();
        assert_eq!([own.local, own.remote], [GATEWAYS[end], GATEWAYS[1 - end]]);
        assert_eq!((own.port, own.ports, pair.ends[end].element.traffic()), (47_920, 32, traffic));
    }
    assert_eq!(Pair::one_way(&[]).ends[0].element.own_segments(), None);
}

#[test]
fn a_trunk_of_segments_each_way_keeps_both_ways_apart() {
    let mut pair = Pair::new(&[SEGMENTS, ("controls", "3")], [End::Both, End::Both]);
    pair.run(Duration::from_secs(2));
    for end in 0..2 {
        assert_in_order(&pair.left[end]);
        assert!(pair.ends[end].count(events::TUNNELLED) > 1900, "{end}");
    }
    assert!(pair.arrived.iter().all(Vec::is_empty));
}

#[test]
fn an_end_of_segments_that_was_restarted_or_silent_is_found_within_its_first_round_trips() {
    for (end, role) in [(0, End::Near), (1, End::Far)] {
        let mut pair = Pair::one_way(&[SEGMENTS, ("controls", "2")]);
        pair.run(Duration::from_secs(2));
        pair.restart(end, role);
        pair.run(MS * 300);
        assert!(pair.is_open(0), "end {end}");
        let before = pair.ends[0].count(events::TUNNELLED);
        pair.run(Duration::from_secs(1));
        assert!(pair.ends[0].count(events::TUNNELLED) > before + 900, "end {end}");
    }
    let mut pair = Pair::one_way(&[SEGMENTS]);
    pair.run(Duration::from_secs(1));
    pair.loses = Box::new(|_, _| true);
    pair.loses_segments = true;
    pair.run(Duration::from_secs(20));
    assert!(!pair.is_open(0) && pair.left[0].len() as u32 + 50 > pair.offered[0], "what waited passed beside it");
    pair.loses = Box::new(|_, _| false);
    pair.loses_segments = false;
    pair.run(Duration::from_secs(1));
    assert!(pair.is_open(0));
    assert_in_order(&pair.left[0]);
}

#[test]
fn an_operator_is_told_of_a_far_end_that_takes_no_segments_and_of_a_path_that_drops_them() {
    let mut pair = Pair::one_way(&[SEGMENTS]);
    pair.ends[1] = station(&[], End::Far, 1, "in messages");
    pair.run(Duration::from_secs(12));
    assert!(pair.ends[0].element.advice().unwrap().contains("headers = \"tcp\""));
    assert_eq!(pair.left[0].len() as u32, pair.offered[0], "all passes");

    let mut pair = Pair::one_way(&[SEGMENTS]);
    pair.run(Duration::from_secs(1));
    pair.loses_segments = true;
    pair.run(Duration::from_secs(20));
    assert!(pair.ends[0].element.advice().unwrap().contains("no header packet"));
}

/// A segment from the sending end with this number.
fn made_up(sequence: u32, flags: TcpFlags) -> Packet {
    let source = crate::testing::edited(&crate::testing::ack(1), |_| ());
    let tcp = TcpHeader {
        source_port: 47_921,
        destination_port: 47_920,
        sequence: airtcp_core::SeqNum(sequence),
        flags,
        ..*source.tcp().unwrap()
    };
    let [from, to] = GATEWAYS;
    Packet::tcp_bytes(
        &airtcp_core::Segment { source: from, destination: to, traffic_class: 0, tcp },
        bytes::Bytes::new(),
    )
}

#[test]
fn segments_that_somebody_guessed_end_no_control_tcp() {
    let mut pair = Pair::one_way(&[SEGMENTS]);
    pair.run(Duration::from_secs(1));
    let mut rng = Rng::derive(3, "guess");
    for round in 0..300 {
        let flags = [TcpFlags::SYN, TcpFlags::RST, TcpFlags::ACK][round % 3];
        let now = pair.now;
        pair.ends[1].packet(now, Port::LINK, made_up(rng.next_u64() as u32, flags));
        pair.run(MS);
        assert!(pair.is_open(0) && pair.is_open(1), "{round}");
    }
    assert!(pair.ends[0].count(events::TUNNELLED) > 1200, "{}", pair.ends[0].count(events::TUNNELLED));
    // What is no control TCP's is for whoever it is for.
    let now = pair.now;
    pair.ends[1].packet(now, Port::LINK, crate::testing::ack(1));
    pair.run(MS);
    assert_eq!(pair.arrived[1].len(), 1);
}
