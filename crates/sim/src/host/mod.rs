//! A host: the flows that end on a node, driven by packets and timers.

mod end;
mod probe;

pub use end::CONTROL_COUNTERS;

use crate::digest::Digest;
use crate::outcome::{FlowOutcome, ProbeOutcome, Sample};
use crate::rounds::Rounds;
use crate::topology::{Flow, FlowKind, RunSettings};
use airtcp_core::{Context, CreateReason, DropReason, Duration, Element, Instant, Packet, Port, Rng, SeqNum};
use airtcp_schemes::decoupling::datagrams;
use airtcp_tcp::{Config, Connection, Endpoint, Opening, Stats, Stream};
use end::End;
pub use probe::Asked;
use probe::Probe;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::IpAddr;

/// Ports of flow 0; flow n has the n-th after it.
const SENDER_PORT: u16 = 40_000;
const RECEIVER_PORT: u16 = 50_000;
/// How far below the wrap a run that tests it begins: a few hundred packets.
const BELOW_WRAP: u32 = 400_000;
/// The same for timestamps, in ms.
const BELOW_WRAP_MS: u32 = 3_000;

/// The flows that end on one node.
#[derive(Default)]
pub struct Host {
    sockets: Vec<Socket>,
    /// Local port and socket, by port.
    ports: Vec<(u16, u32)>,
    /// Sockets with hidden connections, whose ports are not in the list.
    circuits: Vec<u32>,
    probes: Vec<Probe>,
    /// Deadlines, possibly outdated: the socket's own deadline decides.
    timers: BinaryHeap<Reverse<(Instant, usize)>>,
}

/// One end of a flow.
struct Socket {
    flow: usize,
    name: String,
    kind: FlowKind,
    opening: Opening,
    role: Role,
    /// Of a flow that has not begun there is nothing, and of a plain receiver before its SYN.
    end: Option<End>,
    rng: Rng,
    /// Bytes the application has still to write: the connection takes what its send buffer holds.
    unwritten: u64,
    /// The sender's application has closed.
    has_closed: bool,
    /// The deadline that is in `timers`.
    armed: Option<Instant>,
    at_warmup: Stats,
    /// What the controller had counted then.
    controller_at_warmup: Vec<u64>,
    /// What its hidden connections had.
    counts_at_warmup: Vec<u64>,
    rounds: Rounds,
    rtt_samples: u64,
    series: Vec<Sample>,
    last_progress: (Instant, u64),
    longest_stall: Duration,
    established_at: Option<Instant>,
    completed_at: Option<Instant>,
    digest: Option<Digest>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Sender { start: Instant, size: Option<u64> },
    Receiver { size: Option<u64> },
}

fn endpoints(flow: usize, [from, to]: [IpAddr; 2]) -> [Endpoint; 2] {
    let port = |base: u16| base.wrapping_add(flow as u16);
    [Endpoint { address: from, port: port(SENDER_PORT) }, Endpoint { address: to, port: port(RECEIVER_PORT) }]
}

impl Host {
    /// Adds the sending end of flow `id`, whose ends have the addresses `[from, to]`.
    pub fn add_sender(&mut self, id: usize, flow: &Flow, ends: [IpAddr; 2], run: &RunSettings) {
        let start = Instant::ZERO + flow.start;
        let [sender, receiver] = endpoints(id, ends);
        self.add(id, flow, [sender, receiver], Role::Sender { start, size: flow.size }, run);
        let index = self.sockets.len() - 1;
        self.sockets[index].armed = Some(start);
        self.timers.push(Reverse((start, index)));
    }

    /// Adds the receiving end of flow `id`, whose ends have the addresses `[from, to]`.
    pub fn add_receiver(&mut self, id: usize, flow: &Flow, ends: [IpAddr; 2], run: &RunSettings) {
        let [sender, receiver] = endpoints(id, ends);
        self.add(id, flow, [receiver, sender], Role::Receiver { size: flow.size }, run);
    }

    /// Adds the asking end of probe `number`.
    pub fn add_probe(&mut self, number: usize, asked: Asked, ends: [IpAddr; 2]) {
        self.probes.push(Probe::new(number, asked, ends));
    }

    /// What its probes found, in the order in which they were added.
    pub fn probe_outcomes(&self) -> impl Iterator<Item = ProbeOutcome> {
        self.probes.iter().map(Probe::outcome)
    }

