//! Cells of 802.11n, ac and ax, a few frames by hand.

use super::saturation::{bianchi, measure};
use super::tests::{AP, ONE, TWO, at, element_of, packet, run, settings};
use super::*;
use crate::index::InterfaceId;
use airtcp_core::{DropReason, Duration, Instant, Outcome, Rng, Token};

/// 802.11n at 5 GHz, MCS 7, one stream, 20 MHz: 260 bits in a symbol of 4 us behind a preamble of 36 us; SIFS 16 us, slots of
/// 9 us, AIFS 43 us; answers at 24 Mbit/s.
const N: (&str, &str) = ("phy", "n");
/// A packet of 1028 bytes alone, a frame of 1066: 36 + 4 * ceil((1066 * 8 + 22) / 260), SIFS, ACK 20 + 4 * ceil((14 * 8 + 22) / 96).
const ALONE: u64 = 36 + 4 * 33 + 16 + (20 + 4 * 2);
/// Three of them, 2 * 1072 + 1070 bytes with delimiters and padding: 36 + 4 * ceil((3214 * 8 + 22) / 260), SIFS, block ACK of 32
/// bytes 20 + 4 * ceil((32 * 8 + 22) / 96).
const THREE: u64 = 36 + 4 * 99 + 16 + (20 + 4 * 3);

/// What comes 1000 us after the start is sent at the next slot boundary, 43 + 107 * 9.
const BEGINS: u64 = 1006;

fn cell(stations: usize, values: &[(&str, &str)]) -> Bss {
    Bss::new(&settings(values), stations, 1, "cell")
}

/// Packets of 1028 bytes, numbered by their tokens.
fn send(cell: &mut Bss, when: u64, from: InterfaceId, to: InterfaceId, tokens: std::ops::Range<u64>) {
    for token in tokens {
        let tracked = Some(Tracked { element: element_of(from), token: Token(token) });
        assert!(cell.send(at(when), from, Entry::new(to, packet(1028), tracked)).is_ok());
    }
}

/// When packets arrived, us.
fn arrivals(reports: &[(Instant, Report)]) -> Vec<u64> {
    let delivered = reports.iter().filter(|(_, report)| matches!(report, Report::Delivered { .. }));
    delivered.map(|(when, _)| when.as_nanos() / 1000).collect()
}

/// What became of tracked packets: token, outcome, transmissions.
fn statuses(reports: &[(Instant, Report)]) -> Vec<(u64, Outcome, u8)> {
    let of = |report: &Report| match report {
        Report::Status { status, .. } => Some((status.token.0, status.outcome, status.tries)),
        _ => None,
    };
    reports.iter().filter_map(|(_, report)| of(report)).collect()
}

#[test]
fn a_packet_alone_is_a_plain_frame_with_an_ack() {
    let mut cell = cell(1, &[N]);
    send(&mut cell, 1000, ONE, AP, 0..1);
    let reports = run(&mut cell);
    assert_eq!(arrivals(&reports), [BEGINS + ALONE]);
    assert_eq!(statuses(&reports), [(0, Outcome::Acked, 1)]);
    assert_eq!(cell.usage(ONE).airtime[0].delivered, Duration::from_micros(ALONE - 16));
}

#[test]
fn from_ac_on_a_frame_alone_has_a_delimiter() {
    // 40 us, 1560 bits in a symbol; five have room for 972 bytes: 4 of the delimiter, 38 of the frame, 930 of the packet.
    for (bytes, symbols) in [(930, 5), (931, 6)] {
        let mut cell = cell(1, &[("phy", "ac"), ("mcs", "9"), ("width", "80")]);
        assert!(cell.send(at(1000), ONE, Entry::new(AP, packet(bytes), None)).is_ok());
        assert_eq!(arrivals(&run(&mut cell)), [BEGINS + 40 + 4 * symbols + 16 + 28]);
    }
}

#[test]
fn what_waits_together_is_sent_together_and_answered_by_a_block_ack() {
    let mut cell = cell(1, &[N]);
    send(&mut cell, 1000, ONE, AP, 0..3);
    let reports = run(&mut cell);
    assert_eq!(arrivals(&reports), [BEGINS + THREE; 3]);
    assert_eq!(statuses(&reports), [0, 1, 2].map(|token| (token, Outcome::Acked, 1)));
    let usage = cell.usage(ONE);
    assert_eq!((usage.transmissions, usage.frames_delivered[0]), (1, 3));
    assert_eq!(usage.airtime[0].delivered, Duration::from_micros(THREE - 16));
    assert_eq!((cell.held(ONE), cell.backlog(ONE).packets, cell.backlog(ONE).bytes), (0, 0, 0));
}

