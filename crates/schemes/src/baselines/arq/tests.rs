//! Two stations face to face.

use super::*;
use crate::hop::testing::{self as bench, Bench, data, opaque, syn};
use crate::selective_repeat::{Place, START};
use crate::{End, MAX_MEMORY};
use airtcp_core::parameters::Parameters;
use airtcp_core::{DropReason, Event, Rate, Rng, SeqNum, TakenShim};
use std::vec::Vec;

fn station(name: &str, text: &[(&str, &str)]) -> Station {
    let mut settings = ArqSettings::default();
    for &(key, value) in text {
        settings.set(key, &value.into()).unwrap();
    }
    Station::new(&settings, &mut bench::site(End::Near, &mut Rng::derive(1, name), MAX_MEMORY))
}

fn stations(text: &[(&str, &str)]) -> Bench<Station> {
    Bench::new(station("a", text), station("b", text))
}

/// What a frame on the air says.
fn frame_of(packet: &Packet) -> Option<Frame> {
    match packet.clone().take_shim() {
        TakenShim::Body(body) => Frame::decode(&body),
        _ => None,
    }
}

fn is_sequence(packet: &Packet, n: u32) -> bool {
    frame_of(packet).is_some_and(|frame| frame.sequence == START + n)
}

#[test]
fn packets_of_every_kind_come_out_as_they_went_in() {
    let mut bench = stations(&[]);
    let packets = [data(0), opaque(700), Packet::parse(opaque(900).to_wire()).unwrap(), data(1)];
    for packet in &packets {
        bench.send(packet.clone());
    }
    bench.run(30);
    let came: Vec<_> = bench.b.io.inner.iter().map(Packet::to_wire).collect();
    assert_eq!(came, packets.each_ref().map(Packet::to_wire));
    assert_eq!(bench.b.io.inner[0].payload(), packets[0].payload(), "also the virtual stream");
}

#[test]
fn a_gap_is_repaired_within_a_round_trip_and_nobody_behind_it_notices() {
    let mut bench = stations(&[]);
    bench.losing(|_, packet| frame_of(packet).is_some_and(|f| f.sequence == START + 3 && f.number == START + 3));
    bench.send_all(0..20);
    bench.run(35);
    assert_eq!(bench.out(), (0..20).collect::<Vec<_>>());
    assert_eq!((bench.a.count(Event::REPAIR), bench.b.count(Event::HELD) > 0), (1, true));
}

#[test]
fn a_repair_that_is_lost_again_is_found_by_what_was_sent_after_it() {
    let mut bench = stations(&[]);
    let mut tries = 0;
    bench.losing(move |_, packet| {
        let hit = is_sequence(packet, 3);
        tries += u32::from(hit);
        hit && tries <= 3
    });
    bench.send_all(0..80);
    bench.run(100);
    assert_eq!(bench.out(), (0..80).collect::<Vec<_>>());
    assert_eq!(bench.a.count(Event::REPAIR), 3);
}

#[test]
fn the_last_packet_is_repaired_by_the_clock() {
    let mut bench = stations(&[]);
    bench.losing(|n, _| n == 4);
    bench.send_all(0..5);
    bench.run(15);
    assert_eq!(bench.out(), [0, 1, 2, 3]);
    bench.run(45);
    assert_eq!(bench.out(), [4]);
}

#[test]
fn a_packet_is_given_up_after_its_tries_and_the_rest_goes_on() {
    for tries in [1, 4] {
        let text = [("tries", if tries == 1 { "1" } else { "4" }), ("hold", "10s")];
        let mut bench = stations(&text);
        bench.losing(|_, packet| is_sequence(packet, 3));
        bench.send_all(0..60);
        bench.run(150);
        let expected: Vec<u32> = (0..60).filter(|n| *n != 3).collect();
        assert_eq!(bench.out(), expected, "{tries} tries");
        assert_eq!((bench.a.count(Event::GIVEN_UP), bench.a.count(Event::REPAIR)), (1, tries - 1));
        assert_eq!(bench.a.gauge(Gauge::CACHE_BYTES), Some(0), "nothing is kept of it");
    }
}

