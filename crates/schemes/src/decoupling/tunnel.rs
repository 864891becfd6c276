//! The tunnel queue (DEC-2): one FIFO from which all senders of a circuit take the head. (DEC-13)

use airtcp_core::{Backlog, Packet};
use alloc::collections::VecDeque;

/// See the module. A packet is let go as soon as it is taken: nothing is left to send again (DEC-21).
#[derive(Debug)]
pub(super) struct TunnelQueue {
    packets: VecDeque<Packet>,
    limit: usize,
    bytes: u64,
    memory: u64,
    bytes_max: u64,
    /// Packets and bytes that came in and that left.
    entered: (u64, u64),
    left: (u64, u64),
}

impl TunnelQueue {
    /// An empty queue for `limit` packets.
    pub fn new(limit: u32) -> Self {
        let (entered, left) = ((0, 0), (0, 0));
        let packets = VecDeque::new();
        TunnelQueue { packets, limit: limit as usize, bytes: 0, memory: 0, bytes_max: 0, entered, left }
    }

    /// Packets that still fit.
    pub fn room(&self) -> usize {
        self.limit.saturating_sub(self.packets.len())
    }

    /// Takes a packet to the tail; gives it back if the queue is full.
    pub fn push(&mut self, packet: Packet) -> Result<(), Packet> {
        if self.room() == 0 {
            return Err(packet);
        }
        let bytes = u64::from(packet.wire_len());
        self.bytes += bytes;
        self.bytes_max = self.bytes_max.max(self.bytes);
        self.memory += packet.memory() as u64;
        self.entered = (self.entered.0 + 1, self.entered.1 + bytes);
        self.packets.push_back(packet);
        Ok(())
    }

    /// The head.
    pub fn pop(&mut self) -> Option<Packet> {
        let packet = self.packets.pop_front()?;
        let bytes = u64::from(packet.wire_len());
        self.bytes -= bytes;
        self.memory -= packet.memory() as u64;
        self.left = (self.left.0 + 1, self.left.1 + bytes);
        Some(packet)
    }

    /// True if nothing waits.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// What waits.
    pub fn backlog(&self) -> Backlog {
        Backlog { packets: self.packets.len(), bytes: self.bytes }
    }

    /// Memory of what waits.
    pub fn memory(&self) -> u64 {
        self.memory
    }

    /// Most bytes that ever waited.
    pub fn bytes_max(&self) -> u64 {
        self.bytes_max
    }

    /// What came in left once, or waits, and is as long as it was.
    pub fn check(&self) -> Result<(), &'static str> {
        if self.packets.len() > self.limit {
            return Err("the tunnel queue is longer than its limit");
        }
        let (packets, bytes) = (self.left.0 + self.packets.len() as u64, self.left.1 + self.bytes);
        if self.entered.0 != packets {
            return Err("a packet left the tunnel queue twice, or never");
        }
        if self.entered.1 != bytes {
            return Err("packets changed their length in the tunnel queue");
        }
        Ok(())
    }
}
