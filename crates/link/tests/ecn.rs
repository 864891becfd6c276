//! A queue that marks loses no packet of an ECN-capable transport, and drops the others (RFC 3168).

use crate::common::*;
use airtcp_core::{DropReason, Ecn, Packet};
use airtcp_link::LinkCounters;
use bytes::Bytes;

/// The kinds that manage, with times and thresholds that two seconds of overload meet.
const MANAGED: &[&str] = &["kind = \"red\", limit = \"10000packets\"", "kind = \"codel\"", "kind = \"fq-codel\""];

/// Offers twice the rate for a second; gives what arrived and the counters.
fn overload(queue: &str, ecn: bool, offered: &dyn Fn() -> Packet) -> (Vec<Packet>, LinkCounters) {
    let mut link = link(&[("rate", "12Mbit"), ("queue", &format!("{{ {queue}, ecn = {ecn} }}"))]);
    let mut arrived = Vec::new();
    for half in 0..2000 {
        let now = at(half * 500_000);
        run_until(&mut link, now, &mut |_, packet| arrived.push(packet), &mut |_, _, _| {});
        link.send(now, offered(), &mut |_, reason| assert_eq!(reason, DropReason::AQM, "{queue}"));
    }
    (arrived, link.counters().clone())
}

fn with(ecn: Ecn) -> impl Fn() -> Packet {
    move || {
        let mut packet = packet(0, 1500);
        packet.set_ecn(ecn);
        packet
    }
}

#[test]
fn capable_packets_are_marked_and_none_is_dropped() {
    for queue in MANAGED {
        for codepoint in [Ecn::Ect0, Ecn::Ect1] {
            let (arrived, counters) = overload(queue, true, &with(codepoint));
            assert_eq!(counters.dropped_total(), 0, "{queue}");
            assert!(counters.marked > 10, "{queue}");
            let marked = arrived.iter().filter(|packet| packet.ip().ecn() == Ecn::Ce).count() as u64;
            assert!(marked > 0 && marked <= counters.marked, "{queue}");
            assert!(arrived.iter().all(|packet| [codepoint, Ecn::Ce].contains(&packet.ip().ecn())), "{queue}");
        }
    }
}

#[test]
fn packets_that_are_not_capable_are_dropped() {
    for queue in MANAGED {
        let (arrived, counters) = overload(queue, true, &with(Ecn::NotEct));
        assert_eq!(counters.marked, 0, "{queue}");
        assert!(counters.dropped.get(DropReason::AQM) > 10, "{queue}");
        assert!(arrived.iter().all(|packet| packet.ip().ecn() == Ecn::NotEct));
    }
}

#[test]
fn without_ecn_everything_is_dropped_alike() {
    for queue in MANAGED {
        let (_, capable) = overload(queue, false, &with(Ecn::Ect0));
        let (_, other) = overload(queue, false, &with(Ecn::NotEct));
        assert_eq!(capable, other, "{queue}");
        assert!(capable.dropped.get(DropReason::AQM) > 10 && capable.marked == 0, "{queue}");
    }
}

#[test]
fn codel_marks_when_it_would_drop() {
    // RFC 8289's law sees the same queue: a mark leaves a packet more in it, a drop one less, but the times are the law's.
    let (_, marking) = overload("kind = \"codel\"", true, &with(Ecn::Ect0));
    let (_, dropping) = overload("kind = \"codel\"", false, &with(Ecn::Ect0));
    assert_eq!(marking.marked, dropping.dropped.get(DropReason::AQM));
}

#[test]
fn a_marked_live_packet_keeps_a_right_checksum() {
    let live = || {
        let mut packet = Packet::parse(packet(0, 1500).to_wire()).expect("a well-formed packet");
        packet.set_ecn(Ecn::Ect0);
        packet
    };
    for queue in MANAGED {
        let (arrived, _) = overload(queue, true, &live);
        let marked: Vec<Bytes> =
            arrived.iter().filter(|packet| packet.ip().ecn() == Ecn::Ce).map(Packet::to_wire).collect();
        assert!(!marked.is_empty(), "{queue}");
        for datagram in marked {
            assert_eq!(datagram[1] & 3, 3);
            let sum: u32 = datagram[..20].chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1])).sum();
            assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff, "{queue}");
        }
    }
}
