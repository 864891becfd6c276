//! A place where clients ask: each is heard and answered without waiting for it.

use crate::gateway::exposition::Format;
use airtcp_core::{Duration, Instant};
use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

/// Clients that may be connected and silent.
const CLIENTS_MAX: usize = 8;
/// How long a client may take for its request.
const PATIENCE: Duration = Duration::from_secs(1);
/// The same, and for reading the answer, which is long where there are many peers.
const PATIENCE_OF_READERS: Duration = Duration::from_secs(10);
/// Longest request that is read.
const REQUEST_MAX: usize = 4096;

/// What is told.
pub trait Report {
    /// The same, with what was counted of the clients.
    #[must_use]
    fn with_clients(self, clients: BTreeMap<String, u64>) -> Self;

    /// All of it, in a line of JSON.
    fn json(&self) -> String;

    /// What Prometheus reads.
    fn metrics(&self, format: Format) -> String;
}

enum Listener {
    Socket(UnixListener),
    Port(TcpListener),
}

trait Stream: Read + Write + AsFd {}
impl Stream for UnixStream {}
impl Stream for TcpStream {}

struct Client {
    stream: Box<dyn Stream>,
    request: Vec<u8>,
    /// What is left to be written of the answer, once the request is complete.
    answer: Option<Vec<u8>>,
    connected: Instant,
}

/// See the module.
pub struct Door {
    listener: Listener,
    clients: Vec<Client>,
    /// Clients that were answered.
    pub answered: u64,
    /// Clients that took too long, or were too many.
    pub turned_away: u64,
}

impl Door {
    /// A socket in the file system, in place of what a killed predecessor left there.
    ///
    /// # Errors
    /// Somebody answers there, or the system's.
    pub fn socket(path: &Path) -> io::Result<Door> {
        if UnixStream::connect(path).is_ok() {
            return Err(io::Error::new(
                ErrorKind::AddrInUse,
                "a gateway or forwarder already answers there: stop it, or set another `name`",
            ));
        }
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(path)?;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o660))?;
        listener.set_nonblocking(true)?;
        Ok(Door::new(Listener::Socket(listener)))
    }

    /// A TCP port, where metrics are told and nothing else.
    ///
    /// # Errors
    /// It is not free, or the address is not of this machine.
    pub fn port(address: SocketAddr) -> io::Result<Door> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        Ok(Door::new(Listener::Port(listener)))
    }

    /// The socket of the one before.
    pub fn handed_over_socket(socket: OwnedFd) -> Door {
        Door::new(Listener::Socket(socket.into()))
    }

    /// The port of the one before.
    pub fn handed_over_port(port: OwnedFd) -> Door {
        Door::new(Listener::Port(port.into()))
    }

    /// Where clients come in.
    pub fn listener(&self) -> BorrowedFd<'_> {
        match &self.listener {
            Listener::Socket(socket) => socket.as_fd(),
            Listener::Port(port) => port.as_fd(),
        }
    }

    fn new(listener: Listener) -> Door {
        Door { listener, clients: Vec::new(), answered: 0, turned_away: 0 }
    }

    /// The descriptors to wait for.
    pub fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        // One that is being answered is served in time.
        let clients = self.clients.iter().filter(|client| client.answer.is_none()).map(|client| client.stream.as_fd());
        std::iter::once(self.listener()).chain(clients)
    }

    fn accept(&self) -> io::Result<Box<dyn Stream>> {
        match &self.listener {
            Listener::Socket(socket) => {
                let (stream, _) = socket.accept()?;
                stream.set_nonblocking(true)?;
                Ok(Box::new(stream))
            }
            Listener::Port(port) => {
                let (stream, _) = port.accept()?;
                stream.set_nonblocking(true)?;
                Ok(Box::new(stream))
            }
        }
    }

    /// Accepts clients, answers one whose request is complete, as packets wait meanwhile, and turns away those that take too long.
    pub fn serve<R: Report>(&mut self, now: Instant, status: &dyn Fn() -> R) {
        let connected = self.clients.len();
        self.clients.retain(|client| client.has_time(now));
        self.turned_away += (connected - self.clients.len()) as u64;
        for _ in 0..CLIENTS_MAX {
            let Ok(stream) = self.accept() else { break };
            if self.clients.len() == CLIENTS_MAX {
                // The one that has been silent for longest.
                self.clients.remove(0);
                self.turned_away += 1;
            }
            self.clients.push(Client { stream, request: Vec::new(), answer: None, connected: now });
        }
        let is_port = matches!(self.listener, Listener::Port(_));
        let (mut clients, mut has_answered) = (std::mem::take(&mut self.clients), false);
        clients.retain_mut(|client| {
            if client.answer.is_none() {
                if has_answered {
                    return true;
                }
                match client.read_request() {
                    None => return true,
                    Some(None) => return false,
                    Some(Some(request)) => {
                        has_answered = true;
                        client.answer = Some(answer(&request, is_port, status).into_bytes());
                    }
                }
            }
            client.write_answer()
        });
        self.clients = clients;
        self.answered += u64::from(has_answered);
    }
}

