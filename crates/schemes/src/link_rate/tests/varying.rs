//! Links that vary, and senders that do not always send.

use super::super::arrivals::Arrivals;
use super::super::carried::{Carried, Measured};
use super::super::history::History;
use super::super::link_queue::LinkQueue;
use super::{Advice, Duration, Instant, Name, PACKET, RTT, Run, SECOND, Verdict, mbit, sample};
use airtcp_core::Rate;
use alloc::vec::Vec;

const MS: Duration = Duration::from_millis(1);

/// In steps of 10 ms, for how long packets waited for more than `least` in a row.
fn longest_wait_above(run: &mut Run, least: Duration, time: Duration) -> Duration {
    let (mut longest, mut in_a_row) = (Duration::ZERO, Duration::ZERO);
    let until = run.now + time;
    while run.now < until {
        run.run(MS * 10);
        let waits = run.waits.iter().max().is_none_or(|wait| *wait > least);
        in_a_row = if waits { in_a_row + MS * 10 } else { Duration::ZERO };
        longest = longest.max(in_a_row);
    }
    longest
}

#[test]
fn a_step_down_is_followed_within_a_second_and_one_up_within_five() {
    for bound in [None, Some(mbit(20)), Some(mbit(50))] {
        let mut run = Run::new(bound, mbit(20));
        run.run(SECOND * 5);
        run.link.rate = mbit(5);
        let longest = longest_wait_above(&mut run, MS * 100, SECOND);
        assert!(longest < MS * 500, "{bound:?}: {longest}");
        run.run(SECOND * 5);
        assert!(run.use_of_link(SECOND * 5) >= 90, "{bound:?}, 5 Mbit/s: {} %", run.use_of_link(SECOND * 5));
        assert!(run.wait_p95() < MS * 15, "{bound:?}, 5 Mbit/s: {}", run.wait_p95());
        run.link.rate = mbit(20);
        let longest = longest_wait_above(&mut run, MS * 100, SECOND * 2);
        assert!(longest.is_zero(), "{bound:?}: {longest}");
        run.run(SECOND);
        assert!(run.use_of_link(SECOND) >= 90, "{bound:?}, 20 Mbit/s: {} %", run.use_of_link(SECOND));
    }
}

/// Sends at `rate` for `time`, through the queue of the gateway. The rate at which packets arrive.
fn offer(run: &mut Run, rate: Rate, time: Duration) -> Rate {
    let (from, before) = (run.now, run.delivered);
    let (mut next, mut waiting) = (run.now, 0);
    while run.now < from + time {
        while next <= run.now {
            (next, waiting) = (next + rate.serialisation(PACKET, &mut 0), waiting + 1);
        }
        if waiting == 0 {
            let verdict = run.law.on_departure(run.now, run.departures.sent, true);
            run.obey(verdict);
            run.receive(next);
            run.now = next;
            continue;
        }
        run.send();
        waiting -= 1;
        let until = run.now + run.pace().serialisation(PACKET, &mut 0);
        run.receive(until);
        run.now = until;
    }
    Rate::from_bps((run.delivered - before) * 8_000_000_000 / run.now.saturating_since(from).as_nanos())
}

/// As BBR: a quarter more for a round trip, and again as long as more arrives; then a quarter less, and what arrives.
fn offer_as_bbr(run: &mut Run, most: &mut Rate, time: Duration) {
    let until = run.now + time;
    while run.now < until {
        for gain in [125, 75, 100, 100, 100, 100, 100, 100] {
            loop {
                let rate = Rate::from_bps(most.bps() * gain / 100);
                let arrived = offer(run, rate, RTT * 2);
                let is_more = arrived.bps() > most.bps() * 105 / 100;
                *most = arrived.max(*most);
                if gain <= 100 || !is_more {
                    break;
                }
            }
        }
    }
}

#[test]
fn a_sender_that_tries_for_more_finds_it_and_seldom_makes_others_wait() {
    for (before, after) in [(5, 20), (10, 40), (20, 30)] {
        let mut run = Run::new(None, mbit(before));
        run.run(SECOND * 5);
        let mut most = mbit(before);
        offer_as_bbr(&mut run, &mut most, SECOND * 5);
        assert_eq!(most.bps() / mbit(before).bps(), 1);
        run.waits.clear();
        offer_as_bbr(&mut run, &mut most, SECOND * 10);
        assert!(run.wait_p95() < MS * 8, "{before}: {}", run.wait_p95());
        run.link.rate = mbit(after);
        offer_as_bbr(&mut run, &mut most, SECOND);
        assert!(most.bps() > mbit(after).bps() * 9 / 10, "{before}, {after}: {most:?}");
    }
}

