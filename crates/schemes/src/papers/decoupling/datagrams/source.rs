//! The sending end.

use super::{DATAGRAMS, SourceSettings, StreamSettings, datagram};
use crate::papers::decoupling::{Circuit, Departure, counters};
use crate::socket::datagram::Pace;
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
    /// None at a greedy source.
    pace: Option<Pace>,
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
            pace: settings.source.pace(),
            sent: 0,
            dropped: 0,
        }
    }

    /// A greedy source keeps the tunnel queue full; one with a rate loses what finds it so.
    fn fill(&mut self, now: Instant) {
        let is_greedy = self.pace.is_none();
        while self.due <= now && (!is_greedy || self.circuit.as_ref().is_some_and(|circuit| circuit.room() > 0)) {
            let packet = self.make(now);
            if let Some(circuit) = &mut self.circuit {
                self.dropped += u64::from(circuit.offer(now, packet).is_err());
            }
        }
    }

    fn make(&mut self, now: Instant) -> Packet {
        let mut packet = datagram([self.local, self.remote], self.sent, now, self.settings.packet);
        packet.set_traffic_class(self.settings.data_dscp << 2);
        self.sent += 1;
        if let Some(pace) = &mut self.pace {
            self.due = self.due.saturating_add(pace.gap(packet.wire_len()));
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
            return (self.due <= now).then(|| self.make(now));
        }
        self.fill(now);
        self.circuit.as_mut()?.poll_transmit(now).map(|departure| match departure {
            Departure::Data(packet) | Departure::Control(packet) => packet,
        })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let due = self.pace.as_ref().map(|_| self.due);
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
