//! Makes a trace: our TCP on both ends of a [`Path`], in virtual time.

use super::path::Path;
use super::setting::{Setting, Traffic};
use super::trace::{Event, Leaving, State, Trace, What, describe};
use crate::stack::{CLIENT_PORT, SERVER_PORT};
use airtcp_core::{Duration, Instant, Packet, Rng, SeqNum, Timestamps};
use airtcp_tcp::congestion::find;
use airtcp_tcp::{Config, Connection, Endpoint, Opening, Stream};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The sender's and the peer's first numbers.
const FIRST: (SeqNum, SeqNum) = (SeqNum(u32::MAX - 2000), SeqNum(u32::MAX - 3000));
/// Full payload without and with timestamps, so that what is written fills its segments.
const FULL: (u64, u64) = (1460, 1448);
/// What Linux takes to send a segment, about.
pub const SENDING: Duration = Duration::from_micros(5);
/// A trace ends with its data, or so long after it began.
const LONGEST: Duration = Duration::from_secs(4);
/// How long after its last event a trace waits for more.
const REST: Duration = Duration::from_millis(60);

/// Makes the trace of `setting`; a host takes `sending` for each segment, which RACK sees ([`SENDING`]).
pub fn record(setting: &Setting, sending: Duration) -> Trace {
    let mut recorder = Recorder::new(setting, sending);
    recorder.run();
    recorder.trace
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum To {
    Sender,
    Peer,
}

/// Why segments leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    Arrival,
    Write,
    Timer,
}

struct Recorder {
    now: Instant,
    sending: Duration,
    /// One past what the sender has sent.
    highest: SeqNum,
    config: Config,
    sender: Option<Connection>,
    peer: Connection,
    is_accepted: bool,
    path: Path,
    flying: BinaryHeap<Reverse<(Instant, usize, To)>>,
    packets: Vec<Option<Packet>>,
    /// When who writes how much; the last first.
    writes: Vec<(Instant, To, u64)>,
    /// Clocks of the segments that the sender sent.
    clocks: Vec<u32>,
    trace: Trace,
    last_event: Instant,
}

impl Recorder {
    fn new(setting: &Setting, sending: Duration) -> Recorder {
        let mut config = Config { auto_read: true, ..Config::default() };
        (config.timestamps, config.sack, config.ecn) = (setting.timestamps, setting.sack, setting.ecn);
        let peer = Connection::connect(&opening(&config, To::Peer), Instant::ZERO);
        if let Ok(controller) = find(setting.controller, &[]) {
            config.controller = controller.into();
        }
        let settings = [
            ("net.ipv4.tcp_timestamps", setting.timestamps),
            ("net.ipv4.tcp_sack", setting.sack),
            ("net.ipv4.tcp_ecn", setting.ecn),
        ];
        let trace = Trace {
            settings: settings.to_vec(),
            controller: setting.controller,
            compares_window: setting.controller != "bbr",
            events: Vec::new(),
        };
        Recorder {
            now: Instant::ZERO,
            sending,
            highest: FIRST.0,
            config,
            sender: None,
            peer,
            is_accepted: false,
            path: Path::new(setting),
            flying: BinaryHeap::new(),
            packets: Vec::new(),
            writes: writes(setting),
            clocks: vec![0],
            trace,
            last_event: Instant::ZERO,
        }
    }

    fn note(&mut self, what: What) {
        self.last_event = self.now;
        self.trace.events.push(Event { at: self.now.saturating_since(Instant::ZERO), what });
    }

    fn run(&mut self) {
        self.flush(Cause::Arrival);
        while let Some((at, is_timer)) = self.next() {
            let is_over = self.writes.is_empty() && self.sender.as_ref().is_some_and(Connection::all_acknowledged);
            let end = if is_over { self.last_event + REST } else { Instant::ZERO + LONGEST };
            if at > end {
                return;
            }
            self.now = self.now.max(at);
            if is_timer {
                self.handle_timeouts();
            } else if self.flying.peek().is_some_and(|Reverse((arrival, ..))| *arrival == at) {
                self.arrive(at);
            } else if let Some((_, to, bytes)) = self.writes.pop() {
                self.write(to, bytes);
            }
        }
    }

    /// When something happens next, and whether that is a timer.
    fn next(&self) -> Option<(Instant, bool)> {
        let arrival = self.flying.peek().map(|Reverse((at, ..))| *at);
        let write = self.writes.last().map(|(at, ..)| *at);
        let timers = [self.sender.as_ref().and_then(Connection::poll_timeout), self.peer.poll_timeout()];
        let timer = timers.into_iter().flatten().min();
        let event = arrival.into_iter().chain(write).min();
        match (event, timer) {
            (Some(event), Some(timer)) if timer < event => Some((timer, true)),
            (Some(event), _) => Some((event, false)),
            (None, timer) => timer.map(|timer| (timer, true)),
        }
    }

    fn handle_timeouts(&mut self) {
        self.peer.handle_timeout(self.now);
        let is_due = |connection: &Connection| connection.poll_timeout().is_some_and(|at| at <= self.now);
        let acts = self.sender.as_ref().is_some_and(is_due);
        if let Some(sender) = &mut self.sender {
            sender.handle_timeout(self.now);
        }
        self.flush(Cause::Timer);
        if acts {
            self.note_state();
        }
    }

    fn write(&mut self, to: To, bytes: u64) {
        match (to, self.sender.as_mut().filter(|_| self.is_accepted)) {
            (To::Peer, _) => {
                self.peer.write_virtual(bytes);
            }
            (To::Sender, Some(sender)) => {
                sender.write_virtual(bytes);
                self.note(What::Write(bytes));
            }
            (To::Sender, None) => self.writes.push((self.now + REST, To::Sender, bytes)),
        }
        self.flush(Cause::Write);
    }

