//! The contract between a scheme and its world.
//!
//! Everything between two links is an [`Element`]: a gateway, a router, a host. Time comes in
//! with every call, sending is buffered by the world, and no element is re-entered. A scheme
//! cannot tell whether the world is the simulator, a gateway on real packets or a test.
//!
//! Conservation: for each element, *received + created = sent + held + consumed + discarded*. The
//! [`Context`] counts every side of that equation in the element's [`Ledger`].

use crate::event::{Event, Gauge};
use crate::ledger::{Ledger, count_one};
use crate::packet::{FlowKey, Packet};
use crate::port::Port;
use crate::reason::{CreateReason, DropReason};
use crate::rng::Rng;
use crate::serial::SeqNum;
use crate::time::{Duration, Instant};
use crate::units::Rate;
use alloc::vec::Vec;
use core::any::Any;
use core::net::IpAddr;

/// Another box of ours that control messages go to; 0 is the other end of the scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Peer(pub u8);

impl Peer {
    /// The other end of a two-ended scheme.
    pub const OTHER_END: Peer = Peer(0);
}

/// Names a packet whose delivery a sender wants to hear of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(pub u64);

/// What became of a tracked packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It left; the medium tells no more.
    Sent,
    /// The next hop acknowledged it (802.11 MAC ACK).
    Acked,
    /// It was given up after the medium's retry limit.
    RetryLimit,
    /// It was dropped before it reached the medium.
    Dropped,
}

/// The report on a tracked packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TxStatus {
    /// As given to [`Context::send_tracked`].
    pub token: Token,
    /// What became of it.
    pub outcome: Outcome,
    /// Transmissions it took, where the medium tells; else 1.
    pub tries: u8,
    /// When it was decided.
    pub at: Instant,
}

/// Packets and bytes waiting somewhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Waiting packets.
    pub packets: usize,
    /// Waiting IP bytes.
    pub bytes: u64,
}

impl core::ops::Add for Backlog {
    type Output = Backlog;
    fn add(self, other: Backlog) -> Backlog {
        Backlog { packets: self.packets + other.packets, bytes: self.bytes + other.bytes }
    }
}

/// Which packets an element has to see. A live gateway leaves all others alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// All of IP.
    All,
    /// TCP segments, unfragmented.
    Tcp,
    /// These, and the rest of IP where that is no burden: for now nothing of it waits in here.
    TcpFirst,
    /// All of IP that is about to leave through the link; what arrives there passes.
    Leaving,
    /// None: it has only control messages to handle.
    Nothing,
}

/// TCP segments between the box of an element and another, for the element and not for the box's own TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnSegments {
    /// This box's address.
    pub local: IpAddr,
    /// The other's.
    pub remote: IpAddr,
    /// One port of each segment, at either end.
    pub port: u16,
    /// Its other port is one of so many that follow.
    pub ports: u16,
}

/// What an element leaves to the one that takes its place.
#[derive(Clone, Debug, Default)]
pub struct Legacy {
    /// What was to leave through the link and has not, in the order in which it would have left.
    pub waiting: Vec<Packet>,
    /// Copies of what has left and may be asked for, of each flow in the order in which it left.
    pub copies: Vec<Packet>,
    /// What came over the link and is held back.
    pub held: Vec<HeldFlow>,
    /// How this end is known to the other one, if that is in reach.
    pub acquaintance: Option<Acquaintance>,
}

/// What one of two ends needs to be to the other one who another element was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acquaintance {
    /// Drawn at the start; another one means that this end has forgotten everything.
    pub epoch: u64,
    /// To the other end and back.
    pub round_trip: Duration,
    /// Bytes that came over the link, as this end tells the other one.
    pub received: u64,
}

/// The packets of one flow that wait for an earlier one.
#[derive(Clone, Debug)]
pub struct HeldFlow {
    /// The first sequence number that has not come.
    pub expected: SeqNum,
    /// In the order of the stream.
    pub packets: Vec<Packet>,
}

