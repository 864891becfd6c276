//! The world of a live element: packets of two devices, the monotonic clock, a control channel. Every packet is
//! accounted for.
//!
//! Sends are buffered during a call, so no element is re-entered, and are written after a batch of packets: what belongs
//! together goes to the kernel at once, as a system call costs more than what most elements do with a packet.

use super::control::{ControlChannel, ControlCounters, PeerState};
use super::divert;
use super::outlet::{Outgoing, Outlet};
use super::scheme::Scheme;
use crate::device::{Datagram, DeviceCounters, DeviceGone, TunDevice};
use crate::sys::clock;
use airtcp_core::initial_sequence::InitialSequences;
use airtcp_core::{
    Backlog, Balance, Context, CreateReason, DropReason, Duration, Element, Event, FlowKey, Gauge, Instant, Io, Ledger,
    Outcome, Packet, Peer, Port, Rng, SeqNum, Token, TxStatus,
};
use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd};

/// Packets taken from one device before the next gets its turn; more where a super-frame began, as its parts leave
/// together.
const BATCH: usize = 64;
/// What a device keeps for a worker that is busy, in packets.
const DEVICE_QUEUE_PACKETS: usize = divert::DEVICE_QUEUE_PACKETS as usize;
/// Messages that wait until packets sent after them have left, where the element lets them.
const LATE_MESSAGES: usize = 8;
/// Handled timeouts in a row before packets get their turn.
const TIMEOUT_BATCH: usize = 64;

/// How long an element that is to be replaced may go on sending what it holds. Meanwhile packets wait in the devices.
const HANDOVER: Duration = Duration::from_millis(100);

airtcp_core::declare! { DropReason, DROP_REASONS:
    /// An element that was replaced still held it.
    REPLACED = "replaced",
}

/// Implements [`Io`] over the devices and the control channel.
struct World {
    /// By the port that packets leave through: [`Port::INNER`] is the device of what arrived
    /// on the link, [`Port::LINK`] that of what leaves through it.
    devices: [TunDevice; 2],
    control: Option<ControlChannel>,
    /// So many messages may wait for packets behind them.
    late_messages: usize,
    outgoing: Vec<Outgoing>,
    /// What waits for its turn on a link that peers share.
    outlet: Option<Outlet>,
    statuses: VecDeque<TxStatus>,
    /// Datagrams that are no IP packet we can read, passed on as they came, by arrival port.
    passed_unread: [u64; 2],
    sequences: InitialSequences,
}

impl Io for World {
    fn room(&mut self, port: Port) -> usize {
        if port.0 < 2 { usize::MAX } else { 0 }
    }

    fn backlog(&mut self, port: Port) -> Backlog {
        // The kernel takes packets at once; what waits in the link's own queue is not visible.
        let waiting = self.outgoing.iter().filter_map(|outgoing| match outgoing {
            Outgoing::Packet(to, packet, _) => (*to == port).then_some(packet),
            Outgoing::Control(_) => None,
        });
        let in_outlet = self.outlet.iter().filter(|_| port == Port::LINK).flat_map(Outlet::packets);
        waiting.chain(in_outlet).fold(Backlog::default(), |sum, packet| Backlog {
            packets: sum.packets + 1,
            bytes: sum.bytes + u64::from(packet.wire_len()),
        })
    }

    fn try_send(&mut self, port: Port, packet: Packet, token: Option<Token>) -> Result<(), Packet> {
        if port.0 >= 2 {
            return Err(packet);
        }
        self.outgoing.push(Outgoing::Packet(port, packet, token));
        Ok(())
    }

    fn initial_sequence(&self, now: Instant, flow: &FlowKey) -> Option<SeqNum> {
        Some(self.sequences.at(now, flow))
    }

    fn control_overhead(&self) -> u32 {
        self.control.as_ref().map_or(0, ControlChannel::overhead)
    }

    fn path_mtu(&self) -> Option<u32> {
        self.control.as_ref().and_then(ControlChannel::path_mtu)
    }

    fn send_control(&mut self, peer: Peer, message: &[u8]) {
        if peer == Peer::OTHER_END {
            self.outgoing.push(Outgoing::Control(message.to_vec()));
        }
    }
}

