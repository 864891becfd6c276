//! The simulator's side of the element contract.

use crate::address;
use crate::control;
use crate::dot11::Tracked;
use crate::element::{Exit, Place};
use crate::events::Kind;
use crate::index::{AirHopId, ElementId, Hop, InterfaceId, NodeId, PipeId};
use crate::network::{Delivery, Network};
use airtcp_core::control::{MESSAGE_MAX, overhead};
use airtcp_core::{Backlog, DropReason, Instant, Io, Outcome, Packet, Peer, Port, Token, TxStatus};
use std::collections::VecDeque;

/// Work that waits until the current call has returned, so that no element is re-entered.
#[derive(Debug)]
pub enum Work {
    /// A packet that an element sent to another one.
    Deliver(Delivery),
    /// A message of ours goes on by its destination, beside the elements.
    ForwardControl { node: NodeId, packet: Packet },
    /// A report on a tracked packet.
    Status { element: ElementId, status: TxStatus },
}

/// One element's io during one call.
pub struct ElementIo<'a, 't> {
    pub now: Instant,
    pub place: &'a mut Place,
    pub network: &'a mut Network<'t>,
    pub work: &'a mut VecDeque<Work>,
}

impl ElementIo<'_, '_> {
    /// The hop behind a port; any of an access point's, which share one interface.
    fn hop(&self, port: Port) -> Option<Hop> {
        match self.place.exit {
            Exit::Hop(hop) if port == Port::LINK => Some(hop),
            Exit::Stations(wlan) if port == Port::LINK => {
                Some(Hop::Air(self.network.wlans[wlan].air_hop(InterfaceId::AP, InterfaceId::FIRST)))
            }
            _ => None,
        }
    }

    /// The hop that a packet takes through a port; `None` if the node forwards it.
    fn hop_of(&self, port: Port, packet: &Packet) -> Option<Hop> {
        let Exit::Stations(_) = self.place.exit else { return self.hop(port) };
        if port != Port::LINK {
            return None;
        }
        let to = address::node_of(&packet.ip().destination)?;
        self.network.routes.towards(self.place.node, to).filter(|hop| matches!(hop, Hop::Air(_)))
    }

    /// Sends a packet on by its destination.
    #[inline(always)]
    fn forward(&mut self, packet: Packet) -> Option<Delivery> {
        let Place { node, index, departures, .. } = &mut *self.place;
        match departures.of(&packet) {
            Some(departure) => self.network.depart(self.now, departure, packet),
            None => self.network.forward(self.now, *node, Some(*index), departures, packet),
        }
    }

    /// Sends a packet into a link; tells what becomes of it as far as a link knows.
    fn send_by_wire(&mut self, pipe_id: PipeId, packet: Packet, token: Option<Token>) -> Result<(), Packet> {
        let pipe = &mut self.network.pipes[pipe_id];
        let taken = match pipe.try_send(self.now, packet, &mut self.network.tap) {
            Ok(taken) => taken,
            Err(packet) => {
                if self.place.refused.replace(Port::LINK).is_none() {
                    let at = pipe.link.next_departure(self.now).unwrap_or(self.now);
                    let ready = self.network.sources.of(Kind::Ready(self.place.index));
                    self.network.queue.set(ready, at, self.network.since);
                }
                return Err(packet);
            }
        };
        self.network.schedule(pipe_id);
        self.tell(token, if taken { Outcome::Sent } else { Outcome::Dropped });
        Ok(())
    }

    /// Gives a packet to an interface of a cell, which tells later what became of it.
    fn send_by_air(&mut self, air_hop: AirHopId, packet: Packet, token: Option<Token>) -> Result<(), Packet> {
        let (cell, from) = self.network.interface(air_hop);
        if cell.refuses(from, packet.wire_len()) {
            // The cell says when there is room.
            self.place.refused = Some(Port::LINK);
            return Err(packet);
        }
        let tracked = token.map(|token| Tracked { element: self.place.index, token });
        if !self.network.send_by_air(self.now, air_hop, packet, tracked) {
            self.tell(token, Outcome::Dropped);
        }
        Ok(())
    }

    fn tell(&mut self, token: Option<Token>, outcome: Outcome) {
        if let Some(token) = token {
            let status = TxStatus { token, outcome, tries: 1, at: self.now };
            self.work.push_back(Work::Status { element: self.place.index, status });
        }
    }
}

impl Io for ElementIo<'_, '_> {
    fn room(&mut self, port: Port) -> usize {
        match self.hop(port) {
            None => usize::MAX,
            Some(Hop::Wire(pipe)) => self.network.pipes[pipe].link.room(self.now),
            Some(Hop::Air(air_hop)) => {
                let (cell, from) = self.network.interface(air_hop);
                cell.room(from)
            }
        }
    }

    fn backlog(&mut self, port: Port) -> Backlog {
        match self.hop(port) {
            None => Backlog::default(),
            Some(Hop::Wire(pipe)) => self.network.pipes[pipe].link.backlog(self.now),
            Some(Hop::Air(air_hop)) => {
                let (cell, from) = self.network.interface(air_hop);
                cell.backlog(from)
            }
        }
    }

    fn try_send(&mut self, port: Port, packet: Packet, token: Option<Token>) -> Result<(), Packet> {
        let hop = if self.place.exit == Exit::Node { None } else { self.hop_of(port, &packet) };
        match hop {
            None => {
                if let Some(delivery) = self.forward(packet) {
                    self.work.push_back(Work::Deliver(delivery));
                }
                self.tell(token, Outcome::Sent);
            }
            Some(Hop::Wire(pipe)) => self.send_by_wire(pipe, packet, token)?,
            Some(Hop::Air(air_hop)) => self.send_by_air(air_hop, packet, token)?,
        }
        Ok(())
    }

    fn set_silent(&mut self, port: Port, is_silent: bool) {
        if let Some(Hop::Air(air_hop)) = self.hop(port) {
            let (cell, interface) = self.network.interface(air_hop);
            cell.set_silent(interface, is_silent);
        }
    }

    fn control_overhead(&self) -> u32 {
        overhead(false, false)
    }

    fn send_control(&mut self, peer: Peer, message: &[u8]) {
        let Some((element, node)) = self.place.peer else { return };
        if peer == Peer::OTHER_END && message.len() <= MESSAGE_MAX {
            let packet = control::packet(self.place.node, node, element, message);
            self.work.push_back(Work::ForwardControl { node: self.place.node, packet });
        }
    }

    fn keep_spare(&mut self, packet: Packet) {
        self.network.spares.keep(packet);
    }

    fn take_spare(&mut self) -> Option<Packet> {
        self.network.spares.take()
    }

    fn show_discarded(&mut self, packet: &Packet, reason: DropReason) {
        if let Some(tap) = self.network.tap.get() {
            tap.on_dropped(self.now, &self.place.name(&self.network.node_names), packet, reason);
        }
    }
}
