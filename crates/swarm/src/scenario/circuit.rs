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

/// Makes the queues on the way of circuits such that header packets meet what their data meet (DEC-22): a circuit learns of
/// congestion by its headers alone, and where these are spared it sends ever faster.
///
/// A header-first queue counts the headers of circuits (DEC-12), and no more of them than it has room for with their data: a
/// short packet finds room where a long one does not (DEC-23). FQ-CoDel has one queue for all flows: with more, headers are
/// a flow of their own, and one that sends little.
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
                Queue::DropTail(_) | Queue::Ring(_) | Queue::Red(_) | Queue::Codel(_) => {}
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
