//! Two stations face to face.

use super::*;
use crate::hop::testing::{self as bench, Bench, data, opaque};
use crate::papers::decoupling::header_hop::events;
use crate::{End, MAX_MEMORY};
use airtcp_core::parameters::Parameters;
use airtcp_core::{CONTROL_DSCP, Rng, Segment, TcpHeader, TcpOptions, Timestamps};
use core::net::{IpAddr, Ipv4Addr};
use std::string::ToString;
use std::vec;
use std::vec::Vec;

const VMSS: u32 = 1500;

fn station(name: &str, text: &[(&str, &str)]) -> Station {
    let mut settings = HeaderHopSettings::default();
    for &(key, value) in text {
        settings.set(key, &value.into()).unwrap();
    }
    settings.check().unwrap();
    Station::new(&settings, &mut bench::site(End::Near, &mut Rng::derive(1, name), MAX_MEMORY))
}

fn stations(text: &[(&str, &str)]) -> Bench<Station> {
    Bench::new(station("a", text), station("b", text))
}

fn packet(
    ports: (u16, u16),
    is_back: bool,
    sequence: u32,
    acknowledgment: u32,
    dscp: u8,
    stamp: Option<u32>,
) -> Packet {
    let timestamps = stamp.map(|value| Timestamps { value, echo: value.wrapping_sub(9) });
    let tcp = TcpHeader {
        source_port: ports.0,
        destination_port: ports.1,
        sequence: SeqNum(sequence),
        acknowledgment: SeqNum(acknowledgment),
        flags: TcpFlags::ACK,
        window: 1000,
        urgent: 0,
        options: TcpOptions { timestamps, ..TcpOptions::default() },
    };
    let host = |last| IpAddr::V4(Ipv4Addr::new(10, 0, 0, last));
    let (source, destination) = if is_back { (host(2), host(1)) } else { (host(1), host(2)) };
    Packet::tcp_bytes(&Segment { source, destination, traffic_class: dscp << 2, tcp }, Bytes::new())
}

/// The n-th header packet of circuit `circuit`; the first crosses the wrap, each with a later timestamp.
fn header_of(circuit: u16, n: u32) -> Packet {
    let sequence = (u32::MAX - 4 * VMSS).wrapping_add(n.wrapping_mul(VMSS));
    packet((40_000 + circuit, 5000), false, sequence, 7, CONTROL_DSCP, Some(70_000 + n * 3))
}

fn header(n: u32) -> Packet {
    header_of(0, n)
}

/// The same without timestamps.
fn short(n: u32) -> Packet {
    packet((40_000, 5000), false, n * VMSS, 7, CONTROL_DSCP, None)
}

/// The acknowledgment of the headers up to the n-th.
fn ack(n: u32) -> Packet {
    packet((5000, 40_000), true, 7, n * VMSS, 0, None)
}

fn wires(packets: &[Packet]) -> Vec<Bytes> {
    packets.iter().map(Packet::to_wire).collect()
}

fn lens(packets: &[Packet]) -> Vec<u32> {
    packets.iter().map(Packet::wire_len).collect()
}

/// Hands them to A one by one; lengths on the link.
fn sizes(bench: &mut Bench<Station>, packets: impl Iterator<Item = Packet>) -> Vec<u64> {
    let size = |packet| {
        let before = bench.bytes;
        bench.send(packet);
        bench.run(2);
        bench.bytes - before
    };
    packets.map(size).collect()
}

fn send_all(bench: &mut Bench<Station>, range: core::ops::Range<u32>) {
    range.for_each(|n| bench.send(header(n)));
}

/// Which headers came out at B since last asked, in order.
fn out(bench: &mut Bench<Station>) -> Vec<u32> {
    let packets = core::mem::take(&mut bench.b.io.inner);
    let number = |packet: &Packet| (0..2000).find(|n| header(*n).to_wire() == packet.to_wire()).expect("a true header");
    packets.iter().map(number).collect()
}

