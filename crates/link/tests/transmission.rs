//! Rate, delay and queue.

use crate::common::*;
use airtcp_core::{Backlog, DropReason, Duration, Instant, Rng};

#[test]
fn a_billion_bytes_leave_at_exactly_the_rate() {
    for (rate, bps) in [("10Mbit", 10_000_000u128), ("9999991bit", 9_999_991), ("1Gbit", 1_000_000_000)] {
        let mut link = link(&[("rate", rate), ("queue", "4packets")]);
        let (mut sent, mut last) = (0u128, Instant::ZERO);
        while sent < 1_000_000_000 {
            let bytes = [1500, 52, 577][(sent % 3) as usize];
            // One packet is always ready behind the one in transmission.
            let now = last;
            assert_eq!(send(&mut link, now, packet(0, bytes)), None);
            sent += u128::from(bytes);
            if link.backlog(now).packets > 0 {
                last = link.next_departure(now).unwrap();
            }
            while link.receive(now).is_some() {}
        }
        let exact = sent * 8 * 1_000_000_000 / bps;
        assert_eq!(u128::from(link.busy_until().as_nanos()), exact, "{rate}");
    }
}

#[test]
fn a_packet_arrives_after_serialisation_and_delay() {
    let mut link = link(&[("rate", "12Mbit"), ("delay", "5ms")]);
    send(&mut link, at(1000), packet(0, 1500));
    send(&mut link, at(1000), packet(1, 750));
    assert_eq!(drain(&mut link), [(at(6_001_000), 0), (at(6_501_000), 1)]);
}

#[test]
fn a_link_without_rate_only_delays() {
    let mut link = link(&[("delay", "5ms")]);
    for n in 0..3 {
        send(&mut link, at(7), packet(n, 1500));
    }
    assert_eq!(link.backlog(at(7)), Backlog::default());
    assert_eq!(drain(&mut link), [(at(5_000_007), 0), (at(5_000_007), 1), (at(5_000_007), 2)]);
}

#[test]
fn nothing_is_received_before_it_arrives() {
    let mut link = link(&[("delay", "5ms")]);
    send(&mut link, at(0), packet(0, 100));
    assert!(link.receive(at(4_999_999)).is_none());
    assert!(link.receive(at(5_000_000)).is_some());
    assert_eq!(link.next_arrival(), None);
}

#[test]
fn an_idle_transmitter_saves_up_nothing() {
    let mut link = link(&[("rate", "7bit")]);
    send(&mut link, at(0), packet(0, 1500));
    let first = link.busy_until();
    assert_eq!(first, at(1_714_285_714_285));
    let later = first + Duration::from_secs(1);
    send(&mut link, later, packet(1, 1500));
    assert_eq!(link.busy_until(), later + Duration::from_nanos(1_714_285_714_285));
}

#[test]
fn the_packet_in_transmission_is_not_in_the_queue() {
    let mut link = link(&[("rate", "12Mbit"), ("queue", "3000B")]);
    for n in 0..3 {
        assert_eq!(send(&mut link, at(0), packet(n, 1500)), None, "one in transmission, two wait");
    }
    assert_eq!(link.backlog(at(0)), Backlog { packets: 2, bytes: 3000 });
    assert_eq!(send(&mut link, at(0), packet(3, 24)), Some(DropReason::QUEUE_FULL));
    assert_eq!(send(&mut link, at(999_999), packet(4, 1500)), Some(DropReason::QUEUE_FULL));
    assert_eq!(send(&mut link, at(1_000_000), packet(5, 1500)), None, "the second is in transmission now");
    let numbers: Vec<u32> = drain(&mut link).into_iter().map(|(_, number)| number).collect();
    assert_eq!(numbers, [0, 1, 2, 5]);
}

#[test]
fn a_byte_limit_is_exact_on_both_sides() {
    for (limit, verdict) in [("1500B", None), ("1499B", Some(DropReason::QUEUE_FULL))] {
        let mut link = link(&[("rate", "12Mbit"), ("queue", limit)]);
        send(&mut link, at(0), packet(0, 1500));
        assert_eq!(send(&mut link, at(0), packet(1, 1500)), verdict, "{limit}");
    }
}

#[test]
fn a_packet_limit_counts_packets_of_any_length() {
    let mut link = link(&[("rate", "1kbit"), ("queue", "2packets")]);
    let verdicts: Vec<_> = [1500, 1500, 24, 24].into_iter().map(|len| send(&mut link, at(0), packet(0, len))).collect();
    assert_eq!(verdicts, [None, None, None, Some(DropReason::QUEUE_FULL)]);
}

#[test]
fn an_idle_transmitter_takes_a_packet_whatever_the_limit() {
    let mut link = link(&[("rate", "12Mbit"), ("queue", "0packets")]);
    assert_eq!(send(&mut link, at(0), packet(0, 1500)), None);
    assert_eq!(send(&mut link, at(999_999), packet(1, 1500)), Some(DropReason::QUEUE_FULL));
    assert_eq!(send(&mut link, at(1_000_000), packet(2, 1500)), None);
}

#[test]
fn a_packet_of_the_mtu_passes_and_a_longer_one_does_not() {
    let mut link = link(&[("mtu", "1400")]);
    assert_eq!(send(&mut link, at(0), packet(0, 1400)), None);
    assert_eq!(send(&mut link, at(0), packet(1, 1401)), Some(DropReason::TOO_BIG));
}

