//! TCP acknowledgments that ride in answers.

use super::airtime::FrameKind;
use super::riders::compressed;
use super::tests::{AP, ONE, at, packet, settings};
use super::{Bss, Entry, Report};
use crate::index::InterfaceId;
use airtcp_core::{DropReason, Instant, Packet, Segment, SeqNum, TcpFlags, TcpHeader, TcpOptions, Timestamps};
use std::net::{IpAddr, Ipv4Addr};

fn header(number: u32, clock: u32) -> TcpHeader {
    TcpHeader {
        source_port: 1000,
        destination_port: 80,
        sequence: SeqNum(1),
        acknowledgment: SeqNum(number),
        flags: TcpFlags::ACK,
        window: 1000,
        urgent: 0,
        options: TcpOptions { timestamps: Some(Timestamps { value: clock, echo: clock }), ..TcpOptions::default() },
    }
}

fn segment(tcp: TcpHeader) -> Packet {
    let host = |last| IpAddr::V4(Ipv4Addr::new(10, 0, 0, last));
    Packet::tcp_virtual(&Segment { source: host(1), destination: host(2), traffic_class: 0, tcp }, 1, 0, 0)
}

fn ack(number: u32) -> Packet {
    segment(header(number, number / 1000))
}

fn cell(values: &[(&str, &str)]) -> Bss {
    Bss::new(&settings(&[&[("hack", "true")], values].concat()), 2, 1, "cell")
}

fn give(cell: &mut Bss, when: Instant, from: InterfaceId, entry: Packet) {
    let to = if from == AP { ONE } else { AP };
    assert!(cell.send(when, from, Entry::new(to, entry, None)).is_ok());
}

/// Ends the next exchange; when, and the numbers of the acknowledgments that arrived at the access point.
fn step(cell: &mut Bss) -> Option<(Instant, Vec<u32>)> {
    let now = cell.next_event()?;
    let mut reports = Vec::new();
    cell.advance(now, &mut reports);
    let numbers = reports.iter().filter_map(|report| match report {
        Report::Delivered { to, packet, .. } if *to == AP => packet.tcp().map(|tcp| tcp.acknowledgment.0),
        _ => None,
    });
    Some((now, numbers.collect()))
}

/// Everything up to the end: when each acknowledgment arrived.
fn rest(cell: &mut Bss) -> Vec<u32> {
    std::iter::from_fn(|| step(cell)).flat_map(|(_, numbers)| numbers).collect()
}

/// A cell whose station has sent its first acknowledgment, and to which the access point sends two frames more, an exchange each.
fn in_the_middle(values: &[(&str, &str)]) -> (Bss, Instant) {
    let mut cell = cell(values);
    give(&mut cell, at(1000), ONE, ack(1000));
    let mut now = at(1000);
    while let Some((then, numbers)) = step(&mut cell) {
        now = then;
        assert!(numbers.is_empty() || numbers == [1000]);
    }
    // The first of three says that more will come.
    (0..3).for_each(|_| give(&mut cell, now, AP, packet(1000)));
    let (now, numbers) = step(&mut cell).unwrap();
    assert!(numbers.is_empty());
    (cell, now)
}

const PLAIN: &[(&str, &str)] = &[("phy", "g"), ("rate", "54Mbit"), ("basic_rate", "24Mbit")];
/// One frame a time.
const SINGLE: &[(&str, &str)] = &[("phy", "n"), ("block_ack_window", "1")];

#[test]
fn while_more_is_to_come_acknowledgments_ride_and_contend_for_nothing() {
    for values in [PLAIN, SINGLE] {
        let (mut cell, now) = in_the_middle(values);
        let before = *cell.usage(ONE);
        [2000, 3000].into_iter().for_each(|number| give(&mut cell, now, ONE, ack(number)));
        assert_eq!((cell.backlog(ONE).packets, cell.held(ONE)), (2, 2));
        // They ride in the answer to the second frame, which takes longer.
        assert_eq!(step(&mut cell).unwrap().1, [2000, 3000]);
        assert_eq!((cell.medium().riders, cell.held(ONE)), (2, 0));
        assert!(rest(&mut cell).is_empty());
        let usage = cell.usage(ONE);
        assert_eq!((usage.transmissions, usage.frames_delivered), (before.transmissions, before.frames_delivered));
        let acks = FrameKind::TcpAck as usize;
        assert!(usage.airtime[acks].delivered > before.airtime[acks].delivered, "their time is counted");
    }
}

