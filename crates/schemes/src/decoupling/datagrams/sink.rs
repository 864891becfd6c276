//! The receiving end.

use super::{Settings, read};
use crate::decoupling::CircuitEnd;
use airtcp_core::{Instant, Packet, Rng};
use airtcp_tcp::Endpoint;

/// What arrived of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// Datagrams.
    pub datagrams: u64,
    /// Their bytes, without IP and UDP headers.
    pub bytes: u64,
    /// Numbers that were left out: lost, as far as nothing comes late.
    pub lost: u64,
    /// Datagrams that came after a later one, or twice.
    pub misordered: u64,
}

/// Counts datagrams, and answers the circuit's control TCPs.
#[derive(Debug)]
pub struct Sink {
    local: Endpoint,
    remote: Endpoint,
    circuit: Option<CircuitEnd>,
    next: u64,
    received: Received,
}

impl Sink {
    /// A sink for what `remote` sends to `local`.
    pub fn new(settings: &Settings, [local, remote]: [Endpoint; 2], rng: &mut Rng) -> Sink {
        let end = |circuit| CircuitEnd::new(circuit, local.address, remote.address, rng);
        Sink { local, remote, circuit: settings.circuit.as_ref().map(end), next: 0, received: Received::default() }
    }

    /// What has arrived.
    pub fn received(&self) -> Received {
        self.received
    }

    /// What holds of the circuit's end at any time.
    ///
    /// # Errors
    /// A sentence that names what is broken.
    pub fn check(&self) -> Result<(), &'static str> {
        self.circuit.as_ref().map_or(Ok(()), CircuitEnd::check)
    }

    /// True for a packet of one of the circuit's control TCPs.
    pub fn owns_control(&self, packet: &Packet) -> bool {
        self.circuit.as_ref().is_some_and(|circuit| circuit.owns(packet))
    }

    /// Takes a datagram or a control packet.
    pub fn handle_packet(&mut self, now: Instant, packet: &Packet) {
        if let Some(circuit) = self.circuit.as_mut().filter(|circuit| circuit.owns(packet)) {
            return circuit.handle_control(now, packet);
        }
        let is_ours = (packet.ip().source, packet.ip().destination) == (self.remote.address, self.local.address);
        let Some((from, to, number, bytes)) = read(packet).filter(|_| is_ours) else { return };
        if (from, to) != (self.remote.port, self.local.port) {
            return;
        }
        self.received.datagrams += 1;
        self.received.bytes += bytes;
        if number < self.next {
            self.received.misordered += 1;
            self.received.lost = self.received.lost.saturating_sub(1);
            return;
        }
        self.received.lost += number - self.next;
        self.next = number + 1;
    }

    /// The next packet to send now; call again until there is none.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Packet> {
        self.circuit.as_mut()?.poll_transmit(now)
    }

    /// The earliest deadline, for [`Sink::handle_timeout`].
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.circuit.as_ref()?.poll_timeout()
    }

    /// Acts on every deadline that has passed.
    pub fn handle_timeout(&mut self, now: Instant) {
        if let Some(circuit) = &mut self.circuit {
            circuit.handle_timeout(now);
        }
    }
}
