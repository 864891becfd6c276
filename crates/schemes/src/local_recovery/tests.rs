//! Two stations face to face.

use super::frame::{Form, Kind, Known, Shim, decode_shim, encode_shim};
use super::*;
use crate::hop::Part;
use crate::hop::testing::{self as bench, Bench, ack, data, opaque, syn};
use crate::peer::Hello;
use crate::selective_repeat::Received;
use crate::selective_repeat::contract::{Ends, contract};
use crate::selective_repeat::{Place, START};
use crate::{End, MAX_MEMORY};
use airtcp_core::parameters::Parameters;
use airtcp_core::testing::Harness;
use airtcp_core::{DropReason, Event, Rate, Rng, SeqNum, TakenShim};
use std::cell::Cell;
use std::rc::Rc;
use std::vec::Vec;

pub(super) struct Local;

impl Ends for Local {
    type Station = Station;
    const WITHOUT_SPARES: &'static [(&'static str, &'static str)] = &[("redundancy", "false")];

    fn station(name: &str, settings: &[(&str, &str)]) -> Station {
        let mut own = Settings::default();
        for &(key, value) in settings {
            own.set(key, &value.into()).unwrap();
        }
        Station::new(&own, &mut bench::site(End::Near, &mut Rng::derive(1, name), MAX_MEMORY))
    }

    fn next_frame(station: &Station) -> Frame {
        station.outgoing.sender.next_frame(Place::default())
    }

    fn encode(frame: &Frame) -> Vec<u8> {
        encode_shim(&Shim { frame: *frame, kind: Kind::Packet, form: Form::Whole })
    }

    fn decode(body: &[u8]) -> Option<Frame> {
        let shim = decode_shim(body)?;
        // No test sends more packets than a short frame can number.
        let first = position::first(START);
        let known = |incarnation| Known { incarnation, places: Some((first, first)) };
        Some(shim.completed(&known(shim.frame.incarnation))?.frame)
    }

    fn told(ack: Ack) -> Vec<u8> {
        Message::Ack((ack, LinkNews::default())).encode()
    }
}

contract!(Local);

/// The air loses each packet towards B with this chance, in per cent.
pub(super) fn lossy(bench: &mut Bench<Station>, per_cent: u64, seed: u64) {
    let mut rng = Rng::derive(seed, "air");
    bench.losing(move |_, _| rng.below(100) < per_cent);
}

/// A datagram of another flow than `data`, marked as voice or not.
fn datagram(len: usize, is_voice: bool) -> Packet {
    let mut packet = opaque(len);
    if is_voice {
        packet.set_traffic_class(46 << 2);
    }
    packet
}

#[test]
fn packets_of_every_kind_come_out_as_they_went_in() {
    let mut bench = Local::bench(&[]);
    let packets = [data(0), opaque(700), Packet::parse(opaque(900).to_wire()).unwrap(), data(1)];
    for packet in &packets {
        bench.send(packet.clone());
    }
    bench.run(30);
    let came: Vec<_> = bench.b.io.inner.iter().map(Packet::to_wire).collect();
    assert_eq!(came.len(), packets.len());
    assert!(packets.iter().all(|packet| came.contains(&packet.to_wire())));
    let stream = bench.b.io.inner.iter().find(|packet| packet.to_wire() == packets[0].to_wire()).unwrap();
    assert_eq!(stream.payload(), packets[0].payload(), "also the virtual stream");
}

#[test]
fn a_packet_waits_for_its_own_flow_only() {
    let mut bench = Local::bench(&[]);
    bench.losing(|_, packet| Local::is_first_try(packet, 1));
    bench.send(datagram(700, false));
    bench.send(data(0));
    bench.send(datagram(700, false));
    bench.send(data(1));
    bench.run(9);
    let came = |bench: &Bench<Station>, is_tcp: bool| {
        bench.b.io.inner.iter().filter(|packet| packet.tcp().is_some() == is_tcp).count()
    };
    // FQ-CoDel serves the two flows in turn, so either may have lost its second packet.
    assert_eq!(came(&bench, true).max(came(&bench, false)), 2, "one flow is complete");
    assert!(bench.b.io.inner.len() < 4, "and the other is not");
    bench.run(30);
    assert_eq!((came(&bench, true), came(&bench, false)), (2, 2));
}

