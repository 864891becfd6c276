//! What circuits of TCP Decoupling ask of the links they cross, whether they carry a flow or are a trunk.

use super::{Scenario, TrunkPlan};
use airtcp_core::CONTROL_DSCP;
use airtcp_link::table::Table;
use airtcp_link::{LinkSettings, Queue, QueueLimit};

/// Bytes of a header packet with timestamps (DEC-5).
const HEADER: u64 = 52;

/// Bytes of data for each header packet, by the parameters that differ from the defaults (DEC-6).
pub(super) fn vmss(settings: &[(String, String)]) -> u64 {
    let set = settings.iter().find(|(key, _)| key == "vmss");
    set.and_then(|(_, value)| value.parse().ok()).unwrap_or(1500)
}

/// A circuit's parameters with virtual segments of `most` bytes at most.
pub(super) fn shorten_segments(settings: &mut Vec<(String, String)>, most: u64) {
    if vmss(settings) > most {
        settings.retain(|(key, _)| key != "vmss");
        settings.push(("vmss".into(), most.to_string()));
    }
}

/// Makes the queues on the way of circuits such that header packets meet what their data meet (DEC-22): a circuit learns of
/// congestion by its headers alone, and where these are spared it sends ever faster.
///
/// A short packet finds room where a long one does not (DEC-23), so limits are in packets. A header-first queue counts the
/// headers of circuits (DEC-12), and no more of them than it has room for with their data. FQ-CoDel, which drops the oldest
/// packet, has one queue for all flows: with more, headers are a flow of their own, and one that sends little.
pub(super) fn fit_queues(scenario: &mut Scenario) {
    let of_flows = scenario.flows.iter().filter_map(|flow| Some((flow.ends, flow.socket.vmss()?)));
    let of_trunk = scenario.trunk.iter().map(|trunk| (trunk.ends, vmss(&trunk.scheme.settings)));
    let circuits: Vec<_> = of_flows.chain(of_trunk).collect();
    for ([from, to], vmss) in circuits {
        for (link, direction) in scenario.path(from, to) {
            let settings = &mut scenario.links[link].directions[direction];
            let room = settings.queue.limit().bytes(settings.mtu) / (HEADER + vmss);
            match &mut settings.queue {
                Queue::HeaderFirst(queue) => {
                    queue.dscp = CONTROL_DSCP;
                    queue.threshold = Some(queue.threshold.unwrap_or(room).min(room).max(1));
                }
                Queue::FqCodel(queue) => queue.flows = 1,
                Queue::DropTail(_) | Queue::Ring(_) | Queue::Red(_) | Queue::Codel(_) => count_packets(settings),
            }
        }
    }
}

/// As many full packets find room as before, and no more short ones.
fn count_packets(settings: &mut LinkSettings) {
    if let QueueLimit::Bytes(bytes) = settings.queue.limit() {
        let limit = QueueLimit::Packets((bytes / u64::from(settings.mtu)).max(1));
        let is_set = settings.queue.set("limit", &limit.to_string().into());
        debug_assert!(is_set.is_ok(), "{is_set:?}");
    }
}

/// Bytes of a virtual segment that every queue from one node to another has room for twice, in packets of half the MTU.
///
/// All packets of a virtual segment leave at once and its header packet last (DEC-6). Where they alone fill a queue, the
/// header is lost each time, and the circuit never learns that its data arrived.
pub(super) fn longest_segment(scenario: &Scenario, [from, to]: [usize; 2]) -> u64 {
    let rooms = scenario.path(from, to).into_iter().map(|(link, direction)| {
        let settings = &scenario.links[link].directions[direction];
        settings.queue.limit().bytes(settings.mtu) / 4
    });
    rooms.min().unwrap_or(u64::MAX).max(1)
}

/// Shortens the virtual segments of circuits to [`longest_segment`].
pub(super) fn fit_segments(scenario: &mut Scenario) {
    for index in 0..scenario.flows.len() {
        let most = longest_segment(scenario, scenario.flows[index].ends);
        scenario.flows[index].socket.shorten_segments(most);
    }
    if let Some(ends) = scenario.trunk.as_ref().map(|trunk| trunk.ends) {
        let most = longest_segment(scenario, ends);
        let is_circuit = |trunk: &&mut TrunkPlan| trunk.scheme.entry.fields().iter().any(|field| field.name == "vmss");
        if let Some(trunk) = scenario.trunk.as_mut().filter(is_circuit) {
            shorten_segments(&mut trunk.scheme.settings, most);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tables;
    use crate::scenario::scenario;

    #[test]
    fn every_queue_has_room_for_a_virtual_segment_and_its_header() {
        let (mut short, mut counted) = (0, 0);
        for seed in 0..300 {
            let scenario = scenario(seed, &Tables::built_in());
            let of_flows =
                scenario.flows.iter().filter_map(|flow| Some((flow.ends, flow.socket.vmss()?, flow.tcp.mtu)));
            for ([from, to], vmss, mtu) in of_flows {
                for (link, direction) in scenario.path(from, to) {
                    let settings = &scenario.links[link].directions[direction];
                    let packets = vmss.div_ceil(u64::from(mtu) - 72) + 1;
                    let room = settings.queue.limit().bytes(settings.mtu) / u64::from(settings.mtu);
                    assert!(packets <= room, "seed {seed}: {packets} packets, room for {room}");
                    short += u64::from(vmss == longest_segment(&scenario, [from, to]));
                    counted += u64::from(settings.queue.limit().packets().is_some());
                }
            }
        }
        assert!(short > 0 && counted > 20, "{short} {counted}");
    }

    #[test]
    fn headers_of_circuits_meet_what_their_data_meet() {
        let (mut counted, mut shared) = (0, 0);
        for seed in 0..300 {
            let scenario = scenario(seed, &Tables::built_in());
            let circuits = scenario.flows.iter().filter_map(|flow| Some((flow.ends, flow.socket.vmss()?)));
            for ([from, to], vmss) in circuits {
                for (link, direction) in scenario.path(from, to) {
                    let settings = &scenario.links[link].directions[direction];
                    match &settings.queue {
                        Queue::HeaderFirst(queue) => {
                            counted += 1;
                            let room = settings.queue.limit().bytes(settings.mtu);
                            let threshold = queue.threshold.unwrap();
                            assert_eq!(queue.dscp, CONTROL_DSCP, "seed {seed}");
                            assert!(threshold == 1 || threshold * (vmss + HEADER) <= room, "seed {seed}");
                        }
                        Queue::FqCodel(queue) => {
                            shared += 1;
                            assert_eq!(queue.flows, 1, "seed {seed}");
                        }
                        _ => {}
                    }
                }
            }
        }
        assert!(counted > 20 && shared > 20, "{counted} {shared}");
    }
}
