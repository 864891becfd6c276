//! What a queue tells of itself: the most that ever waited, the most since somebody asked, and the first drop.

use crate::common::{link, of_flow};
use airtcp_core::{Duration, Instant};
use airtcp_link::Link;

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

/// 8 Mbit/s: a millisecond for 1000 bytes.
fn link_with(queue: &str) -> Link {
    link(&[("rate", "8Mbit"), ("queue", queue)])
}

fn send(link: &mut Link, now: Instant, packets: usize) {
    for _ in 0..packets {
        link.send(now, of_flow(1000, 1000), &mut |_, _| {});
        while link.receive(now).is_some() {}
    }
}

#[test]
fn peaks_are_those_since_the_last_question_and_the_longest_is_kept() {
    for queue in ["100kB", "{ kind = \"codel\", limit = \"100kB\", target = \"80ms\" }"] {
        let mut link = link_with(queue);
        send(&mut link, at(0), 11);
        link.advance(at(3), &mut |_, _| {});
        assert_eq!(link.take_queue_peak(at(3)), 10_000, "{queue}");
        link.advance(at(8), &mut |_, _| {});
        send(&mut link, at(8), 1);
        assert_eq!(link.take_queue_peak(at(8)), 7000, "{queue}: seven waited at 3 ms");
        link.advance(at(100), &mut |_, _| {});
        link.take_queue_peak(at(100));
        assert_eq!((link.take_queue_peak(at(101)), link.queue_bytes_max()), (0, 10_000), "{queue}");
    }
}

#[test]
fn the_first_drop_of_a_queue_is_remembered() {
    let mut link = link_with("2kB");
    send(&mut link, at(0), 3);
    assert_eq!(link.counters().first_queue_drop, None);
    send(&mut link, at(1), 3);
    send(&mut link, at(50), 9);
    assert_eq!(link.counters().first_queue_drop, Some(at(1)));
    assert_eq!(link.counters().dropped_by_queue(), 2 + 6);
}
