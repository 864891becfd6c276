//! One split flow: two connections and what runs between them.
//!
//! What one connection has received in order is written to the other as far as that has room;
//! what does not fit stays where it is and closes that side's window. So a receiver that stops
//! reading stops the sender, two buffers later.

use super::buffers::Buffers;
use super::delivery::{Deliveries, Sent};
use super::quiet::Quiet;
use super::settings::{Accept, ProxySettings};
use airtcp_core::{
    ByteSize, Context, CreateReason, DropReason, Duration, Event, FlowKey, Instant, Packet, Port, Rng, SeqNum,
    TcpFlags, TcpHeader,
};
use airtcp_tcp::{CloseReason, Config, Connection, Endpoint, Opening, State, Stream, default_mss, reset_reply};

/// See the module. In this order in memory: what every packet needs, the two connections, and what few packets do.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Relay {
    pub last_used: Instant,
    /// The deadline that is in the element's table.
    pub timer: Option<Instant>,
    buffer: u64,
    /// Where the SYN came from: towards the client.
    pub origin: Port,
    /// It was silent for too long; its resets may still wait for a port, and nothing else will come.
    pub is_given_up: bool,
    /// By port: it waits for its turn to send there.
    pub waits: [bool; 2],
    /// Acknowledgments that do not cross the link.
    quiet: Option<Quiet>,
    /// Segments that came over the link and could not be taken: beyond the window, or without memory.
    pub refused_segments: u64,
    /// The client's SYN, until it is answered.
    syn: Option<Packet>,
    /// The server's refusal, until the client is told.
    refusal: Option<Packet>,
    /// Our end that the server takes for the client.
    server: Connection,
    /// Our end that the client takes for the server.
    client: Option<Connection>,
    /// What the link delivered, where it tells.
    pub deliveries: Option<Deliveries>,
    /// How the server numbers its bytes, once it has answered.
    server_start: Option<Start>,
    configs: Configs,
}

/// Where sequence numbers and timestamps of a host begin.
#[derive(Clone, Copy, Debug)]
struct Start {
    sequence: SeqNum,
    timestamp_offset: u32,
}

/// TCP towards the client and towards the server.
#[derive(Clone, Debug)]
struct Configs {
    client: Config,
    server: Config,
}

/// What became of a packet.
pub(super) enum Verdict {
    /// It was of this flow.
    Taken,
    /// The connection was open before the SYN came, which was an old one: it is none of ours.
    Foreign(Packet),
}

impl Relay {
    /// Opens our connection to the destination of `syn`, which came in at the port `origin`.
    pub fn open(
        settings: &ProxySettings,
        buffers: &Buffers,
        syn: &Packet,
        origin: Port,
        quiet: Option<Quiet>,
        cx: &mut Context<'_>,
    ) -> Option<Relay> {
        let tcp = *syn.tcp()?;
        let now = cx.now();
        let ecn = tcp.flags.ece() && tcp.flags.cwr();
        let mut towards = |port: Port| config(settings, ByteSize(buffers.largest), port, ecn, cx.rng());
        let mut configs = Configs { client: towards(origin), server: towards(origin.opposite()) };
        configs.server.mtu = configs.server.mtu.min(mtu_of(syn, &tcp));
        let start = Start::of(&tcp, now, cx.rng());
        let (client_end, server_end) = endpoints(&syn.flow()?);
        let server = Connection::connect(&start.opening(&configs.server, client_end, server_end), now);
        let mut relay = Relay {
            origin,
            syn: Some(syn.clone()),
            refusal: None,
            client: None,
            server,
            server_start: None,
            configs,
            quiet,
            deliveries: None,
            refused_segments: 0,
            last_used: now,
            is_given_up: false,
            timer: None,
            waits: [false; 2],
            buffer: buffers.first,
        };
        relay.server.set_buffers(relay.buffer);
        if settings.accept == Accept::AtOnce {
            let start = Start::new(cx, &relay.server.flow().reversed());
            relay.accept(now, start);
        }
        Some(relay)
    }

