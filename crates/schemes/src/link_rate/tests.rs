//! A sender with enough to send, a link with a queue, and what the law makes of it.

use super::arrivals::Arrivals;
use super::departures::{Departures, Sample};
use super::history::History;
mod varying;

use super::advice::Advice;
use super::pursuit::{RateLaw, Verdict};
use super::{Name, Report};
use crate::egress::Lane;
use airtcp_core::{Duration, Instant, Rate, Rng};
use alloc::collections::VecDeque;
use std::vec::Vec;

const PACKET: u32 = 1500;
const RTT: Duration = Duration::from_millis(30);
const OFFSET: u64 = 77_000_000_000_000;
const SECOND: Duration = Duration::from_secs(1);

fn mbit(rate: u64) -> Rate {
    Rate::from_bps(rate * 1_000_000)
}

/// A FIFO link that begins with a packet when the one before has left it, half of `RTT` long, with losses and jitter.
struct Link {
    rate: Rate,
    loss_percent: u64,
    jitter: Duration,
    /// What others put before each of our packets.
    others: Duration,
    /// What would wait longer is dropped.
    room: Duration,
    dropped: u64,
    free_at: Instant,
    /// By so many parts in a million the receiver's clock is fast.
    drift_ppm: u64,
}

struct Run {
    now: Instant,
    law: RateLaw,
    departures: Departures,
    arrivals: Arrivals,
    link: Link,
    /// By so many ns the receiver's clock is ahead.
    offset: u64,
    rate: Option<Rate>,
    count: u32,
    rng: Rng,
    /// On their way: when they come, and what.
    packets: VecDeque<(Instant, Name)>,
    reports: VecDeque<(Instant, Report)>,
    /// Bytes of each packet.
    bytes: u32,
    /// A report waits for so long on the way back.
    back: Duration,
    /// What is known to be the round trip.
    rtt: Duration,
    /// No report arrives.
    is_deaf: bool,
    /// Without a rate so many per cent are sent of what the link carries.
    unpaced: u64,
    waits: Vec<Duration>,
    delivered: u64,
    verdicts: Vec<Verdict>,
}

impl Run {
    fn new(bound: Option<Rate>, rate: Rate) -> Run {
        let (jitter, others) = (Duration::ZERO, Duration::ZERO);
        let room = Duration::from_millis(180);
        let link =
            Link { rate, loss_percent: 0, jitter, others, room, dropped: 0, free_at: Instant::ZERO, drift_ppm: 0 };
        Run {
            now: Instant::from_nanos(1_000_000_000),
            law: RateLaw::new(bound),
            departures: Departures::new(1 << 20),
            arrivals: Arrivals::default(),
            link,
            offset: OFFSET,
            rate: bound,
            count: 0,
            rng: Rng::derive(1, "link rate"),
            packets: VecDeque::new(),
            reports: VecDeque::new(),
            bytes: PACKET,
            back: Duration::ZERO,
            rtt: RTT,
            is_deaf: false,
            unpaced: 120,
            waits: Vec::new(),
            delivered: 0,
            verdicts: Vec::new(),
        }
    }

    /// Sends without a pause for `time`.
    fn run(&mut self, time: Duration) {
        (self.waits, self.delivered) = (Vec::new(), 0);
        let until = self.now + time;
        while self.now < until {
            self.send();
            let next = self.now + self.pace().serialisation(self.bytes, &mut 0);
            self.receive(next);
            self.now = next;
        }
    }

    /// Sends so many packets in a row, and then nothing for a while.
    fn burst(&mut self, packets: u32, pause: Duration) {
        for _ in 0..packets {
            self.send();
            self.now += self.pace().serialisation(self.bytes, &mut 0);
            self.receive(self.now);
        }
        let verdict = self.law.on_departure(self.now, self.departures.sent, true);
        self.obey(verdict);
        self.now += pause;
        self.receive(self.now);
    }

    fn pace(&self) -> Rate {
        self.rate.unwrap_or(Rate::from_bps(self.link.rate.bps() * self.unpaced / 100))
    }

