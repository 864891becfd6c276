//! One end of a workload: requests that begin when they are due, each over a connection of its own, as with HTTP/1.0.
//!
//! The client connects and asks. The server answers with as many bytes as the request is for, and closes; the client has
//! its answer when the last of them has come in order. Nothing waits for anything that came before (an open loop), unless
//! as many connections are open as the workload may have. A connection exists from its first packet until both ends have
//! closed, so a run costs what is open at one time, not what it serves in all.

use super::{HostOutlet, send};
use crate::index::WorkloadId;
use crate::outcome::{RequestOutcome, WorkloadOutcome};
use crate::topology::{Arrival, Workload};
use airtcp_core::{Context, DropReason, Instant, Packet, Rng, SeqNum};
use airtcp_tcp::{Connection, Endpoint, Opening, Stream, reset_reply};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::net::IpAddr;
use std::sync::Arc;

/// Ports of clients, below those of probes and flows.
const FIRST_CLIENT_PORT: u16 = 1_024;
const CLIENT_PORTS: u32 = Workload::CLIENT_PORTS;
/// Ports of servers, behind those of flows: so many for each workload.
const FIRST_SERVER_PORT: u16 = 61_000;
const SERVER_PORTS: u32 = Workload::SERVER_PORTS;

/// Streams of requests are named above those of flows.
const FIRST_STREAM: u64 = 1 << 40;
/// Those of answers above those of what asks for them.
const ANSWERS: u64 = 1 << 41;

/// Which end it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Asks.
    Client,
    /// Answers.
    Server,
}

/// See the module.
pub struct Requests {
    id: WorkloadId,
    side: Side,
    /// The server's address and the client's.
    ends: [IpAddr; 2],
    spec: Workload,
    seed: u64,
    /// The first that has not begun.
    next: u32,
    open: BTreeMap<u32, Exchange>,
    most_open: usize,
    /// Deadlines, possibly outdated: the connection's own deadline decides.
    timers: BinaryHeap<Reverse<(Instant, u32)>>,
    /// When each was answered, at the client.
    answered: Vec<Option<Instant>>,
    delivered: u64,
    delivered_at_warmup: u64,
    broken: Option<String>,
}

/// A connection of a request.
struct Exchange {
    connection: Connection,
    /// Bytes that the application has still to write.
    unwritten: u64,
    /// Bytes that it waits for.
    expected: u64,
    /// Bytes that had come at the last look.
    seen: u64,
    armed: Option<Instant>,
}

impl Exchange {
    fn new(connection: Connection, unwritten: u64, expected: u64) -> Exchange {
        Exchange { connection, unwritten, expected, seen: 0, armed: None }
    }

    fn write(&mut self) {
        if self.unwritten > 0 {
            self.unwritten -= self.connection.write_virtual(self.unwritten);
        }
    }
}

impl Requests {
    /// One end of a workload between the addresses `[from, to]`: of the server and of the client.
    pub fn new(id: WorkloadId, side: Side, spec: Workload, ends: [IpAddr; 2], seed: u64) -> Self {
        let answered = if side == Side::Client { vec![None; spec.arrivals.len()] } else { Vec::new() };
        Requests {
            id,
            side,
            ends,
            spec,
            seed,
            next: 0,
            open: BTreeMap::new(),
            most_open: 0,
            timers: BinaryHeap::new(),
            answered,
            delivered: 0,
            delivered_at_warmup: 0,
            broken: None,
        }
    }

    fn arrivals(&self) -> &Arc<[Arrival]> {
        &self.spec.arrivals
    }

    /// Server and client of a request.
    fn endpoints(&self, number: u32) -> [Endpoint; 2] {
        let server = FIRST_SERVER_PORT + (usize::from(self.id) as u32 * SERVER_PORTS + number / CLIENT_PORTS) as u16;
        let client = FIRST_CLIENT_PORT + (number % CLIENT_PORTS) as u16;
        [Endpoint { address: self.ends[0], port: server }, Endpoint { address: self.ends[1], port: client }]
    }

    /// The request that a packet for this end belongs to.
    pub fn number_of(&self, packet: &Packet) -> Option<u32> {
        let tcp = packet.tcp()?;
        let (server, client) = match self.side {
            Side::Client => (tcp.source_port, tcp.destination_port),
            Side::Server => (tcp.destination_port, tcp.source_port),
        };
        let server = u32::from(server.checked_sub(FIRST_SERVER_PORT)?);
        let client = u32::from(client.checked_sub(FIRST_CLIENT_PORT)?);
        let is_ours = server / SERVER_PORTS == usize::from(self.id) as u32 && client < CLIENT_PORTS;
        let number = server % SERVER_PORTS * CLIENT_PORTS + client;
        (is_ours && (number as usize) < self.arrivals().len()).then_some(number)
    }

    fn opening(&self, number: u32) -> Opening {
        let [server, client] = self.endpoints(number);
        let (local, remote, upper) = match self.side {
            Side::Client => (client, server, 0),
            Side::Server => (server, client, ANSWERS),
        };
        let mut rng = Rng::derive(self.seed, &format!("workloads.{}/{number}/{}", self.spec.name, local.port));
        let stream = FIRST_STREAM + ((usize::from(self.id) as u64) << 32) + u64::from(number) + upper;
        Opening {
            local,
            remote,
            initial_sequence: SeqNum(rng.next_u64() as u32),
            timestamp_offset: rng.next_u64() as u32,
            config: airtcp_tcp::Config { auto_read: true, random_seed: rng.next_u64(), ..self.spec.tcp.clone() },
            source: Stream::Virtual { id: stream },
        }
    }