    #[cold]
    #[inline(never)]
    fn accept(&mut self, now: Instant, start: Start) {
        let Some(syn) = self.syn.take() else { return };
        let (client_end, server_end) = (self.server.local(), self.server.remote());
        let opening = start.opening(&self.configs.client, server_end, client_end);
        self.client = Connection::accept(&opening, &syn, now);
        self.set_buffers(self.buffer);
    }

    /// What each of the four buffers holds, in bytes.
    pub fn buffer(&self) -> u64 {
        self.buffer
    }

    /// Each of the four buffers holds so many bytes from now on.
    pub fn set_buffers(&mut self, bytes: u64) {
        self.buffer = bytes;
        for connection in [Some(&mut self.server), self.client.as_mut()].into_iter().flatten() {
            connection.set_buffers(bytes);
        }
    }

    /// Bytes in flight of the connection that has more.
    pub fn most_in_flight(&self) -> u64 {
        self.server.bytes_in_flight().max(self.client.as_ref().map_or(0, Connection::bytes_in_flight))
    }

    /// A packet of the flow, from the client or from the server. `is_told`: the link has told of a delivery.
    pub fn handle_packet(&mut self, cx: &mut Context<'_>, packet: Packet, from_client: bool, is_told: bool) -> Verdict {
        let now = cx.now();
        let Some(flags) = packet.tcp().map(|tcp| tcp.flags) else { return Verdict::Foreign(packet) };
        if !packet.checksum_holds() {
            cx.discard(packet, DropReason::CORRUPTED);
            return Verdict::Taken;
        }
        if self.server.state() == State::SynSent && self.client.is_none() && !flags.syn() && !flags.rst() {
            return Verdict::Foreign(packet);
        }
        self.last_used = now;
        let is_over_link = from_client == (self.origin == Port::LINK);
        if let Some(quiet) = self.quiet.as_mut().filter(|_| is_over_link) {
            quiet.note_received(&packet);
        }
        let taken = self.deliveries.as_mut().filter(|_| is_over_link).and_then(|deliveries| deliveries.takes(&packet));
        if let Some(says_more) = taken.filter(|_| is_told) {
            if says_more {
                self.acknowledge(now);
            }
            cx.consume(packet);
            return Verdict::Taken;
        }
        let mut is_refused = false;
        if from_client {
            match &mut self.client {
                Some(client) => is_refused = refuses(client, now, &packet),
                // The client has lost interest before the server answered.
                None if flags.rst() => self.server.abort(),
                // Its SYN again; the answer comes when the server has given one.
                None => {}
            }
        } else {
            if let Some(tcp) = packet.tcp().filter(|_| flags.syn() && flags.ack()) {
                self.server_start = Some(Start::of(tcp, now, cx.rng()));
                self.configs.client.mtu = self.configs.client.mtu.min(mtu_of(&packet, tcp));
            }
            is_refused = refuses(&mut self.server, now, &packet);
        }
        self.refused_segments += u64::from(is_refused && is_over_link);
        let spent = cx.consume_and_keep(packet);
        self.reuse(cx, spent, from_client);
        Verdict::Taken
    }

    /// What is left of a packet becomes a segment that takes its data on, or one that its acknowledgment lets out, or else one of
    /// whoever needs it. A device's memory is not kept.
    fn reuse(&mut self, cx: &mut Context<'_>, spent: Packet, from_client: bool) {
        if spent.datagram().is_some() {
            return;
        }
        let kept = match &mut self.client {
            Some(client) if !from_client && !client.has_spare() => client.reuse(spent),
            _ if !self.server.has_spare() => self.server.reuse(spent),
            Some(client) if !client.has_spare() => client.reuse(spent),
            _ => Some(spent),
        };
        kept.into_iter().for_each(|spent| cx.keep_spare(spent));
    }

    /// The link delivered a segment of ours. Whether our TCP got an acknowledgment of it.
    pub fn hear(&mut self, now: Instant, sent: &Sent) -> bool {
        let is_news = self.deliveries.as_mut().is_some_and(|deliveries| deliveries.deliver(sent));
        if is_news {
            self.acknowledge(now);
        }
        is_news
    }

