//! What circuits of TCP Decoupling ask of the links they cross, whether they carry a flow or are a trunk.

use super::Scenario;
use airtcp_core::CONTROL_DSCP;
use airtcp_link::Queue;

/// Bytes of a header packet with timestamps (DEC-5).
const HEADER: u64 = 52;

/// Bytes of data for each header packet, by the parameters that differ from the defaults (DEC-6).
pub(super) fn vmss(settings: &[(String, String)]) -> u64 {
    let set = settings.iter().find(|(key, _)| key == "vmss");
    set.and_then(|(_, value)| value.parse().ok()).unwrap_or(1500)
}

/// Header-first queues on the way of circuits count the headers of these, and no more of them than the queue has room for
/// with their data.
///
/// A queue that counts other packets drops a circuit's data and spares its headers, by which alone the circuit learns of
/// congestion: it sends ever faster (DEC-12, DEC-23). A threshold that is larger does so, too, since a short header finds
/// room where data does not.
pub(super) fn count_headers(scenario: &mut Scenario) {
    let of_flows = scenario.flows.iter().filter_map(|flow| Some((flow.ends, flow.socket.vmss()?)));
    let of_trunk = scenario.trunk.iter().map(|trunk| (trunk.ends, vmss(&trunk.scheme.settings)));
    let circuits: Vec<_> = of_flows.chain(of_trunk).collect();
    for ([from, to], vmss) in circuits {
        for (link, direction) in scenario.path(from, to) {
            let settings = &mut scenario.links[link].directions[direction];
            let room = settings.queue.limit().bytes(settings.mtu) / (HEADER + vmss);
            if let Queue::HeaderFirst(queue) = &mut settings.queue {
                queue.dscp = CONTROL_DSCP;
                queue.threshold = Some(queue.threshold.unwrap_or(room).min(room).max(1));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tables;
    use crate::scenario::scenario;

    #[test]
    fn a_header_first_queue_counts_the_headers_of_circuits_and_has_room_for_their_data() {
        let mut counted = 0;
        for seed in 0..300 {
            let scenario = scenario(seed, &Tables::built_in());
            let circuits = scenario.flows.iter().filter_map(|flow| Some((flow.ends, flow.socket.vmss()?)));
            for ([from, to], vmss) in circuits {
                for (link, direction) in scenario.path(from, to) {
                    let settings = &scenario.links[link].directions[direction];
                    let Queue::HeaderFirst(queue) = &settings.queue else { continue };
                    counted += 1;
                    let room = settings.queue.limit().bytes(settings.mtu);
                    let threshold = queue.threshold.unwrap();
                    assert_eq!(queue.dscp, CONTROL_DSCP, "seed {seed}");
                    assert!(threshold == 1 || threshold * (vmss + HEADER) <= room, "seed {seed}");
                }
            }
        }
        assert!(counted > 20, "{counted}");
    }
}
