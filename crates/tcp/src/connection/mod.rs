//! One TCP connection (RFC 9293): the state machine around a [`Sender`] and a [`Receiver`], and the
//! interface a host drives.
//!
//! Call [`Connection::poll_transmit`] until it returns nothing, or [`Connection::transmit`] once, after every
//! [`Connection::handle_segment`], [`Connection::handle_timeout`], read, write, shutdown or close; then ask
//! [`Connection::poll_timeout`] when to come back.

mod handshake;
mod input;
mod options;
mod output;
mod reset;
mod silence;
mod terms;

pub use output::Outlet;
pub use reset::reset_reply;
pub use silence::Patience;

use crate::config::Config;
use crate::congestion::TcpSock;
use crate::receiver::{Path, ReceiveWindow, Receiver};
use crate::sender::{Sender, Step};
use crate::sequence::Sequence;
use crate::stats::Stats;
use crate::stream::{Chunk, SendBuffer, Stream};
use crate::timers::{Timer, Timers};
use airtcp_core::{Duration, FlowKey, Instant, Packet, Rng, SeqNum};
use alloc::format;
use bytes::Bytes;
use core::mem::offset_of;
use core::net::IpAddr;
use core::ops::Range;
pub use options::Clock;
use options::Options;
use terms::Terms;

/// Of a send buffer that follows the window, before the handshake is over (Linux `tcp_wmem`).
const FIRST_SEND_BUFFER: u64 = 16 << 10;

/// One end's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint {
    /// IP address; both ends have the same family.
    pub address: IpAddr,
    /// TCP port.
    pub port: u16,
}

/// What one end of a connection is opened with.
#[derive(Clone, Debug)]
pub struct Opening {
    /// How it behaves.
    pub config: Config,
    /// Our end.
    pub local: Endpoint,
    /// The other end.
    pub remote: Endpoint,
    /// Number of our SYN.
    pub initial_sequence: SeqNum,
    /// Our timestamp clock at time zero.
    pub timestamp_offset: u32,
    /// What we send.
    pub source: Stream,
}

/// Connection states (RFC 9293 section 3.3.2). First those in which no data flow, so that one comparison tells, for each segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Our SYN is out.
    SynSent,
    /// Both SYNs are out, ours is not acknowledged.
    SynReceived,
    /// Over.
    Closed,
    /// Data flow.
    Established,
    /// We closed, the peer has not.
    FinWait1,
    /// Our FIN is acknowledged, the peer has not closed.
    FinWait2,
    /// The peer closed, we have not.
    CloseWait,
    /// Both closed at once, our FIN is not acknowledged.
    Closing,
    /// The peer closed first, our FIN is not acknowledged.
    LastAck,
    /// Both closed, a late FIN is still answered.
    TimeWait,
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseReason {
    /// Both sides closed.
    Finished,
    /// The peer sent RST.
    Reset,
    /// The peer did not answer in time (`ETIMEDOUT`), or did not close in time what we had closed.
    TimedOut,
    /// We aborted.
    Aborted,
}

/// One TCP connection: no I/O, no clock.
///
/// In this order in memory, as are its parts: first what every segment needs, whichever half it is for, then what only the sender of
/// data does, and last what is asked for seldom. A simulator has thousands, and is fast while it finds them in its caches.
#[derive(Debug)]
#[repr(C)]
pub struct Connection {
    state: State,
    syn_due: bool,
    reset_due: bool,
    close_reason: Option<CloseReason>,
    /// The peer's numbering; known from its SYN on.
    peer_sequence: Sequence,
    /// A packet that has ended: the next one to leave is made of its memory.
    spare: Option<Packet>,
    /// Of what arrived before marks began or ended.
    earlier_ack: Option<Packet>,
    /// Addresses and ports of what we send.
    flow: FlowKey,
    /// The application closed both directions.
    orphan: Option<Patience>,
    options: Options,
    timers: Timers,
    stats: Stats,
    receiver: Receiver,
    sender: Sender,
    terms: Terms,
    syn_retries: u32,
    syn_transmissions: u32,
    first_syn_at: Instant,
    syn_sent_at: Instant,
    /// RST for a segment that is of no connection of ours, or that nobody will read.
    stray_reply: Option<Packet>,
    challenge_allowed_at: Instant,
}

