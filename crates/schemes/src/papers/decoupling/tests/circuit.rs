//! Credit and header packets, without losses.

use super::bench::*;
use crate::papers::decoupling::CircuitSettings;
use airtcp_core::parameters::Parameters;
use airtcp_core::{CONTROL_DSCP, Duration, TcpFlags};
use std::string::ToString;
use std::vec::Vec;

#[test]
fn dec_1_data_flow_at_the_rate_that_the_control_tcp_finds() {
    let mut bench = Bench::greedy(&[], 1500);
    // 12 Mbit/s: 1500 bytes in a millisecond; a header packet of 52 bytes for each 1500.
    bench.bottleneck = Some((667, 60));
    bench.run(20_000);
    let before = bench.arrived.len();
    bench.run(10_000);
    let share = (bench.arrived.len() - before) as f64 / (1e10 / (667.0 * 1552.0));
    assert!((0.9..=1.0).contains(&share), "{share} of the bottleneck");
}

#[test]
fn dec_2_dec_u5_the_tunnel_queue_takes_50_packets_and_gives_the_next_one_back() {
    let mut bench = Bench::new(&[]);
    for number in 0..50 {
        bench.circuit.offer(bench.now, data(number, 1500)).unwrap();
    }
    assert_eq!((bench.circuit.room(), bench.circuit.held().packets, bench.circuit.held().bytes), (0, 50, 75_000));
    let back = bench.circuit.offer(bench.now, data(50, 1500)).unwrap_err();
    assert_eq!(number(&back), 50);
    bench.run(100);
    assert!(bench.circuit.room() > 0, "a packet is let go as soon as it is forwarded");
    assert_eq!(bench.circuit.offer(bench.now, back).map_err(|packet| number(&packet)), Ok(()));
}

#[test]
fn dec_3_control_tcps_connect_by_themselves_and_data_wait_until_then() {
    let mut bench = Bench::greedy(&[], 1500);
    bench.run(19);
    assert!(bench.left.iter().all(|left| left.packet.tcp().unwrap().flags == TcpFlags::SYN));
    assert!(!bench.circuit.is_open());
    bench.run(1);
    assert!(bench.circuit.is_open());
    assert!(!bench.data_left().is_empty());
}

#[test]
fn dec_4_the_next_header_packet_is_a_virtual_segment_further() {
    let mut bench = Bench::greedy(&[("vmss", "2500")], 1500);
    bench.run(2000);
    let headers = bench.headers();
    assert!(headers.len() > 100);
    for pair in headers.windows(2) {
        assert_eq!(pair[1].sequence().wrapping_sub(pair[0].sequence()), 2500);
    }
}

#[test]
fn dec_5_a_header_packet_has_no_payload_and_its_size_follows_the_timestamp_option() {
    for (timestamps, bytes) in [("true", 52), ("false", 40)] {
        let mut bench = Bench::greedy(&[("timestamps", timestamps), ("vmss", "2500")], 1500);
        bench.run(2000);
        let headers = bench.headers();
        assert!(headers.len() > 100);
        for header in headers {
            assert_eq!((header.packet.wire_len(), header.packet.payload_len()), (bytes, 0));
        }
    }
}

#[test]
fn dec_6_a_virtual_segment_may_be_longer_or_shorter_than_packets() {
    for vmss in ["64", "500", "1500", "3000", "65495"] {
        let mut bench = Bench::greedy(&[("vmss", vmss)], 1500);
        bench.run(5000);
        let (data, headers) = (bench.circuit.stats().data_bytes, bench.circuit.stats().header_packets);
        let vmss: u64 = vmss.parse().unwrap();
        let owed = data as i64 - (headers * vmss) as i64;
        // What the window let out last may still be without its header, and one packet may be overdrawn.
        let most = bench.circuit.window_bytes() + vmss + 1500;
        assert!((0..=most as i64).contains(&owed), "VMSS {vmss}: {data} bytes, {headers} header packets");
        assert!(headers * vmss > 20 * vmss.max(1500), "VMSS {vmss}: {headers} header packets");
    }
}

