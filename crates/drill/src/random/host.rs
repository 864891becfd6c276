//! The sender of a trace: our TCP, and what of a host it shows.

use super::trace::{Event, Leaving, State, Trace, What, describe};
use crate::stack::{CLIENT_PORT, SERVER_PORT};
use airtcp_core::{Duration, Instant, Packet, SeqNum, Timestamps};
use airtcp_tcp::{Config, Connection, Endpoint, Opening, Stream};

/// The sender's and the peer's first numbers.
pub const FIRST: (SeqNum, SeqNum) = (SeqNum(u32::MAX - 2000), SeqNum(u32::MAX - 3000));

/// What of a host its TCP shows.
#[derive(Clone, Copy, Debug)]
pub struct Host {
    /// What it takes to send a segment: RACK sees it.
    pub sending: Duration,
    /// Tick of its clock: timers and idle times are counted in it.
    pub jiffy: Option<Duration>,
}

impl Host {
    /// Times are exact.
    pub const EXACT: Host = Host { sending: Duration::ZERO, jiffy: None };

    /// Linux with a clock of this tick.
    pub fn linux(jiffy: Duration) -> Host {
        Host { sending: Duration::from_micros(5), jiffy: Some(jiffy) }
    }
}

/// Which end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum To {
    Sender,
    Peer,
}

/// Why segments leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    Arrival,
    Write,
    Timer,
}

/// See the module.
pub struct Sender {
    pub now: Instant,
    host: Host,
    config: Config,
    connection: Option<Connection>,
    /// One past what was sent.
    highest: SeqNum,
    pub is_accepted: bool,
    /// Clocks of the segments that left: of those that take numbers, and of pure acknowledgments.
    clocks: [Vec<u32>; 2],
    pub trace: Trace,
    pub last_event: Instant,
}

impl Sender {
    /// One that waits for a SYN.
    pub fn new(config: &Config, host: Host, trace: Trace) -> Sender {
        Sender {
            now: Instant::ZERO,
            host,
            config: config.clone(),
            connection: None,
            highest: FIRST.0,
            is_accepted: false,
            clocks: [vec![0], Vec::new()],
            trace,
            last_event: Instant::ZERO,
        }
    }

    /// Everything written is acknowledged.
    pub fn is_idle(&self) -> bool {
        self.connection.as_ref().is_some_and(Connection::all_acknowledged)
    }

    pub fn deadline(&self) -> Option<Instant> {
        self.connection.as_ref().and_then(Connection::poll_timeout)
    }

    fn note(&mut self, what: What) {
        self.last_event = self.now;
        self.trace.events.push(Event { at: self.now.saturating_since(Instant::ZERO), what });
    }

    /// Says whether a timer ran out: then the state is to be noted, after what leaves was sent.
    pub fn handle_timeout(&mut self) -> bool {
        let is_due = self.deadline().is_some_and(|at| at <= self.now);
        if let Some(connection) = &mut self.connection {
            connection.handle_timeout(self.now);
        }
        is_due
    }

    /// The application writes, if there is a connection yet.
    pub fn write(&mut self, bytes: u64) -> bool {
        let Some(connection) = self.connection.as_mut().filter(|_| self.is_accepted) else { return false };
        connection.write_virtual(bytes);
        self.note(What::Write(bytes));
        true
    }

    /// A segment arrives, and nothing leaves yet.
    pub fn arrive(&mut self, mut packet: Packet) {
        let Some(segment) = describe(&packet, (FIRST.1, FIRST.0)) else { return };
        let stamps = packet.tcp().and_then(|tcp| tcp.options.timestamps);
        let echo = stamps.map(|stamps| stamps.echo).filter(|number| *number > 0);
        if let (Some(stamps), Some(number)) = (stamps, echo) {
            packet.set_timestamps(Timestamps { echo: self.clock_of(number), ..stamps });
        }
        self.note(What::Arrives(segment, echo));
        match &mut self.connection {
            Some(connection) => connection.handle_segment(self.now, &packet),
            None => self.connection = Connection::accept(&opening(&self.config, To::Sender), &packet, self.now),
        }
    }

    /// After an arrival, when all has left that it lets out.
    pub fn note_arrived(&mut self) {
        if !self.is_accepted && self.connection.as_ref().is_some_and(Connection::is_established) {
            self.is_accepted = true;
            self.note(What::Accept);
        }
        self.note_state();
    }

    pub fn note_state(&mut self) {
        let Some(connection) = self.connection.as_ref().filter(|_| self.is_accepted) else { return };
        let sk = connection.sock();
        let (window, threshold) = (i64::from(sk.snd_cwnd), i64::from(sk.snd_ssthresh));
        let state = State { window, threshold, recovery: sk.icsk_ca_state as i64 };
        self.trace.events.push(Event { at: self.now.saturating_since(Instant::ZERO), what: What::State(state) });
    }

    /// The next segment that leaves, numbered in place of its clock.
    pub fn poll(&mut self, cause: Cause) -> Option<(Instant, Packet)> {
        let mut packet = self.connection.as_mut()?.poll_transmit(self.now)?;
        self.leave(&mut packet, cause == Cause::Timer);
        let left_at = self.now;
        // Linux looks at the clock for each segment or burst of a write, and again between what it repairs and new data.
        let is_new_data_next = self.connection.as_ref().is_some_and(|sender| !sender.is_retransmission_due());
        let is_repair = packet.tcp().is_some_and(|tcp| tcp.sequence.before(self.highest));
        let is_one_of_burst = self.connection.as_ref().is_some_and(Connection::continues_burst);
        if cause == Cause::Write && !is_one_of_burst || is_repair && is_new_data_next {
            self.now += self.host.sending;
        }
        if let (Some(tcp), false) = (packet.tcp(), is_repair) {
            self.highest = tcp.sequence + packet.sequence_len();
        }
        Some((left_at, packet))
    }

    /// Segments get their numbers for clocks, so that an echo tells which one is meant.
    fn leave(&mut self, packet: &mut Packet, by_timer: bool) {
        let Some(segment) = describe(packet, FIRST) else { return };
        let row = usize::from(packet.sequence_len() == 0);
        let number = (self.clocks[row].len() * 2 + row) as u32;
        let stamps = packet.tcp().and_then(|tcp| tcp.options.timestamps);
        let clock = stamps.map_or(0, |stamps| stamps.value);
        if let Some(stamps) = stamps {
            packet.set_timestamps(Timestamps { value: number, ..stamps });
        }
        self.clocks[row].push(clock);
        self.note(What::Leaves(Leaving { segment, number, clock, by_timer }));
    }

    /// The clock of a segment; of the last one in its row if it has not left.
    fn clock_of(&self, number: u32) -> u32 {
        let row = &self.clocks[number as usize % 2];
        row.get(number as usize / 2).or(row.last()).copied().unwrap_or(0)
    }
}

/// How the end `of` opens the connection.
pub fn opening(config: &Config, of: To) -> Opening {
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
