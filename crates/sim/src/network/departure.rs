//! How packets left the node that they are from. Mostly the next one goes the same way: routes and elements stay where they are once
//! packets are sent.

use crate::index::{ElementId, Hop, NodeId};
use airtcp_core::{IpHeader, Packet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// How a packet left.
#[derive(Clone, Copy, Debug)]
pub struct Departure {
    ends: Ends,
    pub goal: NodeId,
    pub hop: Hop,
    /// The element that takes it before.
    pub before: Option<ElementId>,
}

/// From where to where it was, apart by family, so that one look at it tells of both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ends {
    V4([Ipv4Addr; 2]),
    V6([Ipv6Addr; 2]),
}

impl Departure {
    /// That of a packet with such a header, to `goal`.
    pub fn new(ip: &IpHeader, goal: NodeId, hop: Hop, before: Option<ElementId>) -> Option<Departure> {
        let ends = match (ip.source, ip.destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => Ends::V4([source, destination]),
            (IpAddr::V6(source), IpAddr::V6(destination)) => Ends::V6([source, destination]),
            _ => return None,
        };
        Some(Departure { ends, goal, hop, before })
    }

    /// Whether a packet leaves like this one: it is from the same end to the same other.
    #[inline]
    fn is_of(&self, packet: &Packet) -> bool {
        let ip = packet.ip();
        match (&self.ends, &ip.source, &ip.destination) {
            (Ends::V4([from, to]), IpAddr::V4(source), IpAddr::V4(destination)) => (source, destination) == (from, to),
            (Ends::V6([from, to]), IpAddr::V6(source), IpAddr::V6(destination)) => (source, destination) == (from, to),
            _ => false,
        }
    }
}

/// So many of an element are known besides the first.
const OTHERS: usize = 16;

/// Those of what an element sends: most hosts have one, and a server one for each client.
#[derive(Debug, Default)]
pub struct Departures {
    /// To where the first packet went.
    pub first: Option<Departure>,
    /// To elsewhere, each where its goal has it be.
    others: Option<Box<[Option<Departure>; OTHERS]>>,
}

impl Departures {
    /// How such a packet left, if one did.
    #[inline]
    pub fn of(&self, packet: &Packet) -> Option<&Departure> {
        match &self.first {
            Some(first) if first.is_of(packet) => Some(first),
            _ => self.among_others(packet),
        }
    }

    #[inline]
    fn among_others(&self, packet: &Packet) -> Option<&Departure> {
        let place = place_of(&packet.ip().destination);
        self.others.as_ref()?[place].as_ref().filter(|other| other.is_of(packet))
    }

    /// A packet leaves so.
    pub fn note(&mut self, departure: Departure, packet: &Packet) {
        if self.first.is_none() {
            self.first = Some(departure);
        } else {
            self.others.get_or_insert_default()[place_of(&packet.ip().destination)] = Some(departure);
        }
    }
}

/// By the node's number: see [`crate::address`].
#[inline]
fn place_of(destination: &IpAddr) -> usize {
    let number = match destination {
        IpAddr::V4(v4) => v4.to_bits() >> 8,
        IpAddr::V6(v6) => (v6.to_bits() >> 16) as u32,
    };
    number as usize % OTHERS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::{Family, of_node};
    use crate::index::PipeId;
    use bytes::Bytes;

    #[test]
    fn each_packet_leaves_as_one_like_it_did_and_none_as_another() {
        for family in [Family::V4, Family::V6] {
            let node = |number: usize| of_node(number.into(), family);
            let packet = |from, to| Packet::opaque(node(from), node(to), 17, Bytes::new());
            let mut departures = Departures::default();
            // The last two have the same place.
            for to in [7, 1, 2, 18] {
                let packet = packet(0, to);
                assert!(departures.of(&packet).is_none());
                let departure = Departure::new(packet.ip(), to.into(), Hop::Wire(PipeId::from(to)), None).unwrap();
                departures.note(departure, &packet);
                assert_eq!(departures.of(&packet).map(|known| known.goal), Some(to.into()));
            }
            let known = [7, 1, 2, 18].map(|to| departures.of(&packet(0, to)).is_some());
            assert_eq!(known, [true, true, false, true]);
            assert!(departures.of(&packet(3, 7)).is_none() && departures.of(&packet(3, 1)).is_none());
        }
    }
}
