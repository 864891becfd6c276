//! Tests of what every hop keeps that repairs all packets by selective repeat. A scheme says what its two ends are
//! ([`Ends`]), and [`contract!`] makes the tests.

use super::{Ack, Frame, Received, START};
use crate::hop::testing::{Bench, data, opaque};
use airtcp_core::testing::Harness;
use airtcp_core::{DropReason, Duration, Element, Event, Gauge, Packet, Port, SeqNum, TakenShim};
use std::vec::Vec;

/// The two ends of a hop.
pub(crate) trait Ends {
    type Station: Element;
    /// What switches off that packets go out twice although nothing is missing.
    const WITHOUT_SPARES: &'static [(&'static str, &'static str)];

    fn station(name: &str, settings: &[(&str, &str)]) -> Self::Station;
    /// The frame in which a station's next packet will leave.
    fn next_frame(station: &Self::Station) -> Frame;
    /// The body of a frame's shim.
    fn encode(frame: &Frame) -> Vec<u8>;
    fn decode(body: &[u8]) -> Option<Frame>;
    /// The message that says what came.
    fn told(ack: Ack) -> Vec<u8>;

    /// Both ends, in reach of each other, with these settings.
    fn bench(settings: &[(&str, &str)]) -> Bench<Self::Station> {
        Bench::new(Self::station("a", settings), Self::station("b", settings))
    }

    /// The same, so far from each other.
    fn bench_at(one_way: Duration, settings: &[(&str, &str)]) -> Bench<Self::Station> {
        Bench::at(one_way, Self::station("a", settings), Self::station("b", settings))
    }

    /// The same without spare copies.
    fn bare(settings: &[(&str, &str)]) -> Bench<Self::Station> {
        Self::bench(&[Self::WITHOUT_SPARES, settings].concat())
    }

    /// What a frame on the air says.
    fn frame_of(packet: &Packet) -> Option<Frame> {
        match packet.clone().take_shim() {
            TakenShim::Body(body) => Self::decode(&body),
            _ => None,
        }
    }

    /// True for the n-th packet, whichever time it is sent.
    fn is_sequence(packet: &Packet, n: u32) -> bool {
        Self::frame_of(packet).is_some_and(|frame| frame.sequence == START + n)
    }

    /// True for the first time that the n-th packet is sent, if none was sent twice before.
    fn is_first_try(packet: &Packet, n: u32) -> bool {
        Self::is_sequence(packet, n) && Self::frame_of(packet).is_some_and(|frame| frame.number == START + n)
    }
}

/// Makes a test of each function below for these [`Ends`].
macro_rules! contract {
    ($ends:ty) => {
        $crate::selective_repeat::contract::contract!($ends:
            a_gap_is_repaired_within_a_round_trip_and_nobody_behind_it_notices,
            a_packet_is_given_up_after_its_tries_and_the_rest_goes_on,
            nothing_waits_longer_than_the_hold,
            a_packet_that_comes_after_the_wait_is_passed_on_late_and_once,
            a_link_that_doubles_everything_doubles_nothing_behind_it,
            a_damaged_frame_is_dropped_and_repaired,
            the_queue_before_the_link_drops_and_that_is_not_repaired,
            without_the_other_end_packets_leave_as_they_came,
            a_silent_or_restarted_end_releases_what_is_held,
            acknowledgments_of_what_was_never_sent_are_ignored,
            an_acknowledgment_that_was_overtaken_is_read_as_what_it_is,
        );
    };
    ($ends:ty: $($name:ident,)*) => {
        $(#[test]
        fn $name() {
            $crate::selective_repeat::contract::$name::<$ends>();
        })*
    };
}
pub(crate) use contract;

pub(crate) fn a_gap_is_repaired_within_a_round_trip_and_nobody_behind_it_notices<E: Ends>() {
    let mut bench = E::bench(&[]);
    bench.losing(|_, packet| E::is_first_try(packet, 3));
    bench.send_all(0..20);
    bench.run(35);
    assert_eq!(bench.out(), (0..20).collect::<Vec<_>>());
    assert_eq!((bench.a.count(Event::REPAIR), bench.b.count(Event::HELD) > 0), (1, true));
}

pub(crate) fn a_packet_is_given_up_after_its_tries_and_the_rest_goes_on<E: Ends>() {
    for tries in [1, 4] {
        let mut bench = E::bench(&[("tries", if tries == 1 { "1" } else { "4" }), ("hold", "10s")]);
        bench.losing(|_, packet| E::is_sequence(packet, 3));
        bench.send_all(0..100);
        bench.run(200);
        let expected: Vec<u32> = (0..100).filter(|n| *n != 3).collect();
        assert_eq!(bench.out(), expected, "{tries} tries");
        assert_eq!((bench.a.count(Event::GIVEN_UP), bench.a.count(Event::REPAIR)), (1, tries - 1));
        assert_eq!(bench.a.gauge(Gauge::CACHE_BYTES), Some(0), "nothing is kept of it");
    }
}

pub(crate) fn nothing_waits_longer_than_the_hold<E: Ends>() {
    let mut bench = E::bench(&[("hold", "20ms")]);
    bench.losing(|_, packet| E::is_sequence(packet, 3));
    bench.send_all(0..10);
    bench.run(20);
    assert_eq!(bench.out(), [0, 1, 2]);
    bench.run(20);
    assert_eq!(bench.out(), [4, 5, 6, 7, 8, 9]);
    assert_eq!(bench.b.count(Event::RELEASED_ACROSS_GAP), 6);
}

