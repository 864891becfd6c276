//! The receiving end.

use super::{DATAGRAMS_LOST, DATAGRAMS_MISORDERED, DATAGRAMS_REPEATED, StreamSettings, read};
use crate::papers::decoupling::CircuitEnd;
use crate::socket::datagram::Arrivals;
use crate::socket::{Socket, SocketSite};
use airtcp_core::{Duration, Event, Instant, Packet};
use airtcp_tcp::{Endpoint, Stats};
use alloc::vec::Vec;

/// Counts datagrams, and answers the circuit's control TCPs.
pub struct Sink {
    local: Endpoint,
    remote: Endpoint,
    circuit: Option<CircuitEnd>,
    arrivals: Arrivals,
    /// Without IP and UDP headers, and without what came again.
    bytes: u64,
    latest_delay: Option<Duration>,
    /// Everything that came had the content of its number.
    is_intact: bool,
}

impl Sink {
    /// A sink for what the remote end sends to the local one.
    pub fn new(settings: &StreamSettings, site: &mut SocketSite<'_>) -> Sink {
        let (local, remote) = (site.opening.local, site.opening.remote);
        let circuit = settings.circuit.as_ref().map(|circuit| circuit.for_flow(site.flow));
        let circuit = circuit.map(|circuit| CircuitEnd::new(&circuit, local.address, remote.address, site.rng));
        Sink { local, remote, circuit, arrivals: Arrivals::default(), bytes: 0, latest_delay: None, is_intact: true }
    }
}

impl Socket for Sink {
    fn handle_packet(&mut self, now: Instant, packet: &Packet) {
        if let Some(circuit) = self.circuit.as_mut().filter(|circuit| circuit.owns(packet)) {
            return circuit.handle_control(now, packet);
        }
        let is_ours = (packet.ip().source, packet.ip().destination) == (self.remote.address, self.local.address);
        let Some((from, to, content, bytes)) = read(packet).filter(|_| is_ours) else { return };
        if (from, to) != (self.remote.port, self.local.port) {
            return;
        }
        self.is_intact &= content.is_intact;
        if self.arrivals.take(content.number) {
            self.bytes += bytes;
            self.latest_delay = Some(now.saturating_since(content.made));
        }
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

    fn latest_delay(&self) -> Option<Duration> {
        self.latest_delay
    }

    fn counts(&self) -> Vec<(Event, u64)> {
        let counts = self.arrivals.counts();
        let named = [
            (DATAGRAMS_LOST, counts.lost),
            (DATAGRAMS_MISORDERED, counts.misordered),
            (DATAGRAMS_REPEATED, counts.repeated),
        ];
        named.into()
    }

    fn check(&self) -> Result<(), &'static str> {
        if !self.is_intact {
            return Err("a datagram arrived with other bytes than those of its number");
        }
        self.circuit.as_ref().map_or(Ok(()), CircuitEnd::check)
    }

    fn owns(&self, packet: &Packet) -> bool {
        self.circuit.as_ref().is_some_and(|circuit| circuit.owns(packet))
    }
}
