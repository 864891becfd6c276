//! Probes: small UDP datagrams to another host's echo port and back (RFC 862), at a steady pace.
//!
//! A lost one counts as longer than any that came (RFC 2681, 5.1), or a queue that drops would look better than one that
//! delivers late. One that is still under way at the end counts so, too, once it has waited as long as the longest that came:
//! whatever becomes of it, it stands behind that one. What is younger tells nothing yet and is left out.

use crate::index::ProbeId;
use crate::outcome::ProbeOutcome;
use crate::rounds::Rounds;
use airtcp_core::{Duration, Instant, Packet, packet::protocol};
use bytes::{Buf, BufMut, BytesMut};
use std::collections::BTreeSet;
use std::net::IpAddr;

/// Every host answers there (RFC 862).
const ECHO_PORT: u16 = 7;
/// Port of the first probe; the n-th has the n-th after it.
const FIRST_PORT: u16 = 30_000;
/// UDP header, and when it was sent.
const CONTENT: usize = 16;

/// The end that asks.
pub struct Probe {
    name: String,
    port: u16,
    ends: [IpAddr; 2],
    every: Duration,
    size: u32,
    next: Option<Instant>,
    window: [Instant; 2],
    sent: u64,
    /// When those were sent that have no answer.
    unanswered: BTreeSet<Instant>,
    rounds: Rounds,
    longest: Duration,
}

/// What is asked of a probe.
#[derive(Clone, Debug)]
pub struct ProbeSpec {
    pub name: String,
    pub every: Duration,
    /// Bytes of the IP packet.
    pub size: u32,
    pub from: Instant,
    pub until: Instant,
}

impl Probe {
    /// A probe between the addresses `[from, to]`.
    pub fn new(id: ProbeId, spec: ProbeSpec, ends: [IpAddr; 2]) -> Self {
        let ProbeSpec { name, every, size, from, until } = spec;
        Probe {
            name,
            port: FIRST_PORT.wrapping_add(usize::from(id) as u16),
            ends,
            every,
            size,
            next: Some(from),
            window: [from, until],
            sent: 0,
            unanswered: BTreeSet::new(),
            rounds: Rounds::default(),
            longest: Duration::ZERO,
        }
    }

    /// When the next one leaves.
    pub fn next(&self) -> Option<Instant> {
        self.next.filter(|next| *next < self.window[1])
    }

    /// The one that is due, if one is.
    pub fn poll(&mut self, now: Instant) -> Option<Packet> {
        let due = self.next().filter(|due| *due <= now)?;
        self.next = Some(due.saturating_add(self.every));
        self.sent += 1;
        self.unanswered.insert(now);
        Some(datagram(self.ends, [self.port, ECHO_PORT], now, self.size))
    }

    /// Takes an answer to this probe; true if it is one. A second answer to the same datagram counts no more.
    pub fn take(&mut self, now: Instant, packet: &Packet) -> bool {
        match read(packet) {
            Some((ECHO_PORT, port, sent)) if port == self.port => {
                if self.unanswered.remove(&sent) {
                    let took = now.saturating_since(sent);
                    self.rounds.record(took);
                    self.longest = self.longest.max(took);
                }
                true
            }
            _ => false,
        }
    }

    /// What it found.
    pub fn outcome(&self) -> ProbeOutcome {
        let [from, end] = self.window;
        let is_longer = |sent: &&Instant| end.saturating_since(**sent) >= self.longest;
        let longer = self.unanswered.iter().filter(is_longer).count() as u64;
        ProbeOutcome {
            name: self.name.clone(),
            sent: self.sent,
            received: self.rounds.count(),
            rtt: self.rounds.percentiles(),
            rtt_or_lost: self.rounds.percentiles_with(longer, end.saturating_since(from)),
        }
    }
}

/// The answer to a datagram for the echo port; none to any other packet.
pub fn answer(packet: &Packet) -> Option<Packet> {
    let (port, ECHO_PORT, sent) = read(packet)? else { return None };
    let ip = packet.ip();
    Some(datagram([ip.destination, ip.source], [ECHO_PORT, port], sent, ip.total_len))
}

fn datagram([from, to]: [IpAddr; 2], [source, destination]: [u16; 2], sent: Instant, bytes: u32) -> Packet {
    let headers = if from.is_ipv4() { 20 } else { 40 };
    let length = (bytes as usize).saturating_sub(headers).max(CONTENT);
    let mut payload = BytesMut::with_capacity(length);
    payload.put_u16(source);
    payload.put_u16(destination);
    payload.put_u16(length as u16);
    payload.put_u16(0);
    payload.put_u64(sent.as_nanos());
    payload.put_bytes(0, length - CONTENT);
    Packet::opaque(from, to, protocol::UDP, payload.freeze())
}

/// Ports, and when the first half of the exchange was sent.
fn read(packet: &Packet) -> Option<(u16, u16, Instant)> {
    if packet.tcp().is_some() || packet.ip().protocol != protocol::UDP {
        return None;
    }
    let mut payload = packet.payload_bytes().filter(|payload| payload.len() >= CONTENT)?;
    let (source, destination) = (payload.get_u16(), payload.get_u16());
    payload.advance(4);
    Some((source, destination, Instant::from_nanos(payload.get_u64())))
}