#[test]
fn a_packet_that_the_ring_refused_still_waits_for_the_one_before_it() {
    let mut bench = Local::bare(&[]);
    bench.losing(|_, packet| Local::is_first_try(packet, 0));
    bench.send(data(0));
    bench.run(1);
    bench.a.io.refuses = true;
    bench.send(data(1));
    bench.run(1);
    bench.a.io.refuses = false;
    bench.a.call(bench.now, |station, cx| station.handle_ready(cx, Port::LINK));
    bench.run(9);
    assert_eq!(bench.out(), [0_u32; 0]);
    bench.run(30);
    assert_eq!(bench.out(), [0, 1]);
}

#[test]
fn voice_is_repaired_and_never_waits() {
    let mut bench = Local::bench(&[]);
    bench.losing(|_, packet| Local::is_first_try(packet, 2));
    for _ in 0..6 {
        bench.send(datagram(200, true));
    }
    bench.run(7);
    assert_eq!((bench.b.io.inner.len(), bench.b.count(Event::HELD)), (5, 0));
    bench.run(15);
    assert_eq!(bench.b.io.inner.len(), 6, "the lost one comes late");
}

#[test]
fn of_many_acknowledgments_few_have_frames_and_all_come_out() {
    for (many, expected) in [("8", 8..=12), ("0", 100..=100)] {
        let mut bench = Local::bench(&[("many_acks", many)]);
        let frames = Rc::new(Cell::new(0));
        let counted = frames.clone();
        bench.losing(move |_, packet| {
            let is_frame = matches!(packet.clone().take_shim(), TakenShim::Body(_));
            counted.set(counted.get() + usize::from(is_frame));
            false
        });
        for _ in 0..100 {
            bench.send(ack());
            bench.run(1);
        }
        bench.run(30);
        assert_eq!(bench.b.io.inner.len(), 100);
        assert!(expected.contains(&frames.get()), "{}", frames.get());
    }
}

#[test]
fn a_repair_that_is_lost_again_is_found_by_what_was_sent_after_it() {
    let mut bench = Local::bench(&[]);
    let mut tries = 0;
    bench.losing(move |_, packet| {
        let hit = Local::is_sequence(packet, 3);
        tries += u32::from(hit);
        hit && tries <= 2
    });
    bench.send_all(0..80);
    bench.run(110);
    assert_eq!(bench.out(), (0..80).collect::<Vec<_>>());
    assert_eq!((bench.a.count(Event::REPAIR), bench.b.count(Event::RELEASED_ACROSS_GAP)), (2, 0));
    assert!(bench.a.count(events::SPARE_COPY) > 0, "the second repair goes out twice");
}

#[test]
fn the_last_packet_goes_out_twice_or_is_repaired_by_the_clock() {
    for redundancy in ["true", "false"] {
        let mut bench = Local::bench(&[("redundancy", redundancy)]);
        bench.losing(|_, packet| Local::is_first_try(packet, 4));
        bench.send_all(0..5);
        bench.run(12);
        let expected: &[u32] = if redundancy == "true" { &[0, 1, 2, 3, 4] } else { &[0, 1, 2, 3] };
        assert_eq!(bench.out(), expected);
        bench.run(60);
        assert_eq!(bench.out(), &[4][..usize::from(redundancy == "false")]);
    }
}

#[test]
fn a_short_packet_that_comes_alone_leaves_twice_where_packets_are_lost() {
    for (twice, lost, expected) in [("true", 1, 1), ("true", 2, 0), ("false", 0, 1), ("false", 1, 0)] {
        let mut bench = Local::bench(&[("redundancy", "false"), ("short_twice", twice)]);
        let mut crossed = 0..;
        bench.losing(move |_, packet| packet.wire_len() < 200 && crossed.next() < Some(lost));
        bench.send_all(0..5);
        bench.run(20);
        bench.send(datagram(100, false));
        bench.run(8);
        let came = bench.b.io.inner.iter().filter(|packet| packet.tcp().is_none()).count();
        assert_eq!(came, expected, "{twice}, {lost} lost, before there is time for a repair");
    }
}

