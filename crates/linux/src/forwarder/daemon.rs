//! The loop of a forwarder: one thread that waits for datagrams, applications and deadlines, and serves them in turn.

mod applications;
mod counts;
mod datagrams;
mod error;
mod streams;

pub use error::DaemonError;

use super::LineKey;
use super::application::App;
use super::association::Association;
use super::config::{Config, Forward};
use super::exchange::{Event, Exchange, Limits};
use super::resolver::Resolver;
use super::settings::line_settings;
use super::status::{Facts, Status};
use super::streams::{StreamSettings, Streams};
use crate::gateway::control::Secret;
use crate::gateway::estate::Estate;
use crate::gateway::news::News;
use crate::gateway::reload::Reloads;
use crate::gateway::status::StatusServer;
use crate::notice::{Level, Notice, What};
use crate::sys::epoll::{EventSet, Ready};
use crate::sys::process::{Signals, allow_open_files_up_to};
use crate::sys::relay_socket;
use crate::sys::{clock, entropy, sched};
use airtcp_core::{Duration, Instant};
use counts::Counts;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::os::fd::AsFd;

/// Datagrams taken, and sent, before others have their turn.
const TURN: usize = 128;
/// Connections accepted before others have their turn.
const ACCEPTS: usize = 64;
/// How often it is looked whether an application's host has acknowledged all: nobody tells.
const LOOK: Duration = Duration::from_millis(5);
/// How often status sockets are served and the peer's silence is looked at.
const BEAT: Duration = Duration::from_millis(50);
/// Room for datagrams between two reads.
const RECEIVE_BUFFER: u64 = 8 << 20;

const DATAGRAMS: u64 = 1 << 60;
const SIGNALS: u64 = (1 << 60) + 1;
const NAMES: u64 = (1 << 60) + 2;
const LISTENERS: u64 = 1 << 61;
const INLETS: u64 = 1 << 62;

/// Who runs a forwarder.
pub trait Host {
    /// Reads the file again.
    ///
    /// # Errors
    /// What is wrong with it, where, and what to do.
    fn reload(&mut self) -> Result<Config, String>;

    /// Hears what the log should say.
    fn tell(&mut self, notice: Notice);

    /// The forwarder goes on; called many times a second.
    fn beat(&mut self) {}
}

/// A forwarder that runs.
pub struct Daemon {
    config: Config,
    set: EventSet,
    udp: UdpSocket,
    listeners: Vec<(TcpListener, Forward)>,
    signals: Signals,
    resolver: Resolver,
    status: StatusServer,
    association: Association,
    exchange: Exchange,
    apps: BTreeMap<LineKey, App>,
    streams: Streams,
    /// By place in the file.
    taken: Vec<streams::Taken>,
    /// Where streams of the peer lead.
    given: BTreeMap<LineKey, UdpSocket>,
    /// Names that are looked up: the number of the question, and the address to come from.
    resolving: BTreeMap<LineKey, (u64, Option<SocketAddr>)>,
    /// Its host has to acknowledge something.
    awaited: BTreeSet<LineKey>,
    /// There was no memory to read from them.
    short: BTreeSet<LineKey>,
    /// Their turn was over.
    more: VecDeque<LineKey>,
    /// Sealed, and the kernel had no room for it.
    unsent: Option<Vec<u8>>,
    /// Its own turn was over before all datagrams were taken or sent.
    is_busy: bool,
    started: Instant,
    next_beat: Instant,
    next_look: Instant,
    counts: Counts,
    reloads: Reloads,
    news: News,
}

