//! The router's rules one by one, on a link of 12 Mbit/s: 1000 bytes take 693 us.

use super::*;
use crate::papers::fast_tcp::events;
use crate::testing::*;
use airtcp_core::Element;
use airtcp_core::parameters::{ParameterError, Parameters};
use airtcp_core::testing::Harness;
use airtcp_core::{ByteSize, DropReason, Event, Gauge, Instant, Packet, Port, Rate, SeqNum, TcpFlags};
use std::vec::Vec;

fn router(settings: &[(&str, &str)]) -> Harness<Router> {
    let mut parsed = FastTcpSettings::default();
    for &(key, value) in settings {
        parsed.set(key, &value.into()).unwrap();
    }
    parsed.check().unwrap();
    Harness::new(with_site(|site| Router::new(&parsed, site)), "router")
}

/// Paper mode with d = 1 ms and a threshold of 5 kB.
fn paper(more: &[(&str, &str)]) -> Harness<Router> {
    router(&[&[("mode", "paper"), ("spacing", "1ms"), ("threshold", "5kB"), ("queue", "100kB")], more].concat())
}

/// Modern mode, alike.
fn modern(more: &[(&str, &str)]) -> Harness<Router> {
    router(&[&[("spacing", "1ms"), ("threshold", "5kB"), ("queue", "100kB")], more].concat())
}

/// The first of `packets` data packets leaves, the others wait; nothing is acknowledged.
fn fill(router: &mut Harness<Router>, millis: u64, packets: u32) {
    for n in 0..packets {
        router.packet(at(millis), Port::INNER, data(n * 1000));
    }
}

fn receive(router: &mut Harness<Router>, millis: u64, packets: impl IntoIterator<Item = Packet>) {
    for packet in packets {
        router.packet(at(millis), Port::LINK, packet);
    }
}

fn acks(numbers: impl IntoIterator<Item = u32>) -> impl Iterator<Item = Packet> {
    numbers.into_iter().map(|n| ack(n * 1000))
}

/// Acknowledgments that wait.
fn waiting(router: &Harness<Router>) -> u64 {
    router.gauge(Gauge::HELD_BYTES).unwrap() / 40
}

/// Runs every timeout until `millis`; the times in us at which something was sent towards the sender.
fn run(router: &mut Harness<Router>, from: u64, until: u64) -> Vec<u64> {
    let (mut sent, mut times) = (router.io.inner.len(), Vec::new());
    while let Some(due) = router.element.poll_timeout().filter(|due| *due <= at(until)) {
        router.tick(due);
        times.resize(times.len() + router.io.inner.len() - sent, due.saturating_since(at(from)).as_micros());
        sent = router.io.inner.len();
    }
    times
}

#[test]
fn ftc_1_acknowledgments_wait_while_the_forward_queue_is_long_and_no_data_are_dropped() {
    let mut router = paper(&[]);
    fill(&mut router, 0, 60);
    receive(&mut router, 0, acks(1..=20));
    assert_eq!((router.io.inner.len(), router.count(Event::ACK_DELAYED)), (1, 19));
    run(&mut router, 0, 1000);
    assert_eq!((router.io.link.len(), router.io.inner.len()), (60, 20));
    assert!(router.ledger.discarded.total() == 0, "data are neither dropped nor acknowledged for somebody else");
}

#[test]
fn ftc_2_the_queue_towards_the_link_is_watched() {
    let mut router = paper(&[]);
    fill(&mut router, 0, 11);
    assert_eq!(router.gauge(Gauge::QUEUE_BYTES), Some(10 * 1040));
    run(&mut router, 0, 1000);
    fill(&mut router, 1000, 2);
    assert_eq!(router.gauge(Gauge::QUEUE_BYTES), Some(1040));
    assert_eq!(router.gauge(Gauge::QUEUE_BYTES_MAX), Some(10 * 1040));
}

