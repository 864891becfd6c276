//! Packets in order of arrival, each with the time since which it waits.

use airtcp_core::{Backlog, Instant, Packet};
use alloc::collections::VecDeque;

/// So many packets are looked at for one that is no repeat.
const MAX_SCANNED: usize = 64;

#[derive(Debug, Default)]
pub(super) struct Fifo {
    packets: VecDeque<Waiting>,
    bytes: u64,
    memory: usize,
}

/// A packet that waits.
#[derive(Debug)]
pub(super) struct Waiting {
    pub since: Instant,
    pub packet: Packet,
    /// Whether it carries what was sent before.
    pub is_repeat: bool,
}

impl Fifo {
    pub(super) fn push(&mut self, now: Instant, packet: Packet, is_repeat: bool) {
        self.bytes += u64::from(packet.wire_len());
        self.memory += packet.memory();
        self.packets.push_back(Waiting { since: now, packet, is_repeat });
    }

    /// The oldest packet.
    pub(super) fn pop(&mut self) -> Option<Waiting> {
        self.remove(0)
    }

    /// The packet that goes where there are too many: the oldest that is no repeat, if one is among the first and is not the newest;
    /// else the oldest.
    pub(super) fn pop_for_room(&mut self) -> Option<Waiting> {
        let older = self.packets.len().saturating_sub(1).min(MAX_SCANNED);
        let first = self.packets.iter().take(older).position(|waiting| !waiting.is_repeat);
        self.remove(first.unwrap_or(0))
    }

    fn remove(&mut self, index: usize) -> Option<Waiting> {
        let waiting = self.packets.remove(index)?;
        self.bytes -= u64::from(waiting.packet.wire_len());
        self.memory -= waiting.packet.memory();
        Some(waiting)
    }

    /// The packet that leaves next.
    pub(super) fn oldest(&self) -> Option<&Waiting> {
        self.packets.front()
    }

    /// Puts `packet` in the place of the newest, behind one more at least, if it covers that.
    ///
    /// # Errors
    /// `packet` itself.
    pub(super) fn replace_newest(
        &mut self,
        packet: Packet,
        covers: impl FnOnce(&Packet, &Packet) -> bool,
    ) -> Result<Packet, Packet> {
        let is_first = self.packets.len() < 2;
        let Some(newest) = self.packets.back_mut().filter(|newest| !is_first && covers(&packet, &newest.packet)) else {
            return Err(packet);
        };
        self.bytes += u64::from(packet.wire_len());
        self.memory += packet.memory();
        let old = core::mem::replace(&mut newest.packet, packet);
        self.bytes -= u64::from(old.wire_len());
        self.memory -= old.memory();
        Ok(old)
    }

    pub(super) fn backlog(&self) -> Backlog {
        Backlog { packets: self.packets.len(), bytes: self.bytes }
    }

    /// Memory of the packets.
    pub(super) fn memory(&self) -> usize {
        self.memory
    }

    pub(super) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }
}
