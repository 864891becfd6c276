//! From two namespaces to a connected sender, and to the receiver's end of its connection.

use super::flow::{FlowSpec, Progress, TrafficError, since};
use super::result::Outcome;
use super::wrap;
use crate::sys::netns::NetNs;
use crate::sys::tcp_socket as socket;
use airtcp_core::{Duration, Instant};
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};

/// How long one wait may last before cancellation and deadline are looked at again.
pub(super) const PATIENCE_MS: i32 = 100;

/// The two ends of a flow whose sender is connected.
pub(super) struct Ends {
    /// The sender's socket.
    pub client: TcpStream,
    /// The receiver's.
    pub server: Server,
    /// When the sender began to connect, since the run's origin.
    pub opened_at: Duration,
}

/// The receiving end. The sender is through with its handshake half a round trip before the receiver is, and does not
/// wait for it.
pub(super) enum Server {
    /// The connection is about to come out here.
    Listening(TcpListener),
    /// It did.
    Accepted(TcpStream),
}

impl Server {
    /// The connection, waited for; how the attempt ended otherwise.
    pub fn accepted(self, spec: &FlowSpec, origin: Instant, progress: &Progress) -> Result<TcpStream, Outcome> {
        match self {
            Server::Listening(listener) => wait_accepted(&listener, &|| gone(spec, origin, progress)),
            Server::Accepted(server) => Ok(server),
        }
    }
}

/// Connects the flow's sender, or says how the attempt ended.
pub(super) fn establish(
    spec: &FlowSpec,
    origin: Instant,
    progress: &Progress,
) -> Result<Result<Ends, Outcome>, TrafficError> {
    let listener = listen(spec)?;
    let port = listener.local_addr().map_err(|source| failed(spec, "read the listening port", source))?.port();
    let client = client_socket(spec)?;
    let opened_at = since(origin);
    let to = spec.via.unwrap_or(SocketAddr::new(spec.destination, port));
    let client = match socket::connect(client, to) {
        Ok(client) => client,
        Err(error) => return Ok(Err(Outcome::NotConnected(error.to_string()))),
    };
    let gone = || gone(spec, origin, progress);
    if let Err(outcome) = wait_connected(&client, &gone) {
        return Ok(Err(outcome));
    }
    let mut server = Server::Listening(listener);
    if spec.wrap.timestamp_ms.is_some() {
        let accepted = match server.accepted(spec, origin, progress) {
            Ok(accepted) => accepted,
            Err(outcome) => return Ok(Err(outcome)),
        };
        if let Err(error) = wrap::shift_timestamps(&spec.wrap, &client, &accepted, spec.seed, &|| gone().is_some()) {
            return Ok(Err(Outcome::NotConnected(error.to_string())));
        }
        server = Server::Accepted(accepted);
    }
    Ok(Ok(Ends { client, server, opened_at }))
}

/// Why the flow is not to be waited for any longer, if so.
fn gone(spec: &FlowSpec, origin: Instant, progress: &Progress) -> Option<Outcome> {
    if progress.is_cancelled() {
        return Some(Outcome::Cancelled);
    }
    (since(origin) >= spec.deadline).then_some(Outcome::TimedOut)
}

fn listen(spec: &FlowSpec) -> Result<TcpListener, TrafficError> {
    let address = SocketAddr::new(spec.destination, spec.port);
    let fd = inside(spec, &spec.to, "listen", || {
        let fd = socket::open(spec.destination)?;
        socket::set_reuse_address(fd.as_fd())?;
        socket::bind(fd.as_fd(), address)?;
        if let Some(bytes) = spec.receive_buffer {
            socket::set_receive_buffer(fd.as_fd(), bytes)?;
            socket::clamp_window(fd.as_fd(), bytes)?;
        }
        socket::listen(fd.as_fd())?;
        Ok(fd)
    })?;
    Ok(TcpListener::from(fd))
}

fn client_socket(spec: &FlowSpec) -> Result<OwnedFd, TrafficError> {
    let fd = inside(spec, &spec.from, "open the sender's socket", || {
        let fd = socket::open(spec.source)?;
        socket::bind(fd.as_fd(), SocketAddr::new(spec.source, 0))?;
        socket::set_unsent_limit(fd.as_fd(), spec.unsent_limit)?;
        Ok(fd)
    })?;
    match socket::set_congestion_control(fd.as_fd(), &spec.controller) {
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => {
            return Err(TrafficError::Controller { flow: spec.name.clone(), controller: spec.controller.clone() });
        }
        Err(error) => return Err(failed(spec, "set the congestion controller", error)),
        Ok(()) => {}
    }
    if let Some(before) = spec.wrap.sequence_bytes {
        // The first data byte has the SYN's number plus one; zero would mean "choose one".
        let sequence = 0u32.wrapping_sub(before).max(1);
        socket::set_initial_sequence(fd.as_fd(), sequence)
            .map_err(|error| failed(spec, "set the initial sequence number", error))?;
    }
    Ok(fd)
}

fn wait_connected(client: &TcpStream, gone: &dyn Fn() -> Option<Outcome>) -> Result<(), Outcome> {
    let broken = |error: io::Error| Outcome::NotConnected(error.to_string());
    loop {
        if socket::wait_ready(client, libc::POLLOUT, PATIENCE_MS).map_err(broken)? != 0 {
            return match client.take_error() {
                Ok(None) => Ok(()),
                Ok(Some(error)) | Err(error) => Err(broken(error)),
            };
        }
        if let Some(outcome) = gone() {
            return Err(outcome);
        }
    }
}

fn wait_accepted(listener: &TcpListener, gone: &dyn Fn() -> Option<Outcome>) -> Result<TcpStream, Outcome> {
    let broken = |error: io::Error| Outcome::NotConnected(error.to_string());
    loop {
        if socket::wait_ready(listener, libc::POLLIN, PATIENCE_MS).map_err(broken)? != 0 {
            let (server, _) = listener.accept().map_err(broken)?;
            server.set_nonblocking(true).map_err(broken)?;
            return Ok(server);
        }
        if let Some(outcome) = gone() {
            return Err(outcome);
        }
    }
}

fn inside<T: Send>(
    spec: &FlowSpec,
    namespace: &NetNs,
    action: &'static str,
    work: impl FnOnce() -> io::Result<T> + Send,
) -> Result<T, TrafficError> {
    namespace.run(work).and_then(|result| result).map_err(|error| failed(spec, action, error))
}

fn failed(spec: &FlowSpec, action: &'static str, source: io::Error) -> TrafficError {
    TrafficError::Socket { flow: spec.name.clone(), action, source }
}