impl World {
    /// Writes what was sent since the last call. Packets in a row for one device are given to the kernel together, as far
    /// as they can be.
    fn flush(&mut self, now: Instant, ledger: &mut Ledger) {
        let mut outgoing = std::mem::take(&mut self.outgoing);
        match self.outlet.take() {
            Some(mut outlet) => {
                let (at_once, to_wait): (Vec<_>, Vec<_>) =
                    outgoing.drain(..).partition(|item| matches!(item, Outgoing::Packet(Port::INNER, ..)));
                self.write_all(now, ledger, at_once);
                to_wait.into_iter().for_each(|item| self.let_wait(now, ledger, item, &mut outlet));
                self.outlet = Some(outlet);
            }
            None => self.write_all(now, ledger, outgoing.drain(..)),
        }
        // Keeps its capacity.
        self.outgoing = outgoing;
    }

    fn let_wait(&mut self, now: Instant, ledger: &mut Ledger, item: Outgoing, outlet: &mut Outlet) {
        let bytes = match &item {
            Outgoing::Packet(_, packet, _) => packet.wire_len(),
            Outgoing::Control(message) => message.len() as u32 + self.control_overhead(),
        };
        if let Err(Outgoing::Packet(port, _, token)) = outlet.push(item, bytes) {
            ledger.fail_to_send(port, DropReason::QUEUE_FULL);
            let status = |token| TxStatus { token, outcome: Outcome::Dropped, tries: 1, at: now };
            self.statuses.extend(token.map(status));
        }
    }

    /// Writes the first of what waits for its turn, so many.
    fn release(&mut self, now: Instant, ledger: &mut Ledger, count: usize) {
        let Some(mut outlet) = self.outlet.take() else { return };
        self.write_all(now, ledger, std::iter::from_fn(|| outlet.pop()).take(count));
        self.outlet = Some(outlet);
    }

    fn write_all(&mut self, now: Instant, ledger: &mut Ledger, items: impl IntoIterator<Item = Outgoing>) {
        let (mut staged_for, mut tokens, mut late) = (Port::INNER, VecDeque::new(), Vec::new());
        for item in items {
            match item {
                Outgoing::Packet(port, packet, token) => {
                    if port != staged_for {
                        self.write(now, ledger, staged_for, &mut tokens);
                        staged_for = port;
                    }
                    let checksum_is_known_good = packet.checksum_is_known_good();
                    let datagram = Datagram { bytes: packet.to_wire(), checksum_is_known_good };
                    if let Err(datagram) = self.devices[port.index()].stage(datagram) {
                        self.write(now, ledger, port, &mut tokens);
                        // Nothing is staged, so it is taken.
                        let _ = self.devices[port.index()].stage(datagram);
                    }
                    tokens.push_back(token);
                }
                Outgoing::Control(message) => {
                    late.push(message);
                    if late.len() > self.late_messages {
                        self.write(now, ledger, staged_for, &mut tokens);
                        self.send_messages(&mut late);
                    }
                }
            }
        }
        self.write(now, ledger, staged_for, &mut tokens);
        self.send_messages(&mut late);
    }

    fn send_messages(&mut self, messages: &mut Vec<Vec<u8>>) {
        for message in messages.drain(..) {
            if let Some(control) = &mut self.control {
                control.send(&message);
            }
        }
    }

    /// Writes what is staged for a device, and notes what became of it.
    fn write(&mut self, now: Instant, ledger: &mut Ledger, port: Port, tokens: &mut VecDeque<Option<Token>>) {
        let is_sent = self.devices[port.index()].flush();
        for token in tokens.drain(..) {
            if !is_sent {
                ledger.fail_to_send(port, DropReason::DEVICE);
            }
            if let Some(token) = token {
                let outcome = if is_sent { Outcome::Sent } else { Outcome::Dropped };
                self.statuses.push_back(TxStatus { token, outcome, tries: 1, at: now });
            }
        }
    }
}

fn late_messages(scheme: &Scheme) -> usize {
    if scheme.element.messages_may_wait() { LATE_MESSAGES } else { 0 }
}

fn parse(datagram: Datagram) -> Option<Packet> {
    let mut packet = Packet::parse(datagram.bytes)?;
    if datagram.checksum_is_known_good {
        packet.set_checksum_known_good();
    }
    Some(packet)
}

/// An element on real packets.
pub struct Runtime {
    element: Box<dyn Element>,
    rng: Rng,
    ledger: Ledger,
    world: World,
    /// Takes the element's place once that holds no packet, or at this time.
    successor: Option<(Box<dyn Element>, Instant)>,
}

