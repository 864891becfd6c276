//! Loss, reordering, duplication, corruption, outage.

use crate::common::*;
use airtcp_core::{DropReason, Duration, Instant};
use airtcp_link::Link;

/// Within `sigmas` standard deviations of a binomial count.
fn close(count: u64, trials: u64, probability: f64, sigmas: f64) -> bool {
    let mean = trials as f64 * probability;
    (count as f64 - mean).abs() <= sigmas * (mean * (1.0 - probability)).sqrt()
}

fn lost(fates: &[bool]) -> u64 {
    fates.iter().filter(|passed| !**passed).count() as u64
}

#[test]
fn independent_loss_has_its_rate_and_no_memory() {
    for (text, probability) in [("0.1%", 0.001), ("5%", 0.05), ("20%", 0.2)] {
        let fates = fates(&mut link(&[("loss", text)]), 400_000, 100);
        assert!(close(lost(&fates), 400_000, probability, 4.0), "{text}: {}", lost(&fates));
        let pairs = fates.windows(2).filter(|pair| !pair[0] && !pair[1]).count() as u64;
        assert!(close(pairs, 399_999, probability * probability, 5.0), "{text}: {pairs} pairs");
    }
}

#[test]
fn certain_and_impossible_loss_are_exact() {
    assert_eq!(lost(&fates(&mut link(&[("loss", "100%")]), 1000, 100)), 1000);
    assert_eq!(lost(&fates(&mut link(&[("loss", "0%")]), 1000, 100)), 0);
}

#[test]
fn bit_errors_lose_long_packets_by_the_power_law() {
    let rate = 2e-5f64;
    for bytes in [40, 576, 1500] {
        let mut link = link(&[("loss", "{ kind = \"bit-error\", rate = \"2e-5\" }")]);
        let expected = 1.0 - (1.0 - rate).powi(bytes as i32 * 8);
        let lost = lost(&fates(&mut link, 200_000, bytes));
        assert!(close(lost, 200_000, expected, 4.0), "{bytes}: {lost}, not {}", expected * 200_000.0);
    }
}

/// Lengths of the runs of lost packets.
fn bursts(fates: &[bool]) -> Vec<usize> {
    fates.split(|passed| *passed).map(<[bool]>::len).filter(|len| *len > 0).collect()
}

#[test]
fn gilbert_elliott_has_its_mean_and_its_burst_length() {
    for (mean, share, burst) in [("2%", 0.02, 5), ("10%", 0.1, 2), ("1%", 0.01, 20)] {
        let text = format!("{{ kind = \"gilbert-elliott\", mean = \"{mean}\", burst = {burst} }}");
        let fates = fates(&mut link(&[("loss", &text)]), 1_000_000, 100);
        // A burst makes one observation of many packets: the variance grows by 2 × burst − 1 (to first order).
        let widened = 4.0 * f64::from(2 * burst - 1).sqrt();
        assert!(close(lost(&fates), 1_000_000, share, widened), "{text}: {}", lost(&fates));
        let bursts = bursts(&fates);
        let mean_length = lost(&fates) as f64 / bursts.len() as f64;
        let deviation = (f64::from(burst) * f64::from(burst - 1) / bursts.len() as f64).sqrt();
        assert!((mean_length - f64::from(burst)).abs() < 4.0 * deviation, "{text}: {mean_length}");
    }
}

#[test]
fn burst_lengths_are_geometric() {
    let fates =
        fates(&mut link(&[("loss", "{ kind = \"gilbert-elliott\", mean = \"5%\", burst = 4 }")]), 1_000_000, 100);
    let bursts = bursts(&fates);
    let mut chi_square = 0.0;
    for length in 1..=12 {
        let expected = bursts.len() as f64 * 0.25 * 0.75f64.powi(length - 1);
        let seen = bursts.iter().filter(|len| **len == length as usize).count() as f64;
        chi_square += (seen - expected).powi(2) / expected;
    }
    assert!(chi_square < 36.1, "{chi_square}: beyond 99.97 % of a chi-square with 12 degrees of freedom");
}

#[test]
fn the_mean_holds_from_the_first_packet_on() {
    let settings = settings(&[("loss", "{ kind = \"gilbert-elliott\", mean = \"30%\", burst = 50 }")]);
    let first_lost = (0..5000).filter(|seed| !fates(&mut Link::new(&settings, *seed, "link"), 1, 100)[0]).count();
    assert!(close(first_lost as u64, 5000, 0.3, 4.0), "{first_lost}");
}

#[test]
fn the_two_forms_of_gilbert_elliott_agree() {
    let by_mean = "{ kind = \"gilbert-elliott\", mean = \"25%\", burst = 4 }";
    // π_bad = 1/4 with r = 1/4 needs p = 1/12; written with enough digits to draw the same fates.
    let by_steps =
        "{ kind = \"gilbert-elliott-transitions\", good_to_bad = \"0.08333333333333333333\", bad_to_good = \"25%\" }";
    let fates = |text| fates(&mut link(&[("loss", text)]), 20_000, 100);
    assert_eq!(fates(by_mean), fates(by_steps));
}

