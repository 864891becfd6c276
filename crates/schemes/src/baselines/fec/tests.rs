//! Two stations face to face.

use super::*;
use crate::baselines::fec::events;
use crate::hop::testing::{self as bench, Bench, data, opaque, syn};
use crate::{End, MAX_MEMORY};
use airtcp_core::parameters::Parameters;
use airtcp_core::testing::Harness;
use airtcp_core::{DropReason, Event, Rng, TakenShim};
use std::string::ToString;
use std::vec;
use std::vec::Vec;

fn station(name: &str, text: &[(&str, &str)]) -> Station {
    let mut settings = FecSettings::default();
    for &(key, value) in text {
        settings.set(key, &value.into()).unwrap();
    }
    Station::new(&settings, &mut bench::site(End::Near, &mut Rng::derive(1, name), MAX_MEMORY))
}

/// Blocks of eight packets and three code packets.
fn stations(text: &[(&str, &str)]) -> Bench<Station> {
    let text = [&[("k", "8"), ("r", "3")], text].concat();
    Bench::new(station("a", &text), station("b", &text))
}

fn frame_of(packet: &Packet) -> Option<Frame> {
    match packet.clone().take_shim() {
        TakenShim::Body(body) => Frame::decode(&body),
        _ => None,
    }
}

#[test]
fn packets_of_every_kind_come_out_as_they_went_in_although_half_of_the_block_is_lost() {
    for lost in [0..0, 0..4, 2..6] {
        let mut bench = stations(&[("r", "4")]);
        let range = lost.clone();
        bench.losing(move |n, _| range.contains(&n));
        let live = |len| Packet::parse(opaque(len).to_wire()).unwrap();
        let packets = [data(0), opaque(700), live(900), data(1), live(20), data(2), opaque(1459), data(3)];
        for packet in &packets {
            bench.send(packet.clone());
        }
        bench.run(60);
        let came: Vec<_> = bench.b.io.inner.iter().map(Packet::to_wire).collect();
        assert_eq!(came, packets.each_ref().map(Packet::to_wire), "{lost:?}");
        assert_eq!(bench.b.io.inner[3].payload(), packets[3].payload(), "also the virtual stream");
        assert_eq!(bench.b.count(Event::RECOVERED), lost.len() as u64);
    }
}

#[test]
fn as_many_losses_as_code_packets_are_repaired_and_not_one_more() {
    for (lost, recovered) in [(1, 1), (3, 3), (4, 0)] {
        let mut bench = stations(&[]);
        bench.losing(move |n, _| n < lost);
        bench.send_all(0..32);
        bench.run(90);
        assert_eq!(bench.b.count(Event::RECOVERED), recovered, "{lost} lost");
        assert_eq!(bench.out().len() as u64, 32 - lost as u64 + recovered);
        assert_eq!(bench.b.count(events::NOT_RECOVERED), lost as u64 - recovered);
    }
}

#[test]
fn lost_code_packets_count_as_losses_of_their_block() {
    for (lost, recovered) in [(vec![0, 1, 9], 2), (vec![0, 1, 8, 9], 0)] {
        let mut bench = stations(&[]);
        let set = lost.clone();
        bench.losing(move |n, _| set.contains(&n));
        bench.send_all(0..8);
        bench.run(60);
        assert_eq!(bench.b.count(Event::RECOVERED), recovered, "{lost:?}");
    }
}

#[test]
fn what_waits_behind_a_gap_comes_out_in_order_with_what_was_computed() {
    let mut bench = stations(&[]);
    bench.losing(|n, _| n == 2 || n == 5);
    bench.send_all(0..16);
    bench.run(10);
    assert_eq!(bench.out(), [0, 1]);
    bench.run(40);
    assert_eq!(bench.out(), (2..16).collect::<Vec<_>>());
}

#[test]
fn without_order_packets_are_passed_on_as_they_come() {
    let mut bench = stations(&[("in_order", "false")]);
    bench.losing(|n, _| n == 2);
    bench.send_all(0..8);
    bench.run(40);
    assert_eq!(bench.out(), [0, 1, 3, 4, 5, 6, 7, 2]);
}

#[test]
fn nobody_waits_for_a_lost_block_when_the_second_one_after_it_has_begun() {
    let mut bench = stations(&[("hold", "10s")]);
    bench.losing(|n, _| n < 4);
    bench.send_all(0..16);
    bench.run(40);
    assert_eq!(bench.out(), [0_u32; 0]);
    bench.send_all(16..17);
    bench.run(8);
    assert_eq!(bench.out(), (4..17).collect::<Vec<_>>());
}

