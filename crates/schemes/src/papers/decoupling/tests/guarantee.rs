//! The GMB sender.

use super::bench::*;
use std::boxed::Box;

#[test]
fn spec_8_5_dec_15_dec_16_x_bytes_a_millisecond_are_sent_without_header_packets() {
    // 800 kbit/s is 100 bytes a millisecond. No control TCP ever opens.
    let mut bench = Bench::greedy(&[("gmb", "800kbit")], 1500);
    bench.loses = Box::new(|left| !left.is_data);
    for _ in 0..200 {
        bench.run(37);
        let (sent, due) = (bench.circuit.stats().guaranteed_bytes as i64, 37 * 100);
        let elapsed = bench.left.iter().filter(|left| left.is_data).count() as i64 * 1500;
        assert_eq!(sent, elapsed);
        let millis = (bench.now.as_nanos() / 1_000_000 - 1000) as i64;
        assert!((sent - millis * 100).abs() <= 1500, "{sent} bytes in {millis} ms, {due} in each step");
    }
    assert_eq!(bench.headers().len(), 0);
    assert_eq!(bench.circuit.stats().data_packets, 0);
    assert!(bench.arrived.iter().map(number).eq(0..bench.arrived.len() as u32));
}

#[test]
fn dec_16_guaranteed_data_leave_though_the_control_tcps_window_is_closed() {
    let mut bench = Bench::greedy(&[("gmb", "800kbit")], 1500);
    bench.run(1000);
    bench.loses = Box::new(|left| !left.is_data);
    bench.run(3000);
    let before = *bench.circuit.stats();
    bench.run(10_000);
    let after = *bench.circuit.stats();
    // 100 bytes a millisecond, less than a packet apart.
    assert!((after.guaranteed_bytes - before.guaranteed_bytes).abs_diff(1_000_000) <= 1500);
    let headers = after.header_packets - before.header_packets;
    assert_eq!(headers, after.header_retransmissions - before.header_retransmissions, "no new header packet");
}

#[test]
fn dec_u18_guaranteed_data_take_nothing_from_a_control_tcps_credit() {
    let mut bench = Bench::greedy(&[("gmb", "1.2Mbit")], 1500);
    bench.bottleneck = Some((667, 60));
    bench.run(30_000);
    let stats = *bench.circuit.stats();
    let fresh = stats.header_packets - stats.header_retransmissions;
    assert!(stats.guaranteed_bytes.abs_diff(150 * 30_000) <= 1500, "{}", stats.guaranteed_bytes);
    assert!(stats.data_packets - fresh <= stats.header_retransmissions + bench.circuit.window_bytes() / 1500 + 1);
    assert!(stats.data_packets > 5000);
}

#[test]
fn dec_u12_an_idle_bucket_keeps_two_ticks_or_a_packet_and_no_more() {
    // 12 Mbit/s: a packet a millisecond, two in the bucket.
    let mut bench = Bench::new(&[("gmb", "12Mbit")]);
    bench.loses = Box::new(|left| !left.is_data);
    bench.run(5000);
    bench.supply = (1500, 40);
    bench.run(2);
    assert!((3..=4).contains(&bench.data_left().len()), "{}", bench.data_left().len());
    bench.run(10);
    assert!((12..=14).contains(&bench.data_left().len()), "{}", bench.data_left().len());
}

#[test]
fn dec_15_an_empty_queue_needs_no_timer() {
    let mut bench = Bench::new(&[("gmb", "12Mbit")]);
    bench.run(5000);
    assert_eq!(bench.circuit.poll_timeout(), None);
}
