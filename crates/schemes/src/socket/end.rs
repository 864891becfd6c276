//! One end of a flow, as a host keeps it.

use super::Socket;
use airtcp_core::{Instant, Packet};
use airtcp_tcp::{Connection, Opening, Outlet};
use alloc::boxed::Box;
use core::ops::Deref;

/// One end of a flow. A plain TCP connection is a case of its own, because almost every packet of a run belongs to one:
/// what is done for each packet costs it a comparison and no call through a table. Everything else is the [`Socket`]
/// behind it.
pub enum FlowEnd {
    /// TCP.
    Tcp(Box<Connection>),
    /// Any other socket.
    Other(Box<dyn Socket>),
}

impl FlowEnd {
    /// The receiving end of a TCP connection; none if `syn` is no SYN for it.
    pub fn accept(opening: &Opening, syn: &Packet, now: Instant) -> Option<FlowEnd> {
        Some(FlowEnd::Tcp(Box::new(Connection::accept(opening, syn, now)?)))
    }

    /// Hands everything that is to be sent now to `outlet`: all that [`Socket::poll_transmit`] returns.
    pub fn transmit(&mut self, now: Instant, outlet: &mut impl Outlet) {
        match self {
            FlowEnd::Tcp(connection) => connection.transmit(now, outlet),
            FlowEnd::Other(socket) => {
                core::iter::from_fn(|| socket.poll_transmit(now)).for_each(|packet| outlet.send(packet));
            }
        }
    }

    /// See [`Socket::poll_timeout`].
    #[inline]
    pub fn poll_timeout(&self) -> Option<Instant> {
        match self {
            FlowEnd::Tcp(connection) => connection.poll_timeout(),
            FlowEnd::Other(socket) => socket.poll_timeout(),
        }
    }

    /// See [`Socket::handle_timeout`].
    pub fn handle_timeout(&mut self, now: Instant) {
        match self {
            FlowEnd::Tcp(connection) => connection.handle_timeout(now),
            FlowEnd::Other(socket) => socket.handle_timeout(now),
        }
    }

    /// See [`Socket::connection`].
    #[inline]
    pub fn connection(&self) -> Option<&Connection> {
        match self {
            FlowEnd::Tcp(connection) => Some(connection),
            FlowEnd::Other(socket) => socket.connection(),
        }
    }

    /// See [`Socket::connection_mut`].
    #[inline]
    pub fn connection_mut(&mut self) -> Option<&mut Connection> {
        match self {
            FlowEnd::Tcp(connection) => Some(connection),
            FlowEnd::Other(socket) => socket.connection_mut(),
        }
    }
}

impl Deref for FlowEnd {
    type Target = dyn Socket;

    fn deref(&self) -> &(dyn Socket + 'static) {
        match self {
            FlowEnd::Tcp(connection) => &**connection,
            FlowEnd::Other(socket) => &**socket,
        }
    }
}