#[test]
fn dec_7_dec_u19_what_is_left_of_the_credit_or_overdrawn_is_carried_over() {
    // 1000 bytes of the 1500 leave two packets, a debit of 500, and a header packet; one more makes it a second one.
    let mut bench = Bench::new(&[]);
    bench.run(50);
    bench.supply = (1000, 3);
    bench.run(1000);
    assert_eq!((bench.data_left(), bench.headers().len()), ([0, 1, 2].into(), 2));
    // A stream that stops in mid-VMSS owes no header, and the next data go on from there.
    bench.supply = (1000, 1);
    bench.run(1000);
    assert_eq!((bench.data_left().len(), bench.headers().len()), (4, 2));
    bench.supply = (600, 1);
    bench.run(1000);
    assert_eq!((bench.data_left().len(), bench.headers().len()), (5, 3));
}

#[test]
fn dec_8_one_virtual_segment_leaves_at_the_start() {
    let mut bench = Bench::greedy(&[("vmss", "4500")], 1500);
    bench.run(35);
    assert_eq!(bench.circuit.window_bytes(), 4500);
    assert_eq!((bench.data_left(), bench.headers().len()), ([0, 1, 2].into(), 1));
}

#[test]
fn dec_8_dec_7_after_a_silence_no_more_leaves_than_the_window_that_restarts() {
    let mut bench = Bench::greedy(&[], 1500);
    bench.run(3000);
    bench.supply.1 = 0;
    bench.run(60_000);
    let before = (bench.data_left().len(), bench.headers().len());
    assert!(bench.circuit.window_bytes() > 20_000);
    bench.supply.1 = 1000;
    bench.run(5);
    assert_eq!((bench.data_left().len() - before.0, bench.headers().len() - before.1), (1, 1));
}

#[test]
fn dec_9_data_precede_their_header_packet() {
    let mut bench = Bench::greedy(&[("vmss", "3000")], 1500);
    bench.run(3000);
    let (mut data, mut headers) = (0, 0);
    for left in &bench.left {
        data += u64::from(left.is_data) * u64::from(left.packet.wire_len());
        headers += u64::from(left.is_header());
        assert!(headers * 3000 <= data, "header packet {headers} after {data} bytes of data");
    }
    assert!(headers > 100);
}

#[test]
fn dec_10_without_data_there_are_no_header_packets_and_with_a_closed_window_neither() {
    let mut bench = Bench::new(&[]);
    bench.run(10_000);
    assert_eq!(bench.headers().len(), 0);
    // Nothing comes back, so the window of one virtual segment never opens: data wait, and one header packet is sent again and again.
    bench.loses = std::boxed::Box::new(|_| true);
    bench.supply = (1500, 8);
    bench.run(20_000);
    let headers = bench.headers();
    assert!(headers.len() > 1 && headers.iter().all(|header| header.sequence() == headers[0].sequence()));
    assert!(bench.circuit.held().packets > 0);
}

#[test]
fn spec_8_4_dec_10_with_an_empty_tunnel_queue_no_header_packet_leaves_but_a_retransmission() {
    let mut bench = Bench::new(&[]);
    // Eight packets; the last header packet is lost, so it is sent again although nothing waits (DEC-X11).
    bench.supply = (1500, 8);
    let mut seen = 0;
    bench.loses = std::boxed::Box::new(move |left| {
        seen += u32::from(left.is_header());
        seen == 8 && left.is_header()
    });
    bench.run(20_000);
    let headers = bench.headers();
    assert_eq!((headers.len(), bench.circuit.stats().header_retransmissions), (9, 1));
    assert_eq!(headers[8].sequence(), headers[7].sequence());
    assert!(bench.circuit.connections().all(|connection| connection.all_acknowledged()));
}

#[test]
fn dec_12_header_packets_and_nothing_else_carry_the_control_mark() {
    for (settings, dscp) in [(&[][..], CONTROL_DSCP), (&[("dscp", "11")], 11)] {
        let mut bench = Bench::greedy(settings, 1500);
        bench.run(1000);
        for left in &bench.left {
            let expected = if left.is_header() { dscp } else { 0 };
            assert_eq!((left.packet.ip().dscp(), left.packet.ip().traffic_class & 3), (expected, 0));
        }
    }
}