#[test]
fn ftc_3_reaching_the_threshold_is_notified_once() {
    let mut router = paper(&[]);
    fill(&mut router, 0, 5);
    assert_eq!(router.count(events::CONGESTED), 0, "4 wait: 4160 bytes");
    fill(&mut router, 0, 5);
    assert_eq!(router.count(events::CONGESTED), 1);
    run(&mut router, 0, 1000);
    fill(&mut router, 1000, 10);
    assert_eq!(router.count(events::CONGESTED), 2);
}

#[test]
fn ftc_4_the_distance_is_d_below_the_threshold_and_2d_from_there_on() {
    let mut router = paper(&[]);
    receive(&mut router, 0, acks(1..=5));
    assert_eq!(run(&mut router, 0, 100), [1000, 2000, 3000, 4000]);
    // 14 wait. When 10 have left, after 6930 us, fewer than 5000 bytes do.
    fill(&mut router, 100, 15);
    receive(&mut router, 100, acks(6..=12));
    assert_eq!(run(&mut router, 100, 200), [2000, 4000, 6000, 8000, 9000, 10_000]);
}

#[test]
fn ftc_4_the_queue_is_looked_at_when_an_acknowledgment_is_released() {
    let mut router = paper(&[]);
    fill(&mut router, 0, 7);
    // 6 wait at the first release: 2d. At 2 ms there are 4: d.
    receive(&mut router, 0, acks(1..=3));
    assert_eq!(run(&mut router, 0, 100), [2000, 3000]);
}

#[test]
fn ftc_5_acknowledgments_wait_in_order_and_one_that_finds_the_buffer_full_is_dropped() {
    let mut router = paper(&[("ack_buffer", "120B")]);
    receive(&mut router, 0, acks(1..=6));
    assert_eq!(router.ledger.discarded.get(DropReason::MEMORY_LIMIT), 2);
    assert_eq!(router.gauge(Gauge::HELD_BYTES_MAX), Some(120));
    run(&mut router, 0, 100);
    assert_eq!(acknowledgments(&router.io.inner), [1000, 2000, 3000, 4000]);
}

#[test]
fn ftc_6_pure_acknowledgments_are_recognised_duplicates_included() {
    let mut router = paper(&[]);
    receive(&mut router, 0, [ack(1000), ack(1000), ack(1000)]);
    assert_eq!(waiting(&router), 2);
    let address = data(0).ip().source;
    let passing = [
        edited(&ack(2000), |tcp| tcp.flags = TcpFlags::SYN.with(TcpFlags::ACK)),
        edited(&ack(2000), |tcp| tcp.flags = TcpFlags::FIN.with(TcpFlags::ACK)),
        edited(&ack(2000), |tcp| tcp.flags = TcpFlags::RST),
        edited(&data(1), |tcp| (tcp.source_port, tcp.destination_port) = (80, 1000)),
        Packet::opaque(address, address, 17, std::vec![0; 12].into()),
    ];
    for (before, packet) in (1..).zip(passing) {
        assert_eq!(router.io.inner.len(), before);
        receive(&mut router, 0, [packet]);
    }
    assert_eq!((router.io.inner.len(), waiting(&router)), (6, 2));
}

#[test]
fn ftc_7_only_what_comes_off_the_link_is_delayed() {
    let mut router = modern(&[]);
    let mut other = modern(&[]);
    fill(&mut router, 0, 30);
    // Acknowledgments on their way to the link are packets like others; here the link is free.
    for number in 1..=5 {
        other.packet(at(number), Port::INNER, ack(number as u32 * 1000));
    }
    assert_eq!((other.io.link.len(), other.count(Event::ACK_DELAYED)), (5, 0));
    receive(&mut router, 0, acks(1..=5));
    assert!(router.count(Event::ACK_DELAYED) > 0);
    assert_eq!(ENTRY.placement, Placement::NearEnd);
}