    fn add(&mut self, id: usize, flow: &Flow, [local, remote]: [Endpoint; 2], role: Role, run: &RunSettings) {
        let mut rng = Rng::derive(run.seed, &format!("flows.{}/{}", flow.name, local.port));
        let (sequence, stamp) = (rng.next_u64() as u32, rng.next_u64() as u32);
        let has_digest = run.digests && flow.size.is_some();
        let config = Config { auto_read: !has_digest, random_seed: rng.next_u64(), ..flow.tcp.clone() };
        let place = self.ports.partition_point(|(port, _)| *port < local.port);
        self.ports.insert(place, (local.port, self.sockets.len() as u32));
        let is_sender = matches!(role, Role::Sender { .. });
        let kind = flow.kind.clone().numbered(id);
        let opening = Opening {
            config,
            local,
            remote,
            initial_sequence: SeqNum(if run.near_wrap { u32::MAX - BELOW_WRAP } else { sequence }),
            timestamp_offset: if run.near_wrap { u32::MAX - BELOW_WRAP_MS } else { stamp },
            source: Stream::Virtual { id: if is_sender { id as u64 } else { (1 << 32) + id as u64 } },
        };
        if !matches!(flow.kind, FlowKind::Tcp) {
            self.circuits.push(self.sockets.len() as u32);
        }
        self.sockets.push(Socket {
            flow: id,
            name: flow.name.clone(),
            end: if is_sender { None } else { End::listen(&kind, &opening, &mut rng) },
            kind,
            opening,
            role,
            rng,
            unwritten: match role {
                Role::Sender { size, .. } => size.unwrap_or(u64::MAX),
                Role::Receiver { .. } => 0,
            },
            has_closed: false,
            armed: None,
            at_warmup: Stats::default(),
            controller_at_warmup: Vec::new(),
            counts_at_warmup: Vec::new(),
            rounds: Rounds::default(),
            rtt_samples: 0,
            series: Vec::new(),
            last_progress: (Instant::ZERO, 0),
            longest_stall: Duration::ZERO,
            established_at: None,
            completed_at: None,
            digest: has_digest.then(Digest::default),
        });
    }

    /// Everything before this is left out of rates.
    pub fn on_warm(&mut self) {
        for socket in &mut self.sockets {
            socket.at_warmup = socket.stats();
            socket.controller_at_warmup = socket.controller_counts().into_iter().map(|(_, count)| count).collect();
            socket.counts_at_warmup = socket.counts().into_iter().map(|(_, count)| count).collect();
            socket.rounds.clear();
        }
    }

    /// Notes every flow's progress, and records it if there is a series to record it in.
    pub fn sample(&mut self, at: Instant, repairs: u64, series: bool) {
        for socket in &mut self.sockets {
            let Some(end) = &socket.end else { continue };
            let stats = end.stats();
            let (cwnd, srtt) = end.window();
            let (delivered, acked) = (stats.bytes_delivered, stats.bytes_acknowledged);
            if delivered > socket.last_progress.1 {
                socket.note_progress(at, delivered);
            }
            if series {
                socket.series.push(Sample { at, delivered, acked, cwnd, srtt, repairs });
            }
        }
    }

    /// The socket that a packet is for.
    #[inline]
    fn socket_for(&self, packet: &Packet) -> Option<usize> {
        if !self.circuits.is_empty()
            && let Some(index) = self.owner_of(packet)
        {
            return Some(index);
        }
        self.socket_at(packet.tcp()?.destination_port)
    }

    /// The socket with the hidden connection, or the datagrams, that a packet belongs to.
    fn owner_of(&self, packet: &Packet) -> Option<usize> {
        if packet.tcp().is_none() {
            return self.socket_at(datagrams::destination_port(packet)?);
        }
        let owns =
            |index: &&u32| self.sockets[**index as usize].end.as_ref().is_some_and(|end| end.owns_control(packet));
        self.circuits.iter().find(owns).map(|index| *index as usize)
    }

    #[inline]
    fn socket_at(&self, port: u16) -> Option<usize> {
        let place = self.ports.binary_search_by_key(&port, |(port, _)| *port).ok()?;
        Some(self.ports[place].1 as usize)
    }

    fn socket_of(&self, flow: usize, wants_sender: bool) -> Option<&Socket> {
        self.sockets
            .iter()
            .find(|socket| socket.flow == flow && matches!(socket.role, Role::Sender { .. }) == wants_sender)
    }

    /// Bytes of a flow that were acknowledged to its sender.
    pub fn bytes_acknowledged(&self, flow: usize) -> u64 {
        self.socket_of(flow, true).map_or(0, |socket| socket.stats().bytes_acknowledged)
    }

