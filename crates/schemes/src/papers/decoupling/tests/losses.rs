//! Lost header packets, timeouts, and what they release.

use super::bench::*;
use std::boxed::Box;
use std::vec::Vec;

/// Loses the header packet with this number, counted from 0.
fn header(wanted: u32) -> Loses {
    let mut seen = 0;
    Box::new(move |left| {
        seen += u32::from(left.is_header());
        left.is_header() && seen == wanted + 1
    })
}

#[test]
fn dec_11_each_retransmission_of_a_header_packet_lets_out_a_virtual_segment_of_new_data() {
    let mut bench = Bench::greedy(&[], 1500);
    bench.run(1000);
    // Nothing comes through any more: timeouts send the same header packet again and again.
    bench.loses = Box::new(|_| true);
    bench.run(3000);
    let before = *bench.circuit.stats();
    bench.run(30_000);
    let after = *bench.circuit.stats();
    let again = after.header_retransmissions - before.header_retransmissions;
    assert!(again >= 2, "{again}");
    assert_eq!(after.data_packets - before.data_packets, again);
    let expected: Vec<u32> = (0..).take(bench.data_left().len()).collect();
    assert_eq!(bench.data_left(), expected);
}

#[test]
fn spec_8_3_dec_11_a_lost_header_packet_releases_new_data_and_no_data_leave_twice() {
    let mut bench = Bench::greedy(&[], 1500);
    bench.bottleneck = Some((667, 1000));
    bench.loses = header(20);
    bench.run(5000);
    assert_eq!(bench.circuit.stats().header_retransmissions, 1);
    let lost = bench.headers()[20].sequence();
    let again = bench.left.iter().rposition(|left| left.is_header() && left.sequence() == lost).unwrap();
    // A virtual segment of new data goes with it.
    let around = |range: core::ops::Range<usize>| bench.left[range].iter().filter(|left| left.is_data).count();
    assert!(around(again - 1..again + 2) >= 1);
    let expected: Vec<u32> = (0..).take(bench.data_left().len()).collect();
    assert_eq!(bench.data_left(), expected);
    let (data, headers) = (bench.circuit.stats().data_packets, bench.circuit.stats().header_packets);
    assert_eq!(data, headers, "a retransmission lets out as much as a new header packet");
    assert!(bench.arrived.iter().map(number).eq(0..bench.arrived.len() as u32));
}

#[test]
fn dec_x11_no_more_than_one_virtual_segment_of_unused_credit_is_kept() {
    // The tail of eleven header packets is lost, so several are sent again while nothing waits.
    let mut bench = Bench::new(&[]);
    bench.run(50);
    bench.supply = (1500, 40);
    let mut seen = 0;
    bench.loses = Box::new(move |left| {
        seen += u32::from(left.is_header());
        left.is_header() && (30..=40).contains(&seen)
    });
    bench.run(120_000);
    assert_eq!(bench.data_left().len(), 40);
    assert!(bench.circuit.stats().header_retransmissions >= 11);
    let (data, headers) = (bench.data_left().len(), bench.headers().len());
    // The window begins anew at one virtual segment: one by it, one kept.
    bench.supply = (1500, 20);
    bench.run(5);
    assert_eq!((bench.data_left().len() - data, bench.headers().len() - headers), (2, 1));
}

#[test]
fn spec_8_2_dec_x6_vmss_500_and_packets_of_1500_bytes_never_wait_for_ever() {
    let mut bench = Bench::greedy(&[("vmss", "500")], 1500);
    bench.bottleneck = Some((667, 1000));
    bench.run(25);
    // At the start: one packet on a credit of 500 bytes, and the first of its three header packets.
    assert_eq!((bench.data_left(), bench.headers().len()), ([0].into(), 1));
    bench.run(4000);
    assert!(bench.data_left().len() > 300, "{}", bench.data_left().len());
    // Nothing comes through for ten seconds: a timeout, and a window of 500 bytes again.
    bench.loses = Box::new(|_| true);
    bench.run(10_000);
    assert!(bench.circuit.connections().all(|connection| connection.stats().rtos >= 2));
    assert_eq!(bench.circuit.window_bytes(), 500);
    bench.loses = Box::new(|_| false);
    let before = bench.data_left().len();
    bench.run(30_000);
    assert!(bench.data_left().len() > before + 1000, "{}", bench.data_left().len() - before);
    let expected: Vec<u32> = (0..).take(bench.data_left().len()).collect();
    assert_eq!(bench.data_left(), expected, "the sender lost nothing");
    // Each virtual segment has its header packet, but for what the window has not let out yet.
    let stats = *bench.circuit.stats();
    let fresh = (stats.header_packets - stats.header_retransmissions) * 500;
    assert!(fresh <= stats.data_bytes);
}

#[test]
fn dec_8_a_timeout_sets_the_window_to_one_virtual_segment() {
    let mut bench = Bench::greedy(&[], 1500);
    bench.run(1000);
    assert!(bench.circuit.window_bytes() > 15_000);
    bench.loses = Box::new(|_| true);
    bench.run(1500);
    assert_eq!(bench.circuit.window_bytes(), 1500);
}

#[test]
fn dec_37_the_control_tcp_has_ticks_of_half_a_second_and_backs_off() {
    let mut bench = Bench::greedy(&[], 1500);
    bench.run(1000);
    bench.loses = Box::new(|_| true);
    let rto = |bench: &Bench| bench.circuit.connections().next().unwrap().rto().as_millis();
    let before = rto(&bench);
    assert!(before >= 1000 && before.is_multiple_of(500), "{before} ms");
    bench.run(1500);
    let after = rto(&bench);
    assert!(after >= 2 * before && after.is_multiple_of(1000), "{before} ms, then {after} ms");
}

#[test]
fn dec_c23_a_loss_of_one_of_m_control_tcps_halves_its_share_only() {
    for controls in ["1", "2", "4"] {
        let mut bench = Bench::greedy(&[("controls", controls)], 1500);
        bench.bottleneck = Some((667, 4000));
        bench.run(1500);
        let mut is_lost = false;
        let port = bench.headers()[0].packet.tcp().unwrap().source_port;
        bench.loses = Box::new(move |left| {
            let hits = !is_lost && left.is_header() && left.packet.tcp().unwrap().source_port == port;
            is_lost |= hits;
            hits
        });
        let window = |bench: &Bench| bench.circuit.connections().next().unwrap().cwnd_bytes();
        let mut before = (0, 0);
        while window(&bench) >= before.0 {
            before = (window(&bench), bench.circuit.window_bytes());
            bench.run(1);
        }
        let (own, total) = (window(&bench), bench.circuit.window_bytes());
        assert!(own * 2 <= before.0 && own * 2 > before.0 - 2 * 1500, "{own} of {}", before.0);
        assert!(total - own >= before.1 - before.0, "the others keep theirs");
        let (cut, m) = (1.0 - total as f64 / before.1 as f64, controls.parse::<f64>().unwrap());
        assert!((cut * 2.0 * m - 1.0).abs() < 0.35, "{m} control TCPs: {cut} of the window");
    }
}
