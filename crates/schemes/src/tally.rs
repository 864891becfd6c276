//! How much waits in a queue or buffer, counted as packets come and go.

use airtcp_core::{Backlog, Packet};

/// Packets, bytes and memory of what waits. One packet is counted with the same overhead when it comes and when it goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// What waits.
    pub waiting: Backlog,
    /// Memory of what waits.
    pub memory: u64,
    /// Most bytes that ever waited.
    pub bytes_max: u64,
}

impl Tally {
    /// A packet comes; its entry takes `overhead` bytes of memory beside it.
    pub fn add(&mut self, packet: &Packet, overhead: u64) {
        self.waiting.packets += 1;
        self.waiting.bytes += u64::from(packet.wire_len());
        self.memory += packet.memory() as u64 + overhead;
        self.bytes_max = self.bytes_max.max(self.waiting.bytes);
    }

    /// A packet goes.
    pub fn remove(&mut self, packet: &Packet, overhead: u64) {
        self.waiting.packets -= 1;
        self.waiting.bytes -= u64::from(packet.wire_len());
        self.memory -= packet.memory() as u64 + overhead;
    }

    /// A part of the whole was `before` and is `after`.
    pub fn change(&mut self, before: Tally, after: Tally) {
        self.waiting.packets = self.waiting.packets + after.waiting.packets - before.waiting.packets;
        self.waiting.bytes = self.waiting.bytes + after.waiting.bytes - before.waiting.bytes;
        self.memory = self.memory + after.memory - before.memory;
        self.bytes_max = self.bytes_max.max(self.waiting.bytes);
    }
}
