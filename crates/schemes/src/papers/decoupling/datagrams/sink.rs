//! The receiving end.

use super::{DATAGRAMS_LOST, DATAGRAMS_MISORDERED, StreamSettings, read};
use crate::papers::decoupling::CircuitEnd;
use crate::socket::{Socket, SocketSite};
use airtcp_core::{Event, Instant, Packet};
use airtcp_tcp::{Endpoint, Stats};
use alloc::vec::Vec;

/// Counts datagrams, and answers the circuit's control TCPs.
pub struct Sink {
    local: Endpoint,
    remote: Endpoint,
    circuit: Option<CircuitEnd>,
    next: u64,
    /// Without IP and UDP headers.
    bytes: u64,
    /// Numbers that were left out: lost, as far as nothing comes late.
    lost: u64,
    /// Datagrams that came after a later one, or twice.
    misordered: u64,
}

impl Sink {
    /// A sink for what the remote end sends to the local one.
    pub fn new(settings: &StreamSettings, site: &mut SocketSite<'_>) -> Sink {
        let (local, remote) = (site.opening.local, site.opening.remote);
        let circuit = settings.circuit.as_ref().map(|circuit| circuit.for_flow(site.flow));
        let circuit = circuit.map(|circuit| CircuitEnd::new(&circuit, local.address, remote.address, site.rng));
        Sink { local, remote, circuit, next: 0, bytes: 0, lost: 0, misordered: 0 }
    }
}

impl Socket for Sink {
    fn handle_packet(&mut self, now: Instant, packet: &Packet) {
        if let Some(circuit) = self.circuit.as_mut().filter(|circuit| circuit.owns(packet)) {
            return circuit.handle_control(now, packet);
        }
        let is_ours = (packet.ip().source, packet.ip().destination) == (self.remote.address, self.local.address);
        let Some((from, to, number, bytes)) = read(packet).filter(|_| is_ours) else { return };
        if (from, to) != (self.remote.port, self.local.port) {
            return;
        }
        self.bytes += bytes;
        if number < self.next {
            self.misordered += 1;
            self.lost = self.lost.saturating_sub(1);
            return;
        }
        self.lost += number - self.next;
        self.next = number + 1;
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet> {
        self.circuit.as_mut()?.poll_transmit(now)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.circuit.as_ref()?.poll_timeout()
    }

    fn handle_timeout(&mut self, now: Instant) {
        if let Some(circuit) = &mut self.circuit {
            circuit.handle_timeout(now);
        }
    }

    fn stats(&self) -> Stats {
        Stats { bytes_received: self.bytes, bytes_delivered: self.bytes, ..Stats::default() }
    }

    fn counts(&self) -> Vec<(Event, u64)> {
        [(DATAGRAMS_LOST, self.lost), (DATAGRAMS_MISORDERED, self.misordered)].into()
    }

    fn check(&self) -> Result<(), &'static str> {
        self.circuit.as_ref().map_or(Ok(()), CircuitEnd::check)
    }

    fn owns(&self, packet: &Packet) -> bool {
        self.circuit.as_ref().is_some_and(|circuit| circuit.owns(packet))
    }
}