impl Connection {
    /// Where in its memory that is which a segment from the peer touches: one with data, or one without, which is for the sender of data.
    pub const fn touched(has_data: bool) -> [Range<usize>; 2] {
        let (receiver, sender) = (offset_of!(Connection, receiver), offset_of!(Connection, sender));
        let end = if has_data { sender + Sender::LOOKED_AT } else { sender + Sender::USED };
        [0..offset_of!(Connection, stats) + Stats::OFTEN, receiver..end]
    }

    /// Opens a connection: the SYN is the first thing [`Connection::poll_transmit`] returns.
    pub fn connect(opening: &Opening, now: Instant) -> Connection {
        let mut connection = Connection::new(opening, now);
        connection.syn_due = true;
        connection
    }

    /// Answers a SYN. `None` if `syn` is no SYN, or not one to `opening.local` from `opening.remote`.
    pub fn accept(opening: &Opening, syn: &Packet, now: Instant) -> Option<Connection> {
        let mut connection = Connection::new(opening, now);
        let tcp = *syn.tcp()?;
        let is_syn = tcp.flags.syn() && !tcp.flags.ack() && !tcp.flags.rst();
        if !is_syn || !syn.checksum_holds() || syn.flow() != Some(connection.flow().reversed()) {
            return None;
        }
        connection.stats.segments_received += 1;
        connection.take_peer_syn(&tcp);
        connection.state = State::SynReceived;
        connection.syn_due = true;
        Some(connection)
    }

    fn new(opening: &Opening, now: Instant) -> Connection {
        let Opening { config, local, remote, initial_sequence, timestamp_offset, source } = opening;
        let rng = Rng::derive(config.random_seed, &format!("tcp {}", flow_key(*local, *remote)));
        let buffer = SendBuffer::new(*source, config.send_buffer.map(|size| size.0));
        let buffer = if config.send_autotuning { buffer.tuned(FIRST_SEND_BUFFER) } else { buffer };
        let window = ReceiveWindow::of(config, config.largest_segment(local.address.is_ipv4(), config.timestamps));
        let sender = Sender::new(config, Sequence::new(*initial_sequence), buffer, rng);
        let mut receiver = Receiver::new(config, window);
        receiver.acks.echoes_each_mark = sender.ecn_on_all;
        Connection {
            flow: flow_key(*local, *remote),
            state: State::SynSent,
            terms: Terms { ecn: config.ecn || sender.ecn_on_all, ..Terms::of(config, local.address.is_ipv4()) },
            sender,
            receiver,
            options: Options::new(*timestamp_offset),
            timers: Timers::new(config.clock_tick()),
            stats: Stats::default(),
            peer_sequence: Sequence::default(),
            syn_due: false,
            syn_retries: 0,
            syn_transmissions: 0,
            first_syn_at: now,
            syn_sent_at: now,
            reset_due: false,
            orphan: None,
            stray_reply: None,
            earlier_ack: None,
            challenge_allowed_at: Instant::ZERO,
            close_reason: None,
            spare: None,
        }
    }

    /// Takes a packet that has ended: the next one to leave is made of its memory. Gives back the one that it had.
    #[inline]
    pub fn reuse(&mut self, packet: Packet) -> Option<Packet> {
        self.spare.replace(packet)
    }

    /// Whether it has such a packet.
    #[inline]
    pub fn has_spare(&self) -> bool {
        self.spare.is_some()
    }

    /// Accepts up to `len` bytes of this side's virtual stream; returns how many.
    pub fn write_virtual(&mut self, len: u64) -> u64 {
        if self.can_write() { self.sender.buffer.write_virtual(len) } else { 0 }
    }