#[test]
fn nothing_waits_longer_than_the_hold() {
    let mut bench = stations(&[("hold", "20ms")]);
    bench.losing(|_, packet| is_sequence(packet, 3));
    bench.send_all(0..10);
    bench.run(20);
    assert_eq!(bench.out(), [0, 1, 2]);
    bench.run(20);
    assert_eq!(bench.out(), [4, 5, 6, 7, 8, 9]);
    assert_eq!(bench.b.count(Event::RELEASED_ACROSS_GAP), 6);
}

#[test]
fn a_packet_that_comes_after_the_wait_is_passed_on_late_and_once() {
    let mut bench = stations(&[("hold", "1ms")]);
    bench.losing(|n, _| n == 3);
    bench.twice = true;
    bench.send_all(0..10);
    bench.run(60);
    assert_eq!(bench.out(), [0, 1, 2, 4, 5, 6, 7, 8, 9, 3]);
}

#[test]
fn without_order_packets_are_passed_on_as_they_come() {
    let mut bench = stations(&[("in_order", "false")]);
    bench.losing(|n, _| n == 3);
    bench.send_all(0..10);
    bench.run(60);
    assert_eq!(bench.out(), [0, 1, 2, 4, 5, 6, 7, 8, 9, 3]);
    assert_eq!(bench.b.count(Event::HELD), 0);
}

#[test]
fn a_link_that_doubles_everything_doubles_nothing_behind_it() {
    for order in ["true", "false"] {
        let mut bench = stations(&[("in_order", order)]);
        bench.twice = true;
        bench.losing(|n, _| n % 7 == 3);
        bench.send_all(0..50);
        bench.run(120);
        let mut out = bench.out();
        out.sort_unstable();
        assert_eq!(out, (0..50).collect::<Vec<_>>());
    }
}

#[test]
fn a_damaged_frame_is_dropped_and_repaired() {
    let mut bench = stations(&[]);
    let mut damaged = Packet::parse(data(0).to_wire()).unwrap();
    bench.losing(|n, _| n == 0);
    bench.send(damaged.clone());
    let frame = bench.a.element.exchange.sender.next_frame(Place::default());
    assert!(damaged.push_shim(&Frame { sequence: START, number: START, ..frame }.encode()));
    let mut bytes = damaged.to_wire().to_vec();
    bytes[500] ^= 4;
    bench.b.packet(bench.now, Port::LINK, Packet::parse(bytes.into()).unwrap());
    assert_eq!(bench.b.count(Event::CHECKSUM_BAD), 1);
    bench.run(60);
    assert_eq!(bench.out(), [0]);
}

#[test]
fn the_queue_before_the_link_drops_and_that_is_not_repaired() {
    let mut bench = stations(&[("queue", "10kB")]);
    bench.send_all(0..50);
    bench.run(100);
    let came = bench.out().len() as u64;
    assert!((10..14).contains(&came), "{came}");
    assert_eq!(bench.a.ledger.discarded.get(DropReason::QUEUE_FULL), 50 - came);
    assert_eq!(bench.a.count(Event::REPAIR), 0);
}

#[test]
fn lost_acknowledgments_cost_repairs_and_no_packets() {
    let mut bench = stations(&[]);
    bench.lose_control = true;
    bench.send_all(0..10);
    bench.run(50);
    bench.lose_control = false;
    bench.run(60);
    assert_eq!(bench.out(), (0..10).collect::<Vec<_>>());
    assert!(bench.a.count(Event::REPAIR) > 0);
    assert_eq!(bench.a.gauge(Gauge::CACHE_BYTES), Some(0));
}

#[test]
fn the_window_stops_new_packets_and_an_acknowledgment_lets_them_go() {
    let mut bench = stations(&[("window", "16KiB"), ("tries", "255"), ("queue", "1MB")]);
    bench.lose_control = true;
    bench.losing(|_, packet| frame_of(packet).is_some());
    bench.send_all(0..100);
    bench.run(100);
    let kept = bench.a.gauge(Gauge::CACHE_BYTES).unwrap();
    assert!((15_000..18_000).contains(&kept), "{kept}");
    bench.lose_control = false;
    bench.losing(|_, _| false);
    bench.run(400);
    assert_eq!(bench.out(), (0..100).collect::<Vec<_>>());
}

#[test]
fn a_syn_asks_for_segments_that_leave_room_for_the_shim() {
    let mut bench = stations(&[]);
    bench.send(syn());
    bench.run(20);
    assert_eq!(bench.b.io.inner[0].tcp().unwrap().options.mss, Some(1460 - 16));
}

