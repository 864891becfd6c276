//! Segments of somebody who wants to do harm, beside or within the flow of an honest pair of hosts: the flow is repaired
//! as if they were not there, and they cost little.

use super::tests::{Bench, MS, data, flow, offer_train, segment, stamped, train};
use super::*;
use crate::papers::gsnoop::events;
use crate::testing::edited;
use airtcp_core::{FlowKey, Segment, SeqNum, TcpFlags, TcpHeader};
use std::vec::Vec;

/// Far from everything that honest tests send.
const FAR: u32 = 1 << 30;

/// What the receiver of [`flow`] sends.
fn from_receiver(edit: impl FnOnce(&mut TcpHeader)) -> Packet {
    let key = flow().reversed();
    let template = segment(1, 0, TcpFlags::ACK);
    let tcp =
        TcpHeader { source_port: key.source_port, destination_port: key.destination_port, ..*template.tcp().unwrap() };
    let segment = Segment { source: key.source, destination: key.destination, traffic_class: 0, tcp };
    edited(&Packet::tcp_virtual(&segment, 2, 0, 0), edit)
}

/// The receiver's packet takes its way over B and A.
fn answer(bench: &mut Bench, packet: &Packet) {
    bench.b.packet(bench.now, Port::INNER, packet.clone());
    bench.a.packet(bench.now, Port::LINK, packet.clone());
}

/// What was delivered of the honest flow.
fn delivered(bench: &Bench) -> Vec<u32> {
    bench.delivered().into_iter().filter(|sequence| *sequence < FAR).collect()
}

/// Offers twenty segments, of which the sixteenth is lost, with those of `attack` after the tenth.
fn attacked(attack: impl IntoIterator<Item = Packet>) -> Bench {
    let mut bench = Bench::new(&[]);
    offer_train(&mut bench, 0, 10);
    attack.into_iter().for_each(|packet| bench.offer(packet));
    bench.lose = |sequence, times| sequence == 15_000 && times == 1;
    offer_train(&mut bench, 10_000, 10);
    bench.run(MS * 50);
    bench
}

#[test]
fn blind_segments_far_ahead_are_no_news_of_the_flow() {
    let bench = attacked([data(FAR), data(FAR + 1000)]);
    assert_eq!(delivered(&bench), train(0, 20));
    assert_eq!(bench.a.count(Event::REPAIR), 1);
    assert!(bench.a.count(events::POLL) <= 2, "{}", bench.a.count(events::POLL));
    assert_eq!([&bench.a, &bench.b].map(|end| end.count(events::DOUBTED)), [2, 2]);
}

#[test]
fn a_blind_syn_begins_no_connection_and_a_blind_reset_ends_none() {
    let blind = [FAR, FAR * 3].map(|sequence| [TcpFlags::SYN, TcpFlags::RST].map(|flags| segment(sequence, 0, flags)));
    let bench = attacked(blind.into_iter().flatten());
    assert_eq!(delivered(&bench), train(0, 20));
    assert_eq!((bench.a.count(Event::REPAIR), bench.b.count(events::DOUBTED)), (1, 4));
}

#[test]
fn blind_segments_from_long_ago_cause_no_questions() {
    let old = (1..50).map(|n| data(0u32.wrapping_sub(FAR + n * 7919)));
    let bench = attacked(old);
    assert_eq!(bench.a.count(Event::REPAIR), 1);
    assert!(bench.a.count(events::POLL) <= 5, "{}", bench.a.count(events::POLL));
}

#[test]
fn a_new_connection_on_the_same_ports_is_known_by_the_receivers_answer() {
    // Its numbers may be ahead of those of the old one, or behind.
    for first in [FAR, FAR * 3] {
        let mut bench = Bench::new(&[]);
        offer_train(&mut bench, 0, 10);
        bench.offer(segment(first, 0, TcpFlags::SYN));
        bench.run(MS * 20);
        let syn_ack = from_receiver(|tcp| {
            (tcp.flags, tcp.acknowledgment) = (TcpFlags::SYN.with(TcpFlags::ACK), SeqNum(first + 1));
        });
        answer(&mut bench, &syn_ack);
        bench.lose = |sequence, times| sequence % FAR == 5001 && times == 1;
        offer_train(&mut bench, first + 1, 10);
        bench.run(MS * 50);
        assert_eq!(bench.delivered()[11..], train(first + 1, 10));
        assert_eq!(bench.a.count(Event::REPAIR), 1);
    }
}

#[test]
fn a_flow_that_went_on_elsewhere_for_a_while_is_repaired_again_when_the_receiver_acknowledges() {
    let mut bench = Bench::new(&[]);
    offer_train(&mut bench, 0, 10);
    offer_train(&mut bench, FAR, 10);
    answer(&mut bench, &from_receiver(|tcp| tcp.acknowledgment = SeqNum(FAR + 3000)));
    bench.lose = |sequence, times| sequence == FAR + 15_000 && times == 1;
    offer_train(&mut bench, FAR + 10_000, 10);
    bench.run(MS * 50);
    assert_eq!(bench.delivered()[10..], train(FAR, 20));
    assert_eq!(bench.a.count(Event::REPAIR), 1);
}

#[test]
fn a_damaged_acknowledgment_frees_no_copy() {
    let mut bench = Bench::new(&[]);
    offer_train(&mut bench, 0, 10);
    let before = bench.a.element.upstream.cache.bytes();
    let mut ack = from_receiver(|tcp| tcp.acknowledgment = SeqNum(10_000));
    ack.mark_corrupted();
    bench.a.packet(bench.now, Port::LINK, ack);
    assert_eq!((bench.a.element.upstream.cache.bytes(), bench.a.count(Event::CHECKSUM_BAD)), (before, 1));
}