#[test]
fn a_link_that_stands_still_is_not_filled_with_copies() {
    let mut bench = Local::bare(&[("peer_timeout", "10s")]);
    bench.send_all(0..5);
    bench.run(40);
    bench.out();
    bench.losing(|_, _| true);
    bench.lose_control = true;
    bench.send_all(5..35);
    bench.run(1500);
    let probes = bench.a.count(events::SPARE_COPY);
    assert!(
        bench.a.count(Event::REPAIR) == 0 && (1..15).contains(&probes),
        "{probes} probes in 1.5 s, ever further apart"
    );
    bench.losing(|_, _| false);
    bench.lose_control = false;
    bench.run(2000);
    assert_eq!(bench.out(), (5..35).collect::<Vec<_>>(), "and all comes in the end");
}

#[test]
fn lost_feedback_costs_copies_and_no_packets() {
    let mut bench = Local::bench(&[]);
    bench.lose_control = true;
    bench.send_all(0..10);
    bench.run(50);
    bench.lose_control = false;
    bench.run(100);
    assert_eq!(bench.out(), (0..10).collect::<Vec<_>>());
    assert_eq!(bench.a.gauge(Gauge::CACHE_BYTES), Some(0));
}

#[test]
fn a_link_that_reorders_is_given_time() {
    // Every fifth packet comes two places late, as the bench keeps order only of what it carries.
    let mut bench = Local::bare(&[]);
    let mut late: Vec<Packet> = Vec::new();
    let mut repairs = Vec::new();
    for round in 0..40 {
        for n in 0..5 {
            bench.a.packet(bench.now, Port::INNER, data(round * 5 + n));
            bench.run(1);
            let mut sent = core::mem::take(&mut bench.a.io.link);
            if n == 1 {
                late.append(&mut sent);
            } else {
                let packets = sent.into_iter().chain(if n == 3 { core::mem::take(&mut late) } else { Vec::new() });
                for packet in packets {
                    bench.b.packet(bench.now, Port::LINK, packet);
                }
            }
        }
        repairs.push(bench.a.count(Event::REPAIR));
    }
    bench.run(60);
    assert!(repairs[39] == repairs[20], "after a while nothing is repaired in vain: {repairs:?}");
    let mut out = bench.out();
    out.dedup();
    assert!(out.is_sorted(), "and nobody sees the reordering");
}

#[test]
fn a_syn_asks_for_segments_that_leave_room_for_the_shim() {
    let mut bench = Local::bench(&[]);
    bench.send(syn());
    bench.run(20);
    assert_eq!(bench.b.io.inner[0].tcp().unwrap().options.mss, Some(1460 - 20));
    let mut alone = Harness::new(Local::station("alone", &[]), "alone");
    alone.packet(bench.now, Port::INNER, syn());
    assert_eq!(
        alone.io.link[0].tcp().unwrap().options.mss,
        Some(1460 - 20),
        "also while the other end is not there yet"
    );
    alone.packet(bench.now, Port::LINK, syn());
    assert_eq!(alone.io.inner[0].tcp().unwrap().options.mss, Some(1460 - 20), "and one that the other end let pass");
}

#[test]
fn long_packets_go_over_the_link_in_two_and_come_out_whole() {
    for is_live in [false, true] {
        let long = |n: usize| {
            let packet = opaque(1500 - n);
            if is_live { Packet::parse(packet.to_wire()).unwrap() } else { packet }
        };
        for lost in [None, Some(0), Some(1), Some(2)] {
            let mut bench = Local::bare(&[]);
            let mut sent = Vec::new();
            bench.losing(move |n, packet| {
                assert!(packet.wire_len() <= 1500, "{}", packet.wire_len());
                Some(n) == lost
            });
            for n in 0..20 {
                bench.send(long(n));
                sent.push(long(n).to_wire());
            }
            bench.run(120);
            let came: Vec<_> = bench.b.io.inner.iter().map(Packet::to_wire).collect();
            assert_eq!(came, sent, "{lost:?}");
            assert_eq!(bench.a.count(Event::UNPROTECTED), 0);
            assert_eq!(bench.a.ledger.created.get(events::CUT_OFF), 20, "those that are longer than 1480");
        }
    }
}