#[test]
fn a_small_rise_is_found_however_much_is_lost() {
    for (percent, loss_percent) in
        [104, 108, 112, 120, 140, 160].into_iter().flat_map(|by| [(by, 0), (by, 10), (by, 30)])
    {
        for told in [None, Some(mbit(100))] {
            let mut run = Run::new(told, mbit(10));
            run.link.loss_percent = loss_percent;
            run.run(SECOND * 20);
            run.link.rate = Rate::from_bps(100_000 * percent);
            run.run(SECOND * 5);
            run.run(SECOND * 10);
            let used = run.use_of_link(SECOND * 10) * 100 / (100 - loss_percent);
            assert!(used >= 97, "{percent} % of what it was, {loss_percent} % lost, told {told:?}: {used} %");
        }
    }
}

#[test]
fn a_link_that_was_nearly_down_is_followed_when_it_is_fast_again() {
    for kbit in [60, 200, 400] {
        let mut run = Run::new(None, mbit(8));
        run.run(SECOND * 10);
        run.link.rate = Rate::from_bps(kbit * 1000);
        run.run(SECOND * 10);
        run.link.rate = mbit(8);
        run.run(SECOND * 3);
        run.run(SECOND * 2);
        assert!(run.use_of_link(SECOND * 2) >= 90, "{kbit} kbit/s: {} %", run.use_of_link(SECOND * 2));
    }
}

/// How many packets leave while `what` is done, and how many of them the link drops for want of room.
fn count_drops(run: &mut Run, what: impl FnOnce(&mut Run)) -> (u64, u64) {
    let before = (run.count, run.link.dropped);
    what(run);
    (u64::from(run.count - before.0), run.link.dropped - before.1)
}

#[test]
fn what_a_short_queue_drops_was_not_carried() {
    // Also where it was full, or nearly, from the start: then the shortest delay that was ever seen is that of a full queue.
    let tenths_full = [(3, 0), (3, 5), (8, 5), (3, 10), (20, 9), (100, 10)];
    let told = [None, Some(mbit(60)), Some(mbit(500))];
    for (room, tenths) in tenths_full {
        for (told, loss_percent) in told.into_iter().flat_map(|told| [(told, 0), (told, 5)]) {
            let mut run = Run::new(told, mbit(50));
            (run.link.room, run.link.loss_percent) = (MS * room, loss_percent);
            run.link.free_at = run.now + MS * room * tenths / 10;
            run.run(SECOND * 5);
            let (sent, dropped) = count_drops(&mut run, |run| run.run(SECOND * 10));
            let case = std::format!("{room} ms of room, {tenths}/10 full, told {told:?}, {loss_percent} % lost");
            assert!(dropped <= sent / 100, "{case}: {dropped} of {sent} dropped");
            assert!(run.wait_p95() < MS * 15, "{case}: {}", run.wait_p95());
            let used = run.use_of_link(SECOND * 10) + loss_percent;
            assert!(used >= 94, "{case}: {used} %");
        }
    }
}

#[test]
fn a_link_without_a_queue_is_learned() {
    // Room for no packet, or for one: no wait shows. If nothing is learned 16 to 80 % are dropped for good.
    for (rate, room_us, loss_percent) in [(10, 100, 0), (50, 100, 0), (50, 300, 5), (200, 100, 0)] {
        for told in [None, Some(mbit(rate * 5))] {
            let mut run = Run::new(told, mbit(rate));
            (run.link.room, run.link.loss_percent) = (Duration::from_micros(room_us), loss_percent);
            run.run(SECOND * 5);
            let (sent, dropped) = count_drops(&mut run, |run| run.run(SECOND * 30));
            let case = std::format!("{rate} Mbit/s, {room_us} us of room, {loss_percent} % lost, told {told:?}");
            assert!(dropped <= sent / 10, "{case}: {dropped} of {sent} dropped");
            let used = run.use_of_link(SECOND * 30) + loss_percent;
            assert!(used >= 90, "{case}: {used} %");
        }
    }
}

