//! The loop of a forwarder: one thread that waits for datagrams, applications and deadlines, and serves them in turn.

use super::LineKey;
use super::application::App;
use super::association::{Arrived, Association};
use super::config::{Config, Forward};
use super::exchange::{Event, Exchange, Limits};
use super::opening::{Host, Opening};
use super::pump::{Left, errno};
use super::resolver::Resolver;
use super::settings::line_settings;
use super::status::{Facts, Status};
use crate::gateway::control::{KeyError, Secret};
use crate::gateway::status::StatusServer;
use crate::sys::epoll::{EventSet, Ready};
use crate::sys::process::{Signal, Signals};
use crate::sys::relay_socket;
use crate::sys::tcp_socket::set_receive_buffer;
use crate::sys::{clock, entropy, sched};
use airtcp_core::{Duration, Instant};
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
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
/// Bytes that a connection may have each way although the memory of all is used up.
const RESERVE: u64 = 64 << 10;
/// Descriptors beside those of connections.
const OTHER_DESCRIPTORS: u64 = 128;

const DATAGRAMS: u64 = 1 << 60;
const SIGNALS: u64 = (1 << 60) + 1;
const NAMES: u64 = (1 << 60) + 2;
const LISTENERS: u64 = 1 << 61;

/// Why a forwarder ended, or could not start.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// The key cannot be used.
    #[error("{0}; {make}", make = Config::HOW_TO_MAKE)]
    Key(#[from] KeyError),
    /// Datagrams cannot be exchanged.
    #[error("datagrams cannot be exchanged between {listen} and {peer}: {source}; set another `listen`")]
    Datagrams {
        /// Where they would be received.
        listen: SocketAddr,
        /// Where they would go.
        peer: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// Nobody can connect.
    #[error("connections cannot be taken at {listen}: {source}; set another `listen` in this [[forward]]")]
    Listen {
        /// Where.
        listen: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// The status socket could not be opened.
    #[error("no status socket in {directory}: {source}")]
    Status {
        /// Where.
        directory: String,
        /// What the system says.
        source: io::Error,
    },
    /// The system refused something that never fails in practice.
    #[error("the forwarder cannot go on: {0}")]
    System(#[from] io::Error),
}

/// What the loop counts.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    datagrams_received: u64,
    datagrams_sent: u64,
    datagrams_unsent: u64,
    accepted: u64,
    refused_peer: u64,
    refused_not_allowed: u64,
    refused_by_host: u64,
    gave_up: u64,
    bytes_held: u64,
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
    /// Names that are looked up, and the address to come from.
    resolving: BTreeMap<LineKey, Option<SocketAddr>>,
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
    counts: Counts,
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
        let udp = datagrams(&config).map_err(refused)?;
        let local = udp.local_addr().map_err(refused)?;
        relay_socket::raise_descriptor_limit(config.connections as u64 + OTHER_DESCRIPTORS);
        let mut listeners = Vec::new();
        for forward in &config.forwards {
            let listener = relay_socket::listen(forward.listen, forward.to.is_none());
            let refused = |source| DaemonError::Listen { listen: forward.listen, source };
            listeners.push((listener.map_err(refused)?, forward.clone()));
        }
        let no_socket = |source| DaemonError::Status { directory: config.run_directory.display().to_string(), source };
        let status = StatusServer::open(&config.run_directory, &config.name).map_err(no_socket)?;
        let resolver = Resolver::start()?;
        let set = EventSet::new()?;
        set.add_changes(udp.as_fd(), DATAGRAMS)?;
        set.add_readable(signals.as_fd(), SIGNALS)?;
        set.add_readable(resolver.fd(), NAMES)?;
        for (index, (listener, _)) in listeners.iter().enumerate() {
            set.add_readable(listener.as_fd(), LISTENERS + index as u64)?;
        }
        let now = clock::now();
        let seed = u64::from_be_bytes(entropy::bytes()?);
        let mut settings = line_settings(config.mtu, config.peer.is_ipv4(), config.buffer);
        settings.reliable = config.reliable.clone();
        let limits = Limits { connections: config.connections, memory: config.memory.0, reserve: RESERVE };
        Ok(Daemon {
            association: Association::new(local, config.peer, secret, entropy::bytes()?, now),
            exchange: Exchange::new(settings, limits, seed),
            apps: BTreeMap::new(),
            resolving: BTreeMap::new(),
            awaited: BTreeSet::new(),
            short: BTreeSet::new(),
            more: VecDeque::new(),
            unsent: None,
            is_busy: false,
            started: now,
            next_beat: now,
            counts: Counts::default(),
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
    pub fn run(&mut self) -> Result<(), DaemonError> {
        // Without the right to it, as a normal task.
        let _ = self.config.realtime.map(sched::set_fifo);
        let _ = sched::set_exact_timers();
        loop {
            let timeout = self.timeout(clock::now());
            let ready = self.set.wait(Some(timeout))?;
            let now = clock::now();
            for event in ready {
                if event.token == SIGNALS && self.signals.next() == Some(Signal::End) {
                    self.end(now);
                    return Ok(());
                }
                self.handle(now, event);
            }
            self.is_busy = false;
            self.receive(now);
            self.beat(now);
            self.look(now);
            self.exchange.handle_timeout(now);
            self.settle(now);
            self.transmit(now);
            // What transmitting has settled.
            self.settle(now);
        }
    }

    fn timeout(&self, now: Instant) -> Duration {
        if self.is_busy || !self.more.is_empty() {
            return Duration::ZERO;
        }
        let look = (!self.awaited.is_empty()).then(|| now + LOOK);
        let deadlines = [Some(self.association.poll_timeout()), self.exchange.poll_timeout(), look];
        let next = deadlines.into_iter().flatten().fold(self.next_beat, Instant::min);
        next.saturating_since(now)
    }

    fn handle(&mut self, now: Instant, event: Ready) {
        match event.token {
            DATAGRAMS | SIGNALS => {}
            NAMES => self.take_answers(now),
            token if token >= LISTENERS => self.accept(now, (token - LISTENERS) as usize),
            token => self.handle_app(now, key_of(token), event),
        }
    }

    fn handle_app(&mut self, now: Instant, key: LineKey, event: Ready) {
        let Some(app) = self.apps.get_mut(&key) else { return };
        let error = if event.is_broken || app.pump.is_none() { app.socket.error() } else { None };
        if let Some(error) = error {
            return self.app_failed(now, key, error);
        }
        match &mut app.pump {
            Some(pump) => pump.ready(event.to_read, event.to_write),
            None if event.to_write => {
                app.pump = Some(super::pump::Pump::default());
                app.pump.iter_mut().for_each(|pump| pump.ready(true, true));
                self.exchange.opened(key);
            }
            None => return,
        }
        self.pump(now, key);
    }

    /// An application's socket broke, or nobody took its connection.
    fn app_failed(&mut self, now: Instant, key: LineKey, error: io::Error) {
        let Some(app) = self.apps.remove(&key) else { return };
        self.forget(key);
        if app.pump.is_some() {
            return self.exchange.close(now, key, errno(error));
        }
        match App::connect(app.others, app.source) {
            Ok(next) => self.keep(now, key, next),
            Err(_) => {
                self.counts.refused_by_host += 1;
                self.exchange.close(now, key, errno(error));
            }
        }
    }

    fn forget(&mut self, key: LineKey) {
        self.awaited.remove(&key);
        self.short.remove(&key);
        self.resolving.remove(&key);
    }

    fn keep(&mut self, now: Instant, key: LineKey, app: App) {
        if let Err(error) = self.set.add_changes(app.socket.fd(), token_of(key)) {
            return self.exchange.close(now, key, errno(error));
        }
        self.apps.insert(key, app);
    }

    fn accept(&mut self, now: Instant, index: usize) {
        for _ in 0..ACCEPTS {
            let Some((listener, forward)) = self.listeners.get(index) else { return };
            let stream = match listener.accept() {
                Ok((stream, _)) => stream,
                // Without descriptors the others wait in the kernel.
                Err(_) => return,
            };
            self.counts.accepted += 1;
            let forward = forward.clone();
            // Whatever is refused is reset: that is what closing does.
            let Some(opening) = opening_for(&forward, &stream) else { continue };
            if stream.set_nonblocking(true).is_err() {
                continue;
            }
            if !self.association.is_ready() {
                self.counts.refused_peer += 1;
                continue;
            }
            let Ok(key) = self.exchange.open(now, &opening) else { continue };
            self.keep(now, key, App::accepted(stream));
        }
    }

    /// The peer asks for a connection.
    fn asked(&mut self, now: Instant, key: LineKey, opening: Opening) {
        let Opening { host, port, source } = opening;
        if !self.config.allow.iter().any(|allowed| allowed.includes(&host, port)) {
            self.counts.refused_not_allowed += 1;
            return self.exchange.close(now, key, libc::EACCES as u16);
        }
        let source = source.filter(|_| self.config.keep_source);
        match host {
            Host::Address(address) => self.connect(now, key, [SocketAddr::new(address, port)].into(), source),
            Host::Name(name) => {
                self.resolving.insert(key, source);
                if !self.resolver.ask(key, name, port) {
                    self.resolving.remove(&key);
                    self.exchange.close(now, key, libc::EAGAIN as u16);
                }
            }
        }
    }

    fn take_answers(&mut self, now: Instant) {
        while let Some((key, found)) = self.resolver.answer() {
            let Some(source) = self.resolving.remove(&key) else { continue };
            match found {
                Ok(addresses) => self.connect(now, key, addresses, source),
                Err(_) => {
                    self.counts.refused_by_host += 1;
                    self.exchange.close(now, key, libc::EHOSTUNREACH as u16);
                }
            }
        }
    }

    fn connect(&mut self, now: Instant, key: LineKey, to: VecDeque<SocketAddr>, source: Option<SocketAddr>) {
        match App::connect(to, source) {
            Ok(app) => self.keep(now, key, app),
            Err(error) => {
                self.counts.refused_by_host += 1;
                self.exchange.close(now, key, errno(error));
            }
        }
    }

    fn pump(&mut self, now: Instant, key: LineKey) {
        let is_short = self.exchange.is_short(key);
        let Some(app) = self.apps.get_mut(&key) else { return };
        let (Some(pump), Some(line)) = (&mut app.pump, self.exchange.line(key)) else { return };
        let result = pump.run(line, &mut app.socket, is_short);
        self.exchange.touched(key);
        let Left { has_more, awaits_acknowledgment } = match result {
            Ok(left) => left,
            Err(errno) => {
                self.apps.remove(&key);
                self.forget(key);
                return self.exchange.close(now, key, errno);
            }
        };
        if has_more {
            self.more.push_back(key);
        }
        if awaits_acknowledgment {
            self.awaited.insert(key)
        } else {
            self.awaited.remove(&key)
        };
        if is_short {
            self.short.insert(key)
        } else {
            self.short.remove(&key)
        };
    }

    /// Everything that connections have to say to applications, and those that go on without a reason from outside.
    fn settle(&mut self, now: Instant) {
        for _ in 0..self.more.len() {
            let Some(key) = self.more.pop_front() else { break };
            self.pump(now, key);
        }
        if self.exchange.memory() <= self.config.memory.0 {
            std::mem::take(&mut self.short).into_iter().for_each(|key| self.pump(now, key));
        }
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
        for key in self.awaited.iter().copied().collect::<Vec<_>>() {
            self.pump(now, key);
        }
    }

    fn beat(&mut self, now: Instant) {
        if now < self.next_beat {
            return;
        }
        self.next_beat = now + BEAT;
        let fresh = || entropy::bytes().unwrap_or([0; 32]);
        if self.association.gives_up(now, self.config.silence, fresh) {
            self.counts.gave_up += 1;
            self.exchange.forget_peer(libc::ETIMEDOUT as u16);
        }
        let held = self.apps.values().filter_map(|app| app.pump.as_ref()).map(|pump| pump.held() as u64).sum();
        self.counts.bytes_held = held;
        let facts = Facts {
            name: &self.config.name,
            peer: self.config.peer.to_string(),
            uptime_ns: now.saturating_since(self.started).as_nanos(),
            association: &self.association,
            exchange: &self.exchange,
            applications: self.apps.len(),
            counts: self.counts.named(),
        };
        self.status.serve(now, || Status::of(&facts, now));
    }

    fn receive(&mut self, now: Instant) {
        let mut buffer = [0; 9216];
        for _ in 0..TURN {
            let length = match self.udp.recv(&mut buffer) {
                Ok(length) => length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // An ICMP error about a datagram of ours.
                Err(_) => continue,
            };
            self.counts.datagrams_received += 1;
            let datagram = Bytes::copy_from_slice(&buffer[..length]);
            match self.association.handle(now, self.config.peer, datagram) {
                Arrived::Frame(frame) => self.exchange.handle_frame(now, frame),
                Arrived::OtherLife => self.exchange.forget_peer(libc::ECONNRESET as u16),
                Arrived::Done => {}
            }
        }
        // There may be more, and changes are told once: look again after the others.
        self.is_busy = true;
    }

    fn transmit(&mut self, now: Instant) {
        let mut datagram = Vec::with_capacity(2048);
        if self.unsent.take().is_some_and(|datagram| !self.send(datagram)) {
            return;
        }
        while self.association.poll_handshake(now, &mut datagram) {
            let handshake = std::mem::take(&mut datagram);
            if !self.send(handshake) {
                return;
            }
        }
        for _ in 0..TURN {
            if !self.exchange.poll_transmit(now, &mut datagram) {
                return;
            }
            if self.association.seal(&mut datagram) {
                let frame = std::mem::take(&mut datagram);
                if !self.send(frame) {
                    return;
                }
            }
        }
        self.is_busy = true;
    }

    /// False if the kernel has no room: it is sent later.
    fn send(&mut self, datagram: Vec<u8>) -> bool {
        match self.udp.send(&datagram) {
            Ok(_) => self.counts.datagrams_sent += 1,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                self.unsent = Some(datagram);
                return false;
            }
            // No way there, for now: as if it were lost.
            Err(_) => self.counts.datagrams_unsent += 1,
        }
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

impl Counts {
    fn named(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("datagrams_received", self.datagrams_received),
            ("datagrams_sent", self.datagrams_sent),
            ("datagrams_unsent", self.datagrams_unsent),
            ("accepted", self.accepted),
            ("refused_peer", self.refused_peer),
            ("refused_not_allowed", self.refused_not_allowed),
            ("refused_by_host", self.refused_by_host),
            ("gave_up", self.gave_up),
            ("bytes_held", self.bytes_held),
        ]
    }
}

fn datagrams(config: &Config) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind(config.listen)?;
    socket.connect(config.peer)?;
    socket.set_nonblocking(true)?;
    if config.peer.is_ipv4() {
        relay_socket::allow_fragments(socket.as_fd())?;
    }
    // Without the right to it the kernel's default has to do.
    let _ = set_receive_buffer(socket.as_fd(), RECEIVE_BUFFER);
    Ok(socket)
}

/// Where a connection that was taken is to lead.
fn opening_for(forward: &Forward, stream: &TcpStream) -> Option<Opening> {
    let source = if forward.keep_source { Some(stream.peer_addr().ok()?) } else { None };
    let (host, port) = match &forward.to {
        Some(to) => to.clone(),
        None => {
            let wanted = stream.local_addr().ok()?;
            (Host::Address(wanted.ip()), wanted.port())
        }
    };
    Some(Opening { host, port, source })
}

fn token_of(key: LineKey) -> u64 {
    u64::from(key.number) | u64::from(key.is_ours) << 32
}

fn key_of(token: u64) -> LineKey {
    LineKey { is_ours: token >> 32 & 1 == 1, number: token as u32 }
}