#[test]
fn dec_14_control_tcps_share_the_queue_and_each_gets_its_share() {
    let mut bench = Bench::greedy(&[("controls", "3")], 1500);
    bench.bottleneck = Some((667, 60));
    bench.run(60_000);
    let sent: Vec<u64> = bench.circuit.connections().map(|connection| connection.stats().bytes_acknowledged).collect();
    let total: u64 = sent.iter().sum();
    assert!(sent.iter().all(|bytes| bytes * 6 > total), "{sent:?}");
    assert_eq!(bench.circuit.connections().map(|connection| connection.local().port).collect::<Vec<_>>().len(), 3);
}

#[test]
fn dec_13_dec_c24_data_arrive_as_they_came_in_order_and_once() {
    // DEC-29: datagrams that nobody sends again.
    let mut bench = Bench::greedy(&[("controls", "4"), ("gmb", "1Mbit"), ("vmss", "700")], 1337);
    bench.bottleneck = Some((667, 40));
    bench.run(20_000);
    let left: Vec<u32> = (0..).take(bench.data_left().len()).collect();
    assert_eq!(bench.data_left(), left);
    let numbers: Vec<u32> = bench.arrived.iter().map(number).collect();
    assert!(numbers.len() > 5000 && numbers.windows(2).all(|pair| pair[0] < pair[1]));
    assert!(bench.arrived.iter().all(|packet| packet.to_wire() == data(number(packet), 1337).to_wire()));
}

#[test]
fn dec_17_the_far_end_acknowledges_virtual_bytes() {
    let mut bench = Bench::greedy(&[("vmss", "2000")], 1500);
    bench.run(2000);
    let first = bench.headers()[0].sequence();
    for answer in bench.answers.iter().filter(|answer| !answer.tcp().unwrap().flags.syn()) {
        let acknowledged = answer.tcp().unwrap().acknowledgment.0.wrapping_sub(first);
        assert_eq!((acknowledged % 2000, answer.payload_len()), (0, 0));
    }
    let received: u64 = bench.end.connections().map(|connection| connection.stats().bytes_delivered).sum();
    assert!(received > 100_000 && received.is_multiple_of(2000));
}

#[test]
fn dec_17_both_ends_know_the_vmss_that_the_syn_brought_although_a_box_lowered_it() {
    let mut bench = Bench::greedy(&[("vmss", "3000")], 1500);
    bench.clamp = Some(1212);
    bench.run(2000);
    let headers = bench.headers();
    assert_eq!(headers[5].sequence().wrapping_sub(headers[4].sequence()), 1200);
    assert!(bench.circuit.stats().header_packets > 50);
    assert_eq!(bench.circuit.stats().header_retransmissions, 0);
}

#[test]
fn dec_27_header_packets_take_52_bytes_for_each_virtual_segment() {
    for (vmss, share) in [("1500", 52.0 / 1500.0), ("3000", 52.0 / 3000.0)] {
        let mut bench = Bench::greedy(&[("vmss", vmss)], 1500);
        bench.bottleneck = Some((667, 100_000));
        bench.run(10_000);
        let headers: u64 = bench.headers().iter().map(|header| u64::from(header.packet.wire_len())).sum();
        let overhead = headers as f64 / bench.circuit.stats().data_bytes as f64;
        assert!((overhead / share - 1.0).abs() < 0.05, "VMSS {vmss}: {overhead}");
    }
}

#[test]
fn dec_18_dec_27_an_acknowledgment_for_every_other_header_packet() {
    for (delayed_ack, least, most) in [("2", 0.5, 0.56), ("1", 1.0, 1.0)] {
        let mut bench = Bench::greedy(&[("delayed_ack", delayed_ack)], 1500);
        bench.bottleneck = Some((667, 100_000));
        bench.run(3000);
        bench.supply.1 = 0;
        bench.run(10_000);
        let (headers, answers) = (bench.headers().len(), bench.answers.len() - 1);
        let ratio = answers as f64 / headers as f64;
        assert!((least..=most).contains(&ratio), "{answers} answers to {headers} header packets");
    }
}

#[test]
fn dec_26_a_large_virtual_segment_leaves_as_packets_of_their_own() {
    let mut bench = Bench::greedy(&[("vmss", "15000")], 1500);
    bench.run(500);
    assert!(bench.left.iter().all(|left| left.packet.wire_len() <= 1500));
    assert_eq!(bench.data_left().len() / bench.headers().len(), 10);
}