#[test]
fn dec_41_headers_of_40_bytes_become_3_and_come_out_as_they_went_in() {
    let mut bench = stations(&[]);
    let sizes = sizes(&mut bench, (0..40).map(short));
    // Whole with 5 bytes of ours; then VMSS, which is new; then nothing but the checksum.
    assert_eq!(sizes[..3], [45, 6, 3]);
    assert!(sizes[2..].iter().all(|size| *size == 3), "{sizes:?}");
    bench.run(20);
    assert_eq!(wires(&bench.b.io.inner), wires(&(0..40).map(short).collect::<Vec<_>>()));
    assert_eq!((bench.a.count(events::HEADER_FULL), bench.a.count(events::HEADER_COMPRESSED)), (1, 39));
}

#[test]
fn dec_41_with_timestamps_52_bytes_become_15_and_by_their_low_bits_7() {
    for (mode, size) in [("headers", 15), ("timestamps", 7)] {
        let mut bench = stations(&[("compress", mode)]);
        let sizes = sizes(&mut bench, (0..40).map(header));
        assert_eq!((sizes[0], sizes[1]), (57, size + 3));
        assert!(sizes[2..].iter().all(|found| *found == size), "{mode}: {sizes:?}");
        bench.run(20);
        assert_eq!(out(&mut bench), (0..40).collect::<Vec<_>>());
    }
}

/// An honest compressed packet: nothing but its bytes tells the far end of the header.
#[test]
fn dec_41_a_carrier_holds_its_bytes_and_nothing_else() {
    let mut bench = stations(&[]);
    bench.losing(|_, _| true);
    let mut a = bench.a;
    for n in 0..3 {
        a.packet(bench.now, Port::INNER, short(n));
    }
    let sent = core::mem::take(&mut a.io.link);
    assert_eq!(lens(&sent), [45, 6, 3]);
    assert!(sent.iter().all(|carrier| carrier.ip().dscp() == CONTROL_DSCP), "queues know it for a header packet");
    for carrier in &sent {
        assert!(carrier.tcp().is_none());
        assert_eq!(carrier.payload_len(), carrier.wire_len(), "what takes the medium is all that there is");
    }
}

#[test]
fn dec_41_a_live_packet_keeps_an_ip_header_for_the_kernel() {
    let mut bench = stations(&[]);
    let live = |n| Packet::parse(short(n).to_wire()).unwrap();
    assert_eq!(sizes(&mut bench, (0..4).map(live)), [65, 26, 23, 23]);
    bench.run(20);
    assert_eq!(wires(&bench.b.io.inner), wires(&(0..4).map(short).collect::<Vec<_>>()));
}

#[test]
fn dec_41_a_retransmission_and_any_other_change_goes_whole_or_as_a_difference() {
    let mut bench = stations(&[]);
    let ece = |n| {
        let mut packet = short(n);
        packet.set_flags(TcpFlags::ACK.with(TcpFlags::ECE));
        packet
    };
    let window = |n| {
        let mut packet = short(n);
        packet.set_window(999);
        packet
    };
    let sent = vec![short(0), short(1), short(2), short(1), short(3), window(4), ece(5), short(200)];
    let sizes = sizes(&mut bench, sent.clone().into_iter());
    // Back: whole. 2 segments on, and back to 1: 3 bytes more each, with the window 2 more. Flags, and 195 on: whole.
    assert_eq!(sizes, [45, 6, 3, 45, 6, 8, 45, 45]);
    bench.run(20);
    assert_eq!(wires(&bench.b.io.inner), wires(&sent));
}

/// Or a far end that lost its place would never hear of an acknowledgment again.
#[test]
fn dec_41_what_is_sent_again_unchanged_goes_whole() {
    let mut bench = stations(&[]);
    assert_eq!(sizes(&mut bench, [0, 1, 2, 2, 3].into_iter().map(short)), [45, 6, 3, 45, 3]);
}

#[test]
fn dec_41_circuits_have_contexts_of_their_own_and_their_number_is_bounded() {
    let mut bench = stations(&[("contexts", "2")]);
    let mut both = (0..20).flat_map(|n| [header_of(0, n), header_of(1, n)]);
    let found = sizes(&mut bench, &mut both);
    assert!(found[4..].chunks(2).all(|pair| pair == [15, 16]), "the second names its context: {found:?}");
    // Three that take turns push each other out.
    let found = sizes(&mut bench, (20..30).flat_map(|n| [header_of(0, n), header_of(1, n), header_of(2, n)]));
    assert!(found[3..].iter().all(|size| *size >= 57), "{found:?}");
    bench.run(20);
    assert_eq!(bench.b.io.inner.len(), 70);
    assert_eq!(bench.a.gauge(Gauge::FLOWS), Some(2));
}