    /// Takes a packet of request `number`.
    pub fn handle_packet(&mut self, cx: &mut Context<'_>, number: u32, packet: Packet) {
        let now = cx.now();
        let size = self.arrivals()[number as usize].size;
        match self.open.get_mut(&number) {
            Some(exchange) => exchange.connection.handle_segment(now, &packet),
            None => {
                let is_server = self.side == Side::Server;
                let accepted = is_server.then(|| Connection::accept(&self.opening(number), &packet, now)).flatten();
                let Some(connection) = accepted else { return refuse(cx, packet) };
                self.put(number, Exchange::new(connection, 0, self.spec.request));
            }
        }
        if let Some(exchange) = self.open.get_mut(&number) {
            let delivered = exchange.connection.stats().bytes_delivered;
            let is_complete = exchange.seen < exchange.expected && delivered >= exchange.expected;
            self.delivered += delivered - exchange.seen;
            exchange.seen = delivered;
            if is_complete && self.side == Side::Client {
                self.answered[number as usize] = Some(now);
                exchange.connection.shutdown();
            } else if is_complete {
                exchange.unwritten = size;
            }
            let has_answer = exchange.unwritten > 0;
            exchange.write();
            if self.side == Side::Server && has_answer && exchange.unwritten == 0 {
                exchange.connection.shutdown();
            }
            let spent = cx.consume_and_keep(packet);
            exchange.connection.reuse(spent).into_iter().for_each(|spare| cx.keep_spare(spare));
        }
        self.drive(cx, number);
    }

    /// Begins what is due, and lets connections time out.
    pub fn handle_timeout(&mut self, cx: &mut Context<'_>) {
        let now = cx.now();
        while self.next_begin().is_some_and(|due| due <= now) {
            let number = self.next;
            self.next += 1;
            let connection = Connection::connect(&self.opening(number), now);
            let mut exchange = Exchange::new(connection, self.spec.request, self.arrivals()[number as usize].size);
            exchange.write();
            self.put(number, exchange);
            self.drive(cx, number);
        }
        while let Some(Reverse((due, number))) = self.timers.peek().copied().filter(|Reverse((due, _))| *due <= now) {
            self.timers.pop();
            // An earlier deadline has taken its place since.
            let Some(exchange) = self.open.get_mut(&number).filter(|exchange| exchange.armed == Some(due)) else {
                continue;
            };
            exchange.armed = None;
            if exchange.connection.poll_timeout().is_some_and(|due| due <= now) {
                exchange.connection.handle_timeout(now);
            }
            self.drive(cx, number);
        }
    }

    /// When [`handle_timeout`](Self::handle_timeout) has something to do.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let timer = self.timers.peek().map(|Reverse((due, _))| *due);
        timer.into_iter().chain(self.next_begin()).min()
    }

    fn next_begin(&self) -> Option<Instant> {
        let may_begin = self.side == Side::Client && self.open.len() < self.spec.connections as usize;
        let arrival = self.arrivals().get(self.next as usize).filter(|_| may_begin)?;
        Some(Instant::ZERO + arrival.at)
    }

    fn put(&mut self, number: u32, exchange: Exchange) {
        self.open.insert(number, exchange);
        self.most_open = self.most_open.max(self.open.len());
    }

    /// Sends what a connection has to send and keeps its timer armed; forgets one that is over.
    fn drive(&mut self, cx: &mut Context<'_>, number: u32) {
        let Some(exchange) = self.open.get_mut(&number) else { return };
        exchange.connection.transmit(cx.now(), &mut HostOutlet(cx));
        if let Err(broken) = exchange.connection.stream_check() {
            self.broken.get_or_insert_with(|| format!("request {number} of workload {}: {broken}", self.spec.name));
        }
        if exchange.connection.is_closed() {
            self.open.remove(&number);
            return;
        }
        if let Some(due) = exchange.connection.poll_timeout()
            && exchange.armed.is_none_or(|armed| due < armed)
        {
            exchange.armed = Some(due);
            self.timers.push(Reverse((due, number)));
        }
    }

    /// Everything before this is left out of rates.
    pub fn on_warm(&mut self) {
        self.delivered_at_warmup = self.delivered;
    }

    /// The first stream that did not arrive as it was sent.
    pub fn stream_failure(&self) -> Option<String> {
        self.broken.clone()
    }

    /// What the client found; `None` at the server.
    pub fn outcome(&self, id: WorkloadId) -> Option<WorkloadOutcome> {
        if self.side == Side::Server || self.id != id {
            return None;
        }
        let taken = |(arrival, answered): (&Arrival, &Option<Instant>)| RequestOutcome {
            at: arrival.at,
            size: arrival.size,
            took: answered.map(|at| at.saturating_since(Instant::ZERO + arrival.at)),
        };
        Some(WorkloadOutcome {
            name: self.spec.name.clone(),
            requests: self.arrivals().iter().zip(&self.answered).map(taken).collect(),
            measured_bytes: self.delivered - self.delivered_at_warmup,
            most_open: self.most_open as u64,
        })
    }
}

/// A packet of a connection that is over, or never was: its sender is told so (RFC 9293, 3.10.7.1).
fn refuse(cx: &mut Context<'_>, packet: Packet) {
    let reply = reset_reply(&packet);
    cx.discard(packet, DropReason::NO_SOCKET);
    if let Some(reply) = reply {
        send(cx, reply);
    }
}
