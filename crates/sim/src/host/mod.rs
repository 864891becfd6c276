//! A host: the flows that end on a node, driven by packets and timers.

mod application;
mod deadlines;
mod probe;
mod requests;
mod socket;

use crate::digest::Digest;
use crate::fetch::{fetch_bytes, fetch_from};
use crate::index::{FlowId, ProbeId, SocketId, WorkloadId};
use crate::outcome::{FlowOutcome, ProbeOutcome, Sample, WorkloadOutcome};
use crate::settings::RunSettings;
use crate::topology::FlowSpec;
use airtcp_core::{Context, CreateReason, DropReason, Duration, Element, Instant, Packet, Port, Rng, SeqNum};
use airtcp_schemes::socket::{FlowEnd, destination_port};
use airtcp_tcp::{Config, Connection, Endpoint, Opening, Outlet, Stats, Stream};
use application::Role;
use deadlines::Deadlines;
use probe::Probe;
pub use probe::ProbeSpec;
pub use requests::{Requests, Side};
use socket::FlowSocket;
use std::net::IpAddr;
use typed_index_collections::TiVec;

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
    sockets: TiVec<SocketId, FlowSocket>,
    deadlines: Deadlines,
    more: Option<Box<More>>,
}

/// What few hosts have.
#[derive(Default)]
struct More {
    /// Local port and socket, by port; of the only socket it need not be here.
    ports: Vec<(u16, SocketId)>,
    /// Sockets that may have hidden connections, whose ports are not in the list.
    with_hidden: Vec<SocketId>,
    probes: Vec<Probe>,
    workloads: Vec<Requests>,
}

fn endpoints(flow: FlowId, [from, to]: [IpAddr; 2]) -> [Endpoint; 2] {
    let port = |base: u16| base.wrapping_add(usize::from(flow) as u16);
    [Endpoint { address: from, port: port(SENDER_PORT) }, Endpoint { address: to, port: port(RECEIVER_PORT) }]
}

impl Host {
    /// Adds the sending end of flow `id`, whose ends have the addresses `[from, to]`.
    pub fn add_sender(&mut self, id: FlowId, flow: &FlowSpec, ends: [IpAddr; 2], run: &RunSettings) {
        let start = Instant::ZERO + flow.start;
        let [sender, receiver] = endpoints(id, ends);
        let index = self.add(id, flow, [sender, receiver], Role::Sender { start, size: flow.size }, run);
        self.deadlines.arm(&mut self.sockets[index].armed, index, start);
    }

    /// Adds the receiving end of flow `id`, whose ends have the addresses `[from, to]`.
    pub fn add_receiver(&mut self, id: FlowId, flow: &FlowSpec, ends: [IpAddr; 2], run: &RunSettings) {
        let [sender, receiver] = endpoints(id, ends);
        self.add(id, flow, [receiver, sender], Role::Receiver { size: flow.size }, run);
    }

    /// Adds the asking end of probe `id`.
    pub fn add_probe(&mut self, id: ProbeId, spec: ProbeSpec, ends: [IpAddr; 2]) {
        self.more.get_or_insert_default().probes.push(Probe::new(id, spec, ends));
        self.settle();
    }

    /// What its probes found, in the order in which they were added.
    pub fn probe_outcomes(&self) -> impl Iterator<Item = ProbeOutcome> {
        self.more.iter().flat_map(|more| &more.probes).map(Probe::outcome)
    }

    /// Adds an end of a workload.
    pub fn add_requests(&mut self, requests: Requests) {
        self.more.get_or_insert_default().workloads.push(requests);
        self.settle();
    }

    /// What a workload found whose client is here.
    pub fn workload_outcome(&self, id: WorkloadId) -> Option<WorkloadOutcome> {
        self.workloads().iter().find_map(|requests| requests.outcome(id))
    }

    fn workloads(&self) -> &[Requests] {
        self.more.as_ref().map_or(&[], |more| &more.workloads)
    }

    fn workloads_mut(&mut self) -> &mut [Requests] {
        self.more.as_mut().map_or(&mut [], |more| &mut more.workloads)
    }