#[test]
fn dec_41_acknowledgments_of_header_packets_are_compressed_on_their_way_back() {
    for (acks, expected) in [("true", [45, 6, 3, 3]), ("false", [40; 4])] {
        let mut bench = stations(&[("acks", acks)]);
        bench.send(short(0));
        bench.run(10);
        for n in 1..=4 {
            bench.b.packet(bench.now, Port::INNER, ack(2 * n));
        }
        assert_eq!(lens(&bench.b.io.link), expected);
        bench.run(20);
        assert_eq!(wires(&bench.a.io.inner), wires(&[2, 4, 6, 8].map(ack)));
    }
}

#[test]
fn everything_but_header_packets_passes_untouched() {
    let mut bench = stations(&[("copies", "1"), ("tries", "4")]);
    let mut syn = header(0);
    syn.set_flags(TcpFlags::SYN);
    let unmarked = packet((1, 2), false, 1, 1, 0, None);
    let sent = vec![data(0), opaque(700), syn, unmarked, data(1)];
    let found = sizes(&mut bench, sent.clone().into_iter());
    assert_eq!(found, sent.iter().map(|packet| u64::from(packet.wire_len())).collect::<Vec<_>>());
    bench.run(20);
    assert_eq!(wires(&bench.b.io.inner), wires(&sent));
    assert_eq!(bench.b.io.inner[0].payload(), sent[0].payload(), "also the virtual stream");
}

#[test]
fn dec_42_twice_finds_what_was_lost_at_the_first_guess() {
    let mut bench = stations(&[]);
    bench.losing(|n, _| n % 10 == 9);
    send_all(&mut bench, 0..60);
    bench.run(20);
    assert_eq!(out(&mut bench), (0..60).filter(|n| n % 10 != 9).collect::<Vec<_>>());
    assert_eq!((bench.b.count(events::TWICE_FIRST), bench.b.count(events::TWICE_LATER)), (5, 0));
    assert_eq!(bench.b.count(events::HEADER_LOST), 0);
}

#[test]
fn dec_42_several_lost_in_a_row_take_as_many_guesses_and_no_more_than_allowed() {
    let mut bench = stations(&[("twice", "3")]);
    bench.losing(|n, _| (10..13).contains(&n) || (20..24).contains(&n));
    send_all(&mut bench, 0..100);
    bench.run(20);
    // Four are too many: what follows is lost up to the next whole header, the 65th after the first.
    let expected: Vec<u32> = (0..10).chain(13..20).chain(65..100).collect();
    assert_eq!(out(&mut bench), expected);
    assert_eq!((bench.b.count(events::TWICE_FIRST), bench.b.count(events::TWICE_LATER)), (0, 1));
    assert_eq!(bench.b.count(events::HEADER_LOST), 65 - 24);
}

#[test]
fn dec_42_without_it_everything_up_to_a_whole_header_is_discarded_as_rfc_1144_does() {
    let mut bench = stations(&[("twice", "0"), ("refresh", "0")]);
    bench.losing(|n, _| n == 9);
    send_all(&mut bench, 0..100);
    // The control TCP sends again what is missing: its number goes back, so the header goes whole.
    bench.send(header(9));
    bench.send(header(10));
    bench.run(20);
    assert_eq!(out(&mut bench), (0..11).collect::<Vec<_>>());
    assert_eq!((bench.b.count(events::HEADER_LOST), bench.b.count(events::TWICE_FIRST)), (90, 0));
    assert_eq!(bench.b.ledger.discarded.get(DropReason::CORRUPTED), 90);
}

#[test]
fn dec_42_a_step_whose_multiples_the_checksum_does_not_show_is_not_left_out() {
    let mut bench = stations(&[]);
    // 21845 x 3 = 65535: three packets later the sum is the same.
    let strange = |n: u32| packet((40_000, 5000), false, n * 21_845, 7, CONTROL_DSCP, None);
    let found = sizes(&mut bench, (0..5).map(strange));
    assert_eq!(found, [45; 5]);
}

