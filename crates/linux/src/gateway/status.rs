//! What a running gateway tells about itself, and the Unix socket it tells it over.
//!
//! A client connects, writes one line (`status` or `metrics`, or an HTTP GET of `/status` or
//! `/metrics`, so that Prometheus can scrape it through any Unix-socket proxy) and reads until
//! the end. The worker answers between packets and never waits for a client.

use super::config::{Config, socket_path};
use super::control::Ignored;
use super::metrics;
use super::runtime::{Conservation, Runtime};
use crate::device::DeviceCounters;
use crate::sys::clock;
use airtcp_core::{CreateReason, DropReason, Event, Gauge, Instant};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// Clients that may be connected and silent.
const CLIENTS_MAX: usize = 8;
/// Longest request that is read.
const REQUEST_MAX: usize = 1024;

/// A gateway's state; counters since the worker's start.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names are the documentation: they are the JSON's keys")]
pub struct Status {
    pub schema: String,
    pub name: String,
    pub scheme: String,
    pub link: String,
    pub peer: Option<String>,
    pub pid: u32,
    pub uptime_ns: u64,
    pub restarts: u64,
    /// Keys: `received_inner`, `received_link`, `sent_inner`, `sent_link`, `passed_unread`.
    pub packets: BTreeMap<String, u64>,
    pub events: BTreeMap<String, u64>,
    pub created: BTreeMap<String, u64>,
    pub discarded: BTreeMap<String, u64>,
    pub gauges: BTreeMap<String, u64>,
    pub conservation: BTreeMap<String, u64>,
    pub conserved: bool,
    pub control: BTreeMap<String, u64>,
    pub control_ignored: BTreeMap<String, u64>,
    /// Keys of the outer map: `out`, `in`.
    pub devices: BTreeMap<String, BTreeMap<String, u64>>,
    /// A broken invariant of the scheme, in its own words.
    pub broken: Option<String>,
}

/// The part of a status that does not change.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The configuration.
    pub config: Config,
    /// When the worker started.
    pub started: Instant,
    /// Workers before this one.
    pub restarts: u64,
}