impl Legacy {
    /// Packets that wait here; copies are none.
    pub fn packets(&self) -> usize {
        self.waiting.len() + self.held.iter().map(|flow| flow.packets.len()).sum::<usize>()
    }
}

/// A packet processor between two links; a host is one too.
pub trait Element: Any {
    /// Which packets it has to see now. Those of the other kinds it may get all the same, and then passes on. An element that
    /// owns the queue before a link has to see all while packets wait there: what went past it would fill the link behind
    /// its back.
    fn traffic(&self) -> Traffic {
        Traffic::All
    }

    /// Segments for the box itself that it has to see whatever else it has to; they come in at the port of the link. Asked
    /// once, at the start.
    fn own_segments(&self) -> Option<OwnSegments> {
        None
    }

    /// A packet came in at `port`. The element now owns it: it sends, holds, consumes or discards it.
    fn handle_packet(&mut self, cx: &mut Context<'_>, port: Port, packet: Packet);

    /// `port` has room again after [`Context::try_send`] was refused there.
    fn handle_ready(&mut self, _cx: &mut Context<'_>, _port: Port) {}

    /// The time that [`Element::poll_timeout`] named has come.
    fn handle_timeout(&mut self, _cx: &mut Context<'_>) {}

    /// A message from another box of ours. Never trusted: malformed ones are counted and ignored.
    fn handle_control(&mut self, _cx: &mut Context<'_>, _peer: Peer, _message: &[u8]) {}

    /// What became of a packet sent with [`Context::send_tracked`].
    fn handle_tx_status(&mut self, _cx: &mut Context<'_>, _status: TxStatus) {}

    /// When [`Element::handle_timeout`] wants to be called; `None` for never. Asked after every
    /// other call, so it must be cheap. A handled timeout must move it later.
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    /// Packets the element keeps and will account for later (copies in a cache are not held).
    fn held(&self) -> Backlog {
        Backlog::default()
    }

    /// Reports the element's levels, for results and metrics.
    fn observe(&self, _gauge: &mut dyn FnMut(Gauge, u64)) {}

    /// What the element before this one, of the same link, last took for the link's rate ([`Gauge::RATE_BPS`]); told before the
    /// first packet. An element that learns the rate begins with it.
    fn resume(&mut self, _rate: Rate) {}

    /// Another element is to take the place of this one, and gets what this one leaves. What is held afterwards could not be left: it has
    /// to leave before.
    fn surrender(&mut self, _cx: &mut Context<'_>) -> Legacy {
        Legacy::default()
    }

    /// Begins with what the element before this one left, but for what waits, which comes to [`Element::handle_packet`] once the other end
    /// is in reach.
    fn inherit(&mut self, cx: &mut Context<'_>, legacy: Legacy) {
        legacy.held.into_iter().flat_map(|flow| flow.packets).for_each(|packet| cx.send(Port::INNER, packet));
    }

    /// Works from now on as `next` would, a fresh element of the same scheme at the same place, made from other settings, and
    /// keeps what it knows and holds; what is left of `next` is of no use. False if they differ in something that takes another
    /// element: then nothing has changed.
    fn adopt(&mut self, _cx: &mut Context<'_>, _next: &mut dyn Any) -> bool {
        false
    }

    /// What the operator should know and do something about, in one sentence: a setting that does not fit the link.
    fn advice(&self) -> Option<&'static str> {
        None
    }

    /// The element's own invariants (bounds of windows and tables); checked while a run goes on.
    ///
    /// # Errors
    /// A sentence that names the broken invariant.
    fn check(&self) -> Result<(), &'static str> {
        Ok(())
    }
}

/// How a world carries what an element sends during a call. Implemented once per world.
pub trait Io {
    /// Packets that `port` accepts now without dropping; `usize::MAX` where it never refuses.
    fn room(&mut self, port: Port) -> usize;
    /// What waits behind `port`, as far as the world can see it.
    fn backlog(&mut self, port: Port) -> Backlog;
    /// Takes a packet for `port`, or gives it back when there is no room.
    ///
    /// # Errors
    /// The packet itself: the port is full, `handle_ready` follows when it is not.
    fn try_send(&mut self, port: Port, packet: Packet, token: Option<Token>) -> Result<(), Packet>;
    /// Has the medium behind `port` leave what it receives unacknowledged, or not any more. A medium that cannot do this,
    /// or acknowledges nothing, does nothing.
    fn set_silent(&mut self, _port: Port, _is_silent: bool) {}
    /// The number of the SYN of a connection that an element opens, whose segments from here are of the flow: on real
    /// packets one that nobody outside can guess ([`crate::initial_sequence`]). `None` where runs can be repeated: there
    /// it is one of the element's random stream.
    fn initial_sequence(&self, _now: Instant, _flow: &FlowKey) -> Option<SeqNum> {
        None
    }
    /// IP bytes that this world puts around a control message: IP and UDP header, and what [`crate::control`] says.
    fn control_overhead(&self) -> u32;
    /// Longest IP packet that crosses the path to the other end in one piece, as far as this world knows.
    fn path_mtu(&self) -> Option<u32> {
        None
    }
    /// Sends a message to another box of ours: unreliable, unordered.
    fn send_control(&mut self, peer: Peer, message: &[u8]);
    /// The same, where the message may leave a little later than what was sent after it.
    fn send_control_late(&mut self, peer: Peer, message: &[u8]) {
        self.send_control(peer, message);
    }
    /// Sends a message that is in two parts.
    fn send_control_parts(&mut self, peer: Peer, parts: [&[u8]; 2]) {
        self.send_control(peer, &parts.concat());
    }
    /// Keeps the memory of a packet that has ended, for [`Io::take_spare`], or frees it.
    fn keep_spare(&mut self, _packet: Packet) {}
    /// The memory of a packet that has ended, for another one, if any is kept.
    fn take_spare(&mut self) -> Option<Packet> {
        None
    }
    /// Shows a packet that the element ended to whoever watches the world's packets.
    fn show_discarded(&mut self, _packet: &Packet, _reason: DropReason) {}
}

/// An element's view of its world during one call.
pub struct Context<'a> {
    now: Instant,
    rng: &'a mut Rng,
    ledger: &'a mut Ledger,
    io: &'a mut dyn Io,
}

impl<'a> Context<'a> {
    /// A context for one call; made by worlds only.
    pub fn new(now: Instant, rng: &'a mut Rng, ledger: &'a mut Ledger, io: &'a mut dyn Io) -> Self {
        Context { now, rng, ledger, io }
    }
    /// The time of this call.
    pub fn now(&self) -> Instant {
        self.now
    }
    /// The element's own random stream.
    pub fn rng(&mut self) -> &mut Rng {
        self.rng
    }
    /// The number that the SYN of a new connection of ours gets, whose segments from here are of `flow`.
    pub fn initial_sequence(&mut self, flow: &FlowKey) -> SeqNum {
        let of_world = self.io.initial_sequence(self.now, flow);
        of_world.unwrap_or_else(|| SeqNum(self.rng.next_u64() as u32))
    }
    /// Packets that `port` accepts now; `usize::MAX` where it never refuses.
    pub fn room(&mut self, port: Port) -> usize {
        self.io.room(port)
    }
    /// What waits behind `port`.
    pub fn backlog(&mut self, port: Port) -> Backlog {
        self.io.backlog(port)
    }
    /// Sends through `port` if it has room.
    ///
    /// # Errors
    /// The packet itself: the port is full, [`Element::handle_ready`] follows when it is not.
    pub fn try_send(&mut self, port: Port, packet: Packet) -> Result<(), Packet> {
        self.io.try_send(port, packet, None)?;
        self.ledger.send(port);
        Ok(())
    }
    /// Sends through `port`; a full port is a full queue, so the packet is dropped and counted.
    pub fn send(&mut self, port: Port, packet: Packet) {
        if let Err(packet) = self.try_send(port, packet) {
            self.discard(packet, DropReason::QUEUE_FULL);
        }
    }
    /// Like [`Context::try_send`], and [`Element::handle_tx_status`] hears what became of it.
    ///
    /// # Errors
    /// The packet itself when the port is full.
    pub fn send_tracked(&mut self, port: Port, packet: Packet, token: Token) -> Result<(), Packet> {
        self.io.try_send(port, packet, Some(token))?;
        self.ledger.send(port);
        Ok(())
    }
    /// Has the medium behind `port` leave what it receives unacknowledged, so that its senders try in vain and slow down
    /// (AST-11), or acknowledge it again. Only a simulated 802.11 medium can.
    pub fn set_silent(&mut self, port: Port, is_silent: bool) {
        self.io.set_silent(port, is_silent);
    }
    /// Sends a message to another box of ours: unreliable, unordered, unauthenticated here. Returns the IP bytes that it
    /// takes of the link, for who keeps account of the link's time.
    pub fn send_control(&mut self, peer: Peer, message: &[u8]) -> u32 {
        self.io.send_control(peer, message);
        message.len() as u32 + self.io.control_overhead()
    }
    /// The same of a message that may leave some packets and messages later than it was sent: then those that were sent in a
    /// row, with such messages between them, can leave together. It leaves behind those that were sent before it, and late
    /// messages keep their order.
    pub fn send_control_late(&mut self, peer: Peer, message: &[u8]) -> u32 {
        self.io.send_control_late(peer, message);
        message.len() as u32 + self.io.control_overhead()
    }
    /// Sends a message that is in two parts, as [`Context::send_control`] does.
    pub fn send_control_parts(&mut self, peer: Peer, parts: [&[u8]; 2]) -> u32 {
        self.io.send_control_parts(peer, parts);
        (parts[0].len() + parts[1].len()) as u32 + self.io.control_overhead()
    }
    /// IP bytes that a message takes besides its own.
    pub fn control_overhead(&self) -> u32 {
        self.io.control_overhead()
    }
    /// Longest IP packet that crosses the path to the other end in one piece, as far as the world knows.
    pub fn path_mtu(&self) -> Option<u32> {
        self.io.path_mtu()
    }
    /// Accounts for a packet that the element just made. Call it once per packet made.
    #[inline]
    pub fn create(&mut self, mut packet: Packet, reason: CreateReason) -> Packet {
        self.ledger.created.add_one(reason);
        packet.set_origin(reason);
        packet
    }
    /// A copy of `packet`, accounted for.
    pub fn duplicate(&mut self, packet: &Packet, reason: CreateReason) -> Packet {
        self.create(packet.clone(), reason)
    }
    /// Ends a packet that goes no further.
    pub fn discard(&mut self, packet: Packet, reason: DropReason) {
        self.discard_and_keep(packet, reason);
    }
    /// The same, and gives back what the packet was made of, for the next one ([`Packet::tcp_virtual_in`]).
    pub fn discard_and_keep(&mut self, packet: Packet, reason: DropReason) -> Packet {
        self.ledger.discarded.add_one(reason);
        self.io.show_discarded(&packet, reason);
        packet
    }
    /// Ends a packet that reached its goal (a host that took its content in).
    pub fn consume(&mut self, packet: Packet) {
        self.consume_and_keep(packet);
    }
    /// The same, and gives back what the packet was made of, for the next one ([`Packet::tcp_virtual_in`]).
    pub fn consume_and_keep(&mut self, packet: Packet) -> Packet {
        count_one(&mut self.ledger.consumed);
        packet
    }
    /// Leaves what a packet was made of that has ended and is accounted for to whoever makes the next one.
    pub fn keep_spare(&mut self, packet: Packet) {
        self.io.keep_spare(packet);
    }
    /// What a packet was made of that somebody left, for the next one ([`Packet::tcp_virtual_in`]).
    pub fn take_spare(&mut self) -> Option<Packet> {
        self.io.take_spare()
    }
    /// Counts an event once.
    pub fn emit(&mut self, event: Event) {
        self.ledger.events.add_one(event);
    }
    /// Counts an event `amount` times.
    pub fn emit_many(&mut self, event: Event, amount: u64) {
        if amount > 0 {
            self.ledger.events.add(event, amount);
        }
    }
}