pub(crate) fn a_packet_that_comes_after_the_wait_is_passed_on_late_and_once<E: Ends>() {
    let mut bench = E::bench(&[("hold", "1ms")]);
    bench.losing(|_, packet| E::is_first_try(packet, 3));
    bench.twice = true;
    bench.send_all(0..10);
    bench.run(60);
    assert_eq!(bench.out(), [0, 1, 2, 4, 5, 6, 7, 8, 9, 3]);
}

pub(crate) fn a_link_that_doubles_everything_doubles_nothing_behind_it<E: Ends>() {
    let mut bench = E::bench(&[]);
    bench.twice = true;
    bench.losing(|n, _| n % 7 == 3);
    bench.send_all(0..50);
    bench.run(120);
    assert_eq!(bench.out(), (0..50).collect::<Vec<_>>());
}

pub(crate) fn a_damaged_frame_is_dropped_and_repaired<E: Ends>() {
    let mut bench = E::bare(&[]);
    let mut damaged = Packet::parse(data(0).to_wire()).unwrap();
    bench.losing(|n, _| n == 0);
    bench.send(damaged.clone());
    let frame = E::next_frame(&bench.a.element);
    assert!(damaged.push_shim(&E::encode(&Frame { sequence: START, number: START, ..frame })));
    let mut bytes = damaged.to_wire().to_vec();
    bytes[500] ^= 4;
    bench.b.packet(bench.now, Port::LINK, Packet::parse(bytes.into()).unwrap());
    assert_eq!(bench.b.count(Event::CHECKSUM_BAD), 1);
    bench.run(60);
    assert_eq!(bench.out(), [0]);
}

pub(crate) fn the_queue_before_the_link_drops_and_that_is_not_repaired<E: Ends>() {
    let mut bench = E::bare(&[("queue", "10kB")]);
    bench.send_all(0..50);
    bench.run(100);
    let came = bench.out().len() as u64;
    assert!((10..14).contains(&came), "{came}");
    assert_eq!(bench.a.ledger.discarded.get(DropReason::QUEUE_FULL), 50 - came);
    assert_eq!(bench.a.count(Event::REPAIR), 0);
}

pub(crate) fn without_the_other_end_packets_leave_as_they_came<E: Ends>() {
    let mut bench = E::bench(&[]);
    bench.lose_control = true;
    bench.run(1200);
    assert_eq!(bench.a.count(Event::PEER_DOWN), 1);
    bench.a.packet(bench.now, Port::INNER, opaque(700));
    assert_eq!(bench.a.io.link[0].to_wire(), opaque(700).to_wire());
}

pub(crate) fn a_silent_or_restarted_end_releases_what_is_held<E: Ends>() {
    let mut bench = E::bench(&[("hold", "10s")]);
    bench.losing(|_, packet| E::is_sequence(packet, 0));
    bench.send_all(0..5);
    bench.run(15);
    assert_eq!(bench.out(), [0_u32; 0]);
    bench.lose_control = true;
    bench.run(1200);
    assert_eq!(bench.out(), [1, 2, 3, 4]);

    let mut bench = E::bench(&[("hold", "10s")]);
    bench.losing(|_, packet| E::is_sequence(packet, 0));
    bench.send_all(0..5);
    bench.run(15);
    bench.a = Harness::new(E::station("a again", &[]), "a");
    bench.losing(|_, _| false);
    bench.run(150);
    assert_eq!(bench.out(), [1, 2, 3, 4]);
    bench.send_all(5..9);
    bench.run(30);
    assert_eq!(bench.out(), [5, 6, 7, 8]);
}

pub(crate) fn acknowledgments_of_what_was_never_sent_are_ignored<E: Ends>() {
    let mut bench = E::bench(&[]);
    bench.losing(|_, _| true);
    bench.send_all(0..3);
    let incarnation = E::next_frame(&bench.a.element).incarnation;
    let ack = Ack { incarnation, newest: START + 9, expected: START + 9, received: Received::filled(true) };
    bench.a.control(bench.now, &E::told(ack));
    assert!(bench.a.gauge(Gauge::CACHE_BYTES).unwrap() > 1000);
    let other = Ack { incarnation: incarnation ^ 1, newest: SeqNum(0), ..ack };
    bench.a.control(bench.now, &E::told(other));
    bench.a.control(bench.now, b"nonsense");
    assert_eq!(bench.a.count(Event::CONTROL_MALFORMED), 1);
}

pub(crate) fn an_acknowledgment_that_was_overtaken_is_read_as_what_it_is<E: Ends>() {
    let mut bench = E::bare(&[]);
    bench.losing(|_, packet| E::is_first_try(packet, 3));
    bench.send_all(0..20);
    bench.run(25);
    assert_eq!(bench.a.count(Event::REPAIR), 1);
    let incarnation = E::next_frame(&bench.a.element).incarnation;
    let old = Ack { incarnation, newest: START, expected: START + 1, received: Received::filled(false) };
    bench.a.control(bench.now, &E::told(old));
    bench.run(60);
    assert_eq!(bench.out(), (0..20).collect::<Vec<_>>());
}
