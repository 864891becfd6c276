//! A's FIFO buffer in front of the link (GSN-3, Fig. 2): drop-tail, its limit in packets, emptied at
//! the link's rate, so that "sent" is known. A repair enters at the head or, as an option, at the tail
//! (GSN-U16).

use crate::gsnoop::settings::RepairPlace;
use crate::pacer::Pacer;
use airtcp_core::{Backlog, Context, Instant, Packet, Port, Rate};
use alloc::collections::VecDeque;

/// The buffer and the link's clock.
#[derive(Debug)]
pub(super) struct Fifo {
    pacer: Pacer,
    limit: usize,
    byte_limit: u64,
    waiting: VecDeque<Waiting>,
    /// Repairs at the head.
    repairs_ahead: usize,
    bytes: u64,
    bytes_max: u64,
    /// The port refused a packet; wait for it instead of the clock.
    blocked: bool,
}

#[derive(Debug)]
struct Waiting {
    packet: Packet,
    is_repair: bool,
}

/// A packet that has left for the link.
pub(super) struct Sent {
    pub copy: Packet,
    pub is_repair: bool,
}

impl Fifo {
    /// A buffer for `limit` packets and, at most, `byte_limit` bytes.
    pub fn new(rate: Option<Rate>, limit: usize, byte_limit: u64) -> Self {
        Fifo {
            pacer: Pacer::new(rate),
            limit: limit.max(1),
            byte_limit,
            waiting: VecDeque::new(),
            repairs_ahead: 0,
            bytes: 0,
            bytes_max: 0,
            blocked: false,
        }
    }

    /// Takes a packet to the tail; gives it back when the buffer is full.
    pub fn push(&mut self, now: Instant, packet: Packet) -> Result<(), Packet> {
        self.push_back(now, Waiting { packet, is_repair: false })
    }

    /// Takes a repair; gives it back when there is no room. At the head as many may wait as the buffer holds,
    /// beside those in it.
    pub fn push_repair(&mut self, now: Instant, packet: Packet, place: RepairPlace) -> Result<(), Packet> {
        let repair = Waiting { packet, is_repair: true };
        if place == RepairPlace::Tail {
            return self.push_back(now, repair);
        }
        let len = u64::from(repair.packet.wire_len());
        if self.repairs_ahead >= self.limit || self.bytes + len > self.byte_limit {
            return Err(repair.packet);
        }
        self.begin_if_idle(now);
        self.waiting.insert(self.repairs_ahead, repair);
        self.repairs_ahead += 1;
        self.note_bytes(len);
        Ok(())
    }

    fn push_back(&mut self, now: Instant, entry: Waiting) -> Result<(), Packet> {
        let len = u64::from(entry.packet.wire_len());
        let is_full = self.waiting.len() - self.repairs_ahead >= self.limit;
        if is_full || self.bytes + len > self.byte_limit {
            return Err(entry.packet);
        }
        self.begin_if_idle(now);
        self.waiting.push_back(entry);
        self.note_bytes(len);
        Ok(())
    }

    fn begin_if_idle(&mut self, now: Instant) {
        if self.waiting.is_empty() {
            self.pacer.begin(now);
        }
    }

    fn note_bytes(&mut self, len: u64) {
        self.bytes += len;
        self.bytes_max = self.bytes_max.max(self.bytes);
    }

    /// Sends the next packet if the link has time for it.
    pub fn send_next(&mut self, cx: &mut Context<'_>) -> Option<Sent> {
        if self.blocked || self.pacer.free_at() > cx.now() {
            return None;
        }
        let Waiting { packet, is_repair } = self.waiting.pop_front()?;
        let len = packet.wire_len();
        let copy = packet.clone();
        if let Err(packet) = cx.try_send(Port::LINK, packet) {
            self.blocked = true;
            self.waiting.push_front(Waiting { packet, is_repair });
            return None;
        }
        self.repairs_ahead = self.repairs_ahead.saturating_sub(1);
        self.bytes -= u64::from(len);
        self.pacer.charge(cx.now(), len);
        Some(Sent { copy, is_repair })
    }

    /// Accounts for bytes that take the link beside this buffer.
    pub fn charge(&mut self, now: Instant, bytes: u32) {
        self.pacer.charge(now, bytes);
    }

    /// The port has room again.
    pub fn on_ready(&mut self) {
        self.blocked = false;
    }

    /// When the next packet may leave.
    pub fn poll_timeout(&self) -> Option<Instant> {
        (!self.blocked && !self.waiting.is_empty()).then_some(self.pacer.free_at())
    }

    /// True when nothing waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// What waits.
    pub fn backlog(&self) -> Backlog {
        Backlog { packets: self.waiting.len(), bytes: self.bytes }
    }

    /// Most bytes that ever waited.
    pub fn bytes_max(&self) -> u64 {
        self.bytes_max
    }

    /// The bounds of both ends.
    pub fn check(&self) -> Result<(), &'static str> {
        let tail = self.waiting.len() - self.repairs_ahead;
        if tail > self.limit || self.repairs_ahead > self.limit || self.bytes > self.byte_limit {
            return Err("the FIFO before the link is longer than its limit");
        }
        Ok(())
    }
}