impl Client {
    /// It did not take too long for its request, or for the answer.
    fn has_time(&self, now: Instant) -> bool {
        let patience = if self.answer.is_some() { PATIENCE_OF_READERS } else { PATIENCE };
        now.saturating_since(self.connected) < patience
    }

    /// Writes as much of the answer as there is room for, and never waits; false when all is written, or nobody reads it.
    fn write_answer(&mut self) -> bool {
        let Some(left) = &mut self.answer else { return false };
        while !left.is_empty() {
            match self.stream.write(left) {
                Ok(0) => return false,
                Ok(length) => drop(left.drain(..length)),
                Err(error) => return error.kind() == ErrorKind::WouldBlock,
            }
        }
        false
    }

    /// The request once it is complete; `Some(None)` when it will never be.
    fn read_request(&mut self) -> Option<Option<Request>> {
        let mut buffer = [0; 1024];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => return Some(None),
                Ok(length) => self.request.extend_from_slice(&buffer[..length]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => return Some(None),
            }
            if self.request.len() > REQUEST_MAX {
                return Some(None);
            }
        }
        Request::parse(&String::from_utf8_lossy(&self.request)).map(Some)
    }
}

/// A line, or an HTTP GET.
#[derive(Debug, PartialEq, Eq)]
struct Request {
    is_http: bool,
    wanted: String,
    format: Format,
}

impl Request {
    /// `None` as long as more has to come.
    fn parse(text: &str) -> Option<Request> {
        let (line, rest) = text.split_once('\n')?;
        let mut words = line.split_whitespace();
        let first = words.next().unwrap_or_default();
        if first != "GET" {
            return Some(Request { is_http: false, wanted: first.to_owned(), format: Format::Prometheus });
        }
        // The headers end with an empty line.
        let (headers, end) = (rest.split_inclusive('\n'), |line: &str| line.ends_with('\n') && line.trim().is_empty());
        if !headers.clone().any(end) {
            return None;
        }
        let is_accept = |line: &&str| line.get(..7).is_some_and(|name| name.eq_ignore_ascii_case("accept:"));
        let format = headers.clone().find(is_accept).map_or(Format::Prometheus, Format::of_accept);
        let path = words.next().unwrap_or_default().trim_start_matches('/');
        let path = path.split_once('?').map_or(path, |(path, _)| path);
        Some(Request { is_http: true, wanted: path.to_owned(), format })
    }
}

fn answer<R: Report>(request: &Request, is_port: bool, status: impl Fn() -> R) -> String {
    if is_port && !request.is_http {
        return http("405 Method Not Allowed", "text/plain", "ask for metrics with GET\n");
    }
    let (kind, body) = match request.wanted.as_str() {
        "metrics" => (request.format.content_type(), status().metrics(request.format)),
        "status" if !is_port => ("application/json", status().json()),
        _ if request.is_http => return http("404 Not Found", "text/plain", "there is /metrics\n"),
        _ => ("text/plain", "unknown request; ask for status or metrics\n".to_owned()),
    };
    if request.is_http { http("200 OK", kind, &body) } else { body }
}

fn http(status: &str, kind: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")
}