#[test]
fn what_is_too_long_for_a_shim_goes_unprotected() {
    let mut bench = stations(&[]);
    bench.send(opaque(1484));
    bench.send(opaque(1485));
    bench.run(30);
    assert_eq!(bench.b.io.inner.iter().map(Packet::wire_len).collect::<Vec<_>>(), [1484, 1485]);
    assert_eq!(bench.a.count(Event::UNPROTECTED), 1);
}

#[test]
fn without_the_other_end_packets_leave_as_they_came() {
    let mut bench = stations(&[]);
    bench.lose_control = true;
    bench.run(1200);
    assert_eq!(bench.a.count(Event::PEER_DOWN), 1);
    bench.a.packet(bench.now, Port::INNER, opaque(700));
    assert_eq!(bench.a.io.link[0].to_wire(), opaque(700).to_wire());
}

#[test]
fn a_silent_or_restarted_end_releases_what_is_held() {
    let mut bench = stations(&[("hold", "10s")]);
    bench.losing(|_, packet| is_sequence(packet, 0));
    bench.send_all(0..5);
    bench.run(15);
    assert_eq!(bench.out(), [0_u32; 0]);
    bench.lose_control = true;
    bench.run(1200);
    assert_eq!(bench.out(), [1, 2, 3, 4]);

    let mut bench = stations(&[("hold", "10s")]);
    bench.losing(|_, packet| is_sequence(packet, 0));
    bench.send_all(0..5);
    bench.run(15);
    bench.a = airtcp_core::testing::Harness::new(station("a again", &[]), "a");
    bench.losing(|_, _| false);
    bench.run(150);
    assert_eq!(bench.out(), [1, 2, 3, 4]);
    bench.send_all(5..9);
    bench.run(30);
    assert_eq!(bench.out(), [5, 6, 7, 8]);
}

#[test]
fn acknowledgments_of_what_was_never_sent_are_ignored() {
    let mut bench = stations(&[]);
    bench.losing(|_, _| true);
    bench.send_all(0..3);
    let incarnation = bench.a.element.exchange.sender.next_frame(Place::default()).incarnation;
    let ack = Ack { incarnation, newest: START + 9, expected: START + 9, received: u128::MAX };
    bench.a.control(bench.now, &Message::Ack(ack, None).encode());
    assert!(bench.a.gauge(Gauge::CACHE_BYTES).unwrap() > 1000);
    bench.a.control(
        bench.now,
        &Message::Ack(Ack { incarnation: incarnation ^ 1, newest: SeqNum(0), ..ack }, None).encode(),
    );
    bench.a.control(bench.now, b"nonsense");
    assert_eq!(bench.a.count(Event::CONTROL_MALFORMED), 1);
}

#[test]
fn zero_tries_are_refused() {
    let mut rng = Rng::derive(1, "x");
    let mut site = bench::site(End::Near, &mut rng, MAX_MEMORY);
    let error = make(&ArqSettings { tries: 0, ..ArqSettings::default() }, &mut site).err().unwrap();
    assert!(std::string::ToString::to_string(&error).contains("write 1"));
}

#[test]
fn the_window_and_the_distance_of_hellos_follow_the_rate_of_the_queue() {
    let mut bench = stations(&[("hold", "100ms")]);
    bench.run(30);
    let window = bench.a.element.window();
    let hellos = |bench: &mut Bench<Station>| {
        let before = bench.a.element.exchange.peer.poll_timeout();
        bench.a.tick(before);
        bench.a.element.exchange.peer.poll_timeout().saturating_since(before)
    };
    assert_eq!(hellos(&mut bench), Duration::from_millis(100), "as configured");
    let rate = bench.a.element.exchange.egress.rate().unwrap();
    bench.a.element.exchange.egress.set_rate(Some(Rate::from_bps(rate.bps() / 2)));
    assert_eq!(bench.a.element.window(), window / 2);
    // 2 x (56 + 33) bytes take 178 ms at 8 kbit/s, and may take a quarter of the link.
    bench.a.element.exchange.egress.set_rate(Some(Rate::from_bps(8000)));
    assert_eq!(hellos(&mut bench), Duration::from_millis(4 * 178));
}