#[test]
fn dec_43_a_header_carries_earlier_ones_and_the_far_end_takes_what_it_missed() {
    for (copies, lost) in [("1", 1), ("2", 2)] {
        let mut bench = stations(&[("copies", copies), ("twice", "0")]);
        bench.losing(move |n, _| n % 10 >= 10 - lost);
        send_all(&mut bench, 0..60);
        bench.run(20);
        assert_eq!(out(&mut bench), (0..60 - lost as u32).collect::<Vec<_>>(), "{copies} copies");
        assert_eq!(bench.b.count(Event::RECOVERED), 5 * lost as u64);
    }
}

#[test]
fn dec_43_more_lost_than_is_carried_again_leaves_a_gap_that_twice_closes() {
    let mut bench = stations(&[("copies", "1")]);
    bench.losing(|n, _| n == 9 || n == 10);
    send_all(&mut bench, 0..20);
    bench.run(20);
    assert_eq!(out(&mut bench), (0..9).chain(10..20).collect::<Vec<_>>());
    assert_eq!((bench.b.count(Event::RECOVERED), bench.b.count(events::TWICE_FIRST)), (1, 1));
}

#[test]
fn dec_43_a_lost_header_is_sent_again_and_those_behind_it_wait() {
    let mut bench = stations(&[("tries", "4"), ("twice", "0"), ("refresh", "0")]);
    bench.losing(|n, _| n == 3);
    send_all(&mut bench, 0..20);
    bench.run(60);
    assert_eq!(out(&mut bench), (0..20).collect::<Vec<_>>());
    assert_eq!((bench.a.count(Event::REPAIR), bench.b.count(Event::RELEASED_IN_ORDER)), (1, 16));
    assert_eq!(bench.b.count(events::HEADER_LOST), 0, "the changes are applied in their order");
    assert_eq!(bench.a.gauge(Gauge::CACHE_BYTES), Some(0), "acknowledged and forgotten");
}

/// DEC-13: a header may come later, never before its data; and data do not wait for headers.
#[test]
fn dec_43_data_go_on_while_headers_wait_for_a_repair() {
    let mut bench = stations(&[("tries", "4")]);
    bench.losing(|n, _| n == 3);
    for n in 0..6 {
        bench.send(data(n));
        bench.send(header(n));
    }
    bench.run(13);
    let before: Vec<bool> =
        core::mem::take(&mut bench.b.io.inner).iter().map(|packet| packet.payload_len() > 0).collect();
    assert_eq!(before, [true, false, true, true, true, true, true], "header 1 is missing");
    bench.run(40);
    assert_eq!(out(&mut bench), [1, 2, 3, 4, 5]);
}

#[test]
fn dec_43_a_header_is_given_up_after_its_tries_and_twice_goes_on_from_there() {
    let mut bench = stations(&[("tries", "3"), ("hold", "10s")]);
    let is_third = |packet: &Packet| {
        let bytes = content(packet).and_then(|bytes| Repairable::decode(&bytes));
        bytes.is_some_and(|repairable| repairable.sequence == (START + 3).0 as u16)
    };
    bench.losing(move |_, packet| is_third(packet));
    send_all(&mut bench, 0..40);
    bench.run(150);
    assert_eq!(out(&mut bench), (0..40).filter(|n| *n != 3).collect::<Vec<_>>());
    assert_eq!((bench.a.count(Event::GIVEN_UP), bench.a.count(Event::REPAIR)), (1, 2));
    assert_eq!(bench.b.count(events::TWICE_FIRST), 1);
}

#[test]
fn dec_43_nothing_waits_longer_than_the_hold() {
    let mut bench = stations(&[("tries", "9"), ("hold", "20ms")]);
    bench.lose_control = true;
    bench.losing(|n, _| n == 3);
    send_all(&mut bench, 0..10);
    bench.run(15);
    assert_eq!(out(&mut bench), [0, 1, 2]);
    bench.run(15);
    assert_eq!(out(&mut bench), [4, 5, 6, 7, 8, 9]);
}

