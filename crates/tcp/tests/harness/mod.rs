//! Two connections and a path in virtual time. A test says what happens to each packet.

#![allow(dead_code, reason = "each test file uses its own part")]

use airtcp_core::{Duration, Instant, Packet, Payload, Probability, Rng, SeqNum, TcpFlags};
use airtcp_tcp::{Config, Connection, Endpoint, Opening, Stream};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::{IpAddr, Ipv4Addr};

/// Stream ids of the two ends.
pub const A_STREAM: u64 = 0xa;
pub const B_STREAM: u64 = 0xb;

/// Which end sent a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum From {
    A,
    B,
}

/// What the path does with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Deliver,
    Drop,
    Corrupt,
    Duplicate,
    Late(Duration),
    /// Mark it CE.
    Mark,
    /// Mark it ELN.
    Notify,
}

pub type Path = Box<dyn FnMut(Instant, From, &Packet) -> Fate>;

pub struct Net {
    pub now: Instant,
    pub a: Connection,
    pub b: Option<Connection>,
    b_config: Config,
    pub b_initial: u32,
    pub delay: Duration,
    path: Path,
    flying: BinaryHeap<Reverse<(Instant, u64, From, usize)>>,
    packets: Vec<Option<Packet>>,
    count: u64,
    pub b_writes: u64,
    pub b_closes: bool,
}

pub fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

pub fn endpoints() -> (Endpoint, Endpoint) {
    let address = |n| IpAddr::V4(Ipv4Addr::new(10, 0, 0, n));
    (Endpoint { address: address(1), port: 40_000 }, Endpoint { address: address(2), port: 80 })
}

/// The first end's opening, from sequence number 1 and clock 0.
pub fn opening(config: &Config, source: Stream) -> Opening {
    let (local, remote) = endpoints();
    Opening { config: config.clone(), local, remote, initial_sequence: SeqNum(1), timestamp_offset: 0, source }
}

impl Net {
    /// Both initial sequence numbers and the timestamp clocks are just below their wrap.
    pub fn new(a: &Config, b: &Config, rtt_ms: u64, path: Path) -> Net {
        Net::numbered(a, b, rtt_ms, path, u32::MAX - 20_000, u32::MAX - 100)
    }

    pub fn numbered(a: &Config, b: &Config, rtt_ms: u64, path: Path, initial: u32, clock: u32) -> Net {
        Net {
            now: Instant::ZERO,
            a: Connection::connect(
                &Opening {
                    initial_sequence: SeqNum(initial),
                    timestamp_offset: clock,
                    ..opening(a, Stream::Virtual { id: A_STREAM })
                },
                Instant::ZERO,
            ),
            b: None,
            b_config: b.clone(),
            b_initial: initial.wrapping_add(7_000),
            delay: Duration::from_micros(rtt_ms * 500),
            path,
            flying: BinaryHeap::new(),
            packets: Vec::new(),
            count: 0,
            b_writes: 0,
            b_closes: false,
        }
    }

    pub fn b(&mut self) -> &mut Connection {
        self.b.as_mut().expect("the SYN has arrived")
    }

    fn flush(&mut self) {
        while let Some(packet) = self.a.poll_transmit(self.now) {
            self.launch(From::A, packet);
        }
        while let Some(packet) = self.b.as_mut().and_then(|b| b.poll_transmit(self.now)) {
            self.launch(From::B, packet);
        }
    }

    pub fn launch(&mut self, from: From, mut packet: Packet) {
        assert!(packet.wire_len() <= 1500, "larger than the MTU: {}", packet.wire_len());
        let fate = (self.path)(self.now, from, &packet);
        let mut at = self.now + self.delay;
        match fate {
            Fate::Drop => return,
            Fate::Corrupt => packet.mark_corrupted(),
            Fate::Mark => packet.set_ecn(airtcp_core::Ecn::Ce),
            Fate::Notify => packet.set_flags(packet.tcp().unwrap().flags.with(TcpFlags::ELN)),
            Fate::Late(by) => at += by,
            Fate::Duplicate => self.fly(at, from, packet.clone()),
            Fate::Deliver => {}
        }
        self.fly(at, from, packet);
    }

    fn fly(&mut self, at: Instant, from: From, packet: Packet) {
        self.count += 1;
        let slot = self.packets.len();
        self.packets.push(Some(packet));
        self.flying.push(Reverse((at, self.count, from, slot)));
    }

    /// One event. False when nothing will ever happen again.
    pub fn step(&mut self) -> bool {
        self.flush();
        let timeout = self.a.poll_timeout().into_iter().chain(self.b.as_ref().and_then(Connection::poll_timeout)).min();
        let arrival = self.flying.peek().map(|Reverse((at, ..))| *at);
        match (arrival, timeout) {
            (Some(at), timeout) if timeout.is_none_or(|t| at <= t) => {
                self.now = at;
                let Reverse((_, _, from, slot)) = self.flying.pop().expect("peeked");
                let packet = self.packets[slot].take().expect("delivered once");
                self.deliver(from, &packet);
            }
            (_, Some(at)) => {
                self.now = self.now.max(at);
                self.a.handle_timeout(self.now);
                if let Some(b) = &mut self.b {
                    b.handle_timeout(self.now);
                }
            }
            _ => return false,
        }
        if self.flying.is_empty() {
            self.packets.clear();
        }
        self.flush();
        true
    }

