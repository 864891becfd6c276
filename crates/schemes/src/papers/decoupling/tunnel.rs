//! The tunnel queue (DEC-2): one FIFO from which all senders of a circuit take the head. (DEC-13)

use crate::tally::Tally;
use airtcp_core::packet::{IpHeader, TcpHeader};
use airtcp_core::{Packet, Payload};
use alloc::collections::VecDeque;

/// See the module. A packet is let go as soon as it is taken: nothing is left to send again (DEC-21).
#[derive(Debug)]
pub(super) struct TunnelQueue {
    packets: VecDeque<(Packet, Seal)>,
    limit: usize,
    /// What waits.
    pub tally: Tally,
    /// Packets and bytes that came in and that left.
    entered: (u64, u64),
    left: (u64, u64),
    /// What left was not as it came, or not in its turn.
    is_broken: bool,
}

/// What a packet must still be when it leaves, and its turn.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Seal {
    turn: u64,
    ip: IpHeader,
    tcp: Option<TcpHeader>,
    /// Where the payload is, in its virtual stream or in memory.
    payload: (u64, u64, usize),
}

impl Seal {
    fn of(packet: &Packet, turn: u64) -> Seal {
        let payload = match packet.payload() {
            Payload::Virtual { stream, offset, len } => (stream, offset, len as usize),
            Payload::Bytes(bytes) => (0, bytes.as_ptr() as u64, bytes.len()),
        };
        Seal { turn, ip: *packet.ip(), tcp: packet.tcp().copied(), payload }
    }
}

impl TunnelQueue {
    /// An empty queue for `limit` packets.
    pub fn new(limit: u32) -> Self {
        TunnelQueue {
            packets: VecDeque::new(),
            limit: limit as usize,
            tally: Tally::default(),
            entered: (0, 0),
            left: (0, 0),
            is_broken: false,
        }
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
        self.tally.add(&packet, 0);
        let seal = Seal::of(&packet, self.entered.0);
        self.entered = (self.entered.0 + 1, self.entered.1 + bytes);
        self.packets.push_back((packet, seal));
        Ok(())
    }

    /// The head.
    pub fn pop(&mut self) -> Option<Packet> {
        let (packet, seal) = self.packets.pop_front()?;
        self.is_broken |= seal != Seal::of(&packet, self.left.0);
        let bytes = u64::from(packet.wire_len());
        self.tally.remove(&packet, 0);
        self.left = (self.left.0 + 1, self.left.1 + bytes);
        Some(packet)
    }

    /// True if nothing waits.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// What came in left once, in its turn and as it came, or waits.
    pub fn check(&self) -> Result<(), &'static str> {
        if self.is_broken {
            return Err("a packet left the tunnel queue out of its turn, or not as it came");
        }
        if self.packets.len() > self.limit {
            return Err("the tunnel queue is longer than its limit");
        }
        let (packets, bytes) = (self.left.0 + self.packets.len() as u64, self.left.1 + self.tally.waiting.bytes);
        if self.entered.0 != packets {
            return Err("a packet left the tunnel queue twice, or never");
        }
        if self.entered.1 != bytes {
            return Err("packets changed their length in the tunnel queue");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::data;

    fn queue_of_two() -> TunnelQueue {
        let mut queue = TunnelQueue::new(3);
        for sequence in [1, 1449] {
            queue.push(data(sequence)).unwrap();
        }
        queue
    }

    #[test]
    fn dec_21_what_is_taken_out_of_turn_or_changed_breaks_the_check() {
        let mut fine = queue_of_two();
        while fine.pop().is_some() {}
        assert_eq!(fine.check(), Ok(()));

        let mut swapped = queue_of_two();
        swapped.packets.swap(0, 1);
        swapped.pop();
        assert!(swapped.check().is_err());

        let mut changed = queue_of_two();
        changed.packets[0].0.set_hop_limit(3);
        changed.pop();
        assert!(changed.check().is_err());

        let mut lost = queue_of_two();
        lost.packets.pop_back();
        assert!(lost.check().is_err());
    }
}