#[test]
fn halves_that_come_after_a_silence_are_still_halves() {
    let mut bench = Local::bare(&[]);
    for _ in 0..2 {
        for n in 0..3 {
            bench.send(opaque(1500 - n));
        }
        bench.run(60);
        let mut came: Vec<_> = bench.b.io.inner.drain(..).map(|packet| packet.wire_len()).collect();
        came.sort_unstable();
        assert_eq!(came, [1498, 1499, 1500]);
        bench.lose_control = true;
        bench.run(1200);
        bench.lose_control = false;
        bench.run(200);
    }
}

#[test]
fn frames_that_an_outage_kept_are_read_when_they_come_few_at_a_time() {
    let mut bench = Local::bare(&[]);
    bench.send_all(0..5);
    bench.run(40);
    bench.out();
    // The link stands still with these in its queue. Longer than a peer may be silent, it carries one of them, and then the others.
    let mut late = Vec::new();
    for n in 5..10 {
        bench.a.packet(bench.now, Port::INNER, data(n));
        late.append(&mut bench.a.io.link);
        bench.run(2);
    }
    let mut late = late.into_iter();
    bench.losing(|_, _| true);
    bench.lose_control = true;
    bench.run(1500);
    assert_eq!((late.len(), bench.b.count(Event::PEER_DOWN)), (5, 1));
    for packets in [1, 4] {
        for packet in late.by_ref().take(packets) {
            bench.b.packet(bench.now, Port::LINK, packet);
        }
        bench.run(1000);
    }
    assert_eq!(bench.out(), (5..10).collect::<Vec<_>>(), "they show that the other end was there");
}

#[test]
fn what_an_outage_of_the_link_lost_is_repaired_after_it() {
    let mut bench = Local::bare(&[]);
    bench.send_all(0..5);
    bench.run(40);
    bench.out();
    // The link takes ten more packets with it, for longer than a peer may be silent.
    bench.losing(|_, _| true);
    bench.lose_control = true;
    bench.send_all(5..15);
    bench.run(3000);
    assert_eq!(bench.a.count(Event::PEER_DOWN), 1);
    bench.losing(|_, _| false);
    bench.lose_control = false;
    bench.run(1500);
    assert_eq!(bench.out(), (5..15).collect::<Vec<_>>(), "each once");
    bench.send_all(15..20);
    bench.run(60);
    assert_eq!(bench.out(), (15..20).collect::<Vec<_>>());
}

/// The n-th packet's frame on the air, and how long it is.
fn form_of(packet: &Packet) -> Option<(Form, usize)> {
    let TakenShim::Body(body) = packet.clone().take_shim() else { return None };
    Some((decode_shim(&body)?.form, body.len()))
}

/// Packets towards B from now on, a millisecond apart, and the forms of their frames.
fn forms_of(bench: &mut Bench<Station>, packets: core::ops::Range<u32>) -> Vec<Option<(Form, usize)>> {
    let forms = std::rc::Rc::new(core::cell::RefCell::new(Vec::new()));
    let noted = forms.clone();
    bench.losing(move |_, packet| {
        noted.borrow_mut().push(form_of(packet));
        false
    });
    for n in packets {
        bench.send(data(n));
        bench.run(1);
    }
    bench.losing(|_, _| false);
    forms.take()
}

#[test]
fn frames_are_short_once_one_is_acknowledged_and_whole_for_an_end_that_forgot() {
    let short = (Form::Short { tells_back: false }, 6);
    let mut bench = Local::bare(&[]);
    let forms = forms_of(&mut bench, 0..60);
    let begin = forms.iter().take_while(|form| **form == Some((Form::Whole, 14))).count();
    assert!((10..=20).contains(&begin), "a round trip, {begin}");
    assert!(forms[begin..].iter().all(|form| *form == Some(short)), "{forms:?}");
    // The far end hears nothing for long, and forgets; the near end hears it all the time.
    bench.run(60);
    bench.b.call(bench.now, Station::start_anew);
    let forms = forms_of(&mut bench, 60..120);
    assert_eq!(forms[0], Some(short), "nobody has told");
    assert!(forms.iter().any(|form| matches!(form, Some((Form::Whole, _)))), "a probe");
    assert_eq!(forms.last(), Some(&Some(short)), "and it follows again");
    bench.run(60);
    let out = bench.out();
    assert_eq!(out, (0..120).collect::<Vec<_>>(), "what could not be read is repaired, and comes out once");
}

