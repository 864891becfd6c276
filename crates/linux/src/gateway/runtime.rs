//! The world of a live element: packets of two devices, the monotonic clock, a control socket. Every packet is
//! accounted for.
//!
//! Sends are buffered during a call and written when it returns, so no element is re-entered.
//! Writing to a TUN device costs one system call a packet whatever one does, so the buffer is
//! emptied after each call: that costs nothing and keeps the delay lowest.

use super::control::{ControlCounters, ControlSocket};
use super::scheme::Scheme;
use crate::device::{DeviceCounters, DeviceGone, TunDevice};
use crate::sys::clock;
use airtcp_core::{
    Backlog, Balance, Context, CreateReason, DropReason, Duration, Element, Event, Gauge, Instant, Io, Ledger, Outcome,
    Packet, Peer, Port, Rng, Token, TxStatus,
};
use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd};

/// Packets taken from one device before the other gets its turn.
const BATCH: usize = 64;
/// Handled timeouts in a row before packets get their turn.
const TIMEOUT_BATCH: usize = 64;

/// What a call sent, in the order of sending: a POLL must not overtake the packets that it asks about.
enum Outgoing {
    Packet(Port, Packet, Option<Token>),
    Control(Vec<u8>),
}

/// Implements [`Io`] over the devices and the control socket.
struct World {
    /// By the port that packets leave through: [`Port::INNER`] is the device of what arrived
    /// on the link, [`Port::LINK`] that of what leaves through it.
    devices: [TunDevice; 2],
    control: Option<ControlSocket>,
    outgoing: Vec<Outgoing>,
    statuses: VecDeque<TxStatus>,
    /// Datagrams that are no IP packet we can read, passed on as they came, by arrival port.
    passed_unread: [u64; 2],
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
        waiting.fold(Backlog::default(), |sum, packet| Backlog {
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

    fn control_overhead(&self) -> u32 {
        self.control.as_ref().map_or(0, ControlSocket::overhead)
    }

    fn send_control(&mut self, peer: Peer, message: &[u8]) {
        if peer == Peer::OTHER_END {
            self.outgoing.push(Outgoing::Control(message.to_vec()));
        }
    }
}

impl World {
    /// Writes what the last call sent.
    fn flush(&mut self, now: Instant, ledger: &mut Ledger) {
        let mut outgoing = std::mem::take(&mut self.outgoing);
        for item in outgoing.drain(..) {
            match item {
                Outgoing::Packet(port, packet, token) => self.write(now, ledger, port, &packet, token),
                Outgoing::Control(message) => {
                    if let Some(control) = &mut self.control {
                        control.send(&message);
                    }
                }
            }
        }
        // Keeps its capacity.
        self.outgoing = outgoing;
    }

    fn write(&mut self, now: Instant, ledger: &mut Ledger, port: Port, packet: &Packet, token: Option<Token>) {
        let sent = self.devices[usize::from(port.0)].send(&packet.to_wire());
        let outcome = if sent {
            Outcome::Sent
        } else {
            ledger.fail_to_send(port, DropReason::DEVICE);
            Outcome::Dropped
        };
        if let Some(token) = token {
            self.statuses.push_back(TxStatus { token, outcome, tries: 1, at: now });
        }
    }
}

/// An element on real packets.
pub struct Runtime {
    element: Box<dyn Element>,
    rng: Rng,
    ledger: Ledger,
    world: World,
}

impl Runtime {
    /// Puts the scheme's element between the devices: `out` carries what is about to leave through the
    /// link, `arrived` what arrived on it.
    pub fn new(
        scheme: Scheme,
        rng: Rng,
        out: TunDevice,
        arrived: TunDevice,
        control: Option<ControlSocket>,
    ) -> Runtime {
        let world = World {
            devices: [arrived, out],
            control,
            outgoing: Vec::with_capacity(BATCH),
            statuses: VecDeque::new(),
            passed_unread: [0; 2],
        };
        // What did not happen yet is reported as zero.
        let mut ledger = Ledger::default();
        Event::COMMON.iter().chain(scheme.reports.events).for_each(|event| ledger.events.add(*event, 0));
        CreateReason::COMMON.iter().for_each(|reason| ledger.created.add(*reason, 0));
        DropReason::COMMON.iter().for_each(|reason| ledger.discarded.add(*reason, 0));
        Runtime { element: scheme.element, rng, ledger, world }
    }

    /// Runs one call of the element and what follows from it.
    fn call(&mut self, now: Instant, call: impl FnOnce(&mut dyn Element, &mut Context<'_>)) {
        call(&mut *self.element, &mut Context::new(now, &mut self.rng, &mut self.ledger, &mut self.world));
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
        let leaving = self.handle_device(Port::LINK)?;
        let arriving = self.handle_device(Port::INNER)?;
        Ok(leaving || arriving)
    }

    /// The device that packets for one port leave through brings those that came in at the other.
    fn handle_device(&mut self, device: Port) -> Result<bool, DeviceGone> {
        let (index, arrival) = (usize::from(device.0), device.opposite());
        for _ in 0..BATCH {
            let Some(datagram) = self.world.devices[index].receive()? else { return Ok(false) };
            let length = datagram.len();
            match Packet::parse(datagram) {
                Some(packet) => {
                    self.ledger.receive(arrival);
                    self.call(clock::now(), |element, cx| {
                        element.handle_packet(cx, arrival, packet);
                    });
                }
                None => {
                    self.world.passed_unread[arrival.index()] += 1;
                    self.world.devices[index].send_back(length);
                }
            }
        }
        Ok(true)
    }

    /// Hands waiting control messages to the element, a bounded number.
    pub fn handle_control(&mut self) {
        // Out of the world while its buffer is lent to the element.
        let Some(mut control) = self.world.control.take() else { return };
        let mut budget = BATCH;
        let mut message = Vec::new();
        loop {
            let now = clock::now();
            let Some(received) = control.receive(now, &mut budget) else { break };
            message.clear();
            message.extend_from_slice(received);
            self.world.control = Some(control);
            self.call(now, |element, cx| {
                element.handle_control(cx, Peer::OTHER_END, &message);
            });
            match self.world.control.take() {
                Some(back) => control = back,
                None => return,
            }
        }
        self.world.control = Some(control);
    }

    /// Runs what is due; a bounded number, so that a confused element cannot stop the packets.
    pub fn handle_timeouts(&mut self) {
        for _ in 0..TIMEOUT_BATCH {
            let now = clock::now();
            if self.element.poll_timeout().is_none_or(|due| due > now) {
                return;
            }
            self.call(now, |element, cx| element.handle_timeout(cx));
        }
    }

    /// How long until something is due; `None` for never.
    pub fn until_timeout(&self) -> Option<Duration> {
        self.element.poll_timeout().map(|due| due.saturating_since(clock::now()))
    }

    /// True if the scheme can work: the other end is in reach, or there is none.
    pub fn is_in_reach(&self) -> bool {
        let mut in_reach = true;
        self.element.observe(&mut |gauge, level| in_reach &= gauge != Gauge::PEER_IN_REACH || level == 1);
        in_reach
    }

    /// The devices' descriptors.
    pub fn device_fds(&self) -> [BorrowedFd<'_>; 2] {
        [self.world.devices[0].as_fd(), self.world.devices[1].as_fd()]
    }

    /// The control socket's descriptor.
    pub fn control_fd(&self) -> Option<BorrowedFd<'_>> {
        self.world.control.as_ref().map(AsFd::as_fd)
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

    /// What the control socket did so far.
    pub fn control_counters(&self) -> Option<ControlCounters> {
        self.world.control.as_ref().map(ControlSocket::counters)
    }

    /// The balance of packets.
    pub fn balance(&self) -> Balance {
        self.ledger.balance(self.element.held().packets)
    }
}
