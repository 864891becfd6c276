//! Cells of a few frames by hand, and saturated ones against theory.

use super::saturation::{bianchi, measure};
use super::*;
use crate::index::{ElementId, InterfaceId};
use airtcp_core::parameters::Parameters;
use airtcp_core::{DropReason, Duration, Instant, Outcome, Packet, Token};
use std::net::Ipv4Addr;

pub(super) fn settings(values: &[(&str, &str)]) -> CellSettings {
    let mut settings = CellSettings::default();
    for &(key, value) in values {
        settings.set(key, &value.into()).unwrap();
    }
    settings.check().unwrap();
    settings
}

pub(super) fn packet(bytes: usize) -> Packet {
    let payload = bytes::Bytes::from(vec![0; bytes - 20]);
    Packet::opaque(Ipv4Addr::LOCALHOST.into(), Ipv4Addr::LOCALHOST.into(), 17, payload)
}

/// Runs a cell until nobody has anything to send; every report with its time.
pub(super) fn run(cell: &mut Bss) -> Vec<(Instant, Report)> {
    let (mut all, mut reports) = (Vec::new(), Vec::new());
    while let Some(now) = cell.next_event() {
        cell.advance(now, &mut reports);
        all.extend(reports.drain(..).map(|report| (now, report)));
    }
    all
}

/// The access point and the stations.
pub(super) const AP: InterfaceId = InterfaceId::AP;
pub(super) const ONE: InterfaceId = InterfaceId::at(1);
pub(super) const TWO: InterfaceId = InterfaceId::at(2);

/// A scheme's element at a station has the station's number in these tests.
pub(super) fn element_of(interface: InterfaceId) -> ElementId {
    usize::from(interface).into()
}

pub(super) fn send(cell: &mut Bss, at: Instant, from: InterfaceId, to: InterfaceId) {
    let tracked = Some(Tracked { element: element_of(from), token: Token(7) });
    assert!(cell.send(at, from, Entry::new(to, packet(1028), tracked)).is_ok());
}

pub(super) fn at(micros: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(micros)
}

#[test]
fn a_packet_for_an_idle_medium_is_sent_at_once_and_acknowledged() {
    let mut cell = Bss::new(&settings(&[]), 2, 1, "cell");
    send(&mut cell, at(1000), ONE, AP);
    let reports = run(&mut cell);
    // Data 192 + 1064 * 8 / 11, SIFS, ACK 192 + 112.
    let end = at(1000 + 192 + 774 + 10 + 304);
    assert!(matches!(&reports[0], (when, Report::Delivered { from: ONE, to: AP, .. }) if *when == end));
    let (_, Report::Status { element, status }) = &reports[1] else { panic!("{reports:?}") };
    assert_eq!((status.token, status.outcome, status.tries, status.at), (Token(7), Outcome::Acked, 1, end));
    assert_eq!(*element, element_of(ONE));
    assert_eq!(cell.usage(ONE).airtime[0].delivered, Duration::from_micros(192 + 774 + 304));
}

#[test]
fn with_rts_the_frame_is_announced_and_answered() {
    let mut cell = Bss::new(&settings(&[("rts_threshold", "500")]), 1, 1, "cell");
    send(&mut cell, at(1000), ONE, AP);
    let announcement = (192 + 160) + 10 + (192 + 112) + 10;
    let end = at(1000 + announcement + 192 + 774 + 10 + 304);
    assert_eq!(run(&mut cell)[0].0, end);
}

#[test]
fn a_frame_that_comes_while_the_medium_is_busy_waits_for_a_backoff() {
    let mut cell = Bss::new(&settings(&[]), 2, 1, "cell");
    send(&mut cell, at(1000), ONE, AP);
    send(&mut cell, at(1500), TWO, AP);
    let first_end = at(1000 + 1280);
    let reports = run(&mut cell);
    let second = reports.iter().rfind(|(_, report)| matches!(report, Report::Delivered { .. })).unwrap().0;
    let waited = second.saturating_since(first_end).as_micros() - 1280 - 50;
    assert!(waited % 20 == 0 && waited / 20 <= 31, "{waited}");
}

#[test]
fn two_that_begin_together_collide_and_both_arrive_later() {
    let mut cell = Bss::new(&settings(&[]), 2, 1, "cell");
    send(&mut cell, at(1000), ONE, AP);
    send(&mut cell, at(1000), TWO, AP);
    assert_eq!(cell.next_event(), Some(at(1000 + 966)));
    let reports = run(&mut cell);
    let delivered = reports.iter().filter(|(_, report)| matches!(report, Report::Delivered { .. })).count();
    assert_eq!(delivered, 2);
    let collisions = [ONE, TWO].map(|station| cell.usage(station).collisions);
    assert!(collisions[0] >= 1 && collisions[0] == collisions[1]);
    assert_eq!(cell.medium().collisions, collisions[0]);
}