    /// Gives our TCP towards the link an acknowledgment of what was delivered there.
    fn acknowledge(&mut self, now: Instant) {
        let Some(deliveries) = &mut self.deliveries else { return };
        let packet = deliveries.acknowledgment();
        let over_link = if self.origin == Port::LINK { self.client.as_mut() } else { Some(&mut self.server) };
        if let Some(connection) = over_link {
            connection.handle_segment(now, &packet);
        }
    }

    /// Deadlines of both connections.
    pub fn handle_timeout(&mut self, now: Instant) {
        for connection in [Some(&mut self.server), self.client.as_mut()].into_iter().flatten() {
            if connection.poll_timeout().is_some_and(|due| due <= now) {
                connection.handle_timeout(now);
            }
        }
    }

    /// Resets both sides, for good.
    pub fn give_up(&mut self) {
        self.is_given_up = true;
        self.server.abort();
        if let Some(client) = &mut self.client {
            client.abort();
        }
    }

    /// Moves everything on that can move within the box: handshake, bytes, ends.
    pub fn advance(&mut self, cx: &mut Context<'_>) {
        if self.server.is_established() && self.syn.is_some() {
            let start = self.server_start.unwrap_or_else(|| Start::new(cx, &self.server.flow().reversed()));
            self.accept(cx.now(), start);
        }
        if let Some(client) = &mut self.client {
            pass_on(client, &mut self.server);
            pass_on(&mut self.server, client);
        } else if self.server.close_reason() == Some(CloseReason::Reset) {
            self.refusal = self.syn.take().as_ref().and_then(reset_reply).or(self.refusal.take());
        }
    }

    /// The next packet that leaves through `port`, if any may, and whether it is known that none follows it now.
    pub fn poll_transmit(&mut self, cx: &mut Context<'_>, port: Port) -> Option<(Packet, bool)> {
        if port == self.origin
            && let Some(refusal) = self.refusal.take()
        {
            return Some((cx.create(refusal, CreateReason::TRANSMIT), false));
        }
        let connection = if port == self.origin { self.client.as_mut()? } else { &mut self.server };
        if !connection.may_transmit() {
            return None;
        }
        let mut quiet = self.quiet.as_mut().filter(|_| port == Port::LINK);
        loop {
            let (packet, is_last) = connection.poll_transmit_or_last(cx.now())?;
            let mut packet = cx.create(packet, CreateReason::TRANSMIT);
            let Some(quiet) = &mut quiet else { return Some((packet, is_last)) };
            if let Some(flags) = packet.tcp().map(|tcp| tcp.flags).filter(|flags| flags.syn()) {
                // To a station: here is somebody who needs no acknowledgments over the link, and sends none.
                packet.set_flags(flags.with(TcpFlags::EMULATED));
            }
            if !quiet.keeps(connection, &packet) {
                return Some((packet, is_last));
            }
            cx.emit(Event::ACK_SUPPRESSED);
            connection.reuse(cx.discard_and_keep(packet, DropReason::SUPPRESSED));
            if is_last {
                return None;
            }
        }
    }

    /// True when nothing is left to do on either side, and nothing waits for a port.
    pub fn may_end(&self) -> bool {
        self.waits == [false; 2]
            && self.server.is_closed()
            && self.client.as_ref().is_none_or(Connection::is_closed)
            && self.refusal.is_none()
    }

    /// The earliest deadline of the two connections, or that of a silence of `idle`; none of what was given up.
    pub fn deadline(&self, idle: Duration) -> Option<Instant> {
        if self.is_given_up {
            return None;
        }
        let client = self.client.as_ref().map_or(Instant::MAX, Connection::deadline);
        Some(self.server.deadline().min(client).min(self.last_used.saturating_add(idle)))
    }

    /// Memory of all four buffers.
    pub fn memory(&self) -> u64 {
        self.server.memory() + self.client.as_ref().map_or(0, Connection::memory)
    }

