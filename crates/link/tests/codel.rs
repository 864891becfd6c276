//! CoDel keeps the wait short and drops by its control law (RFC 8289).

use crate::common::*;
use airtcp_core::{DropReason, Duration, Instant};
use airtcp_link::Link;

/// A link on which a packet of 1500 bytes takes a millisecond, with a queue too long to be full.
fn codel() -> Link {
    link(&[("rate", "12Mbit"), ("queue", "{ kind = \"codel\", limit = \"100000packets\" }")])
}

fn ms(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

/// Sends two packets a millisecond, twice what the link carries, from `from` to `to` in ms, and gives the times of drops.
fn overload(link: &mut Link, from: u64, to: u64) -> Vec<Instant> {
    let mut drops = Vec::new();
    let mut on_drop = |at, _, reason| {
        assert_eq!(reason, DropReason::AQM);
        drops.push(at);
    };
    for half in 2 * from..2 * to {
        let now = at(half * 500_000);
        run_until(link, now, &mut |_, _| {}, &mut on_drop);
        link.send(now, packet(0, 1500), &mut |packet, reason| on_drop(now, packet, reason));
    }
    drops
}

/// `seen` is the first departure from `due` on.
fn assert_first_departure_from(due: f64, seen: Instant, what: &str) {
    let seen = seen.as_nanos() as f64;
    assert!(seen > due - 10.0 && seen < due + 1_000_000.0 + 10.0, "{what}: due {due}, dropped at {seen}");
}

#[test]
fn under_constant_overload_drops_follow_the_control_law() {
    let drops = overload(&mut codel(), 0, 5000);
    // The wait passes 5 ms after 10 ms of overload, in which the queue grows by half a millisecond each.
    assert_eq!(drops[0], ms(10) + Duration::from_millis(100));
    let mut due = drops[0].as_nanos() as f64;
    for (count, drop) in drops.iter().enumerate().skip(1) {
        due += 100e6 / (count as f64).sqrt();
        assert_first_departure_from(due, *drop, &format!("drop {count}"));
    }
    assert!(drops.len() > 550, "{}", drops.len());
}

#[test]
fn a_new_spell_of_congestion_goes_on_where_the_last_one_was() {
    for (pause, is_recent) in [(200, true), (3000, false)] {
        let mut link = codel();
        let first = overload(&mut link, 0, 800);
        // The queue drains, then the pause passes.
        let again = 2000 + pause;
        run_until(&mut link, ms(again), &mut |_, _| {}, &mut |_, _, _| {});
        let second = overload(&mut link, again, again + 400);
        let count = if is_recent { link.counters().dropped.get(DropReason::AQM) - second.len() as u64 - 1 } else { 1 };
        assert!(first.len() > 5, "{}", first.len());
        let due = second[0].as_nanos() as f64 + 100e6 / (count as f64).sqrt();
        assert_first_departure_from(due, second[1], &format!("after a pause of {pause} ms"));
    }
}

#[test]
fn a_burst_that_is_gone_within_an_interval_loses_nothing() {
    for (packets, loses) in [(100, false), (120, true)] {
        let mut link = codel();
        for n in 0..packets {
            assert_eq!(send(&mut link, at(0), packet(n, 1500)), None);
        }
        let arrived = drain(&mut link).len() as u64;
        assert_eq!(arrived < u64::from(packets), loses, "{arrived} of {packets}");
        assert_eq!(link.counters().dropped_total(), u64::from(packets) - arrived);
    }
}

#[test]
fn a_wait_below_the_target_starts_the_interval_anew() {
    // Ten packets wait for 70 ms and for 70 ms more; in between, or not, for 5 ms only two.
    for dips in [true, false] {
        let mut link = codel();
        let mut dropped = 0;
        for millis in 0..145 {
            let packets = match millis {
                0 => 10,
                70..77 if dips => 0,
                82 if dips => 8,
                _ => 1,
            };
            link.advance(ms(millis), &mut |_, _| dropped += 1);
            for n in 0..packets {
                link.send(ms(millis), packet(n, 1500), &mut |_, _| dropped += 1);
            }
        }
        assert_eq!(dropped > 0, !dips, "{dropped} drops");
    }
}

#[test]
fn a_standing_queue_is_brought_to_the_target() {
    // A window of 60 packets: each arrival lets the next packet go, each drop makes the window smaller by one.
    let mut link = codel();
    for n in 0..60 {
        send(&mut link, at(0), packet(n, 1500));
    }
    let mut arrived = 0;
    while let Some(now) = link.next_event().filter(|now| *now <= ms(10_000)) {
        link.advance(now, &mut |_, _| {});
        while link.receive(now).is_some() {
            arrived += 1;
            link.send(now, packet(0, 1500), &mut |_, _| {});
        }
    }
    assert_eq!(arrived, 10_000, "the link was never idle");
    let waiting = link.backlog(ms(10_000)).packets;
    assert!((3..=5).contains(&waiting), "{waiting} ms of queue");
}

#[test]
fn a_queue_of_one_packet_is_never_too_long() {
    // At 120 kbit/s a packet takes 100 ms, so each waits for far more than the target.
    let mut link = link(&[("rate", "120kbit"), ("queue", "{ kind = \"codel\" }")]);
    for n in 0..100u32 {
        assert_eq!(send(&mut link, at(u64::from(n) * 100_000_000), packet(n, 1500)), None);
        if n == 0 {
            send(&mut link, at(0), packet(0, 1500));
        }
    }
    assert_eq!(drain(&mut link).len(), 101);
}

#[test]
fn what_does_not_fit_is_dropped_as_from_a_full_queue() {
    let mut link = link(&[("rate", "12Mbit"), ("queue", "{ kind = \"codel\", limit = \"2packets\" }")]);
    let verdicts: Vec<_> = (0..5).map(|n| send(&mut link, at(0), packet(n, 1500))).collect();
    assert_eq!(verdicts, [None, None, None, Some(DropReason::QUEUE_FULL), Some(DropReason::QUEUE_FULL)]);
    assert_eq!(link.backlog(at(0)).packets, 2);
}

#[test]
fn departures_keep_their_times_when_the_queue_is_served_late() {
    let arrivals = |step: u64| {
        let mut link = link(&[("rate", "9999991bit"), ("delay", "2ms"), ("queue", "{ kind = \"codel\" }")]);
        for n in 0..50 {
            send(&mut link, at(0), packet(n, 1500));
        }
        let mut arrived = Vec::new();
        for tick in 0..100_000_000 / step {
            link.advance(at(tick * step), &mut |_, _| {});
            while let Some(due) = link.next_arrival().filter(|due| due.as_nanos() <= tick * step) {
                arrived.push((due, number(&link.receive(due).unwrap())));
            }
        }
        arrived
    };
    assert_eq!(arrivals(1_000).len(), 50);
    assert_eq!(arrivals(1_000), arrivals(7_000_000));
}

#[test]
fn an_idle_link_without_a_rate_holds_nothing() {
    let mut link = link(&[("delay", "5ms"), ("queue", "{ kind = \"codel\", limit = \"0packets\" }")]);
    for n in 0..3 {
        assert_eq!(send(&mut link, at(7), packet(n, 1500)), None);
    }
    assert_eq!(drain(&mut link), [(at(5_000_007), 0), (at(5_000_007), 1), (at(5_000_007), 2)]);
}
