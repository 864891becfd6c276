//! Two stations face to face: codes over long hops, and what goes out while a link is idle.

use super::frame::{Form, Kind, Shim, encode_shim};
use super::tests::{Local, lossy};
use super::*;
use crate::hop::testing::{Bench, data};
use crate::selective_repeat::contract::Ends;
use airtcp_core::Event;
use std::vec::Vec;

/// A long hop on which the sender is never idle: what came out, and when the last packet did.
fn long_hop(settings: &[(&str, &str)], per_cent: u64, packets: u32) -> (Bench<Station>, Vec<u32>) {
    let mut bench = Local::bench_at(Duration::from_millis(60), settings);
    lossy(&mut bench, per_cent, 7);
    let mut out = Vec::new();
    for n in 0..packets {
        bench.send(data(n));
        bench.run(1);
        out.extend(bench.out());
    }
    bench.run(2000);
    out.extend(bench.out());
    (bench, out)
}

#[test]
fn on_a_long_hop_codes_mend_most_losses_and_order_stays() {
    let (bench, out) = long_hop(&[], 15, 6000);
    // Before the loss is known one may wait for too long.
    assert!(out[500..].is_sorted(), "in order");
    assert_eq!(out.len(), 6000, "each once");
    let recovered = bench.b.count(Event::RECOVERED);
    let (codes, repairs) = (bench.a.count(events::CODE_SENT), bench.a.count(Event::REPAIR));
    assert!(recovered > 500 && repairs < recovered, "{recovered} recovered, {repairs} repairs");
    assert!(codes > 800 && codes < 3000, "{codes}");
}

#[test]
fn without_codes_the_same_packets_come_later() {
    let (with, _) = long_hop(&[], 15, 6000);
    let (without, out) = long_hop(&[("codes_from", "0")], 15, 6000);
    assert_eq!(out.len(), 6000);
    assert_eq!((without.a.count(events::CODE_SENT), without.b.count(Event::RECOVERED)), (0, 0));
    assert!(without.a.count(Event::REPAIR) > 2 * with.a.count(Event::REPAIR));
}

#[test]
fn a_long_hop_that_is_known_for_clean_has_no_codes() {
    let codes = |packets| {
        let (bench, out) = long_hop(&[], 0, packets);
        assert_eq!(out.len(), packets as usize);
        bench.a.count(events::CODE_SENT)
    };
    let while_little_is_known = codes(2500);
    assert!((1..1250).contains(&while_little_is_known), "{while_little_is_known}");
    assert_eq!(codes(4500), while_little_is_known);
}

/// Packets that did not come in the time of their burst, of a sender in slow start: bursts that double, a round trip apart.
fn late_in_slow_start(settings: &[(&str, &str)], seed: u64) -> usize {
    let mut bench = Local::bench_at(Duration::from_millis(60), settings);
    lossy(&mut bench, 5, seed);
    let (mut sent, mut late) = (0, 0);
    for burst in [10, 20, 40, 80, 160] {
        bench.send_all(sent..sent + burst);
        sent += burst;
        bench.run(60 + burst * 2);
        late += burst as usize - bench.out().len();
        bench.run(400);
        bench.out();
    }
    late
}

#[test]
fn what_the_beginning_of_a_flow_loses_is_mended_within_its_burst() {
    for seed in [1, 2, 3] {
        let (with, without) = (late_in_slow_start(&[], seed), late_in_slow_start(&[("codes_from", "0")], seed));
        assert!(with < 10 && without > 30, "{with}, without codes {without}, of 310; seed {seed}");
    }
}

#[test]
fn the_last_packet_of_a_flow_that_fills_a_long_hop_comes_soon_though_it_is_lost() {
    for settings in [&[("rate", "6Mbit")][..], &[("rate", "6Mbit"), ("codes_from", "1")]] {
        // A packet takes the link 2 ms.
        let mut bench = Local::bench_at(Duration::from_millis(60), settings);
        lossy(&mut bench, 5, 7);
        for n in 0..2000 {
            if n == 1800 {
                bench.losing(|_, _| false);
            }
            bench.send(data(n));
            bench.run(2);
        }
        bench.out();
        let mut is_first = true;
        bench.losing(move |_, _| core::mem::take(&mut is_first));
        bench.send(data(2000));
        bench.run(60 + 120 / 8 + 5);
        let out = bench.out();
        assert_eq!(out.last(), Some(&2000), "{settings:?}");
    }
}

#[test]
fn a_code_that_nobody_can_read_is_consumed_and_does_nothing() {
    let mut bench = Local::bench(&[]);
    bench.send(data(0));
    bench.run(20);
    let code = |incarnation: u16, count: u8, len: usize| {
        let mut packet = Packet::opaque(data(0).ip().source, data(0).ip().destination, 59, std::vec![7; len].into());
        let frame = Frame { incarnation, ..Local::next_frame(&bench.a.element) };
        assert!(packet.push_shim(&encode_shim(&Shim { frame, kind: Kind::Code { count }, form: Form::Whole })));
        packet
    };
    let own = Local::next_frame(&bench.a.element).incarnation;
    let packets = [code(own, 255, 0), code(own, 1, 9), code(own, 255, 2000), code(own ^ 1, 3, 40)];
    bench.out();
    for packet in packets {
        bench.b.packet(bench.now, Port::LINK, packet);
    }
    assert_eq!(bench.out(), [0_u32; 0]);
    assert_eq!(bench.b.ledger.discarded.get(DropReason::CORRUPTED), 1, "one of another incarnation");
    bench.send(data(1));
    bench.run(30);
    assert_eq!(bench.out(), [1]);
}