    /// The receiver's half of a flow's outcome, of which so many bytes were acknowledged to the sender.
    pub fn receiver_outcome(&mut self, flow: usize, end: Instant, acknowledged: u64) -> FlowOutcome {
        let Some(socket) = self.socket_of(flow, false) else { return FlowOutcome::default() };
        let stats = socket.stats();
        let stalled = match socket.completed_at {
            Some(_) => Duration::ZERO,
            None => end.saturating_since(socket.last_progress.0),
        };
        FlowOutcome {
            name: socket.name.clone(),
            measured_bytes: stats.bytes_delivered - socket.at_warmup.bytes_delivered,
            total_bytes: stats.bytes_delivered,
            completed_at: socket.completed_at,
            acknowledged_missing: socket.connection().map_or(0, |connection| connection.missing_of(acknowledged)),
            control: socket.counts_since_warmup(),
            longest_stall: socket.longest_stall.max(stalled),
            received_sha256: socket.digest.as_ref().map(Digest::finish),
            series: socket.series.clone(),
            ..FlowOutcome::default()
        }
    }

    /// Adds the sender's half.
    pub fn complete_outcome(&mut self, flow: usize, received: FlowOutcome) -> FlowOutcome {
        let Some(socket) = self.socket_of(flow, true) else { return received };
        let (stats, before) = (socket.stats(), &socket.at_warmup);
        let mut series = received.series.clone();
        // Both ends are sampled at the same times once both exist; the sender exists first.
        for point in &mut series {
            if let Ok(index) = socket.series.binary_search_by_key(&point.at, |sample| sample.at) {
                let sample = socket.series[index];
                (point.acked, point.cwnd, point.srtt) = (sample.acked, sample.cwnd, sample.srtt);
            }
        }
        FlowOutcome {
            established_at: socket.established_at,
            acked_bytes: stats.bytes_acknowledged,
            segments_sent: stats.segments_sent,
            retransmitted_segments: stats.retransmitted_segments - before.retransmitted_segments,
            rtos: stats.rtos - before.rtos,
            controller: socket.controller_since_warmup(),
            rtt: socket.rounds.percentiles(),
            control: [socket.counts_since_warmup(), received.control].concat(),
            segment_bytes: socket.connection().map_or(0, Connection::mss),
            sent_sha256: socket.sent_digest(),
            series,
            ..received
        }
    }

    /// The first stream that did not arrive as it was sent.
    pub fn stream_failure(&self) -> Option<String> {
        self.sockets.iter().find_map(|socket| {
            let broken = socket.connection()?.stream_check().err()?;
            Some(format!("flow {}: {broken}", socket.name))
        })
    }

    /// A packet for no socket: of a probe, or to be answered.
    fn handle_stray(&mut self, cx: &mut Context<'_>, packet: Packet) {
        let now = cx.now();
        if self.probes.iter_mut().any(|probe| probe.take(now, &packet)) {
            return cx.consume(packet);
        }
        let Some(answer) = probe::answer(&packet) else { return cx.discard(packet, DropReason::NO_SOCKET) };
        cx.consume(packet);
        let answer = cx.create(answer, CreateReason::TRANSMIT);
        cx.send(Port::LINK, answer);
    }

    /// Sends what a socket has to send and keeps its timer armed.
    fn drive(&mut self, cx: &mut Context<'_>, index: usize) {
        let socket = &mut self.sockets[index];
        let Some(end) = &mut socket.end else { return };
        while let Some(packet) = end.poll_transmit(cx.now()) {
            let packet = cx.create(packet, CreateReason::TRANSMIT);
            cx.send(Port::LINK, packet);
        }
        let due = end.poll_timeout();
        if let Some(due) = due
            && socket.armed.is_none_or(|armed| due < armed)
        {
            socket.armed = Some(due);
            self.timers.push(Reverse((due, index)));
        }
    }
}

