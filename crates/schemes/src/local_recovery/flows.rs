//! Which packet another one goes behind: the one before it in its flow, as long as the other end may not have that one.

use crate::position::Position;
use airtcp_core::packet::protocol;
use airtcp_core::{FlowKey, Packet, Rng};
use alloc::boxed::Box;
use alloc::vec;
use core::hash::{Hash, Hasher};
use siphasher::sip::SipHasher13;

/// Flows that are told apart. Two that share a place wait for each other, which costs time and nothing else.
pub(super) const PLACES: usize = 4096;
/// Memory of the table.
pub(super) const MEMORY: u64 = (PLACES * size_of::<Position>()) as u64;

/// Classes whose packets never wait: expedited forwarding (RFC 3246) and voice (RFC 5865). A late packet of theirs is of
/// no more use than a lost one.
const NEVER_HELD: [u8; 2] = [46, 44];

/// Shorter packets that are not TCP do not wait either, in bytes: acknowledgments inside QUIC (RFC 9000) or a tunnel,
/// voice that is not marked, DNS. The next acknowledgment says what a late one says, and 128 bytes hold a
/// segment without content inside WireGuard and IPsec.
const SHORT: u32 = 160;

/// True for a packet that need not come behind those before it.
fn is_free(packet: &Packet) -> bool {
    is_alone(packet) || is_ack(packet)
}

/// True for a packet of voice, or a short one of anything but TCP: it never waits for those before it.
pub(super) fn is_alone(packet: &Packet) -> bool {
    NEVER_HELD.contains(&packet.ip().dscp()) || packet.tcp().is_none() && packet.wire_len() < SHORT
}

/// True for an acknowledgment of TCP that carries nothing.
fn is_ack(packet: &Packet) -> bool {
    packet.tcp().is_some_and(|tcp| packet.sequence_len() == 0 && !tcp.flags.rst())
}

/// See the module.
#[derive(Debug)]
pub(super) struct Flows {
    key: (u64, u64),
    last: Box<[Position]>,
}

/// Where it stands which packet of a flow was the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place(u64);

impl Place {
    /// Its number, below [`PLACES`].
    pub fn index(self) -> usize {
        self.0 as usize % PLACES
    }

    /// Tells flows apart that share a number.
    pub fn tag(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

impl Flows {
    /// No flow is known.
    pub fn new(rng: &mut Rng) -> Flows {
        Flows { key: (rng.next_u64(), rng.next_u64()), last: vec![0; PLACES].into() }
    }

    /// The place of the packet's flow, if it has to come behind those before it.
    pub fn find(&self, packet: &Packet) -> Option<Place> {
        (!is_free(packet)).then(|| self.place(packet))
    }

    /// The place of a flow of TCP, if the packet is nothing but an acknowledgment in it.
    pub fn of_ack(&self, packet: &Packet) -> Option<Place> {
        is_ack(packet).then(|| self.place(packet))
    }

    /// The last packet of the flow.
    pub fn last(&self, place: Place) -> Option<Position> {
        Some(self.last[place.index()]).filter(|last| *last > 0)
    }

    /// This one is the last from now on.
    pub fn set_last(&mut self, place: Place, sequence: Position) {
        self.last[place.index()] = sequence;
    }

    /// By what keeps order: a connection's packets, those of a pair of ports, those of a security association; else those
    /// of a pair of addresses. Fragments have no ports, all but the first.
    pub fn place(&self, packet: &Packet) -> Place {
        if let Some(flow) = packet.flow() {
            return self.place_of(&flow);
        }
        let mut hasher = self.hasher();
        let ip = packet.ip();
        (ip.source, ip.destination).hash(&mut hasher);
        if !ip.is_fragment {
            let payload = packet.payload_bytes().unwrap_or_default();
            let names = match ip.protocol {
                protocol::UDP | SCTP | DCCP | UDP_LITE | ESP => payload.get(..4),
                AH => payload.get(4..8),
                _ => None,
            };
            (ip.protocol, names).hash(&mut hasher);
        }
        Place(hasher.finish())
    }

    /// The place of what goes the other way in the packet's connection of TCP.
    pub fn way_back(&self, packet: &Packet) -> Option<Place> {
        packet.flow().map(|flow| self.place_of(&flow.reversed()))
    }

    pub(super) fn place_of(&self, flow: &FlowKey) -> Place {
        let mut hasher = self.hasher();
        flow.hash(&mut hasher);
        Place(hasher.finish())
    }

    fn hasher(&self) -> SipHasher13 {
        SipHasher13::new_with_keys(self.key.0, self.key.1)
    }
}

const DCCP: u8 = 33;
const ESP: u8 = 50;
const AH: u8 = 51;
const SCTP: u8 = 132;
const UDP_LITE: u8 = 136;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hop::testing::{ack, data, opaque, syn};
    use core::net::{IpAddr, Ipv4Addr};
    use std::vec::Vec;

    /// A packet that begins like this and is not short.
    fn between(protocol: u8, begin: &[u8]) -> Packet {
        let address = |last| IpAddr::V4(Ipv4Addr::new(192, 0, 2, last));
        let payload: Vec<u8> = begin.iter().copied().chain([0; SHORT as usize]).collect();
        Packet::opaque(address(1), address(2), protocol, payload.into())
    }

    /// The packet leaves with this number; the one that it goes behind.
    fn add(flows: &mut Flows, packet: &Packet, sequence: Position) -> Option<Position> {
        let place = flows.find(packet)?;
        let before = flows.last(place);
        flows.set_last(place, sequence);
        before
    }

    #[test]
    fn flows_are_told_apart_by_ports_or_what_stands_for_them() {
        let mut flows = Flows::new(&mut Rng::derive(1, "flows"));
        let packets = [
            data(0),
            opaque(500),
            between(protocol::UDP, &[0, 1, 0, 2, 9]),
            between(protocol::UDP, &[0, 1, 0, 3, 9]),
            between(ESP, &[0, 0, 0, 7]),
            between(ESP, &[0, 0, 0, 8]),
            between(AH, &[4, 0, 0, 0, 0, 0, 0, 8]),
            between(47, &[0, 1]),
        ];
        for (n, packet) in packets.iter().enumerate() {
            assert_eq!(add(&mut flows, packet, 10 + n as Position), None, "packet {n} has no one before it");
        }
        for (n, packet) in packets.iter().enumerate() {
            assert_eq!(add(&mut flows, packet, 20), Some(10 + n as Position));
        }
    }

    #[test]
    fn what_carries_nothing_is_an_acknowledgment_of_its_flow() {
        let flows = Flows::new(&mut Rng::derive(1, "flows"));
        assert_eq!(flows.of_ack(&ack()), flows.find(&data(0)));
        assert!(flows.of_ack(&ack()).is_some() && flows.find(&ack()).is_none(), "and never waits");
        assert!([data(0), syn(), opaque(60)].iter().all(|packet| flows.of_ack(packet).is_none()));
    }

    #[test]
    fn voice_never_waits_and_nobody_waits_for_it() {
        let mut flows = Flows::new(&mut Rng::derive(1, "flows"));
        let mut voice = opaque(500);
        voice.set_traffic_class(46 << 2);
        assert_eq!(
            (add(&mut flows, &opaque(500), 5), add(&mut flows, &voice, 6), add(&mut flows, &opaque(500), 7)),
            (None, None, Some(5))
        );
    }
}