    /// Everything that arrives at `at`: at the peer before it answers, at the sender one by one.
    fn arrive(&mut self, at: Instant) {
        while let Some(Reverse((arrival, index, to))) = self.flying.peek().copied().filter(|next| next.0.0 == at) {
            self.flying.pop();
            let Some(packet) = self.packets[index].take() else { continue };
            match to {
                To::Peer => self.peer.handle_segment(arrival, &packet),
                To::Sender => self.arrive_at_sender(packet),
            }
        }
        self.flush(Cause::Arrival);
    }

    fn arrive_at_sender(&mut self, mut packet: Packet) {
        let Some(segment) = describe(&packet, (FIRST.1, FIRST.0)) else { return };
        let stamps = packet.tcp().and_then(|tcp| tcp.options.timestamps);
        let echo = stamps.map(|stamps| stamps.echo).filter(|number| *number > 0);
        if let (Some(stamps), Some(number)) = (stamps, echo) {
            packet.set_timestamps(Timestamps { echo: self.clocks[number as usize], ..stamps });
        }
        self.note(What::Arrives(segment, echo));
        match &mut self.sender {
            Some(sender) => sender.handle_segment(self.now, &packet),
            None => self.sender = Connection::accept(&opening(&self.config, To::Sender), &packet, self.now),
        }
        self.flush(Cause::Arrival);
        if !self.is_accepted && self.sender.as_ref().is_some_and(Connection::is_established) {
            self.is_accepted = true;
            self.note(What::Accept);
        }
        self.note_state();
    }

    fn note_state(&mut self) {
        let Some(sender) = self.sender.as_ref().filter(|_| self.is_accepted) else { return };
        let sk = sender.sock();
        let (window, threshold) = (i64::from(sk.snd_cwnd), i64::from(sk.snd_ssthresh));
        let state = State { window, threshold, recovery: sk.icsk_ca_state as i64 };
        self.trace.events.push(Event { at: self.now.saturating_since(Instant::ZERO), what: What::State(state) });
    }

    /// Sends what both ends have to send.
    fn flush(&mut self, cause: Cause) {
        while let Some(mut packet) = self.sender.as_mut().and_then(|sender| sender.poll_transmit(self.now)) {
            self.leave(&mut packet, cause == Cause::Timer);
            for at in self.path.data(self.now, &mut packet) {
                self.fly(at, packet.clone(), To::Peer);
            }
            // Linux looks at the clock for each segment of a write, and again between what it repairs and new data.
            let is_new_data_next = self.sender.as_ref().is_some_and(|sender| !sender.is_retransmission_due());
            let is_repair = packet.tcp().is_some_and(|tcp| tcp.sequence.before(self.highest));
            if cause == Cause::Write || is_repair && is_new_data_next {
                self.now += self.sending;
            }
            if let (Some(tcp), false) = (packet.tcp(), is_repair) {
                self.highest = tcp.sequence + packet.sequence_len();
            }
        }
        while let Some(packet) = self.peer.poll_transmit(self.now) {
            if let Some(at) = self.path.answer(self.now, &packet) {
                self.fly(at, packet, To::Sender);
            }
        }
    }

    /// The sender's segments get their numbers for clocks, so that an echo tells which one is meant.
    fn leave(&mut self, packet: &mut Packet, by_timer: bool) {
        let Some(segment) = describe(packet, FIRST) else { return };
        let number = self.clocks.len() as u32;
        let stamps = packet.tcp().and_then(|tcp| tcp.options.timestamps);
        let clock = stamps.map_or(0, |stamps| stamps.value);
        if let Some(stamps) = stamps {
            packet.set_timestamps(Timestamps { value: number, ..stamps });
        }
        self.clocks.push(clock);
        self.note(What::Leaves(Leaving { segment, number, clock, by_timer }));
    }

    fn fly(&mut self, at: Instant, packet: Packet, to: To) {
        self.flying.push(Reverse((at, self.packets.len(), to)));
        self.packets.push(Some(packet));
    }
}

/// When who writes how much, the last first.
fn writes(setting: &Setting) -> Vec<(Instant, To, u64)> {
    let mut rng = Rng::derive(setting.seed, "writes");
    let full = if setting.timestamps { FULL.1 } else { FULL.0 };
    let begin = Instant::ZERO + setting.round_trip.saturating_mul(2);
    let mut writes = vec![(begin, To::Sender, setting.segments * full)];
    match setting.traffic {
        Traffic::Bulk => {}
        Traffic::Short => {
            let mut at = begin;
            for _ in 0..3 {
                at += Duration::from_millis(5 + rng.below(500));
                writes.push((at, To::Sender, (1 + rng.below(setting.segments)) * full));
            }
        }
        Traffic::Both => {
            for _ in 0..3 {
                let at = begin + setting.round_trip.saturating_mul(rng.below(5)) + Duration::from_millis(1);
                writes.push((at, To::Peer, (1 + rng.below(10)) * full));
            }
        }
    }
    writes.sort_by_key(|(at, ..)| Reverse(*at));
    writes
}

fn opening(config: &Config, of: To) -> Opening {
    let addresses = Trace::addresses();
    let sender = Endpoint { address: addresses.local, port: SERVER_PORT };
    let peer = Endpoint { address: addresses.remote, port: CLIENT_PORT };
    let (local, remote, first, id) =
        if of == To::Sender { (sender, peer, FIRST.0, 1) } else { (peer, sender, FIRST.1, 2) };
    Opening {
        config: config.clone(),
        local,
        remote,
        initial_sequence: first,
        timestamp_offset: 1,
        source: Stream::Virtual { id },
    }
}