#[test]
fn what_was_given_up_is_told_until_the_other_end_waits_no_more() {
    let mut bench = Local::bare(&[("tries", "1"), ("hold", "10s")]);
    bench.send_all(0..10);
    bench.run(30);
    // The message that says so is lost, too.
    bench.losing(|_, packet| Local::is_sequence(packet, 10));
    bench.send_all(10..14);
    bench.run(9);
    bench.lose_control = true;
    bench.run(12);
    bench.lose_control = false;
    let forms = forms_of(&mut bench, 14..60);
    assert!(bench.a.count(Event::GIVEN_UP) == 1, "one was lost");
    let tells = forms.iter().filter(|form| matches!(form, Some((Form::Short { tells_back: true }, 8)))).count();
    assert!((1..=30).contains(&tells), "{tells} of {}", forms.len());
    assert_eq!(forms.last().unwrap().unwrap().0, Form::Short { tells_back: false });
    bench.run(30);
    assert_eq!(bench.out(), (0..10).chain(11..60).collect::<Vec<_>>());
}

#[test]
fn an_end_that_was_put_off_by_a_forged_frame_is_followed_again() {
    for (number, sequence) in [(1_000_000, 3), (9, 5000), (30_000, 30_000)] {
        let mut bench = Local::bare(&[]);
        bench.send_all(0..20);
        bench.run(40);
        assert_eq!(bench.out().len(), 20);
        let mut forged = data(0);
        let frame = Local::next_frame(&bench.a.element);
        let frame = Frame { number: START + number, sequence: START + sequence, back: 0, ..frame };
        assert!(forged.push_shim(&Local::encode(&frame)));
        bench.b.packet(bench.now, Port::LINK, forged);
        bench.send_all(20..30);
        bench.run(400);
        bench.out();
        lossy(&mut bench, 10, 3);
        for n in 30..330 {
            bench.send(data(n));
            bench.run(1);
        }
        bench.run(100);
        assert_eq!(bench.out(), (30..330).collect::<Vec<_>>(), "{number} {sequence}");
        assert_eq!(bench.a.count(events::FRAMES_BLOCKED), 0);
    }
}

#[test]
fn an_end_of_another_version_is_told_to_the_operator_and_gets_packets_as_they_are() {
    let mut near = Harness::new(Local::station("near", &[]), "near");
    let now = Instant::from_nanos(1_000_000_000);
    let hello = Message::Hello(Hello { epoch: 1, stamp: 1, echo: 1, held: 0 }).encode();
    let older = [&[1], &hello[1..]].concat();
    near.control(now, &older);
    assert_eq!((near.count(events::OTHER_VERSION), near.count(Event::PEER_UP)), (1, 0));
    assert!(near.element.advice().unwrap().contains("another version"));
    near.packet(now, Port::INNER, opaque(700));
    assert_eq!(near.io.link.last().unwrap().to_wire(), opaque(700).to_wire());
    near.control(now, &hello);
    assert_eq!(near.element.advice(), None);
}

#[test]
fn a_head_waits_no_longer_than_the_hold() {
    let mut bench = Local::bare(&[("hold", "100ms")]);
    bench.losing(|_, packet| Local::is_sequence(packet, 1));
    bench.send(opaque(1500));
    bench.run(90);
    assert_eq!(bench.b.element.held().packets, 1);
    bench.run(30);
    assert_eq!((bench.b.element.held().packets, bench.b.ledger.discarded.get(DropReason::CORRUPTED)), (0, 1));
}

#[test]
fn halves_of_an_earlier_incarnation_are_no_packets() {
    let mut bench = Local::bench(&[]);
    let other = Local::next_frame(&bench.a.element).incarnation ^ 1;
    for part in [Part::Whole, Part::Head, Part::Tail] {
        let mut packet = opaque(900);
        let frame = Frame { incarnation: other, number: START, sequence: START, back: 0, after: 0, part };
        assert!(packet.push_shim(&Local::encode(&frame)));
        bench.b.packet(bench.now, Port::LINK, packet);
    }
    assert_eq!((bench.b.io.inner.len(), bench.b.ledger.discarded.get(DropReason::CORRUPTED)), (1, 2));
}