#[test]
fn ftc_8_each_further_threshold_adds_a_d() {
    let mut router = paper(&[("threshold", "5kB, 10kB")]);
    fill(&mut router, 0, 15);
    // 14 wait, at 3 ms 10, at 6 ms 6, at 8 ms 3.
    receive(&mut router, 0, acks(1..=5));
    assert_eq!(run(&mut router, 0, 100), [3000, 6000, 8000, 9000]);
}

#[test]
fn ftc_8_an_acknowledgment_of_two_segments_keeps_twice_the_distance() {
    let mut router = modern(&[]);
    fill(&mut router, 0, 90);
    receive(&mut router, 0, acks([1, 3, 5, 7]));
    // The first acknowledgment of a flow passes: nothing tells what it stands for.
    assert_eq!(run(&mut router, 0, 100), [4000, 8000]);
}

#[test]
fn ftc_8_flows_are_served_in_turn() {
    let mut router = modern(&[]);
    let of_flow = |port: u16, packet: Packet, is_ack: bool| {
        edited(&packet, |tcp| if is_ack { tcp.destination_port = port } else { tcp.source_port = port })
    };
    for n in 0..30 {
        for port in [1, 2] {
            router.packet(at(0), Port::INNER, of_flow(port, data(n * 1000), false));
        }
    }
    let many = acks(1..=5).map(|ack| of_flow(1, ack, true)).chain(acks(1..=2).map(|ack| of_flow(2, ack, true)));
    receive(&mut router, 0, many);
    run(&mut router, 0, 100);
    let order: Vec<u16> = router.io.inner.iter().map(|packet| packet.tcp().unwrap().destination_port).collect();
    // The first of each passes; the short flow's second does not wait for all of the other's.
    assert_eq!(order, [1, 1, 2, 1, 2, 1, 1]);
}

/// A handshake with window scaling, and `packets` data packets, of which all but one wait.
fn connect(router: &mut Harness<Router>, packets: u32) {
    let syn = edited(&segment(u32::MAX, 0, TcpFlags::SYN), |tcp| tcp.options.window_scale = Some(7));
    router.packet(at(0), Port::INNER, syn);
    let answer = edited(&ack(0), |tcp| {
        tcp.flags = TcpFlags::SYN.with(TcpFlags::ACK);
        tcp.options.window_scale = Some(3);
    });
    receive(router, 0, [answer]);
    fill(router, 0, packets);
}

#[test]
fn ftc_9_an_oversized_acknowledgment_leaves_as_a_paced_series() {
    let mut router = modern(&[]);
    connect(&mut router, 90);
    receive(&mut router, 0, acks([8]));
    assert_eq!(run(&mut router, 0, 100), [4000, 8000, 12_000]);
    let sent: Vec<(u32, u16)> = router.io.inner[1..]
        .iter()
        .map(|packet| (packet.tcp().unwrap().acknowledgment.0, packet.tcp().unwrap().window))
        .collect();
    assert_eq!(sent, [(2000, 1750), (4000, 1500), (6000, 1250), (8000, 1000)], "one right edge");
    assert_eq!(router.count(events::ACK_PART), 3);
}

#[test]
fn ftc_9_a_series_that_something_urgent_overtakes_ends_with_the_whole() {
    let mut router = modern(&[]);
    connect(&mut router, 90);
    receive(&mut router, 0, acks([8]));
    receive(&mut router, 1, [ack(8000)]);
    assert_eq!(acknowledgments(&router.io.inner)[1..], [2000, 8000, 8000]);
    assert_eq!(waiting(&router), 0);
}

#[test]
fn ftc_9_the_series_ends_at_the_longest_delay() {
    let mut router = modern(&[("max_delay", "5ms")]);
    connect(&mut router, 90);
    receive(&mut router, 0, acks([20]));
    assert_eq!(run(&mut router, 0, 100), [4000, 5000]);
    assert_eq!(acknowledgments(&router.io.inner)[1..], [2000, 4000, 20_000]);
}

