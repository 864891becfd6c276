//! The receiving half of the codes: computes lost packets from them.

use super::covered::{self, Restored};
use super::frame::{Kind, Shim};
use crate::position::Position;
use crate::sliding_code::{Code, Decoder};
use airtcp_core::Packet;
use alloc::vec::Vec;

/// See the module.
#[derive(Debug)]
pub(super) struct Restorer {
    decoder: Decoder,
    /// Routers between the two ends, as the latest packet tells.
    routers: u8,
}

impl Restorer {
    /// Keeps at most `memory` bytes.
    pub fn new(memory: u64) -> Restorer {
        Restorer { decoder: Decoder::new(memory), routers: 0 }
    }

    /// A packet came at this position: those that can be computed now, with their positions.
    pub fn on_packet(&mut self, position: Position, shim: &Shim, packet: &Packet) -> Vec<(Position, Restored)> {
        let Kind::Covered { traffic_class, hop_limit } = shim.kind else { return Vec::new() };
        self.routers = hop_limit.saturating_sub(packet.ip().hop_limit);
        let sent = covered::as_sent(packet, traffic_class, hop_limit);
        let solved = self.decoder.add_source(position, covered::symbol(&shim.frame, &sent));
        self.restore(solved)
    }

    /// A code over `count` packets from this position on came in `packet`.
    pub fn on_code(&mut self, first: Position, count: u8, shim: &Shim, packet: &Packet) -> Vec<(Position, Restored)> {
        let Some(symbol) = packet.payload_bytes() else { return Vec::new() };
        let code = Code { first, count, seed: shim.frame.number.0 as u16, symbol: symbol.to_vec(), longest: 0 };
        let solved = self.decoder.add_code(code);
        self.restore(solved)
    }

    fn restore(&self, solved: Vec<(Position, Vec<u8>)>) -> Vec<(Position, Restored)> {
        let read = |(position, symbol): (_, Vec<u8>)| Some((position, covered::restore(&symbol, self.routers)?));
        solved.into_iter().filter_map(read).collect()
    }

    /// How many packets the codes mend that came, once others do.
    pub fn rank(&self) -> usize {
        self.decoder.rank()
    }

    /// Nothing before this position is waited for.
    pub fn forget_before(&mut self, expected: Position) {
        self.decoder.forget(expected);
    }

    /// Forgets everything: a new stream begins.
    pub fn clear(&mut self) {
        self.decoder.clear();
    }

    /// Bytes held.
    pub fn memory(&self) -> u64 {
        self.decoder.memory()
    }

    pub fn check(&self) -> Result<(), &'static str> {
        self.decoder.check()
    }
}