#[test]
fn half_a_packet_is_none() {
    for lost in [START, START + 1] {
        let mut bench = Local::bare(&[("tries", "1"), ("hold", "100ms")]);
        bench.losing(move |_, packet| Local::frame_of(packet).is_some_and(|frame| frame.sequence == lost));
        bench.send(opaque(1500));
        for _ in 0..40 {
            bench.send(opaque(1000));
        }
        bench.run(300);
        assert_eq!(bench.b.io.inner.iter().filter(|packet| packet.wire_len() != 1000).count(), 0);
        assert_eq!(bench.b.io.inner.len(), 40);
        assert_eq!(bench.b.ledger.discarded.get(DropReason::CORRUPTED), 1, "the other half");
    }
}

#[test]
fn a_head_that_waits_for_its_tail_is_given_up_with_the_other_end() {
    let mut bench = Local::bare(&[("hold", "10s")]);
    bench.losing(|_, packet| Local::is_sequence(packet, 1));
    bench.send(opaque(1500));
    bench.run(8);
    assert_eq!(bench.b.element.held().packets, 1);
    bench.lose_control = true;
    bench.run(1200);
    assert_eq!((bench.b.element.held().packets, bench.b.ledger.discarded.get(DropReason::CORRUPTED)), (0, 1));
}

#[test]
fn a_way_that_passes_messages_and_no_frames_gets_packets_as_they_are() {
    let mut bench = Local::bench(&[]);
    bench.losing(|_, packet| Local::frame_of(packet).is_some());
    for n in 0..300 {
        bench.send(data(n));
        bench.run(10);
    }
    assert_eq!(bench.a.count(events::FRAMES_BLOCKED), 1);
    let out = bench.out();
    assert!(out.len() > 100 && out.last() == Some(&299), "{} came", out.len());
}

#[test]
fn heads_without_tails_take_no_more_than_their_memory() {
    let mut bench = Local::bare(&[("tries", "255"), ("hold", "10s")]);
    let limit = MAX_MEMORY.0 / 16;
    let incarnation = Local::next_frame(&bench.a.element).incarnation;
    for n in 0..5000 {
        let mut head = opaque(1480);
        let (number, sequence) = (START + n * 2, START + 1 + n * 2);
        let frame = Frame { incarnation, number, sequence, back: 0, after: 0, part: Part::Head };
        let frame = Frame { back: (n * 2 + 1).min(0xffff) as u16, ..frame };
        assert!(head.push_shim(&Local::encode(&frame)));
        bench.b.packet(bench.now, Port::LINK, head);
    }
    let outlet = &bench.b.element.receiver.order.outlet;
    assert!(outlet.memory() <= limit && outlet.waiting().packets > 1000, "{outlet:?}");
    assert!(bench.b.ledger.discarded.get(DropReason::MEMORY_LIMIT) > 0);
}

#[test]
fn a_peer_that_says_all_is_lost_gets_half_of_the_link_for_repairs() {
    let mut bench = Local::bare(&[("tries", "255")]);
    bench.lose_control = true;
    for n in 0..1000 {
        bench.a.packet(bench.now, Port::INNER, data(n));
        bench.run(1);
        let frame = Local::next_frame(&bench.a.element);
        let newest = SeqNum(frame.number.0.wrapping_sub(1));
        let ack = Ack { incarnation: frame.incarnation, newest, expected: START, received: Received::default() };
        bench.a.control(bench.now, &Message::Ack((ack, LinkNews::default())).encode());
    }
    let repairs = bench.a.count(Event::REPAIR);
    // Each takes 0.7 ms: half of the second, and what was saved up when it began (a hold, 62 ms).
    assert!((600..=850).contains(&repairs), "{repairs}");
    assert!(bench.a.count(events::REPAIR_DELAYED) > 0);
}

