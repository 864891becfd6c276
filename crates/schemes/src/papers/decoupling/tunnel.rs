//! The tunnel queue (DEC-2), from which all senders of a circuit take the head (DEC-13): a FIFO, or any other discipline.

use crate::tally::Tally;
use airtcp_core::packet::{IpHeader, TcpHeader};
use airtcp_core::{DropReason, Duration, Instant, Packet, Payload, Rng};
use airtcp_link::{Buffer, Queue, QueueSite};
use alloc::collections::VecDeque;

/// Longest packet, for disciplines that ask.
const MTU: u32 = 1500;

/// See the module. A packet is let go as soon as it is taken: nothing is left to send again (DEC-21).
#[derive(Debug)]
pub(super) struct TunnelQueue {
    kind: Kind,
    /// What waits.
    pub tally: Tally,
    /// Packets and bytes that came in, that left, and that a discipline dropped.
    entered: (u64, u64),
    left: (u64, u64),
    lost: (u64, u64),
    dropped: VecDeque<(Packet, DropReason)>,
    /// What left was not as it came, or not in its turn.
    is_broken: bool,
}

#[derive(Debug)]
enum Kind {
    /// The paper's, of so many packets.
    Fifo(VecDeque<(Packet, Seal)>, usize),
    /// Another discipline, which decides itself what it drops, within so many bytes of memory.
    Discipline(Buffer, u64),
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
    /// An empty FIFO for `limit` packets.
    pub fn new(limit: u32) -> Self {
        TunnelQueue::of(Kind::Fifo(VecDeque::new(), limit as usize))
    }

    /// An empty queue under a discipline.
    pub fn under(queue: &Queue, max_memory: u64, rng: Rng) -> Self {
        let site = QueueSite { rate: None, delay: Duration::ZERO, mtu: MTU };
        TunnelQueue::of(Kind::Discipline(Buffer::new(queue, &site, rng), max_memory))
    }

    fn of(kind: Kind) -> Self {
        let none = (0, 0);
        let (dropped, tally) = (VecDeque::new(), Tally::default());
        TunnelQueue { kind, tally, entered: none, left: none, lost: none, dropped, is_broken: false }
    }

    /// Packets that still fit.
    pub fn room(&self) -> usize {
        match &self.kind {
            Kind::Fifo(packets, limit) => limit.saturating_sub(packets.len()),
            Kind::Discipline(..) => usize::MAX,
        }
    }

    /// Takes a packet to its place; a FIFO gives it back if it is full.
    pub fn push(&mut self, now: Instant, packet: Packet) -> Result<(), Packet> {
        if self.room() == 0 {
            return Err(packet);
        }
        let turn = self.entered.0;
        count(&mut self.entered, &packet);
        self.tally.add(&packet, 0);
        match &mut self.kind {
            Kind::Fifo(packets, _) => {
                let seal = Seal::of(&packet, turn);
                packets.push_back((packet, seal));
            }
            Kind::Discipline(buffer, max_memory) if self.tally.memory > *max_memory && buffer.backlog().packets > 0 => {
                self.dropped.push_back((packet, DropReason::MEMORY_LIMIT));
            }
            Kind::Discipline(buffer, _) => {
                let dropped = &mut self.dropped;
                buffer.push(now, now, packet, &mut |packet, reason| dropped.push_back((packet, reason)));
            }
        }
        Ok(())
    }

    /// The head.
    pub fn pop(&mut self, now: Instant) -> Option<Packet> {
        let packet = match &mut self.kind {
            Kind::Fifo(packets, _) => {
                let (packet, seal) = packets.pop_front()?;
                self.is_broken |= seal != Seal::of(&packet, self.left.0);
                packet
            }
            Kind::Discipline(buffer, _) => {
                let dropped = &mut self.dropped;
                buffer.pop(now, &mut |packet, reason| dropped.push_back((packet, reason)))?
            }
        };
        self.tally.remove(&packet, 0);
        count(&mut self.left, &packet);
        Some(packet)
    }

    /// What the discipline dropped, until there is no more.
    pub fn take_dropped(&mut self) -> Option<(Packet, DropReason)> {
        let (packet, reason) = self.dropped.pop_front()?;
        self.tally.remove(&packet, 0);
        count(&mut self.lost, &packet);
        Some((packet, reason))
    }

    /// True if nothing waits.
    pub fn is_empty(&self) -> bool {
        match &self.kind {
            Kind::Fifo(packets, _) => packets.is_empty(),
            Kind::Discipline(buffer, _) => buffer.backlog().packets == 0,
        }
    }

    /// What came in left once, as long as it was, or was dropped, or waits; from a FIFO in its turn and as it came.
    pub fn check(&self) -> Result<(), &'static str> {
        if self.is_broken {
            return Err("a packet left the tunnel queue out of its turn, or not as it came");
        }
        let waiting = match &self.kind {
            Kind::Fifo(packets, limit) if packets.len() > *limit => {
                return Err("the tunnel queue is longer than its limit");
            }
            Kind::Fifo(packets, _) => packets.len(),
            Kind::Discipline(buffer, _) => buffer.backlog().packets + self.dropped.len(),
        };
        if self.entered.0 != self.left.0 + self.lost.0 + waiting as u64 {
            return Err("a packet left the tunnel queue twice, or never");
        }
        if self.entered.1 != self.left.1 + self.lost.1 + self.tally.waiting.bytes {
            return Err("packets changed their length in the tunnel queue");
        }
        Ok(())
    }
}

fn count((packets, bytes): &mut (u64, u64), packet: &Packet) {
    *packets += 1;
    *bytes += u64::from(packet.wire_len());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::data;

    const NOW: Instant = Instant::ZERO;

    fn packets(queue: &mut TunnelQueue) -> &mut VecDeque<(Packet, Seal)> {
        match &mut queue.kind {
            Kind::Fifo(packets, _) => packets,
            Kind::Discipline(..) => unreachable!("it is a FIFO"),
        }
    }

    fn queue_of_two() -> TunnelQueue {
        let mut queue = TunnelQueue::new(3);
        for sequence in [1, 1449] {
            queue.push(NOW, data(sequence)).unwrap();
        }
        queue
    }

    #[test]
    fn dec_21_what_is_taken_out_of_turn_or_changed_breaks_the_check() {
        let mut fine = queue_of_two();
        while fine.pop(NOW).is_some() {}
        assert_eq!(fine.check(), Ok(()));

        let mut swapped = queue_of_two();
        packets(&mut swapped).swap(0, 1);
        swapped.pop(NOW);
        assert!(swapped.check().is_err());

        let mut changed = queue_of_two();
        packets(&mut changed)[0].0.set_hop_limit(3);
        changed.pop(NOW);
        assert!(changed.check().is_err());

        let mut lost = queue_of_two();
        packets(&mut lost).pop_back();
        assert!(lost.check().is_err());
    }
}