    /// Bytes received on one side and not yet sent on the other.
    pub fn waiting(&self) -> u64 {
        let kept = |connection: &Connection| {
            connection.readable() + connection.unacknowledged().saturating_sub(connection.bytes_in_flight())
        };
        kept(&self.server) + self.client.as_ref().map_or(0, kept)
    }

    /// Bytes acknowledged on one side and not yet on the other.
    pub fn buffered(&self) -> u64 {
        let kept = |connection: &Connection| connection.readable() + connection.unacknowledged();
        kept(&self.server) + self.client.as_ref().map_or(0, kept)
    }
}

impl Start {
    /// The numbering of the host that sent `syn`. Ours continues it, so that both halves carry the
    /// same sequence numbers and clocks, and captures of both can be laid side by side.
    fn of(syn: &TcpHeader, now: Instant, rng: &mut Rng) -> Start {
        let clock = (now.as_nanos() / 1_000_000) as u32;
        let offset =
            syn.options.timestamps.map_or_else(|| rng.next_u64() as u32, |stamp| stamp.value.wrapping_sub(clock));
        Start { sequence: syn.sequence, timestamp_offset: offset }
    }

    fn opening(self, config: &Config, local: Endpoint, remote: Endpoint) -> Opening {
        Opening {
            config: config.clone(),
            local,
            remote,
            initial_sequence: self.sequence,
            timestamp_offset: self.timestamp_offset,
            source: Stream::Relayed,
        }
    }

    /// Of a connection whose segments from here are of `flow`, where no host's numbering is known that it continues.
    fn new(cx: &mut Context<'_>, flow: &FlowKey) -> Start {
        Start { sequence: cx.initial_sequence(flow), timestamp_offset: cx.rng().next_u64() as u32 }
    }
}

/// What the MSS of a SYN says of the way to its sender. Each half tells its host no more than the other host told the
/// box, as without a box: either may know of a narrow place that the box does not.
fn mtu_of(syn: &Packet, tcp: &TcpHeader) -> u32 {
    let is_ipv4 = syn.ip().source.is_ipv4();
    let mss = tcp.options.mss.map_or(default_mss(is_ipv4), u32::from);
    mss + if is_ipv4 { 40 } else { 60 }
}

fn endpoints(flow: &FlowKey) -> (Endpoint, Endpoint) {
    let source = Endpoint { address: flow.source, port: flow.source_port };
    (source, Endpoint { address: flow.destination, port: flow.destination_port })
}

/// TCP towards `port`: the box's own, live and in the simulator, without the habits of a Linux host.
fn config(settings: &ProxySettings, buffer: ByteSize, port: Port, ecn: bool, rng: &mut Rng) -> Config {
    let common = Config {
        mtu: settings.mtu,
        receive_buffer: buffer,
        send_buffer: Some(buffer),
        ecn,
        random_seed: rng.next_u64(),
        ..Config::without_habits()
    };
    if port != Port::LINK {
        return common;
    }
    Config { controller: settings.controller.into(), recovery: settings.recovery, min_rto: settings.min_rto, ..common }
}

/// Bytes, the end of the stream and resets, from one connection to the other.
fn pass_on(from: &mut Connection, to: &mut Connection) {
    while from.readable() > 0
        && let Some(chunk) = from.read(to.writable())
    {
        let written = to.write_chunk(&chunk);
        debug_assert_eq!(written, chunk.len(), "no more was read than could be written");
    }
    let is_broken = from.close_reason().is_some_and(|reason| reason != CloseReason::Finished);
    if is_broken {
        to.abort();
    } else if from.is_read_finished() && matches!(to.state(), State::Established | State::CloseWait) {
        to.shutdown();
    }
}

/// Gives a connection a segment; true if it carried data that was not taken and not known before.
fn refuses(connection: &mut Connection, now: Instant, packet: &Packet) -> bool {
    if packet.payload_len() == 0 {
        connection.handle_segment(now, packet);
        return false;
    }
    let refused = |connection: &Connection| {
        let stats = connection.stats();
        stats.segments_without_memory + stats.rejected_segments
    };
    let before = refused(connection);
    connection.handle_segment(now, packet);
    refused(connection) > before
}
