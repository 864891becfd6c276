//! Sockets: what carries a flow between two hosts.
//!
//! TCP is one. Others stand beside the schemes that they belong to, each with a line in [`SOCKETS`](crate::SOCKETS); a
//! crate outside the workspace passes its own [`SocketEntry`] to the command's `main_with`. A socket does no I/O and reads
//! no clock: a host gives it packets and the time, and asks it for packets and for its next deadline.

pub mod datagram;
mod end;
mod entry;
pub mod quic;
pub mod tcp;
pub mod wireguard;

pub use end::FlowEnd;
pub use entry::{PacketSizes, SocketChoice, SocketEntry, SocketSettings, SocketSite};

use airtcp_core::{Duration, Event, Instant, Packet, packet::protocol};
use airtcp_tcp::{Connection, Stats};
use alloc::vec::Vec;

/// One end of a flow.
pub trait Socket: Send {
    /// Takes a packet that is addressed to this end, or that this end [owns](Socket::owns).
    fn handle_packet(&mut self, now: Instant, packet: &Packet);

    /// The next packet to send now; call again until there is none.
    fn poll_transmit(&mut self, now: Instant) -> Option<Packet>;

    /// The earliest deadline, for [`Socket::handle_timeout`].
    fn poll_timeout(&self) -> Option<Instant>;

    /// Acts on every deadline that has passed.
    fn handle_timeout(&mut self, now: Instant);

    /// Counters of the flow.
    fn stats(&self) -> Stats;

    /// The connection that carries a byte stream; none for datagrams, and none before the stream's SYN arrived.
    fn connection(&self) -> Option<&Connection> {
        None
    }

    /// See [`Socket::connection`]: to read, write and close.
    fn connection_mut(&mut self) -> Option<&mut Connection> {
        None
    }

    /// The window that limits what this end sends, in bytes, and its smoothed round-trip time; zero where there is none.
    fn window(&self) -> (u64, Duration) {
        (0, Duration::ZERO)
    }

    /// How long the datagram that it took last was on its way; none for a stream, or before the first.
    fn latest_delay(&self) -> Option<Duration> {
        None
    }

    /// Counters that the entry declares; at one end always the same ones, in the same order.
    fn counts(&self) -> Vec<(Event, u64)> {
        Vec::new()
    }

    /// Checks what holds at any time.
    ///
    /// # Errors
    /// A sentence that names what is broken.
    fn check(&self) -> Result<(), &'static str> {
        Ok(())
    }

    /// True for a packet of a connection that the user does not see, with ports of its own.
    fn owns(&self, _packet: &Packet) -> bool {
        false
    }
}

/// The port that a UDP datagram goes to; none for other packets.
pub fn destination_port(packet: &Packet) -> Option<u16> {
    if packet.ip().protocol != protocol::UDP || packet.tcp().is_some() {
        return None;
    }
    let payload = packet.payload_bytes()?;
    Some(u16::from_be_bytes(payload.get(2..4)?.try_into().ok()?))
}
