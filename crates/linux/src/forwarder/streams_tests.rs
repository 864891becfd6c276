//! Two ends of streams in virtual time, over a path that delays, loses and swaps frames.

use super::LineKey;
use super::frame::{FRONT_LEN, Front, Kind};
use super::opening::{Host, Opening};
use super::streams::{StreamSettings, StreamTallies, Streams, is_of_stream};
use airtcp_core::{Duration, Instant, Rng};
use airtcp_schemes::papers::decoupling::CircuitSettings;
use bytes::Bytes;
use std::collections::BTreeMap;

const MILLISECOND: Duration = Duration::from_millis(1);
const DELAY: Duration = Duration::from_millis(10);

fn opening() -> Opening {
    Opening { host: Host::Address([10, 2, 0, 7].into()), port: 5004, source: None }
}

/// What waits longer before the path is dropped.
const QUEUE: Duration = Duration::from_millis(100);

/// Both ends, and the path between them, which carries a frame each millisecond each way.
struct Net {
    now: Instant,
    ends: [Streams; 2],
    /// By time of arrival: number, the end it goes to, the frame.
    path: BTreeMap<(Instant, u64), (usize, Bytes)>,
    frames: u64,
    /// When each direction is free again.
    free: [Instant; 2],
    /// This one of so many is lost; none if 0.
    loses: u64,
    /// This one of so many is late; none if 0.
    delays: u64,
    /// What was given out at the far end.
    given: Vec<Bytes>,
    allows: bool,
}

impl Net {
    fn new(loses: u64, delays: u64) -> Net {
        let now = Instant::from_nanos(1_000_000_000);
        let settings = StreamSettings { circuit: CircuitSettings::default(), is_ipv4: true };
        let end = |openings: &[Opening], seed| Streams::new(settings.clone(), openings, seed, now);
        let ends = [end(&[opening()], 1), end(&[], 2)];
        let (path, given, free) = (BTreeMap::new(), Vec::new(), [now; 2]);
        Net { now, ends, path, frames: 0, free, loses, delays, given, allows: true }
    }

    fn step(&mut self) {
        for end in 0..2 {
            self.ends[end].handle_timeout(self.now);
            let mut frame = Vec::new();
            while self.ends[end].poll_transmit(self.now, &mut frame) {
                assert!(is_of_stream(&Bytes::copy_from_slice(&frame)));
                self.frames += 1;
                let is = |every: u64| every > 0 && self.frames.is_multiple_of(every);
                self.free[end] = self.free[end].max(self.now) + MILLISECOND;
                let late = if is(self.delays) { MILLISECOND * 5 } else { Duration::ZERO };
                let is_full = self.free[end].saturating_since(self.now) > QUEUE;
                if is_full {
                    self.free[end] = self.now + QUEUE;
                }
                if !is(self.loses) && !is_full {
                    let at = (self.free[end] + DELAY + late, self.frames);
                    self.path.insert(at, (1 - end, std::mem::take(&mut frame).into()));
                }
            }
            assert_eq!(self.ends[end].check(), Ok(()));
        }
        self.now += MILLISECOND;
        while let Some(entry) = self.path.first_entry().filter(|entry| entry.key().0 <= self.now) {
            let (to, frame) = entry.remove();
            let given = self.ends[to].handle_frame(self.now, frame);
            self.given.extend(given.map(|(key, datagram)| {
                assert_eq!((to, key.stream_place()), (1, Some(0)));
                datagram
            }));
            while let Some((key, asked)) = self.ends[to].poll_asked() {
                assert_eq!(asked, opening());
                if self.allows { self.ends[to].take(key) } else { self.ends[to].refuse(key) }
            }
        }
    }

    /// Offers as many datagrams as are taken, for so long.
    fn greedy(&mut self, time: Duration) {
        let until = self.now + time;
        while self.now < until {
            while self.ends[0].room(0) > 0 {
                let number = self.ends[0].tallies().sent;
                self.ends[0].offer(self.now, 0, &number.to_be_bytes());
            }
            self.step();
        }
    }

    /// Offers one each 10 ms, for so long, and lets the last one arrive.
    fn paced(&mut self, datagrams: u64) {
        while self.tallies()[0].sent < datagrams {
            if self.ends[0].room(0) > 0 {
                let number = self.ends[0].tallies().sent;
                self.ends[0].offer(self.now, 0, &number.to_be_bytes());
            }
            (0..10).for_each(|_| self.step());
        }
        (0..3000).for_each(|_| self.step());
    }