#[test]
fn what_may_not_wait_leaves_behind_what_waits_of_its_flow() {
    let mut router = modern(&[]);
    fill(&mut router, 0, 60);
    receive(&mut router, 0, acks(1..=5));
    assert_eq!(waiting(&router), 3);
    let other = edited(&ack(9000), |tcp| tcp.destination_port = 7);
    receive(&mut router, 0, [other, ack(5000)]);
    assert_eq!(acknowledgments(&router.io.inner), [1000, 2000, 9000, 3000, 4000, 5000, 5000]);
    assert_eq!(router.count(events::ACK_FLUSHED), 3);
}

#[test]
fn a_segment_with_sack_blocks_leaves_at_once() {
    let mut router = modern(&[]);
    fill(&mut router, 0, 60);
    receive(&mut router, 0, acks(1..=4));
    let reporting = edited(&ack(4000), |tcp| {
        tcp.options.sack.push(SeqNum(6000), SeqNum(7000));
    });
    receive(&mut router, 0, [reporting]);
    assert_eq!((acknowledgments(&router.io.inner).len(), waiting(&router)), (5, 0));
}

#[test]
fn no_acknowledgment_waits_longer_than_the_bound() {
    let mut router = modern(&[("max_delay", "10ms"), ("queue", "1MB")]);
    fill(&mut router, 0, 200);
    receive(&mut router, 0, acks(1..=100));
    run(&mut router, 0, 9);
    assert!(waiting(&router) > 0);
    run(&mut router, 0, 10);
    assert_eq!((waiting(&router), router.io.inner.len()), (0, 100));
    assert_eq!(router.gauge(events::ACK_DELAY_NS_MAX), Some(10_000_000));
    assert!(router.count(events::ACK_OVERDUE) > 90);
}

#[test]
fn a_flow_that_waiting_does_not_slow_down_is_left_alone() {
    // A fifth and nine tenths of the queue.
    for (packets, is_in_vain) in [(200, false), (900, true)] {
        let mut router = modern(&[("max_delay", "10ms"), ("queue", "1MB")]);
        fill(&mut router, 0, packets);
        receive(&mut router, 0, acks(0..=20));
        run(&mut router, 0, 11);
        assert_eq!((router.count(events::ACK_OVERDUE) > 0, waiting(&router)), (true, 0));
        receive(&mut router, 12, acks(21..=30));
        assert_eq!(waiting(&router) == 0, is_in_vain, "{packets} packets");
    }
    let mut router = modern(&[("max_delay", "10ms"), ("queue", "1MB")]);
    fill(&mut router, 0, 900);
    receive(&mut router, 0, acks(0..=20));
    run(&mut router, 0, 11);
    router.packet(at(13), Port::INNER, segment(0, 0, TcpFlags::SYN));
    fill(&mut router, 13, 60);
    receive(&mut router, 13, acks(0..=40));
    assert!(waiting(&router) > 0, "a new connection is another flow");
}

#[test]
fn the_longest_wait_is_what_a_full_queue_takes_on_the_link_unless_it_is_set() {
    // At 12 Mbit/s, 30 kB take 20 ms and 1 MB two thirds of a second.
    for (queue, delay, longest) in [("30kB", "auto", 20), ("1MB", "auto", 100), ("30kB", "50ms", 50)] {
        let mut router = modern(&[("queue", queue), ("max_delay", delay), ("spacing", "30ms")]);
        fill(&mut router, 0, 20);
        receive(&mut router, 0, acks(0..=9));
        run(&mut router, 0, 1000);
        assert_eq!(router.gauge(events::ACK_DELAY_NS_MAX), Some(longest * 1_000_000), "{queue} {delay}");
    }
}

#[test]
fn the_longest_wait_follows_the_rate_of_the_link() {
    let mut router = modern(&[("queue", "30kB"), ("spacing", "30ms")]);
    router.element.set_rate(Rate::from_bps(6_000_000));
    fill(&mut router, 0, 20);
    receive(&mut router, 0, acks(0..=9));
    run(&mut router, 0, 1000);
    assert_eq!(router.gauge(events::ACK_DELAY_NS_MAX), Some(40_000_000));
}