    /// Accepts a prefix of `bytes`; returns its length.
    pub fn write(&mut self, bytes: &Bytes) -> usize {
        if self.can_write() { self.sender.buffer.write(bytes) } else { 0 }
    }

    /// Accepts a prefix of what another connection's [`Connection::read`] returned, in its order;
    /// returns its length. Needs [`Stream::Relayed`], or the same stream.
    pub fn write_chunk(&mut self, chunk: &Chunk) -> u64 {
        if self.can_write() { self.sender.buffer.write_chunk(chunk) } else { 0 }
    }

    /// Bytes that can be written now.
    pub fn writable(&self) -> u64 {
        if self.can_write() { self.sender.buffer.room() } else { 0 }
    }

    /// Has the recovery `one-segment` send a segment again after so many more duplicate acknowledgments, instead of as
    /// many as the window has segments: X of DEC-34.
    pub fn set_repeat_after(&mut self, duplicates: u32) {
        self.sender.repeat_after = Some(duplicates);
    }

    /// Says whether the application has more than it has written: one that writes only what may leave at once does not
    /// lack data when all that it wrote has left (Linux `tcp_rate_check_app_limited()`).
    pub fn set_has_more(&mut self, has_more: bool) {
        self.sender.has_more = has_more;
    }

    /// The pacing rate is kept for whoever looks at [`Connection::sock`], even if neither the connection nor its controller needs it.
    pub fn keep_pacing_rate(&mut self) {
        self.sender.keep_pacing_rate();
    }

    /// Bytes written that the peer has not acknowledged: what the send buffer holds.
    pub fn unacknowledged(&self) -> u64 {
        self.sender.buffer.unacknowledged()
    }

    /// Memory of both buffers: at most a quarter more than their sizes, or 8 KiB each; virtual bytes count as if they were real.
    pub fn memory(&self) -> u64 {
        self.sender.buffer.memory() + self.receiver.memory()
    }

    /// Takes up to `max` bytes that arrived in order; `None` if there are none.
    pub fn read(&mut self, max: u64) -> Option<Chunk> {
        let chunk = self.receiver.read(max)?;
        let (nxt, free) = (self.receiver.nxt, self.receiver.free());
        if !self.receiver.is_finished()
            && self.state != State::Closed
            && self.receiver.window.deserves_update(nxt, free, self.sender.sk.mss_cache)
        {
            self.receiver.acks.owe_now();
        }
        Some(chunk)
    }

    /// Bytes that can be read now.
    pub fn readable(&self) -> u64 {
        self.receiver.readable()
    }

    /// Checks and drops from now on what arrives in order.
    pub fn set_auto_read(&mut self, on: bool) {
        self.receiver.set_auto_read(on);
    }

    /// True when the peer has closed and all it sent was read.
    pub fn is_read_finished(&self) -> bool {
        self.receiver.is_finished() && self.receiver.readable() == 0
    }

    /// Closes our direction once everything written is sent. The peer may go on sending.
    pub fn shutdown(&mut self) {
        self.sender.closing = true;
        match self.state {
            State::Established => self.state = State::FinWait1,
            State::CloseWait => self.state = State::LastAck,
            State::SynSent if self.sender.buffer.written == 0 => self.finish(CloseReason::Finished),
            // What was written before the handshake is sent first.
            _ => {}
        }
    }

    /// Ends the connection at once; the peer gets a RST.
    pub fn abort(&mut self) {
        if self.state == State::Closed {
            return;
        }
        self.reset_due = !matches!(self.state, State::SynSent | State::TimeWait);
        self.finish(CloseReason::Aborted);
    }

    /// The state.
    pub fn state(&self) -> State {
        self.state
    }

    /// True when the connection is over and has nothing more to send.
    pub fn is_closed(&self) -> bool {
        self.state == State::Closed && !self.reset_due && self.stray_reply.is_none()
    }

