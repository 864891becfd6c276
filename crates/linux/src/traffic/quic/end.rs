//! One end of a connection: quinn's state machine, its UDP socket, and the clock.

use super::super::flow::FlowSpec;
use super::super::probe::tolerate;
use super::security::NAME;
use crate::sys::netns::NetNs;
use crate::sys::poll::PollSet;
use bytes::BytesMut;
use quinn_proto::{
    ClientConfig, Connection, ConnectionError, ConnectionHandle, DatagramEvent, EcnCodepoint, Endpoint, EndpointConfig,
    Event, ServerConfig, Transmit,
};
use quinn_udp::{RecvMeta, UdpSocketState};
use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Instant;

/// Room for what waits between two reads.
const BUFFER_BYTES: usize = 8 << 20;
/// What one read may bring: datagrams that the kernel has put together.
const BATCH: usize = 65_536;

/// See the module.
pub(super) struct End {
    socket: UdpSocket,
    state: UdpSocketState,
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    /// The handshake is done.
    pub is_connected: bool,
    /// Why the connection is gone.
    pub lost: Option<ConnectionError>,
    received: Vec<u8>,
    out: Vec<u8>,
}

impl End {
    /// The receiving end.
    pub fn listen(spec: &FlowSpec, server: ServerConfig) -> io::Result<End> {
        End::bind(&spec.to, SocketAddr::new(spec.destination, spec.port), Some(Arc::new(server)))
    }

    /// The sending end, which begins to connect.
    pub fn connect(spec: &FlowSpec, client: ClientConfig, to: SocketAddr) -> io::Result<End> {
        let mut end = End::bind(&spec.from, SocketAddr::new(spec.source, 0), None)?;
        let connection = end.endpoint.connect(now(), client, to, NAME).map_err(io::Error::other)?;
        end.connection = Some(connection);
        Ok(end)
    }

    fn bind(namespace: &NetNs, address: SocketAddr, server: Option<Arc<ServerConfig>>) -> io::Result<End> {
        let socket = namespace.run(|| UdpSocket::bind(address)).and_then(|result| result)?;
        socket.set_nonblocking(true)?;
        let state = UdpSocketState::new((&socket).into())?;
        state.set_recv_buffer_size((&socket).into(), BUFFER_BYTES)?;
        let endpoint = Endpoint::new(Arc::new(EndpointConfig::default()), server, !state.may_fragment(), None);
        let (received, out) = (vec![0; BATCH], Vec::new());
        Ok(End { socket, state, endpoint, connection: None, is_connected: false, lost: None, received, out })
    }

    /// Where it is bound.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// The connection, once there is one.
    pub fn connection(&mut self) -> Option<&mut Connection> {
        self.connection.as_mut().map(|(_, connection)| connection)
    }

    /// Says goodbye to the other end.
    pub fn close(&mut self) -> io::Result<()> {
        if let Some((_, connection)) = &mut self.connection {
            connection.close(now(), 0u32.into(), bytes::Bytes::new());
        }
        self.drive()
    }

    /// Takes what has arrived, acts on timers that are due, and sends what is to be sent.
    pub fn drive(&mut self) -> io::Result<()> {
        self.receive()?;
        let Some((handle, connection)) = &mut self.connection else { return Ok(()) };
        let now = now();
        if connection.poll_timeout().is_some_and(|due| due <= now) {
            connection.handle_timeout(now);
        }
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
        while let Some(event) = connection.poll() {
            match event {
                Event::Connected => self.is_connected = true,
                Event::ConnectionLost { reason } => self.lost = Some(reason),
                // Streams are looked at after each turn.
                _ => {}
            }
        }
        loop {
            self.out.clear();
            let Some(transmit) = connection.poll_transmit(now, 1, &mut self.out) else { return Ok(()) };
            send(&self.socket, &self.state, &transmit, &self.out)?;
        }
    }

    /// Sleeps until something arrives, a timer is due or `most` is over.
    pub fn wait(&mut self, most: airtcp_core::Duration) -> io::Result<()> {
        let due = self.connection.as_mut().and_then(|(_, connection)| connection.poll_timeout());
        let left = due.map(|due| due.saturating_duration_since(now()).as_nanos() as u64);
        let mut set = PollSet::new();
        set.add_readable(self.socket.as_fd());
        let most = left.map_or(most, |left| most.min(airtcp_core::Duration::from_nanos(left)));
        set.wait(Some(most)).map(drop)
    }

    fn receive(&mut self) -> io::Result<()> {
        loop {
            let (mut parts, mut metas) = ([IoSliceMut::new(&mut self.received)], [RecvMeta::default()]);
            match self.state.recv((&self.socket).into(), &mut parts, &mut metas) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                // An ICMP answer to what was sent before.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => continue,
                Err(error) => return Err(error),
            }
            let [meta] = metas;
            let batch = BytesMut::from(&self.received[..meta.len]);
            for datagram in batch.chunks(meta.stride.max(1)) {
                self.take(&meta, datagram.into())?;
            }
        }
    }

    fn take(&mut self, meta: &RecvMeta, datagram: BytesMut) -> io::Result<()> {
        let ecn = meta.ecn.and_then(|ecn| EcnCodepoint::from_bits(ecn as u8));
        self.out.clear();
        let event = self.endpoint.handle(now(), meta.addr, meta.dst_ip, ecn, datagram, &mut self.out);
        match (event, &mut self.connection) {
            (Some(DatagramEvent::ConnectionEvent(at, event)), Some((handle, connection))) if at == *handle => {
                connection.handle_event(event);
            }
            (Some(DatagramEvent::NewConnection(incoming)), None) => {
                self.out.clear();
                match self.endpoint.accept(incoming, now(), &mut self.out, None) {
                    Ok(accepted) => self.connection = Some(accepted),
                    Err(refused) => {
                        let answer = refused.response;
                        answer.map_or(Ok(()), |answer| send(&self.socket, &self.state, &answer, &self.out))?;
                    }
                }
            }
            (Some(DatagramEvent::NewConnection(incoming)), Some(_)) => self.endpoint.ignore(incoming),
            (Some(DatagramEvent::Response(answer)), _) => send(&self.socket, &self.state, &answer, &self.out)?,
            (Some(DatagramEvent::ConnectionEvent(..)) | None, _) => {}
        }
        Ok(())
    }
}

/// A full device queue is a lost packet, as a full link is.
fn send(socket: &UdpSocket, state: &UdpSocketState, transmit: &Transmit, out: &[u8]) -> io::Result<()> {
    let transmit = quinn_udp::Transmit {
        destination: transmit.destination,
        ecn: transmit.ecn.and_then(|ecn| quinn_udp::EcnCodepoint::from_bits(ecn as u8)),
        contents: &out[..transmit.size],
        segment_size: None,
        src_ip: transmit.src_ip,
    };
    match state.try_send(socket.into(), &transmit) {
        // A probe for a longer packet than the link takes: that it is lost is what it asks for.
        Err(error) if quinn_udp::is_msg_size_err(&error) => Ok(()),
        sent => tolerate(sent),
    }
}

#[expect(clippy::disallowed_methods, reason = "quinn takes the standard library's clock, which is CLOCK_MONOTONIC")]
fn now() -> Instant {
    Instant::now()
}