#[test]
fn when_no_more_is_to_come_they_contend() {
    for values in [PLAIN, SINGLE] {
        let (mut cell, now) = in_the_middle(values);
        give(&mut cell, now, ONE, ack(2000));
        assert_eq!(step(&mut cell).unwrap().1, [2000]);
        // The last frame said that it is the last.
        let (now, _) = step(&mut cell).unwrap();
        let before = cell.usage(ONE).transmissions;
        give(&mut cell, now, ONE, ack(3000));
        assert_eq!(rest(&mut cell), [3000]);
        assert_eq!((cell.usage(ONE).transmissions, cell.medium().riders), (before + 1, 1));
    }
}

#[test]
fn what_came_too_late_for_the_last_answer_contends_when_that_is_over() {
    for values in [PLAIN, SINGLE] {
        let (mut cell, now) = in_the_middle(values);
        assert!(step(&mut cell).unwrap().1.is_empty());
        // The last exchange begins; in the middle of it an acknowledgment comes.
        let middle = Instant::from_nanos((now.as_nanos() + cell.next_event().unwrap().as_nanos()) / 2);
        let begins_before = cell.next_event().unwrap();
        assert!(middle < begins_before);
        give(&mut cell, begins_before - airtcp_core::Duration::from_micros(30), ONE, ack(2000));
        assert_eq!(rest(&mut cell), [2000]);
        assert_eq!(cell.medium().riders, 0);
    }
}

#[test]
fn the_first_of_a_flow_and_what_is_no_acknowledgment_contend_and_the_order_stays() {
    for values in [PLAIN, SINGLE] {
        let (mut cell, now) = in_the_middle(values);
        give(&mut cell, now, ONE, ack(2000));
        let fin = TcpHeader { flags: TcpFlags::ACK.with(TcpFlags::FIN), ..header(3000, 3) };
        give(&mut cell, now, ONE, segment(fin));
        // Nothing waits for an answer any more: the one before it contends, too.
        let mut numbers = rest(&mut cell);
        assert_eq!((numbers.len(), cell.medium().riders), (2, 0));
        numbers.dedup();
        assert_eq!(numbers, [2000, 3000]);
        let (mut cell, now) = in_the_middle(values);
        give(&mut cell, now, ONE, segment(TcpHeader { source_port: 1001, ..header(7, 1) }));
        assert_eq!((rest(&mut cell), cell.medium().riders), (vec![7], 0));
    }
}

#[test]
fn what_rode_in_an_answer_that_was_not_heard_rides_again_and_arrives_once() {
    for values in [PLAIN, SINGLE, &[("phy", "n")]] {
        let lossy = [("data_loss", "30%"), ("control_loss", "30%"), ("retry_limit", "4"), ("ap_queue", "1000packets")];
        let mut cell = cell(&[values, &lossy].concat());
        let (mut sent, mut got, mut now) = (1, Vec::new(), at(1000));
        give(&mut cell, now, ONE, ack(1000));
        (0..300).for_each(|_| give(&mut cell, now, AP, packet(1000)));
        while let Some((then, numbers)) = step(&mut cell) {
            now = then;
            got.extend(numbers);
            if sent < 100 {
                sent += 1;
                give(&mut cell, now, ONE, ack(sent * 1000));
            }
        }
        assert_eq!((cell.held(ONE), cell.held(AP), cell.backlog(ONE).packets), (0, 0, 0));
        let given_up = cell.counters(ONE).dropped.get(DropReason::RETRY_LIMIT);
        assert_eq!(got.len() as u64 + given_up, u64::from(sent), "{values:?}");
        got.sort_unstable();
        got.dedup();
        assert_eq!(got.len() as u64 + given_up, u64::from(sent), "each once: {values:?}");
        assert!(cell.medium().riders > 20, "{values:?}: {}", cell.medium().riders);
    }
}

#[test]
fn without_hack_nothing_rides() {
    let mut cell = Bss::new(&settings(PLAIN), 2, 1, "cell");
    (0..3).for_each(|_| give(&mut cell, at(1000), AP, packet(1000)));
    (1..4).for_each(|number| give(&mut cell, at(1000), ONE, ack(number * 1000)));
    assert_eq!((rest(&mut cell), cell.medium().riders), (vec![1000, 2000, 3000], 0));
}

#[test]
fn a_compressed_acknowledgment_has_a_few_bytes() {
    // Two segments more, and clocks a millisecond later: 2 + 1 + 1 behind 3.
    assert_eq!(compressed(&header(1000, 1), &header(1000 + 2896, 2)), 7);
    assert_eq!(compressed(&header(1000, 1), &header(1000, 1)), 3);
    assert_eq!(compressed(&header(u32::MAX - 10, 1), &header(100, 1)), 4, "across the wrap");
    let wider = TcpHeader { window: 2000, ..header(1100, 1) };
    assert_eq!(compressed(&header(1000, 1), &wider), 6);
    let mut reporting = header(1000, 1);
    assert!(reporting.options.sack.push(SeqNum(5000), SeqNum(6000)));
    assert_eq!(compressed(&header(1000, 1), &reporting), 11);
}