    fn send(&mut self) {
        self.count += 1;
        // As a hash, whose bits are all alike.
        let name = Name { number: self.count.wrapping_mul(0x9E37_79B9).swap_bytes(), bytes: self.bytes };
        self.departures.add(self.now, name, Lane::Queue, self.rate);
        let verdict = self.law.on_departure(self.now, self.departures.sent, false);
        self.obey(verdict);
        let begin = self.link.free_at.max(self.now);
        if begin.saturating_since(self.now) > self.link.room {
            self.link.dropped += 1;
            return;
        }
        self.waits.push(begin.saturating_since(self.now) + self.link.others);
        self.link.free_at = begin + self.link.rate.serialisation(self.bytes, &mut 0);
        let jitter = Duration::from_nanos(self.rng.below(self.link.jitter.as_nanos() + 1));
        let came = self.link.free_at + RTT / 2 + jitter + self.link.others;
        if self.rng.below(100) >= self.link.loss_percent {
            let after = self.packets.back().map_or(came, |(last, _)| came.max(*last));
            self.packets.push_back((after, name));
        }
    }

    fn receive(&mut self, until: Instant) {
        while let Some((at, name)) = self.packets.pop_front_if(|(at, _)| *at <= until) {
            self.delivered += u64::from(name.bytes);
            if let Some(report) = self.arrivals.add(at, name, Duration::ZERO).filter(|_| !self.is_deaf) {
                let stamp = report.stamp + report.stamp / 1_000_000 * self.link.drift_ppm + self.offset;
                let at = at + RTT / 2 + self.back;
                let at = self.reports.back().map_or(at, |(last, _)| at.max(*last));
                self.reports.push_back((at, Report { stamp, ..report }));
            }
        }
        while let Some((at, report)) = self.reports.pop_front_if(|(at, _)| *at <= until) {
            let verdict = match self.departures.find(&report) {
                Some(sample) => self.law.on_report(at, &sample, self.departures.later(), self.rtt),
                None => self.law.on_unknown_report(at),
            };
            self.obey(verdict);
        }
    }

    fn obey(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Stay => return,
            Verdict::Lower(rate) | Verdict::Share(rate) => self.rate = Some(rate),
            Verdict::Set(rate) => self.rate = rate,
        }
        self.verdicts.push(verdict);
    }

    /// Share of the link's rate that was delivered, in per cent.
    fn use_of_link(&self, time: Duration) -> u64 {
        self.delivered * 100 / self.link.rate.bytes_in(time)
    }

    fn wait_p95(&mut self) -> Duration {
        self.waits.sort_unstable();
        self.waits[self.waits.len() * 95 / 100]
    }
}

#[test]
fn a_link_that_carries_less_than_the_bound_stays_busy_and_lets_nothing_wait() {
    for bound in [Some(mbit(11)), Some(mbit(13)), Some(mbit(20)), Some(mbit(1000)), None] {
        let mut run = Run::new(bound, mbit(10));
        run.run(SECOND * 5);
        assert!(run.verdicts.iter().any(|verdict| matches!(verdict, Verdict::Lower(_))), "{bound:?}");
        run.run(SECOND * 60);
        assert!(run.use_of_link(SECOND * 60) >= 97, "{bound:?}: {} %", run.use_of_link(SECOND * 60));
        assert!(run.wait_p95() < Duration::from_millis(5), "{bound:?}: {}", run.wait_p95());
        assert_eq!(run.law.advice(), bound.map(|_| Advice::CarriesLess));
    }
}

#[test]
fn a_right_bound_is_kept_whatever_is_lost() {
    for loss_percent in [0, 10, 30] {
        let mut run = Run::new(Some(mbit(10)), mbit(10));
        run.link.loss_percent = loss_percent;
        run.run(SECOND * 20);
        assert!(run.use_of_link(SECOND * 20) + loss_percent >= 98, "{loss_percent}: {}", run.use_of_link(SECOND * 20));
        assert!(run.wait_p95() < Duration::from_millis(2), "{loss_percent}: {}", run.wait_p95());
        assert_eq!(run.law.advice(), None, "{loss_percent}");
    }
}

#[test]
fn a_bound_below_what_the_link_carries_is_kept_and_said() {
    let mut run = Run::new(Some(mbit(7)), mbit(10));
    run.run(SECOND * 20);
    assert_eq!(run.law.advice(), Some(Advice::CarriesMore));
    assert!(!run.verdicts.iter().any(|verdict| matches!(verdict, Verdict::Lower(_))));
    assert!((69..=70).contains(&run.use_of_link(SECOND * 20)), "{}", run.use_of_link(SECOND * 20));
}

