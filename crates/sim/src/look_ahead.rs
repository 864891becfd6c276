//! Has the processor fetch what the next arrivals at hosts will read, while it handles the one before them.
//!
//! Of a flow an arrival reads some 70 cache lines: the packet, the host, the connection, the link that the answer takes.
//! Among hundreds of flows these have left the near caches when the flow's next packet comes, and each would be waited for.
//! Which packets come next out of a fan is known. Only the time that a run takes depends on what is done here.

use crate::approach::Approach;
use crate::element::{ElementKind, PlacedElement};
use crate::engine::Engine;
use crate::fetch::{fetch, fetch_from};
use crate::index::{ElementId, FanId, Hop, JointId};
use crate::network::{Departure, Network};
use crate::pipe::Onward;
use crate::upcoming::Entry;
use airtcp_core::Packet;

/// With fewer elements (hosts, mostly) all that belongs to them stays in the near caches, and looking ahead would only cost. With
/// 100 hosts nothing was won, with 1,000 a seventh of the time (`airtcp-bench simulate dumbbell`); what is between was not tried.
pub const LEAST_ELEMENTS: usize = 200;

/// How many arrivals ahead each part is fetched. The way to a part leads through the one before it in this list, which has been
/// fetched by then. The host is a part of its element.
const PACKET_AND_ELEMENT: usize = 5;
const SOCKET: usize = 3;
const CONNECTION: usize = 2;

/// The same of packets that enter a shared link and go straight on into the links behind it.
const PACKET_AND_WAY: usize = 6;
const LINK: usize = 4;
/// Of a packet that passes links: its IP header and the numbers in its TCP header.
const PASSING_MEMORY: usize = 128;
/// Of an element that is a host: see [`PlacedElement`].
const ELEMENT_MEMORY: usize = 256;
/// Of a link that is idle: see [`crate::pipe::Pipe`].
const PASSED_MEMORY: usize = 128;

impl Engine<'_> {
    /// A packet of a fan is about to arrive.
    #[inline(always)]
    pub(crate) fn look_ahead(&self, fan: FanId) {
        if self.network.looks_ahead {
            self.fetch_arrivals(fan);
        }
    }

    #[inline(never)]
    fn fetch_arrivals(&self, fan: FanId) {
        let coming = |ahead| self.network.fans[fan].ahead(ahead);
        if let Some(next) = coming(PACKET_AND_ELEMENT) {
            fetch_from(next.what.ip(), Packet::HEADER_MEMORY);
            self.element_behind(next).into_iter().for_each(|element| fetch_from(element, ELEMENT_MEMORY));
        }
        if let Some(next) = coming(SOCKET)
            && let Some(PlacedElement { body: ElementKind::Host(host), place, .. }) = self.element_behind(next)
        {
            if let Some(Departure { hop: Hop::Wire(pipe), .. }) = &place.departures.first {
                fetch_from(&self.network.pipes[*pipe], PASSED_MEMORY);
            }
            host.fetch_socket(&next.what);
        }
        if let Some(next) = coming(CONNECTION)
            && let Some(PlacedElement { body: ElementKind::Host(host), .. }) = self.element_behind(next)
        {
            host.fetch_connection(&next.what);
        }
    }

    #[inline(always)]
    fn element_behind(&self, next: &Entry<ElementId, Packet>) -> Option<&PlacedElement> {
        self.elements.get(next.goal)
    }
}

impl Network<'_> {
    /// The packet before these has left the joint.
    #[inline(always)]
    pub fn look_ahead(&self, joint: JointId) {
        if self.looks_ahead {
            self.fetch_entering(joint);
        }
    }

    #[inline(never)]
    fn fetch_entering(&self, joint: JointId) {
        let Approach { pipe, packets, .. } = &self.joints[joint];
        let ways = &self.pipes[*pipe].ways;
        if let Some(Entry { goal, what: packet, .. }) = packets.ahead(PACKET_AND_WAY) {
            fetch_from(packet.ip(), PASSING_MEMORY);
            ways.place(*goal).into_iter().for_each(fetch);
        }
        if let Some(Entry { goal, .. }) = packets.ahead(LINK)
            && let Some(Some(Some(Onward::Pipe(next)))) = ways.place(*goal)
        {
            fetch_from(&self.pipes[*next], PASSED_MEMORY);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Flow, RunSettings, Topology};
    use airtcp_core::parameters::Parameters;
    use airtcp_core::{Duration, Instant};
    use airtcp_link::LinkSettings;

    /// Flows over one link, the last two of which end at the same hosts.
    fn dumbbell() -> Topology {
        let mut topology = Topology::new();
        let (left, right) = (topology.node("left"), topology.node("right"));
        let mut link = LinkSettings::default();
        for (key, value) in [("rate", "20Mbit"), ("delay", "3ms"), ("queue", "40packets")] {
            link.set(key, &value.into()).unwrap();
        }
        topology.link("middle", left, right, link.clone(), link.clone());
        for n in 0..6 {
            let [from, to] = ["from", "to"].map(|side| topology.node(&format!("{side} {n}")));
            topology.link(&format!("left {n}"), from, left, link.clone(), link.clone());
            topology.link(&format!("right {n}"), right, to, link.clone(), link.clone());
            for flow in 0..=n / 5 {
                topology.flow(Flow::new(&format!("flow {n} {flow}"), from, to));
            }
        }
        topology
    }

    #[test]
    fn what_is_fetched_changes_nothing() {
        let settings = RunSettings { duration: Duration::from_secs(5), ..RunSettings::default() };
        let topology = dumbbell();
        let [with, without] = [true, false].map(|looks_ahead| {
            let mut engine = Engine::new(&topology, &settings, None).unwrap();
            let network = &mut engine.network;
            assert!(!network.looks_ahead && !network.fans.is_empty(), "small networks need nothing fetched");
            network.looks_ahead = looks_ahead;
            engine.run(Instant::ZERO + settings.duration).unwrap()
        });
        assert_eq!((with.trace_hash, with.events), (without.trace_hash, without.events));
        assert!(with.flows.iter().all(|flow| flow.total_bytes > 100_000));
    }
}