    fn deliver(&mut self, from: From, packet: &Packet) {
        match (from, &mut self.b) {
            (From::B, _) => self.a.handle_segment(self.now, packet),
            (From::A, Some(b)) => b.handle_segment(self.now, packet),
            (From::A, None) => {
                let (remote, local) = endpoints();
                let answer = Opening {
                    local,
                    remote,
                    initial_sequence: SeqNum(self.b_initial),
                    timestamp_offset: u32::MAX - 50,
                    ..opening(&self.b_config, Stream::Virtual { id: B_STREAM })
                };
                self.b = Connection::accept(&answer, packet, self.now);
                if let Some(b) = &mut self.b {
                    assert_eq!(b.write_virtual(self.b_writes), self.b_writes);
                    if self.b_closes {
                        b.shutdown();
                    }
                }
            }
        }
    }

    /// Runs until `done`, or panics at `limit`.
    pub fn run_until(&mut self, limit: Duration, mut done: impl FnMut(&mut Net) -> bool) {
        let end = self.now + limit;
        self.flush();
        while !done(self) {
            assert!(self.step(), "nothing more will happen at {}: {:?} {:?}", self.now, self.a, self.b);
            assert!(self.now < end, "not done at {}: {:#?} {:#?}", self.now, self.a, self.b);
        }
    }

    /// Runs for a span of time.
    pub fn run_for(&mut self, span: Duration) {
        let end = self.now + span;
        self.flush();
        loop {
            let next = self.next_event();
            if next.is_none_or(|at| at > end) {
                self.now = end;
                return;
            }
            self.step();
        }
    }

    fn next_event(&self) -> Option<Instant> {
        let arrival = self.flying.peek().map(|Reverse((at, ..))| *at);
        arrival.into_iter().chain(self.a.poll_timeout()).chain(self.b.as_ref().and_then(Connection::poll_timeout)).min()
    }

    pub fn establish(&mut self) {
        self.run_until(ms(60_000), |net| {
            net.a.is_established() && net.b.as_ref().is_some_and(Connection::is_established)
        });
    }
}

pub fn perfect() -> Path {
    Box::new(|_, _, _| Fate::Deliver)
}

/// Loses each packet of either direction with probability `p`.
pub fn lossy(p: &str, seed: u64) -> Path {
    let (p, mut rng): (Probability, _) = (p.parse().unwrap(), Rng::derive(seed, "loss"));
    Box::new(move |_, _, _| if rng.chance(p) { Fate::Drop } else { Fate::Deliver })
}

/// Loses data of A only.
pub fn lossy_data(p: &str, seed: u64) -> Path {
    let (p, mut rng): (Probability, _) = (p.parse().unwrap(), Rng::derive(seed, "loss"));
    Box::new(
        move |_, from, packet| {
            if from == From::A && packet.payload_len() > 0 && rng.chance(p) { Fate::Drop } else { Fate::Deliver }
        },
    )
}

/// A sink that checks everything: `auto_read` on. Without habits, so that a test counts on one acknowledgment for two
/// segments, an open window and writes that are never short; what habits do is tested in `habits.rs`.
pub fn sink() -> Config {
    Config { auto_read: true, ..Config::without_habits() }
}

/// Payload position of a virtual data packet.
pub fn position(packet: &Packet) -> Option<u64> {
    match packet.payload() {
        Payload::Virtual { offset, .. } => Some(offset),
        Payload::Bytes(_) => None,
    }
}

/// Drops the first copies of A's data segments at the given positions, counted in segments.
pub fn drop_segments(segments: &[u64], mss: u64) -> Path {
    let mut left: Vec<u64> = segments.iter().map(|n| n * mss).collect();
    Box::new(move |_, from, packet| {
        let Some(at) = position(packet).filter(|_| from == From::A && packet.payload_len() > 0) else {
            return Fate::Deliver;
        };
        match left.iter().position(|wanted| *wanted == at) {
            Some(index) => {
                left.swap_remove(index);
                Fate::Drop
            }
            None => Fate::Deliver,
        }
    })
}

/// A link of `bits` per second for A's packets with `overhead` bytes of framing and a drop-tail
/// queue of `limit` packets; behind it data is lost with probability `loss`. B's packets pass freely.
pub fn bottleneck(bits: u64, overhead: u64, limit: u64, loss: &str, seed: u64) -> Path {
    let (loss, mut rng): (Probability, _) = (loss.parse().unwrap(), Rng::derive(seed, "loss"));
    let mut departures = std::collections::VecDeque::new();
    Box::new(move |now, from, packet| {
        if from == From::B {
            return Fate::Deliver;
        }
        while departures.front().is_some_and(|at| *at <= now) {
            departures.pop_front();
        }
        // One is being sent, `limit` wait.
        if departures.len() as u64 > limit {
            return Fate::Drop;
        }
        let nanos = (u64::from(packet.wire_len()) + overhead) * 8_000_000_000 / bits;
        let free = departures.back().copied().unwrap_or(now).max(now);
        let departure = free + Duration::from_nanos(nanos);
        departures.push_back(departure);
        if packet.payload_len() > 0 && rng.chance(loss) {
            return Fate::Drop;
        }
        Fate::Late(departure.saturating_since(now))
    })
}