#[test]
fn a_segment_that_was_damaged_before_the_gateways_is_not_repaired_in_vain() {
    let damaged = (0..5).map(|n| {
        let mut packet = data(n * 2000);
        packet.mark_corrupted();
        packet
    });
    let mut bench = Bench::new(&[]);
    for packet in damaged {
        let next = packet.tcp().unwrap().sequence.0 + 1000;
        bench.offer(packet);
        bench.offer(data(next));
        bench.run(MS * 2);
    }
    bench.run(MS * 50);
    assert_eq!(bench.a.count(Event::REPAIR), 0);
    assert_eq!(bench.b.element.held(), Backlog::default(), "what is behind them went on");
}

#[test]
fn the_same_bytes_with_more_behind_them_are_no_second_copy() {
    let mut bench = Bench::new(&[("redundancy", "false")]);
    let of_length = |len| {
        let template = stamped(0, 7);
        let segment = Segment {
            source: template.ip().source,
            destination: template.ip().destination,
            traffic_class: 0,
            tcp: *template.tcp().unwrap(),
        };
        Packet::tcp_virtual(&segment, 1, 0, len)
    };
    bench.offer(of_length(100));
    bench.offer(of_length(1000));
    bench.offer(stamped(1000, 7));
    bench.run(MS * 50);
    assert_eq!((bench.delivered(), bench.b.count(events::NACK)), (std::vec![0, 0, 1000], 0));
}

#[test]
fn bytes_that_many_segments_have_are_repaired_once() {
    let mut bench = Bench::new(&[("queue", "1MB")]);
    bench.offer(data(0));
    bench.lose = |sequence, times| (1000..2000).contains(&sequence) && times == 1;
    (0..1000).for_each(|n| bench.offer(data(1000 + n)));
    bench.run(Duration::from_secs(1));
    bench.offer(data(2999));
    bench.run(MS * 100);
    assert!(bench.a.count(Event::REPAIR) <= 4, "{}", bench.a.count(Event::REPAIR));
    assert_eq!(bench.delivered().last(), Some(&2999));
}

#[test]
fn repairs_leave_half_of_the_link_to_others() {
    let mut bench = Bench::new(&[("redundancy", "false")]);
    // Of twenty segments, all but one are lost three times.
    bench.lose = |sequence, times| sequence % 20_000 > 0 && times <= 3;
    let before = bench.now;
    for sequence in train(0, 3000) {
        bench.offer(stamped(sequence, 1));
        bench.run(MS);
    }
    let elapsed = bench.now.saturating_since(before).as_nanos() / 1_000_000;
    let repairs = bench.a.ledger.created.iter().map(|(_, count)| count).sum::<u64>();
    // 1052 bytes take 0.7 ms; what is saved up is used once.
    let most = elapsed * 10 / 7 / 2 + 100;
    assert!(repairs <= most && repairs > most / 2, "{repairs} in {elapsed} ms, at most {most}");
    assert!(bench.a.count(events::REPAIR_REFUSED) > 0);
}

#[test]
fn what_the_receiver_has_no_room_for_is_not_kept() {
    let mut bench = Bench::new(&[]);
    bench.offer(segment(0, 0, TcpFlags::SYN));
    let syn_ack = from_receiver(|tcp| {
        (tcp.flags, tcp.acknowledgment, tcp.window) = (TcpFlags::SYN.with(TcpFlags::ACK), SeqNum(1), 5000);
        tcp.options.window_scale = Some(1);
    });
    answer(&mut bench, &syn_ack);
    offer_train(&mut bench, 1, 30);
    let copies = bench.a.element.upstream.cache.bytes() / 1000;
    assert!((5..10).contains(&copies), "{copies}");
    // What it acknowledges makes room: 5000 doubled.
    answer(&mut bench, &from_receiver(|tcp| (tcp.acknowledgment, tcp.window) = (SeqNum(30_001), 5000)));
    offer_train(&mut bench, 30_001, 30);
    let copies = bench.a.element.upstream.cache.bytes() / 1000;
    assert!((10..15).contains(&copies), "{copies}");
}

#[test]
fn a_million_flows_cost_the_honest_one_no_repair() {
    let mut bench = Bench::new(&[("rate", "1Gbit")]);
    let begin = bench.now;
    bench.lose = |sequence, times| sequence > 0 && sequence % 10_000 == 0 && times == 1;
    let key = flow();
    let syn = segment(1, 0, TcpFlags::SYN);
    for n in 0..10_000u32 {
        bench.offer(data(n * 1000));
        for m in 0..100u32 {
            let tcp =
                TcpHeader { source_port: (n * 7 + m) as u16, destination_port: (n / 5) as u16, ..*syn.tcp().unwrap() };
            let FlowKey { source, destination, .. } = key;
            bench.offer(Packet::tcp_virtual(&Segment { source, destination, traffic_class: 0, tcp }, 1, 0, 0));
        }
        bench.b.io.inner.retain(|packet| packet.sequence_len() > 1);
        bench.run(MS);
    }
    bench.run(MS * 50);
    bench.b.io.inner.retain(|packet| packet.sequence_len() > 1);
    assert_eq!(bench.delivered(), train(0, 10_000));
    let memory = bench.a.gauge(Gauge::MEMORY_BYTES).unwrap();
    assert!(memory <= crate::MAX_MEMORY.0, "{memory}");
    let asked = bench.a.count(events::POLL) * u64::from(upstream::MESSAGE_BYTES);
    // A thirty-second of the time, and what was saved up once.
    let time = bench.now.saturating_since(begin).as_millis() / 32 + 100;
    assert!(asked <= time * 1_000_000 / 8, "questions took {asked} bytes, {time} ms");
}
