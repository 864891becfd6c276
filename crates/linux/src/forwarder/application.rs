//! The kernel's socket towards an application. Whatever ends the process resets it.

use super::pump::{Application, Pump};
use crate::sys::relay_socket;
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};

/// See the module.
pub struct KernelSocket(TcpStream);

impl KernelSocket {
    /// A connected socket, or one that connects.
    pub fn new(stream: TcpStream) -> KernelSocket {
        KernelSocket(stream)
    }

    /// What broke it.
    pub fn error(&self) -> Option<io::Error> {
        self.0.take_error().unwrap_or_else(Some)
    }

    /// Closes it in good order: the kernel sends what is left and the end.
    pub fn finish(self) {
        // Otherwise it is closed by a reset, which is the safe side.
        let _ = relay_socket::set_end_on_close(self.0.as_fd());
    }

    /// The descriptor to wait for.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Application for KernelSocket {
    fn receive(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into)
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn unacknowledged(&mut self) -> io::Result<usize> {
        // A socket that was reset has nothing unacknowledged, either.
        if let Some(error) = self.error() {
            return Err(error);
        }
        relay_socket::unacknowledged(self.0.as_fd())
    }

    fn end(&mut self) -> io::Result<()> {
        self.0.shutdown(Shutdown::Write)
    }
}

/// An application's end of a connection.
pub struct App {
    /// Its socket.
    pub socket: KernelSocket,
    /// What runs between it and the connection; none as long as it connects.
    pub pump: Option<Pump>,
    /// Where to try next if this one refuses, and from where.
    pub others: VecDeque<SocketAddr>,
    /// The address that it is to come from.
    pub source: Option<SocketAddr>,
}

impl App {
    /// One that has been accepted.
    pub fn accepted(stream: TcpStream) -> App {
        App { socket: KernelSocket::new(stream), pump: Some(Pump::default()), others: VecDeque::new(), source: None }
    }

    /// Begins to connect to the first of `addresses` that there is a way to.
    ///
    /// # Errors
    /// What the last one said.
    pub fn connect(mut addresses: VecDeque<SocketAddr>, source: Option<SocketAddr>) -> io::Result<App> {
        let mut last = io::Error::from_raw_os_error(libc::EHOSTUNREACH);
        while let Some(address) = addresses.pop_front() {
            let source = source.filter(|source| source.is_ipv4() == address.is_ipv4());
            match relay_socket::connect(address, source) {
                Ok(stream) => {
                    return Ok(App { socket: KernelSocket::new(stream), pump: None, others: addresses, source });
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}