    fn tallies(&self) -> [StreamTallies; 2] {
        [0, 1].map(|end| self.ends[end].tallies())
    }
}

#[test]
fn dec_29_datagrams_arrive_as_they_were_taken_and_in_order() {
    let mut net = Net::new(0, 0);
    net.paced(500);
    let [near, far] = net.tallies();
    let numbers = net.given.iter().map(|datagram| u64::from_be_bytes(datagram[..].try_into().unwrap()));
    assert!(numbers.eq(0..500));
    assert_eq!((far.received, far.lost, far.misordered, near.malformed, far.malformed), (500, 0, 0, 0, 0));
}

#[test]
fn no_more_are_taken_than_window_and_tunnel_queue_hold() {
    let mut net = Net::new(0, 0);
    net.paced(10);
    // From now on nothing arrives.
    net.loses = 1;
    net.greedy(Duration::from_secs(5));
    let taken = net.tallies()[0].sent - 10;
    assert!((50..1000).contains(&taken), "{taken}");
    assert_eq!(net.ends[0].room(0), 0);
}

#[test]
fn what_is_lost_or_late_is_counted_and_nothing_is_sent_again() {
    let mut net = Net::new(37, 33);
    net.greedy(Duration::from_secs(20));
    net.paced(net.tallies()[0].sent + 10);
    let [near, far] = net.tallies();
    assert!(far.lost > 10 && far.misordered > 10, "{far:?}");
    // The last ones may be lost, too, without a later one that tells.
    assert!((near.sent - 3..=near.sent).contains(&(far.received + far.lost)), "{near:?} {far:?}");
    assert_eq!(net.given.len() as u64, far.received);
}

#[test]
fn a_circuit_slows_down_for_what_is_lost() {
    let rate = |loses| {
        let mut net = Net::new(loses, 0);
        net.greedy(Duration::from_secs(20));
        net.tallies()[1].received
    };
    let (clean, lossy) = (rate(0), rate(7));
    assert!(lossy * 2 < clean, "{lossy} of {clean}");
}

#[test]
fn a_stream_that_is_refused_takes_nothing_and_is_asked_for_again() {
    let mut net = Net::new(0, 0);
    net.allows = false;
    net.greedy(Duration::from_millis(2500));
    let [near, far] = net.tallies();
    assert_eq!((near.sent, near.refused, far.received), (0, 3, 0));
    net.allows = true;
    net.greedy(Duration::from_millis(1500));
    assert!(net.tallies()[1].received > 0);
}

#[test]
fn a_peer_that_forgot_a_stream_is_asked_anew_and_what_was_counted_stays() {
    let mut net = Net::new(0, 0);
    net.greedy(Duration::from_secs(1));
    let [_, before] = net.tallies();
    net.ends[1].forget_peer(net.now);
    net.greedy(Duration::from_secs(3));
    let [near, far] = net.tallies();
    assert!(before.received > 0 && far.received > before.received + 100, "{before:?} {far:?}");
    assert!(near.refused >= 1 && near.sent >= far.received);
    net.ends[0].forget_peer(net.now);
    assert_eq!(net.ends[0].room(0), 0);
    net.greedy(Duration::from_secs(1));
    assert_eq!(net.ends[0].count_open(), (1, 0));
}

#[test]
fn no_frame_makes_a_stream_panic() {
    let mut net = Net::new(0, 0);
    net.greedy(Duration::from_millis(100));
    let mut rng = Rng::derive(7, "frames");
    for _ in 0..20_000 {
        let mut frame = Vec::new();
        let kinds =
            [Kind::Message, Kind::Open, Kind::Data, Kind::Header, Kind::Control, Kind::ControlAck, Kind::Datagram];
        let kind = kinds[rng.below(7) as usize];
        let key = LineKey { is_ours: rng.below(2) == 0, number: LineKey::stream(rng.below(3) as usize).number };
        Front { kind, control: rng.below(32) as u8, key }.put(&mut frame);
        (0..rng.below(40)).for_each(|_| frame.push(rng.below(8) as u8));
        assert!(frame.len() >= FRONT_LEN);
        let end = &mut net.ends[rng.below(2) as usize];
        end.handle_frame(net.now, frame.into());
        while end.poll_asked().is_some() {}
        let mut out = Vec::new();
        while end.poll_transmit(net.now, &mut out) {}
        assert_eq!(end.check(), Ok(()));
    }
}
