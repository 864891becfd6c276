//! The receiving end.

use super::ReliableSettings;
use crate::papers::decoupling::CircuitEnd;
use crate::socket::{Socket, SocketSite};
use airtcp_core::{Duration, Instant, Packet};
use airtcp_tcp::{Connection, Opening, Stats};

/// The other end of the data TCP and of the circuit.
pub struct Receiver {
    /// None before the SYN.
    data: Option<Connection>,
    opening: Opening,
    circuit: CircuitEnd,
}

impl Receiver {
    /// Waits for both SYNs.
    pub fn new(settings: &ReliableSettings, site: &mut SocketSite<'_>) -> Receiver {
        let opening = Opening { config: settings.data_config(&site.opening.config), ..site.opening.clone() };
        let (local, remote) = (opening.local.address, opening.remote.address);
        let circuit = CircuitEnd::new(&settings.circuit.for_flow(site.flow), local, remote, site.rng);
        Receiver { data: None, opening, circuit }
    }
}

impl Socket for Receiver {
    fn handle_packet(&mut self, now: Instant, packet: &Packet) {
        if self.circuit.owns(packet) {
            return self.circuit.handle_control(now, packet);
        }
        match &mut self.data {
            Some(data) => data.handle_segment(now, packet),
            None => self.data = Connection::accept(&self.opening, packet, now),
        }
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet> {
        self.data.as_mut().and_then(|data| data.poll_transmit(now)).or_else(|| self.circuit.poll_transmit(now))
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let data = self.data.as_ref().and_then(Connection::poll_timeout);
        data.into_iter().chain(self.circuit.poll_timeout()).min()
    }

    fn handle_timeout(&mut self, now: Instant) {
        if let Some(data) = &mut self.data {
            data.handle_timeout(now);
        }
        self.circuit.handle_timeout(now);
    }

    fn stats(&self) -> Stats {
        self.data.as_ref().map_or_else(Stats::default, |data| *data.stats())
    }

    fn connection(&self) -> Option<&Connection> {
        self.data.as_ref()
    }

    fn connection_mut(&mut self) -> Option<&mut Connection> {
        self.data.as_mut()
    }

    fn window(&self) -> (u64, Duration) {
        (0, self.data.as_ref().and_then(Connection::srtt).unwrap_or(Duration::ZERO))
    }

    fn check(&self) -> Result<(), &'static str> {
        self.circuit.check()
    }

    fn owns(&self, packet: &Packet) -> bool {
        self.circuit.owns(packet)
    }
}
