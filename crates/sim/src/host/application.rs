//! The application at one end of a flow: it writes, reads and closes, and measures what its socket does.

use crate::digest::Digest;
use crate::index::FlowId;
use crate::rounds::Rounds;
use airtcp_core::{Duration, Instant};
use airtcp_schemes::socket::Socket;
use airtcp_tcp::Connection;

/// See the module. In this order in memory: first what either end needs for each packet, then what a sender does.
#[repr(C)]
pub struct Application {
    pub role: Role,
    pub digest: Option<Box<Digest>>,
    pub completed_at: Option<Instant>,
    pub last_progress: (Instant, u64),
    pub longest_stall: Duration,
    /// Bytes it has still to write: the connection takes what its send buffer holds.
    unwritten: u64,
    rtt_samples: u64,
    pub established_at: Option<Instant>,
    /// Round trips of a sender, one-way delays at a receiver of datagrams.
    pub rounds: Rounds,
    /// The sender's application has closed.
    has_closed: bool,
}

/// Which end it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Sender { start: Instant, size: Option<u64> },
    Receiver { size: Option<u64> },
}

impl Application {
    /// One that has not begun.
    pub fn new(role: Role, has_digest: bool) -> Application {
        Application {
            role,
            unwritten: match role {
                Role::Sender { size, .. } => size.unwrap_or(u64::MAX),
                Role::Receiver { .. } => 0,
            },
            has_closed: false,
            rounds: Rounds::default(),
            rtt_samples: 0,
            last_progress: (Instant::ZERO, 0),
            longest_stall: Duration::ZERO,
            established_at: None,
            completed_at: None,
            digest: has_digest.then(Box::default),
        }
    }

    /// That of what it has sent over this flow.
    pub fn sent_digest(&self, flow: FlowId) -> Option<[u8; 32]> {
        let Role::Sender { size, .. } = self.role else { return None };
        self.digest.as_ref().zip(size).map(|(_, size)| Digest::of_virtual(flow.number().into(), size))
    }

    /// Notes that so much has been delivered.
    #[inline]
    pub fn note_progress(&mut self, now: Instant, delivered: u64) {
        if delivered > self.last_progress.1 {
            self.longest_stall = self.longest_stall.max(now.saturating_since(self.last_progress.0));
            self.last_progress = (now, delivered);
        }
    }

    /// Writes as much as fits, and closes behind the last byte of a file.
    pub fn write(&mut self, connection: &mut Connection) {
        if self.unwritten > 0 {
            let taken = connection.write_virtual(self.unwritten);
            if taken == 0 {
                return;
            }
            self.unwritten -= taken;
            if self.unwritten > 0 {
                return;
            }
        }
        // Closing before the handshake is giving up, unless something was written.
        let Role::Sender { size: Some(size), .. } = self.role else { return };
        if !self.has_closed && (size > 0 || connection.is_established()) {
            self.has_closed = true;
            connection.shutdown();
        }
    }

    /// After a segment: the receiver closes when the sender did, and progress is noted.
    #[inline]
    pub fn on_segment(&mut self, now: Instant, connection: &mut Connection) {
        if let Some(digest) = &mut self.digest {
            while let Some(chunk) = connection.read(u64::MAX) {
                digest.update(&chunk);
            }
        }
        let stats = connection.stats();
        if let Role::Receiver { size } = self.role {
            let delivered = stats.bytes_delivered;
            if self.completed_at.is_none() && size.is_some_and(|size| delivered >= size) {
                self.completed_at = Some(now);
                connection.shutdown();
            }
            self.note_progress(now, delivered);
        } else {
            if self.established_at.is_none() && connection.is_established() {
                self.established_at = Some(now);
            }
            if stats.rtt_samples != self.rtt_samples {
                self.rtt_samples = stats.rtt_samples;
                self.rounds.record(stats.latest_rtt);
            }
            self.write(connection);
        }
    }

    /// After a packet of another socket, which may have a connection.
    #[inline(never)]
    pub fn on_packet(&mut self, now: Instant, socket: &mut dyn Socket) {
        if let Some(connection) = socket.connection_mut() {
            return self.on_segment(now, connection);
        }
        let delivered = socket.stats().bytes_delivered;
        if delivered > self.last_progress.1 {
            self.note_progress(now, delivered);
            socket.latest_delay().into_iter().for_each(|delay| self.rounds.record(delay));
        }
    }
}