#[test]
fn nothing_is_delayed_while_the_link_is_not_the_bottleneck() {
    let mut router = modern(&[]);
    fill(&mut router, 0, 4);
    receive(&mut router, 0, acks(1..=4));
    assert_eq!((router.io.inner.len(), router.count(Event::ACK_DELAYED)), (4, 0));
    // Congested, and a second later no more.
    fill(&mut router, 0, 40);
    receive(&mut router, 0, acks(5..=8));
    run(&mut router, 0, 900);
    let before = router.count(Event::ACK_DELAYED);
    receive(&mut router, 1035, acks(9..=14));
    assert_eq!((router.count(Event::ACK_DELAYED), waiting(&router)), (before, 0));
}

#[test]
fn a_buffer_that_is_full_lets_go_of_the_flow_and_drops_nothing() {
    let mut router = modern(&[("ack_buffer", "120B")]);
    fill(&mut router, 0, 60);
    receive(&mut router, 0, acks(1..=9));
    assert!(router.ledger.discarded.total() == 0);
    run(&mut router, 0, 100);
    assert_eq!(acknowledgments(&router.io.inner), (1..=9).map(|n| n * 1000).collect::<Vec<u32>>());
}

#[test]
fn damaged_packets_and_flows_without_data_pass() {
    let mut router = modern(&[]);
    fill(&mut router, 0, 60);
    receive(&mut router, 0, acks(1..=3));
    let mut damaged = ack(9000);
    damaged.mark_corrupted();
    let before = router.io.inner.len();
    receive(&mut router, 0, [damaged, edited(&ack(5000), |tcp| tcp.destination_port = 9)]);
    assert_eq!((router.io.inner.len(), waiting(&router)), (before + 2, 1));
}

#[test]
fn a_new_connection_on_the_same_ports_begins_anew() {
    let mut router = modern(&[]);
    fill(&mut router, 0, 60);
    receive(&mut router, 0, acks(1..=5));
    router.packet(at(1), Port::INNER, segment(7_000_000, 0, TcpFlags::SYN));
    assert_eq!((waiting(&router), router.count(Event::FLOW_NEW)), (0, 2));
    receive(&mut router, 1, [ack(6000)]);
    assert_eq!(waiting(&router), 0, "an old acknowledgment passes");
}

#[test]
fn a_reset_and_silence_forget_a_flow_with_what_waits() {
    for reset in [true, false] {
        let mut router = modern(&[("idle", "1s"), ("max_delay", "100s"), ("spacing", "50s")]);
        fill(&mut router, 0, 60);
        receive(&mut router, 0, acks(1..=5));
        if reset {
            let packet = edited(&ack(5000), |tcp| tcp.flags = TcpFlags::RST.with(TcpFlags::ACK));
            receive(&mut router, 1, [packet]);
        } else {
            router.packet(at(3000), Port::INNER, edited(&data(0), |tcp| tcp.source_port = 9));
        }
        assert_eq!(waiting(&router), 0, "reset: {reset}");
        assert_eq!(router.gauge(Gauge::FLOWS), Some(u64::from(!reset)));
    }
}

#[test]
fn a_full_table_makes_room_and_lets_go_what_waits() {
    let mut site_memory = None;
    let mut router = Harness::new(
        with_site(|site| {
            site.max_memory = crate::LEAST_MEMORY;
            site_memory = Some(site.max_memory.0);
            let settings = FastTcpSettings { threshold: Some(Thresholds::one(2000)), ..FastTcpSettings::default() };
            Router::new(&settings, site)
        }),
        "router",
    );
    for n in 0..2000 {
        let of_flow = |packet: &Packet| edited(packet, |tcp| tcp.source_port = n);
        for k in 0..3 {
            router.packet(at(0), Port::INNER, of_flow(&data(k * 1000)));
        }
        receive(&mut router, 0, acks(1..=3).map(|ack| edited(&ack, |tcp| tcp.destination_port = n)));
    }
    assert!(router.count(Event::FLOW_EVICTED) > 0);
    assert!(router.gauge(Gauge::MEMORY_BYTES) <= site_memory);
    run(&mut router, 0, 60_000);
    assert_eq!((waiting(&router), router.io.inner.len()), (0, 6000));
}