#[test]
fn a_short_queue_that_bursts_overflow_is_learned() {
    // Ten times as fast as the link they take 0.4 to 2 times what it carries, and some wait longer than is aimed at; then and when
    // there is no room to wait, and when few packets are left, no wait tells a rate.
    let bursts = [
        (4, 1000, 120),
        (16, 2400, 40),
        (16, 3000, 120),
        (24, 500, 40),
        (24, 1000, 40),
        (32, 2400, 200),
        (48, 2000, 40),
    ];
    for (packets, room_us, load) in bursts {
        for loss_percent in [0, 2] {
            let mut run = Run::new(None, mbit(50));
            (run.link.room, run.link.loss_percent, run.unpaced) = (Duration::from_micros(room_us), loss_percent, 1000);
            let pause = mbit(50).serialisation(packets * PACKET, &mut 0) * 100 / load;
            let case = std::format!("{packets} packets, {room_us} us of room, {load} %, {loss_percent} % lost");
            (0..20_000_000_000 / pause.as_nanos()).for_each(|_| run.burst(packets, pause));
            assert!(run.law.pursued().is_some(), "{case}");
            let (sent, dropped) = count_drops(&mut run, |run| (0..500).for_each(|_| run.burst(packets, pause)));
            assert!(dropped <= sent / 50, "{case}: {dropped} of {sent} dropped");
        }
    }
}

#[test]
fn a_fast_link_that_overflows_in_less_time_than_a_measurement_takes_is_learned_soon() {
    // Windows that a sender of 1 Gbit/s sends at once, now and then, into 320 Mbit/s with a queue of 5.6 ms.
    let mut run = Run::new(None, mbit(320));
    (run.link.room, run.unpaced) = (Duration::from_micros(5600), 313);
    let windows = |run: &mut Run, count: usize| {
        for _ in 0..count {
            (0..20).for_each(|_| run.burst(20, Duration::from_millis(10)));
            run.burst(1000, Duration::from_millis(40));
        }
    };
    windows(&mut run, 4);
    assert!(run.law.pursued().is_some());
    let (sent, dropped) = count_drops(&mut run, |run| windows(run, 10));
    assert!(dropped <= sent / 10, "{dropped} of {sent} dropped");
}

#[test]
fn a_link_without_a_queue_is_known_after_a_pause() {
    for loss_percent in [0, 1, 3] {
        let mut run = Run::new(None, mbit(50));
        (run.link.room, run.link.loss_percent) = (Duration::from_micros(100), loss_percent);
        run.run(SECOND * 30);
        assert!(run.law.pursued().is_some());
        for burst in 0..40 {
            run.burst(40, SECOND * 3);
            assert!(run.rate >= Some(mbit(35)), "{loss_percent} % lost, burst {burst}: {:?}", run.rate);
        }
    }
}

#[test]
fn losses_without_a_queue_take_nothing_from_senders_that_need_less() {
    for told in [None, Some(mbit(40))] {
        let mut run = Run::new(told, mbit(50));
        (run.link.loss_percent, run.unpaced) = (5, 80);
        run.run(SECOND * 60);
        assert!(run.use_of_link(SECOND * 60) >= 75, "{told:?}: {} %", run.use_of_link(SECOND * 60));
        assert_eq!(run.rate, told);
        assert_eq!(run.law.advice(), told.map(|_| Advice::CarriesMore), "it was tried");
    }
}

#[test]
fn a_rate_that_wanders_is_pursued_and_little_waits() {
    let mut run = Run::new(None, mbit(8));
    let (mut used, mut carried, mut waits) = (0, 0, std::vec::Vec::new());
    for step in 0..600 {
        run.run(MS * 100);
        if step >= 20 {
            (used, carried) = (used + run.delivered, carried + run.link.rate.bytes_in(MS * 100));
            waits.append(&mut run.waits);
        }
        let percent = 80 + run.rng.below(46);
        let bps = (run.link.rate.bps() * percent / 100).clamp(2_000_000, 20_000_000);
        run.link.rate = Rate::from_bps(bps);
    }
    waits.sort_unstable();
    assert!(used * 100 >= carried * 93, "{} %", used * 100 / carried);
    assert!(waits[waits.len() * 95 / 100] < MS * 30, "{}", waits[waits.len() * 95 / 100]);
}

#[test]
fn an_unknown_rate_stays_unknown_where_nothing_waits() {
    let mut run = Run::new(None, mbit(10));
    (0..500).for_each(|_| run.burst(20, MS * 60));
    assert_eq!((run.rate, run.verdicts.len()), (None, 0));
}

