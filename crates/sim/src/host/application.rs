//! The application at one end of a flow: it writes, reads and closes, and measures what its socket does.

use crate::digest::Digest;
use crate::index::FlowId;
use crate::outcome::Sample;
use crate::rounds::Rounds;
use crate::topology::Flow;
use airtcp_core::{Duration, Instant, Packet, Rng};
use airtcp_schemes::socket::{FlowEnd, SocketSettings, SocketSite};
use airtcp_tcp::{Connection, Opening, Stats};
use std::sync::Arc;

/// See the module.
pub struct Application {
    pub flow: FlowId,
    pub name: String,
    pub settings: Arc<dyn SocketSettings>,
    /// What its end is opened with, until then.
    pub opening: Option<Box<Opening>>,
    pub role: Role,
    /// None before the flow begins; at the receiver of a TCP connection, none before the SYN.
    pub end: Option<FlowEnd>,
    pub rng: Rng,
    /// Bytes the application has still to write: the connection takes what its send buffer holds.
    pub unwritten: u64,
    /// The sender's application has closed.
    pub has_closed: bool,
    /// The deadline that is in `timers`.
    pub armed: Option<Instant>,
    /// What its end had counted at the end of the warm-up, if there was one.
    pub at_warmup: Option<Box<Stats>>,
    /// What the controller had counted then.
    pub controller_at_warmup: Vec<u64>,
    /// What its hidden connections had.
    pub counts_at_warmup: Vec<u64>,
    /// Round trips of a sender, one-way delays at a receiver of datagrams.
    pub rounds: Rounds,
    pub rtt_samples: u64,
    pub series: Vec<Sample>,
    pub last_progress: (Instant, u64),
    pub longest_stall: Duration,
    pub established_at: Option<Instant>,
    pub completed_at: Option<Instant>,
    pub digest: Option<Box<Digest>>,
}

/// Which end it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Sender { start: Instant, size: Option<u64> },
    Receiver { size: Option<u64> },
}

