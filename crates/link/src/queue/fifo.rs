//! Packets in order of arrival, each with the time since which it waits.

use airtcp_core::{Backlog, Instant, Packet};
use alloc::collections::VecDeque;

#[derive(Debug, Default)]
pub(super) struct Fifo {
    packets: VecDeque<Waiting>,
    bytes: u64,
    memory: usize,
}

#[derive(Debug)]
struct Waiting {
    since: Instant,
    packet: Packet,
}

impl Fifo {
    pub(super) fn push(&mut self, now: Instant, packet: Packet) {
        self.bytes += u64::from(packet.wire_len());
        self.memory += packet.memory();
        self.packets.push_back(Waiting { since: now, packet });
    }

    /// The oldest packet and since when it waited.
    pub(super) fn pop(&mut self) -> Option<(Instant, Packet)> {
        let Waiting { since, packet } = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.wire_len());
        self.memory -= packet.memory();
        Some((since, packet))
    }

    /// The packet that leaves next, and since when it waits.
    pub(super) fn oldest(&self) -> Option<(Instant, &Packet)> {
        self.packets.front().map(|waiting| (waiting.since, &waiting.packet))
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
