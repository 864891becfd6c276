//! The end that asks, when it is time.

use super::ready::Ready;
use super::wire::{Asked, first_wrong};
use super::{RequestsResult, RequestsSpec};
use crate::sys::tcp_socket as socket;
use crate::traffic::flow::since;
use airtcp_core::{Duration, Instant};
use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};

/// How long one wait may last before it is looked at again whether all is over.
const PATIENCE: Duration = Duration::from_millis(20);
const CHUNK: usize = 64 * 1024;

/// A request under way.
struct Asking {
    stream: TcpStream,
    /// What is still to be sent of it.
    unsent: Vec<u8>,
    came: u64,
}

struct Client<'a> {
    spec: &'a RequestsSpec,
    server: SocketAddr,
    origin: Instant,
    ready: Ready,
    open: BTreeMap<u32, Asking>,
    next: usize,
    result: RequestsResult,
    chunk: Vec<u8>,
    scratch: Vec<u8>,
}

/// Asks in the calling thread's namespace, until the window ends or `is_over`.
pub(super) fn run(spec: &RequestsSpec, port: u16, origin: Instant, is_over: &AtomicBool) -> io::Result<RequestsResult> {
    let result =
        RequestsResult { name: spec.name.clone(), took: vec![None; spec.arrivals.len()], ..RequestsResult::default() };
    let mut client = Client {
        spec,
        server: SocketAddr::new(spec.server.1, port),
        origin,
        ready: Ready::new()?,
        open: BTreeMap::new(),
        next: 0,
        result,
        chunk: vec![0; CHUNK],
        scratch: vec![0; CHUNK],
    };
    let (_, until) = spec.window;
    while since(origin) < until && !is_over.load(Ordering::Relaxed) {
        client.begin()?;
        for number in client.ready.wait(client.patience())? {
            client.advance(number as u32);
        }
    }
    for asking in client.open.values() {
        socket::set_reset_on_close(asking.stream.as_fd())?;
    }
    Ok(client.result)
}

impl Client<'_> {
    /// Until the next request may begin.
    fn patience(&self) -> Duration {
        let has_room = self.open.len() < self.spec.connections;
        let next = self.spec.arrivals.get(self.next).filter(|_| has_room);
        next.map_or(PATIENCE, |(at, _)| at.saturating_sub(since(self.origin)).min(PATIENCE))
    }

    /// Begins what is due.
    fn begin(&mut self) -> io::Result<()> {
        while let Some((at, size)) = self.spec.arrivals.get(self.next).copied() {
            if at > since(self.origin) || self.open.len() >= self.spec.connections {
                break;
            }
            let number = self.next as u32;
            self.next += 1;
            let fd = socket::open(self.server.ip())?;
            if let Some(bytes) = self.spec.receive_buffer {
                socket::set_receive_buffer(fd.as_fd(), bytes)?;
                socket::clamp_window(fd.as_fd(), bytes)?;
            }
            // No port, no buffer: the request has no answer, and counts so.
            let Ok(stream) = socket::connect(fd, self.server) else { continue };
            let request = self.spec.request as u32;
            self.ready.add(&stream, u64::from(number), true)?;
            self.open.insert(number, Asking { stream, unsent: Asked { number, request, size }.encode(), came: 0 });
            self.result.most_open = self.result.most_open.max(self.open.len() as u64);
        }
        Ok(())
    }

    /// Sends and receives what a connection can. One that breaks has no answer.
    fn advance(&mut self, number: u32) {
        if let Ok(true) | Err(_) = self.exchange(number) {
            self.open.remove(&number);
        }
    }

    /// True once it is over.
    fn exchange(&mut self, number: u32) -> io::Result<bool> {
        let Some(asking) = self.open.get_mut(&number) else { return Ok(false) };
        while !asking.unsent.is_empty() {
            match asking.stream.write(&asking.unsent) {
                Ok(len) => drop(asking.unsent.drain(..len)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
            if asking.unsent.is_empty() {
                self.ready.change(&asking.stream, u64::from(number), false)?;
            }
        }
        let (at, size) = self.spec.arrivals[number as usize];
        loop {
            let len = match asking.stream.read(&mut self.chunk) {
                Ok(0) => return Ok(true),
                Ok(len) => len,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            };
            let now = since(self.origin);
            let wrong = first_wrong(self.spec.seed, number, asking.came, &self.chunk[..len], &mut self.scratch);
            // More than was asked for is as wrong as another byte.
            let wrong = wrong.or((asking.came + len as u64 > size).then_some(size));
            if let Some(place) = wrong {
                self.result.damaged.get_or_insert((number, place));
            }
            asking.came += len as u64;
            if now >= self.spec.window.0 {
                self.result.window_bytes += len as u64;
            }
            if asking.came >= size {
                self.result.took[number as usize].get_or_insert(now.saturating_sub(at));
            }
        }
    }
}
