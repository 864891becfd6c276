//! What arrived: a virtual stream, which is checked on arrival and needs no storage, or real
//! bytes, which are kept until they are in order and read.
//!
//! Every virtual payload must be exactly the peer's stream at exactly its position in sequence
//! space; the first that is not is recorded and stays recorded.

use crate::stream::{Chunk, to_store};
use airtcp_core::{Packet, Payload};
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use bytes::Bytes;

#[derive(Clone, Debug, Default)]
enum Kind {
    #[default]
    Unknown,
    Virtual {
        stream: u64,
    },
    Bytes(Box<Pieces>),
}

/// Real bytes.
#[derive(Clone, Debug)]
struct Pieces {
    /// In order, not read.
    ready: VecDeque<Bytes>,
    /// Above a hole, by offset, disjoint.
    held: BTreeMap<u64, Bytes>,
    /// One past what is in `ready`.
    ready_end: u64,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Content {
    kind: Kind,
    fault: Option<&'static str>,
}

impl Content {
    /// The first mismatch, if any.
    pub fn fault(&self) -> Option<&'static str> {
        self.fault
    }

    /// Takes offsets `from..to` of a segment whose payload begins at offset `start`. Real bytes are
    /// kept if `keep`.
    #[inline]
    pub fn check_and_keep(&mut self, from: u64, to: u64, start: i64, packet: &Packet, keep: bool) {
        match packet.payload() {
            Payload::Virtual { stream, offset, .. } => self.check_virtual(stream, offset, start),
            Payload::Bytes(_) if keep => self.keep_of(from, to, start, packet),
            Payload::Bytes(_) => {}
        }
    }

    #[inline(never)]
    fn keep_of(&mut self, from: u64, to: u64, start: i64, packet: &Packet) {
        if let Some(bytes) = packet.payload_bytes() {
            let skip = (from as i64 - start) as usize;
            self.keep(from, bytes.slice(skip..skip + (to - from) as usize));
        }
    }

    /// Pieces of real bytes that are kept.
    pub fn pieces(&self) -> u64 {
        match &self.kind {
            Kind::Bytes(pieces) => (pieces.ready.len() + pieces.held.len()) as u64,
            Kind::Unknown | Kind::Virtual { .. } => 0,
        }
    }

    fn check_virtual(&mut self, stream: u64, offset: u64, start: i64) {
        match self.kind {
            Kind::Unknown => self.kind = Kind::Virtual { stream },
            Kind::Virtual { stream: expected } if stream == expected => {}
            Kind::Virtual { .. } => self.record("a segment carries another stream"),
            Kind::Bytes(_) => self.record("a virtual stream continues real bytes"),
        }
        // Offset 1 of the sequence is position 0 of the stream.
        if offset as i64 + 1 != start {
            self.record("a segment carries another position of its stream than its sequence number says");
        }
    }

    fn keep(&mut self, from: u64, bytes: Bytes) {
        if matches!(self.kind, Kind::Unknown) {
            let pieces = Pieces { ready: VecDeque::new(), held: BTreeMap::new(), ready_end: 1 };
            self.kind = Kind::Bytes(Box::new(pieces));
        }
        let Kind::Bytes(pieces) = &mut self.kind else {
            self.record("real bytes continue a virtual stream");
            return;
        };
        let Pieces { ready, held, ready_end } = &mut **pieces;
        let bytes = to_store(bytes);
        if *ready_end == from {
            *ready_end += bytes.len() as u64;
            ready.push_back(bytes);
        } else {
            held.insert(from, bytes);
        }
    }

    /// Everything below `to` is in order now.
    #[inline]
    pub fn advance(&mut self, to: u64) {
        if matches!(self.kind, Kind::Bytes(_)) {
            self.advance_bytes(to);
        }
    }

    #[inline(never)]
    fn advance_bytes(&mut self, to: u64) {
        let Kind::Bytes(pieces) = &mut self.kind else { return };
        let Pieces { ready, held, ready_end } = &mut **pieces;
        while let Some(entry) = held.first_entry().filter(|entry| *entry.key() < to) {
            let (at, bytes) = entry.remove_entry();
            *ready_end = at + bytes.len() as u64;
            ready.push_back(bytes);
        }
        // What auto-read dropped on arrival never was in `ready`.
        *ready_end = (*ready_end).max(to);
    }

    /// Forgets what is in order below `to`.
    pub fn discard_below(&mut self, to: u64) {
        if let Kind::Bytes(pieces) = &mut self.kind
            && pieces.ready_end <= to
        {
            pieces.ready.clear();
        }
    }

    /// Up to `len` bytes from position `position`; at most one buffer of real bytes.
    pub fn read(&mut self, position: u64, len: u64) -> Chunk {
        match &mut self.kind {
            Kind::Virtual { stream } => Chunk::Virtual { stream: *stream, offset: position, len },
            Kind::Bytes(pieces) => Chunk::Bytes(take_front(&mut pieces.ready, len)),
            Kind::Unknown => Chunk::Bytes(Bytes::new()),
        }
    }

    #[cold]
    fn record(&mut self, fault: &'static str) {
        self.fault.get_or_insert(fault);
    }
}

fn take_front(ready: &mut VecDeque<Bytes>, len: u64) -> Bytes {
    match ready.front_mut() {
        Some(front) if front.len() as u64 > len => front.split_to(len as usize),
        Some(_) => ready.pop_front().unwrap_or_default(),
        None => Bytes::new(),
    }
}
