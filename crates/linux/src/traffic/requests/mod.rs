//! Requests that begin when they are due (an open loop), each over a connection of the kernel's TCP: the client asks, the
//! server answers with as many bytes as it was asked for, and closes.
//!
//! Two threads, one in each host's namespace, drive all connections with epoll. The client opens at most so many at one
//! time, so both ends' sockets are bounded. A request's time runs from when it was due. Every byte of an answer is
//! checked as that of a flow: its content is a function of the run's seed and the request's number.

mod client;
mod ready;
mod server;
mod wire;

use super::flow::{STACK, TrafficError};
use crate::sys::netns::NetNs;
use crate::sys::process::allow_open_files;
use airtcp_core::{Duration, Instant};
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

pub use wire::LEAST_REQUEST;

/// Descriptors of the process besides those of requests.
const OTHER_FILES: u64 = 512;

/// A workload; times count from the run's origin.
#[derive(Clone, Debug)]
pub struct RequestsSpec {
    /// Name for results and errors.
    pub name: String,
    /// Namespace and address of the server.
    pub server: (NetNs, IpAddr),
    /// Namespace and address of the client.
    pub client: (NetNs, IpAddr),
    /// Congestion controller of the server, by the kernel's name.
    pub controller: String,
    /// Bytes of what the client sends; at least [`LEAST_REQUEST`].
    pub request: u64,
    /// When each begins and the bytes of its answer, in order.
    pub arrivals: Vec<(Duration, u64)>,
    /// Most connections open at one time.
    pub connections: usize,
    /// Receive window of the client in bytes; `None` lets the kernel tune one.
    pub receive_buffer: Option<u64>,
    /// The part of the run that rates are taken over; what has no answer at its end is cut off.
    pub window: (Duration, Duration),
    /// Seed of the content.
    pub seed: u64,
}

/// What became of a workload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestsResult {
    /// The name it was started with.
    pub name: String,
    /// From when each was due to the last byte of its answer, in the order of the arrivals; `None` without one.
    pub took: Vec<Option<Duration>>,
    /// Bytes of answers that came within the window.
    pub window_bytes: u64,
    /// Most connections that were open at one time.
    pub most_open: u64,
    /// The first request with a wrong byte, and where in its answer it is.
    pub damaged: Option<(u32, u64)>,
}

/// A workload on its threads. Dropping it cancels it.
#[derive(Debug)]
pub struct RunningRequests {
    name: String,
    is_over: Arc<AtomicBool>,
    client: Option<JoinHandle<io::Result<RequestsResult>>>,
    server: Option<JoinHandle<io::Result<()>>>,
}

impl RunningRequests {
    /// Waits for the end, that of the workload's window.
    pub fn join(mut self) -> Result<RequestsResult, TrafficError> {
        self.end()
    }

    fn end(&mut self) -> Result<RequestsResult, TrafficError> {
        let client = join(self.client.take()).unwrap_or_else(|| Ok(RequestsResult::default()));
        self.is_over.store(true, Ordering::Relaxed);
        let server = join(self.server.take()).unwrap_or(Ok(()));
        let failed = |action| {
            let flow = self.name.clone();
            move |source| TrafficError::Socket { flow, action, source }
        };
        server.map_err(failed("answer requests"))?;
        client.map_err(failed("send requests"))
    }
}

impl Drop for RunningRequests {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        // Nobody asked how it went.
        let _ = self.end();
    }
}

fn join<T>(thread: Option<JoinHandle<T>>) -> Option<T> {
    thread.map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
}

/// Starts a workload in the run that began at `origin` (CLOCK_MONOTONIC).
pub fn start_requests(spec: RequestsSpec, origin: Instant) -> Result<RunningRequests, TrafficError> {
    let failed = |action| {
        let flow = spec.name.clone();
        move |source| TrafficError::Socket { flow, action, source }
    };
    allow_open_files(2 * spec.connections as u64 + OTHER_FILES).map_err(failed("open so many files"))?;
    let listener = spec.server.0.run(|| server::listen(&spec)).and_then(|result| result);
    let listener = listener.map_err(|error| match error.raw_os_error() {
        Some(libc::ENOENT) => TrafficError::Controller { flow: spec.name.clone(), controller: spec.controller.clone() },
        _ => failed("listen")(error),
    })?;
    let port = listener.local_addr().map_err(failed("read the listening port"))?.port();
    let (is_over, name) = (Arc::new(AtomicBool::new(false)), spec.name.clone());
    let thread = |name: &str| std::thread::Builder::new().name(name.into()).stack_size(STACK);
    let start = |error| failed("start a thread")(error);
    let over = Arc::clone(&is_over);
    let seed = spec.seed;
    // Accepted sockets are of the listener's namespace, whichever thread accepts them.
    let server = thread("airtcp-server").spawn(move || server::run(&listener, seed, &over)).map_err(start)?;
    let mut running = RunningRequests { name, is_over, client: None, server: Some(server) };
    let over = Arc::clone(&running.is_over);
    let asking = spec.clone();
    let inside = move || {
        let namespace = asking.client.0.clone();
        namespace.run(|| client::run(&asking, port, origin, &over)).and_then(|result| result)
    };
    running.client = Some(thread("airtcp-client").spawn(inside).map_err(failed("start a thread"))?);
    Ok(running)
}
