//! What happens between a node, its 802.11 interface and the medium.

use super::Network;
use crate::air::AirHop;
use crate::dot11::{Bss, Entry, Report, Tracked};
use crate::element::PlacedElement;
use crate::events::Kind;
use airtcp_core::{Instant, Packet};

impl Network<'_> {
    /// The cell of a hop in the air, and the interface there that it begins at.
    pub fn interface(&mut self, air_hop: usize) -> (&mut Bss, usize) {
        let AirHop { cell, from, .. } = self.air_hops[air_hop];
        (&mut self.wlans[cell].bss, from)
    }

    /// Gives a packet to the interface that a hop begins at. False if it was dropped.
    pub fn send_by_air(&mut self, now: Instant, air_hop: usize, packet: Packet, tracked: Option<Tracked>) -> bool {
        let AirHop { cell: index, from, to, direction, .. } = self.air_hops[air_hop];
        if let Some(tap) = self.tap.get() {
            tap.on_sent(now, direction, &packet);
        }
        let mut reports = Vec::new();
        let taken = self.wlans[index].bss.send(now, from, Entry { packet, to: to as u32, tracked }, &mut reports);
        for report in reports {
            self.show_lost(now, index, &report);
        }
        self.schedule_cell(index);
        taken
    }

    /// An interface has room again: those whom it refused are told in a moment.
    pub fn set_ready(&mut self, index: usize, from: usize, elements: &[PlacedElement], now: Instant) {
        let hops = self.air_hops.iter().filter(|hop| (hop.cell, hop.from) == (index, from));
        let waiting: Vec<usize> = hops.filter_map(|hop| hop.before).collect();
        for element in waiting.into_iter().filter(|element| elements[*element].refused.is_some()) {
            self.queue.set(self.sources.of(Kind::Ready(element)), now);
        }
    }

    /// Shows the tap a packet that a cell dropped.
    pub fn show_lost(&mut self, now: Instant, index: usize, report: &Report) {
        if let (Some(tap), Report::Dropped { from, to, packet, reason }) = (self.tap.get(), report) {
            let wlan = &self.wlans[index];
            tap.on_lost(now, self.air_hops[wlan.air_hop(*from, *to)].direction, packet, *reason);
        }
    }

    /// Makes sure that the queue has an event at the next end of an exchange.
    pub fn schedule_cell(&mut self, index: usize) {
        let at = self.wlans[index].bss.next_event().unwrap_or(Instant::MAX);
        let source = self.sources.of(Kind::Cell(index));
        if at != self.queue.at(source) {
            self.queue.set(source, at);
        }
    }
}
