//! A far end that lies or is broken, or somebody who says things in its name: the rate stays within bounds, memory too, whatever
//! crosses the link comes out once, and five seconds after the last lie all is as if there had been none.

mod scene;

use super::*;
use crate::selective_repeat::Received;
use airtcp_core::{Rate, Rng, SeqNum};
use scene::{Lie, SECOND, Scene, of_losses, of_news, of_report};
use std::boxed::Box;
use std::vec::Vec;

/// In kbit/s: the lowest rate of all, three quarters of what counts as a link, while that is emptied.
const FLOOR: u64 = 24;
/// What the link carries.
const LINK: u64 = scene::LINK.bps() / 1000;
/// More than that.
const BOUND: u64 = 15_000;

/// Some name, and how it is made.
type Named<'a> = (&'a str, fn() -> Lie);

/// Of the losses: two of them are such that something went wrong once.
const SEEDS: [u64; 3] = [1, 3, 10];

/// Lies for ten seconds, without a bound and with one; the lowest and the highest rate, in kbit/s.
fn withstands((name, lie): Named<'_>) -> Vec<(u64, u64)> {
    let cases = SEEDS.iter().flat_map(|seed| [(*seed, None), (*seed, Some(BOUND))]);
    cases.map(|(seed, bound)| withstands_with(seed, bound, name, lie)).collect()
}

fn withstands_with(seed: u64, bound: Option<u64>, name: &str, lie: fn() -> Lie) -> (u64, u64) {
    let mut scene = Scene::with_seed(seed, bound.map(|kbit| Rate::from_bps(kbit * 1000)));
    scene.lie(Some(lie()));
    scene.run(SECOND * 10);
    let (least, most) = scene.rates().unwrap_or_else(|| panic!("{name}: the rate is given up"));
    assert!(least >= FLOOR, "{name}: {least}");
    // A trial is a tenth more.
    assert!(bound.is_none_or(|bound| most <= bound * 11 / 10), "{name}: {most}");
    scene.recovers(name);
    (least, most)
}

#[test]
fn what_came_ten_times_as_much_or_a_tenth_leaves_a_rate_that_is_of_use() {
    let lies: [Named<'_>; 4] = [
        ("ten times", || of_report(|report, _| report.received *= 10)),
        ("a tenth", || of_report(|report, _| report.received /= 10)),
        ("in turn", || of_report(|report, n| report.received = if n % 2 == 0 { n } else { report.received * 10 })),
        ("by chance", || {
            let mut rng = Rng::derive(1, "lie");
            of_report(move |report, _| report.received = report.received * (1 + rng.below(100)) / 10)
        }),
    ];
    for lie in lies {
        for (least, most) in withstands(lie) {
            assert!(least >= LINK / 30 && most <= LINK * 2, "{}: {least} to {most}", lie.0);
        }
    }
}

#[test]
fn times_that_cannot_be_leave_the_rate_as_it_was() {
    let lies: [Named<'_>; 6] = [
        ("ten times", || of_report(|report, _| report.stamp *= 10)),
        ("in turn", || {
            of_report(|report, n| report.stamp = if n % 2 == 0 { report.stamp * 10 } else { report.stamp / 10 })
        }),
        ("one second, once", || of_report(|report, n| report.stamp -= if n == 5 { 1_000_000_000 } else { 0 })),
        ("300 ms, now and then", || of_report(|report, n| report.stamp += if n % 10 == 5 { 300_000_000 } else { 0 })),
        ("none", || of_report(|report, _| report.stamp = 0)),
        ("centuries", || of_report(|report, n| report.stamp = u64::MAX - n)),
    ];
    for lie in lies {
        for (least, most) in withstands(lie) {
            assert!(least >= LINK / 30 && most <= LINK * 2, "{}: {least} to {most}", lie.0);
        }
    }
}

#[test]
fn a_clock_that_runs_too_slowly_fills_the_link_and_no_more_and_not_for_long() {
    withstands(("a tenth", || of_report(|report, _| report.stamp /= 10)));
    withstands(("both a tenth", || {
        of_report(|report, _| (report.stamp, report.received) = (report.stamp / 10, report.received / 10))
    }));
    // Here the queue looked like one on the way back.
    withstands_with(123, None, "a tenth", || of_report(|report, _| report.stamp /= 10));
}

#[test]
fn times_that_could_be_cost_a_part_of_the_link() {
    withstands(("as if it had not waited", || of_report(|report, n| report.stamp -= n % 2 * 14_000_000)));
    withstands(("as if it had waited", || of_report(|report, n| report.stamp += n % 2 * 14_000_000)));
}

#[test]
fn acknowledgments_of_all_or_of_nothing_cost_repairs_and_nothing_else() {
    withstands(("all so far", || of_news(|ack, _| ack.received = Received::filled(true))));
    withstands(("none", || {
        of_news(|ack, _| {
            ack.received = Received::filled(false);
            ack.expected += 0x8000_0000;
        })
    }));
}

