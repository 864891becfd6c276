//! The Unix socket over which a gateway tells its status.
//!
//! A client connects, writes one line (`status` or `metrics`, or an HTTP GET of `/status` or
//! `/metrics`) and reads until the end. Where the configuration names an address, metrics are
//! told there over HTTP, too, and nothing else is. The worker answers between packets and never waits for a client: what does not fit the socket's buffer follows
//! with the next beats, as long as the client is patient.

use super::Status;
use super::door::{Door, Report};
use crate::gateway::config::{socket_name, socket_path};
use crate::gateway::estate::Estate;
use crate::gateway::exposition::Format;
use crate::gateway::metrics;
use crate::gateway::pid_file::supervisor;
use crate::sys::directory::PrivateDirectory;
use airtcp_core::Instant;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// What an estate calls the socket.
const STATUS: &str = "status";

/// And the port for metrics.
fn port_name(address: SocketAddr) -> String {
    format!("metrics {address}")
}

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
    /// Its supervisor runs.
    #[error("'{0}' runs, and no worker of it does: it waits for its link, or starts again; its log says why")]
    NoWorker(String),
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
    exchange().map_err(|source: io::Error| match supervisor(run_directory, name) {
        Some(_) if matches!(source.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) => {
            StatusError::NoWorker(name.to_owned())
        }
        _ => StatusError::Silent { path, source },
    })
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

/// Names of the gateways whose sockets are in the directory, running or not, and of those that run without a worker.
pub fn names(run_directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(run_directory).into_iter().flatten().flatten();
    let name = |entry: std::fs::DirEntry| {
        let file = entry.file_name();
        let (name, ending) = file.to_str()?.rsplit_once('.')?;
        let is_one = ending == "sock" || ending == "pid" && supervisor(run_directory, name).is_some();
        is_one.then(|| name.to_owned())
    };
    let names: BTreeSet<String> = entries.filter_map(name).collect();
    names.into_iter().collect()
}

/// The worker's side of the socket, and of the port for metrics if there is one.
pub struct StatusServer {
    doors: Vec<Door>,
    directory: PrivateDirectory,
    name: String,
    /// Another one goes on with the socket.
    is_left: bool,
}

impl StatusServer {
    /// Listens in `run_directory` for the gateway `name`, taking the place of a killed predecessor, and at the port for
    /// metrics; or where the one before did, whose `estate` it is.
    ///
    /// # Errors
    /// The directory is not ours alone, another gateway of that name answers there, or the port is not free.
    pub fn open(
        run_directory: &Path,
        name: &str,
        metrics: Option<SocketAddr>,
        estate: &mut Estate,
    ) -> Result<StatusServer, OpenError> {
        let no_socket =
            |source| OpenError::Socket { path: socket_path(run_directory, name).display().to_string(), source };
        let no_port = |address| move |source| OpenError::Port { address, source };
        let open_port = |address| match estate.take(&port_name(address)) {
            Some(port) => Ok(Door::handed_over_port(port)),
            None => Door::port(address).map_err(no_port(address)),
        };
        let port = metrics.map(open_port).transpose()?;
        let directory = PrivateDirectory::open(run_directory).map_err(no_socket)?;
        let socket = match estate.take(STATUS) {
            Some(socket) => Door::handed_over_socket(socket),
            None => Door::socket(&directory.file(&socket_name(name))).map_err(no_socket)?,
        };
        let doors = std::iter::once(socket).chain(port).collect();
        Ok(StatusServer { doors, directory, name: socket_name(name), is_left: false })
    }

    /// What an heir goes on with, whose port for metrics may be another.
    pub fn lend(&self, metrics: Option<SocketAddr>) -> Vec<(String, BorrowedFd<'_>)> {
        let names = std::iter::once(STATUS.to_owned()).chain(metrics.map(port_name));
        names.zip(self.doors.iter().map(Door::listener)).collect()
    }

    /// The heir goes on.
    pub fn leave(&mut self) {
        self.is_left = true;
    }

    /// The descriptors to wait for.
    pub fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.doors.iter().flat_map(Door::fds)
    }

    /// Accepts clients, answers one at each door whose request is complete, and turns away those that take too long.
    pub fn serve<R: Report>(&mut self, now: Instant, status: impl Fn() -> R) {
        let sum = |of: fn(&Door) -> u64, doors: &[Door]| doors.iter().map(of).sum::<u64>();
        for index in 0..self.doors.len() {
            let before = [|door: &Door| door.answered, |door: &Door| door.turned_away].map(|of| sum(of, &self.doors));
            // The one that hears it counts.
            let counters =
                [("answered", before[0] + 1), ("turned_away", before[1])].map(|(key, n)| (key.to_owned(), n));
            let counters = BTreeMap::from(counters);
            self.doors[index].serve(now, &|| status().with_clients(counters.clone()));
        }
    }
}