#[test]
fn what_comes_before_the_turn_goes_along_and_what_comes_later_waits() {
    let mut cell = cell(2, &[N]);
    send(&mut cell, 1000, TWO, AP, 0..1);
    send(&mut cell, 1010, ONE, AP, 0..1);
    // AIFS after the first exchange slots begin to count.
    send(&mut cell, BEGINS + ALONE + 40, ONE, AP, 1..3);
    let first = cell.next_event().unwrap();
    let mut reports = Vec::new();
    cell.advance(first, &mut reports);
    let end = cell.next_event().unwrap();
    assert!(end >= at(BEGINS + ALONE + 43 + THREE), "{end}");
    send(&mut cell, end.as_nanos() / 1000 - 10, ONE, AP, 3..4);
    let reports = run(&mut cell);
    let [a, b, c, d] = arrivals(&reports)[..] else { panic!("{reports:?}") };
    assert!(a == b && b == c && d > c + ALONE, "{:?}", arrivals(&reports));
}

#[test]
fn an_aggregate_has_at_most_its_bytes_its_time_and_its_window() {
    // 65535 bytes hold 61 frames of 1072, and 5484 us 41 of them at 65 Mbit/s: 1362 symbols of 260 bits.
    for (keys, frames) in [
        (&[N][..], 41),
        (&[N, ("streams", "2")], 61),
        (&[N, ("ampdu_bytes", "10722")], 10),
        (&[N, ("block_ack_window", "5")], 5),
        // 6.5 Mbit/s: 36 us and 1362 symbols of 26 bits are 4424 bytes.
        (&[N, ("mcs", "0")], 4),
        (&[N, ("mcs", "0"), ("ppdu_time", "2ms")], 1),
        (&[("phy", "ac"), ("mcs", "8"), ("width", "80")], 64),
        (&[("phy", "ax"), ("mcs", "11")], 90),
        (&[("phy", "ax"), ("mcs", "11"), ("streams", "4")], 256),
    ] {
        let mut cell = cell(1, &[keys, &[("queue", "1000packets")]].concat());
        send(&mut cell, 1000, ONE, AP, 0..300);
        let mut reports = Vec::new();
        let end = cell.next_event().unwrap();
        cell.advance(end, &mut reports);
        assert_eq!(cell.usage(ONE).frames_delivered[0], frames, "{keys:?}");
        assert!(end <= at(BEGINS + 5_484 + 16 + 100), "{keys:?}: {end}");
        assert_eq!((cell.held(ONE), cell.backlog(ONE).packets), (300 - frames as usize, 300 - frames as usize));
    }
}

#[test]
fn at_two_point_four_gigahertz_frames_end_with_a_signal_extension() {
    let mut cell = cell(1, &[N, ("band", "2.4GHz")]);
    send(&mut cell, 1000, ONE, AP, 0..1);
    // AIFS of 37 us, and 108 slots.
    assert_eq!(arrivals(&run(&mut cell)), [1009 + ALONE - 16 + 10 + 6 + 6]);
    let slots = [("false", 9), ("true", 20)].map(|(long, micros)| {
        let slot = settings(&[N, ("band", "2.4GHz"), ("long_slot", long)]).slot();
        assert_eq!(slot, Duration::from_micros(micros));
        slot
    });
    assert!(slots[0] < slots[1]);
}

#[test]
fn the_packet_that_was_first_says_whose_turn_it_is_at_the_access_point() {
    let mut cell = cell(2, &[N]);
    for (to, token) in [(TWO, 0), (ONE, 1), (TWO, 2), (ONE, 3)] {
        send(&mut cell, 0, AP, to, token..token + 1);
    }
    assert_eq!(statuses(&run(&mut cell)).map_tokens(), [0, 2, 1, 3]);
}

trait Tokens {
    fn map_tokens(self) -> Vec<u64>;
}

impl Tokens for Vec<(u64, Outcome, u8)> {
    fn map_tokens(self) -> Vec<u64> {
        self.into_iter().map(|(token, ..)| token).collect()
    }
}

