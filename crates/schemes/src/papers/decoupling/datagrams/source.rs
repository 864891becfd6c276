//! The sending end.

use super::{DATAGRAMS, SourceSettings, StreamSettings, datagram};
use crate::papers::decoupling::{Circuit, Departure, counters};
use crate::socket::{Socket, SocketSite};
use airtcp_core::{Duration, Event, Instant, Packet};
use airtcp_tcp::{Endpoint, Stats};
use alloc::vec::Vec;

/// Makes datagrams and sends them, over a circuit if there is one.
pub struct Source {
    local: Endpoint,
    remote: Endpoint,
    settings: SourceSettings,
    circuit: Option<Circuit>,
    /// When the next one is due; at a greedy source always.
    due: Instant,
    /// What rounding has left of earlier intervals.
    carry: u64,
    sent: u64,
    /// Dropped in front of a full tunnel queue: the circuit is slower than the source.
    dropped: u64,
}

impl Source {
    /// A source that begins now.
    pub fn new(settings: &StreamSettings, site: &mut SocketSite<'_>, now: Instant) -> Source {
        let (local, remote) = (site.opening.local, site.opening.remote);
        let circuit = settings.circuit.as_ref().map(|circuit| circuit.for_flow(site.flow));
        Source {
            local,
            remote,
            settings: settings.source.clone(),
            circuit: circuit.map(|circuit| Circuit::new(&circuit, local.address, remote.address, site.rng, now)),
            due: now,
            carry: 0,
            sent: 0,
            dropped: 0,
        }
    }

    /// A greedy source keeps the tunnel queue full; one with a rate loses what finds it so.
    fn fill(&mut self, now: Instant) {
        let is_greedy = self.settings.rate.is_none();
        while self.due <= now && (!is_greedy || self.circuit.as_ref().is_some_and(|circuit| circuit.room() > 0)) {
            let packet = self.make();
            if let Some(circuit) = &mut self.circuit {
                self.dropped += u64::from(circuit.offer(now, packet).is_err());
            }
        }
    }

    fn make(&mut self) -> Packet {
        let packet = datagram(self.local, self.remote, self.sent, self.settings.packet);
        self.sent += 1;
        if let Some(rate) = self.settings.rate {
            self.due = self.due.saturating_add(rate.serialisation(packet.wire_len(), &mut self.carry));
        }
        packet
    }
}

impl Socket for Source {
    /// Takes an acknowledgment to one of the control TCPs; nothing else comes back.
    fn handle_packet(&mut self, now: Instant, packet: &Packet) {
        if let Some(circuit) = self.circuit.as_mut().filter(|circuit| circuit.owns(packet)) {
            circuit.handle_control(now, packet);
        }
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet> {
        if self.circuit.is_none() {
            return (self.due <= now).then(|| self.make());
        }
        self.fill(now);
        self.circuit.as_mut()?.poll_transmit(now).map(|departure| match departure {
            Departure::Data(packet) | Departure::Control(packet) => packet,
        })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let due = self.settings.rate.map(|_| self.due);
        due.into_iter().chain(self.circuit.as_ref().and_then(Circuit::poll_timeout)).min()
    }

    fn handle_timeout(&mut self, now: Instant) {
        if let Some(circuit) = &mut self.circuit {
            circuit.handle_timeout(now);
        }
    }

    fn stats(&self) -> Stats {
        Stats { segments_sent: self.sent, ..Stats::default() }
    }

    fn window(&self) -> (u64, Duration) {
        (self.circuit.as_ref().map_or(0, Circuit::window_bytes), Duration::ZERO)
    }

    fn counts(&self) -> Vec<(Event, u64)> {
        let circuit = self.circuit.as_ref().map(|circuit| counters::of_circuit(circuit, self.dropped));
        circuit.into_iter().flatten().chain([(DATAGRAMS, self.sent)]).collect()
    }

    fn check(&self) -> Result<(), &'static str> {
        self.circuit.as_ref().map_or(Ok(()), Circuit::check)
    }

    fn owns(&self, packet: &Packet) -> bool {
        self.circuit.as_ref().is_some_and(|circuit| circuit.owns(packet))
    }
}
