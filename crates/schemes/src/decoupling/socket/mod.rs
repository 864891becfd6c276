//! The reliable decoupling socket (section 5 of the paper; DEC-30): a data TCP, which the user sees, over a circuit of
//! hidden control TCPs between the same two hosts. Error control is the business of the first, congestion control of the
//! second.
//!
//! The data TCP is a [`Connection`] without congestion control (DEC-31). It is asked for a segment while the tunnel queue
//! has room (DEC-U6), so it sends as fast as the queue empties and never overflows it. Whatever of it takes sequence space,
//! retransmissions too, leaves through the circuit and is charged to the control window (DEC-36). What carries nothing goes
//! beside it: its SYN, so that both handshakes take one round trip together, and acknowledgments, which a receiver sends
//! directly (DEC-19).
//!
//! X of F2, the duplicates after which a retransmission counts as lost, is kept at what is on its way
//! ([`Repeat`]; DEC-U7, DEC-U22): `max(3, control window / packet size)`, and by default what waits in the tunnel queue
//! before the repair besides, since that returns duplicates, too.
//!
//! Retransmissions join the tail of the tunnel queue (DEC-U22), whose time the timers of the data TCP cannot know. So a
//! segment that still waits there is not put there again, however often it is asked for.
//!
//! F1 to F3 and the repair of all holes are parameters, each with the paper's reading ([`DataSettings`]). The paper repairs
//! the first hole only. That takes a round trip and the tunnel queue's time for each loss, and cannot keep up where a path
//! loses more than one data packet in that time; hence our default.

mod settings;

pub(in crate::decoupling) use settings::with_nearest;
pub use settings::{DataSettings, Repeat, Settings, Timer, WhenFull};

use crate::decoupling::{Circuit, CircuitEnd, Departure};
use airtcp_core::{Instant, Packet, Rng};
use airtcp_tcp::{Connection, Opening};
use alloc::boxed::Box;
use alloc::collections::BTreeSet;

/// Fewer duplicates are no sign of a loss (DEC-U7).
const LEAST_REPEAT: u32 = 3;

/// One end of a reliable decoupling connection: no I/O, no clock; driven like a [`Connection`].
#[derive(Debug)]
pub struct Socket(Box<End>);

#[derive(Debug)]
enum End {
    Sender(Sender),
    Receiver(Receiver),
}

#[derive(Debug)]
struct Sender {
    data: Connection,
    circuit: Circuit,
    repeat: Repeat,
    repeat_after: Option<u32>,
    when_full: WhenFull,
    /// Sequence numbers of what waits in the tunnel queue, if a second copy is kept out.
    waiting: Option<BTreeSet<u32>>,
    /// A segment was lost in front of the tunnel queue; the next one waits.
    is_quenched: bool,
    dropped: u64,
}

#[derive(Debug)]
struct Receiver {
    /// None before the SYN.
    data: Option<Connection>,
    opening: Opening,
    circuit: CircuitEnd,
}

impl Socket {
    /// The sending end: both TCPs' SYNs are the first things that leave.
    pub fn connect(settings: &Settings, opening: &Opening, rng: &mut Rng, now: Instant) -> Socket {
        let (local, remote) = (opening.local, opening.remote);
        let data = Opening { config: settings.data_config(&opening.config), ..opening.clone() };
        Socket(Box::new(End::Sender(Sender {
            data: Connection::connect(&data, now),
            circuit: Circuit::new(&settings.circuit, local.address, remote.address, rng, now),
            repeat: settings.data.repeat,
            repeat_after: settings.data.repeat_after,
            when_full: settings.data.when_full,
            waiting: settings.data.one_copy.then(BTreeSet::new),
            is_quenched: false,
            dropped: 0,
        })))
    }

    /// The receiving end, which waits for both SYNs.
    pub fn listen(settings: &Settings, opening: &Opening, rng: &mut Rng) -> Socket {
        let config = settings.data_config(&opening.config);
        let (local, remote) = (opening.local.address, opening.remote.address);
        Socket(Box::new(End::Receiver(Receiver {
            data: None,
            opening: Opening { config, ..opening.clone() },
            circuit: CircuitEnd::new(&settings.circuit, local, remote, rng),
        })))
    }

    /// The data TCP; none before its SYN arrived.
    pub fn data(&self) -> Option<&Connection> {
        match &*self.0 {
            End::Sender(sender) => Some(&sender.data),
            End::Receiver(receiver) => receiver.data.as_ref(),
        }
    }

    /// See [`Socket::data`]: to read, write and close.
    pub fn data_mut(&mut self) -> Option<&mut Connection> {
        match &mut *self.0 {
            End::Sender(sender) => Some(&mut sender.data),
            End::Receiver(receiver) => receiver.data.as_mut(),
        }
    }

    /// The circuit, at its sending end.
    pub fn circuit(&self) -> Option<&Circuit> {
        match &*self.0 {
            End::Sender(sender) => Some(&sender.circuit),
            End::Receiver(_) => None,
        }
    }