#[test]
fn ast_6_a_frame_is_given_up_after_its_retry_limit() {
    for (threshold, tries) in [("auto", 7), ("500", 4)] {
        let mut cell = Bss::new(&settings(&[("data_loss", "100%"), ("rts_threshold", threshold)]), 1, 1, "cell");
        send(&mut cell, at(0), ONE, AP);
        let reports = run(&mut cell);
        assert!(
            matches!(reports[0].1, Report::Dropped { from: ONE, to: AP, reason, .. } if reason == DropReason::RETRY_LIMIT)
        );
        let (_, Report::Status { status, .. }) = &reports[1] else { panic!("{reports:?}") };
        assert_eq!((status.outcome, status.tries), (Outcome::RetryLimit, tries));
        assert_eq!((cell.usage(ONE).given_up, cell.held(ONE)), (1, 0));
    }
}

#[test]
fn a_lost_ack_delivers_a_packet_once_however_often_it_is_sent() {
    let mut cell = Bss::new(&settings(&[("control_loss", "100%")]), 1, 1, "cell");
    send(&mut cell, at(0), ONE, AP);
    let reports = run(&mut cell);
    let delivered = reports.iter().filter(|(_, report)| matches!(report, Report::Delivered { .. })).count();
    assert_eq!((delivered, cell.usage(ONE).transmissions), (1, 7));
    // Its sender does not know.
    let (_, Report::Status { status, .. }) = &reports[1] else { panic!("{reports:?}") };
    assert_eq!(status.outcome, Outcome::RetryLimit);
    assert_eq!(cell.counters(ONE).dropped_total(), 0);
}

#[test]
fn ast_11_a_silent_receiver_makes_its_senders_give_up() {
    let mut cell = Bss::new(&settings(&[]), 1, 1, "cell");
    cell.set_silent(AP, true);
    send(&mut cell, at(0), ONE, AP);
    let reports = run(&mut cell);
    assert!(matches!(reports[0].1, Report::Dropped { reason, .. } if reason == DropReason::RETRY_LIMIT));
    assert_eq!(cell.usage(ONE).transmissions, 7);
}

#[test]
fn a_full_queue_drops_and_a_full_ring_refuses_and_tells_when_it_has_room() {
    let mut cell = Bss::new(&settings(&[("queue", "2packets")]), 1, 1, "cell");
    let taken: Vec<_> = (0..4).map(|_| cell.send(at(0), ONE, Entry::new(AP, packet(100), None))).collect();
    assert!(taken[..3].iter().all(Result::is_ok));
    assert!(matches!(taken[3], Err(Report::Dropped { reason, .. }) if reason == DropReason::QUEUE_FULL));
    assert_eq!((cell.backlog(ONE).packets, cell.held(ONE)), (2, 3));

    let mut cell = Bss::new(&settings(&[("queue", "{ kind = \"ring\", limit = \"1packet\" }")]), 1, 1, "cell");
    assert_eq!(cell.room(ONE), 2);
    for _ in 0..2 {
        assert!(!cell.refuses(ONE, 100) && cell.send(at(0), ONE, Entry::new(AP, packet(100), None)).is_ok());
    }
    assert!(cell.refuses(ONE, 100));
    assert!(matches!(run(&mut cell)[1].1, Report::Room { from: ONE }));
}

#[test]
fn ast_14_what_comes_for_a_sleeping_station_waits_for_the_next_beacon_and_what_it_sends_does_not() {
    let settings = settings(&[("beacon_interval", "100ms"), ("power_save", "true"), ("ap_queue", "3packets")]);
    let mut cell = Bss::new(&settings, 2, 1, "cell");
    let kept: Vec<bool> = [ONE, ONE, TWO, TWO]
        .into_iter()
        .map(|to| cell.send(at(1000), AP, Entry::new(to, packet(1028), None)).is_ok())
        .collect();
    assert_eq!((kept, cell.held(AP)), (vec![true, true, true, false], 3));
    send(&mut cell, at(2000), ONE, AP);
    let (mut seen, mut reports) = (Vec::new(), Vec::new());
    while let Some(now) = cell.next_event().filter(|now| *now < at(250_000)) {
        cell.advance(now, &mut reports);
        seen.extend(reports.drain(..).map(|report| (now, report)));
    }
    let delivered: Vec<(u64, InterfaceId)> = seen
        .iter()
        .filter_map(|(now, report)| match report {
            Report::Delivered { to, .. } => Some((now.as_nanos() / 1000, *to)),
            _ => None,
        })
        .collect();
    assert_eq!(delivered[0], (2000 + 1280, AP), "the station's own packet goes at once");
    // The beacon takes 192 + 800 us; then a packet for each in turn.
    assert_eq!(delivered[1..].iter().map(|(_, to)| *to).collect::<Vec<_>>(), [ONE, TWO, ONE]);
    assert!(delivered[1..].iter().all(|(when, _)| (101_000..110_000).contains(when)), "{delivered:?}");
    assert_eq!((cell.medium().beacons, cell.held(AP)), (2, 0));
}

