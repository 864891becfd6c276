//! Links whose rate, delay and loss change while they run.

use crate::common::*;
use airtcp_core::{Duration, Instant};
use airtcp_link::{Link, LinkSettings};

fn ms(n: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(n)
}

/// When each of `count` packets that are sent `every` ms arrives, in ms; lost ones are left out.
fn arrivals(link: &mut Link, count: u32, every: u64) -> Vec<(u32, u64)> {
    let mut arrived = Vec::new();
    for number in 0..count {
        link.send(ms(u64::from(number) * every), packet(number, 1500), &mut |_, _| {});
    }
    while let Some(at) = link.next_event() {
        link.advance(at, &mut |_, _| {});
        while let Some(packet) = link.receive(at) {
            arrived.push((number(&packet), at.as_nanos() / 1_000_000));
        }
    }
    arrived
}

fn traced(key: &str, text: &str) -> LinkSettings {
    let mut settings = settings(&[("rate", "12Mbit")]);
    airtcp_core::parameters::Parameters::set(&mut settings, key, &"{ trace = \"x\" }".into()).unwrap();
    settings.traces_mut().for_each(|(_, trace)| trace.load(text, false).unwrap());
    settings.check().unwrap();
    settings
}

#[test]
fn a_recorded_link_delivers_at_the_times_of_its_trace() {
    // mahimahi's: one packet at each of these times, for ever.
    let mut link = Link::new(&traced("rate", "2\n3\n7\n"), 1, "link");
    let times: Vec<u64> = arrivals(&mut link, 7, 0).into_iter().map(|(_, at)| at).collect();
    assert_eq!(times, [2, 3, 7, 9, 10, 14, 16]);
}

#[test]
fn a_link_that_stands_still_keeps_its_packets() {
    let mut link = link(&[("rate", "12Mbit, 0Mbit from 5ms, 12Mbit from 500ms"), ("queue", "3packets")]);
    let arrived = arrivals(&mut link, 12, 1);
    // Of those sent while nothing passes, one is on the transmitter and three wait.
    assert_eq!(arrived, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 501), (6, 502), (7, 503), (8, 504)]);
}

#[test]
fn a_delay_that_falls_lets_no_packet_overtake() {
    let mut link = link(&[("delay", "50ms, 10ms from 3ms")]);
    let arrived = arrivals(&mut link, 6, 10);
    assert_eq!(arrived, [(0, 50), (1, 50), (2, 50), (3, 50), (4, 50), (5, 60)]);
}

#[test]
fn what_was_recorded_of_delay_and_loss_is_what_packets_meet() {
    let mut late = Link::new(&traced("delay", "second,delay_ms\n0,20\n0.5,70\n"), 1, "link");
    let arrived = arrivals(&mut late, 4, 250);
    assert_eq!(arrived, [(0, 21), (1, 271), (2, 571), (3, 821)]);
    let mut lossy = Link::new(&traced("loss", "0,0\n0.5,100\n"), 1, "link");
    let numbers: Vec<u32> = arrivals(&mut lossy, 8, 250).into_iter().map(|(number, _)| number).collect();
    assert_eq!(numbers, [0, 1, 4, 5]);
}

#[test]
fn time_counts_from_the_origin() {
    let mut link = link(&[("rate", "12Mbit, 1.2Mbit from 1s")]);
    link.set_origin(ms(60_000));
    link.send(ms(60_500), packet(0, 1500), &mut |_, _| {});
    link.send(ms(61_500), packet(1, 1500), &mut |_, _| {});
    assert_eq!(link.next_event(), Some(ms(60_501)));
    assert!(link.receive(ms(60_501)).is_some());
    assert_eq!(link.next_event(), Some(ms(61_510)));
}

#[test]
fn managed_queues_follow_the_rate() {
    let codel = "{ kind = \"codel\", limit = \"1000packets\" }";
    let rate = "12Mbit, 1.2Mbit from 1s, 12Mbit from 2s";
    let mut link = link(&[("rate", rate), ("queue", codel)]);
    let (mut sent, mut delivered) = (0, 0);
    for at in 0..3000 {
        link.advance(ms(at), &mut |_, _| {});
        while link.receive(ms(at)).is_some() {
            delivered += 1;
        }
        link.send(ms(at), packet(sent, 1500), &mut |_, _| {});
        sent += 1;
    }
    // 1000 packets in the first and the last second, 100 between.
    assert!((2_090..=2_100).contains(&delivered), "{delivered}");
    assert!(link.counters().dropped_by_queue() > 5);
}