/// Why nobody can ask.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// No socket in the file system.
    #[error("no status socket at {path}: {source}")]
    Socket {
        /// Where.
        path: String,
        /// What the system says.
        source: io::Error,
    },
    /// No port for metrics.
    #[error("no metrics at {address}: {source}; set another address and port in `metrics`")]
    Port {
        /// Where.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
}

impl Report for Status {
    fn with_clients(self, clients: BTreeMap<String, u64>) -> Status {
        Status { clients, ..self }
    }

    fn json(&self) -> String {
        let text = serde_json::to_string(self).expect("a status has string keys and integers only");
        text + "\n"
    }

    fn metrics(&self, format: Format) -> String {
        metrics::render(self, format)
    }
}

impl Drop for StatusServer {
    fn drop(&mut self) {
        if !self.is_left {
            let _ = std::fs::remove_file(self.directory.file(&self.name));
        }
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
        let mut server = StatusServer::open(&directory, "hub", None, &mut Estate::default()).unwrap();
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

    #[test]
    fn packets_wait_for_one_answer_at_a_time() {
        let directory = std::env::temp_dir().join(format!("airtcp-turns-{}", std::process::id()));
        let mut server = StatusServer::open(&directory, "air", None, &mut Estate::default()).unwrap();
        let clients = [0, 1].map(|_| {
            let mut client = UnixStream::connect(socket_path(&directory, "air")).unwrap();
            client.write_all(b"status\n").unwrap();
            client
        });
        for turn in 1..=2 {
            server.serve(clock::now(), || status(0, 0));
            assert_eq!(server.doors[0].answered, turn);
        }
        for mut client in clients {
            let mut answer = String::new();
            client.read_to_string(&mut answer).unwrap();
            assert!(answer.ends_with("}\n"), "{answer}");
        }
        drop(server);
        let _ = std::fs::remove_dir_all(&directory);
    }

    /// What a client gets that writes this to the port for metrics.
    fn over_http(request: &str) -> String {
        let directory = std::env::temp_dir().join(format!("airtcp-http-{}-{}", std::process::id(), request.len()));
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let mut server = StatusServer::open(&directory, "air", Some(free), &mut Estate::default()).unwrap();
        let taken =
            StatusServer::open(&directory, "other", Some(free), &mut Estate::default()).err().unwrap().to_string();
        assert!(taken.contains("`metrics`") && taken.contains(&free.to_string()), "{taken}");
        let request = request.to_owned();
        let client = std::thread::spawn(move || {
            let mut stream = std::net::TcpStream::connect(free).unwrap();
            // In two parts, as it may come.
            let (one, other) = request.split_at(request.len() / 2);
            stream.write_all(one.as_bytes()).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(5));
            let _ = stream.write_all(other.as_bytes());
            let mut answer = String::new();
            let _ = stream.read_to_string(&mut answer);
            answer
        });
        while !client.is_finished() {
            server.serve(clock::now(), || status(0, 0));
            std::thread::yield_now();
        }
        drop(server);
        let _ = std::fs::remove_dir_all(&directory);
        client.join().unwrap()
    }

    #[test]
    fn metrics_are_told_over_http_in_the_format_that_is_asked_for_and_nothing_else_is() {
        let plain = over_http("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
        assert!(plain.starts_with("HTTP/1.1 200 OK\r\n") && plain.contains("version=0.0.4"), "{plain}");
        assert!(plain.contains("airtcp_restarts_total{gateway=\"air\"} 2\n"), "{plain}");
        let (head, body) = plain.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("Content-Length: {}", body.len())), "{head}");
        let open = over_http("GET /metrics HTTP/1.1\r\naccept: application/openmetrics-text\r\n\r\n");
        assert!(open.ends_with("# EOF\n"), "{open}");
        assert!(over_http("GET /status HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "), "it has addresses");
        assert!(over_http("POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405 "));
        assert!(over_http("status\n").starts_with("HTTP/1.1 405 "));
        assert_eq!(over_http(&"GET /metrics HTTP/1.1\r\nx: ".repeat(500)), "", "longer than any request");
    }
}
