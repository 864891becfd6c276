//! The applications' side of streams: sockets that datagrams are taken from, and sockets that give them out.

use super::{Daemon, DaemonError, TURN};
use crate::forwarder::LineKey;
use crate::forwarder::config::{Config, Stream};
use crate::forwarder::opening::{Host, Opening};
use crate::sys::datagram_socket::DatagramSocket;
use airtcp_core::Instant;
use bytes::Bytes;
use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, UdpSocket};

/// A socket that datagrams are taken from.
pub(super) struct Taken {
    pub(super) socket: DatagramSocket,
    /// It has something to read, as far as is known.
    has_more: bool,
}

/// The sockets of the file.
pub(super) fn open(config: &Config) -> Result<Vec<Taken>, DaemonError> {
    let taken = |stream: &Stream| {
        let refused = |source| DaemonError::Stream { listen: stream.listen.to_string(), source };
        Ok(Taken { socket: stream.listen.open().map_err(refused)?, has_more: false })
    };
    config.streams.iter().map(taken).collect()
}

impl Taken {
    pub(super) fn ready(&mut self) {
        self.has_more = true;
    }
}

/// Where the streams of the file are to lead.
pub(super) fn openings(config: &Config) -> Vec<Opening> {
    let opening = |(host, port): (Host, u16)| Opening { host, port, source: None };
    config.streams.iter().map(|stream| opening(stream.to.clone())).collect()
}

impl Daemon {
    /// Takes what circuits have room for. The rest stays where it is: a Unix socket's sender waits, UDP's is dropped there.
    pub(super) fn take_datagrams(&mut self, now: Instant) {
        let longest = self.config.longest_datagram();
        let mut buffer = [0; 9216];
        for (place, taken) in self.taken.iter_mut().enumerate() {
            while taken.has_more && self.streams.room(place) > 0 {
                match taken.socket.receive(&mut buffer) {
                    Ok(length) if length > longest => self.counts.stream_too_long += 1,
                    Ok(length) => self.streams.offer(now, place, &buffer[..length]),
                    Err(error) => taken.has_more = error.kind() != ErrorKind::WouldBlock,
                }
            }
        }
    }

    /// There are datagrams, and room for them.
    pub(super) fn could_take_datagrams(&self) -> bool {
        self.taken.iter().enumerate().any(|(place, taken)| taken.has_more && self.streams.room(place) > 0)
    }

    /// Writes and sends frames of streams, as long as there are some and the turn lasts.
    pub(super) fn transmit_streams(&mut self, now: Instant) {
        for _ in 0..TURN {
            let mut frame = Vec::with_capacity(2048);
            if !self.streams.poll_transmit(now, &mut frame) {
                self.is_busy |= self.could_take_datagrams();
                return;
            }
            if self.association.seal(&mut frame) && !self.send(frame) {
                return;
            }
        }
        self.is_busy = true;
    }

    /// Gives a datagram of the peer to its target.
    pub(super) fn give_out(&mut self, key: LineKey, datagram: &Bytes) {
        // What the target's host does not take is lost, as on any way.
        if self.given.get(&key).is_none_or(|socket| socket.send(datagram).is_err()) {
            self.counts.stream_not_given += 1;
        }
    }

    /// The peer asks where datagrams can be led to.
    pub(super) fn answer_streams(&mut self) {
        while let Some((key, Opening { host, port, .. })) = self.streams.poll_asked() {
            if !self.config.allow_streams.iter().any(|allowed| allowed.includes(&host, port)) {
                self.counts.refused_not_allowed += 1;
                self.streams.refuse(key);
                continue;
            }
            match host {
                Host::Address(address) => self.lead(key, [SocketAddr::new(address, port)].into()),
                Host::Name(name) => match self.resolver.ask(key, name, port) {
                    Some(asked) => drop(self.resolving.insert(key, (asked.number, None))),
                    None => self.streams.refuse(key),
                },
            }
        }
    }

    /// Leads a stream to the first address that there is a way to.
    pub(super) fn lead(&mut self, key: LineKey, to: VecDeque<SocketAddr>) {
        match to.into_iter().find_map(|address| outlet(address).ok()) {
            Some(socket) => {
                self.given.insert(key, socket);
                self.streams.take(key);
            }
            None => {
                self.counts.refused_by_host += 1;
                self.streams.refuse(key);
            }
        }
    }

    /// The peer is another process than before, or gone.
    pub(super) fn forget_peer(&mut self, now: Instant, errno: i32) {
        self.exchange.forget_peer(errno as u16);
        self.streams.forget_peer(now);
        self.given.clear();
        self.resolving.retain(|key, _| key.stream_place().is_none());
    }

    /// Datagrams that the kernel dropped in front of this end.
    pub(super) fn dropped(&self) -> u64 {
        self.taken.iter().filter_map(|taken| taken.socket.dropped().ok()).map(u64::from).sum()
    }
}

fn outlet(to: SocketAddr) -> io::Result<UdpSocket> {
    let any: IpAddr = if to.is_ipv4() { [0; 4].into() } else { [0; 16].into() };
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect(to)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}