impl Runtime {
    /// Puts the scheme's element between the devices: `out` carries what is about to leave through the
    /// link, `arrived` what arrived on it. Connections that it opens begin at one of `sequences`.
    pub fn new(
        scheme: Scheme,
        rng: Rng,
        sequences: InitialSequences,
        [out, arrived]: [TunDevice; 2],
        control: Option<ControlChannel>,
    ) -> Runtime {
        let world = World {
            devices: [arrived, out],
            control,
            late_messages: late_messages(&scheme),
            outgoing: Vec::with_capacity(BATCH),
            outlet: None,
            statuses: VecDeque::new(),
            passed_unread: [0; 2],
            sequences,
        };
        // What did not happen yet is reported as zero.
        let mut ledger = Ledger::default();
        Event::COMMON.iter().chain(scheme.reports.events).for_each(|event| ledger.events.add(*event, 0));
        CreateReason::COMMON.iter().for_each(|reason| ledger.created.add(*reason, 0));
        DropReason::COMMON.iter().chain(DROP_REASONS).for_each(|reason| ledger.discarded.add(*reason, 0));
        Runtime { element: scheme.element, rng, ledger, world, successor: None }
    }

    /// Has another element of the same scheme take the place of the present one, which first sends what it holds.
    pub fn replace(&mut self, scheme: Scheme) {
        self.world.late_messages = late_messages(&scheme);
        self.successor = Some((scheme.element, clock::now() + HANDOVER));
        self.hand_on(clock::now());
    }

    /// True while an element is to be replaced: no packets are taken.
    pub fn is_changing(&self) -> bool {
        self.successor.is_some()
    }

    fn hand_on(&mut self, now: Instant) {
        let held = self.element.held().packets as u64;
        match self.successor.take() {
            Some((element, by)) if held == 0 || now >= by => {
                self.ledger.discarded.add(REPLACED, held);
                self.element = element;
            }
            waiting => self.successor = waiting,
        }
    }

    /// Lets what leaves through the link wait for its turn, at most so many bytes ([`Runtime::release`]).
    pub fn wait_for_turns(&mut self, limit: u64) {
        self.world.outlet = Some(Outlet::new(limit));
    }

    /// Bytes of what waits for its turn behind `skipped` others.
    pub fn waiting(&self, skipped: usize) -> Option<u32> {
        self.world.outlet.as_ref()?.bytes_at(skipped)
    }

    /// How many packets and messages wait for their turn.
    pub fn waiting_count(&self) -> usize {
        self.world.outlet.as_ref().map_or(0, Outlet::len)
    }

    /// It is the turn of the first `count` that wait.
    pub fn release(&mut self, count: usize) {
        let now = clock::now();
        self.world.release(now, &mut self.ledger, count);
        self.finish(now);
    }