#[test]
fn a_rate_is_kept_while_there_is_little_to_send() {
    let mut run = Run::new(None, mbit(10));
    run.run(SECOND * 5);
    (0..200).for_each(|_| run.burst(10, MS * 60));
    run.run(MS * 300);
    assert!(run.use_of_link(MS * 300) >= 85, "{} %", run.use_of_link(MS * 300));
}

#[test]
fn a_link_that_stands_still_is_given_little_and_all_again_when_it_goes_on() {
    let mut run = Run::new(None, mbit(10));
    run.run(SECOND * 5);
    let before = run.count;
    run.link.free_at = run.now + SECOND;
    run.run(SECOND);
    // At its rate they would be 833.
    assert!(run.count - before < 200, "{}", run.count - before);
    run.run(MS * 400);
    run.run(SECOND);
    assert!(run.use_of_link(SECOND) >= 95, "{} %", run.use_of_link(SECOND));
}

#[test]
fn a_link_that_stands_still_is_given_as_few_packets_if_they_are_small() {
    let mut run = Run::new(None, mbit(1));
    run.bytes = 200;
    run.run(SECOND * 5);
    let before = run.count;
    run.link.free_at = run.now + SECOND * 5;
    run.run(SECOND * 5);
    // At its rate they would be 3125. 100 of them are what leaves at the least pace.
    assert!(run.count - before < 220, "{}", run.count - before);
    run.run(SECOND);
    run.run(SECOND);
    assert!(run.use_of_link(SECOND) >= 95, "{} %", run.use_of_link(SECOND));
}

#[test]
fn a_link_whose_reports_wait_on_the_way_back_does_not_stand_still() {
    // Where each report that waits counts as late, 7 % of the link is used at 500 ms and 2 % at 1500.
    for jitter in [Duration::ZERO, MS * 3] {
        let mut run = Run::new(None, mbit(10));
        run.link.jitter = jitter;
        run.run(SECOND * 5);
        for (back, least, longest) in [(100, 93, 25), (500, 88, 70), (1500, 70, 200)] {
            run.back = MS * back;
            run.run(MS * 500 + run.back * 2);
            run.run(SECOND * 12);
            let case = std::format!("{back} ms, jitter of {jitter}");
            assert!(run.use_of_link(SECOND * 12) >= least, "{case}: {} %", run.use_of_link(SECOND * 12));
            assert!(run.wait_p95() < MS * longest, "{case}: {}", run.wait_p95());
        }
    }
}

#[test]
fn a_link_that_stands_still_is_noticed_also_where_reports_wait_on_the_way_back() {
    // Whether other messages have shown that the way back takes longer, or not yet.
    for is_known in [false, true] {
        let mut run = Run::new(None, mbit(10));
        run.run(SECOND * 5);
        run.back = MS * 500;
        run.run(SECOND * 2);
        run.rtt = if is_known { RTT + run.back } else { RTT };
        run.run(SECOND * 5);
        let before = run.count;
        run.link.free_at = run.now + SECOND * 4;
        run.run(SECOND * 4);
        // At its rate they would be 3333, and 416 until the last reports have come.
        assert!(run.count - before < 600, "{is_known}: {}", run.count - before);
    }
}

#[test]
fn a_report_waits_on_the_way_back_only_beside_what_is_known_of_packets_that_do_not_wait() {
    let mut history = History::default();
    let late = |history: &History, count| {
        let sample = sample(count, 100, MS * 15);
        history.wait_on_way_back(sample.left + RTT + MS * 500, &sample, Duration::ZERO, RTT)
    };
    assert_eq!(late(&history, 0), Duration::ZERO, "nothing is known");
    // The queue of the link is never empty: each report takes 40 ms more than the round trip.
    for count in 0..10 {
        let sample = sample(count, PACKET, MS * 55);
        history.add(sample.left + RTT + MS * 40, &sample, true, RTT, RTT);
    }
    assert_eq!(late(&history, 10), MS * 460);
    // After 20 s of nothing but small packets what is known of the shortest time is a guess.
    for count in 10..1010 {
        let sample = sample(count, 100, MS * 15);
        history.add(sample.left + RTT, &sample, true, RTT, RTT);
    }
    assert_eq!(late(&history, 1010), Duration::ZERO);
}

#[test]
fn a_way_that_gets_longer_is_no_queue() {
    let mut run = Run::new(None, mbit(10));
    run.run(SECOND * 5);
    run.link.others = MS * 20;
    run.run(SECOND * 2);
    run.run(SECOND * 2);
    assert!(run.use_of_link(SECOND * 2) >= 95, "{} %", run.use_of_link(SECOND * 2));
    assert_eq!(run.law.advice(), None);
}