#[test]
fn a_lost_packet_occupies_the_transmitter_all_the_same() {
    let mut link = link(&[("rate", "12Mbit"), ("loss", "100%"), ("queue", "1packet")]);
    assert_eq!(send(&mut link, at(0), packet(0, 1500)), Some(DropReason::LOSS));
    assert_eq!(link.busy_until(), at(1_000_000));
    assert_eq!(send(&mut link, at(0), packet(1, 1500)), Some(DropReason::LOSS));
    assert_eq!(link.backlog(at(0)).packets, 1);
    assert_eq!(send(&mut link, at(0), packet(2, 1500)), Some(DropReason::QUEUE_FULL));
}

#[test]
fn a_held_back_packet_is_overtaken_by_those_within_its_delay() {
    let entries = [("rate", "12Mbit"), ("delay", "5ms"), ("reorder", "{ probability = \"20%\", delay = \"2500us\" }")];
    let mut link = link(&entries);
    for n in 0..1000 {
        send(&mut link, at(0), packet(n, 1500));
    }
    let held_back = link.counters().reordered;
    assert!((120..280).contains(&held_back), "{held_back}");
    let arrived = drain(&mut link);
    assert!(arrived.windows(2).all(|pair| pair[0].0 <= pair[1].0), "arrivals are in order of time");
    let mut late = 0;
    for (when, number) in arrived {
        let regular = at(1_000_000 * (u64::from(number) + 1) + 5_000_000);
        if when != regular {
            assert_eq!(when, regular + Duration::from_micros(2500));
            late += 1;
        }
    }
    assert_eq!(late, held_back);
}

#[test]
fn packets_that_arrive_together_keep_their_order() {
    let mut link = link(&[("delay", "1ms"), ("reorder", "{ probability = \"50%\", delay = \"1ms\" }")]);
    for n in 0..100 {
        send(&mut link, at(0), packet(n, 100));
    }
    for n in 100..200 {
        send(&mut link, at(1_000_000), packet(n, 100));
    }
    let arrived = drain(&mut link);
    for pair in arrived.windows(2) {
        assert!(pair[0] < pair[1], "sorted by time, and by order of sending at the same time: {pair:?}");
    }
}

#[test]
fn a_duplicate_follows_its_original() {
    let mut link = link(&[("rate", "12Mbit"), ("duplicate", "100%")]);
    for n in 0..3 {
        send(&mut link, at(0), packet(n, 1500));
    }
    let numbers: Vec<u32> = drain(&mut link).into_iter().map(|(_, number)| number).collect();
    assert_eq!(numbers, [0, 0, 1, 1, 2, 2]);
    let counters = link.counters();
    assert_eq!((counters.duplicated, counters.packets_in, counters.packets_delivered), (3, 3, 6));
}

#[test]
fn damaged_packets_arrive_and_say_so() {
    let mut link = link(&[("corrupt", "10%")]);
    let mut damaged = 0;
    for n in 0..10_000 {
        send(&mut link, at(n), packet(n as u32, 100));
        damaged += u64::from(link.receive(at(n)).unwrap().is_corrupted());
    }
    assert_eq!(damaged, link.counters().corrupted);
    assert!(close(damaged, 10_000, 0.1, 4.0), "{damaged}");
}

#[test]
fn what_is_transmitted_during_an_outage_is_lost() {
    let mut link =
        link(&[("rate", "12Mbit"), ("outage", "{ start = \"10ms\", duration = \"5ms\", every = \"20ms\" }")]);
    link.set_origin(at(1_000_000_000));
    let mut fates = Vec::new();
    for n in 0..40 {
        let verdict = send(&mut link, at(1_000_000_000 + n * 1_000_000), packet(0, 1500));
        assert!(verdict.is_none_or(|reason| reason == DropReason::OUTAGE));
        fates.push(verdict.is_some());
    }
    let out: Vec<usize> = (0..40).filter(|n| fates[*n]).collect();
    assert_eq!(out, [10, 11, 12, 13, 14, 30, 31, 32, 33, 34]);
}

#[test]
fn what_waits_through_an_outage_is_judged_at_its_turn() {
    let mut link = link(&[("rate", "12Mbit"), ("outage", "{ start = \"3ms\", duration = \"2ms\" }")]);
    let verdicts: Vec<bool> = (0..8).map(|n| send(&mut link, at(0), packet(n, 1500)).is_some()).collect();
    assert_eq!(verdicts, [false, false, false, true, true, false, false, false]);
}