#[test]
fn a_rate_that_falls_is_followed_at_once_and_one_that_rises_soon() {
    let mut run = Run::new(Some(mbit(20)), mbit(20));
    run.run(SECOND * 5);
    run.link.rate = mbit(4);
    run.run(SECOND * 2);
    run.run(SECOND * 10);
    assert!(run.use_of_link(SECOND * 10) >= 95, "{} %", run.use_of_link(SECOND * 10));
    // Five packets.
    assert!(run.wait_p95() < Duration::from_millis(15), "{}", run.wait_p95());
    run.link.rate = mbit(20);
    run.run(SECOND * 8);
    run.run(SECOND * 10);
    assert!(run.use_of_link(SECOND * 10) >= 97, "{} %", run.use_of_link(SECOND * 10));
    assert_eq!(run.law.advice(), None);
}

#[test]
fn a_known_rate_is_right_from_the_first_packet_and_another_one_is_followed() {
    for (bound, carries) in [(None, 10), (None, 40), (None, 3), (Some(mbit(20)), 10)] {
        let mut run = Run::new(bound, mbit(carries));
        run.rate = run.law.resume(mbit(10));
        assert_eq!(run.rate, Some(mbit(10)));
        run.run(SECOND);
        if carries == 10 {
            assert!(run.use_of_link(SECOND) >= 90, "{bound:?}: {} %", run.use_of_link(SECOND));
            assert!(run.wait_p95() < Duration::from_millis(15), "{bound:?}: {}", run.wait_p95());
        }
        run.run(SECOND * 8);
        run.run(SECOND * 10);
        assert!(run.use_of_link(SECOND * 10) >= 95, "{carries}: {} %", run.use_of_link(SECOND * 10));
    }
    // The bound holds if it is what was known.
    let mut run = Run::new(Some(mbit(10)), mbit(10));
    assert_eq!((run.law.resume(mbit(10)), run.law.advice()), (Some(mbit(10)), None));
}

#[test]
fn bursts_that_wait_for_themselves_are_no_link_that_carries_less() {
    for packets in [20, 40] {
        let mut run = Run::new(Some(mbit(11)), mbit(10));
        (0..500).for_each(|_| run.burst(packets, Duration::from_millis(60)));
        let lowered = run.verdicts.iter().filter(|verdict| matches!(verdict, Verdict::Lower(_))).count();
        assert_eq!((lowered, run.rate), (0, Some(mbit(11))), "{packets}");
    }
}

/// The `count`-th of packets that leave every 20 ms, of so many bytes, after so much time in the link.
fn sample(count: u64, bytes: u32, delay: Duration) -> Sample {
    let left = Instant::from_nanos(count * 20_000_000);
    let (came, total) = (left.as_nanos() + OFFSET + delay.as_nanos(), count * u64::from(PACKET));
    Sample { left, came, sent: total, packets: total, received: total, bytes, pause: Duration::ZERO }
}

#[test]
fn a_large_packet_does_not_wait_because_it_takes_longer_than_a_small_one() {
    let (large, small) = (Duration::from_micros(16_200), Duration::from_micros(15_070));
    let mut history = History::default();
    let mut add = |count, bytes, delay| {
        let sample = sample(count, bytes, delay);
        (history.add(sample.left, &sample, false, RTT, RTT), history.standing_wait())
    };
    // Only small ones.
    (0..10).for_each(|count| assert!(add(count, 84, small).0));
    // Large ones: what was known is of no use.
    assert_eq!(add(10, PACKET, large), (true, None));
    assert_eq!(add(11, PACKET, large), (true, None));
    for count in (12..100).step_by(2) {
        assert_eq!(add(count, PACKET, large), (true, Some(Duration::ZERO)), "{count}");
        assert!(!add(count + 1, 84, small).0);
    }
    // Only small ones again, for longer than a delay is remembered.
    assert!((100..700).any(|count| add(count, 84, small).0));
}

