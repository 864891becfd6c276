//! A's FIFO cache (GSN-3): copies of what was sent over the link, in the order they were sent,
//! oldest flushed first. The limit is in packets (GSN-U5); nothing else flushes a copy, also not
//! the receiver's acknowledgment.

use crate::position::Position;
use crate::seq_map::SeqMap;
use crate::tally::Tally;
use airtcp_core::Packet;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::ops::Range;

/// Memory of a copy beside its packet.
const ENTRY: u64 = size_of::<Copy>() as u64;

/// Copies in the order they were sent.
#[derive(Debug)]
pub(super) struct Cache {
    limit: usize,
    pub tally: Tally,
    copies: VecDeque<Copy>,
}

#[derive(Debug)]
struct Copy {
    /// Names the connection, also after its table entry is gone.
    flow: u64,
    range: Range<Position>,
    packet: Packet,
}

impl Cache {
    /// A cache for `limit` packets.
    pub fn new(limit: usize) -> Self {
        Cache { limit, tally: Tally::default(), copies: VecDeque::new() }
    }

    /// Adds a copy of what was just sent and flushes the oldest beyond the limits (GSN-3).
    pub fn insert(&mut self, flow: u64, range: Range<Position>, packet: Packet, memory_limit: u64) {
        self.tally.add(&packet, ENTRY);
        self.copies.push_back(Copy { flow, range, packet });
        while self.copies.len() > self.limit || self.tally.memory > memory_limit {
            let Some(oldest) = self.copies.pop_front() else { break };
            self.tally.remove(&oldest.packet, ENTRY);
        }
    }

    /// The newest copies of what is `wanted` of `flow`, in the order of the stream; takes out of `wanted`
    /// what they cover. A few dozen packets are searched faster than an index of them is kept.
    pub fn find(&self, flow: u64, wanted: &mut SeqMap<()>) -> Vec<&Packet> {
        let mut found = Vec::new();
        for copy in self.copies.iter().rev() {
            if wanted.is_empty() {
                break;
            }
            if copy.flow == flow && !wanted.take_out(copy.range.clone()).is_empty() {
                found.push(copy);
            }
        }
        found.sort_by_key(|copy| copy.range.start);
        found.into_iter().map(|copy| &copy.packet).collect()
    }

    /// Number of copies.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.copies.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airtcp_core::{Segment, SeqNum, TcpFlags, TcpHeader, TcpOptions};
    use core::net::{IpAddr, Ipv4Addr};

    fn packet(position: Position) -> Packet {
        let tcp = TcpHeader {
            source_port: 1,
            destination_port: 2,
            sequence: SeqNum(position as u32),
            acknowledgment: SeqNum(0),
            flags: TcpFlags::ACK,
            window: 1000,
            urgent: 0,
            options: TcpOptions::default(),
        };
        let host = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let segment = Segment { source: host, destination: host, traffic_class: 0, tcp };
        Packet::tcp_virtual(&segment, 1, 0, 1000)
    }

    fn has(cache: &Cache, flow: u64, start: Position) -> bool {
        let mut wanted = SeqMap::default();
        wanted.add(start..start + 1000);
        !cache.find(flow, &mut wanted).is_empty()
    }

    fn filled(limit: usize, packets: u64) -> Cache {
        let mut cache = Cache::new(limit);
        for n in 0..packets {
            cache.insert(n % 2, n * 1000..n * 1000 + 1000, packet(n * 1000), u64::MAX);
        }
        cache
    }

    #[test]
    fn gsn_3_the_oldest_copies_are_flushed_whatever_their_flow() {
        let cache = filled(4, 10);
        assert_eq!(cache.len(), 4);
        assert!(has(&cache, 0, 6000) && has(&cache, 1, 9000));
        assert!(!has(&cache, 1, 5000));
        assert!(!has(&cache, 1, 6000), "a copy belongs to its flow");
    }

    #[test]
    fn memory_bounds_the_cache_too() {
        let mut cache = Cache::new(1000);
        let limit = 10 * (packet(0).memory() as u64 + ENTRY);
        for n in 0..100 {
            cache.insert(0, n * 1000..n * 1000 + 1000, packet(n * 1000), limit);
        }
        assert_eq!((cache.len(), cache.tally.memory), (10, limit));
    }
}