/// Counts without what they were before.
fn since(counts: Vec<(&'static str, u64)>, before: &[u64]) -> Vec<(&'static str, u64)> {
    let before = before.iter().copied().chain(std::iter::repeat(0));
    counts.into_iter().zip(before).map(|((name, count), before)| (name, count.saturating_sub(before))).collect()
}

impl Application {
    /// The end of flow number `flow` that opens its connection with `opening`.
    pub fn new(flow: FlowId, spec: &Flow, opening: Opening, role: Role, mut rng: Rng, has_digest: bool) -> Application {
        let settings = spec.socket.settings.clone();
        let mut site = SocketSite { opening: &opening, flow: usize::from(flow) as u32, rng: &mut rng };
        let end = if matches!(role, Role::Sender { .. }) { None } else { settings.listen(&mut site) };
        Application {
            flow,
            name: spec.name.clone(),
            opening: end.is_none().then(|| Box::new(opening)),
            end,
            settings,
            role,
            rng,
            unwritten: match role {
                Role::Sender { size, .. } => size.unwrap_or(u64::MAX),
                Role::Receiver { .. } => 0,
            },
            has_closed: false,
            armed: None,
            at_warmup: None,
            controller_at_warmup: Vec::new(),
            counts_at_warmup: Vec::new(),
            rounds: Rounds::default(),
            rtt_samples: 0,
            series: Vec::new(),
            last_progress: (Instant::ZERO, 0),
            longest_stall: Duration::ZERO,
            established_at: None,
            completed_at: None,
            digest: has_digest.then(Box::default),
        }
    }

    /// What is counted is counted from now on.
    pub fn on_warm(&mut self) {
        self.at_warmup = self.end.as_ref().map(|end| Box::new(end.stats()));
        self.controller_at_warmup = self.controller_counts().into_iter().map(|(_, count)| count).collect();
        self.counts_at_warmup = self.counts().into_iter().map(|(_, count)| count).collect();
        self.rounds.clear();
    }

    /// One of its counts at the end of the warm-up.
    pub fn before(&self, count: impl Fn(&Stats) -> u64) -> u64 {
        self.at_warmup.as_deref().map_or(0, count)
    }

    pub fn stats(&self) -> Stats {
        self.end.as_ref().map_or_else(Stats::default, |end| end.stats())
    }

    #[inline]
    pub fn connection(&self) -> Option<&Connection> {
        self.end.as_ref()?.connection()
    }

    pub fn counts(&self) -> Vec<(&'static str, u64)> {
        let counts = self.end.as_ref().map_or_else(Vec::new, |end| end.counts());
        counts.into_iter().map(|(event, count)| (event.label(), count)).collect()
    }

    pub fn counts_since_warmup(&self) -> Vec<(&'static str, u64)> {
        since(self.counts(), &self.counts_at_warmup)
    }

    pub fn controller_counts(&self) -> Vec<(&'static str, u64)> {
        let mut counts = Vec::new();
        if let Some(connection) = self.connection() {
            connection.controller_info(&mut |name, count| counts.push((name, count)));
        }
        counts
    }

    pub fn controller_since_warmup(&self) -> Vec<(&'static str, u64)> {
        since(self.controller_counts(), &self.controller_at_warmup)
    }

    pub fn sent_digest(&self) -> Option<[u8; 32]> {
        let Role::Sender { size, .. } = self.role else { return None };
        self.digest.as_ref().zip(size).map(|(_, size)| Digest::of_virtual(self.flow.number().into(), size))
    }

    pub fn note_progress(&mut self, now: Instant, delivered: u64) {
        self.longest_stall = self.longest_stall.max(now.saturating_since(self.last_progress.0));
        self.last_progress = (now, delivered);
    }

    pub fn connect(&mut self, now: Instant) {
        let Some(opening) = self.opening.take() else { return };
        let mut site = SocketSite { opening: &opening, flow: self.flow.number(), rng: &mut self.rng };
        self.end = Some(self.settings.connect(&mut site, now));
        self.write();
    }

    /// At the receiver: the first packet may open the connection.
    #[cold]
    pub fn accept(&mut self, now: Instant, packet: &Packet) {
        let Some(opening) = &self.opening else { return };
        self.end = self.settings.accept(opening, packet, now);
        if self.end.is_some() {
            self.opening = None;
        }
        self.last_progress = (now, 0);
    }

    /// Writes as much as fits, and closes behind the last byte of a file.
    pub fn write(&mut self) {
        let Some(connection) = self.end.as_mut().and_then(FlowEnd::connection_mut) else { return };
        if self.unwritten > 0 {
            self.unwritten -= connection.write_virtual(self.unwritten);
        }
        // Closing before the handshake is giving up, unless something was written.
        let is_file = matches!(self.role, Role::Sender { size: Some(_), .. });
        let wrote = connection.is_established() || !matches!(self.role, Role::Sender { size: Some(0), .. });
        if is_file && self.unwritten == 0 && wrote && !self.has_closed {
            self.has_closed = true;
            connection.shutdown();
        }
    }

    /// After a segment: the receiver closes when the sender did, and progress is noted.
    pub fn on_handled(&mut self, now: Instant) {
        let Some(end) = &mut self.end else { return };
        let Some(connection) = end.connection_mut() else {
            let delivered = end.stats().bytes_delivered;
            if delivered > self.last_progress.1 {
                let delay = end.latest_delay();
                self.note_progress(now, delivered);
                delay.into_iter().for_each(|delay| self.rounds.record(delay));
            }
            return;
        };
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
            if delivered > self.last_progress.1 {
                self.note_progress(now, delivered);
            }
        } else {
            if self.established_at.is_none() && connection.is_established() {
                self.established_at = Some(now);
            }
            if stats.rtt_samples != self.rtt_samples {
                self.rtt_samples = stats.rtt_samples;
                self.rounds.record(stats.latest_rtt);
            }
            self.write();
        }
    }
}
