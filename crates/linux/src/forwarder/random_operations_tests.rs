//! Two forwarders in virtual time, with applications that write, stop reading, end and reset, over a path that loses and
//! swaps frames, while either forwarder is killed: no application is ever shown the end of a stream that it does not have.

use super::exchange::{Event, Exchange, Limits};
use super::line::LineSettings;
use super::opening::{Host, Opening};
use super::pump::{Application, Pump};
use super::{LineKey, settings};
use airtcp_core::packet::fill_virtual;
use airtcp_core::{ByteSize, Duration, Instant, Rng};
use bytes::Bytes;
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, ErrorKind};

/// What an application knows of its connection in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Open,
    /// It saw the end of the other's stream.
    End,
    Error,
}

/// An application and its host's kernel. Bytes that were sent to it are in flight until the kernel acknowledges them.
struct App {
    pair: u64,
    /// 0 at the end that opens, 1 at the other.
    end: u64,
    /// Bytes it writes in all, and has written.
    size: u64,
    written: u64,
    /// It says the end once all is written.
    closes: bool,
    has_closed: bool,
    /// It had closed when it saw the end.
    ended_second: bool,
    /// In flight, and how many of the other's its kernel has.
    flying: Vec<u8>,
    has: u64,
    /// Bytes its kernel takes before it reads.
    room: usize,
    /// It is too busy to read.
    is_deaf: bool,
    fate: Fate,
}

impl App {
    fn stream(pair: u64, end: u64) -> u64 {
        pair * 2 + end
    }

    /// Its kernel acknowledges what is in flight.
    fn take(&mut self) {
        let mut expected = vec![0; self.flying.len()];
        fill_virtual(App::stream(self.pair, 1 - self.end), self.has, &mut expected);
        assert_eq!(self.flying, expected, "bytes arrived changed");
        self.has += self.flying.len() as u64;
        self.flying.clear();
    }
}

impl Application for App {
    fn receive(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let length = (self.size - self.written).min(into.len() as u64) as usize;
        if length == 0 {
            self.has_closed = self.closes;
            return if self.closes { Ok(0) } else { Err(ErrorKind::WouldBlock.into()) };
        }
        fill_virtual(App::stream(self.pair, self.end), self.written, &mut into[..length]);
        self.written += length as u64;
        Ok(length)
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let length = bytes.len().min(self.room.saturating_sub(self.flying.len()));
        if length == 0 {
            return Err(ErrorKind::WouldBlock.into());
        }
        self.flying.extend(&bytes[..length]);
        Ok(length)
    }

    fn unacknowledged(&mut self) -> io::Result<usize> {
        Ok(self.flying.len())
    }

    fn end(&mut self) -> io::Result<()> {
        assert_eq!((self.fate, self.flying.len()), (Fate::Open, 0));
        (self.fate, self.ended_second) = (Fate::End, self.has_closed);
        Ok(())
    }
}

struct Side {
    exchange: Exchange,
    apps: BTreeMap<LineKey, (App, Pump)>,
    ended: Vec<App>,
    /// What its life is called: frames of another are none of its business.
    life: u64,
    /// It is stopped: nothing moves until then.
    stopped_until: Instant,
}

struct World {
    sides: [Side; 2],
    path: VecDeque<(Instant, usize, [u64; 2], Bytes)>,
    now: Instant,
    rng: Rng,
    loss: u64,
    pairs: u64,
    /// Nobody refuses a connection.
    is_welcome: bool,
    /// The peer's life that each side talks to, and when it finds out that this is over.
    knows: [u64; 2],
    finds_out: [Option<Instant>; 2],
}

const LIMITS: Limits = Limits { connections: 12, memory: 400_000 };
/// What is read in one turn is counted afterwards.
const BOUND: u64 = LIMITS.memory + (256 << 10);

fn line_settings() -> LineSettings {
    let mut line = settings::line_settings(1500, true, ByteSize(256 << 10));
    // Both readings of F2 are in use.
    line.reliable.circuit.controls = 2;
    line
}

fn side(life: u64) -> Side {
    let exchange = Exchange::new(line_settings(), LIMITS, life);
    Side { exchange, apps: BTreeMap::new(), ended: Vec::new(), life, stopped_until: Instant::ZERO }
}

impl World {
    fn new(seed: u64) -> World {
        let mut rng = Rng::derive(seed, "world");
        World {
            sides: [side(1), side(2)],
            path: VecDeque::new(),
            now: Instant::from_nanos(5_000_000_000),
            loss: rng.below(4) * 40,
            rng,
            pairs: 0,
            is_welcome: false,
            knows: [2, 1],
            finds_out: [None; 2],
        }
    }

    fn app(&mut self, pair: u64, end: u64) -> App {
        let size = [0, 1, 300, 20_000, 150_000][self.rng.below(5) as usize];
        let room = [1_000, 70_000][self.rng.below(2) as usize];
        let closes = self.rng.below(8) > 0;
        App {
            pair,
            end,
            size,
            written: 0,
            closes,
            has_closed: false,
            ended_second: false,
            flying: Vec::new(),
            has: 0,
            room,
            is_deaf: self.rng.below(6) == 0,
            fate: Fate::Open,
        }
    }