    fn add(
        &mut self,
        id: FlowId,
        flow: &FlowSpec,
        [local, remote]: [Endpoint; 2],
        role: Role,
        run: &RunSettings,
    ) -> SocketId {
        let mut rng = Rng::derive(run.seed, &format!("flows.{}/{}", flow.name, local.port));
        let (sequence, stamp) = (rng.next_u64() as u32, rng.next_u64() as u32);
        let has_digest = run.digests && flow.size.is_some();
        let config = Config { auto_read: !has_digest, random_seed: rng.next_u64(), ..(*flow.tcp).clone() };
        let upper = if matches!(role, Role::Sender { .. }) { 0 } else { 1 << 32 };
        let opening = Opening {
            config,
            local,
            remote,
            initial_sequence: SeqNum(if run.near_wrap { u32::MAX - BELOW_WRAP } else { sequence }),
            timestamp_offset: if run.near_wrap { u32::MAX - BELOW_WRAP_MS } else { stamp },
            source: Stream::Virtual { id: upper + usize::from(id) as u64 },
        };
        if self.sockets.is_empty() {
            self.sockets.reserve_exact(1); // Most hosts have one, and of thousands of hosts each would have room for four.
        }
        let socket = self.sockets.push_and_get_key(FlowSocket::new(id, flow, opening, role, rng, has_digest));
        if !flow.socket.is_tcp() {
            self.more.get_or_insert_default().with_hidden.push(socket);
        }
        self.list_ports();
        socket
    }

    /// Notes the port of the last socket, and if it is the second that of the first.
    fn list_ports(&mut self) {
        if self.sockets.len() < 2 {
            return;
        }
        let ports = &mut self.more.get_or_insert_default().ports;
        for (id, socket) in self.sockets.iter_enumerated().skip(ports.len()) {
            let place = ports.partition_point(|(port, _)| *port < socket.port);
            ports.insert(place, (socket.port, id));
        }
    }

    /// Everything before this is left out of rates.
    pub fn on_warm(&mut self) {
        self.sockets.iter_mut().for_each(FlowSocket::on_warm);
        self.workloads_mut().iter_mut().for_each(Requests::on_warm);
    }

    /// Notes every flow's progress, and records it if there is a series to record it in.
    pub fn sample(&mut self, at: Instant, repairs: u64, series: bool) {
        for socket in &mut self.sockets {
            let Some(end) = &socket.end else { continue };
            // What TCP delivers is noted segment by segment.
            if !series && matches!(end, FlowEnd::Tcp(_)) {
                continue;
            }
            let progress = |stats: &Stats| (stats.bytes_delivered, stats.bytes_acknowledged);
            let (delivered, acked) = match end.connection() {
                Some(connection) => progress(connection.stats()),
                None => progress(&end.stats()),
            };
            if series {
                let (cwnd, srtt) = end.window();
                let sample = Sample { at, delivered, acked, cwnd, srtt, repairs };
                socket.record.get_or_insert_default().series.push(sample);
            }
            socket.application.note_progress(at, delivered);
        }
    }

    /// Has the socket of a packet that will arrive fetched, and how it is found.
    pub fn fetch_socket(&self, packet: &Packet) {
        self.deadlines.fetch();
        self.likely_socket(packet).into_iter().for_each(|socket| fetch_from(socket, FlowSocket::OFTEN));
    }

    /// The same of its connection: once the socket is there.
    pub fn fetch_connection(&self, packet: &Packet) {
        let end = self.likely_socket(packet).and_then(|socket| socket.end.as_ref());
        let Some(connection) = end.and_then(FlowEnd::connection) else { return };
        if packet.payload_len() > 0 {
            const { Connection::touched(true) }.into_iter().for_each(|bytes| fetch_bytes(connection, bytes));
        } else {
            const { Connection::touched(false) }.into_iter().for_each(|bytes| fetch_bytes(connection, bytes));
        }
    }

    /// The socket that a packet is most likely for. Where there is only one, the list of ports need not be read.
    #[inline]
    fn likely_socket(&self, packet: &Packet) -> Option<&FlowSocket> {
        match &self.sockets.raw[..] {
            [only] => Some(only),
            _ => Some(&self.sockets[self.socket_at(packet.tcp()?.destination_port)?]),
        }
    }

