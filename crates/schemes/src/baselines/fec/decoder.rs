//! The receiving half: computes lost packets from the code packets of their block, and waits no
//! longer for a block when the second one after it has begun.

use super::frame::{Frame, Kind, Report};
use super::symbol;
use crate::baselines::fec::events;
use crate::hop::{Order, Turn};
use crate::position::{self, Position};
use airtcp_core::{Context, CreateReason, Ecn, Event, Packet};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// Blocks of which more may come.
const OPEN_BLOCKS: usize = 2;

/// See the module.
#[derive(Debug)]
pub(super) struct Decoder {
    pub order: Order,
    stream: Option<Stream>,
}

/// One incarnation of the sender.
#[derive(Debug)]
struct Stream {
    incarnation: u16,
    highest: Position,
    arrived: u32,
    /// By the position of the first packet.
    blocks: BTreeMap<Position, Block>,
    /// No block before this one is open.
    oldest: Position,
}

#[derive(Debug, Default)]
struct Block {
    /// Packets and code packets, once known.
    size: Option<(u8, u8)>,
    sources: BTreeMap<u8, Vec<u8>>,
    codes: BTreeMap<u8, Vec<u8>>,
    is_complete: bool,
}

impl Decoder {
    pub fn new(order: Order) -> Decoder {
        Decoder { order, stream: None }
    }

    /// A packet or code packet that came in this frame.
    pub fn on_frame(&mut self, cx: &mut Context<'_>, frame: &Frame, packet: Packet) {
        if self.stream.as_ref().is_none_or(|stream| stream.incarnation != frame.incarnation) {
            let first = position::first(frame.block);
            self.order.restart(cx, first);
            self.stream = Some(Stream {
                incarnation: frame.incarnation,
                highest: first,
                arrived: 0,
                blocks: BTreeMap::new(),
                oldest: first,
            });
        }
        let Some(stream) = &mut self.stream else { return };
        let block = position::near(stream.highest, frame.block);
        let is_open = block >= stream.oldest;
        match frame.kind {
            Kind::Source { traffic_class, hop_limit } => {
                let sequence = block + u64::from(frame.index);
                stream.highest = stream.highest.max(sequence);
                if is_open && let Some(symbol) = symbol::of_packet(&as_sent(&packet, traffic_class, hop_limit)) {
                    stream.blocks.entry(block).or_default().add_source(frame.index, symbol);
                }
                if self.order.take(cx, Turn { sequence, ..Turn::default() }, packet) {
                    stream.arrived = stream.arrived.wrapping_add(1);
                }
            }
            Kind::Code { k, r } => {
                if let Some(symbol) = packet.payload_bytes().filter(|_| is_open) {
                    stream.blocks.entry(block).or_default().add_code((k, r), frame.index, symbol.to_vec());
                }
                cx.consume(packet);
            }
        }
        self.repair(cx, block);
        self.close_old(cx);
    }

    /// Computes what is missing of a block, if enough of it is there.
    fn repair(&mut self, cx: &mut Context<'_>, first: Position) {
        let stream = self.stream.as_mut();
        let Some(block) = stream.and_then(|stream| stream.blocks.get_mut(&first)) else { return };
        for (index, packet) in block.recover() {
            match packet {
                Some(packet) => {
                    cx.emit(Event::RECOVERED);
                    let packet = cx.create(packet, CreateReason::RECOVERED);
                    let sequence = first + u64::from(index);
                    self.order.take(cx, Turn { sequence, ..Turn::default() }, packet);
                }
                None => cx.emit(events::NOT_RECOVERED),
            }
        }
    }

    /// Waits no longer for a block when two later ones have begun.
    fn close_old(&mut self, cx: &mut Context<'_>) {
        while let Some(stream) = &mut self.stream
            && stream.blocks.len() > OPEN_BLOCKS
        {
            let Some((first, block)) = stream.blocks.pop_first() else { return };
            let Some((&next, _)) = stream.blocks.first_key_value() else { return };
            stream.oldest = next;
            if !block.is_complete {
                let missing = (next - first).saturating_sub(block.sources.len() as u64);
                cx.emit_many(events::NOT_RECOVERED, missing);
            }
            self.order.skip_to(cx, next);
        }
    }

    /// What came so far, for the sender's redundancy.
    pub fn report(&self) -> Option<Report> {
        let stream = self.stream.as_ref()?;
        Some(Report {
            incarnation: stream.incarnation,
            highest: position::sequence(stream.highest),
            arrived: stream.arrived,
        })
    }

    /// Passes on everything held and forgets the sender.
    pub fn release_all(&mut self, cx: &mut Context<'_>) {
        self.order.release_all(cx);
        self.stream = None;
    }

    /// Memory of open blocks.
    pub fn memory(&self) -> u64 {
        let blocks = self.stream.iter().flat_map(|stream| stream.blocks.values());
        blocks.flat_map(|block| block.sources.values().chain(block.codes.values())).map(|s| s.len() as u64 + 48).sum()
    }

    pub fn check(&self) -> Result<(), &'static str> {
        if self.stream.as_ref().is_some_and(|stream| stream.blocks.len() > OPEN_BLOCKS) {
            return Err("more blocks are open than may be");
        }
        self.order.check()
    }
}

impl Block {
    fn add_source(&mut self, index: u8, symbol: Vec<u8>) {
        if !self.is_complete {
            self.sources.insert(index, symbol);
        }
    }

    fn add_code(&mut self, size: (u8, u8), index: u8, symbol: Vec<u8>) {
        if !self.is_complete && *self.size.get_or_insert(size) == size {
            self.codes.insert(index, symbol);
        }
    }

    /// The packets that were lost, by index, once there is enough to compute them from; `None`
    /// for one that cannot be read.
    fn recover(&mut self) -> Vec<(u8, Option<Packet>)> {
        let Some((k, r)) = self.size.filter(|_| !self.is_complete) else { return Vec::new() };
        if self.sources.len() + self.codes.len() < usize::from(k) {
            return Vec::new();
        }
        self.is_complete = true;
        let (sources, codes) = (core::mem::take(&mut self.sources), core::mem::take(&mut self.codes));
        let lost: Vec<u8> = (0..k).filter(|index| !sources.contains_key(index)).collect();
        if lost.is_empty() {
            return Vec::new();
        }
        let place = |symbols: &BTreeMap<u8, Vec<u8>>, n: u8| (0..n).map(|at| symbols.get(&at).cloned()).collect();
        let mut known: Vec<Option<Vec<u8>>> = place(&sources, k);
        let codes: Vec<Option<Vec<u8>>> = place(&codes, r);
        known.extend(codes);
        let symbols = symbol::decode(known, usize::from(k)).unwrap_or_default();
        let read = |index: u8| symbols.get(usize::from(index)).and_then(|symbol| symbol::to_packet(symbol));
        lost.into_iter().map(|index| (index, read(index))).collect()
    }
}

/// The packet as the other end had it: routers between change class and hop limit.
fn as_sent(packet: &Packet, traffic_class: u8, hop_limit: u8) -> Packet {
    let mut packet = packet.clone();
    packet.set_hop_limit(hop_limit);
    packet.set_ecn(match traffic_class & 3 {
        0 => Ecn::NotEct,
        1 => Ecn::Ect1,
        2 => Ecn::Ect0,
        _ => Ecn::Ce,
    });
    packet
}