#[test]
fn nothing_waits_longer_than_the_hold() {
    let mut bench = stations(&[("hold", "30ms")]);
    bench.losing(|n, _| n < 4);
    bench.send_all(0..8);
    bench.run(20);
    assert_eq!(bench.out(), [0_u32; 0]);
    bench.run(30);
    assert_eq!(bench.out(), [4, 5, 6, 7]);
}

#[test]
fn a_block_that_is_not_filled_is_closed_after_the_timeout() {
    let mut bench = stations(&[("timeout", "20ms")]);
    bench.losing(|n, _| n == 0);
    bench.send_all(0..3);
    bench.run(19);
    assert_eq!((bench.a.count(events::CODE), bench.out()), (0, vec![]));
    bench.run(15);
    assert_eq!((bench.a.count(events::CODE), bench.out()), (3, vec![0, 1, 2]));
}

#[test]
fn redundancy_follows_the_loss_that_the_other_end_reports() {
    let mut bench = stations(&[("k", "32"), ("r", "auto")]);
    let before = bench.a.element.encoder.redundancy.loss();
    bench.losing(|n, _| n % 10 == 3);
    for round in 0..15 {
        bench.send_all(round * 100..round * 100 + 100);
        bench.run(140);
    }
    let after = bench.a.element.encoder.redundancy.loss();
    assert_eq!(before, 20_000);
    assert!((80_000..110_000).contains(&after), "{after}");
    assert!(bench.out().len() >= 1495, "and that repairs nearly everything");
}

#[test]
fn code_packets_are_as_long_as_the_longest_packet_and_end_at_the_other_end() {
    let mut bench = stations(&[]);
    bench.bytes = 0;
    bench.send_all(0..7);
    bench.send(opaque(600));
    bench.run(60);
    let sources = 7 * (1040 + 14) + 600 + 14;
    assert_eq!(bench.bytes, sources + 3 * (1040 + 41));
    assert_eq!(bench.b.io.inner.len(), 8);
}

#[test]
fn the_longest_protected_packet_gives_code_packets_of_the_mtu() {
    let mut bench = stations(&[]);
    bench.losing(|_, packet| {
        assert!(packet.wire_len() <= 1500);
        false
    });
    for len in [1459, 1460] {
        bench.send(opaque(len));
    }
    bench.run(60);
    assert_eq!(bench.a.count(Event::UNPROTECTED), 1);
    let longest = Packet::parse(opaque(1459).to_wire()).unwrap();
    let mut encoder = Encoder::new(1, 2, Redundancy::new(Some(1)));
    encoder.on_sent(&longest, Instant::ZERO);
    let code = encoder.close().remove(0);
    assert_eq!((code.to_wire().len(), code.wire_len()), (1500, 1500), "written out as counted");
}

#[test]
fn live_packets_whose_hop_limit_a_router_lowered_are_still_a_block() {
    let mut bench = stations(&[]);
    let live = |n| Packet::parse(data(n).to_wire()).unwrap();
    let mut encoder = Encoder::new(bench.a.element.encoder.incarnation(), 4, Redundancy::new(Some(1)));
    let mut on_air = Vec::new();
    for n in 0..4 {
        let mut framed = live(n);
        assert!(framed.push_shim(&encoder.next_frame(&live(n)).encode()));
        encoder.on_sent(&live(n), Instant::ZERO);
        on_air.push(framed);
    }
    on_air.extend(encoder.close());
    on_air.remove(1);
    for packet in on_air {
        let mut packet = Packet::parse(packet.to_wire()).unwrap();
        packet.set_hop_limit(packet.ip().hop_limit - 1);
        bench.b.packet(bench.now, Port::LINK, packet);
    }
    assert_eq!(bench.b.io.inner[1].to_wire(), live(1).to_wire());
    assert_eq!(bench.out(), [0, 1, 2, 3]);
}

#[test]
fn a_damaged_packet_is_a_lost_one() {
    let mut bench = stations(&[("k", "1"), ("r", "1")]);
    let mut damaged = data(0);
    bench.losing(|n, _| n == 0);
    bench.send(data(0));
    let frame = Frame { index: 0, ..bench.a.element.encoder.next_frame(&data(0)) };
    let frame = Frame { block: encoder::START, ..frame };
    damaged.push_shim(&frame.encode());
    damaged.mark_corrupted();
    bench.b.packet(bench.now, Port::LINK, damaged);
    assert_eq!(bench.b.ledger.discarded.get(DropReason::CORRUPTED), 1);
    bench.run(30);
    assert_eq!(bench.out(), [0]);
}

