//! The receiving half: of each block as many shards as it has of data give back all its packets, whichever they are, and
//! fewer give back none.

use super::blob;
use super::events;
use super::frame::Frame;
use crate::baselines::fec::symbol;
use crate::position::{self, Position};
use airtcp_core::{Context, Event, Packet, Port};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// Memory of a shard beside its bytes.
const ENTRY: u64 = 48;

/// See the module.
#[derive(Debug)]
pub(super) struct Decoder {
    most_shards: usize,
    most_memory: u64,
    stream: Option<Stream>,
}

/// One life of the sender.
#[derive(Debug)]
struct Stream {
    epoch: u64,
    highest: Position,
    /// Blocks before this one are given up.
    oldest: Position,
    blocks: BTreeMap<Position, Block>,
    shards: usize,
    memory: u64,
}

#[derive(Debug)]
struct Block {
    k: u8,
    r: u8,
    size: usize,
    shards: BTreeMap<u8, Vec<u8>>,
    is_done: bool,
}

impl Decoder {
    pub fn new(most_shards: usize, most_memory: u64) -> Decoder {
        Decoder { most_shards, most_memory, stream: None }
    }

    /// A shard came, in a packet that ends here.
    pub fn on_shard(&mut self, cx: &mut Context<'_>, frame: &Frame, packet: Packet) {
        let part = packet.payload_bytes().map(|part| part.to_vec()).unwrap_or_default();
        cx.consume(packet);
        if self.stream.as_ref().is_none_or(|stream| stream.epoch != frame.stream) {
            self.stream = Some(Stream::new(frame));
        }
        let Some(stream) = &mut self.stream else { return };
        let number = position::near(stream.highest, frame.block);
        if number < stream.oldest || part.is_empty() {
            return;
        }
        stream.highest = stream.highest.max(number);
        for packet in stream.add(cx, number, frame, part) {
            let packet = cx.create(packet, events::UNPACKED);
            cx.send(Port::INNER, packet);
        }
        while stream.shards > self.most_shards
            || stream.memory > self.most_memory
            || stream.blocks.len() > self.most_shards
        {
            stream.give_up_oldest(cx);
        }
    }

    /// Forgets the sender.
    pub fn clear(&mut self) {
        self.stream = None;
    }

    /// Memory of the shards.
    pub fn memory(&self) -> u64 {
        self.stream.as_ref().map_or(0, |stream| stream.memory)
    }

    pub fn check(&self) -> Result<(), &'static str> {
        let Some(stream) = &self.stream else { return Ok(()) };
        let kept: usize = stream.blocks.values().map(|block| block.shards.len()).sum();
        if kept != stream.shards || kept > self.most_shards {
            return Err("the shards that are kept are not as many as counted, or more than may be");
        }
        Ok(())
    }
}

impl Stream {
    fn new(frame: &Frame) -> Stream {
        let highest = position::first(frame.block);
        // Its first blocks may come in any order.
        let oldest = highest.saturating_sub(u64::from(u8::MAX));
        Stream { epoch: frame.stream, highest, oldest, blocks: BTreeMap::new(), shards: 0, memory: 0 }
    }

    /// Keeps a shard: the packets of its block, if that is complete now.
    fn add(&mut self, cx: &mut Context<'_>, number: Position, frame: &Frame, part: Vec<u8>) -> Vec<Packet> {
        let Frame { k, r, .. } = *frame;
        let new = || Block { k, r, size: part.len(), shards: BTreeMap::new(), is_done: false };
        let block = self.blocks.entry(number).or_insert_with(new);
        let belongs = (block.k, block.r, block.size) == (k, r, part.len());
        if block.is_done || !belongs || block.shards.contains_key(&frame.index) {
            return Vec::new();
        }
        self.shards += 1;
        self.memory += part.len() as u64 + ENTRY;
        block.shards.insert(frame.index, part);
        if block.shards.len() < usize::from(k) {
            return Vec::new();
        }
        block.is_done = true;
        self.shards -= block.shards.len();
        self.memory -= block.memory();
        let (blob, computed) = block.take_blob();
        cx.emit_many(Event::RECOVERED, computed);
        blob::read(&blob)
    }

    fn give_up_oldest(&mut self, cx: &mut Context<'_>) {
        let Some((number, block)) = self.blocks.pop_first() else { return };
        self.oldest = number + 1;
        if !block.is_done {
            self.shards -= block.shards.len();
            self.memory -= block.memory();
            cx.emit(events::BLOCK_LOST);
        }
    }
}

impl Block {
    fn memory(&self) -> u64 {
        self.shards.values().map(|part| part.len() as u64 + ENTRY).sum()
    }

    /// The data of a block with enough shards, and how many of theirs were computed.
    fn take_blob(&mut self) -> (Vec<u8>, u64) {
        let mut shards = core::mem::take(&mut self.shards);
        let k = usize::from(self.k);
        let known: Vec<Option<Vec<u8>>> = (0..self.k + self.r).map(|index| shards.remove(&index)).collect();
        let missing = known[..k].iter().filter(|part| part.is_none()).count() as u64;
        if missing == 0 {
            return (known.into_iter().take(k).flatten().flatten().collect(), 0);
        }
        let parts = symbol::decode(known, k).unwrap_or_default();
        (parts.into_iter().flatten().collect(), missing)
    }
}