#[test]
fn what_is_lost_while_packets_wait_for_long_is_not_usual() {
    let ms = Duration::from_millis;
    // A quarter is lost in all; an epoch is of two cycles and a half, and the least has more packets that hardly wait than such that do.
    for (long, usual) in [(10, 0..=0), (20, 200_000..=250_000)] {
        let (mut history, mut received) = (History::default(), 0);
        for count in 0..600 {
            // Ten packets each time; for half of the time they wait for 15 ms, and one of two is lost.
            let waits = count % 10 >= 5;
            received += u64::from(PACKET) * if waits { 5 } else { 10 };
            let sent = (count + 1) * u64::from(PACKET) * 10;
            let sample = sample(count, PACKET, ms(if waits { 30 } else { 15 }));
            history.add(sample.left, &Sample { sent, packets: sent, received, ..sample }, false, RTT, ms(long));
        }
        assert!(usual.contains(&history.loss().usual()), "{long} ms are long: {}", history.loss().usual());
    }
}

#[test]
fn reports_are_about_large_packets_where_there_are_any() {
    let mut arrivals = Arrivals::default();
    let names = (1..10_000).map(|number| Name { number, bytes: if number % 3 == 0 { PACKET } else { 84 } });
    let mut add =
        |name: Name| arrivals.add(Instant::from_nanos(u64::from(name.number) * 1_000_000), name, Duration::ZERO);
    let reported: Vec<u32> = names.filter_map(|name| add(name).map(|report| report.name)).collect();
    assert!(reported.len() > 200 && reported.iter().all(|name| name % 3 == 0), "{reported:?}");
    let small = (10_000..20_000).map(|number| Name { number, bytes: 84 });
    assert!(small.filter_map(add).count() > 200);
}

#[test]
fn what_waits_at_the_bound_since_the_link_stood_still_is_emptied() {
    let ms = Duration::from_millis;
    for stood_still in [3, 12, 28, 60] {
        let mut run = Run::new(Some(mbit(20)), mbit(20));
        run.run(SECOND * 3);
        run.link.free_at = run.link.free_at.max(run.now) + ms(stood_still);
        run.run(SECOND * 2);
        run.run(SECOND);
        let longest = run.waits.iter().max().copied().unwrap_or_default();
        let used = run.use_of_link(SECOND);
        assert!(longest < ms(4) && used >= 98, "{stood_still} ms: {longest}, {used} %");
        assert!(run.law.pursued().is_none());
    }
}

#[test]
fn a_way_that_gets_longer_at_the_bound_costs_little() {
    // What is longer than can be emptied at once is tried again and again, until it is what it always was, after 10 s: 117 ms of three
    // quarters of the rate and 500 ms of all of it are 95.3 %.
    for (longer, least) in [(3, 98), (12, 98), (60, 94)] {
        let mut run = Run::new(Some(mbit(20)), mbit(20));
        run.run(SECOND * 3);
        run.link.others = Duration::from_millis(longer);
        run.run(SECOND * 12);
        assert!(run.use_of_link(SECOND * 12) >= least, "{longer} ms: {} %", run.use_of_link(SECOND * 12));
        run.run(SECOND * 4);
        let used = run.use_of_link(SECOND * 4);
        assert!(run.law.pursued().is_none() && used >= 98, "{longer} ms: {used} %");
    }
}

#[test]
fn jitter_is_no_queue() {
    for (jitter, least) in [(1, 98), (4, 98), (10, 96), (30, 96)] {
        let mut run = Run::new(Some(mbit(10)), mbit(10));
        run.link.jitter = Duration::from_millis(jitter);
        run.run(SECOND * 30);
        assert!(run.use_of_link(SECOND * 30) >= least, "{jitter} ms: {} %", run.use_of_link(SECOND * 30));
    }
}

#[test]
fn of_a_link_that_somebody_else_fills_a_share_is_taken_until_they_are_gone() {
    let mut run = Run::new(Some(mbit(10)), mbit(10));
    run.run(SECOND * 3);
    run.link.others = Duration::from_millis(150);
    run.run(SECOND * 8);
    let shares = run.verdicts.iter().filter(|verdict| matches!(verdict, Verdict::Share(_))).count();
    assert!(shares > 0, "{:?}", run.verdicts);
    run.law.note_flows(run.now, 1);
    assert_eq!(run.law.advice(), Some(Advice::FilledByOthers));
    assert!(run.rate.is_some_and(|rate| rate > mbit(1)), "{:?}", run.rate);
    run.link.others = Duration::ZERO;
    run.run(SECOND * 35);
    assert_ne!(run.law.advice(), Some(Advice::FilledByOthers));
    run.run(SECOND * 2);
    assert!(run.use_of_link(SECOND * 2) >= 95, "{} %", run.use_of_link(SECOND * 2));
}

