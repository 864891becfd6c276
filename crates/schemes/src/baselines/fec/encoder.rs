//! The sending half: gathers packets into blocks and makes their code packets.

use super::frame::{FRAME_LEN, Frame, Kind};
use super::redundancy::Redundancy;
use super::symbol;
use crate::position::{self, Position};
use airtcp_core::packet::SHIM_HEADER;
use airtcp_core::{Instant, Packet, SeqNum};
use alloc::vec::Vec;
use core::net::IpAddr;

/// The first sequence number, so that every run crosses the wrap.
pub(super) const START: SeqNum = SeqNum(u32::MAX - 500);
/// "No next header": code packets carry nothing for the host they are addressed to.
const NO_NEXT_HEADER: u8 = 59;

/// Bytes of a code packet beyond the longest packet that it protects, IPv4 and IPv6.
pub(super) const OVERHEAD: [u32; 2] =
    [20 + SHIM_HEADER + FRAME_LEN as u32 + symbol::OVERHEAD, 40 + SHIM_HEADER + FRAME_LEN as u32 + symbol::OVERHEAD];

/// See the module.
#[derive(Debug)]
pub(super) struct Encoder {
    incarnation: u16,
    k: u8,
    pub redundancy: Redundancy,
    next_sequence: Position,
    block: Option<Block>,
}

/// A block that is being filled.
#[derive(Debug)]
struct Block {
    first: Position,
    opened_at: Instant,
    symbols: Vec<Vec<u8>>,
    /// Bytes of the longest packet on the medium.
    longest: u32,
    /// Where the code packets go: the way of the block's packets.
    ends: (IpAddr, IpAddr),
}

impl Encoder {
    pub fn new(incarnation: u16, k: u8, redundancy: Redundancy) -> Encoder {
        Encoder { incarnation, k, redundancy, next_sequence: position::first(START), block: None }
    }

    /// Our incarnation, as every frame names it.
    pub fn incarnation(&self) -> u16 {
        self.incarnation
    }

    /// The next sequence number.
    pub fn next_sequence(&self) -> Position {
        self.next_sequence
    }

    /// What the frame of the next packet says.
    pub fn next_frame(&self, packet: &Packet) -> Frame {
        let first = self.block.as_ref().map_or(self.next_sequence, |block| block.first);
        let ip = packet.ip();
        Frame {
            incarnation: self.incarnation,
            block: position::sequence(first),
            index: (self.next_sequence - first) as u8,
            kind: Kind::Source { traffic_class: ip.traffic_class, hop_limit: ip.hop_limit },
        }
    }

    /// The packet left in the frame of [`Encoder::next_frame`]; true if that filled the block.
    pub fn on_sent(&mut self, packet: &Packet, now: Instant) -> bool {
        let ends = (packet.ip().source, packet.ip().destination);
        let first = self.next_sequence;
        let block =
            self.block.get_or_insert_with(|| Block { first, opened_at: now, symbols: Vec::new(), longest: 0, ends });
        // An IPv4 header is the shorter one, and every block with an IPv4 packet can have it.
        if block.ends.0.is_ipv6() {
            block.ends = ends;
        }
        self.next_sequence += 1;
        block.longest = block.longest.max(packet.wire_len());
        block.symbols.push(symbol::of_packet(packet).unwrap_or_default());
        block.symbols.len() >= usize::from(self.k)
    }

    /// Closes the block that is open: its code packets.
    pub fn close(&mut self) -> Vec<Packet> {
        let Some(block) = self.block.take() else { return Vec::new() };
        let k = block.symbols.len() as u8;
        let r = self.redundancy.for_block(k).min(255 - k);
        let codes = symbol::encode(block.symbols, usize::from(r)).unwrap_or_default();
        let code = |(index, code): (usize, Vec<u8>)| {
            let mut packet = Packet::opaque(block.ends.0, block.ends.1, NO_NEXT_HEADER, code.into());
            // As long as if all content were written out, which it is unless it is virtual.
            let header = u32::from(packet.ip().header_len);
            packet.set_wire_len(header + symbol::OVERHEAD + block.longest);
            let kind = Kind::Code { k, r };
            let frame = Frame {
                incarnation: self.incarnation,
                block: position::sequence(block.first),
                index: index as u8,
                kind,
            };
            packet.push_shim(&frame.encode());
            packet
        };
        codes.into_iter().enumerate().map(code).collect()
    }

    /// Forgets the block that is open.
    pub fn clear(&mut self) {
        self.block = None;
    }

    /// When the block that is open was opened.
    pub fn opened_at(&self) -> Option<Instant> {
        self.block.as_ref().map(|block| block.opened_at)
    }

    /// Memory of the block that is open.
    pub fn memory(&self) -> u64 {
        self.block.as_ref().map_or(0, |block| block.symbols.iter().map(|symbol| symbol.len() as u64 + 24).sum())
    }

    pub fn check(&self) -> Result<(), &'static str> {
        match &self.block {
            Some(block) if block.symbols.len() >= usize::from(self.k) => Err("a full block is not closed"),
            _ => Ok(()),
        }
    }
}
