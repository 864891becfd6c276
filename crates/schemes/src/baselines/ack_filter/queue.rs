//! A first-in, first-out queue in which a packet may take the turn of an earlier one of its flow.
//!
//! CAKE has a queue for each flow, so an acknowledgment whose predecessor was dropped loses no time. In a single queue it
//! would go to the tail each time, and an acknowledgment that is replaced again and again would never leave. So turns
//! are kept apart from packets: who drops an earlier packet of its flow gets the flow's turn instead of a new one. The
//! order within a flow stays as it came.

use crate::redundant_ack;
use crate::tally::Tally;
use airtcp_core::{Backlog, DropReason, FlowKey, Packet};
use alloc::collections::{BTreeMap, VecDeque};

/// Packets of a flow that are looked at for acknowledgments to drop, from the head; more than any queue that should be.
const LOOK_AT: usize = 1024;

/// Whose turn it is; `None` for everything that is no TCP.
type Turn = Option<FlowKey>;

/// How much may wait. One packet may always.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limit {
    /// Packets.
    pub packets: u64,
    /// IP bytes.
    pub bytes: u64,
    /// Bytes of memory.
    pub memory: u64,
}

/// When an acknowledgment is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keep {
    /// Two later ones say as much.
    Two,
    /// One does.
    One,
}

/// See the module. A flow has an entry as long as something of it waits.
#[derive(Debug)]
pub(super) struct FlowQueue {
    limit: Limit,
    turns: VecDeque<Turn>,
    flows: BTreeMap<Turn, Waiting>,
    /// What waits.
    pub tally: Tally,
}

/// What waits of a flow.
#[derive(Debug, Default)]
struct Waiting {
    packets: VecDeque<Entry>,
    /// Of these, acknowledgments that can be replaced.
    replaceable: usize,
}

#[derive(Debug)]
struct Entry {
    packet: Packet,
    is_replaceable: bool,
}

impl FlowQueue {
    /// An empty queue.
    pub fn new(limit: Limit) -> Self {
        FlowQueue { limit, turns: VecDeque::new(), flows: BTreeMap::new(), tally: Tally::default() }
    }

    /// Flows of which something waits.
    pub fn flows(&self) -> usize {
        self.flows.len()
    }

    /// Takes a packet to the tail, behind `ahead` packets that have left the queue and still wait.
    ///
    /// # Errors
    /// The packet and why it goes no further: there is no room for it.
    pub fn push(&mut self, packet: Packet, ahead: usize) -> Result<(), (Packet, DropReason)> {
        let waiting = self.tally.waiting.packets as u64;
        let (bytes, memory) = self.with(&packet);
        if waiting > 0 && (waiting + ahead as u64 >= self.limit.packets || bytes > self.limit.bytes) {
            return Err((packet, DropReason::QUEUE_FULL));
        }
        if waiting > 0 && memory > self.limit.memory {
            return Err((packet, DropReason::MEMORY_LIMIT));
        }
        let turn = packet.flow();
        self.turns.push_back(turn);
        self.keep(turn, packet, VecDeque::push_back);
        Ok(())
    }

    /// Takes a packet in place of one of its flow that it makes redundant, which is given back.
    ///
    /// # Errors
    /// The packet: it makes none redundant, or is too long.
    pub fn replace(&mut self, packet: Packet, keep: Keep) -> Result<Packet, Packet> {
        let turn = packet.flow();
        let (bytes, memory) = self.with(&packet);
        let Some(waiting) = self.flows.get_mut(&turn) else { return Err(packet) };
        let Some((index, older)) = waiting.find_redundant(&packet, keep) else { return Err(packet) };
        let (freed, freed_memory) = (u64::from(older.wire_len()), older.memory() as u64);
        if bytes > self.limit.bytes + freed || memory > self.limit.memory + freed_memory {
            return Err(packet);
        }
        let Some(entry) = waiting.packets.remove(index) else { return Err(packet) };
        waiting.replaceable -= 1;
        self.tally.remove(&entry.packet, 0);
        self.keep(turn, packet, VecDeque::push_back);
        Ok(entry.packet)
    }

    /// Bytes and memory of what waits with this packet.
    fn with(&self, packet: &Packet) -> (u64, u64) {
        (self.tally.waiting.bytes + u64::from(packet.wire_len()), self.tally.memory + packet.memory() as u64)
    }

    /// The packet whose turn it is.
    pub fn pop(&mut self) -> Option<Packet> {
        let turn = self.turns.pop_front()?;
        let waiting = self.flows.get_mut(&turn)?;
        let entry = waiting.packets.pop_front()?;
        waiting.replaceable -= usize::from(entry.is_replaceable);
        if waiting.packets.is_empty() {
            self.flows.remove(&turn);
        }
        self.tally.remove(&entry.packet, 0);
        Some(entry.packet)
    }

    /// A packet that could not leave is the next again.
    pub fn put_back(&mut self, packet: Packet) {
        let turn = packet.flow();
        self.turns.push_front(turn);
        self.keep(turn, packet, VecDeque::push_front);
    }

    fn keep(&mut self, turn: Turn, packet: Packet, place: fn(&mut VecDeque<Entry>, Entry)) {
        self.tally.add(&packet, 0);
        let waiting = self.flows.entry(turn).or_default();
        let is_replaceable = redundant_ack::is_replaceable(&packet);
        waiting.replaceable += usize::from(is_replaceable);
        place(&mut waiting.packets, Entry { packet, is_replaceable });
    }

    /// Every waiting packet has a turn, the limit holds, and no flow without packets is remembered.
    pub fn check(&self) -> Result<(), &'static str> {
        if self.turns.len() != self.tally.waiting.packets {
            return Err("the queue before the link has as many turns as packets");
        }
        let Backlog { packets, bytes } = self.tally.waiting;
        if packets > 1 && (bytes > self.limit.bytes || self.tally.memory > self.limit.memory) {
            return Err("the queue before the link is longer than its limit");
        }
        if self.flows.values().any(|waiting| waiting.packets.is_empty()) {
            return Err("a flow of which nothing waits is forgotten");
        }
        Ok(())
    }
}

impl Waiting {
    /// The first acknowledgment that `newer`, which is not among them yet, makes redundant. One before a change of ECN
    /// flags is kept: it is the last to tell of them.
    fn find_redundant(&self, newer: &Packet, keep: Keep) -> Option<(usize, &Packet)> {
        if self.replaceable == 0 || !redundant_ack::can_replace(newer) {
            return None;
        }
        let tcp = newer.tcp()?;
        let mut first: Option<((usize, &Packet), _)> = None;
        for (index, Entry { packet, is_replaceable }) in self.packets.iter().enumerate().take(LOOK_AT) {
            let ecn = redundant_ack::ecn(packet);
            first = first.filter(|(_, of_first)| *of_first == ecn);
            if !is_replaceable || !packet.tcp().is_some_and(|older| redundant_ack::covers(tcp, older)) {
                continue;
            }
            match first {
                Some((found, _)) => return Some(found),
                None => first = Some(((index, packet), ecn)),
            }
        }
        first.filter(|(_, ecn)| keep == Keep::One && *ecn == redundant_ack::ecn(newer)).map(|(found, _)| found)
    }
}