/// Counts without what they were before.
fn since(counts: Vec<(&'static str, u64)>, before: &[u64]) -> Vec<(&'static str, u64)> {
    let before = before.iter().copied().chain(std::iter::repeat(0));
    counts.into_iter().zip(before).map(|((name, count), before)| (name, count.saturating_sub(before))).collect()
}

impl Socket {
    fn stats(&self) -> Stats {
        self.end.as_ref().map_or_else(Stats::default, End::stats)
    }

    #[inline]
    fn connection(&self) -> Option<&Connection> {
        self.end.as_ref()?.connection()
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        self.end.as_ref().map_or_else(Vec::new, End::counts)
    }

    fn counts_since_warmup(&self) -> Vec<(&'static str, u64)> {
        since(self.counts(), &self.counts_at_warmup)
    }

    fn controller_counts(&self) -> Vec<(&'static str, u64)> {
        let mut counts = Vec::new();
        if let Some(connection) = self.connection() {
            connection.controller_info(&mut |name, count| counts.push((name, count)));
        }
        counts
    }

    fn controller_since_warmup(&self) -> Vec<(&'static str, u64)> {
        since(self.controller_counts(), &self.controller_at_warmup)
    }

    fn sent_digest(&self) -> Option<[u8; 32]> {
        let Role::Sender { size, .. } = self.role else { return None };
        self.digest.as_ref().zip(size).map(|(_, size)| Digest::of_virtual(self.flow as u64, size))
    }

    fn note_progress(&mut self, now: Instant, delivered: u64) {
        self.longest_stall = self.longest_stall.max(now.saturating_since(self.last_progress.0));
        self.last_progress = (now, delivered);
    }

    fn connect(&mut self, now: Instant) {
        self.end = Some(End::connect(&self.kind, &self.opening, &mut self.rng, now));
        self.write();
    }

    /// Writes as much as fits, and closes behind the last byte of a file.
    fn write(&mut self) {
        let Some(connection) = self.end.as_mut().and_then(End::connection_mut) else { return };
        if self.unwritten > 0 {
            self.unwritten -= connection.write_virtual(self.unwritten);
        }
        // Closing before the handshake is giving up, unless something was written.
        let is_file = matches!(self.role, Role::Sender { size: Some(_), .. });
        let wrote = connection.is_established() || !matches!(self.role, Role::Sender { size: Some(0), .. });
        if is_file && self.unwritten == 0 && wrote && !self.has_closed {
            self.has_closed = true;
            connection.close();
        }
    }

    /// After a segment: the receiver closes when the sender did, and progress is noted.
    fn on_handled(&mut self, now: Instant) {
        let Some(end) = &mut self.end else { return };
        let Some(connection) = end.connection_mut() else {
            let delivered = end.stats().bytes_delivered;
            if delivered > self.last_progress.1 {
                self.note_progress(now, delivered);
            }
            return;
        };
        if let Some(digest) = &mut self.digest {
            while let Some(chunk) = connection.read(u64::MAX) {
                digest.update(&chunk);
            }
        }
        let stats = connection.stats();
        if let Role::Receiver { size } = self.role {
            let delivered = stats.bytes_delivered;
            if self.completed_at.is_none() && size.is_some_and(|size| delivered >= size) {
                self.completed_at = Some(now);
                connection.close();
            }
            if delivered > self.last_progress.1 {
                self.note_progress(now, delivered);
            }
        } else {
            if self.established_at.is_none() && connection.is_established() {
                self.established_at = Some(now);
            }
            if stats.rtt_samples != self.rtt_samples {
                self.rtt_samples = stats.rtt_samples;
                self.rounds.record(stats.latest_rtt);
            }
            self.write();
        }
    }
}

impl Element for Host {
    fn handle_packet(&mut self, cx: &mut Context<'_>, _port: Port, packet: Packet) {
        if packet.is_corrupted() {
            cx.discard(packet, DropReason::CORRUPTED);
            return;
        }
        let Some(index) = self.socket_for(&packet) else { return self.handle_stray(cx, packet) };
        let now = cx.now();
        let socket = &mut self.sockets[index];
        match &mut socket.end {
            Some(end) => end.handle_packet(now, &packet),
            None => {
                if matches!(socket.role, Role::Receiver { .. }) {
                    socket.end = End::accept(&socket.opening, &packet, now);
                    socket.last_progress = (now, 0);
                }
                if socket.end.is_none() {
                    cx.discard(packet, DropReason::NO_SOCKET);
                    return;
                }
            }
        }
        socket.on_handled(now);
        let spent = cx.consume_and_keep(packet);
        if let Some(end) = &mut socket.end {
            end.reuse(spent);
        }
        self.drive(cx, index);
    }

    fn handle_timeout(&mut self, cx: &mut Context<'_>) {
        let now = cx.now();
        for probe in &mut self.probes {
            while let Some(packet) = probe.poll(now) {
                let packet = cx.create(packet, CreateReason::TRANSMIT);
                cx.send(Port::LINK, packet);
            }
        }
        while let Some(Reverse((due, index))) = self.timers.peek().copied() {
            if due > now {
                break;
            }
            self.timers.pop();
            let socket = &mut self.sockets[index];
            // An earlier deadline has taken its place since.
            if socket.armed != Some(due) {
                continue;
            }
            socket.armed = None;
            match (&mut socket.end, socket.role) {
                (None, Role::Sender { start, .. }) if start <= now => socket.connect(now),
                (Some(end), _) if end.poll_timeout().is_some_and(|due| due <= now) => end.handle_timeout(now),
                _ => {}
            }
            self.drive(cx, index);
        }
    }

    fn check(&self) -> Result<(), &'static str> {
        self.circuits.iter().filter_map(|index| self.sockets[*index as usize].end.as_ref()).try_for_each(End::check)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let socket = self.timers.peek().map(|Reverse((due, _))| *due);
        let probe = self.probes.iter().filter_map(Probe::next).min();
        socket.into_iter().chain(probe).min()
    }
}
