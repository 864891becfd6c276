//! The sending half: gathers packets into blocks, and cuts each into shards with redundancy behind them.

use super::blob::{self, BlobLen};
use super::frame::Frame;
use super::settings::FecTunnelSettings;
use crate::LinkFacts;
use crate::baselines::fec::symbol;
use crate::position::{self, Position};
use crate::tally::Tally;
use airtcp_core::{Duration, Instant, Packet, SeqNum};
use alloc::vec::Vec;

/// The first block's number, so that long runs cross the wrap.
const START: SeqNum = SeqNum(u32::MAX - 500);
/// "No next header": shards carry nothing for the host they are addressed to.
const NO_NEXT_HEADER: u8 = 59;
/// Bytes in front of a shard's part of the block, as UDPspeeder reckons (fec_manager.cpp: header_overhead).
pub(super) const OVERHEAD: u32 = 40;
/// The same with an IPv6 header.
const OVERHEAD_IPV6: u32 = OVERHEAD + 20;
/// Memory of a packet that waits, beside its bytes.
const ENTRY: u64 = 24;

/// See the module.
#[derive(Debug)]
pub(super) struct Encoder {
    stream: u64,
    k: u8,
    r: u8,
    longest: u32,
    most_packets: usize,
    most_memory: u64,
    timeout: Duration,
    next_block: Position,
    opened_at: Instant,
    packets: Vec<Packet>,
    len: BlobLen,
    /// What waits in the block that is open.
    pub waiting: Tally,
}

impl Encoder {
    /// On a link of which this is known.
    pub fn new(settings: &FecTunnelSettings, link: &LinkFacts, stream: u64, most_memory: u64) -> Encoder {
        let room = link.mtu.map_or(u32::MAX, |mtu| mtu.saturating_sub(OVERHEAD_IPV6).max(1));
        Encoder {
            stream,
            k: settings.k,
            r: settings.r,
            longest: settings.mtu.min(room),
            most_packets: settings.queue_len as usize,
            most_memory,
            timeout: settings.timeout,
            next_block: position::first(START),
            opened_at: Instant::ZERO,
            packets: Vec::new(),
            len: BlobLen::EMPTY,
            waiting: Tally::default(),
        }
    }

    /// True if the block that is open has room for this packet, too.
    pub fn has_room(&self, packet: &Packet) -> bool {
        self.len.with(packet.wire_len()).shard(self.k) <= self.longest
            && self.packets.len() < self.most_packets
            && self.waiting.memory + packet.memory() as u64 <= self.most_memory
    }

    /// Takes a packet into the block that is open, or into a new one; true if the block is full then.
    pub fn push(&mut self, now: Instant, packet: Packet) -> bool {
        if self.packets.is_empty() {
            self.opened_at = now;
        }
        self.len = self.len.with(packet.wire_len());
        self.waiting.add(&packet, ENTRY);
        self.packets.push(packet);
        self.packets.len() >= self.most_packets
    }

    /// Ends the block that is open: its packets.
    pub fn take(&mut self) -> Vec<Packet> {
        self.packets.iter().for_each(|packet| self.waiting.remove(packet, ENTRY));
        core::mem::take(&mut self.packets)
    }

    /// The same, for a block that will not be cut into shards.
    pub fn clear(&mut self) -> Vec<Packet> {
        self.len = BlobLen::EMPTY;
        self.take()
    }

    /// Cuts the packets of the block that is open into shards; `None` if there are none, or one is too long.
    pub fn shards(&mut self) -> Option<Vec<Packet>> {
        let len = core::mem::replace(&mut self.len, BlobLen::EMPTY);
        let first = self.packets.first()?;
        // An IPv4 header is the shorter one, and every block with an IPv4 packet can have it.
        let of = self.packets.iter().find(|packet| packet.ip().source.is_ipv4()).unwrap_or(first);
        let ends = (of.ip().source, of.ip().destination);
        let blob = blob::write(&self.packets)?;
        let k = self.data_shards(len);
        let size = blob.len().div_ceil(usize::from(k));
        let part = |index: usize| blob.iter().skip(index * size).take(size).copied().collect::<Vec<u8>>();
        let mut parts: Vec<Vec<u8>> = (0..usize::from(k)).map(part).collect();
        parts.iter_mut().for_each(|part| part.resize(size, 0));
        let codes = symbol::encode(parts.clone(), usize::from(self.r))?;
        let block = position::sequence(self.next_block);
        self.next_block += 1;
        let shard = |(index, part): (usize, Vec<u8>)| {
            let mut packet = Packet::opaque(ends.0, ends.1, NO_NEXT_HEADER, part.into());
            // As long as if all content were written out, which it is unless it is virtual.
            packet.set_wire_len(u32::from(packet.ip().header_len) + len.shard(k));
            let frame = Frame { stream: self.stream, block, index: index as u8, k, r: self.r };
            packet.push_shim(&frame.encode());
            packet
        };
        Some(parts.into_iter().chain(codes).enumerate().map(shard).collect())
    }

