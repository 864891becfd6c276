//! Two ends of a tunnel face to face.

use super::*;
use crate::hop::testing::{self as bench, Bench, data, opaque};
use crate::{End, MAX_MEMORY};
use airtcp_core::parameters::Parameters;
use airtcp_core::{DropReason, Rng, SeqNum, packet::protocol};
use std::string::ToString;
use std::vec::Vec;

fn tunnel(name: &str, text: &[(&str, &str)]) -> Tunnel {
    let mut settings = FecTunnelSettings::default();
    text.iter().for_each(|&(key, value)| settings.set(key, &value.into()).unwrap());
    Tunnel::new(&settings, &mut bench::site(End::Near, &mut Rng::derive(1, name), MAX_MEMORY))
}

fn tunnels(text: &[(&str, &str)]) -> Bench<Tunnel> {
    Bench::new(tunnel("a", text), tunnel("b", text))
}

#[test]
fn packets_of_every_kind_come_out_as_they_went_in_although_a_third_is_lost() {
    for lost in [0..0, 0..10, 5..15, 20..30] {
        let mut bench = tunnels(&[]);
        let range = lost.clone();
        bench.losing(move |n, _| range.contains(&n));
        let live = |len| Packet::parse(opaque(len).to_wire()).unwrap();
        let packets = [data(0), opaque(700), live(900), data(1), live(20), opaque(3000), data(2), opaque(1459)];
        packets.iter().for_each(|packet| bench.send(packet.clone()));
        bench.run(30);
        let came: Vec<_> = bench.b.io.inner.iter().map(Packet::to_wire).collect();
        assert_eq!(came, packets.each_ref().map(Packet::to_wire), "{lost:?}");
        assert_eq!(bench.b.io.inner[3].payload(), packets[3].payload(), "also the virtual stream");
        assert_eq!(bench.b.count(Event::RECOVERED), (0..20).filter(|n| lost.contains(n)).count() as u64);
    }
}

#[test]
fn one_loss_more_than_there_is_redundancy_costs_the_whole_block() {
    for (lost, comes) in [(10, 8), (11, 0)] {
        let mut bench = tunnels(&[]);
        bench.losing(move |n, _| n < lost);
        bench.send_all(0..8);
        bench.run(30);
        assert_eq!(bench.out().len(), comes, "{lost} lost");
    }
}

#[test]
fn a_block_waits_eight_milliseconds_for_more() {
    let mut bench = tunnels(&[]);
    bench.losing(|_, _| false);
    bench.send_all(0..3);
    bench.run(7);
    assert_eq!(bench.sent, 0);
    assert_eq!(bench.a.element.held().packets, 3);
    bench.run(2);
    assert_eq!((bench.sent, bench.a.element.held().packets), (30, 0));
    bench.run(5);
    assert_eq!(bench.out(), [0, 1, 2]);
}

#[test]
fn a_full_block_leaves_at_once_and_takes_half_as_much_again() {
    let mut bench = tunnels(&[]);
    bench.losing(|_, _| false);
    bench.bytes = 0;
    // 23 x 1043 and 4 bytes are 23,993 of 25,000.
    bench.send_all(0..24);
    assert_eq!(bench.sent, 30);
    assert_eq!(bench.bytes, 30 * (1200 + 40));
    bench.run(20);
    assert_eq!(bench.out(), (0..24).collect::<Vec<_>>());
}

#[test]
fn shards_are_kept_until_later_ones_need_their_place() {
    let mut bench = tunnels(&[("decode_buf", "256")]);
    bench.losing(|n, _| n < 11);
    for n in 0..14 {
        bench.send_all(n * 3..n * 3 + 3);
        bench.run(15);
        bench.out();
        // The lost block left nineteen shards, and complete ones leave none.
        assert!(bench.b.element.decoder.memory() > 0, "the first block may still be completed");
    }
    assert_eq!(bench.b.count(events::BLOCK_LOST), 0);
    bench.losing(|n, _| n % 30 < 11);
    for n in 14..34 {
        bench.send_all(n * 3..n * 3 + 3);
        bench.run(10);
    }
    assert!(bench.b.count(events::BLOCK_LOST) > 3);
}

#[test]
fn shards_wait_while_the_link_refuses_them_and_no_more_than_the_socket_has_room_for() {
    for (sock_buf, left) in [("1MB", 30), ("12kB", 9)] {
        let mut bench = tunnels(&[("sock_buf", sock_buf)]);
        bench.a.io.refuses = true;
        bench.send_all(0..24);
        // Each has 1240 bytes; the last packet is the first of the next block.
        assert_eq!(bench.a.element.held().packets, left + 1, "{sock_buf}");
        bench.a.io.refuses = false;
        let now = bench.now;
        bench.a.call(now, |tunnel, cx| tunnel.handle_ready(cx, Port::LINK));
        assert_eq!((bench.a.element.held().packets, bench.a.io.link.len()), (1, left));
    }
}

#[test]
fn what_the_link_doubles_comes_out_once() {
    let mut bench = tunnels(&[]);
    bench.twice = true;
    bench.losing(|n, _| n % 11 == 3);
    bench.send_all(0..48);
    bench.run(60);
    assert_eq!(bench.out(), (0..48).collect::<Vec<_>>());
}

