//! Arrivals of segments by number, 1000 bytes each, from just below the wrap of the sequence space.

use super::*;
use alloc::vec;

const FIRST: SeqNum = SeqNum(u32::MAX - 4500);
const DEADLINE: Instant = Instant::from_nanos(15_000_000);

fn segment(number: u64) -> Range<Position> {
    let start = position::first(FIRST) + number * 1000;
    start..start + 1000
}

fn arrive(detector: &mut Detector, numbers: &[u64]) -> Vec<Arrival> {
    numbers.iter().map(|number| detector.on_arrival(&segment(*number), DEADLINE)).collect()
}

fn repaired(number: u64, duplicates: u32) -> Option<Repaired> {
    Some(Repaired { number: segment(number).start, duplicates })
}

#[test]
fn gsn_8_the_third_arrival_beyond_a_gap_asks_for_it_and_no_earlier() {
    let mut detector = Detector::new(FIRST);
    let arrivals = arrive(&mut detector, &[0, 1, 2, 3, 5, 6, 7, 8]);
    let asked: Vec<_> = arrivals.into_iter().map(|arrival| arrival.missing).collect();
    assert!(asked[..6].iter().all(Vec::is_empty));
    assert_eq!(asked[6], vec![segment(4)], "5 reveals the gap and is the first of three");
    assert_eq!(asked[7], vec![], "asked for once");
}

#[test]
fn gsn_8_a_packet_that_is_only_late_is_not_asked_for() {
    let mut detector = Detector::new(FIRST);
    let arrivals = arrive(&mut detector, &[0, 2, 3, 1, 4, 5, 6, 7]);
    assert!(arrivals.iter().all(|arrival| arrival.missing.is_empty() && arrival.repaired.is_none()));
}

#[test]
fn gsn_10_the_counter_holds_every_arrival_before_the_repair_also_the_first_three() {
    let mut detector = Detector::new(FIRST);
    let arrivals = arrive(&mut detector, &[0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 4]);
    assert_eq!(arrivals[10].repaired, repaired(4, 6));
}

#[test]
fn gsn_x5_at_the_nack_the_counter_is_three_and_not_zero() {
    let mut detector = Detector::new(FIRST);
    let arrivals = arrive(&mut detector, &[0, 2, 3, 4, 1]);
    assert_eq!(arrivals[4].repaired, repaired(1, 3));
}

#[test]
fn gsn_u10_of_two_holes_only_the_lowest_counts() {
    let mut detector = Detector::new(FIRST);
    // 1 and 4 are lost; 5, 6 and 7 lie beyond both.
    let arrivals = arrive(&mut detector, &[0, 2, 3, 5, 6, 7, 1, 4]);
    assert_eq!(arrivals[6].repaired, repaired(1, 5));
    assert_eq!(arrivals[5].missing, vec![segment(4)], "the second hole is asked for after its own three");
    assert_eq!(arrivals[7].repaired, repaired(4, 0), "no duplicate ACK named it");
}

#[test]
fn gsn_u10_the_second_hole_counts_from_when_it_is_the_lowest() {
    let mut detector = Detector::new(FIRST);
    let arrivals = arrive(&mut detector, &[0, 2, 3, 5, 6, 7, 1, 8, 9, 4]);
    assert_eq!(arrivals[9].repaired, repaired(4, 2));
}

#[test]
fn gsn_u10_a_repair_of_the_second_hole_that_comes_first_counts_to_the_first() {
    let mut detector = Detector::new(FIRST);
    let arrivals = arrive(&mut detector, &[0, 2, 3, 5, 6, 7, 4, 1]);
    assert_eq!(arrivals[6].repaired, None);
    assert_eq!(arrivals[7].repaired, repaired(1, 6));
}

#[test]
fn gsn_u14_a_gap_of_two_packets_is_asked_for_once_and_repaired_in_two_steps() {
    let mut detector = Detector::new(FIRST);
    let arrivals = arrive(&mut detector, &[0, 3, 4, 5, 1, 2]);
    assert_eq!(arrivals[3].missing, vec![segment(1).start..segment(2).end]);
    assert_eq!(arrivals[4].repaired, repaired(1, 3));
    assert_eq!(arrivals[5].repaired, repaired(2, 0), "nothing came between the two repairs");
}

#[test]
fn gsn_12_after_the_deadline_nothing_is_counted_for_the_gap() {
    let mut detector = Detector::new(FIRST);
    arrive(&mut detector, &[0, 2, 3, 4]);
    assert_eq!(detector.next_timeout(), Some(DEADLINE));
    let before = Instant::from_nanos(DEADLINE.as_nanos() - 1);
    assert_eq!(detector.handle_timeout(before, false, DEADLINE), TimedOut::default());
    let out = detector.handle_timeout(DEADLINE, false, DEADLINE);
    assert_eq!((out.given_up, out.again), (vec![segment(1).start], vec![]));
    assert_eq!(detector.next_timeout(), None);
    let arrivals = arrive(&mut detector, &[5, 1]);
    assert_eq!(arrivals[1].repaired, repaired(1, 0), "the repair that came too late suppresses nothing");
}

#[test]
fn gsn_u12_as_an_option_a_gap_is_asked_for_once_more() {
    let mut detector = Detector::new(FIRST);
    arrive(&mut detector, &[0, 2, 3, 4]);
    let later = Instant::from_nanos(2 * DEADLINE.as_nanos());
    assert_eq!(detector.handle_timeout(DEADLINE, true, later).again, vec![segment(1)]);
    let arrivals = arrive(&mut detector, &[5, 1]);
    assert_eq!(arrivals[1].repaired, repaired(1, 4), "the counter goes on");
}

#[test]
fn gsn_u12_a_gap_is_not_asked_for_a_third_time() {
    let mut detector = Detector::new(FIRST);
    arrive(&mut detector, &[0, 2, 3, 4]);
    detector.handle_timeout(DEADLINE, true, DEADLINE);
    assert_eq!(detector.handle_timeout(DEADLINE, true, DEADLINE).given_up, vec![segment(1).start]);
}

#[test]
fn gsn_x10_a_loss_with_fewer_than_three_packets_behind_it_is_not_asked_for() {
    let mut detector = Detector::new(FIRST);
    let arrivals = arrive(&mut detector, &[0, 1, 3, 4]);
    assert!(arrivals.iter().all(|arrival| arrival.missing.is_empty()));
    assert_eq!(detector.next_timeout(), None);
}

#[test]
fn what_the_receiver_acknowledged_is_no_gap_any_more() {
    let mut detector = Detector::new(FIRST);
    arrive(&mut detector, &[0, 2, 3, 4]);
    detector.on_acknowledged(segment(4).end);
    assert_eq!((detector.lowest(), detector.next_timeout()), (None, None));
}

#[test]
fn gaps_are_bounded() {
    let mut detector = Detector::new(FIRST);
    for number in 0..2000 {
        detector.on_arrival(&segment(number * 2), DEADLINE);
    }
    assert!(detector.gaps.len() <= MAX_GAPS);
}
