//! Probes: small UDP datagrams to another host's echo port and back (RFC 862), at a steady pace.

use crate::index::ProbeId;
use crate::outcome::ProbeOutcome;
use crate::rounds::Rounds;
use airtcp_core::{Duration, Instant, Packet, packet::protocol};
use bytes::{Buf, BufMut, BytesMut};
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
    from: IpAddr,
    to: IpAddr,
    every: Duration,
    size: u32,
    next: Option<Instant>,
    until: Instant,
    sent: u64,
    rounds: Rounds,
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
    pub fn new(id: ProbeId, spec: ProbeSpec, [from, to]: [IpAddr; 2]) -> Self {
        let ProbeSpec { name, every, size, from: start, until } = spec;
        let port = FIRST_PORT.wrapping_add(usize::from(id) as u16);
        Probe { name, port, from, to, every, size, next: Some(start), until, sent: 0, rounds: Rounds::default() }
    }

    /// When the next one leaves.
    pub fn next(&self) -> Option<Instant> {
        self.next.filter(|next| *next < self.until)
    }

    /// The one that is due, if one is.
    pub fn poll(&mut self, now: Instant) -> Option<Packet> {
        let due = self.next().filter(|due| *due <= now)?;
        self.next = Some(due.saturating_add(self.every));
        self.sent += 1;
        Some(datagram([self.from, self.to], [self.port, ECHO_PORT], now, self.size))
    }

    /// Takes an answer to this probe; true if it is one.
    pub fn take(&mut self, now: Instant, packet: &Packet) -> bool {
        match read(packet) {
            Some((ECHO_PORT, port, sent)) if port == self.port => {
                self.rounds.record(now.saturating_since(sent));
                true
            }
            _ => false,
        }
    }

    /// What it found.
    pub fn outcome(&self) -> ProbeOutcome {
        let (name, sent, received) = (self.name.clone(), self.sent, self.rounds.count());
        ProbeOutcome { name, sent, received, rtt: self.rounds.percentiles() }
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
