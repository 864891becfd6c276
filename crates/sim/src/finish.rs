//! What a run found, once it is over.

use crate::air::Wlan;
use crate::element::ElementKind;
use crate::engine::Engine;
use crate::index::{ElementId, ProbeId};
use crate::network::Network;
use crate::outcome::{Drop, ElementOutcome, Mark, Outcome, ProbeOutcome, QueueOutcome, SchemeOutcome, WlanOutcome};
use crate::pipe::Pipe;
use crate::queue::EventQueue;
use crate::spares::Spares;
use airtcp_core::{DropReason, Instant};
use typed_index_collections::TiVec;

impl Engine<'_> {
    /// Takes the run apart.
    pub fn finish(mut self, end: Instant) -> Outcome {
        self.checker.check(end, &self.elements, &self.network);
        // Nobody asks any more what is on its way or due: its memory is for what was found.
        (self.network.fans, self.network.joints) = (TiVec::new(), TiVec::new());
        (self.network.queue, self.network.spares) = (EventQueue::new(0, 0, 0), Spares::default());
        let flow_ends = std::mem::take(&mut self.flow_ends);
        let mut flows = Vec::with_capacity(flow_ends.len());
        for (id, (sender, receiver)) in flow_ends.into_iter_enumerated() {
            let acknowledged = self.host(sender).bytes_acknowledged(id);
            let received = self.host(receiver).receiver_outcome(id, end, acknowledged);
            flows.push(self.host(sender).complete_outcome(id, received));
        }
        let probes = self.probes();
        let asking = std::mem::take(&mut self.workload_ends).into_iter_enumerated();
        let workloads = asking.filter_map(|(id, (_, client))| self.host(client).workload_outcome(id)).collect();
        for slot in &self.elements {
            if let ElementKind::Host(host) = &slot.body {
                self.checker.check_streams(host);
            }
        }
        let measured = end.saturating_since(self.warmup_end);
        Outcome {
            flows,
            probes,
            workloads,
            schemes: self.schemes.iter().map(|scheme| self.scheme_outcome(scheme)).collect(),
            wlans: self.network.wlans.iter().map(|wlan| self.wlan_outcome(wlan)).collect(),
            drops: self.drops(),
            marks: self.marks(),
            queues: self.queues(end),
            levels: std::mem::take(&mut self.levels),
            checks: self.checker.finish(),
            trace_hash: self.network.trace_hash,
            events: self.events,
            measured,
        }
    }

    /// In the order of the topology: each host has its own in that order.
    fn probes(&mut self) -> Vec<ProbeOutcome> {
        let ends = std::mem::take(&mut self.probe_ends);
        let mut found: TiVec<ProbeId, Vec<ProbeOutcome>> = TiVec::new();
        for (asks, _) in &ends {
            found.push(self.host(*asks).probe_outcomes().collect());
        }
        let place = |probe: ProbeId| ends[..probe].iter().filter(|(asks, _)| *asks == ends[probe].0).count();
        found.into_iter_enumerated().map(|(probe, mut probes)| probes.swap_remove(place(probe))).collect()
    }

    fn scheme_outcome(&self, (name, kind, indices): &(String, &'static str, Vec<ElementId>)) -> SchemeOutcome {
        let elements = indices.iter().map(|index| {
            let slot = &self.elements[*index];
            let mut gauges = Vec::new();
            slot.body.as_element().observe(&mut |gauge, value| gauges.push((gauge, value)));
            ElementOutcome {
                node: self.network.node_names[slot.place.node].to_string(),
                events: slot.ledger.events.iter().collect(),
                gauges,
                beliefs: slot.beliefs.clone(),
            }
        });
        SchemeOutcome { name: name.clone(), kind, elements: elements.collect() }
    }

    fn wlan_outcome(&self, wlan: &Wlan) -> WlanOutcome {
        let usage = wlan
            .nodes
            .iter_enumerated()
            .map(|(interface, node)| (self.network.node_names[*node].to_string(), *wlan.bss.usage(interface)));
        WlanOutcome { name: wlan.name.clone(), medium: *wlan.bss.medium(), interfaces: usage.collect() }
    }

    fn marks(&self) -> Vec<Mark> {
        let Network { pipes, links, .. } = &self.network;
        let marks = pipes.iter().map(|pipe| (pipe, pipe.link.counters().marked)).filter(|(_, packets)| *packets > 0);
        marks.map(|(pipe, packets)| Mark { place: pipe.name(links), packets }).collect()
    }

    fn queues(&self, end: Instant) -> Vec<QueueOutcome> {
        let Network { pipes, links, .. } = &self.network;
        let of_pipe = |pipe: &Pipe| QueueOutcome {
            place: pipe.name(links),
            bytes_max: pipe.link.queue_bytes_max(),
            first_drop: pipe.link.counters().first_queue_drop,
            headers: pipe.link.header_levels(end),
        };
        pipes.iter().map(of_pipe).filter(|queue| queue.bytes_max > 0).collect()
    }

    fn drops(&self) -> Vec<Drop> {
        let mut drops = Vec::new();
        let mut put = |place: &str, reason: DropReason, packets: u64, headers: u64| {
            if packets > 0 {
                drops.push(Drop { place: place.to_string(), reason, packets, headers });
            }
        };
        let Network { pipes, links, .. } = &self.network;
        for pipe in pipes {
            let counters = pipe.link.counters();
            for (reason, packets) in counters.dropped.iter() {
                put(&pipe.name(links), reason, packets, counters.headers_dropped.get(reason));
            }
        }
        let mut add = |place: &str, reason: DropReason, packets: u64| put(place, reason, packets, 0);
        for wlan in &self.network.wlans {
            for (interface, node) in wlan.nodes.iter_enumerated() {
                let place = format!("{}.{}", wlan.name, self.network.node_names[*node]);
                for (reason, packets) in wlan.bss.counters(interface).dropped.iter() {
                    add(&place, reason, packets);
                }
            }
        }
        for slot in &self.elements {
            for (reason, packets) in slot.ledger.discarded.iter() {
                add(&slot.place.name(&self.network.node_names), reason, packets);
            }
        }
        add("nodes", DropReason::NO_ROUTE, self.network.unroutable);
        add("nodes", DropReason::HOP_LIMIT, self.network.hop_limit_drops);
        add("control", DropReason::CORRUPTED, self.control_damaged);
        drops
    }
}