#[test]
fn without_a_rate_or_a_spacing_nothing_is_delayed() {
    for mode in [Mode::Modern, Mode::Paper] {
        let settings = FastTcpSettings { mode, threshold: Some(Thresholds::one(1)), ..FastTcpSettings::default() };
        let make = |site: &mut Site<'_>| {
            site.link.rate = None;
            Router::new(&settings, site)
        };
        let mut router = Harness::new(with_site(make), "router");
        fill(&mut router, 0, 60);
        receive(&mut router, 0, acks(1..=30));
        assert_eq!((router.io.link.len(), router.io.inner.len()), (60, 30));
    }
}

#[test]
fn a_late_timer_does_not_cost_rate() {
    let mut router = paper(&[]);
    receive(&mut router, 0, acks(1..=10));
    router.tick(at(6));
    assert_eq!(router.io.inner.len(), 7);
    assert_eq!(router.element.poll_timeout(), Some(at(7)));
}

#[test]
fn settings_that_cannot_work_are_refused_with_a_remedy() {
    for (key, value) in [("rate", "0bit"), ("spacing", "0ms"), ("ack_buffer", "0B"), ("max_delay", "0ms")] {
        let chosen = ENTRY.with([(key, value)]).unwrap();
        let error = with_site(|site| chosen.settings.make(site).err()).expect(key);
        assert!(matches!(error, ParameterError::BadValue { key: found, .. } if found == key), "{error}");
    }
    assert!(with_site(|site| (ENTRY.settings)().make(site).is_ok()));
}

#[test]
fn the_threshold_is_a_fifth_of_the_queue_unless_it_is_set() {
    let mut router = router(&[("queue", "52kB"), ("spacing", "1ms")]);
    fill(&mut router, 0, 10);
    assert_eq!((router.gauge(Gauge::QUEUE_BYTES), router.count(events::CONGESTED)), (Some(9 * 1040), 0));
    fill(&mut router, 0, 1);
    assert_eq!(router.count(events::CONGESTED), 1);
    assert_eq!(ByteSize(10 * 1040), ByteSize(52_000 / 5));
}

#[test]
fn time_only_goes_on_for_a_sender_that_looks_at_timestamps() {
    let mut router = modern(&[]);
    connect(&mut router, 90);
    let stamped = |number: u32, value: u32| {
        edited(&ack(number), |tcp| tcp.options.timestamps = Some(airtcp_core::Timestamps { value, echo: 1 }))
    };
    receive(&mut router, 0, [stamped(1000, 10), stamped(9000, 11), stamped(9000, 12), stamped(20_000, 13)]);
    run(&mut router, 0, 1000);
    let values: Vec<u32> =
        router.io.inner.iter().filter_map(|packet| packet.tcp()?.options.timestamps).map(|stamp| stamp.value).collect();
    assert!(values.len() > 5 && values.is_sorted(), "{values:?}");
    assert!(acknowledgments(&router.io.inner).is_sorted());
}

/// Every release is in time, whatever the order of calls.
#[test]
fn a_pause_gives_no_burst() {
    let mut router = paper(&[]);
    receive(&mut router, 0, acks(1..=2));
    run(&mut router, 0, 500);
    receive(&mut router, 500, acks(3..=6));
    let expected: Vec<Instant> = (501..=503).map(at).collect();
    let mut times = Vec::new();
    while let Some(due) = router.element.poll_timeout() {
        times.push(due);
        router.tick(due);
    }
    assert_eq!(times, expected);
}