#[test]
fn dec_43_what_the_queue_before_the_link_drops_is_not_repaired() {
    let mut bench = stations(&[("tries", "4"), ("queue", "10kB")]);
    for n in 0..30 {
        bench.send(data(n));
    }
    bench.send(header(0));
    bench.run(100);
    assert!(bench.a.ledger.discarded.get(DropReason::QUEUE_FULL) > 0);
    assert_eq!(bench.a.count(Event::REPAIR), 0);
}

#[test]
fn what_a_link_refuses_waits_within_the_limit_of_its_queue() {
    let mut bench = stations(&[("queue", "10kB")]);
    bench.a.io.refuses = true;
    for n in 0..30 {
        bench.a.packet(bench.now, Port::INNER, data(n));
    }
    assert!((9000..=10_000).contains(&bench.a.gauge(Gauge::QUEUE_BYTES).unwrap()));
    assert_eq!(bench.a.ledger.discarded.get(DropReason::QUEUE_FULL), 21);
}

#[test]
fn a_link_that_doubles_everything_doubles_nothing_repairable_behind_it() {
    for text in [[("tries", "4")], [("copies", "2")]] {
        let mut bench = stations(&text);
        bench.twice = true;
        bench.losing(|n, _| n % 7 == 3);
        send_all(&mut bench, 0..50);
        bench.run(150);
        assert_eq!(out(&mut bench), (0..50).collect::<Vec<_>>(), "{text:?}");
    }
}

#[test]
fn a_damaged_carrier_is_dropped_and_counted() {
    for text in [[("tries", "1")], [("tries", "4")]] {
        let mut bench = stations(&text);
        send_all(&mut bench, 0..5);
        bench.run(20);
        bench.losing(|_, _| true);
        bench.a.packet(bench.now, Port::INNER, header(5));
        let mut damaged = bench.a.io.link.pop().unwrap();
        damaged.mark_corrupted();
        bench.b.packet(bench.now, Port::LINK, damaged);
        assert_eq!((bench.b.count(Event::CHECKSUM_BAD), bench.b.ledger.discarded.get(DropReason::CORRUPTED)), (1, 1));
    }
}

#[test]
fn a_packet_of_the_carriers_protocol_that_reads_as_none_is_dropped_unless_nobody_could_have_sent_one() {
    let mut bench = stations(&[]);
    let source = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
    let foreign = Packet::opaque(source, source, 253, Bytes::from_static(b"~~ not ours"));
    bench.send(foreign.clone());
    bench.run(20);
    assert_eq!((bench.b.io.inner.len(), bench.b.ledger.discarded.get(DropReason::CORRUPTED)), (0, 1));
    let mut alone = airtcp_core::testing::Harness::new(station("alone", &[]), "alone");
    alone.packet(bench.now, Port::LINK, foreign.clone());
    assert_eq!(wires(&alone.io.inner), wires(&[foreign]));
}

#[test]
fn without_the_other_end_headers_leave_as_they_came() {
    let mut bench = stations(&[]);
    send_all(&mut bench, 0..5);
    bench.lose_control = true;
    bench.run(1200);
    assert_eq!(bench.a.count(Event::PEER_DOWN), 1);
    bench.a.packet(bench.now, Port::INNER, header(5));
    assert_eq!(wires(&bench.a.io.link), wires(&[header(5)]));
}

#[test]
fn a_restarted_end_gets_whole_headers_again() {
    for text in [[("tries", "1")], [("tries", "4")]] {
        let mut bench = stations(&text);
        send_all(&mut bench, 0..10);
        bench.run(60);
        bench.b = airtcp_core::testing::Harness::new(station("b again", &text), "b");
        bench.run(150);
        send_all(&mut bench, 10..20);
        bench.run(60);
        assert_eq!(out(&mut bench), (10..20).collect::<Vec<_>>(), "{text:?}");
    }
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    for (key, value, word) in
        [("dscp", "64", "6 bits"), ("contexts", "0", "16"), ("copies", "16", "15"), ("tries", "0", "write 1")]
    {
        let mut rng = Rng::derive(1, "x");
        let error =
            make(&HeaderHopSettings::with([(key, value)]).unwrap(), &mut bench::site(End::Near, &mut rng, MAX_MEMORY))
                .err()
                .unwrap();
        assert!(error.to_string().contains(word), "{key}: {error}");
    }
}