    /// Runs one call of the element; [`Runtime::finish`] does what follows from it.
    fn hand_over(&mut self, now: Instant, call: impl FnOnce(&mut dyn Element, &mut Context<'_>)) {
        call(&mut *self.element, &mut Context::new(now, &mut self.rng, &mut self.ledger, &mut self.world));
    }

    /// Writes what was sent, and tells the element what became of it.
    fn finish(&mut self, now: Instant) {
        self.world.flush(now, &mut self.ledger);
        while let Some(status) = self.world.statuses.pop_front() {
            let mut context = Context::new(now, &mut self.rng, &mut self.ledger, &mut self.world);
            self.element.handle_tx_status(&mut context, status);
            self.world.flush(now, &mut self.ledger);
        }
    }

    /// Takes a batch from each device and hands it to the element; true if more may wait.
    ///
    /// # Errors
    /// A device is gone.
    pub fn handle_packets(&mut self) -> Result<bool, DeviceGone> {
        if self.is_changing() {
            return Ok(false);
        }
        let leaving = self.handle_device(Port::LINK)?;
        let arriving = self.handle_device(Port::INNER)?;
        Ok(leaving || arriving)
    }

    /// The device that packets for one port leave through brings those that came in at the other.
    fn handle_device(&mut self, device: Port) -> Result<bool, DeviceGone> {
        let (index, arrival) = (device.index(), device.opposite());
        let (mut now, mut left) = (clock::now(), BATCH);
        while left > 0 || self.world.devices[index].is_in_frame() {
            let Some(datagram) = self.world.devices[index].receive()? else { break };
            left = left.saturating_sub(1);
            match parse(datagram) {
                Some(packet) => {
                    self.ledger.receive(arrival);
                    now = clock::now();
                    self.hand_over(now, |element, cx| element.handle_packet(cx, arrival, packet));
                }
                None => {
                    self.world.passed_unread[arrival.index()] += 1;
                    self.world.devices[index].send_back();
                }
            }
        }
        self.finish(now);
        Ok(left == 0)
    }

    /// Hands control messages to the element. Packets that arrived before them come first: a message that asks about a
    /// packet must not overtake it in here.
    ///
    /// # Errors
    /// A device is gone.
    pub fn handle_messages(&mut self, messages: &[Vec<u8>]) -> Result<(), DeviceGone> {
        if messages.is_empty() {
            return Ok(());
        }
        for _ in 0..DEVICE_QUEUE_PACKETS / BATCH {
            if self.is_changing() || !self.handle_device(Port::INNER)? {
                break;
            }
        }
        let mut now = clock::now();
        for message in messages {
            self.hand_over(now, |element, cx| element.handle_control(cx, Peer::OTHER_END, message));
            now = clock::now();
        }
        self.finish(now);
        Ok(())
    }

    /// Runs what is due; a bounded number, so that a confused element cannot stop the packets. What was sent is written
    /// after the last.
    pub fn handle_timeouts(&mut self) {
        let mut now = clock::now();
        if let Some(control) = &mut self.world.control {
            control.handle_timeout(now);
        }
        for _ in 0..TIMEOUT_BATCH {
            if self.element.poll_timeout().is_none_or(|due| due > now) {
                break;
            }
            self.hand_over(now, |element, cx| element.handle_timeout(cx));
            now = clock::now();
        }
        self.finish(now);
        self.hand_on(now);
    }

    /// How long until something is due; `None` for never.
    pub fn until_timeout(&self) -> Option<Duration> {
        let control = self.world.control.as_ref().map(ControlChannel::poll_timeout);
        let change = self.successor.as_ref().map(|(_, by)| *by);
        let due = self.element.poll_timeout().into_iter().chain(control).chain(change).min();
        due.map(|due| due.saturating_since(clock::now()))
    }

    /// True if the scheme can work: the other end is in reach, as the scheme and the control channel say, or the scheme
    /// has none.
    pub fn is_in_reach(&self) -> bool {
        let mut level = None;
        self.element.observe(&mut |gauge, value| {
            if gauge == Gauge::PEER_IN_REACH {
                level = Some(value);
            }
        });
        let answers = self.world.control.as_ref().is_none_or(|control| control.is_in_reach(clock::now()));
        level.is_none_or(|level| level == 1 && answers)
    }

    /// What is known of the other gateway.
    pub fn peer_state(&self) -> Option<PeerState> {
        self.world.control.as_ref().map(|control| control.peer_state(clock::now()))
    }

    /// The devices' descriptors.
    pub fn device_fds(&self) -> [BorrowedFd<'_>; 2] {
        [self.world.devices[0].as_fd(), self.world.devices[1].as_fd()]
    }

    /// The way to the peer.
    pub fn control(&self) -> Option<&ControlChannel> {
        self.world.control.as_ref()
    }

    /// The way to the peer, to be given what arrives.
    pub fn control_mut(&mut self) -> Option<&mut ControlChannel> {
        self.world.control.as_mut()
    }

    /// The element.
    pub fn element(&self) -> &dyn Element {
        &*self.element
    }

    /// The accounts of the element.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Datagrams that are no IP packet we can read, passed on as they came, by arrival port.
    pub fn passed_unread(&self) -> [u64; 2] {
        self.world.passed_unread
    }

    /// What the devices did so far, by the port that packets leave through.
    pub fn device_counters(&self) -> [DeviceCounters; 2] {
        [self.world.devices[0].counters(), self.world.devices[1].counters()]
    }

    /// What the control channel did so far.
    pub fn control_counters(&self) -> Option<ControlCounters> {
        self.world.control.as_ref().map(ControlChannel::counters)
    }

    /// The balance of packets.
    pub fn balance(&self) -> Balance {
        self.ledger.balance(self.element.held().packets)
    }
}