    /// The socket that a packet is for.
    #[inline]
    fn socket_for(&self, packet: &Packet) -> Option<SocketId> {
        if let Some(more) = &self.more
            && !more.with_hidden.is_empty()
            && let Some(index) = self.owner_of(&more.with_hidden, packet)
        {
            return Some(index);
        }
        self.socket_at(packet.tcp()?.destination_port)
    }

    /// The socket with the hidden connection, or the datagrams, that a packet belongs to.
    #[inline(never)]
    fn owner_of(&self, with_hidden: &[SocketId], packet: &Packet) -> Option<SocketId> {
        if packet.tcp().is_none() {
            return self.socket_at(destination_port(packet)?);
        }
        let owns = |index: &&SocketId| self.sockets[**index].end.as_ref().is_some_and(|end| end.owns(packet));
        with_hidden.iter().find(owns).copied()
    }

    fn socket_at(&self, port: u16) -> Option<SocketId> {
        if let [only] = &self.sockets.raw[..] {
            return (only.port == port).then_some(SocketId::from(0));
        }
        // The ports of flows between the same hosts follow each other.
        let ports = &self.more.as_ref()?.ports;
        let (first, _) = ports.first()?;
        if let Some((known, socket)) = ports.get(usize::from(port.wrapping_sub(*first)))
            && *known == port
        {
            return Some(*socket);
        }
        let place = ports.binary_search_by_key(&port, |(port, _)| *port).ok()?;
        Some(ports[place].1)
    }

    fn socket_of(&self, flow: FlowId, wants_sender: bool) -> Option<&FlowSocket> {
        self.sockets.iter().find(|socket| {
            socket.flow == flow && matches!(socket.application.role, Role::Sender { .. }) == wants_sender
        })
    }

    /// Bytes of a flow that were acknowledged to its sender.
    pub fn bytes_acknowledged(&self, flow: FlowId) -> u64 {
        self.socket_of(flow, true).map_or(0, |socket| socket.stats().bytes_acknowledged)
    }

    /// The receiver's half of a flow's outcome, of which so many bytes were acknowledged to the sender.
    pub fn receiver_outcome(&mut self, flow: FlowId, end: Instant, acknowledged: u64) -> FlowOutcome {
        let Some(socket) = self.socket_of(flow, false) else { return FlowOutcome::default() };
        let stats = socket.stats();
        let stalled = match socket.application.completed_at {
            Some(_) => Duration::ZERO,
            None => end.saturating_since(socket.application.last_progress.0),
        };
        FlowOutcome {
            name: socket.name.to_string(),
            measured_bytes: stats.bytes_delivered - socket.before(|stats| stats.bytes_delivered),
            total_bytes: stats.bytes_delivered,
            completed_at: socket.application.completed_at,
            acknowledged_missing: socket.connection().map_or(0, |connection| connection.missing_of(acknowledged)),
            control: socket.counts_since_warmup(),
            delay: (socket.application.rounds.count() > 0).then(|| socket.application.rounds.percentiles()),
            longest_stall: socket.application.longest_stall.max(stalled),
            received_sha256: socket.application.digest.as_deref().map(Digest::finish),
            series: socket.series().to_vec(),
            ..FlowOutcome::default()
        }
    }

    /// Adds the sender's half.
    pub fn complete_outcome(&mut self, flow: FlowId, received: FlowOutcome) -> FlowOutcome {
        let Some(socket) = self.socket_of(flow, true) else { return received };
        let stats = socket.stats();
        let mut series = received.series.clone();
        // Both ends are sampled at the same times once both exist; the sender exists first.
        for point in &mut series {
            if let Ok(index) = socket.series().binary_search_by_key(&point.at, |sample| sample.at) {
                let sample = socket.series()[index];
                (point.acked, point.cwnd, point.srtt) = (sample.acked, sample.cwnd, sample.srtt);
            }
        }
        FlowOutcome {
            established_at: socket.application.established_at,
            acked_bytes: stats.bytes_acknowledged,
            segments_sent: stats.segments_sent,
            retransmitted_segments: stats.retransmitted_segments - socket.before(|stats| stats.retransmitted_segments),
            rtos: stats.rtos - socket.before(|stats| stats.rtos),
            controller: socket.controller_since_warmup(),
            rtt: socket.application.rounds.percentiles(),
            control: [socket.counts_since_warmup(), received.control].concat(),
            segment_bytes: socket.connection().map_or(0, Connection::mss),
            sent_sha256: socket.application.sent_digest(flow),
            series,
            ..received
        }
    }