#[test]
fn dec_44_the_shaper_spaces_what_a_large_virtual_segment_releases() {
    let longest_burst = |shaper| {
        let mut bench = Bench::greedy(&[("vmss", "15000"), ("shaper", shaper)], 1500);
        bench.bottleneck = Some((667, 100_000));
        bench.run(10_000);
        let times: Vec<_> = bench.left.iter().filter(|left| left.is_data).map(|left| left.at).collect();
        let begin = times.len() / 2;
        let share = bench.arrived.len() as f64 / (1e10 / (667.0 * 1505.0));
        assert!(share > 0.8, "{share} of the bottleneck");
        let burst =
            |at: usize| times[at..].iter().take_while(|time| **time <= times[at] + Duration::from_micros(100)).count();
        (begin..times.len()).map(burst).max().unwrap()
    };
    assert!(longest_burst("false") >= 10);
    assert!(longest_burst("true") <= 2);
}

#[test]
fn a_pace_that_timers_are_too_late_for_is_kept() {
    // Packets of 125 us at 96 Mbit/s.
    let share = |tick: u64| {
        let mut bench = Bench::greedy(&[("controller", "bbr"), ("vmss", "6000"), ("recovery", "sack")], 1500);
        (bench.bottleneck, bench.tick) = (Some((83, 500)), Duration::from_micros(tick));
        bench.run(5000);
        bench.arrived.len() as f64 / (5e9 / (83.0 * 1500.0))
    };
    let (on_time, late) = (share(1), share(200));
    assert!(on_time > 0.85 && late > on_time * 0.95, "{on_time} {late}");
}

#[test]
fn a_control_tcp_whose_data_wait_for_the_shaper_does_not_lack_data() {
    for controller in ["bbr", "bbr3"] {
        // A packet takes a millisecond.
        let mut bench = Bench::greedy(&[("controller", controller), ("recovery", "rack")], 1500);
        bench.bottleneck = Some((667, 50));
        bench.run(5000);
        let sock = |bench: &Bench| bench.circuit.connections().next().unwrap().sock().clone();
        let share = sock(&bench).sk_pacing_rate as f64 * 667e-9;
        assert!(sock(&bench).app_limited == 0 && share < 1.3, "{controller} sends {share} of the bottleneck");
        bench.supply.1 = 0;
        bench.run(5000);
        assert!(sock(&bench).app_limited != 0, "{controller} has nothing to send");
    }
}

#[test]
fn a_far_end_that_restarts_is_connected_anew() {
    let mut bench = Bench::greedy(&[], 1500);
    bench.run(2000);
    bench.restart_end();
    let before = bench.arrived.len();
    bench.run(5000);
    assert!(bench.arrived.len() > before + 500, "{before} and then {}", bench.arrived.len());
}

#[test]
fn a_damaged_header_packet_and_a_stranger_change_nothing() {
    let mut bench = Bench::greedy(&[], 1500);
    bench.run(100);
    let mut damaged = bench.headers()[0].packet.clone();
    damaged.mark_corrupted();
    let before = bench.end.connections().map(|connection| connection.stats().segments_received).sum::<u64>();
    bench.end.handle_control(bench.now, &damaged);
    assert_eq!(bench.end.connections().map(|connection| connection.stats().segments_received).sum::<u64>(), before);
    let stranger = crate::testing::data(0);
    assert!(!bench.end.owns(&stranger) && !bench.circuit.owns(&stranger) && !bench.circuit.owns(&damaged));
}

#[test]
fn dec_6_settings_out_of_range_are_refused_in_a_sentence_that_says_what_to_write() {
    for (key, value, wanted) in [
        ("vmss", "63", "write 64 to 65495"),
        ("vmss", "65496", "write 64 to 65495"),
        ("controls", "0", "write 1 to 32"),
        ("dscp", "64", "write 0 to 63"),
        ("tunnel", "0", "write 1 or more"),
        ("port", "65535", "write 1 to"),
        ("delayed_ack", "0", "write 1 for"),
    ] {
        let mut settings = CircuitSettings::default();
        settings.set(key, &value.into()).unwrap();
        let message = settings.check().unwrap_err().to_string();
        assert!(message.contains(key) && message.contains(wanted), "{message}");
    }
}