impl Daemon {
    /// Opens everything.
    ///
    /// # Errors
    /// What is missing.
    pub fn open(config: Config) -> Result<Daemon, DaemonError> {
        let signals = Signals::collect()?;
        let secret = Secret::read(&config.key)?;
        let refused = |source| DaemonError::Datagrams { listen: config.listen, peer: config.peer, source };
        let udp = datagrams::open(&config).map_err(refused)?;
        let local = udp.local_addr().map_err(refused)?;
        allow_open_files_up_to(config.descriptors())?;
        let mut listeners = Vec::new();
        for forward in &config.forwards {
            let listener = relay_socket::listen(forward.listen, forward.to.is_none());
            let refused = |source| DaemonError::Listen { listen: forward.listen, source };
            listeners.push((listener.map_err(refused)?, forward.clone()));
        }
        let taken = streams::open(&config)?;
        let status = StatusServer::open(&config.run_directory, &config.name, config.metrics, &mut Estate::default())?;
        let resolver = Resolver::start()?;
        let set = EventSet::new()?;
        set.add_changes(udp.as_fd(), DATAGRAMS)?;
        set.add_readable(signals.as_fd(), SIGNALS)?;
        set.add_readable(resolver.fd(), NAMES)?;
        for (index, (listener, _)) in listeners.iter().enumerate() {
            set.add_readable(listener.as_fd(), LISTENERS + index as u64)?;
        }
        for (place, taken) in taken.iter().enumerate() {
            set.add_changes(taken.socket.fd(), INLETS + place as u64)?;
        }
        let now = clock::now();
        let seed = u64::from_be_bytes(entropy::bytes()?);
        let mut settings = line_settings(config.mtu, config.peer.is_ipv4(), config.buffer);
        settings.reliable = config.reliable.clone();
        let limits = Limits { connections: config.connections, memory: config.memory.0 };
        let streaming = StreamSettings { circuit: config.streaming.clone(), is_ipv4: config.peer.is_ipv4() };
        Ok(Daemon {
            association: Association::new(local, config.peer, secret, entropy::bytes()?, now),
            exchange: Exchange::new(settings, limits, seed),
            apps: BTreeMap::new(),
            streams: Streams::new(streaming, &streams::openings(&config), seed, now),
            taken,
            given: BTreeMap::new(),
            resolving: BTreeMap::new(),
            awaited: BTreeSet::new(),
            short: BTreeSet::new(),
            more: VecDeque::new(),
            unsent: None,
            is_busy: false,
            started: now,
            next_beat: now,
            next_look: now,
            counts: Counts::default(),
            reloads: Reloads::default(),
            news: News::new(now),
            config,
            set,
            udp,
            listeners,
            signals,
            resolver,
            status,
        })
    }

    /// Forwards until it is told to end.
    ///
    /// # Errors
    /// The system refused something that never fails in practice.
    pub fn run(&mut self, host: &mut dyn Host) -> Result<(), DaemonError> {
        // Without the right to it, as a normal task.
        let _ = self.config.realtime.map(sched::set_fifo);
        let _ = sched::set_exact_timers();
        loop {
            let timeout = self.timeout(clock::now());
            let ready = self.set.wait(Some(timeout))?;
            let now = clock::now();
            for event in ready {
                if event.token == SIGNALS {
                    let requested = self.signals.take();
                    if requested.end {
                        self.end(now);
                        return Ok(());
                    }
                    if requested.reload {
                        let notice = self.reload(host.reload());
                        host.tell(notice);
                    }
                }
                self.handle(now, event);
            }
            self.is_busy = false;
            self.receive(now);
            if self.beat(now) {
                let (peer, state) = (self.config.peer.to_string(), self.association.peer_state(now));
                self.news.of_peer(now, &peer, &state).into_iter().for_each(|notice| host.tell(notice));
                host.beat();
            }
            self.look(now);
            self.exchange.handle_timeout(now);
            self.streams.handle_timeout(now);
            self.settle(now);
            self.take_datagrams(now);
            self.transmit(now);
            // What transmitting has settled.
            self.settle(now);
        }
    }

    fn reload(&mut self, read: Result<Config, String>) -> Notice {
        match read.and_then(|next| self.config.renewed(next)) {
            Ok(config) => {
                self.config = config;
                self.reloads.conclude(true, "applied; connections that are open stay".into());
                Notice::info(What::Reloaded, format!("reload: {}", self.reloads.last))
            }
            Err(why) => {
                let text = format!("reload refused, all stays as it was: {why}");
                self.reloads.conclude(false, why);
                Notice { level: Level::Error, what: What::ReloadRefused, text }
            }
        }
    }