#[test]
fn a_round_trip_and_a_hold_as_long_as_can_be_told_overflow_nothing() {
    let half = Duration::from_nanos(u64::MAX / 2);
    let settings = Settings { peer_timeout: Duration::MAX, hold: Some(Duration::MAX), ..Settings::default() };
    let station = Station::new(&settings, &mut bench::site(End::Near, &mut Rng::derive(1, "far"), MAX_MEMORY));
    let mut far = Harness::new(station, "far");
    let now = Instant::from_nanos(half.as_nanos() + 1001);
    let hello = Hello { epoch: 1, stamp: 1, echo: 1, held: 0 };
    far.control(now, &Message::Hello(hello).encode());
    assert_eq!(far.gauge(Gauge::LINK_RTT_NS), Some(half.as_nanos() + 1000), "as long as that");
    far.packet(now, Port::INNER, data(0));
    far.tick(now + Duration::from_secs(1));
}

#[test]
fn hellos_as_far_apart_as_can_be_told_overflow_nothing() {
    let half = Duration::from_nanos(u64::MAX / 2);
    let settings = Settings { hello: half, peer_timeout: half * 2, ..Settings::default() };
    let station = Station::new(&settings, &mut bench::site(End::Near, &mut Rng::derive(1, "rare"), MAX_MEMORY));
    let mut rare = Harness::new(station, "rare");
    let hello = Hello { epoch: 1, stamp: 1, echo: 0, held: 0 };
    rare.control(Instant::from_nanos(2), &Message::Hello(hello).encode());
    rare.tick(Instant::from_nanos(3));
    assert_eq!((rare.count(Event::CONTROL_MALFORMED), rare.count(Event::PEER_DOWN)), (0, 0));
}

#[test]
fn what_makes_no_sense_is_refused() {
    let mut rng = Rng::derive(1, "x");
    let mut refusal = |settings: &Settings| {
        let error = make(settings, &mut bench::site(End::Near, &mut rng, MAX_MEMORY)).err().unwrap();
        std::string::ToString::to_string(&error)
    };
    assert!(refusal(&Settings { tries: 0, ..Settings::default() }).contains("write 1"));
    assert!(refusal(&Settings { rate: Some(Rate::from_bps(0)), ..Settings::default() }).contains("auto"));
    assert!(refusal(&Settings { mtu: Some(100), ..Settings::default() }).contains("576"));
}

#[test]
fn what_waited_leaves_faster_than_it_came_and_not_at_once() {
    for (catch_up, at_once) in [("2", false), ("0", true)] {
        let mut bench = Local::bare(&[("catch_up", catch_up)]);
        bench.losing(|_, packet| Local::is_first_try(packet, 0));
        for n in 0..12 {
            bench.send(data(n));
            bench.run(1);
        }
        let mut counts = Vec::new();
        while counts.iter().sum::<usize>() < 12 {
            bench.run(1);
            counts.push(bench.out().len());
        }
        let most = counts.iter().copied().max().unwrap();
        assert_eq!(most > 6, at_once, "{counts:?}");
    }
}

/// Packets towards B, one each 100 ms, and how many of them were in frames.
fn framed_of(bench: &mut Bench<Station>, packets: u32) -> usize {
    bench.sent = 0;
    let counted = std::rc::Rc::new(core::cell::Cell::new(0));
    let count = counted.clone();
    bench.losing(move |_, packet| {
        count.set(count.get() + usize::from(Local::frame_of(packet).is_some()));
        false
    });
    for n in 0..packets {
        bench.send(data(n));
        bench.run(100);
    }
    counted.get()
}

#[test]
fn a_clean_link_carries_packets_as_they_are_until_it_loses_one() {
    let mut bench = Local::bare(&[]);
    assert!(framed_of(&mut bench, 90) >= 90, "nobody knows yet");
    framed_of(&mut bench, 20);
    assert_eq!(framed_of(&mut bench, 20), 0);
    bench.losing(|n, _| n == 0);
    bench.send(data(0));
    bench.run(500);
    framed_of(&mut bench, 10);
    assert!(framed_of(&mut bench, 100) >= 100, "the loss is seen by what did not come");
    let mut bench = Local::bare(&[("always_framed", "true")]);
    framed_of(&mut bench, 130);
    assert!(framed_of(&mut bench, 20) >= 20);
}