    /// How many shards of data take the fewest bytes, all headers and the redundancy included (fec_manager.cpp:
    /// short_packet_optimize).
    fn data_shards(&self, len: BlobLen) -> u8 {
        let bytes = |k: &u8| (u64::from(len.shard(*k)) + u64::from(OVERHEAD)) * (u64::from(*k) + u64::from(self.r));
        let fits = |k: &u8| len.shard(*k) <= self.longest;
        // The most of several that take the same, if that is all there may be, else the fewest.
        let fewest = (1..self.k).filter(fits).min_by_key(bytes);
        fewest.filter(|fewest| bytes(fewest) < bytes(&self.k)).unwrap_or(self.k)
    }

    /// When the block that is open leaves as it is.
    pub fn poll_timeout(&self) -> Option<Instant> {
        (!self.packets.is_empty()).then(|| self.opened_at.saturating_add(self.timeout))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hop::testing::opaque;
    use std::vec;

    fn encoder() -> Encoder {
        Encoder::new(&FecTunnelSettings::default(), &LinkFacts::default(), 1, 1 << 20)
    }

    /// Data shards and bytes of a block of such packets, on the medium.
    fn block(lens: &[usize]) -> (usize, u32) {
        let mut encoder = encoder();
        for len in lens {
            assert!(encoder.has_room(&opaque(*len)));
            encoder.push(Instant::ZERO, opaque(*len));
        }
        let shards = encoder.shards().unwrap();
        (shards.len() - 10, shards.iter().map(Packet::wire_len).sum())
    }

    #[test]
    fn a_full_block_takes_half_as_much_again_and_forty_bytes_a_shard() {
        // 4 + 16 x 1503 bytes in twenty parts of 1203.
        assert_eq!(block(&[1500; 16]), (20, 30 * (1203 + 40)));
    }

    #[test]
    fn a_block_of_little_is_cut_so_that_it_takes_the_fewest_bytes() {
        // 107 bytes: one shard of 107 and ten times as much redundancy, (107 + 40) x 11 = 1617; in six (18 + 40) x 16.
        assert_eq!(block(&[100]), (6, 928));
        let cost = |k: u32| (107_u32.div_ceil(k) + 40) * (k + 10);
        assert!((1..=20).all(|k| cost(k) >= 928));
    }

    #[test]
    fn a_block_is_full_when_its_shards_are_as_long_as_may_be_or_has_as_many_packets() {
        let mut encoder = encoder();
        // 4 + 16 x 1503 = 24,052 of 25,000 bytes.
        (0..16).for_each(|_| assert!(!encoder.push(Instant::ZERO, opaque(1500))));
        assert!(encoder.has_room(&opaque(945)));
        assert!(!encoder.has_room(&opaque(946)));
        let mut small = super::tests::encoder();
        let full: Vec<bool> = (0..200).map(|_| small.push(Instant::ZERO, opaque(40))).collect();
        assert_eq!(full, [vec![false; 199], vec![true]].concat());
    }

    #[test]
    fn shards_fit_the_link() {
        let link = LinkFacts { mtu: Some(800), ..LinkFacts::default() };
        let mut encoder = Encoder::new(&FecTunnelSettings::default(), &link, 1, 1 << 20);
        while encoder.has_room(&opaque(1000)) {
            encoder.push(Instant::ZERO, opaque(1000));
        }
        let shards = encoder.shards().unwrap();
        assert!(shards.iter().all(|shard| shard.wire_len() <= 800 && shard.to_wire().len() <= 800));
        assert_eq!(shards[0].to_wire().len(), shards[0].wire_len() as usize, "written out as counted");
    }
}