    fn timeout(&self, now: Instant) -> Duration {
        if self.is_busy || !self.more.is_empty() {
            return Duration::ZERO;
        }
        let look = (!self.awaited.is_empty()).then_some(self.next_look);
        if self.unsent.is_some() {
            // What is due cannot be sent; that there is room is told.
            return look.map_or(self.next_beat, |look| look.min(self.next_beat)).saturating_since(now);
        }
        let deadlines =
            [Some(self.association.poll_timeout()), self.exchange.poll_timeout(), self.streams.poll_timeout(), look];
        let next = deadlines.into_iter().flatten().fold(self.next_beat, Instant::min);
        next.saturating_since(now)
    }

    fn handle(&mut self, now: Instant, event: Ready) {
        match event.token {
            DATAGRAMS | SIGNALS => {}
            NAMES => self.take_answers(now),
            token if token >= INLETS => self.taken[(token - INLETS) as usize].ready(),
            token if token >= LISTENERS => self.accept(now, (token - LISTENERS) as usize),
            token => self.handle_app(now, key_of(token), event),
        }
    }

    /// Everything that connections have to say to applications, and those that go on without a reason from outside.
    fn settle(&mut self, now: Instant) {
        for _ in 0..self.more.len() {
            let Some(key) = self.more.pop_front() else { break };
            self.pump(now, key);
        }
        if self.exchange.has_memory() {
            std::mem::take(&mut self.short).into_iter().for_each(|key| self.pump(now, key));
        }
        self.answer_streams();
        while let Some(event) = self.exchange.poll_event() {
            match event {
                Event::Asked(key, opening) => self.asked(now, key, opening),
                Event::Changed(key) => self.pump(now, key),
                Event::Broken(key, _) => {
                    // Closing the socket resets it.
                    self.apps.remove(&key);
                    self.forget(key);
                }
                Event::Finished(key) => {
                    if let Some(app) = self.apps.remove(&key) {
                        app.socket.finish();
                    }
                    self.forget(key);
                }
            }
        }
    }

    /// Whether hosts of applications have acknowledged what they had to.
    fn look(&mut self, now: Instant) {
        if now < self.next_look {
            return;
        }
        self.next_look = now + LOOK;
        for key in self.awaited.iter().copied().collect::<Vec<_>>() {
            self.pump(now, key);
        }
    }

    /// Does what is due every [`BEAT`]; true if it was time for it.
    fn beat(&mut self, now: Instant) -> bool {
        if now < self.next_beat {
            return false;
        }
        self.next_beat = now + BEAT;
        let fresh = || entropy::bytes().unwrap_or([0; 32]);
        if self.association.gives_up(now, self.config.silence, fresh) {
            self.counts.gave_up += 1;
            self.forget_peer(now, libc::ETIMEDOUT);
        }
        let held = self.apps.values().filter_map(|app| app.pump.as_ref()).map(|pump| pump.held() as u64).sum();
        self.counts.bytes_held = held;
        self.counts.stream_dropped = self.dropped();
        let facts = Facts {
            name: &self.config.name,
            peer: self.config.peer.to_string(),
            uptime_ns: now.saturating_since(self.started).as_nanos(),
            association: &self.association,
            exchange: &self.exchange,
            streams: &self.streams,
            applications: self.apps.len(),
            counts: self.counts.named(),
            reloads: &self.reloads,
        };
        self.status.serve(now, || Status::of(&facts, now));
        true
    }

    /// Resets every connection at both ends.
    fn end(&mut self, now: Instant) {
        for (key, _) in std::mem::take(&mut self.apps) {
            self.exchange.close(now, key, libc::ECONNRESET as u16);
        }
        for _ in 0..=self.config.connections / TURN {
            self.transmit(now);
        }
    }
}

fn token_of(key: LineKey) -> u64 {
    u64::from(key.number) | u64::from(key.is_ours) << 32
}

fn key_of(token: u64) -> LineKey {
    LineKey { is_ours: token >> 32 & 1 == 1, number: token as u32 }
}