    fn open(&mut self, at: usize) {
        let (pair, now) = (self.pairs, self.now);
        let opening = Opening { host: Host::Name(format!("pair-{pair}")), port: 1, source: None };
        let Ok(key) = self.sides[at].exchange.open(now, &opening) else { return };
        self.pairs += 1;
        let app = self.app(pair, 0);
        self.begin(at, key, app);
    }

    fn begin(&mut self, at: usize, key: LineKey, app: App) {
        let mut pump = Pump::default();
        pump.ready(true, true);
        self.sides[at].apps.insert(key, (app, pump));
        self.pump(at, key);
    }

    fn pump(&mut self, at: usize, key: LineKey) {
        let Side { exchange, apps, .. } = &mut self.sides[at];
        let most = exchange.may_read(key);
        let (Some((app, pump)), Some(line)) = (apps.get_mut(&key), exchange.line(key)) else { return };
        pump.ready(true, true);
        let result = pump.run(line, app, most);
        exchange.touched(key);
        if let Err(errno) = result {
            exchange.close(self.now, key, errno);
            self.end(at, key, Fate::Error);
        }
    }

    /// The application learns how it ended, unless it knows.
    fn end(&mut self, at: usize, key: LineKey, fate: Fate) {
        let Some((mut app, _)) = self.sides[at].apps.remove(&key) else { return };
        if app.fate == Fate::Open {
            (app.fate, app.ended_second) = (fate, app.has_closed);
        }
        self.sides[at].ended.push(app);
    }

    fn events(&mut self, at: usize) {
        while let Some(event) = self.sides[at].exchange.poll_event() {
            match event {
                Event::Asked(key, opening) => {
                    let Host::Name(name) = opening.host else { panic!("a name was sent") };
                    let pair = name.strip_prefix("pair-").and_then(|number| number.parse().ok()).unwrap();
                    if !self.is_welcome && self.rng.below(10) == 0 {
                        self.sides[at].exchange.close(self.now, key, libc::ECONNREFUSED as u16);
                        continue;
                    }
                    self.sides[at].exchange.opened(key);
                    let app = self.app(pair, 1);
                    self.begin(at, key, app);
                }
                Event::Changed(key) => self.pump(at, key),
                Event::Broken(key, errno) => {
                    assert!(errno > 0);
                    self.end(at, key, Fate::Error);
                }
                Event::Finished(key) => {
                    // The socket is closed in good order: the end that is due is shown.
                    let (app, _) = &self.sides[at].apps[&key];
                    assert!(app.fate == Fate::End || app.flying.is_empty(), "finished without its end");
                    self.end(at, key, Fate::End);
                }
            }
        }
    }

    fn kill(&mut self, at: usize) {
        let life = self.sides[at].life + 2;
        let old = std::mem::replace(&mut self.sides[at], side(life));
        // Its kernel resets what it had.
        self.sides[at].ended = old.ended;
        for (_, (mut app, _)) in old.apps {
            app.fate = if app.fate == Fate::Open { Fate::Error } else { app.fate };
            self.sides[at].ended.push(app);
        }
        self.finds_out[1 - at] = Some(self.now + Duration::from_millis(self.rng.below(3_000)));
        // A new process asks first who the peer is.
        self.finds_out[at] = None;
        self.knows[at] = self.sides[1 - at].life;
    }

    fn step(&mut self, is_wild: bool) {
        self.now += Duration::from_millis(1 + self.rng.below(3));
        let now = self.now;
        if is_wild {
            self.disturb();
        }
        for at in 0..2 {
            if self.finds_out[at].is_some_and(|when| when <= now) {
                self.finds_out[at] = None;
                self.knows[at] = self.sides[1 - at].life;
                self.sides[at].exchange.forget_peer(libc::ECONNRESET as u16);
            }
        }
        while let Some((_, to, lives, frame)) = self.path.pop_front_if(|(at, ..)| *at <= now) {
            // The tag is that of two lives which know each other.
            if lives == [self.knows[to], self.sides[to].life] && self.sides[to].stopped_until <= now {
                self.sides[to].exchange.handle_frame(now, frame);
            }
        }
        for at in 0..2 {
            if self.sides[at].stopped_until > now {
                continue;
            }
            self.sides[at].exchange.handle_timeout(now);
            for key in self.sides[at].apps.keys().copied().collect::<Vec<_>>() {
                let (app, _) = self.sides[at].apps.get_mut(&key).unwrap();
                if !app.is_deaf {
                    app.take();
                }
                self.pump(at, key);
            }
            self.transmit(at);
            self.events(at);
            self.transmit(at);
            assert_eq!(self.sides[at].exchange.check(), Ok(()));
            assert!(self.sides[at].exchange.memory() <= BOUND, "{}", self.sides[at].exchange.memory());
        }
    }

