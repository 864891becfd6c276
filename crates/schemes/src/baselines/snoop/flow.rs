//! One connection as the Snoop agent sees it: what it sent over the link and has copies of, what
//! the receiver has acknowledged, and when to try again.

use super::Limits;
use super::last_hop::LastHop;
use crate::acks::{self, AckTrack, Kind};
use crate::position::{self, Position};
use crate::seq_map::SeqMap;
use airtcp_core::{Instant, Packet, SeqNum, TcpHeader};

/// Memory of a copy beside its packet.
const OVERHEAD: u64 = 96;
/// A local timeout doubles at most so often.
const MAX_BACKOFF: u32 = 5;
/// Longest payload of a keep-alive (RFC 9293 section 3.8.4): it wants the receiver's own answer.
const KEEP_ALIVE: u32 = 1;

/// A packet the receiver has not acknowledged.
#[derive(Debug)]
struct Copy {
    packet: Packet,
    /// When it last left for the link; none while it waits in the queue.
    sent_at: Option<Instant>,
    /// The sender sent it again, so duplicates that ask for it are the sender's business.
    by_sender: bool,
    /// Times it was repaired.
    repairs: u8,
}

/// Memory of a copy of `packet`.
pub(super) fn cost(packet: &Packet) -> u64 {
    packet.memory() as u64 + OVERHEAD
}

/// What to do with a data packet.
#[derive(Debug)]
pub(super) enum DataVerdict {
    /// Send it over the link.
    Forward,
    /// The receiver has it: answer with its latest acknowledgment.
    Answer(Packet),
}

/// What to do with an acknowledgment.
#[derive(Debug)]
pub(super) enum AckVerdict {
    /// Pass it on to the sender.
    Pass,
    /// The loss it tells of is being repaired.
    Suppress,
    /// The same, and this is the repair.
    Repair(Packet),
}

/// See the module.
#[derive(Debug)]
pub(super) struct Flow {
    /// One past the highest position that came from the sender.
    seen: Position,
    copies: SeqMap<Copy>,
    acks: AckTrack,
    /// The receiver's latest acknowledgment that carried nothing else.
    latest_ack: Option<Packet>,
    /// Duplicates that packets sent behind the lost one will still cause.
    expected: u32,
    last_hop: LastHop,
    /// End and departure of the one packet per window whose round trip is measured.
    timed: Option<(Position, Instant)>,
    backoff: u32,
    /// The timeout grew since the last progress: it holds for one acknowledgment more, so that a hop
    /// slower than the estimate can be measured (Karn).
    is_backoff_new: bool,
    /// When the oldest copy is sent again.
    pub deadline: Option<Instant>,
    /// Memory of the copies.
    pub memory: u64,
    /// The deadline as the agent's table of timers has it.
    pub timer: Option<Instant>,
    pub last_used: Instant,
}

impl Flow {
    pub fn new(sequence: SeqNum, last_hop: LastHop, now: Instant) -> Self {
        Flow {
            seen: position::first(sequence),
            copies: SeqMap::default(),
            acks: AckTrack::default(),
            latest_ack: None,
            expected: 0,
            last_hop,
            timed: None,
            backoff: 0,
            is_backoff_new: false,
            deadline: None,
            memory: 0,
            timer: None,
            last_used: now,
        }
    }

    pub fn copies(&self) -> usize {
        self.copies.len()
    }

    /// snoop_data(): a packet of the sender's, with the memory that copies may still take.
    pub fn on_data(&mut self, packet: &Packet, tcp: &TcpHeader, limits: &Limits, memory_left: u64) -> DataVerdict {
        let start = position::near(self.seen, tcp.sequence);
        let end = start + Position::from(packet.sequence_len());
        if self.acks.highest().is_some_and(|highest| end <= highest) {
            // The acknowledgment may have been lost on its way to the sender: say it again.
            let answer = self.latest_ack.clone().filter(|_| packet.payload_len() > KEEP_ALIVE);
            return answer.map_or(DataVerdict::Forward, DataVerdict::Answer);
        }
        // Below what was seen it is a retransmission, or was overtaken; the paper takes both alike.
        let by_sender = start < self.seen;
        self.seen = self.seen.max(end);
        if by_sender {
            self.timed = None;
        }
        let cost = cost(packet);
        // A full cache keeps what it has: the oldest packets are asked for first.
        let is_known = self.copies.get(start).is_some();
        if !is_known && (self.copies.len() >= usize::from(limits.cache) || cost > memory_left) {
            return DataVerdict::Forward;
        }
        self.memory += cost;
        let copy = Copy { packet: packet.clone(), sent_at: None, by_sender, repairs: 0 };
        if let Some(old) = self.copies.insert(start..end, copy) {
            self.memory -= self::cost(&old.packet);
        }
        DataVerdict::Forward
    }

