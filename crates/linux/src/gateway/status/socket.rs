//! The Unix socket over which a gateway tells its status.
//!
//! A client connects, writes one line (`status` or `metrics`, or an HTTP GET of `/status` or
//! `/metrics`, so that Prometheus can scrape it through any Unix-socket proxy) and reads until
//! the end. The worker answers between packets and never waits for a client: what does not fit the socket's buffer follows
//! with the next beats, as long as the client is patient.

use super::Status;
use crate::gateway::config::{socket_name, socket_path};
use crate::gateway::metrics;
use crate::sys::directory::PrivateDirectory;
use airtcp_core::{Duration, Instant};
use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// Clients that may be connected and silent.
const CLIENTS_MAX: usize = 8;
/// How long a client may take for its request.
const PATIENCE: Duration = Duration::from_secs(1);
/// Longest request that is read.
const REQUEST_MAX: usize = 1024;

/// Why a gateway could not be asked.
#[derive(Debug, thiserror::Error)]
pub enum StatusError {
    /// Nobody answers.
    #[error("no gateway answers at {path}: {source}")]
    Silent {
        /// The socket.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The answer is not understood.
    #[error("the answer at {path} is not understood: {source}")]
    Strange {
        /// The socket.
        path: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },
}

/// Asks the gateway `name`; `request` is `status` or `metrics`.
///
/// # Errors
/// Nobody answers within a second.
pub fn ask(run_directory: &Path, name: &str, request: &str) -> Result<String, StatusError> {
    let path = socket_path(run_directory, name);
    let exchange = || {
        let mut stream = UnixStream::connect(&path)?;
        stream.set_read_timeout(Some(std::time::Duration::from_secs(1)))?;
        stream.write_all(format!("{request}\n").as_bytes())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    exchange().map_err(|source| StatusError::Silent { path: path.clone(), source })
}

/// The state of the gateway `name`.
///
/// # Errors
/// Nobody answers, or not with a status.
pub fn query(run_directory: &Path, name: &str) -> Result<Status, StatusError> {
    let answer = ask(run_directory, name, "status")?;
    serde_json::from_str(&answer)
        .map_err(|source| StatusError::Strange { path: socket_path(run_directory, name), source })
}

/// Names of the gateways whose sockets are in the directory, running or not.
pub fn names(run_directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(run_directory).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.filter_map(|entry| entry.file_name().to_str()?.strip_suffix(".sock").map(str::to_owned)).collect();
    names.sort();
    names
}

/// What is told over such a socket.
pub trait Report {
    /// The same, with what the socket counted of its clients.
    #[must_use]
    fn with_clients(self, clients: BTreeMap<String, u64>) -> Self;

    /// All of it, in a line of JSON.
    fn json(&self) -> String;

    /// What Prometheus reads.
    fn metrics(&self) -> String;
}

struct Client {
    stream: UnixStream,
    request: Vec<u8>,
    /// What is left to be written of the answer, once the request is complete.
    answer: Option<Vec<u8>>,
    connected: Instant,
}

/// The worker's side of the socket.
pub struct StatusServer {
    listener: UnixListener,
    directory: PrivateDirectory,
    name: String,
    clients: Vec<Client>,
    answered: u64,
    turned_away: u64,
}

impl StatusServer {
    /// Listens in `run_directory` for the gateway `name`, taking the place of a killed predecessor.
    ///
    /// # Errors
    /// The directory is not ours alone, or another gateway of that name answers there.
    pub fn open(run_directory: &Path, name: &str) -> io::Result<StatusServer> {
        let (directory, name) = (PrivateDirectory::open(run_directory)?, socket_name(name));
        let path = directory.file(&name);
        if UnixStream::connect(&path).is_ok() {
            return Err(io::Error::new(ErrorKind::AddrInUse, "a gateway already answers there"));
        }
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(&path)?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o660))?;
        listener.set_nonblocking(true)?;
        Ok(StatusServer { listener, directory, name, clients: Vec::new(), answered: 0, turned_away: 0 })
    }