#[test]
fn a_damaged_shard_is_a_lost_one() {
    let mut bench = tunnels(&[]);
    bench.losing(|n, _| n < 10);
    bench.send_all(0..8);
    bench.run(8);
    let mut damaged = opaque(600);
    damaged.push_shim(&Frame { stream: 0, block: SeqNum(0), index: 0, k: 1, r: 1 }.encode());
    damaged.mark_corrupted();
    bench.b.packet(bench.now, Port::LINK, damaged);
    bench.run(20);
    assert_eq!(bench.b.ledger.discarded.get(DropReason::CORRUPTED), 1);
    assert_eq!(bench.out().len(), 8);
}

#[test]
fn shards_that_do_not_belong_to_a_block_spoil_nothing() {
    let mut bench = tunnels(&[]);
    let stream = bench.a.element.peer.epoch();
    bench.losing(|n, _| n < 11);
    bench.send_all(0..8);
    bench.run(20);
    let [source, destination] = [opaque(20).ip().source, opaque(20).ip().destination];
    // Of the block that lacks one, but of another shape; of the far future; of an unknown sender.
    let block = SeqNum(u32::MAX - 500);
    for frame in [
        Frame { stream, block, index: 0, k: 3, r: 1 },
        Frame { stream, block: block + 1_000_000, index: 0, k: 1, r: 1 },
        Frame { stream: stream ^ 1, block, index: 0, k: 1, r: 1 },
    ] {
        let mut alien = Packet::opaque(source, destination, 59, std::vec![9; 50].into());
        alien.push_shim(&frame.encode());
        bench.b.packet(bench.now, Port::LINK, alien);
    }
    bench.send_all(8..16);
    bench.run(20);
    assert_eq!(bench.out(), (8..16).collect::<Vec<_>>());
}

#[test]
fn a_packet_that_no_block_has_room_for_leaves_as_it_came_behind_those_before_it() {
    let mut bench = tunnels(&[("k", "2"), ("mtu", "200")]);
    bench.losing(|_, _| false);
    bench.send(opaque(100));
    bench.send(opaque(700));
    assert_eq!(bench.a.count(Event::UNPROTECTED), 1);
    bench.run(20);
    let lens: Vec<u32> = bench.b.io.inner.iter().map(Packet::wire_len).collect();
    assert_eq!(lens, [100, 700]);
}

#[test]
fn a_restarted_end_begins_anew_and_without_the_other_packets_leave_as_they_came() {
    let mut bench = tunnels(&[]);
    bench.send_all(0..4);
    bench.run(30);
    bench.a = airtcp_core::testing::Harness::new(tunnel("a again", &[]), "a");
    bench.run(150);
    bench.send_all(4..8);
    bench.run(30);
    assert_eq!(bench.out(), (0..8).collect::<Vec<_>>());
    bench.lose_control = true;
    bench.send_all(8..9);
    bench.run(1200);
    bench.a.packet(bench.now, Port::INNER, opaque(700));
    assert_eq!(bench.a.io.link[0].to_wire(), opaque(700).to_wire());
}

/// On a slow link a block takes longer than the other end may be silent, and its HELLOs wait behind the shards.
#[test]
fn a_block_outlives_a_silence_between_its_shards() {
    let mut bench = tunnels(&[]);
    let [source, destination] = [opaque(20).ip().source, opaque(20).ip().destination];
    let stream = bench.a.element.peer.epoch();
    let shard = |part: Vec<u8>, index: u8| {
        let mut packet = Packet::opaque(source, destination, 59, part.into());
        packet.push_shim(&Frame { stream, block: SeqNum(7), index, k: 2, r: 1 }.encode());
        packet
    };
    let blob = blob::write(&[opaque(97)]).unwrap();
    let (first, second) = blob.split_at(blob.len() / 2);
    assert_eq!(first.len(), second.len());
    bench.b.packet(bench.now, Port::LINK, shard(first.to_vec(), 0));
    bench.lose_control = true;
    bench.run(1200);
    assert_eq!(bench.b.count(Event::PEER_DOWN), 1);
    bench.b.packet(bench.now, Port::LINK, shard(second.to_vec(), 1));
    let came: Vec<_> = bench.b.io.inner.iter().map(Packet::to_wire).collect();
    assert_eq!(came, [opaque(97).to_wire()]);
}

#[test]
fn packets_that_wait_when_the_other_end_falls_silent_leave_as_they_came() {
    let mut bench = tunnels(&[("timeout", "3s")]);
    bench.lose_control = true;
    bench.losing(|_, packet| packet.ip().protocol == protocol::EXPERIMENT);
    bench.send_all(0..2);
    bench.run(1200);
    assert_eq!(bench.out(), [0, 1]);
}

#[test]
fn settings_that_the_code_cannot_have_are_refused_with_what_is_usual() {
    for (key, value) in [
        ("k", "0"),
        ("k", "129"),
        ("r", "0"),
        ("r", "128"),
        ("mtu", "99"),
        ("mtu", "2001"),
        ("queue_len", "0"),
        ("decode_buf", "255"),
    ] {
        let mut rng = Rng::derive(1, "x");
        let mut site = bench::site(End::Near, &mut rng, MAX_MEMORY);
        let error = make(&FecTunnelSettings::with([(key, value)]).unwrap(), &mut site).err().unwrap().to_string();
        assert!(error.contains("usual"), "{error}");
    }
}