#[test]
fn a_ring_before_sleeping_stations_refuses_what_it_cannot_keep() {
    let ring = "{ kind = \"ring\", limit = \"1packet\" }";
    let settings = settings(&[("beacon_interval", "100ms"), ("power_save", "true"), ("ap_queue", ring)]);
    let mut cell = Bss::new(&settings, 1, 1, "cell");
    assert_eq!((cell.room(AP), cell.refuses(AP, 100)), (1, false));
    assert!(cell.send(at(0), AP, Entry::new(ONE, packet(100), None)).is_ok());
    assert_eq!((cell.room(AP), cell.refuses(AP, 100)), (0, true));
}

#[test]
fn a_beacon_that_is_due_goes_before_those_who_count_down() {
    let settings = settings(&[("beacon_interval", "20ms")]);
    let model = measure(&CellSettings::default(), 5, 1028, Duration::from_secs(20), 1).packets_per_second;
    let ours = measure(&settings, 5, 1028, Duration::from_secs(20), 1).packets_per_second;
    // Each beacon takes 30 us of silence and 992 us of the 20 ms.
    let expected = 1.0 - 1.022 / 20.0;
    assert!((ours / model / expected - 1.0).abs() < 0.01, "{ours} of {model}");
}

#[test]
fn ast_13_a_cell_of_saturated_stations_is_bianchis() {
    for (rts, count) in [("auto", 1), ("auto", 5), ("auto", 20), ("auto", 50), ("0", 1), ("0", 10), ("0", 50)] {
        let settings = settings(&[
            ("basic_rate", "2Mbit"),
            ("rts_threshold", rts),
            ("retry_limit", "1000"),
            ("long_retry_limit", "1000"),
        ]);
        let model = bianchi(&settings, count, 1028, None);
        let ours = measure(&settings, count, 1028, Duration::from_secs(60), 1);
        let ratio = ours.packets_per_second / model.packets_per_second;
        assert!((0.98..1.02).contains(&ratio), "{count} stations, RTS {rts}: {ours:?} of {model:?}");
    }
}

#[test]
fn ast_n1_bianchis_model_gives_the_printed_figures() {
    // 1000 bytes and TCP/IP headers, without LLC.
    for (rts, printed) in [("auto", [4.87, 5.26, 5.06, 4.76, 4.41, 4.00]), ("0", [3.45, 3.75, 3.74, 3.69, 3.61, 3.50])]
    {
        let settings = settings(&[("overhead", "28"), ("rts_threshold", rts)]);
        for (stations, mbit) in [1, 5, 10, 20, 40, 80].into_iter().zip(printed) {
            let model = bianchi(&settings, stations, 1040, None).packets_per_second * 8e3 / 1e6;
            assert!((model - mbit).abs() < 0.011, "{stations} stations, RTS {rts}: {model}, printed {mbit}");
        }
    }
}

#[test]
fn settings_that_contradict_each_other_are_refused() {
    for (key, value, word) in [
        ("rate", "12Mbit", "rate"),
        ("basic_rate", "3Mbit", "rate"),
        ("cw_max", "7", "window"),
        ("retry_limit", "0", "at least 1"),
        ("queue", "{ kind = \"codel\" }", "droptail"),
        ("power_save", "true", "beacon_interval"),
        ("beacon_interval", "1ms", "5 ms"),
    ] {
        let mut settings = CellSettings::default();
        settings.set(key, &value.into()).unwrap();
        let error = settings.check().unwrap_err();
        assert!(error.contains(word), "{key}: {error}");
    }
}

#[test]
fn ast_18_idle_sense_holds_the_throughput_of_many_stations() {
    let of = |contention: &str, stations: usize| {
        let settings = settings(&[("contention", contention), ("mtu", "1040")]);
        measure(&settings, stations, 1028, Duration::from_secs(20), 1).packets_per_second
    };
    let few = of("dcf", 5);
    for stations in [1, 5, 20, 80] {
        let ours = of("idle-sense", stations) / few;
        assert!(ours > 0.95, "{stations} stations: {ours}");
    }
    assert!(of("dcf", 80) / few < 0.8);
}