/// How many of 30 segments leave in frames once their sender has kept its window, or only so many of it, after a loss before the link.
/// The link loses one of 100.
fn framed_after_a_loss(settings: &[(&str, &str)], after: u32) -> usize {
    let mut bench = Local::bench(settings);
    bench.losing(|n, _| n % 100 == 50);
    let mut next = 0;
    // What was sent comes but for the `lost` one, and so many segments leave; where they end.
    let mut round = |bench: &mut Bench<Station>, segments: u32, lost: Option<u32>| {
        let came = bench::ack_of(lost.unwrap_or(next), next);
        bench.b.packet(bench.now, Port::INNER, came);
        bench.run(10);
        (next..next + segments).for_each(|n| bench.send(data(n)));
        next += segments;
        bench.run(200);
        next
    };
    let ends: Vec<u32> = (0..10).map(|_| round(&mut bench, 30, None)).collect();
    let lost = ends[9] - 20;
    round(&mut bench, after, Some(lost));
    bench.send(data(lost));
    for _ in 0..4 {
        round(&mut bench, after, None);
    }
    let counted = Rc::new(Cell::new(0));
    let count = counted.clone();
    bench.losing(move |_, packet| {
        count.set(count.get() + usize::from(Local::frame_of(packet).is_some() && packet.wire_len() > 1000));
        false
    });
    round(&mut bench, 30, None);
    assert_eq!(bench.a.count(events::TOLERANT) > 0, counted.get() < 30);
    counted.get()
}

#[test]
fn a_flow_that_a_loss_does_not_slow_down_leaves_as_it_came() {
    assert_eq!(framed_after_a_loss(&[], 30), 0);
    assert!(framed_after_a_loss(&[], 21) >= 30, "CUBIC");
    assert!(framed_after_a_loss(&[("repair_tolerant", "true")], 30) >= 30);
    assert!(framed_after_a_loss(&[("learn", "false")], 30) >= 30, "nobody knows what the link loses");
}

/// Both stations are told this from now on; false if either cannot be.
fn tell(bench: &mut Bench<Station>, settings: &[(&str, &str)]) -> bool {
    let now = bench.now;
    [&mut bench.a, &mut bench.b].into_iter().all(|harness| {
        let mut is_adopted = false;
        harness.call(now, |element, cx| is_adopted = element.adopt(cx, &mut Local::station("next", settings)));
        is_adopted
    })
}

#[test]
fn what_was_sent_and_what_is_held_outlast_other_settings() {
    let mut bench = Local::bench(&[]);
    bench.losing(|_, packet| Local::is_first_try(packet, 1));
    bench.send_all(0..6);
    bench.run(9);
    assert!(bench.b.element.held().packets > 0, "it waits for the repair");
    let told = [("rate", "6Mbit"), ("queue", "20kB"), ("tries", "3"), ("mtu", "1400"), ("codes_from", "0")];
    assert!(tell(&mut bench, &told));
    assert!(bench.b.element.held().packets > 0);
    bench.run(60);
    assert_eq!(bench.out(), [0, 1, 2, 3, 4, 5]);
    assert_eq!((bench.a.count(Event::REPAIR), bench.b.count(Event::PEER_UP)), (1, 1));
    let outgoing = &bench.a.element.outgoing;
    assert_eq!(outgoing.egress.rate(), Some(Rate::from_bps(6_000_000)));
    assert!(!tell(&mut bench, &[("catch_up", "0")]), "what waits at the exit cannot be told");
}

#[test]
fn a_station_leaves_all_that_it_holds_to_the_next_one_in_order() {
    let mut bench = Local::bench(&[]);
    bench.losing(|_, packet| Local::is_first_try(packet, 1));
    bench.send_all(0..6);
    bench.run(9);
    bench.send_all(6..12);
    let (now, mut left) = (bench.now, Vec::new());
    bench.a.call(now, |element, cx| {
        left = element.surrender(cx).waiting;
        left.iter().for_each(|packet| cx.consume(packet.clone()));
    });
    assert_eq!((bench.a.element.held(), left.len()), (Backlog::default(), 5));
    assert!(bench.b.element.held().packets > 0);
    bench.b.call(now, |element, cx| assert_eq!(element.surrender(cx).packets(), 0));
    assert_eq!(bench.b.element.held(), Backlog::default());
    assert_eq!(bench.out(), [0, 2, 3, 4, 5]);
    bench.a.element.check().unwrap();
    bench.b.element.check().unwrap();
}