#[test]
fn a_way_that_gets_a_little_longer_hides_no_faster_link() {
    for (longer_us, rate) in [(1500, 50), (2500, 50), (2500, 20), (15_000, 50), (25_000, 30)] {
        let mut run = Run::new(None, mbit(20));
        run.run(SECOND * 5);
        (run.link.others, run.link.rate) = (Duration::from_micros(longer_us), mbit(rate));
        run.run(SECOND * 2);
        run.run(SECOND * 2);
        let used = run.use_of_link(SECOND * 2);
        assert!(used >= 90, "{longer_us} us longer, {rate} Mbit/s: {used} %");
    }
}

#[test]
fn a_wait_that_stays_as_more_is_sent_hides_no_faster_link() {
    // As at a handover: each wait is less than what is aimed at, or hardly more.
    for longer_us in [500, 700, 900, 1100, 2000, 2500] {
        for percent in [110, 120, 150, 250] {
            let mut run = Run::new(None, mbit(32));
            run.run(SECOND * 5);
            run.link.rate = mbit(18);
            run.run(SECOND * 12);
            let rate = Rate::from_bps(mbit(18).bps() / 100 * percent);
            (run.link.others, run.link.rate) = (Duration::from_micros(longer_us), rate);
            run.run(SECOND * 3);
            run.run(SECOND);
            let used = run.use_of_link(SECOND);
            assert!(used >= 93, "{longer_us} us longer, {percent} %: {used} %");
            assert!(run.wait_p95() < MS * 8, "{longer_us} us longer, {percent} %: {}", run.wait_p95());
        }
    }
}

#[test]
fn a_queue_that_stayed_for_a_while_is_no_longer_way_once_it_is_shorter() {
    let mut run = Run::new(None, mbit(10));
    run.run(SECOND * 5);
    run.link.others = MS * 20;
    run.run(SECOND);
    assert!(run.law.reported_wait() < MS * 10, "taken for a longer way: {}", run.law.reported_wait());
    run.link.others = MS * 15;
    run.run(MS * 100);
    assert!(run.law.reported_wait() >= MS * 15, "{}", run.law.reported_wait());
}