#[test]
fn changing_one_probability_leaves_the_other_draws_alone() {
    let run = |loss: &str, duplicate: &str, corrupt: &str| {
        let mut link = link(&[
            ("loss", loss),
            ("duplicate", duplicate),
            ("corrupt", corrupt),
            ("reorder", "{ probability = \"10%\", delay = \"1ms\" }"),
        ]);
        let mut arrivals = std::collections::BTreeMap::new();
        for n in 0..2000 {
            send(&mut link, Instant::ZERO, packet(n, 100));
        }
        while let Some(now) = link.next_arrival() {
            while let Some(packet) = link.receive(now) {
                arrivals.insert(number(&packet), (now, packet.is_corrupted()));
            }
        }
        arrivals
    };
    let base = run("0%", "0%", "10%");
    for (loss, duplicate) in [("30%", "0%"), ("0%", "30%"), ("5%", "1%")] {
        for (number, fate) in run(loss, duplicate, "10%") {
            assert_eq!(base[&number], fate, "{loss} {duplicate}");
        }
    }
}

#[test]
fn impairments_are_independent_of_each_other() {
    let half = "50%";
    let reorder = "{ probability = \"50%\", delay = \"1ms\" }";
    let mut link = link(&[("loss", half), ("reorder", reorder), ("duplicate", half), ("corrupt", half)]);
    for n in 0..40_000 {
        send(&mut link, Instant::ZERO, packet(n, 100));
    }
    let counters = link.counters();
    let through = counters.packets_in - counters.dropped_total();
    for (what, count) in
        [("reordered", counters.reordered), ("duplicated", counters.duplicated), ("corrupted", counters.corrupted)]
    {
        assert!(close(count, through, 0.5, 4.0), "{count} of {through} {what}");
    }
}

#[test]
fn streams_depend_on_seed_and_name_only() {
    let fates = |seed, name| {
        let mut link = Link::new(&settings(&[("loss", "50%")]), seed, name);
        fates(&mut link, 200, 100)
    };
    assert_eq!(fates(1, "a"), fates(1, "a"));
    assert_ne!(fates(1, "a"), fates(2, "a"));
    assert_ne!(fates(1, "a"), fates(1, "a.reverse"));
}

#[test]
fn a_link_heals_at_its_time_and_not_a_packet_earlier() {
    // A packet of 1000 bytes is in transmission for a millisecond, so number 100 begins at 100 ms.
    let mut link = link(&[("rate", "8Mbit"), ("loss", "100%"), ("impaired_until", "100ms")]);
    for number in 0..200 {
        send(&mut link, at(0), packet(number, 1000));
    }
    let arrived: Vec<u32> = drain(&mut link).into_iter().map(|(_, number)| number).collect();
    assert_eq!(arrived, (100..200).collect::<Vec<u32>>());
}

#[test]
fn a_healed_link_loses_reorders_doubles_and_damages_nothing() {
    let mut link = link(&[
        ("rate", "8Mbit"),
        ("loss", "50%"),
        ("duplicate", "50%"),
        ("jitter", "7ms"),
        ("reorder", "{ probability = \"50%\", delay = \"3ms\" }"),
        ("corrupt", "50%"),
        ("outage", "{ start = \"0s\", duration = \"90ms\", every = \"91ms\" }"),
        ("impaired_until", "1ms"),
    ]);
    for number in 0..200 {
        send(&mut link, at(1_000_000), packet(number, 1000));
    }
    let on_time: Vec<(Instant, u32)> = (0..200).map(|n| (at((u64::from(n) + 2) * 1_000_000), n)).collect();
    assert_eq!(drain(&mut link), on_time);
    assert_eq!(link.counters().corrupted, 0);
}

#[test]
fn jitter_adds_up_to_its_length_evenly_and_keeps_the_order() {
    let mut link = link(&[("delay", "5ms"), ("jitter", "4ms")]);
    // 10 ms apart: nobody waits for the one before.
    for number in 0..2000 {
        send(&mut link, at(u64::from(number) * 10_000_000), packet(number, 1000));
    }
    let extra_us = |(when, number): &(Instant, u32)| (when.as_nanos() - u64::from(*number) * 10_000_000) / 1000 - 5000;
    let mut extra: Vec<u64> = drain(&mut link).iter().map(extra_us).collect();
    extra.sort_unstable();
    for (quantile, expected) in [(0, 0), (500, 1000), (1000, 2000), (1500, 3000), (1999, 4000)] {
        assert!(extra[quantile].abs_diff(expected) < 150, "{quantile} of 2000: {} us", extra[quantile]);
    }
    // Back to back: a packet that is drawn earlier waits.
    for number in 0..200 {
        send(&mut link, at(100_000_000_000 + u64::from(number) * 100_000), packet(number, 1000));
    }
    let numbers: Vec<u32> = drain(&mut link).into_iter().map(|(_, number)| number).collect();
    assert_eq!(numbers, (0..200).collect::<Vec<u32>>());
}
