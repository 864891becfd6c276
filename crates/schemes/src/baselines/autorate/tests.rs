//! One shaper, and an imagined other end that answers.

use super::*;
use crate::testing::{at, data, with_site};
use airtcp_core::Instant;
use airtcp_core::parameters::Parameters;
use airtcp_core::testing::Harness;
use std::string::ToString;
use std::vec::Vec;

const STEP: Duration = Duration::from_micros(500);
/// A packet of 1040 bytes at 20 Mbit/s takes 0.416 ms.
const BYTES: u64 = 1040;

struct Bench {
    shaper: Harness<Shaper>,
    now: Instant,
    /// What the way there takes, beyond 5 ms each way.
    queue: Duration,
    /// How far ahead the other end's clock is.
    ahead: u64,
    answers: Vec<(Instant, Vec<u8>)>,
    sent: u32,
    bytes: u64,
}

impl Bench {
    fn new(text: &[(&str, &str)]) -> Bench {
        let mut settings = AutorateSettings::default();
        text.iter().for_each(|&(key, value)| settings.set(key, &value.into()).unwrap());
        let shaper = with_site(|site| {
            site.link.rate = None;
            Shaper::new(&settings, site)
        });
        let (now, queue) = (at(0), Duration::ZERO);
        Bench { shaper: Harness::new(shaper, "shaper"), now, queue, ahead: 0, answers: Vec::new(), sent: 0, bytes: 0 }
    }

    /// Runs for a time in which so many packets always wait.
    fn run(&mut self, ms: u64, waiting: usize) {
        let until = self.now + Duration::from_millis(ms);
        while self.now < until {
            self.now += STEP;
            while self.shaper.element.held().packets < waiting {
                self.shaper.packet(self.now, Port::INNER, data(self.sent * 1000));
                self.sent += 1;
            }
            self.shaper.tick(self.now);
            self.answer();
        }
    }

    fn answer(&mut self) {
        let one_way = Duration::from_millis(5);
        self.bytes += self.shaper.io.link.drain(..).map(|packet| u64::from(packet.wire_len())).sum::<u64>();
        for message in self.shaper.io.control.drain(..) {
            let Some(Message::Ping { sent }) = Message::decode(&message) else { panic!("only pings are sent") };
            let there = self.now + one_way + self.queue;
            let answer = Answer { sent, received: there.as_nanos() + self.ahead };
            self.answers.push((there + one_way, Message::Answer(answer).encode()));
        }
        let (come, flying) = core::mem::take(&mut self.answers).into_iter().partition(|(due, _)| *due <= self.now);
        self.answers = flying;
        let come: Vec<(Instant, Vec<u8>)> = come;
        come.iter().for_each(|(_, message)| self.shaper.control(self.now, message));
    }

    fn mbit(&self) -> u64 {
        self.shaper.gauge(Gauge::RATE_BPS).unwrap() / 1_000_000
    }
}

#[test]
fn packets_leave_at_the_base_rate_and_twenty_pings_a_second_beside_them() {
    let mut bench = Bench::new(&[("most_climb", "0%")]);
    bench.run(100, 20);
    bench.bytes = 0;
    bench.run(1000, 20);
    // A ping takes 66 bytes, 20 of them 0.05 % of the rate.
    assert!((2_480_000..=2_500_000).contains(&bench.bytes), "{}", bench.bytes);
}

#[test]
fn the_rate_climbs_while_much_is_sent_and_no_answer_is_late() {
    let mut bench = Bench::new(&[]);
    bench.run(2000, 20);
    // Ten measurements, each worth 4 %.
    assert!((26..=30).contains(&bench.mbit()), "{}", bench.mbit());
    bench.run(20_000, 20);
    assert_eq!(bench.mbit(), 80);
}

#[test]
fn the_rate_falls_when_answers_are_late_and_halves_in_a_second() {
    let mut bench = Bench::new(&[]);
    bench.run(500, 20);
    let before = bench.mbit();
    bench.queue = Duration::from_millis(200);
    bench.run(1300, 20);
    assert!(bench.mbit() * 2 < before, "{} of {before}", bench.mbit());
    assert!((3..=4).contains(&bench.shaper.count(Event::RATE_LOWERED)), "one in 300 ms");
}

#[test]
fn half_a_round_trip_hides_half_of_a_queue_and_one_way_delay_does_not() {
    // 40 ms are 20 for each way, and only 40 are more than 30.
    for (delay, falls) in [("round-trip", false), ("one-way", true)] {
        let mut bench = Bench::new(&[("delay", delay)]);
        bench.ahead = 1_000_000_000_000;
        bench.run(500, 20);
        bench.queue = Duration::from_millis(40);
        bench.run(2000, 20);
        assert_eq!(bench.shaper.count(Event::RATE_LOWERED) > 0, falls, "{delay}");
    }
}

#[test]
fn with_little_to_send_the_rate_returns_to_the_base_rate() {
    let mut bench = Bench::new(&[]);
    bench.run(4000, 20);
    let busy = bench.mbit();
    bench.run(90_000, 0);
    assert!(busy > 30);
    assert_eq!(bench.mbit(), 20);
}

#[test]
fn without_an_answer_the_rate_stays() {
    let mut bench = Bench::new(&[]);
    bench.queue = Duration::from_secs(1000);
    bench.run(3000, 20);
    assert_eq!(bench.mbit(), 20);
}

#[test]
fn a_ping_is_answered_with_the_time_at_which_it_came() {
    let mut bench = Bench::new(&[]);
    bench.shaper.tick(at(1));
    bench.shaper.io.control.clear();
    bench.shaper.control(at(2), &Message::Ping { sent: 7 }.encode());
    let answer = Message::Answer(Answer { sent: 7, received: at(2).as_nanos() });
    assert_eq!(bench.shaper.io.control, [answer.encode()]);
}

#[test]
fn what_is_no_message_of_ours_is_counted() {
    let mut bench = Bench::new(&[]);
    let of_the_future = Message::Answer(Answer { sent: u64::MAX, received: 0 }).encode();
    bench.shaper.control(at(1), b"hello");
    bench.shaper.control(at(1), &of_the_future);
    assert_eq!(bench.shaper.count(Event::CONTROL_MALFORMED), 2);
}

#[test]
fn a_queue_that_is_too_long_drops() {
    let mut bench = Bench::new(&[("queue", "10kB")]);
    (0..50).for_each(|n| bench.shaper.packet(at(1), Port::INNER, data(n * 1000)));
    assert!(bench.shaper.element.held().bytes <= 10_000 + BYTES);
    assert!(bench.shaper.ledger.discarded.total() > 30);
}

#[test]
fn settings_that_cannot_be_are_refused() {
    for (key, value) in [
        ("min_rate", "0bit"),
        ("min_rate", "30Mbit"),
        ("max_rate", "10Mbit"),
        ("ping_every", "0ms"),
        ("load_every", "0ms"),
        ("late_answers", "0"),
        ("late_answers", "7"),
        ("window", "0"),
    ] {
        let settings = AutorateSettings::with([(key, value)]).unwrap();
        let error = with_site(|site| make(&settings, site)).err().unwrap().to_string();
        assert!(error.contains("usual") || error.contains("link"), "{key} = {value}: {error}");
    }
}
