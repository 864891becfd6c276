//! TCP from end to end: a [`Connection`] and nothing else.

use super::{FlowEnd, Socket, SocketChoice, SocketEntry, SocketSettings, SocketSite};
use airtcp_core::parameters::{Field, ParameterError, Parameters};
use airtcp_core::{Duration, Instant, Packet, Value};
use airtcp_tcp::{Connection, Stats};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// Its line in the table of sockets.
pub const ENTRY: SocketEntry = SocketEntry {
    slug: "tcp",
    about: "A TCP connection.",
    has_size: true,
    control: "tcp",
    counters: &[],
    settings: || Box::new(NoSettings),
};

/// The socket itself sets nothing: a flow has the keys of [`airtcp_tcp::Config`].
pub struct NoSettings;

impl Parameters for NoSettings {
    fn fields(&self) -> Vec<Field> {
        Vec::new()
    }

    fn set(&mut self, key: &str, _: &Value) -> Result<(), ParameterError> {
        Err(ParameterError::Unknown { key: key.into(), nearest: None })
    }
}

impl SocketSettings for NoSettings {
    fn connect(&self, site: &mut SocketSite<'_>, now: Instant) -> FlowEnd {
        FlowEnd::Tcp(Box::new(Connection::connect(site.opening, now)))
    }
}

/// A flow that says nothing else is carried by TCP.
impl Default for SocketChoice {
    fn default() -> Self {
        SocketChoice { entry: ENTRY, settings: Arc::new(NoSettings) }
    }
}

impl SocketChoice {
    /// True for plain TCP, whose packets all have the ports of the flow.
    pub fn is_tcp(&self) -> bool {
        self.entry.slug == ENTRY.slug
    }
}

impl Socket for Connection {
    fn handle_packet(&mut self, now: Instant, packet: &Packet) {
        self.handle_segment(now, packet);
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet> {
        Connection::poll_transmit(self, now)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        Connection::poll_timeout(self)
    }

    fn handle_timeout(&mut self, now: Instant) {
        Connection::handle_timeout(self, now);
    }

    fn stats(&self) -> Stats {
        *Connection::stats(self)
    }

    fn connection(&self) -> Option<&Connection> {
        Some(self)
    }

    fn connection_mut(&mut self) -> Option<&mut Connection> {
        Some(self)
    }

    fn window(&self) -> (u64, Duration) {
        (self.cwnd_bytes(), self.srtt().unwrap_or(Duration::ZERO))
    }
}