    fn transmit(&mut self, at: usize) {
        let mut frame = Vec::new();
        while self.sides[at].exchange.poll_transmit(self.now, &mut frame) {
            if self.rng.below(1000) < self.loss {
                continue;
            }
            let swap = Duration::from_millis(if self.rng.below(50) == 0 { 7 } else { 0 });
            let arrival = self.now + Duration::from_millis(10) + swap;
            let lives = [self.sides[at].life, self.knows[at]];
            let place = self.path.partition_point(|(when, ..)| *when <= arrival);
            self.path.insert(place, (arrival, 1 - at, lives, Bytes::copy_from_slice(&frame)));
        }
    }

    fn disturb(&mut self) {
        let at = self.rng.below(2) as usize;
        match self.rng.below(400) {
            0..8 => self.open(at),
            8 => self.kill(at),
            9 => self.sides[at].stopped_until = self.now + Duration::from_millis(self.rng.below(800)),
            10..14 => {
                let keys: Vec<LineKey> = self.sides[at].apps.keys().copied().collect();
                if let Some(key) = keys.get(self.rng.below(keys.len().max(1) as u64) as usize) {
                    let (app, _) = self.sides[at].apps.get_mut(key).unwrap();
                    match self.rng.below(3) {
                        0 => {
                            // A reset by the application.
                            self.sides[at].exchange.close(self.now, *key, libc::ECONNRESET as u16);
                            self.end(at, *key, Fate::Error);
                        }
                        1 => app.is_deaf = !app.is_deaf,
                        _ => app.closes = true,
                    }
                }
            }
            _ => {}
        }
    }

    /// Of both applications of each pair: what they may have seen.
    fn judge(&self, seed: u64) -> (usize, usize) {
        let mut pairs: BTreeMap<u64, Vec<&App>> = BTreeMap::new();
        for app in self.sides.iter().flat_map(|side| &side.ended) {
            pairs.entry(app.pair).or_default().push(app);
        }
        let (mut whole, mut broken) = (0, 0);
        for apps in pairs.values() {
            for app in apps {
                let other = apps.iter().find(|other| other.end != app.end);
                if app.fate != Fate::End {
                    broken += 1;
                    continue;
                }
                whole += 1;
                let other = other.unwrap_or_else(|| panic!("seed {seed}: an end without a far application"));
                assert!(other.closes && other.written == other.size, "seed {seed}: an end that nobody said");
                assert_eq!(app.has, other.size, "seed {seed}: an end before the whole stream, pair {}", app.pair);
                if app.ended_second {
                    assert_eq!(other.has, app.size, "seed {seed}: an end before all of its own arrived");
                }
            }
        }
        (whole, broken)
    }
}

fn run(seed: u64) -> (usize, usize) {
    let mut world = World::new(seed);
    for _ in 0..4_000 {
        world.step(true);
    }
    // From now on nothing is disturbed, everybody reads, and everybody ends.
    world.loss = 0;
    for side in &mut world.sides {
        side.stopped_until = Instant::ZERO;
        for (app, _) in side.apps.values_mut() {
            (app.is_deaf, app.closes) = (false, true);
        }
    }
    for _ in 0..200_000 {
        for (app, _) in world.sides.iter_mut().flat_map(|side| side.apps.values_mut()) {
            (app.is_deaf, app.closes) = (false, true);
        }
        world.step(false);
        if world.sides.iter().all(|side| side.exchange.is_empty() && side.exchange.goodbyes() == 0) {
            break;
        }
    }
    for side in &world.sides {
        assert!(side.exchange.is_empty(), "seed {seed}: {} connections never end", side.exchange.len());
        assert!(side.apps.is_empty(), "seed {seed}: an application waits for ever");
        assert_eq!(side.exchange.memory(), 0);
    }
    world.judge(seed)
}

#[test]
fn no_application_sees_the_end_of_a_stream_that_it_does_not_have() {
    let seeds = if airtcp_test_support::is_long() { 400 } else { 24 };
    let (mut whole, mut broken) = (0, 0);
    for seed in 0..seeds {
        let (some, others) = run(seed);
        (whole, broken) = (whole + some, broken + others);
    }
    assert!(whole > seeds as usize && broken > seeds as usize, "{whole} whole, {broken} broken: nothing was tested");
}

#[test]
fn loss_alone_breaks_no_connection() {
    for seed in 0..40 {
        let mut world = World::new(seed);
        (world.loss, world.is_welcome) = (30, true);
        (0..6).for_each(|at| world.open(at % 2));
        for _ in 0..100_000 {
            for (app, _) in world.sides.iter_mut().flat_map(|side| side.apps.values_mut()) {
                (app.is_deaf, app.closes) = (false, true);
            }
            world.step(false);
            if world.sides.iter().all(|side| side.exchange.is_empty()) {
                break;
            }
        }
        assert_eq!(world.judge(seed), (12, 0), "seed {seed}");
    }
}