#[test]
fn a_link_that_doubles_everything_doubles_nothing_behind_it() {
    let mut bench = stations(&[]);
    bench.twice = true;
    bench.losing(|n, _| n % 11 == 3);
    bench.send_all(0..48);
    bench.run(120);
    assert_eq!(bench.out(), (0..48).collect::<Vec<_>>());
}

#[test]
fn a_syn_asks_for_segments_that_leave_room_for_the_code() {
    let mut bench = stations(&[]);
    bench.send(syn());
    bench.run(20);
    assert_eq!(bench.b.io.inner[0].tcp().unwrap().options.mss, Some(1460 - 41));
}

#[test]
fn a_restarted_end_begins_anew_and_without_the_other_packets_leave_as_they_came() {
    let mut bench = stations(&[]);
    bench.send_all(0..4);
    bench.run(30);
    bench.a = airtcp_core::testing::Harness::new(station("a again", &[]), "a");
    bench.run(150);
    bench.send_all(4..8);
    bench.run(30);
    assert_eq!(bench.out(), (0..8).collect::<Vec<_>>());
    bench.lose_control = true;
    bench.run(1200);
    bench.a.packet(bench.now, Port::INNER, opaque(700));
    assert_eq!(bench.a.io.link[0].to_wire(), opaque(700).to_wire());
}

#[test]
fn the_queue_before_the_link_drops_and_that_is_not_repaired() {
    let mut bench = stations(&[("queue", "10kB")]);
    bench.send_all(0..50);
    bench.run(100);
    let came = bench.out().len() as u64;
    assert!((10..14).contains(&came), "{came}");
    assert_eq!(bench.b.count(Event::RECOVERED), 0);
}

#[test]
fn every_frame_on_the_air_says_its_block() {
    let mut bench = stations(&[]);
    bench.losing(|n, packet| {
        let frame = frame_of(packet).unwrap();
        let in_block = n % 11;
        assert_eq!(frame.block, encoder::START + (n / 11 * 8) as u32);
        assert_eq!(usize::from(frame.index), if in_block < 8 { in_block } else { in_block - 8 });
        false
    });
    bench.send_all(0..80);
    bench.run(130);
    assert_eq!(bench.sent, 110);
}

#[test]
fn blocks_that_the_code_cannot_make_are_refused_with_a_way_out() {
    for (key, value) in [("k", "0"), ("k", "129"), ("r", "0"), ("r", "128")] {
        let mut rng = Rng::derive(1, "x");
        let mut site = bench::site(End::Near, &mut rng, MAX_MEMORY);
        let error = make(&FecSettings::with([(key, value)]).unwrap(), &mut site).err().unwrap().to_string();
        assert!(error.contains("if in doubt"), "{error}");
    }
}

#[test]
fn hellos_leave_room_for_packets_however_slow_the_link() {
    // A HELLO and a report take 28 ms.
    let mut bench = stations(&[("rate", "50kbit"), ("hello", "10ms"), ("peer_timeout", "30ms")]);
    bench.send_all(0..3);
    bench.run(3000);
    assert_eq!(bench.out(), [0, 1, 2]);
}

#[test]
fn behind_a_round_trip_longer_than_the_timeout_ends_do_not_answer_each_other_for_ever() {
    const ONE_WAY: u64 = 70;
    let ends = ["a", "b"].map(|name| station(name, &[("hello", "20ms"), ("peer_timeout", "100ms")]));
    let mut ends = ends.map(|end| Harness::new(end, "end"));
    let (mut air, mut late): (Vec<(u64, usize, Vec<u8>)>, usize) = (Vec::new(), 0);
    for now in 0..2000 {
        let at = Instant::from_nanos((1 + now) * 1_000_000);
        let (arrived, flying): (Vec<_>, Vec<_>) = air.into_iter().partition(|(due, ..)| *due <= now);
        air = flying;
        arrived.iter().for_each(|(_, to, message)| ends[*to].control(at, message));
        for (from, end) in ends.iter_mut().enumerate() {
            end.tick(at);
            for message in end.io.control.drain(..) {
                late += usize::from(now >= 1000);
                // At first the link doubles what it carries.
                let copies = if now < 500 { 2 } else { 1 };
                (0..copies).for_each(|_| air.push((now + ONE_WAY, 1 - from, message.clone())));
            }
        }
    }
    // One in 20 ms from each end.
    assert!((90..=102).contains(&late), "{late} in the last second");
}