/// Share of the link in per cent and the wait's 95th percentile, on average over links of 8 to 12 Mbit/s: a single one may have a rate
/// at which packets and reports fall in step, which costs it something, but not much.
fn over_rates(bound: fn(Rate) -> Option<Rate>, prepare: impl Fn(&mut Run), seconds: u64) -> (u64, Duration) {
    let rates = (80..120).map(|tenths| Rate::from_bps(tenths * 100_000));
    let of_each: Vec<(u64, Duration)> = rates
        .map(|rate| {
            let mut run = Run::new(bound(rate), rate);
            prepare(&mut run);
            run.run(SECOND * seconds);
            run.run(SECOND * seconds);
            (run.use_of_link(SECOND * seconds), run.wait_p95())
        })
        .collect();
    assert!(of_each.iter().all(|(used, wait)| *used >= 85 && *wait < MS * 60), "{of_each:?}");
    let (used, waits) = of_each.iter().fold((0, Duration::ZERO), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    (used / of_each.len() as u64, waits / of_each.len() as u64)
}

#[test]
fn jitter_takes_little_from_a_rate_that_is_pursued() {
    for (jitter, most) in [(1, 12), (4, 18), (10, 32)] {
        let (used, wait) = over_rates(|_| None, |run| run.link.jitter = MS * jitter, 30);
        assert!(used >= 95 && wait < MS * most, "{jitter} ms: {used} %, {wait}");
    }
}

#[test]
fn a_clock_that_drifts_is_no_queue() {
    let bounds: [fn(Rate) -> Option<Rate>; 3] = [|_| None, |rate| Some(Rate::from_bps(rate.bps() * 2)), Some];
    for bound in bounds {
        let (used, wait) = over_rates(bound, |run| run.link.drift_ppm = 100, 60);
        assert!(used >= 95 && wait < MS * 5, "{:?}: {used} %, {wait}", bound(mbit(10)));
    }
}

#[test]
fn a_bound_is_never_passed_by_what_is_pursued() {
    let mut run = Run::new(Some(mbit(12)), mbit(10));
    run.run(SECOND * 10);
    run.link.rate = mbit(40);
    run.run(SECOND * 5);
    let is_above = |verdict: &Verdict| matches!(verdict, Verdict::Set(Some(rate)) if rate.bps() > 12_000_000 * 11 / 10);
    assert!(!run.verdicts.iter().any(is_above));
    assert!(run.rate.is_some_and(|rate| rate.bps() >= 10_000_000), "{:?}", run.rate);
    run.run(SECOND * 20);
    assert_eq!(run.law.advice(), Some(Advice::CarriesMore));
}

#[test]
fn what_left_since_a_report_waits_unless_it_was_carried_meanwhile() {
    let rate = Some(mbit(12));
    let mut queue = LinkQueue::default();
    let report = sample(50, PACKET, MS * 15);
    queue.restart(&report, MS * 3, rate);
    // 3 ms of waiting and 1 ms of its own; another packet takes 1 ms.
    assert_eq!(queue.wait(report.left), MS * 4);
    queue.add(report.left, report.sent + u64::from(PACKET), rate, MS * 10);
    assert_eq!(queue.wait(report.left + MS * 2), MS * 3);
    // The link was idle before the next one leaves.
    queue.add(report.left + MS * 20, report.sent + 2 * u64::from(PACKET), rate, MS * 10);
    assert_eq!(queue.wait(report.left + MS * 20), MS);
}

#[test]
fn a_report_is_overdue_when_those_after_sixteen_packets_should_have_come() {
    let rate = Some(mbit(12));
    let mut queue = LinkQueue::default();
    let report = sample(50, PACKET, MS * 15);
    queue.restart(&report, Duration::ZERO, rate);
    let late = report.left + SECOND;
    (1..16).for_each(|n| queue.add(report.left, report.sent + n * u64::from(PACKET), rate, MS * 10));
    assert!(queue.overdue(late, RTT).is_zero());
    queue.add(report.left, report.sent + 16 * u64::from(PACKET), rate, MS * 10);
    // The first packet of the two reports has left the link after 1 ms, the last report is made 20 ms later.
    assert_eq!(queue.overdue(late, RTT), SECOND - RTT - MS * 21);
    queue.hear(late);
    assert!(queue.overdue(late + SECOND, RTT).is_zero());
}

#[test]
fn the_most_of_a_tenth_of_a_second_counts_and_one_step_halves_at_most() {
    let mut carried = Carried::default();
    let mut add = |at: u64, mbit: u64, is_busy| {
        carried.add(Measured { at: at * 1_000_000, bps: mbit * 1_000_000, is_busy }, RTT);
        carried.rate().map(|rate| rate.bps() / 1_000_000)
    };
    // Before anything waited nothing is known; and an idle link only raises.
    assert_eq!(add(10, 10, false), None);
    assert_eq!(add(20, 10, true), Some(10));
    assert_eq!(add(30, 8, false), Some(10));
    assert_eq!(add(40, 12, false), Some(12));
    assert_eq!(add(100, 9, true), Some(12));
    assert_eq!(add(141, 8, true), Some(9));
    assert_eq!(add(400, 1, true), Some(4));
}

#[test]
fn a_rate_that_stays_does_not_vary_and_one_that_alternates_does() {
    let (mut even, mut uneven) = (Carried::default(), Carried::default());
    for step in 0..1000 {
        let (at, up) = (step * 10_000_000, step / 10 % 2 * 5_000_000);
        even.add(Measured { at, bps: 10_000_000, is_busy: true }, MS * 60);
        uneven.add(Measured { at, bps: 10_000_000 + up, is_busy: true }, MS * 60);
    }
    assert_eq!(even.variation(), 0);
    // A third up and down within 60 of each 100 ms.
    assert!((150_000..250_000).contains(&uneven.variation()), "{}", uneven.variation());
}

#[test]
fn reports_take_no_more_than_their_share_of_the_way_back() {
    for (report_time, least) in [(Duration::ZERO, 10), (MS, 32), (MS * 2, 64), (MS * 100, 200)] {
        let mut arrivals = Arrivals::default();
        let names = (1..10_000).map(|number| Name { number, bytes: PACKET });
        let at = |name: Name| Instant::from_nanos(u64::from(name.number) * 1_000_000);
        let reports = names.filter_map(|name| arrivals.add(at(name), name, report_time)).count();
        assert!(reports.abs_diff(10_000 / least) <= 1, "{report_time}: {reports}");
    }
}
