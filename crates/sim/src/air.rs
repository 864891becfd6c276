//! The ways through the cells of a network: what happens between a node, its interface and the medium.

use crate::dot11::{Cell, Report, Tracked};
use crate::element::Slot;
use crate::events::Kind;
use crate::network::Network;
use crate::tap::Direction;
use airtcp_core::{Instant, Packet};

/// One direction between an access point and one of its stations.
#[derive(Debug)]
pub struct Airway {
    pub direction: Direction,
    /// Which cell.
    pub cell: usize,
    /// The sender's interface there.
    pub from: usize,
    /// The receiver's.
    pub to: usize,
    /// The receiver.
    pub node: usize,
    /// The scheme element a packet meets before it enters.
    pub before: Option<usize>,
    /// The scheme element a packet meets when it comes out.
    pub after: Option<usize>,
}

/// A cell with its place in the network.
#[derive(Debug)]
pub struct Site {
    /// "wlans.wifi"
    pub name: String,
    pub cell: Cell,
    /// Node of each interface.
    pub nodes: Vec<usize>,
    /// The first of its airways: up and down for each station in turn.
    pub first_airway: usize,
}

impl Site {
    /// The airway from one interface to another, counted among all airways.
    pub fn airway(&self, from: usize, to: usize) -> usize {
        self.first_airway + 2 * (from.max(to) - 1) + usize::from(from == 0)
    }
}

impl Network<'_> {
    /// The cell of an airway, and the interface there that it begins at.
    pub fn interface(&mut self, airway: usize) -> (&mut Cell, usize) {
        let Airway { cell, from, .. } = self.airways[airway];
        (&mut self.sites[cell].cell, from)
    }

    /// Gives a packet to the interface that an airway begins at. False if it was dropped.
    pub fn send_by_air(&mut self, now: Instant, airway: usize, packet: Packet, tracked: Option<Tracked>) -> bool {
        let Airway { cell: index, from, to, direction, .. } = self.airways[airway];
        if let Some(tap) = self.tap.get() {
            tap.on_sent(now, direction, &packet);
        }
        let mut reports = Vec::new();
        let taken = self.sites[index].cell.send(now, from, to, packet, tracked, &mut reports);
        for report in reports {
            self.show_lost(now, index, &report);
        }
        self.schedule_cell(index);
        taken
    }

    /// An interface has room again: those whom it refused are told in a moment.
    pub fn set_ready(&mut self, index: usize, from: usize, elements: &[Slot], now: Instant) {
        let ways = self.airways.iter().filter(|way| (way.cell, way.from) == (index, from));
        let waiting: Vec<usize> = ways.filter_map(|way| way.before).collect();
        for element in waiting.into_iter().filter(|element| elements[*element].refused.is_some()) {
            self.queue.set(self.sources.of(Kind::Ready(element)), now);
        }
    }

    /// Shows the tap a packet that a cell dropped.
    pub fn show_lost(&mut self, now: Instant, index: usize, report: &Report) {
        if let (Some(tap), Report::Dropped { from, to, packet, reason }) = (self.tap.get(), report) {
            let site = &self.sites[index];
            tap.on_lost(now, self.airways[site.airway(*from, *to)].direction, packet, *reason);
        }
    }

    /// Makes sure that the queue has an event at the next end of an exchange.
    pub fn schedule_cell(&mut self, index: usize) {
        let at = self.sites[index].cell.next_event().unwrap_or(Instant::MAX);
        let source = self.sources.of(Kind::Cell(index));
        if at != self.queue.at(source) {
            self.queue.set(source, at);
        }
    }
}