    /// How the connection ended, once it has.
    pub fn close_reason(&self) -> Option<CloseReason> {
        self.close_reason
    }

    /// True once data may flow.
    #[inline]
    pub fn is_established(&self) -> bool {
        !matches!(self.state, State::SynSent | State::SynReceived | State::Closed)
    }

    /// True when everything written, and the FIN after [`Connection::shutdown`], is acknowledged.
    pub fn all_acknowledged(&self) -> bool {
        self.sender.all_acknowledged()
    }

    /// The earliest deadline, for [`Connection::handle_timeout`].
    pub fn poll_timeout(&self) -> Option<Instant> {
        Some(self.deadline()).filter(|at| *at != Instant::MAX)
    }

    /// The same; the end of time for none.
    #[inline]
    pub fn deadline(&self) -> Instant {
        self.timers.next()
    }

    /// Acts on every deadline that has passed.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.timers.take_expired(Timer::Silence, now) {
            self.handle_silence_timeout(now);
        }
        if self.timers.take_expired(Timer::DelayedAck, now) {
            let path = self.path();
            self.receiver.acks.on_delay_over(path);
        }
        if self.timers.take_expired(Timer::Batch, now) {
            self.end_batch(now);
        }
        self.timers.take_expired(Timer::Pacing, now);
        if self.timers.take_expired(Timer::Reorder, now) {
            self.with_sender(now, |sender, step| sender.handle_reorder_timeout(step));
        }
        if self.timers.take_expired(Timer::LossProbe, now) {
            self.with_sender(now, |sender, step| sender.handle_probe_timeout(step));
        }
        if self.timers.take_expired(Timer::Persist, now) {
            let limits = self.limits(self.sender.probe_wait());
            let goes_on = self.with_sender(now, |sender, step| sender.handle_persist_timeout(&limits, step));
            self.give_up_unless(goes_on);
        }
        if self.timers.take_expired(Timer::Retransmit, now) {
            let goes_on = if matches!(self.state, State::SynSent | State::SynReceived) {
                self.handle_syn_timeout(now)
            } else {
                let limits = self.limits(self.sender.rtt.rto());
                self.with_sender(now, |sender, step| sender.handle_retransmission_timeout(&limits, step))
            };
            self.give_up_unless(goes_on);
        }
    }

    /// What the sending half knows of the path.
    fn path(&self) -> Path {
        Path { rto: self.sender.rtt.rto(), srtt: self.srtt() }
    }

    fn give_up_unless(&mut self, goes_on: bool) {
        if !goes_on {
            self.finish(CloseReason::TimedOut);
        }
    }

    /// Counters.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// From now on each of the two buffers holds so much; the receive buffer no more than the configuration's, which the
    /// scale of the window is made for.
    pub fn set_buffers(&mut self, bytes: u64) {
        self.receiver.window.set_buffer(bytes);
        self.sender.buffer.set_limit(bytes);
    }

    /// True while something before what was received is missing.
    pub fn has_gap(&self) -> bool {
        self.receiver.has_gap()
    }

    /// Of the first `bytes` of the peer's stream, those that have not arrived although later ones have.
    pub fn missing_of(&self, bytes: u64) -> u64 {
        self.receiver.missing_below(bytes.saturating_add(1))
    }

    /// Bytes that the receive buffer holds.
    pub fn receive_buffer(&self) -> u64 {
        self.receiver.window.buffer()
    }

    /// How far the windows of our segments are shifted (RFC 7323); 0 before both sides agreed.
    pub fn window_shift(&self) -> u8 {
        self.options.our_shift.unwrap_or(0)
    }

    /// Whether every payload delivered so far was the peer's stream without gap or repetition.
    ///
    /// # Errors
    /// The first mismatch.
    pub fn stream_check(&self) -> Result<(), &'static str> {
        self.receiver.fault().map_or(Ok(()), Err)
    }

    /// Whether every segment takes the long way.
    #[cfg(test)]
    pub(crate) fn set_thorough(&mut self, on: bool) {
        self.sender.is_thorough = on;
    }

    /// Congestion window in bytes.
    pub fn cwnd_bytes(&self) -> u64 {
        u64::from(self.sender.sk.snd_cwnd) * u64::from(self.sender.sk.mss_cache)
    }

    /// Smoothed round-trip time; `None` before the first sample.
    pub fn srtt(&self) -> Option<Duration> {
        let srtt_us = u64::from(self.sender.sk.srtt_us >> 3);
        (self.sender.sk.srtt_us != 0).then(|| Duration::from_micros(srtt_us))
    }

    /// Retransmission timeout as it stands.
    pub fn rto(&self) -> Duration {
        self.sender.rtt.rto()
    }

    /// What the congestion controller sees: window, threshold, counts, state.
    pub fn sock(&self) -> &TcpSock {
        &self.sender.sk
    }

    /// What the congestion controller counted, by name.
    pub fn controller_info(&self, see: &mut dyn FnMut(&'static str, u64)) {
        self.sender.controller.get_info(see);
    }

    /// Bytes sent and not cumulatively acknowledged.
    pub fn bytes_in_flight(&self) -> u64 {
        self.sender.nxt - self.sender.una
    }

    /// Bytes of new full segments that the congestion window and the peer's window let out, pacing aside; 0 before data
    /// may flow. In recovery that is the window less what recovery counts as in flight, after a silence the window that
    /// it leaves.
    pub fn send_room(&self, now: Instant) -> u64 {
        if self.is_established() { self.sender.room(now) } else { 0 }
    }

    /// True if the next segment with data that [`Connection::poll_transmit`] returns was sent before.
    pub fn is_retransmission_due(&self) -> bool {
        self.is_established() && self.sender.is_retransmission_due()
    }

    /// True if the next segment would leave together with the one before, in the burst of a paced connection.
    pub fn continues_burst(&self) -> bool {
        self.sender.continues_burst()
    }

    /// Bytes written and not sent yet.
    pub fn unsent(&self) -> u64 {
        self.sender.unsent()
    }

    /// Where in the peer's stream a segment with this sequence number begins: 0 is the first byte behind its SYN.
    pub fn position_of(&self, sequence: SeqNum) -> i64 {
        self.peer_sequence.offset(sequence, self.receiver.nxt) - 1
    }

    /// Bytes of the peer's stream that have arrived in order: where the next segment begins.
    pub fn received_in_order(&self) -> u64 {
        self.receiver.nxt.saturating_sub(1)
    }

    /// Payload of a full segment in bytes.
    pub fn mss(&self) -> u32 {
        self.sender.sk.mss_cache
    }

    /// Our end.
    pub fn local(&self) -> Endpoint {
        Endpoint { address: self.flow.source, port: self.flow.source_port }
    }

    /// The other end.
    pub fn remote(&self) -> Endpoint {
        Endpoint { address: self.flow.destination, port: self.flow.destination_port }
    }

    /// Addresses and ports of what we send.
    pub fn flow(&self) -> FlowKey {
        self.flow
    }

    fn can_write(&self) -> bool {
        !self.sender.closing && self.state != State::Closed
    }

    fn with_sender<T>(&mut self, now: Instant, act: impl FnOnce(&mut Sender, &mut Step) -> T) -> T {
        let mut step = Step { now, timers: &mut self.timers, stats: &mut self.stats };
        act(&mut self.sender, &mut step)
    }

    #[cold]
    fn finish(&mut self, reason: CloseReason) {
        self.state = State::Closed;
        self.syn_due = false;
        self.stray_reply = None;
        self.timers.stop_all();
        self.close_reason.get_or_insert(reason);
        let Sender { controller, sk, .. } = &mut self.sender;
        controller.release(sk);
    }
}

fn flow_key(local: Endpoint, remote: Endpoint) -> FlowKey {
    FlowKey {
        source: local.address,
        destination: remote.address,
        source_port: local.port,
        destination_port: remote.port,
    }
}
