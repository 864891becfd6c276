use super::*;
use crate::testing::*;
use airtcp_core::parameters::Parameters;
use airtcp_core::testing::Harness;
use airtcp_core::{ByteSize, Rate, SeqNum, TcpFlags, TcpHeader, Timestamps};
use std::vec::Vec;

/// An interface of a link that is fast enough, unless `place` says otherwise.
fn placed(settings: &[(&str, &str)], place: impl Fn(&mut Site<'_>)) -> Harness<Thin> {
    let settings = ThinSettings::with(settings.iter().copied()).unwrap();
    let element = with_site(|site| {
        site.link.rate = Some(Rate::from_bps(54_000_000));
        place(site);
        Thin::new(&settings, site)
    });
    Harness::new(element, "thin")
}

/// The same, with one acknowledgment of the flow, 1000, gone.
fn open(settings: &[(&str, &str)]) -> Harness<Thin> {
    let mut harness = placed(settings, |_| {});
    offer(&mut harness, 0, ack(1000));
    assert_eq!(left(&harness), [1000], "the first of a flow waits for nobody");
    harness.io.link.clear();
    harness
}

fn offer(harness: &mut Harness<Thin>, millis: u64, packet: Packet) {
    harness.packet(at(millis), Port::INNER, packet);
}

fn left(harness: &Harness<Thin>) -> Vec<u32> {
    acknowledgments(&harness.io.link)
}

/// What leaves at once when `packet` comes while 2000 waits.
fn leaves_with(packet: Packet) -> Vec<u32> {
    let mut harness = open(&[]);
    offer(&mut harness, 1, ack(2000));
    assert_eq!((left(&harness), harness.element.held().packets), (Vec::new(), 1));
    offer(&mut harness, 1, packet);
    left(&harness)
}

fn flagged(number: u32, flags: TcpFlags) -> Packet {
    edited(&ack(number), |tcp| tcp.flags = TcpFlags::ACK.with(flags))
}

fn reporting(number: u32, left: u32, right: u32) -> Packet {
    edited(&ack(number), |tcp| assert!(tcp.options.sack.push(SeqNum(left), SeqNum(right))))
}

/// Data that the other end sends, which the acknowledgments are for.
fn pushed(sequence: u32, flags: TcpFlags) -> Packet {
    segment(sequence, 1000, flags)
}

#[test]
fn every_third_leaves_and_says_all_that_the_two_before_it_did() {
    let mut harness = open(&[]);
    (2..=7).for_each(|number| offer(&mut harness, 1, ack(number * 1000)));
    assert_eq!(left(&harness), [4000, 7000]);
    assert_eq!(harness.count(Event::ACK_SUPPRESSED), 4);
    assert_eq!(harness.ledger.discarded.get(DropReason::SUPPRESSED), 4);
    assert_eq!((harness.element.held().packets, harness.element.poll_timeout()), (0, None));
}

#[test]
fn with_fifteen_one_of_fifteen_leaves_and_with_one_all_do() {
    let mut harness = open(&[("every", "15")]);
    (2..=31).for_each(|number| offer(&mut harness, 1, ack(number * 1000)));
    assert_eq!(left(&harness), [16_000, 31_000]);
    let mut harness = open(&[("every", "1")]);
    (2..=4).for_each(|number| offer(&mut harness, 1, ack(number * 1000)));
    assert_eq!(left(&harness), [2000, 3000, 4000]);
}

#[test]
fn what_waits_leaves_ten_milliseconds_after_the_first_of_it_came() {
    let mut harness = open(&[]);
    offer(&mut harness, 1, ack(2000));
    offer(&mut harness, 8, ack(3000));
    assert_eq!(harness.element.poll_timeout(), Some(at(11)));
    harness.tick(at(10));
    assert!(left(&harness).is_empty());
    harness.tick(at(11));
    assert_eq!(left(&harness), [3000]);
    // And the count begins anew.
    (4..=5).for_each(|number| offer(&mut harness, 12, ack(number * 1000)));
    assert_eq!(left(&harness), [3000]);
    offer(&mut harness, 12, ack(6000));
    assert_eq!(left(&harness), [3000, 6000]);
}

#[test]
fn a_duplicate_leaves_at_once_behind_the_one_that_it_repeats() {
    assert_eq!(leaves_with(ack(2000)), [2000, 2000]);
    // And so do those that follow it.
    let mut harness = open(&[]);
    (0..3).for_each(|_| offer(&mut harness, 1, ack(1000)));
    assert_eq!(left(&harness), [1000; 3]);
}

#[test]
fn blocks_leave_at_once_and_replace_what_they_say_too() {
    assert_eq!(leaves_with(reporting(3000, 5000, 6000)), [3000]);
    // With the same number it is a duplicate: the sender counts it, and has to know what it repeats.
    assert_eq!(leaves_with(reporting(2000, 5000, 6000)), [2000, 2000]);
}

#[test]
fn a_push_leaves_at_once_and_so_does_what_answers_one() {
    assert_eq!(leaves_with(flagged(3000, TcpFlags::PSH)), [3000]);
    let mut harness = open(&[]);
    harness.packet(at(1), Port::LINK, pushed(2000, TcpFlags::ACK.with(TcpFlags::PSH)));
    offer(&mut harness, 1, ack(2500));
    assert!(left(&harness).is_empty(), "the end of what was pushed is not acknowledged yet");
    offer(&mut harness, 1, ack(3000));
    assert_eq!(left(&harness), [3000]);
    // Once; and data without PSH are not waited for.
    harness.packet(at(1), Port::LINK, pushed(3000, TcpFlags::ACK));
    offer(&mut harness, 1, ack(4000));
    assert_eq!(left(&harness), [3000]);
}

#[test]
fn a_window_update_leaves_at_once_and_a_closed_window_too() {
    let window = |number, window| edited(&ack(number), |tcp: &mut TcpHeader| tcp.window = window);
    assert_eq!(leaves_with(window(2000, 2000)), [2000, 2000]);
    assert_eq!(leaves_with(window(3000, 0)), [2000, 3000], "one that closes replaces none");
    // Progress that also opens the window is progress.
    assert_eq!(leaves_with(window(3000, 2000)), [0; 0]);
}

#[test]
fn congestion_echoes_leave_at_once_behind_what_waits() {
    for flags in [TcpFlags::ECE, TcpFlags::CWR, TcpFlags::ECE.with(TcpFlags::CWR), TcpFlags::AE] {
        assert_eq!(leaves_with(flagged(3000, flags)).last(), Some(&3000), "{flags:?}");
    }
    assert_eq!(leaves_with(flagged(3000, TcpFlags::ECE)), [2000, 3000], "no change of flags is lost");
}

#[test]
fn what_opens_ends_or_resets_leaves_at_once() {
    assert_eq!(leaves_with(flagged(3000, TcpFlags::FIN)), [3000]);
    assert_eq!(leaves_with(flagged(3000, TcpFlags::SYN)), [2000, 3000]);
    assert_eq!(leaves_with(flagged(3000, TcpFlags::RST)), [2000, 3000]);
}

#[test]
fn data_leave_at_once_behind_what_waits_and_their_number_counts() {
    assert_eq!(leaves_with(answer(3000, 100)), [2000, 3000]);
    let mut harness = open(&[]);
    offer(&mut harness, 1, answer(2000, 100));
    offer(&mut harness, 1, ack(2000));
    assert_eq!(left(&harness), [2000, 2000], "a duplicate of what data acknowledged");
}

#[test]
fn one_that_was_overtaken_leaves_behind_what_overtook_it() {
    assert_eq!(leaves_with(ack(500)), [2000, 500]);
    // A clock that goes back tells of the same: neither replaces the other.
    let stamped = |number, value| {
        edited(&ack(number), |tcp: &mut TcpHeader| tcp.options.timestamps = Some(Timestamps { value, echo: 1 }))
    };
    let mut harness = open(&[]);
    offer(&mut harness, 1, stamped(2000, 9));
    offer(&mut harness, 1, stamped(3000, 8));
    assert_eq!(left(&harness), [2000, 3000]);
}

#[test]
fn numbers_go_on_across_the_wrap() {
    let mut harness = placed(&[], |_| {});
    for number in [u32::MAX - 1000, u32::MAX, 1000, 2000] {
        offer(&mut harness, 1, ack(number));
    }
    assert_eq!(left(&harness), [u32::MAX - 1000, 2000]);
}

#[test]
fn flows_are_counted_apart() {
    let other = |number| edited(&ack(number), |tcp: &mut TcpHeader| tcp.destination_port = 1001);
    let mut harness = open(&[]);
    for packet in [other(1000), ack(2000), other(2000), ack(3000), other(3000), ack(4000)] {
        offer(&mut harness, 1, packet);
    }
    assert_eq!(left(&harness), [1000, 4000]);
    assert_eq!(harness.element.held().packets, 1);
}

#[test]
fn what_is_no_tcp_and_what_arrives_pass() {
    let opaque = || Packet::opaque(flow().source, flow().destination, 17, bytes::Bytes::from_static(&[0; 100]));
    let mut harness = open(&[]);
    offer(&mut harness, 1, opaque());
    (2..=3).for_each(|number| harness.packet(at(1), Port::LINK, ack(number * 1000)));
    assert_eq!((harness.io.link.len(), acknowledgments(&harness.io.inner)), (1, Vec::from([2000, 3000])));
}

/// How many of three acknowledgments leave at once.
fn leave_of_three(harness: &mut Harness<Thin>, millis: u64, from: u32) -> usize {
    let before = harness.io.link.len();
    (0..3).for_each(|number| offer(harness, millis, ack(from + number)));
    harness.io.link.len() - before
}

#[test]
fn below_the_least_rate_nothing_waits() {
    let of = |rate, settings: &[(&str, &str)]| {
        let mut harness = placed(settings, |site| site.link.rate = Some(Rate::from_bps(rate)));
        offer(&mut harness, 0, ack(1000));
        (leave_of_three(&mut harness, 1, 2000), harness.element.traffic())
    };
    assert_eq!(of(11_000_000, &[]), (3, Traffic::Nothing));
    assert_eq!(of(54_000_000, &[]), (1, Traffic::Tcp));
    assert_eq!(of(11_000_000, &[("least_rate", "11Mbit")]), (1, Traffic::Tcp));
}

#[test]
fn where_the_rate_is_not_known_what_arrived_in_half_a_second_counts() {
    // 1040 bytes a millisecond are 8.3 Mbit/s.
    for (least, leave) in [("8Mbit", 1), ("9Mbit", 3)] {
        let mut harness = placed(&[("least_rate", least)], |site| site.link.rate = None);
        offer(&mut harness, 0, ack(1000));
        let arrive = |harness: &mut Harness<Thin>, millis: core::ops::RangeInclusive<u64>| {
            millis.for_each(|milli| harness.packet(at(milli), Port::LINK, data(1000)));
        };
        arrive(&mut harness, 0..=499);
        assert_eq!(leave_of_three(&mut harness, 499, 2000), 3, "{least}: not known yet");
        arrive(&mut harness, 500..=500);
        assert_eq!(leave_of_three(&mut harness, 500, 3000), leave, "{least}");
        // Half a second of silence ends it with the next packet.
        arrive(&mut harness, 1100..=1100);
        assert_eq!(leave_of_three(&mut harness, 1100, 4000), 3, "{least}");
    }
}

#[test]
fn only_the_interfaces_that_were_asked_for_thin() {
    for (at, ends) in [("both", [1, 1]), ("near", [1, 3]), ("far", [3, 1])] {
        let left = [End::Near, End::Far].map(|end| {
            let mut harness = placed(&[("at", at)], |site| site.end = end);
            offer(&mut harness, 0, ack(1000));
            leave_of_three(&mut harness, 1, 2000)
        });
        assert_eq!(left, ends, "{at}");
    }
}

#[test]
fn a_flow_that_makes_room_for_another_loses_nothing() {
    let mut harness = placed(&[], |site| site.max_memory = ByteSize(2 * FLOW_MEMORY));
    for port in 1..=3 {
        for number in [1000, 2000] {
            offer(&mut harness, 1, edited(&ack(number), |tcp| tcp.destination_port = port));
        }
    }
    // The third flow's first acknowledgment made the first flow's second leave.
    assert_eq!(left(&harness), [1000, 1000, 2000, 1000]);
    assert_eq!((harness.count(Event::FLOW_EVICTED), harness.element.held().packets), (1, 2));
}

#[test]
fn none_of_none_is_refused() {
    let settings = ThinSettings::with([("every", "0")]).unwrap();
    let error = with_site(|site| make(&settings, site).err()).unwrap();
    assert!(matches!(error, ParameterError::BadValue { key: "every", .. }));
}