#[test]
fn damaged_frames_are_sent_again_and_everything_arrives_in_order() {
    let mut cell =
        cell(1, &[N, ("data_loss", "30%"), ("control_loss", "5%"), ("queue", "1000packets"), ("retry_limit", "100")]);
    let length = |token: u64| 100 + (token as usize * 7) % 1400;
    for token in 0..500 {
        assert!(cell.send(at(0), ONE, Entry::new(AP, packet(length(token)), None)).is_ok());
    }
    let reports = run(&mut cell);
    let lengths = reports.iter().filter_map(|(_, report)| match report {
        Report::Delivered { packet, .. } => Some(packet.wire_len() as usize),
        _ => None,
    });
    assert_eq!(lengths.collect::<Vec<_>>(), (0..500).map(length).collect::<Vec<_>>());
    assert!(cell.usage(ONE).airtime[0].damaged > Duration::from_millis(5));
}

#[test]
fn only_what_was_damaged_is_sent_again() {
    let mut cell = cell(1, &[N, ("data_loss", "50%")]);
    send(&mut cell, 0, ONE, AP, 0..40);
    let reports = run(&mut cell);
    let mut tries: Vec<u8> = statuses(&reports).into_iter().map(|(.., tries)| tries).collect();
    tries.sort_unstable();
    assert_eq!(tries.len(), 40);
    // Half succeed at once, a quarter the second time.
    let at_once = tries.iter().filter(|tries| **tries == 1).count();
    let second = tries.iter().filter(|tries| **tries == 2).count();
    assert!((12..=28).contains(&at_once) && (4..=18).contains(&second), "{tries:?}");
}

#[test]
fn a_lost_block_ack_repeats_everything_and_delivers_it_once() {
    let mut cell = cell(1, &[N, ("control_loss", "100%")]);
    send(&mut cell, 1000, ONE, AP, 0..3);
    let reports = run(&mut cell);
    assert_eq!(arrivals(&reports), [BEGINS + THREE; 3]);
    assert_eq!(statuses(&reports), [0, 1, 2].map(|token| (token, Outcome::RetryLimit, 7)));
    let usage = cell.usage(ONE);
    // Seven times the aggregate, seven times the BAR.
    assert_eq!((usage.transmissions, usage.given_up, usage.frames_delivered[0]), (14, 3, 3));
    assert_eq!((cell.counters(ONE).dropped_total(), cell.held(ONE)), (0, 0));
}

#[test]
fn what_is_given_up_is_dropped_and_a_request_lets_the_receiver_pass_it() {
    let mut cell = cell(1, &[N, ("data_loss", "60%"), ("retry_limit", "2")]);
    send(&mut cell, 0, ONE, AP, 0..40);
    let reports = run(&mut cell);
    let dropped = reports
        .iter()
        .filter(|(_, report)| matches!(report, Report::Dropped { reason, .. } if *reason == DropReason::RETRY_LIMIT))
        .count();
    let usage = *cell.usage(ONE);
    assert!((6..=24).contains(&dropped), "{dropped}");
    assert_eq!((arrivals(&reports).len() + dropped, usage.given_up, cell.held(ONE)), (40, dropped as u64, 0));
    let outcomes = statuses(&reports);
    assert_eq!(outcomes.iter().filter(|(_, outcome, _)| *outcome == Outcome::RetryLimit).count(), dropped);
    // What waited for the missing ones arrives with the BAR: 36 us at 24 Mbit/s, 16, block ACK 32.
    let last = *arrivals(&reports).last().unwrap();
    assert_eq!(run(&mut cell).len(), 0);
    assert!(last > 2 * THREE);
}

#[test]
fn a_window_that_is_stalled_sends_only_what_is_missing() {
    let mut cell = cell(1, &[N, ("block_ack_window", "4"), ("data_loss", "40%"), ("queue", "100packets")]);
    send(&mut cell, 0, ONE, AP, 0..60);
    let reports = run(&mut cell);
    let told = statuses(&reports);
    let mut done = [false; 60];
    let mut start = 0;
    for (token, ..) in told {
        assert!(token < start + 4, "{token} was sent while {start} was missing");
        done[token as usize] = true;
        // All that is told at one time was sent together, so the window moves only afterwards.
        start = done.iter().position(|done| !done).unwrap_or(60) as u64;
    }
    assert!(done.iter().all(|done| *done));
}

