//! The world a live element lives in: packets of two devices, the monotonic clock, a control
//! socket; every packet accounted for.
//!
//! Sends are buffered during a call and written when it returns, so no element is re-entered.
//! Writing to a TUN device costs one system call a packet whatever one does, so the buffer is
//! emptied after each call: that costs nothing and keeps the delay lowest.

use super::control::{ControlCounters, ControlSocket};
use crate::device::{DeviceCounters, DeviceGone, TunDevice};
use crate::sys::clock;
use airtcp_core::{
    Backlog, Context, CreateReason, DropReason, Duration, Element, Event, Instant, Io, Outcome, Packet, Peer, Port,
    Rng, Token, TxStatus,
};
use std::os::fd::{AsFd, BorrowedFd};

/// Packets taken from one device before the other gets its turn.
const BATCH: usize = 64;
/// Handled timeouts in a row before packets get their turn.
const TIMEOUT_BATCH: usize = 64;

/// What went through the element, and what became of it.
#[derive(Clone, Copy, Debug)]
pub struct Counters {
    /// Packets given to the element, by port.
    pub received: [u64; 2],
    /// Packets the element sent and the kernel took, by port.
    pub sent: [u64; 2],
    /// Datagrams that are no IP packet we can read, passed on as they came, by arrival port.
    pub passed_unread: [u64; 2],
    /// Packets made by the element, by [`CreateReason`].
    pub created: [u64; CreateReason::ALL.len()],
    /// Packets ended, by [`DropReason`].
    pub discarded: [u64; DropReason::ALL.len()],
    /// Packets that reached their goal inside the element.
    pub consumed: u64,
    /// What happened, by [`Event`].
    pub events: [u64; Event::ALL.len()],
}

impl Default for Counters {
    fn default() -> Self {
        Counters {
            received: [0; 2],
            sent: [0; 2],
            passed_unread: [0; 2],
            created: [0; CreateReason::ALL.len()],
            discarded: [0; DropReason::ALL.len()],
            consumed: 0,
            events: [0; Event::ALL.len()],
        }
    }
}

/// The two sides of *in + created = sent + held + consumed + discarded*.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Conservation {
    /// Packets given to the element.
    pub received: u64,
    /// Packets it made.
    pub created: u64,
    /// Packets it sent.
    pub sent: u64,
    /// Packets it keeps.
    pub held: u64,
    /// Packets that reached their goal.
    pub consumed: u64,
    /// Packets it ended.
    pub discarded: u64,
}

impl Conservation {
    /// True if no packet is unaccounted for.
    pub fn holds(&self) -> bool {
        self.received + self.created == self.sent + self.held + self.consumed + self.discarded
    }
}

/// What a call sent, in the order it was sent: a POLL must not overtake what it asks after.
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
    statuses: Vec<TxStatus>,
    counters: Counters,
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

    fn created(&mut self, reason: CreateReason) {
        self.counters.created[reason as usize] += 1;
    }

    fn discard(&mut self, _packet: Packet, reason: DropReason) {
        self.counters.discarded[reason as usize] += 1;
    }

    fn consume(&mut self, _packet: &Packet) {
        self.counters.consumed += 1;
    }

    fn emit(&mut self, event: Event, amount: u64) {
        self.counters.events[event as usize] += amount;
    }
}

impl World {
    /// Writes what the last call sent.
    fn flush(&mut self, now: Instant) {
        let mut outgoing = std::mem::take(&mut self.outgoing);
        for item in outgoing.drain(..) {
            match item {
                Outgoing::Packet(port, packet, token) => self.write(now, port, &packet, token),
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

    fn write(&mut self, now: Instant, port: Port, packet: &Packet, token: Option<Token>) {
        let sent = self.devices[usize::from(port.0)].send(&packet.to_wire());
        let outcome = if sent {
            self.counters.sent[usize::from(port.0)] += 1;
            Outcome::Sent
        } else {
            self.counters.discarded[DropReason::Device as usize] += 1;
            Outcome::Dropped
        };
        if let Some(token) = token {
            self.statuses.push(TxStatus { token, outcome, tries: 1, at: now });
        }
    }
}

/// An element on real packets.
pub struct Runtime {
    element: Box<dyn Element>,
    rng: Rng,
    world: World,
}

impl Runtime {
    /// Puts `element` between the devices: `out` carries what is about to leave through the
    /// link, `arrived` what arrived on it.
    pub fn new(
        element: Box<dyn Element>,
        rng: Rng,
        out: TunDevice,
        arrived: TunDevice,
        control: Option<ControlSocket>,
    ) -> Runtime {
        let world = World {
            devices: [arrived, out],
            control,
            outgoing: Vec::with_capacity(BATCH),
            statuses: Vec::new(),
            counters: Counters::default(),
        };
        Runtime { element, rng, world }
    }

    /// Runs one call of the element and what follows from it.
    fn call(&mut self, now: Instant, call: impl FnOnce(&mut dyn Element, &mut Context<'_>)) {
        call(&mut *self.element, &mut Context::new(now, &mut self.rng, &mut self.world));
        self.world.flush(now);
        while let Some(status) = self.world.statuses.pop() {
            let mut context = Context::new(now, &mut self.rng, &mut self.world);
            self.element.handle_tx_status(&mut context, status);
            self.world.flush(now);
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
                    self.world.counters.received[usize::from(arrival.0)] += 1;
                    self.call(clock::now(), |element, cx| {
                        element.handle_packet(cx, arrival, packet);
                    });
                }
                None => {
                    self.world.counters.passed_unread[usize::from(arrival.0)] += 1;
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

    /// Tells the kernel to go on diverting.
    pub fn send_heartbeat(&self, heartbeat: &[u8]) {
        // Refused for want of memory it is missed once; nine more come before it matters.
        let _ = self.world.devices[usize::from(Port::LINK.0)].send_uncounted(heartbeat);
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

    /// What went through so far.
    pub fn counters(&self) -> &Counters {
        &self.world.counters
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
    pub fn conservation(&self) -> Conservation {
        let counters = &self.world.counters;
        Conservation {
            received: counters.received.iter().sum(),
            created: counters.created.iter().sum(),
            sent: counters.sent.iter().sum(),
            held: self.element.held().packets as u64,
            consumed: counters.consumed,
            discarded: counters.discarded.iter().sum(),
        }
    }
}