#[test]
fn a_ring_refuses_when_it_is_full_and_tells_when_it_has_room() {
    let mut link = link(&[("rate", "12Mbit"), ("queue", "{ kind = \"ring\", limit = \"2packets\" }")]);
    let no_drops = &mut |_, reason: DropReason| panic!("dropped: {}", reason.label());
    for n in 0..3 {
        assert_eq!(link.room(at(0)), 3 - n as usize);
        link.try_send(at(0), packet(n, 1500), no_drops).unwrap();
    }
    assert_eq!(link.room(at(0)), 0);
    let refused = link.try_send(at(0), packet(3, 1500), no_drops).unwrap_err();
    assert_eq!(number(&refused), 3);
    assert_eq!(link.counters().packets_in, 3, "a refused packet never was in the link");

    let ready = link.next_departure(at(0)).unwrap();
    assert_eq!(ready, at(1_000_000));
    assert_eq!((link.room(at(999_999)), link.room(ready)), (0, 1));
    link.try_send(ready, refused, no_drops).unwrap();
    assert_eq!(link.next_departure(at(4_000_000)), None, "the last packet is out");
    assert_eq!(link.room(at(4_000_000)), 3);
}

#[test]
fn a_ring_of_no_packets_has_room_when_the_transmitter_is_free() {
    let mut link = link(&[("rate", "12Mbit"), ("queue", "{ kind = \"ring\", limit = \"0packets\" }")]);
    let no_drops = &mut |_, reason: DropReason| panic!("dropped: {}", reason.label());
    link.try_send(at(0), packet(0, 1500), no_drops).unwrap();
    assert_eq!(link.room(at(0)), 0);
    assert_eq!(link.next_departure(at(0)), Some(at(1_000_000)));
    assert_eq!(link.room(at(1_000_000)), 1);
}

#[test]
fn drop_tail_always_has_room_because_it_drops() {
    let mut link = link(&[("rate", "1kbit"), ("queue", "0packets")]);
    send(&mut link, at(0), packet(0, 1500));
    assert_eq!(link.room(at(0)), usize::MAX);
    let mut dropped = 0;
    link.try_send(at(0), packet(1, 1500), &mut |_, _| dropped += 1).unwrap();
    assert_eq!(dropped, 1);
}

#[test]
fn time_close_to_its_end_does_not_wrap() {
    let mut link =
        link(&[("rate", "1bit"), ("delay", "10s"), ("reorder", "{ probability = \"100%\", delay = \"9s\" }")]);
    let late = Instant::from_nanos(u64::MAX - 5);
    for n in 0..10 {
        send(&mut link, late, packet(n, 1500));
    }
    assert_eq!(link.next_arrival(), None, "what never arrives is no event");
    assert_eq!(link.held().packets, 10);
}

/// The same packets through two equal links: one gives each back at once, the other keeps it until it arrives.
fn compare_ways(entries: &[(&str, &str)], seed: u64) {
    let [mut kept, mut through] = [(); 2].map(|()| link(entries));
    assert!(through.is_express());
    let (mut rng, mut now, mut arrived) = (Rng::derive(seed, "ways"), Instant::ZERO, Vec::new());
    for n in 0..3000 {
        let gap = match rng.below(8) {
            0..=1 => 0,
            2 => rng.below(3_000_000),
            3 => 20_000_000,
            _ => kept.busy_until().saturating_since(now).as_nanos() + rng.below(3),
        };
        now += Duration::from_nanos(gap);
        let bytes = [1500, 1500, 1500, 40, 40, 1499, 1501, 9000, 40 + rng.below(1500) as u32][rng.below(9) as usize];
        let mut dropped = None;
        let passed = through.send_through(now, Instant::MAX, bytes);
        if let Err(stays) = passed {
            through.keep(now, stays, packet(n, bytes), &mut |lost, reason| {
                assert!(number(&lost) == n && dropped.replace(reason).is_none());
            });
        }
        assert_eq!(send(&mut kept, now, packet(n, bytes)), dropped, "{n}");
        assert_eq!(passed.is_ok(), dropped.is_none());
        arrived.extend(passed.map(|at| (at, n)));
        assert_eq!(through.backlog(now), kept.backlog(now), "{n}");
        assert_eq!((through.busy_until(), through.room(now)), (kept.busy_until(), kept.room(now)), "{n}");
        if rng.below(20) == 0 {
            assert_eq!(through.take_queue_peak(now), kept.take_queue_peak(now));
        }
    }
    assert_eq!(arrived, drain(&mut kept));
    assert_eq!(through.counters(), kept.counters());
    assert_eq!(through.queue_bytes_max(), kept.queue_bytes_max());
    assert!(through.counters().dropped.get(DropReason::TOO_BIG) > 100);
    let is_infinite = !entries.iter().any(|(key, _)| *key == "rate");
    assert_eq!(through.counters().dropped.get(DropReason::QUEUE_FULL) == 0, is_infinite);
}

#[test]
fn a_packet_that_comes_straight_out_of_a_link_fares_as_one_that_waits_in_it() {
    for queue in ["1packets", "3packets", "4000B"] {
        let entries = [("queue", queue), ("delay", "3ms")];
        compare_ways(&entries, 1);
        for rate in ["9986684bit", "1Gbit", "12Mbit, 3Mbit from 500ms, 40Mbit from 2s"] {
            (0..5).for_each(|seed| compare_ways(&[entries[0], entries[1], ("rate", rate)], seed));
        }
    }
}
