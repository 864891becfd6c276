//! The sending end.

use super::{Settings, SourceSettings, datagram};
use crate::decoupling::{Circuit, Departure};
use airtcp_core::{Instant, Packet, Rng};
use airtcp_tcp::Endpoint;

/// Makes datagrams and sends them, over a circuit if there is one. Driven like a [`airtcp_tcp::Connection`].
#[derive(Debug)]
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
    dropped: u64,
}

impl Source {
    /// A source that begins now.
    pub fn new(settings: &Settings, [local, remote]: [Endpoint; 2], rng: &mut Rng, now: Instant) -> Source {
        let circuit = settings.circuit.as_ref();
        Source {
            local,
            remote,
            settings: settings.source.clone(),
            circuit: circuit.map(|circuit| Circuit::new(circuit, local.address, remote.address, rng, now)),
            due: now,
            carry: 0,
            sent: 0,
            dropped: 0,
        }
    }

    /// The circuit, if there is one.
    pub fn circuit(&self) -> Option<&Circuit> {
        self.circuit.as_ref()
    }

    /// Datagrams made so far.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Of those, dropped in front of a full tunnel queue: the circuit is slower than the source.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// True for an acknowledgment to one of the circuit's control TCPs.
    pub fn owns_control(&self, packet: &Packet) -> bool {
        self.circuit.as_ref().is_some_and(|circuit| circuit.owns(packet))
    }

    /// Takes such an acknowledgment; nothing else comes back.
    pub fn handle_packet(&mut self, now: Instant, packet: &Packet) {
        if let Some(circuit) = self.circuit.as_mut().filter(|circuit| circuit.owns(packet)) {
            circuit.handle_control(now, packet);
        }
    }

    /// The next packet to send now; call again until there is none.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Packet> {
        if self.circuit.is_none() {
            return (self.due <= now).then(|| self.make());
        }
        self.fill(now);
        self.circuit.as_mut()?.poll_transmit(now).map(|departure| match departure {
            Departure::Data(packet) | Departure::Control(packet) => packet,
        })
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

    /// The earliest deadline, for [`Source::handle_timeout`].
    pub fn poll_timeout(&self) -> Option<Instant> {
        let due = self.settings.rate.map(|_| self.due);
        due.into_iter().chain(self.circuit.as_ref().and_then(Circuit::poll_timeout)).min()
    }

    /// Acts on every deadline that has passed.
    pub fn handle_timeout(&mut self, now: Instant) {
        if let Some(circuit) = &mut self.circuit {
            circuit.handle_timeout(now);
        }
    }
}