    /// The first stream that did not arrive as it was sent.
    pub fn stream_failure(&self) -> Option<String> {
        let of_flow = self.sockets.iter().find_map(|socket| {
            let broken = socket.connection()?.stream_check().err()?;
            Some(format!("flow {}: {broken}", socket.name))
        });
        of_flow.or_else(|| self.workloads().iter().find_map(Requests::stream_failure))
    }

    /// Sees which is the first of all deadlines.
    fn settle(&mut self) {
        self.deadlines.settle(self.others());
    }

    /// When probes and workloads have something to do.
    fn others(&self) -> Instant {
        self.more.as_ref().and_then(|more| more.next()).unwrap_or(Instant::MAX)
    }

    /// A packet for no flow.
    #[inline(never)]
    fn handle_stray(&mut self, cx: &mut Context<'_>, packet: Packet) {
        self.take_stray(cx, packet);
        self.deadlines.note(self.others());
    }

    /// It is of a workload, of a probe, or to be answered.
    fn take_stray(&mut self, cx: &mut Context<'_>, packet: Packet) {
        for requests in self.workloads_mut() {
            if let Some(number) = requests.number_of(&packet) {
                return requests.handle_packet(cx, number, packet);
            }
        }
        let now = cx.now();
        if self.more.iter_mut().flat_map(|more| &mut more.probes).any(|probe| probe.take(now, &packet)) {
            return cx.consume(packet);
        }
        let Some(answer) = probe::answer(&packet) else { return cx.discard(packet, DropReason::NO_SOCKET) };
        cx.consume(packet);
        send(cx, answer);
    }

    /// A packet for a socket that has no end yet; it may open one.
    #[cold]
    fn handle_first(&mut self, cx: &mut Context<'_>, index: SocketId, packet: Packet) {
        let socket = &mut self.sockets[index];
        socket.accept(cx.now(), &packet);
        match &mut socket.end {
            Some(FlowEnd::Tcp(connection)) => socket.application.on_segment(cx.now(), connection),
            Some(FlowEnd::Other(other)) => socket.application.on_packet(cx.now(), &mut **other),
            None => return cx.discard(packet, DropReason::NO_SOCKET),
        }
        cx.consume(packet);
        self.drive(cx, index);
    }

    /// Before it is called at `now`: what has a later deadline by now than when it asked, as most timers have when they run out, asks anew.
    pub fn put_off(&mut self, now: Instant) {
        self.next_expired(now);
        self.settle();
    }

    /// The socket that is the first among those whose deadline has come. [`Host::settle`] has to follow.
    fn next_expired(&mut self, now: Instant) -> Option<SocketId> {
        while let Some((due, index)) = self.deadlines.due(now) {
            let FlowSocket { end, armed, .. } = &mut self.sockets[index];
            if *armed != due {
                // An earlier deadline has taken its place since.
                self.deadlines.pop();
                continue;
            }
            let moved = end.as_ref().map(|end| end.poll_timeout().unwrap_or(Instant::MAX));
            let Some(due) = moved.filter(|due| *due > now) else { return Some(index) };
            *armed = due;
            self.deadlines.put_off(due);
        }
        None
    }

    /// Sends what a socket has to send and keeps its timer armed.
    fn drive(&mut self, cx: &mut Context<'_>, index: SocketId) {
        let FlowSocket { end: Some(end), armed, .. } = &mut self.sockets[index] else { return };
        end.transmit(cx.now(), &mut HostOutlet(cx));
        self.deadlines.arm(armed, index, end.poll_timeout().unwrap_or(Instant::MAX));
    }

