//! What happens between a node, its 802.11 interface and the medium.

use super::Network;
use crate::address;
use crate::air::{AirHop, Wlan};
use crate::dot11::{Bss, Entry, Report, Tracked};
use crate::element::PlacedElement;
use crate::events::Kind;
use crate::index::{AirHopId, ElementId, InterfaceId, WlanId};
use airtcp_core::{Instant, Packet};
use typed_index_collections::TiSlice;

impl Network<'_> {
    /// The cell of a hop in the air, and the interface there that it begins at.
    pub fn interface(&mut self, air_hop: AirHopId) -> (&mut Bss, InterfaceId) {
        let AirHop { cell, from, .. } = self.air_hops[air_hop];
        (&mut self.wlans[cell].bss, from)
    }

    /// Gives a packet to the interface that a hop begins at. False if it was dropped.
    pub fn send_by_air(&mut self, now: Instant, air_hop: AirHopId, packet: Packet, tracked: Option<Tracked>) -> bool {
        let AirHop { cell, from, to, direction, .. } = self.air_hops[air_hop];
        if let Some(tap) = self.tap.get() {
            tap.on_sent(now, direction, &packet);
        }
        let taken = self.wlans[cell].bss.send(now, from, Entry::new(to, packet, tracked));
        if let Err(report) = &taken {
            self.show_lost(now, cell, report);
        }
        if !self.wlans[cell].is_ending {
            self.schedule_cell(cell);
        }
        taken.is_ok()
    }

    /// Whether a packet is at the access point on its way from one station of a cell to another: its radio passes such packets on, and no
    /// element there sees them.
    pub fn is_bridged(&self, air_hop: AirHopId, packet: &Packet) -> bool {
        let AirHop { cell, from, node, .. } = self.air_hops[air_hop];
        let Wlan { nodes, is_station, .. } = &self.wlans[cell];
        let is_at_access_point = from == InterfaceId::AP || nodes[InterfaceId::AP] == node;
        let ip = packet.ip();
        let is_of_station = |address| address::node_of(address).is_some_and(|end| is_station[end]);
        // The other end of most is behind the access point: that one is looked at first.
        let [other, own] =
            if from == InterfaceId::AP { [&ip.source, &ip.destination] } else { [&ip.destination, &ip.source] };
        is_at_access_point && is_of_station(other) && is_of_station(own)
    }

    /// An interface has room again: those whom it refused are told in a moment.
    pub fn set_ready(
        &mut self,
        cell: WlanId,
        from: InterfaceId,
        elements: &TiSlice<ElementId, PlacedElement>,
        now: Instant,
    ) {
        let hops = self.air_hops.iter().filter(|hop| (hop.cell, hop.from) == (cell, from));
        let waiting: Vec<ElementId> = hops.filter_map(|hop| hop.before).collect();
        for element in waiting.into_iter().filter(|element| elements[*element].place.refused.is_some()) {
            self.queue.set(self.sources.of(Kind::Ready(element)), now, self.since);
        }
    }

    /// Shows the tap a packet that a cell dropped.
    pub fn show_lost(&mut self, now: Instant, cell: WlanId, report: &Report) {
        if let (Some(tap), Report::Dropped { from, to, packet, reason }) = (self.tap.get(), report) {
            let wlan = &self.wlans[cell];
            tap.on_lost(now, self.air_hops[wlan.air_hop(*from, *to)].direction, packet, *reason);
        }
    }

    /// Makes sure that the queue has an event at the next end of an exchange.
    pub fn schedule_cell(&mut self, cell: WlanId) {
        let wlan = &mut self.wlans[cell];
        let at = wlan.bss.next_event().unwrap_or(Instant::MAX);
        if at != wlan.due {
            wlan.due = at;
            self.queue.set(self.sources.of(Kind::Cell(cell)), at, self.since);
        }
    }
}
