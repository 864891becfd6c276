//! Two stations face to face.

use super::*;
use crate::hop::testing::{self as bench, Bench, data, opaque, syn};
use crate::selective_repeat::Place;
use crate::selective_repeat::contract::{Ends, contract};
use crate::{End, MAX_MEMORY};
use airtcp_core::parameters::Parameters;
use airtcp_core::{Event, Rate, Rng};
use std::vec::Vec;

struct Arq;

impl Ends for Arq {
    type Station = Station;
    const WITHOUT_SPARES: &'static [(&'static str, &'static str)] = &[];

    fn station(name: &str, settings: &[(&str, &str)]) -> Station {
        let mut own = ArqSettings::default();
        for &(key, value) in settings {
            own.set(key, &value.into()).unwrap();
        }
        Station::new(&own, &mut bench::site(End::Near, &mut Rng::derive(1, name), MAX_MEMORY))
    }

    fn next_frame(station: &Station) -> Frame {
        station.exchange.sender.next_frame(Place::default())
    }

    fn encode(frame: &Frame) -> Vec<u8> {
        frame.encode().to_vec()
    }

    fn decode(body: &[u8]) -> Option<Frame> {
        Frame::decode(body)
    }

    fn told(ack: Ack) -> Vec<u8> {
        Message::Ack(ack).encode()
    }
}

contract!(Arq);

#[test]
fn packets_of_every_kind_come_out_as_they_went_in() {
    let mut bench = Arq::bench(&[]);
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
fn a_repair_that_is_lost_again_is_found_by_what_was_sent_after_it() {
    let mut bench = Arq::bench(&[]);
    let mut tries = 0;
    bench.losing(move |_, packet| {
        let hit = Arq::is_sequence(packet, 3);
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
    let mut bench = Arq::bench(&[]);
    bench.losing(|n, _| n == 4);
    bench.send_all(0..5);
    bench.run(15);
    assert_eq!(bench.out(), [0, 1, 2, 3]);
    bench.run(45);
    assert_eq!(bench.out(), [4]);
}

#[test]
fn without_order_packets_are_passed_on_as_they_come() {
    let mut bench = Arq::bench(&[("in_order", "false")]);
    bench.losing(|n, _| n == 3);
    bench.send_all(0..10);
    bench.run(60);
    assert_eq!(bench.out(), [0, 1, 2, 4, 5, 6, 7, 8, 9, 3]);
    assert_eq!(bench.b.count(Event::HELD), 0);
}

#[test]
fn a_link_that_doubles_everything_doubles_nothing_where_no_order_is_kept() {
    let mut bench = Arq::bench(&[("in_order", "false")]);
    bench.twice = true;
    bench.losing(|n, _| n % 7 == 3);
    bench.send_all(0..50);
    bench.run(120);
    let mut out = bench.out();
    out.sort_unstable();
    assert_eq!(out, (0..50).collect::<Vec<_>>());
}

#[test]
fn lost_acknowledgments_cost_repairs_and_no_packets() {
    let mut bench = Arq::bench(&[]);
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
    let mut bench = Arq::bench(&[("window", "16KiB"), ("tries", "255"), ("queue", "1MB")]);
    bench.lose_control = true;
    bench.losing(|_, packet| Arq::frame_of(packet).is_some());
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
    let mut bench = Arq::bench(&[]);
    bench.send(syn());
    bench.run(20);
    assert_eq!(bench.b.io.inner[0].tcp().unwrap().options.mss, Some(1460 - 16));
}

#[test]
fn what_is_too_long_for_a_shim_goes_unprotected() {
    let mut bench = Arq::bench(&[]);
    bench.send(opaque(1484));
    bench.send(opaque(1485));
    bench.run(30);
    assert_eq!(bench.b.io.inner.iter().map(Packet::wire_len).collect::<Vec<_>>(), [1484, 1485]);
    assert_eq!(bench.a.count(Event::UNPROTECTED), 1);
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
    let mut bench = Arq::bench(&[("hold", "100ms")]);
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
    // 2 x (56 + 33) bytes take 178 ms at 8 kbit/s, and may take a sixteenth of the link.
    bench.a.element.exchange.egress.set_rate(Some(Rate::from_bps(8000)));
    assert_eq!(hellos(&mut bench), Duration::from_millis(16 * 178));
}