#[test]
fn messages_of_another_incarnation_change_nothing() {
    let mut rng = Rng::derive(1, "forger");
    let mut scene = Scene::new(None);
    let forge = move |message: Message| {
        let mut forged = message;
        match &mut forged {
            Message::Ack((ack, news)) => {
                ack.incarnation ^= 1 + rng.below(0xffff) as u16;
                ack.newest = SeqNum(rng.next_u64() as u32);
                ack.expected = SeqNum(rng.next_u64() as u32);
                let report = Report { name: 1, received: rng.next_u64(), stamp: rng.next_u64() };
                let arrived = Arrived { frames: rng.next_u64() as u32, gaps: rng.next_u64() as u32 };
                let losses = LossNews { arrived, deficit: rng.next_u64() as u16 };
                *news = LinkNews { losses: Some(losses), report: Some(report) };
            }
            Message::Oldest(incarnation, oldest) => (*incarnation, *oldest) = (*incarnation ^ 1, *oldest + 0x7fff_ffff),
            Message::Hello(_) => {}
        }
        std::vec![forged, message, forged]
    };
    scene.lie(Some(Box::new(forge)));
    scene.run(SECOND * 10);
    assert!(scene.used() >= 94, "{} %", scene.used());
    scene.recovers("another incarnation");
}

#[test]
fn old_messages_in_another_order_change_nothing() {
    let (mut rng, mut heard) = (Rng::derive(1, "recorder"), Vec::<Message>::new());
    let mut scene = Scene::new(None);
    let replay = move |message: Message| {
        let is_feedback = |message: &Message| matches!(message, Message::Ack(..));
        heard.extend(Some(message).filter(is_feedback));
        let mut old = || heard.get(rng.below(heard.len().max(1) as u64) as usize).copied();
        [old(), old(), Some(message), old()].into_iter().flatten().collect()
    };
    scene.lie(Some(Box::new(replay)));
    scene.run(SECOND * 10);
    assert!(scene.used() >= 90, "{} %", scene.used());
    scene.recovers("old messages");
}

#[test]
fn feedback_that_comes_in_another_order_costs_little() {
    let (mut rng, mut late) = (Rng::derive(1, "shuffler"), Vec::<Message>::new());
    let mut scene = Scene::new(None);
    let shuffle = move |message: Message| {
        late.push(message);
        if late.len() < 8 { Vec::new() } else { std::vec![late.swap_remove(rng.below(8) as usize)] }
    };
    scene.lie(Some(Box::new(shuffle)));
    scene.run(SECOND * 10);
    assert!(scene.used() >= 80, "{} %", scene.used());
    scene.recovers("shuffled");
}

#[test]
fn deficits_and_losses_that_are_nonsense_leave_half_of_the_link_to_packets() {
    let lies: [Named<'_>; 4] = [
        ("all is missing", || of_losses(|_, losses| (losses.deficit, losses.arrived.frames) = (u16::MAX, 0))),
        ("nothing is", || of_losses(|_, losses| (losses.deficit, losses.arrived.gaps) = (0, 0))),
        ("all is alone", || of_losses(|ack, losses| (losses.deficit, losses.arrived.gaps) = (1, ack.newest.0 * 3))),
        ("by chance", || {
            let mut rng = Rng::derive(1, "lie");
            of_losses(move |_, losses| {
                let arrived = Arrived { frames: rng.next_u64() as u32, gaps: rng.next_u64() as u32 };
                *losses = LossNews { arrived, deficit: rng.next_u64() as u16 };
            })
        }),
    ];
    for (name, lie) in lies {
        let mut scene = Scene::over(Duration::from_millis(60), 10, None);
        scene.lie(Some(lie()));
        scene.run(SECOND * 10);
        assert!(scene.used() >= 45, "{name}: {} %", scene.used());
        scene.recovers(name);
    }
}

#[test]
fn without_feedback_or_with_such_of_what_was_never_sent_packets_leave_as_fast_as_they_come() {
    let lies: [Named<'_>; 2] = [
        ("no reports", || of_news(|_, news| news.report = None)),
        ("never sent", || {
            of_news(|ack, _| {
                (ack.newest, ack.expected) = (ack.newest + 100_000, ack.expected + 100_000);
                ack.received = Received::filled(true);
            })
        }),
    ];
    let cases = SEEDS.iter().flat_map(|seed| lies.map(|lie| (*seed, lie)));
    for (seed, (name, lie)) in cases {
        let mut scene = Scene::with_seed(seed, None);
        scene.lie(Some(lie()));
        scene.run(SECOND * 5);
        assert!(scene.rates().is_none_or(|(least, _)| least >= FLOOR), "{name}: {:?}", scene.rates());
        scene.run(SECOND * 5);
        assert!(scene.used() >= 85, "{name}: {} %", scene.used());
        scene.recovers(name);
    }
}