#[test]
fn two_aggregates_that_begin_together_collide_and_both_arrive_later() {
    let mut cell = cell(2, &[N]);
    send(&mut cell, 1000, ONE, AP, 0..1);
    send(&mut cell, 1000, TWO, AP, 0..3);
    // The longer one, without an answer.
    assert_eq!(cell.next_event(), Some(at(BEGINS + 36 + 4 * 99)));
    let reports = run(&mut cell);
    assert_eq!(arrivals(&reports).len(), 4);
    let collided = [ONE, TWO].map(|station| cell.usage(station).airtime[0].collided.as_micros());
    assert!(collided[0] >= 168 && collided[1] >= 432, "{collided:?}");
    assert_eq!(cell.medium().collisions, cell.usage(ONE).collisions);
}

#[test]
fn an_aggregate_longer_than_the_threshold_is_announced_by_rts() {
    let mut cell = cell(1, &[N, ("rts_threshold", "1066")]);
    send(&mut cell, 1000, ONE, AP, 0..1);
    assert_eq!(arrivals(&run(&mut cell)), [BEGINS + ALONE]);
    send(&mut cell, 2000, ONE, AP, 0..3);
    // 43 us and 83 slots after the ACK at 1218 us. RTS of 20 bytes: 20 + 4 * ceil((160 + 22) / 96); CTS as an ACK.
    assert_eq!(arrivals(&run(&mut cell)), [2008 + 28 + 16 + 28 + 16 + THREE; 3]);
}

#[test]
fn a_silent_receiver_makes_its_senders_give_up() {
    let mut cell = cell(1, &[N]);
    cell.set_silent(AP, true);
    send(&mut cell, 0, ONE, AP, 0..3);
    let reports = run(&mut cell);
    assert_eq!(arrivals(&reports).len(), 0);
    assert_eq!(statuses(&reports), [0, 1, 2].map(|token| (token, Outcome::RetryLimit, 7)));
}

#[test]
fn a_txop_goes_on_until_its_time_is_over() {
    let keys = [N, ("block_ack_window", "3"), ("txop", "1500us")];
    let mut cell = cell(1, &keys);
    send(&mut cell, 1000, ONE, AP, 0..12);
    let arrived = arrivals(&run(&mut cell));
    // Three exchanges and two SIFS fit into 1500 us: 3 * 480 + 2 * 16 = 1472.
    let ends = [1, 2, 3].map(|number| BEGINS + number * THREE + (number - 1) * 16);
    assert_eq!([arrived[0], arrived[3], arrived[6]], ends);
    assert!(arrived[9] >= ends[2] + 43 + THREE, "then it contends: {arrived:?}");
    assert_eq!(cell.medium().exchanges, 2);
    assert_eq!(cell.medium().busy, Duration::from_micros(4 * THREE + 2 * 16));
}

#[test]
fn a_txop_makes_aggregates_as_short_as_it_is() {
    let mut cell = cell(1, &[N, ("txop", "500us")]);
    send(&mut cell, 1000, ONE, AP, 0..8);
    let arrived = arrivals(&run(&mut cell));
    assert_eq!(arrived[..3], [BEGINS + THREE; 3]);
    assert!(arrived[3] > BEGINS + THREE + 43, "{arrived:?}");
}

#[test]
fn packets_for_a_station_that_sleeps_wait_for_the_beacon_and_go_as_aggregates() {
    let keys = [N, ("beacon_interval", "100ms"), ("power_save", "true")];
    let mut cell = cell(2, &keys);
    send(&mut cell, 0, AP, ONE, 0..3);
    send(&mut cell, 0, AP, TWO, 3..6);
    assert_eq!((cell.held(AP), cell.backlog(AP).packets), (6, 6));
    let mut reports = Vec::new();
    let mut seen = Vec::new();
    while let Some(now) = cell.next_event().filter(|now| *now < at(150_000)) {
        cell.advance(now, &mut reports);
        seen.extend(reports.drain(..).map(|report| (now, report)));
    }
    let arrived = arrivals(&seen);
    assert_eq!((arrived.len(), cell.held(AP), cell.medium().exchanges), (6, 0, 2));
    assert!(arrived[0] > 100_000 && arrived[5] < 103_000, "{arrived:?}");
}