    /// What holds of the circuit at any time.
    ///
    /// # Errors
    /// A sentence that names what is broken.
    pub fn check(&self) -> Result<(), &'static str> {
        match &*self.0 {
            End::Sender(sender) => sender.circuit.check(),
            End::Receiver(receiver) => receiver.circuit.check(),
        }
    }

    /// Data segments lost in front of a full tunnel queue ([`WhenFull::Drop`]).
    pub fn dropped(&self) -> u64 {
        match &*self.0 {
            End::Sender(sender) => sender.dropped,
            End::Receiver(_) => 0,
        }
    }

    /// True for a packet of one of the hidden control TCPs.
    pub fn owns_control(&self, packet: &Packet) -> bool {
        match &*self.0 {
            End::Sender(sender) => sender.circuit.owns(packet),
            End::Receiver(receiver) => receiver.circuit.owns(packet),
        }
    }

    /// Takes a packet of either TCP.
    pub fn handle_packet(&mut self, now: Instant, packet: &Packet) {
        let is_control = self.owns_control(packet);
        match &mut *self.0 {
            End::Sender(sender) if is_control => sender.circuit.handle_control(now, packet),
            End::Sender(sender) => sender.handle_acknowledgment(now, packet),
            End::Receiver(receiver) if is_control => receiver.circuit.handle_control(now, packet),
            End::Receiver(receiver) => receiver.handle_data(now, packet),
        }
    }

    /// The next packet to send now; call again until there is none.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Packet> {
        match &mut *self.0 {
            End::Sender(sender) => sender.poll_transmit(now),
            End::Receiver(Receiver { data, circuit, .. }) => {
                data.as_mut().and_then(|data| data.poll_transmit(now)).or_else(|| circuit.poll_transmit(now))
            }
        }
    }

    /// The earliest deadline, for [`Socket::handle_timeout`].
    pub fn poll_timeout(&self) -> Option<Instant> {
        let (data, circuit) = match &*self.0 {
            End::Sender(sender) => (sender.data.poll_timeout(), sender.circuit.poll_timeout()),
            End::Receiver(receiver) => {
                (receiver.data.as_ref().and_then(Connection::poll_timeout), receiver.circuit.poll_timeout())
            }
        };
        data.into_iter().chain(circuit).min()
    }

    /// Acts on every deadline that has passed.
    pub fn handle_timeout(&mut self, now: Instant) {
        match &mut *self.0 {
            End::Sender(sender) => {
                sender.data.handle_timeout(now);
                sender.circuit.handle_timeout(now);
            }
            End::Receiver(receiver) => {
                if let Some(data) = &mut receiver.data {
                    data.handle_timeout(now);
                }
                receiver.circuit.handle_timeout(now);
            }
        }
    }
}

impl Sender {
    fn handle_acknowledgment(&mut self, now: Instant, packet: &Packet) {
        self.data.set_repeat_after(self.repeat_after());
        self.data.handle_segment(now, packet);
    }

    /// X of F2.
    fn repeat_after(&self) -> u32 {
        if let Some(constant) = self.repeat_after {
            return constant;
        }
        let packet = u64::from(self.data.mss()) + self.headers();
        let window = u32::try_from(self.circuit.window_bytes() / packet.max(1)).unwrap_or(u32::MAX);
        let waiting = match self.repeat {
            Repeat::Path => u32::try_from(self.circuit.held().packets).unwrap_or(u32::MAX),
            Repeat::Window | Repeat::Never => 0,
        };
        window.saturating_add(waiting).max(LEAST_REPEAT)
    }

    /// IP and TCP headers of a data packet, in bytes.
    fn headers(&self) -> u64 {
        if self.data.local().address.is_ipv4() { 52 } else { 72 }
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet> {
        if let Some(direct) = self.fill(now) {
            return Some(direct);
        }
        match self.circuit.poll_transmit(now)? {
            Departure::Control(packet) => Some(packet),
            Departure::Data(packet) => {
                if let Some(waiting) = &mut self.waiting {
                    waiting.remove(&number(&packet));
                }
                Some(packet)
            }
        }
    }

    /// Moves segments into the tunnel queue as long as it has room; returns one that goes beside it.
    fn fill(&mut self, now: Instant) -> Option<Packet> {
        while self.may_ask() {
            let packet = self.data.poll_transmit(now)?;
            if !is_tunnelled(&packet) {
                return Some(packet);
            }
            let number = number(&packet);
            if self.waiting.as_ref().is_some_and(|waiting| waiting.contains(&number)) {
                continue;
            }
            if self.circuit.offer(now, packet).is_err() {
                self.is_quenched = true;
                self.dropped += 1;
            } else if let Some(waiting) = &mut self.waiting {
                waiting.insert(number);
            }
        }
        None
    }

    /// DEC-U6: the full queue blocks, or takes a segment away.
    fn may_ask(&mut self) -> bool {
        let room = self.circuit.room();
        match self.when_full {
            WhenFull::Block => room > 0,
            WhenFull::Drop => {
                self.is_quenched &= room <= self.circuit.held().packets;
                !self.is_quenched
            }
        }
    }
}

impl Receiver {
    fn handle_data(&mut self, now: Instant, packet: &Packet) {
        if let Some(data) = &mut self.data {
            return data.handle_segment(now, packet);
        }
        self.data = Connection::accept(&self.opening, packet, now);
    }
}

/// What a data segment is known by.
fn number(packet: &Packet) -> u32 {
    packet.tcp().map_or(0, |tcp| tcp.sequence.0)
}

/// What the circuit paces: all that takes sequence space behind the SYN.
fn is_tunnelled(packet: &Packet) -> bool {
    packet.sequence_len() > 0 && !packet.tcp().is_some_and(|tcp| tcp.flags.syn())
}