    /// When it wants to be called; the end of time for never.
    #[inline]
    pub fn deadline(&self) -> Instant {
        self.deadlines.first()
    }
}

impl More {
    /// When the probes and workloads have something to do.
    fn next(&self) -> Option<Instant> {
        let probes = self.probes.iter().filter_map(Probe::next);
        probes.chain(self.workloads.iter().filter_map(Requests::poll_timeout)).min()
    }

    fn handle_timeout(&mut self, cx: &mut Context<'_>) {
        let now = cx.now();
        for probe in &mut self.probes {
            std::iter::from_fn(|| probe.poll(now)).for_each(|packet| send(cx, packet));
        }
        self.workloads.iter_mut().for_each(|requests| requests.handle_timeout(cx));
    }
}

/// A connection's packets leave its host.
struct HostOutlet<'a, 'c>(&'a mut Context<'c>);

impl Outlet for HostOutlet<'_, '_> {
    #[inline]
    fn send(&mut self, packet: Packet) {
        send(self.0, packet);
    }

    fn take_spare(&mut self) -> Option<Packet> {
        self.0.take_spare()
    }
}

/// Sends a packet that was made here.
#[inline]
fn send(cx: &mut Context<'_>, packet: Packet) {
    let packet = cx.create(packet, CreateReason::TRANSMIT);
    cx.send(Port::LINK, packet);
}

impl Element for Host {
    fn handle_packet(&mut self, cx: &mut Context<'_>, _port: Port, packet: Packet) {
        if packet.is_corrupted() {
            cx.discard(packet, DropReason::CORRUPTED);
            return;
        }
        let now = cx.now();
        let (index, socket) = match &mut self.sockets.raw[..] {
            // As on most hosts: its own port is nearer than the list.
            [only]
                if self.more.as_ref().is_none_or(|more| more.with_hidden.is_empty())
                    && packet.tcp().is_some_and(|tcp| tcp.destination_port == only.port) =>
            {
                (SocketId::from(0), only)
            }
            _ => {
                let Some(index) = self.socket_for(&packet) else { return self.handle_stray(cx, packet) };
                (index, &mut self.sockets[index])
            }
        };
        let FlowSocket { end, application, armed, .. } = socket;
        let due = match end {
            Some(FlowEnd::Tcp(connection)) => {
                connection.handle_segment(now, &packet);
                application.on_segment(now, connection);
                if let Some(spare) = connection.reuse(cx.consume_and_keep(packet)) {
                    cx.keep_spare(spare);
                }
                connection.transmit(now, &mut HostOutlet(cx));
                connection.deadline()
            }
            Some(FlowEnd::Other(socket)) => {
                socket.handle_packet(now, &packet);
                application.on_packet(now, &mut **socket);
                cx.consume(packet);
                std::iter::from_fn(|| socket.poll_transmit(now)).for_each(|packet| send(cx, packet));
                socket.poll_timeout().unwrap_or(Instant::MAX)
            }
            None => return self.handle_first(cx, index, packet),
        };
        self.deadlines.arm(armed, index, due);
    }

    fn handle_timeout(&mut self, cx: &mut Context<'_>) {
        let now = cx.now();
        if let Some(more) = &mut self.more {
            more.handle_timeout(cx);
        }
        while let Some(index) = self.next_expired(now) {
            self.deadlines.pop();
            let socket = &mut self.sockets[index];
            socket.armed = Instant::MAX;
            match (&mut socket.end, socket.application.role) {
                (Some(end), _) => end.handle_timeout(now),
                (None, Role::Sender { start, .. }) if start <= now => socket.connect(now),
                (None, _) => {}
            }
            self.drive(cx, index);
        }
        self.settle();
    }

    fn check(&self) -> Result<(), &'static str> {
        let with_hidden = self.more.iter().flat_map(|more| &more.with_hidden);
        with_hidden.filter_map(|index| self.sockets[*index].end.as_ref()).try_for_each(|end| end.check())
    }

    fn poll_timeout(&self) -> Option<Instant> {
        Some(self.deadline()).filter(|due| *due < Instant::MAX)
    }
}