    /// The queue had no room for the packet at `sequence`: it is congestion, not for us to repair.
    pub fn on_queue_drop(&mut self, sequence: SeqNum) {
        let start = position::near(self.seen, sequence);
        if let Some(copy) = self.copies.remove(start) {
            self.memory -= cost(&copy.packet);
        }
    }

    /// The packet at `sequence`, or its repair, left for the link.
    pub fn on_departure(&mut self, sequence: SeqNum, now: Instant, limits: &Limits) {
        let start = position::near(self.seen, sequence);
        let timeout = self.timeout(limits);
        let Some((range, copy)) = self.copies.overlapping_mut(start..start + 1).next() else { return };
        if copy.sent_at.is_none() && !copy.by_sender && self.timed.is_none() {
            self.timed = Some((range.end, now));
        }
        copy.sent_at = Some(now);
        self.deadline.get_or_insert(now.saturating_add(timeout));
    }

    /// snoop_ack(): an acknowledgment off the link.
    pub fn on_ack(&mut self, packet: &Packet, tcp: &TcpHeader, now: Instant, limits: &Limits) -> AckVerdict {
        let (kind, number) = self.acks.classify(packet, tcp, self.seen);
        if kind == Kind::New {
            self.on_progress(number, now, limits);
        }
        if acks::is_pure(packet, tcp) && self.acks.highest() == Some(number) {
            self.latest_ack = Some(packet.clone());
        }
        if kind == Kind::Duplicate { self.on_duplicate(number, now, limits) } else { AckVerdict::Pass }
    }

    fn on_progress(&mut self, number: Position, now: Instant, limits: &Limits) {
        while self.copies.first().is_some_and(|(range, _)| range.end <= number) {
            if let Some((_, copy)) = self.copies.pop_first() {
                self.memory -= cost(&copy.packet);
            }
        }
        self.copies.shrink();
        if let Some((end, sent_at)) = self.timed
            && end <= number
        {
            self.last_hop.on_sample(now.saturating_since(sent_at));
            self.timed = None;
            self.is_backoff_new = false;
        }
        if !core::mem::take(&mut self.is_backoff_new) {
            self.backoff = 0;
        }
        self.expected = 0;
        let has_sent = self.copies.iter().any(|(_, copy)| copy.sent_at.is_some());
        self.deadline = has_sent.then(|| now.saturating_add(self.timeout(limits)));
    }

    fn on_duplicate(&mut self, number: Position, now: Instant, limits: &Limits) -> AckVerdict {
        let Some((start, copy)) = self.copy_at(number) else {
            // Lost before it came here: the sender must know.
            return AckVerdict::Pass;
        };
        let Some(sent_at) = copy.sent_at.filter(|_| !copy.by_sender) else {
            return AckVerdict::Pass;
        };
        if self.expected > 0 {
            self.expected -= 1;
            return AckVerdict::Suppress;
        }
        // Unexpected: the packet was lost, or its repair was, because something sent later arrived.
        let later = self.copies.iter().filter(|(_, copy)| copy.sent_at.is_some_and(|at| at > sent_at)).count();
        match self.repair(start, limits) {
            Some(packet) => {
                self.expected = (later as u32).saturating_sub(1);
                self.restart(now, limits);
                AckVerdict::Repair(packet)
            }
            None => AckVerdict::Pass,
        }
    }

    /// The local timer ran out: the oldest packet again, whoever sent it last.
    pub fn handle_timeout(&mut self, now: Instant, limits: &Limits) -> Option<Packet> {
        self.deadline = None;
        let number = self.acks.highest().or_else(|| self.copies.first().map(|(range, _)| range.start))?;
        let (start, copy) = self.copy_at(number)?;
        copy.sent_at?;
        let packet = self.repair(start, limits)?;
        self.backoff = (self.backoff + 1).min(MAX_BACKOFF);
        self.is_backoff_new = true;
        self.expected = 0;
        self.restart(now, limits);
        Some(packet)
    }

    /// The copy that holds the byte at `number`, and where it begins.
    fn copy_at(&mut self, number: Position) -> Option<(Position, &Copy)> {
        self.copies.overlapping_mut(number..number + 1).next().map(|(range, copy)| (range.start, &*copy))
    }

    fn repair(&mut self, start: Position, limits: &Limits) -> Option<Packet> {
        let (_, copy) = self.copies.overlapping_mut(start..start + 1).next()?;
        if copy.repairs >= limits.tries {
            return None;
        }
        copy.repairs += 1;
        let packet = copy.packet.clone();
        self.timed = None;
        Some(packet)
    }

    fn restart(&mut self, now: Instant, limits: &Limits) {
        self.deadline = Some(now.saturating_add(self.timeout(limits)));
    }

    fn timeout(&self, limits: &Limits) -> airtcp_core::Duration {
        self.last_hop.timeout(limits.min_timeout) * (1 << self.backoff)
    }
}