#[test]
fn a_link_that_lets_messages_through_is_not_silent_for_good_because_nobody_reports() {
    for (age, is_given_up) in [(Duration::from_millis(100), true), (SECOND, false)] {
        let mut run = Run::new(Some(mbit(20)), mbit(10));
        run.run(SECOND * 3);
        run.is_deaf = true;
        for _ in 0..1000 {
            run.run(Duration::from_millis(1));
            let verdict = run.law.on_echo(run.now, run.now - age);
            run.obey(verdict);
            if run.rate == Some(mbit(20)) {
                break;
            }
        }
        assert_eq!(run.rate == Some(mbit(20)), is_given_up, "{age}: {:?}", run.rate);
        assert!(is_given_up || run.rate < Some(Rate::from_bps(100_000)), "{:?}", run.rate);
    }
}

#[test]
fn a_clock_that_was_set_is_measured_anew_with_an_empty_link() {
    for bound in [None, Some(mbit(13))] {
        let mut run = Run::new(bound, mbit(10));
        run.run(SECOND * 5);
        run.offset += 3_600_000_000_000;
        run.run(SECOND * 5);
        assert_ne!(run.law.advice(), Some(Advice::FilledByOthers));
        run.run(SECOND * 20);
        assert!(run.use_of_link(SECOND * 20) >= 95, "{bound:?}: {} %", run.use_of_link(SECOND * 20));
        assert!(run.wait_p95() < Duration::from_millis(5), "{bound:?}: {}", run.wait_p95());
    }
}

#[test]
fn of_two_packets_alike_neither_is_a_sample() {
    let report = Report { name: 8, received: 100, stamp: 5 };
    for lane in [Lane::Repair, Lane::Queue] {
        let mut departures = Departures::new(1 << 16);
        let name = Name { number: 8, bytes: 100 };
        departures.add(Instant::ZERO, name, Lane::Queue, None);
        departures.add(Instant::ZERO, name, lane, None);
        assert!(departures.find(&report).is_none());
        departures.add(Instant::ZERO, name, Lane::Queue, None);
        assert_eq!(departures.find(&report).map(|sample| (sample.sent, sample.received)), Some((300, 100)));
        assert!(departures.find(&report).is_none());
    }
}

#[test]
fn the_log_of_departures_is_bounded() {
    let mut departures = Departures::new(48 * 100);
    (0..10_000).for_each(|number| departures.add(Instant::ZERO, Name { number, bytes: 1 }, Lane::Queue, None));
    assert!(departures.memory() <= 48 * 100, "{}", departures.memory());
}

#[test]
fn what_is_known_of_a_link_outlasts_another_bound() {
    // A link of 10 Mbit/s that is pursued: a bound above it, or none, changes nothing, and one below it is kept at once.
    let mut run = Run::new(Some(mbit(20)), mbit(10));
    run.run(SECOND * 5);
    for bound in [Some(mbit(15)), Some(mbit(40)), None] {
        run.rate = run.law.rebind(run.now, bound);
        run.run(SECOND);
        assert!(run.use_of_link(SECOND) >= 97, "{bound:?}: {} %", run.use_of_link(SECOND));
        assert!(run.wait_p95() < Duration::from_millis(5), "{bound:?}: {}", run.wait_p95());
        assert!(run.law.pursued().is_some());
    }
    run.rate = run.law.rebind(run.now, Some(mbit(5)));
    assert_eq!((run.rate, run.law.pursued()), (Some(mbit(5)), None));
    run.run(SECOND * 60);
    assert!((49..=51).contains(&run.use_of_link(SECOND * 60)), "{} %", run.use_of_link(SECOND * 60));
    assert_eq!(run.law.advice(), Some(Advice::CarriesMore));
    run.rate = run.law.rebind(run.now, Some(mbit(12)));
    assert_eq!(run.law.advice(), None, "what was found at the other bound is none any more");
    run.run(SECOND * 2);
    run.run(SECOND * 5);
    assert!(run.use_of_link(SECOND * 5) >= 97, "{} %", run.use_of_link(SECOND * 5));
    assert!(run.wait_p95() < Duration::from_millis(5), "{}", run.wait_p95());
}