#[test]
fn whatever_happens_every_packet_arrives_in_order_or_is_dropped_and_is_told_once() {
    for seed in 0..60 {
        let mut rng = Rng::derive(seed, "aggregates");
        let mut pick = |of: &[&'static str]| of[rng.below(of.len() as u64) as usize];
        let keys = [
            ("phy", pick(&["n", "ac", "ax"])),
            ("data_loss", pick(&["0%", "20%", "70%"])),
            ("control_loss", pick(&["0%", "10%", "60%"])),
            ("block_ack_window", pick(&["1", "3", "64"])),
            ("retry_limit", pick(&["1", "2", "7"])),
            ("rts_threshold", pick(&["auto", "0", "3000"])),
            ("txop", pick(&["0us", "2ms"])),
            ("hand_up", pick(&["aggregate", "frame"])),
            ("queue", "1000packets"),
            ("ap_queue", "1000packets"),
        ];
        let mut cell = cell(3, &keys);
        let (mut reports, mut all) = (Vec::new(), Vec::new());
        let (mut now, mut given) = (Instant::ZERO, 0u64);
        while given < 400 || cell.next_event().is_some() {
            let next = now + Duration::from_micros(rng.below(2_000));
            while let Some(due) = cell.next_event().filter(|due| *due <= next || given >= 400) {
                cell.advance(due, &mut reports);
                all.append(&mut reports);
                now = due;
            }
            now = now.max(next);
            for _ in 0..rng.below(12) {
                let station = InterfaceId::at(1 + rng.below(3) as u32);
                let (from, to) = if rng.below(2) == 0 { (AP, station) } else { (station, AP) };
                let tracked = Some(Tracked { element: element_of(from), token: Token(given) });
                // The length says the number.
                reports.extend(cell.send(now, from, Entry::new(to, packet(100 + given as usize), tracked)).err());
                given += 1;
            }
        }
        let mut last = std::collections::BTreeMap::new();
        let (mut delivered, mut dropped, mut told) = (0, 0, 0);
        for report in &all {
            match report {
                Report::Delivered { from, to, packet } => {
                    let number = packet.wire_len();
                    let before = last.insert((*from, *to), number);
                    assert!(before.is_none_or(|before| before < number), "seed {seed}: out of order");
                    delivered += 1;
                }
                Report::Dropped { .. } => dropped += 1,
                Report::Status { .. } => told += 1,
                Report::Room { .. } => {}
            }
        }
        assert_eq!((delivered + dropped, told), (given, given), "seed {seed}, {keys:?}");
        for interface in cell.interfaces() {
            let backlog = cell.backlog(interface);
            assert_eq!((cell.held(interface), backlog.packets, backlog.bytes), (0, 0, 0), "seed {seed}");
        }
    }
}

#[test]
fn a_cell_of_saturated_stations_is_bianchis() {
    for (keys, counts) in [
        (&[N][..], &[1, 5, 20, 50][..]),
        (&[N, ("rts_threshold", "0")], &[5, 20]),
        (&[("phy", "ac"), ("mcs", "8"), ("width", "80")], &[1, 5, 20]),
        (&[("phy", "ax"), ("mcs", "11"), ("width", "80")], &[1, 5, 20]),
        (&[N, ("block_ack_window", "1")], &[5, 20]),
    ] {
        for count in counts {
            let settings = settings(&[keys, &[("retry_limit", "1000")]].concat());
            let model = bianchi(&settings, *count, 1500, None);
            let ours = measure(&settings, *count, 1500, Duration::from_secs(40), 1);
            let ratio = ours.packets_per_second / model.packets_per_second;
            assert!((0.985..1.02).contains(&ratio), "{keys:?}, {count} stations: {ours:?} of {model:?}");
        }
    }
}

#[test]
fn who_is_left_with_no_slot_sends_aifs_after_the_medium_is_idle() {
    // Of two that draw at the end of a first exchange, the later one has counted the boundary at which the other began.
    let mut gaps = Vec::new();
    for seed in 0..200 {
        let mut cell = Bss::new(&settings(&[N]), 3, seed, "cell");
        let three = InterfaceId::at(3);
        send(&mut cell, 1000, three, AP, 0..1);
        [ONE, TWO].into_iter().for_each(|station| send(&mut cell, 1100, station, AP, 0..1));
        let arrived = arrivals(&run(&mut cell));
        if cell.medium().collisions == 0 {
            let [_, second, third] = arrived[..] else { panic!("{arrived:?}") };
            gaps.push((second - BEGINS - ALONE - ALONE - 43, third - second - ALONE - 43));
        }
    }
    // In slots of 9 us: draws of 0 to 15, the difference less one.
    assert!(gaps.iter().all(|(first, then)| first % 9 == 0 && then % 9 == 0 && first + then <= 14 * 9), "{gaps:?}");
    assert!(gaps.iter().any(|(_, then)| *then == 0), "{gaps:?}");
}

#[test]
fn who_collided_waits_for_the_ack_timeout_and_aifs() {
    let mut ends = Vec::new();
    for seed in 0..100 {
        let mut cell = Bss::new(&settings(&[N]), 2, seed, "cell");
        [ONE, TWO].into_iter().for_each(|station| send(&mut cell, 1000, station, AP, 0..1));
        let collided = cell.next_event().unwrap();
        assert_eq!(collided, at(BEGINS + 36 + 4 * 33));
        cell.advance(collided, &mut Vec::new());
        let next = cell.next_event().unwrap();
        cell.advance(next, &mut Vec::new());
        if cell.medium().collisions == 1 {
            ends.push(next.saturating_since(collided).as_micros());
        }
    }
    // SIFS, a slot and a preamble of 20 us; AIFS; no slots of backoff.
    assert_eq!(ends.iter().min(), Some(&(16 + 9 + 20 + 43 + ALONE)));
}

#[test]
fn each_frame_is_handed_up_with_its_last_symbol() {
    let mut cell = cell(1, &[N, ("hand_up", "frame")]);
    send(&mut cell, 1000, ONE, AP, 0..3);
    let reports = run(&mut cell);
    // 16 bits of SERVICE, and 1070, 2142 and 3214 bytes at 260 bits in a symbol.
    assert_eq!(arrivals(&reports), [33, 66, 99].map(|symbols| BEGINS + 36 + 4 * symbols));
    // The sender hears of all by the block ACK.
    let told = reports.iter().filter(|(_, report)| matches!(report, Report::Status { .. })).map(|(when, _)| *when);
    assert_eq!(told.collect::<Vec<_>>(), [at(BEGINS + THREE); 3]);
    assert_eq!((cell.usage(ONE).frames_delivered[0], cell.held(ONE), cell.medium().aggregates), (3, 0, 1));
    // Alone it is without a delimiter, and is handed up before its ACK.
    send(&mut cell, 2000, ONE, AP, 3..4);
    let alone = run(&mut cell);
    assert_eq!(arrivals(&alone)[0] + 16 + 28, alone.last().unwrap().0.as_nanos() / 1000);
}

#[test]
fn when_frames_are_handed_up_changes_nothing_on_the_air() {
    let of = |hand_up| {
        let keys = [N, ("hand_up", hand_up), ("data_loss", "20%"), ("queue", "500packets"), ("txop", "2ms")];
        let mut cell = cell(1, &keys);
        send(&mut cell, 0, ONE, AP, 0..300);
        let reports = run(&mut cell);
        (statuses(&reports), arrivals(&reports).len(), *cell.medium(), *cell.usage(ONE))
    };
    assert_eq!(of("aggregate"), of("frame"));
}

#[test]
fn settings_that_contradict_each_other_are_refused() {
    use airtcp_core::parameters::Parameters;
    for (keys, word) in [
        (&[N, ("rate", "54Mbit")][..], "65Mbit"),
        (&[N, ("mcs", "8")], "streams = 2"),
        (&[("phy", "ac"), ("band", "2.4GHz")], "5 GHz"),
        (&[N, ("long_slot", "true")], "2.4 GHz"),
        (&[N, ("block_ack_window", "128")], "1 to 64"),
        (&[N, ("mtu", "9000")], "4095"),
        (&[N, ("ampdu_bytes", "70000")], "65535"),
        (&[N, ("ppdu_time", "6ms")], "5484us"),
        (&[N, ("mcs", "0"), ("ppdu_time", "1ms")], "takes"),
        (&[N, ("reverse_frame", "any")], "DCF+"),
        (&[N, ("basic_rate", "11Mbit")], "6Mbit"),
        (&[("band", "5GHz")], "2.4 GHz"),
        (&[("block_ack_window", "64")], "phy"),
        (&[("hand_up", "frame")], "phy"),
        (&[("txop", "1ms")], "phy"),
        (&[("ap_txop", "1ms")], "phy"),
    ] {
        let mut settings = CellSettings::default();
        keys.iter().for_each(|(key, value)| settings.set(key, &(*value).into()).unwrap());
        let error = settings.check().unwrap_err();
        assert!(error.contains(word), "{keys:?}: {error}");
    }
}
