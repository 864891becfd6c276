//! The peer's side of a forwarder: datagrams of one UDP socket.

use super::{Daemon, RECEIVE_BUFFER, TURN};
use crate::forwarder::association::Arrived;
use crate::forwarder::config::Config;
use crate::forwarder::streams::is_of_stream;
use crate::sys::relay_socket;
use crate::sys::tcp_socket::set_receive_buffer;
use airtcp_core::Instant;
use bytes::Bytes;
use std::io::{self, ErrorKind};
use std::net::UdpSocket;
use std::os::fd::AsFd;

impl Daemon {
    pub(super) fn receive(&mut self, now: Instant) {
        let mut buffer = [0; 9216];
        for _ in 0..TURN {
            let length = match self.udp.recv(&mut buffer) {
                Ok(length) => length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // An ICMP error about a datagram of ours.
                Err(_) => continue,
            };
            self.counts.datagrams_received += 1;
            let datagram = Bytes::copy_from_slice(&buffer[..length]);
            match self.association.handle(now, self.config.peer, datagram) {
                Arrived::Frame(frame) if is_of_stream(&frame) => {
                    if let Some((key, datagram)) = self.streams.handle_frame(now, frame) {
                        self.give_out(key, &datagram);
                    }
                }
                Arrived::Frame(frame) => self.exchange.handle_frame(now, frame),
                Arrived::OtherLife => self.forget_peer(now, libc::ECONNRESET),
                Arrived::Done => {}
            }
        }
        // There may be more, and changes are told once: look again after the others.
        self.is_busy = true;
    }

    pub(super) fn transmit(&mut self, now: Instant) {
        // One that waits is the first: another would take its place.
        if self.unsent.take().is_some_and(|datagram| !self.send(datagram)) {
            return;
        }
        self.transmit_streams(now);
        if self.unsent.is_some() {
            return;
        }
        let mut datagram = Vec::with_capacity(2048);
        while self.association.poll_handshake(now, &mut datagram) {
            let handshake = std::mem::take(&mut datagram);
            if !self.send(handshake) {
                return;
            }
        }
        for _ in 0..TURN {
            if !self.exchange.poll_transmit(now, &mut datagram) {
                return;
            }
            if self.association.seal(&mut datagram) {
                let frame = std::mem::take(&mut datagram);
                if !self.send(frame) {
                    return;
                }
            }
        }
        self.is_busy = true;
    }

    /// False if the kernel has no room: it is sent later.
    pub(super) fn send(&mut self, datagram: Vec<u8>) -> bool {
        match self.udp.send(&datagram) {
            Ok(_) => self.counts.datagrams_sent += 1,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                self.unsent = Some(datagram);
                return false;
            }
            // No way there, for now: as if it were lost.
            Err(_) => self.counts.datagrams_unsent += 1,
        }
        true
    }
}

/// The socket of a forwarder.
pub(super) fn open(config: &Config) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind(config.listen)?;
    socket.connect(config.peer)?;
    socket.set_nonblocking(true)?;
    if config.peer.is_ipv4() {
        relay_socket::allow_fragments(socket.as_fd())?;
    }
    // Without the right to it the kernel's default has to do.
    let _ = set_receive_buffer(socket.as_fd(), RECEIVE_BUFFER);
    Ok(socket)
}
