//! What may come out of a scheme, given what went in.

use super::traffic::Traffic;
use airtcp_core::packet::fill_virtual;
use airtcp_core::{Packet, Payload};
use std::collections::BTreeSet;

/// Knows every datagram that no scheme understands, byte for byte.
#[derive(Default)]
pub struct Oracle {
    unknown: BTreeSet<Vec<u8>>,
}

impl Oracle {
    /// A packet that no scheme understands goes in.
    pub fn note(&mut self, packet: &Packet) {
        if packet.tcp().is_none() {
            self.unknown.insert(untouched(packet));
        }
    }

    /// Judges a packet that came out.
    ///
    /// # Errors
    /// A sentence: it was never sent, or not so.
    pub fn judge(&self, packet: &Packet, traffic: &Traffic, keeps_end_to_end: bool) -> Result<(), String> {
        let Some(tcp) = packet.tcp() else {
            let passed = self.unknown.contains(&untouched(packet));
            return if passed { Ok(()) } else { Err(describe(packet, "an unknown packet was changed")) };
        };
        // Damage that a checksum reveals is nobody's content; nor has a bare segment any.
        if packet.payload_len() == 0 || !packet.checksum_holds() {
            return Ok(());
        }
        let streams = packet.flow().and_then(|flow| traffic.by_key.get(&flow)).map_or(&[][..], Vec::as_slice);
        let is_sent = streams.iter().rev().any(|stream| {
            let generation = traffic.generations[*stream as usize];
            let len = u64::from(packet.payload_len());
            // Sequence numbers repeat every 4 GiB; no stream here is that long.
            let offset = u64::from(tcp.sequence.0.wrapping_sub(generation.first.0));
            match packet.payload() {
                Payload::Virtual { stream: carried, offset: at, .. } => {
                    let in_place = at == offset || !keeps_end_to_end;
                    carried == *stream && in_place && at + len <= generation.sent
                }
                Payload::Bytes(bytes) if keeps_end_to_end => {
                    offset + len <= generation.sent && bytes == content(*stream, offset, bytes.len())
                }
                // If a scheme numbers the bytes itself, real bytes alone do not show where they belong.
                Payload::Bytes(_) => true,
            }
        });
        if is_sent { Ok(()) } else { Err(describe(packet, "a segment carries bytes that were not sent there")) }
    }
}

fn content(stream: u64, offset: u64, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    fill_virtual(stream, offset, &mut bytes);
    bytes
}

/// The datagram without the fields that every router changes: TTL and the IPv4 header checksum.
fn untouched(packet: &Packet) -> Vec<u8> {
    let mut bytes = packet.to_wire().to_vec();
    let changing: &[usize] = if packet.ip().source.is_ipv4() { &[8, 10, 11] } else { &[7] };
    changing.iter().for_each(|at| bytes[*at] = 0);
    bytes
}

fn describe(packet: &Packet, fault: &str) -> String {
    let ip = packet.ip();
    let place = packet.flow().map_or_else(|| format!("{} > {}", ip.source, ip.destination), |flow| flow.to_string());
    let sequence = packet.tcp().map_or_else(String::new, |tcp| format!(" sequence {}", tcp.sequence));
    format!("{fault}: {place} protocol {}{sequence}, {} bytes of payload", ip.protocol, packet.payload_len())
}