    /// The descriptors to wait for.
    pub fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        // One that is being answered is served in time.
        let clients = self.clients.iter().filter(|client| client.answer.is_none()).map(|client| client.stream.as_fd());
        std::iter::once(self.listener.as_fd()).chain(clients)
    }

    /// Accepts clients, answers those whose request is complete, and turns away those that take too long for it.
    pub fn serve<R: Report>(&mut self, now: Instant, status: impl Fn() -> R) {
        let connected = self.clients.len();
        self.clients.retain(|client| now.saturating_since(client.connected) < PATIENCE);
        self.turned_away += (connected - self.clients.len()) as u64;
        for _ in 0..CLIENTS_MAX {
            let Ok((stream, _)) = self.listener.accept() else { break };
            if self.clients.len() == CLIENTS_MAX {
                // The one that has been silent for longest.
                self.clients.remove(0);
                self.turned_away += 1;
            }
            if stream.set_nonblocking(true).is_ok() {
                self.clients.push(Client { stream, request: Vec::new(), answer: None, connected: now });
            }
        }
        let mut clients = std::mem::take(&mut self.clients);
        clients.retain_mut(|client| {
            if client.answer.is_none() {
                match client.read_request() {
                    None => return true,
                    Some(None) => return false,
                    Some(Some(request)) => {
                        self.answered += 1;
                        let answer = answer(&request, || status().with_clients(self.counters()));
                        client.answer = Some(answer.into_bytes());
                    }
                }
            }
            client.write_answer()
        });
        self.clients = clients;
    }

    fn counters(&self) -> BTreeMap<String, u64> {
        [("answered", self.answered), ("turned_away", self.turned_away)].map(|(key, n)| (key.to_owned(), n)).into()
    }
}

impl Client {
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

    /// The request's first line once it is there; `Some(None)` when it will never be.
    fn read_request(&mut self) -> Option<Option<String>> {
        let mut buffer = [0; REQUEST_MAX];
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
        let end = self.request.iter().position(|byte| *byte == b'\n')?;
        Some(Some(String::from_utf8_lossy(&self.request[..end]).trim().to_owned()))
    }
}

fn answer<R: Report>(request: &str, status: impl Fn() -> R) -> String {
    let mut words = request.split_whitespace();
    let first = words.next().unwrap_or_default();
    let http = first == "GET";
    let wanted = if http { words.next().unwrap_or_default() } else { first };
    let (kind, body) = match wanted.trim_start_matches('/') {
        "metrics" => ("text/plain; version=0.0.4", status().metrics()),
        "status" => ("application/json", status().json()),
        _ => ("text/plain", "unknown request; ask for status or metrics\n".to_owned()),
    };
    if !http {
        return body;
    }
    format!("HTTP/1.0 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

impl Report for Status {
    fn with_clients(self, clients: BTreeMap<String, u64>) -> Status {
        Status { clients, ..self }
    }

    fn json(&self) -> String {
        let text = serde_json::to_string(self).expect("a status has string keys and integers only");
        text + "\n"
    }

    fn metrics(&self) -> String {
        metrics::render(self)
    }
}

impl Drop for StatusServer {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(self.directory.file(&self.name));
    }
}

#[cfg(test)]
mod tests {
    use super::super::PeerStatus;
    use super::*;
    use crate::sys::clock;

    /// A gateway with so many peers, each with so many counters.
    fn status(peers: usize, counters: usize) -> Status {
        let events = (0..counters).map(|n| (format!("an_event_with_a_name_{n}"), u64::MAX)).collect();
        let peer = PeerStatus { events, ..PeerStatus::default() };
        Status { peers: vec![peer; peers], ..crate::gateway::metrics::tests::status() }
    }

    #[test]
    fn an_answer_that_is_longer_than_the_sockets_buffer_arrives_whole() {
        let directory = std::env::temp_dir().join(format!("airtcp-status-{}", std::process::id()));
        let mut server = StatusServer::open(&directory, "hub").unwrap();
        let asked = directory.clone();
        let client = std::thread::spawn(move || query(&asked, "hub"));
        let answer = loop {
            server.serve(clock::now(), || status(64, 200));
            if client.is_finished() {
                break client.join().unwrap();
            }
            std::thread::yield_now();
        };
        drop(server);
        let _ = std::fs::remove_dir_all(&directory);
        let answer = answer.expect("a whole answer");
        assert_eq!((answer.peers.len(), answer.peers[63].events.len()), (64, 200));
        assert!(answer.json().len() > 500_000, "more than a socket keeps");
    }
}
