//! A relay that counts the packets of each flow in a table that drops the oldest when it is full. The bug forgets to
//! drop one in a thousand.

use super::Made;
use airtcp_core::parameters::NoParameters;
use airtcp_core::{Context, Element, FlowKey, Gauge, Packet, Port, Probability};
use airtcp_schemes::Site;
use std::collections::{BTreeMap, VecDeque};

/// Memory of a flow in both tables, as much as a scheme's state may take.
const FLOW_MEMORY: u64 = 1024;

pub fn make<const PLANTED: bool>(_: &NoParameters, site: &mut Site<'_>) -> Made {
    let capacity = (site.max_memory.0 / FLOW_MEMORY) as usize;
    Ok(Box::new(Counter::<PLANTED> { capacity, packets: BTreeMap::new(), oldest_first: VecDeque::new() }))
}

struct Counter<const PLANTED: bool> {
    capacity: usize,
    packets: BTreeMap<FlowKey, u64>,
    oldest_first: VecDeque<FlowKey>,
}

impl<const PLANTED: bool> Counter<PLANTED> {
    fn make_room(&mut self, cx: &mut Context<'_>) {
        while self.oldest_first.len() > self.capacity {
            let Some(oldest) = self.oldest_first.pop_front() else { return };
            let forgets = cx.rng().chance(Probability::ratio(1, 1000));
            if !(PLANTED && forgets) {
                self.packets.remove(&oldest);
            }
        }
    }
}

impl<const PLANTED: bool> Element for Counter<PLANTED> {
    fn handle_packet(&mut self, cx: &mut Context<'_>, port: Port, packet: Packet) {
        if let Some(flow) = packet.flow() {
            let packets = self.packets.entry(flow).or_default();
            *packets += 1;
            if *packets == 1 {
                self.oldest_first.push_back(flow);
                self.make_room(cx);
            }
        }
        cx.send(port.opposite(), packet);
    }

    fn observe(&self, gauge: &mut dyn FnMut(Gauge, u64)) {
        gauge(Gauge::FLOWS, self.packets.len() as u64);
        gauge(Gauge::MEMORY_BYTES, self.packets.len() as u64 * FLOW_MEMORY);
    }
}
