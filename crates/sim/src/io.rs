//! The simulator's side of the element contract.

use crate::address::{self, Family};
use crate::dot11::Tracked;
use crate::element::{Exit, Place};
use crate::events::Kind;
use crate::network::{Meeting, Network, Way};
use airtcp_core::{
    Backlog, CreateReason, DropReason, Instant, Io, Outcome, Packet, Peer, Port, Token, TxStatus, packet::protocol,
};
use bytes::{BufMut, Bytes, BytesMut};
use std::collections::VecDeque;

/// Work that waits until the current call has returned, so that no element is re-entered.
#[derive(Debug)]
pub enum Work {
    /// A packet that an element sent to another one.
    Deliver(Meeting),
    /// A message of ours goes on by its destination, beside the elements.
    ForwardControl { node: usize, packet: Packet },
    /// A report on a tracked packet.
    Status { element: usize, status: TxStatus },
}

/// Bytes in front of a message: UDP header (8), then element (4), peer (1), padding to the 16
/// bytes that the envelope of the live control channel takes.
const ENVELOPE: usize = 8 + 16;
/// UDP port of the control channel. Not 4791, where gateways listen: Wireshark takes that for RoCEv2.
pub const CONTROL_PORT: u16 = 47_910;

/// One element's io during one call.
pub struct ElementIo<'a, 't> {
    pub now: Instant,
    pub place: &'a Place,
    pub refused: &'a mut Option<Port>,
    pub network: &'a mut Network<'t>,
    pub work: &'a mut VecDeque<Work>,
    pub peer_node: Option<usize>,
}

impl ElementIo<'_, '_> {
    /// The way behind a port; any of an access point's, which share one interface.
    fn way(&self, port: Port) -> Option<Way> {
        match self.place.exit {
            Exit::Way(number) if port == Port::LINK => Some(self.network.way(number)),
            Exit::Stations(site) if port == Port::LINK => Some(Way::Air(self.network.sites[site].airway(0, 1))),
            _ => None,
        }
    }

    /// The way that a packet takes through a port; `None` if the node forwards it.
    fn way_of(&self, port: Port, packet: &Packet) -> Option<Way> {
        let Exit::Stations(_) = self.place.exit else { return self.way(port) };
        let to = address::node_of(&packet.ip().destination).filter(|_| port == Port::LINK)?;
        let number = self.network.routes.towards(self.place.node, to)?;
        Some(self.network.way(number)).filter(|way| matches!(way, Way::Air(_)))
    }

    /// Sends a packet into a link; tells what becomes of it as far as a link knows.
    fn send_by_wire(&mut self, index: usize, packet: Packet, token: Option<Token>) -> Result<(), Packet> {
        let pipe = &mut self.network.pipes[index];
        let taken = match pipe.try_send(self.now, packet, &mut self.network.tap) {
            Ok(taken) => taken,
            Err(packet) => {
                if self.refused.replace(Port::LINK).is_none() {
                    let at = pipe.link.next_departure(self.now).unwrap_or(self.now);
                    let ready = self.network.sources.of(Kind::Ready(self.place.index));
                    self.network.queue.set(ready, at);
                }
                return Err(packet);
            }
        };
        self.network.schedule(index);
        self.tell(token, if taken { Outcome::Sent } else { Outcome::Dropped });
        Ok(())
    }

    /// Gives a packet to an interface of a cell, which tells later what became of it.
    fn send_by_air(&mut self, airway: usize, packet: Packet, token: Option<Token>) -> Result<(), Packet> {
        let (cell, from) = self.network.interface(airway);
        if cell.refuses(from, packet.wire_len()) {
            // The cell says when there is room.
            *self.refused = Some(Port::LINK);
            return Err(packet);
        }
        let tracked = token.map(|token| Tracked { element: self.place.index, token });
        if !self.network.send_by_air(self.now, airway, packet, tracked) {
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
        match self.way(port) {
            None => usize::MAX,
            Some(Way::Wire(pipe)) => self.network.pipes[pipe].link.room(self.now),
            Some(Way::Air(airway)) => {
                let (cell, from) = self.network.interface(airway);
                cell.room(from)
            }
        }
    }

    fn backlog(&mut self, port: Port) -> Backlog {
        match self.way(port) {
            None => Backlog::default(),
            Some(Way::Wire(pipe)) => self.network.pipes[pipe].link.backlog(self.now),
            Some(Way::Air(airway)) => {
                let (cell, from) = self.network.interface(airway);
                cell.backlog(from)
            }
        }
    }

    fn try_send(&mut self, port: Port, packet: Packet, token: Option<Token>) -> Result<(), Packet> {
        match self.way_of(port, &packet) {
            None => {
                let meeting = self.network.forward(self.now, self.place.node, Some(self.place.index), packet);
                self.work.extend(meeting.map(Work::Deliver));
                self.tell(token, Outcome::Sent);
            }
            Some(Way::Wire(pipe)) => self.send_by_wire(pipe, packet, token)?,
            Some(Way::Air(airway)) => self.send_by_air(airway, packet, token)?,
        }
        Ok(())
    }

    fn set_silent(&mut self, port: Port, is_silent: bool) {
        if let Some(Way::Air(airway)) = self.way(port) {
            let (cell, interface) = self.network.interface(airway);
            cell.set_silent(interface, is_silent);
        }
    }

    fn control_overhead(&self) -> u32 {
        20 + ENVELOPE as u32
    }

    fn send_control(&mut self, peer: Peer, message: &[u8]) {
        let (Some(element), Some(node)) = (self.place.peer, self.peer_node) else { return };
        let packet = control_packet(self.place.node, node, element as u32, peer, message);
        self.work.push_back(Work::ForwardControl { node: self.place.node, packet });
    }

    fn show_discarded(&mut self, packet: &Packet, reason: DropReason) {
        if let Some(tap) = self.network.tap.get() {
            tap.on_dropped(self.now, &self.place.name, packet, reason);
        }
    }
}

fn control_packet(from: usize, to: usize, element: u32, peer: Peer, message: &[u8]) -> Packet {
    let mut payload = BytesMut::with_capacity(ENVELOPE + message.len());
    payload.put_u16(CONTROL_PORT);
    payload.put_u16(CONTROL_PORT);
    payload.put_u16((ENVELOPE + message.len()) as u16);
    payload.put_u16(0);
    payload.put_u32(element);
    payload.put_u8(peer.0);
    payload.put_bytes(0, ENVELOPE - payload.len());
    payload.put_slice(message);
    let (source, destination) = (address::of_node(from, Family::V4), address::of_node(to, Family::V4));
    let mut packet = Packet::opaque(source, destination, protocol::UDP, payload.freeze());
    packet.set_origin(CreateReason::CONTROL);
    packet
}

/// True for a message between boxes of ours.
#[inline]
pub fn is_control(packet: &Packet) -> bool {
    packet.tcp().is_none() && read_control(packet).is_some()
}

/// The element a control packet is for, the peer it names, and the message.
pub fn read_control(packet: &Packet) -> Option<(usize, Peer, Bytes)> {
    if packet.tcp().is_some() || packet.ip().protocol != protocol::UDP {
        return None;
    }
    let payload = packet.payload_bytes()?;
    let head = payload.get(..ENVELOPE)?;
    if head[..2] != CONTROL_PORT.to_be_bytes() {
        return None;
    }
    let element = u32::from_be_bytes([head[8], head[9], head[10], head[11]]);
    Some((element as usize, Peer(head[12]), payload.slice(ENVELOPE..)))
}