fn table<'a>(entries: impl IntoIterator<Item = (&'a str, u64)>) -> BTreeMap<String, u64> {
    entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

impl Status {
    /// Looks at a runtime.
    pub fn of(identity: &Identity, runtime: &Runtime) -> Status {
        let (config, counters) = (&identity.config, runtime.counters());
        let [received, sent] = [counters.received, counters.sent];
        let control = runtime.control_counters().unwrap_or_default();
        let balance = runtime.conservation();
        let [inner, link] = runtime.device_counters();
        Status {
            schema: "airtcp.status/1".into(),
            name: config.name.clone(),
            scheme: config.scheme.clone(),
            link: config.link.clone(),
            peer: config.peer.map(|peer| peer.to_string()),
            pid: std::process::id(),
            uptime_ns: clock::now().saturating_since(identity.started).as_nanos(),
            restarts: identity.restarts,
            packets: table([
                ("received_inner", received[0]),
                ("received_link", received[1]),
                ("sent_inner", sent[0]),
                ("sent_link", sent[1]),
                ("passed_unread", counters.passed_unread.iter().sum()),
            ]),
            events: labelled(Event::ALL, |event| event.label(), &counters.events),
            created: labelled(CreateReason::ALL, |reason| reason.label(), &counters.created),
            discarded: labelled(DropReason::ALL, |reason| reason.label(), &counters.discarded),
            gauges: gauges(runtime),
            conserved: balance.holds(),
            conservation: conservation(&balance),
            control: table([
                ("received", control.received),
                ("sent", control.sent),
                ("send_errors", control.send_errors),
            ]),
            control_ignored: labelled(Ignored::ALL, |reason| reason.label(), &control.ignored),
            devices: [("out".to_owned(), device(&link)), ("in".to_owned(), device(&inner))].into(),
            broken: runtime.element().check().err().map(str::to_owned),
        }
    }
}

fn labelled<T: Copy>(all: &[T], label: impl Fn(T) -> &'static str, counts: &[u64]) -> BTreeMap<String, u64> {
    table(all.iter().zip(counts).map(|(item, count)| (label(*item), *count)))
}

fn gauges(runtime: &Runtime) -> BTreeMap<String, u64> {
    let mut levels = BTreeMap::new();
    runtime.element().observe(&mut |gauge: Gauge, level| {
        levels.insert(gauge.label().to_owned(), level);
    });
    let held = runtime.element().held();
    levels.insert("held_packets".into(), held.packets as u64);
    levels
}

fn conservation(balance: &Conservation) -> BTreeMap<String, u64> {
    table([
        ("received", balance.received),
        ("created", balance.created),
        ("sent", balance.sent),
        ("held", balance.held),
        ("consumed", balance.consumed),
        ("discarded", balance.discarded),
    ])
}

fn device(counters: &DeviceCounters) -> BTreeMap<String, u64> {
    table([
        ("received_packets", counters.received_packets),
        ("received_bytes", counters.received_bytes),
        ("sent_packets", counters.sent_packets),
        ("sent_bytes", counters.sent_bytes),
        ("errors_down", counters.errors_down),
        ("errors_memory", counters.errors_memory),
        ("errors_invalid", counters.errors_invalid),
        ("errors_other", counters.errors_other),
    ])
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

struct Client {
    stream: UnixStream,
    request: Vec<u8>,
}

/// The worker's side of the socket.
pub struct StatusServer {
    listener: UnixListener,
    path: PathBuf,
    clients: Vec<Client>,
}

impl StatusServer {
    /// Listens at `path`, taking the place of a killed predecessor.
    ///
    /// # Errors
    /// The directory cannot be made, or another gateway of that name answers there.
    pub fn open(path: &Path) -> io::Result<StatusServer> {
        if let Some(directory) = path.parent() {
            std::fs::create_dir_all(directory)?;
        }
        if UnixStream::connect(path).is_ok() {
            let text = format!("a gateway already answers at {}", path.display());
            return Err(io::Error::new(ErrorKind::AddrInUse, text));
        }
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(path)?;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o660))?;
        listener.set_nonblocking(true)?;
        Ok(StatusServer { listener, path: path.to_owned(), clients: Vec::new() })
    }

    /// The descriptors to wait for.
    pub fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let clients = self.clients.iter().map(|client| client.stream.as_fd());
        std::iter::once(self.listener.as_fd()).chain(clients)
    }

    /// Accepts clients and answers those whose request is complete.
    pub fn serve(&mut self, status: impl Fn() -> Status) {
        while let Ok((stream, _)) = self.listener.accept() {
            // A client beyond the bound is turned away by closing it.
            if self.clients.len() < CLIENTS_MAX && stream.set_nonblocking(true).is_ok() {
                self.clients.push(Client { stream, request: Vec::new() });
            }
        }
        self.clients.retain_mut(|client| {
            let done = client.read_request();
            if let Some(Some(request)) = &done {
                // What does not fit the socket's buffer is cut: never wait for a client.
                let _ = client.stream.write_all(answer(request, &status).as_bytes());
            }
            done.is_none()
        });
    }
}

impl Client {
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

fn answer(request: &str, status: &impl Fn() -> Status) -> String {
    let mut words = request.split_whitespace();
    let first = words.next().unwrap_or_default();
    let http = first == "GET";
    let wanted = if http { words.next().unwrap_or_default() } else { first };
    let (kind, body) = match wanted.trim_start_matches('/') {
        "metrics" => ("text/plain; version=0.0.4", metrics::render(&status())),
        "status" => ("application/json", json(&status())),
        _ => ("text/plain", "unknown request; ask for status or metrics\n".to_owned()),
    };
    if !http {
        return body;
    }
    format!("HTTP/1.0 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

fn json(status: &Status) -> String {
    let text = serde_json::to_string(status).expect("a status has string keys and integers only");
    text + "\n"
}

impl Drop for StatusServer {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}
