//! The end that answers. It closes first, and keeps a socket until the client has closed, too.

use super::RequestsSpec;
use super::ready::Ready;
use super::wire::{Asked, LEAST_REQUEST, fill};
use crate::sys::tcp_socket as socket;
use airtcp_core::Duration;
use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};

/// Connections that wait to be accepted.
const BACKLOG: i32 = 4096;
/// The listener's number; connections follow.
const LISTENER: u64 = 0;
/// How long one wait may last before it is looked at again whether all is over.
const PATIENCE: Duration = Duration::from_millis(20);
const CHUNK: usize = 64 * 1024;

/// The listening socket, in the calling thread's namespace. Connections inherit its controller.
pub(super) fn listen(spec: &RequestsSpec) -> io::Result<TcpListener> {
    let address = spec.server.1;
    let fd = socket::open(address)?;
    socket::set_reuse_address(fd.as_fd())?;
    socket::set_congestion_control(fd.as_fd(), &spec.controller)?;
    socket::bind(fd.as_fd(), SocketAddr::new(address, 0))?;
    socket::listen_for(fd.as_fd(), BACKLOG)?;
    Ok(TcpListener::from(fd))
}

struct Answer {
    stream: TcpStream,
    head: Vec<u8>,
    /// Bytes of the request so far.
    read: u64,
    asked: Option<Asked>,
    written: u64,
    is_shut: bool,
}

/// What became of a connection.
#[derive(PartialEq, Eq)]
enum Fate {
    Reading,
    Writing,
    Over,
}

/// Answers until `is_over`.
pub(super) fn run(listener: &TcpListener, seed: u64, is_over: &AtomicBool) -> io::Result<()> {
    let mut ready = Ready::new()?;
    ready.add(listener, LISTENER, false)?;
    let (mut open, mut next) = (BTreeMap::<u64, Answer>::new(), LISTENER + 1);
    let mut chunk = vec![0; CHUNK];
    while !is_over.load(Ordering::Relaxed) {
        for number in ready.wait(PATIENCE)? {
            if number == LISTENER {
                while let Some(stream) = accept(listener)? {
                    ready.add(&stream, next, false)?;
                    let answer = Answer { stream, head: Vec::new(), read: 0, asked: None, written: 0, is_shut: false };
                    open.insert(next, answer);
                    next += 1;
                }
                continue;
            }
            let Some(answer) = open.get_mut(&number) else { continue };
            // A connection that breaks is the client's to count.
            match answer.advance(seed, &mut chunk).unwrap_or(Fate::Over) {
                Fate::Reading => ready.change(&answer.stream, number, false)?,
                Fate::Writing => ready.change(&answer.stream, number, true)?,
                Fate::Over => drop(open.remove(&number)),
            }
        }
    }
    for answer in open.values() {
        socket::set_reset_on_close(answer.stream.as_fd())?;
    }
    Ok(())
}

fn accept(listener: &TcpListener) -> io::Result<Option<TcpStream>> {
    match listener.accept() {
        Ok((stream, _)) => {
            stream.set_nonblocking(true)?;
            Ok(Some(stream))
        }
        // The client gave up before.
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::ConnectionAborted) => Ok(None),
        Err(error) => Err(error),
    }
}

impl Answer {
    fn advance(&mut self, seed: u64, chunk: &mut [u8]) -> io::Result<Fate> {
        while self.asked.is_none_or(|asked| self.read < u64::from(asked.request)) || self.is_shut {
            match self.stream.read(chunk) {
                Ok(0) => return Ok(Fate::Over),
                Ok(len) => {
                    let missing = (LEAST_REQUEST as usize - self.head.len()).min(len);
                    self.head.extend_from_slice(&chunk[..missing]);
                    self.read += len as u64;
                    self.asked = Asked::decode(&self.head);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(Fate::Reading),
                Err(error) => return Err(error),
            }
        }
        let Some(asked) = self.asked else { return Ok(Fate::Reading) };
        while self.written < asked.size {
            let len = (asked.size - self.written).min(CHUNK as u64) as usize;
            fill(seed, asked.number, self.written, &mut chunk[..len]);
            match self.stream.write(&chunk[..len]) {
                Ok(len) => self.written += len as u64,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(Fate::Writing),
                Err(error) => return Err(error),
            }
        }
        self.stream.shutdown(Shutdown::Write)?;
        self.is_shut = true;
        Ok(Fate::Reading)
    }
}
