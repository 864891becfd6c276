//! What circuits of TCP Decoupling ask of the links they cross, whether they carry a flow or are a trunk.

use super::{FlowPlan, Scenario, TrunkPlan, bound};
use airtcp_core::{CONTROL_DSCP, Duration};
use airtcp_link::table::Table;
use airtcp_link::{DropTail, LinkSettings, Queue, QueueLimit};

/// Bytes of a header packet with timestamps (DEC-5).
const HEADER: u64 = 52;
/// Bytes of the shortest packet that a trunk carries: a bare acknowledgment (IPv4, TCP).
const SHORTEST: u64 = 40;
/// The least bytes of data for a header packet.
const LEAST_VMSS: u64 = 64;

/// Bytes of data for each header packet, by the parameters that differ from the defaults (DEC-6).
pub(super) fn vmss(settings: &[(String, String)]) -> u64 {
    find(settings, "vmss").and_then(|value| value.parse().ok()).unwrap_or(1500)
}

/// Virtual segments that BBR keeps in flight on the shortest path: twice its least window.
const BBR_WINDOW: u64 = 8;

/// The default queue of a trunk between gateways, but one for all flows.
const ONE_QUEUE: &str = r#"{ kind = "fq-codel", flows = 1, target = "100ms", interval = "300ms" }"#;

/// How long the other end of a trunk may be silent, where nothing else was drawn.
const PEER_TIMEOUT: Duration = Duration::from_secs(1);

fn find<'a>(settings: &'a [(String, String)], key: &str) -> Option<&'a str> {
    settings.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
}

fn replace(settings: &mut Vec<(String, String)>, key: &str, value: impl ToString) {
    settings.retain(|(name, _)| name != key);
    settings.push((key.into(), value.to_string()));
}

/// The least room of the queues on the way of a circuit.
#[derive(Clone, Copy)]
pub(super) struct Room {
    /// Full packets.
    packets: u64,
    /// Bytes of so many full packets.
    bytes: u64,
}

impl Room {
    /// Bytes of a virtual segment that there is room for twice, in packets of half the MTU.
    ///
    /// All packets of a virtual segment leave at once and its header packet last (DEC-6). Where they alone fill a
    /// queue, the header is lost each time, and the circuit never learns that its data arrived.
    fn longest_segment(self) -> u64 {
        self.bytes / 4
    }

    /// The same in the shortest packets, with a header packet behind each.
    fn longest_segment_of_acknowledgments(self) -> u64 {
        (self.packets / 2).saturating_sub(1) * SHORTEST
    }
}

/// Makes a circuit's parameters such that a queue of this room is not filled by what the circuit sends at once, nor by
/// what BBR has in flight whatever is lost: behind a queue that this overfills nobody else gets anything through.
///
/// A virtual segment is two packets at least. BBR may have half of the queue; where that is too little, the circuit has
/// the controller that it has by default.
pub(super) fn fit(settings: &mut Vec<(String, String)>, room: Room) {
    let may_bbr = room.packets / 2 >= BBR_WINDOW * 2;
    settings.retain(|(key, value)| may_bbr || key != "controller" || value != "bbr");
    let is_bbr = find(settings, "controller") == Some("bbr");
    shorten(settings, if is_bbr { room.bytes / 4 / BBR_WINDOW } else { room.longest_segment() });
    let controls = find(settings, "controls").and_then(|value| value.parse().ok()).unwrap_or(1);
    let most = room.packets / 2 / (BBR_WINDOW * 2);
    if is_bbr && controls > most {
        replace(settings, "controls", most);
    }
}

/// No virtual segment is longer than this.
fn shorten(settings: &mut Vec<(String, String)>, longest: u64) {
    let longest = longest.max(LEAST_VMSS);
    if vmss(settings) > longest {
        replace(settings, "vmss", longest);
    }
}

/// Makes the queues on the way of circuits such that header packets meet what their data meet (DEC-22): a circuit learns of
/// congestion by its headers alone, and where these are spared it sends ever faster.
///
/// A short packet finds room where a long one does not (DEC-23), so limits are in packets. A header-first queue counts
/// the headers of circuits (DEC-12), and no more of them than it has room for with their data. FQ-CoDel, which drops
/// the oldest packet, has one queue for all flows: with more, headers are a flow of their own, and one that sends
/// little. The same holds in the queue of a trunk that circuits enter.
pub(super) fn fit_queues(scenario: &mut Scenario) {
    no_ring_behind_trunk(scenario);
    one_queue_in_trunk(scenario);
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

/// A trunk waits until a ring has room, and takes it at once. Packets that pass beside it do not wait, so none of them ever
/// finds room.
fn no_ring_behind_trunk(scenario: &mut Scenario) {
    let Some([from, to]) = scenario.trunk.as_ref().map(|trunk| trunk.ends) else { return };
    let Some((link, direction)) = scenario.path(from, to).first().copied() else { return };
    let queue = &mut scenario.links[link].directions[direction].queue;
    if let Queue::Ring(ring) = queue {
        *queue = Queue::DropTail(DropTail { limit: ring.limit });
    }
}

/// Has a trunk whose queue is FQ-CoDel by default keep one for all flows, if a circuit enters it.
fn one_queue_in_trunk(scenario: &mut Scenario) {
    let enters = |flow: &FlowPlan| flow.socket.vmss().is_some() && enters_trunk(scenario, flow.ends);
    let is_entered = scenario.flows.iter().any(enters);
    let Some(trunk) = scenario.trunk.as_mut().filter(|_| is_entered) else { return };
    if find(&trunk.scheme.settings, "headers") == Some("udp") {
        replace(&mut trunk.scheme.settings, "queue", ONE_QUEUE);
    }
}

/// Whether packets from one node to another enter the trunk.
fn enters_trunk(scenario: &Scenario, [from, to]: [usize; 2]) -> bool {
    let path = scenario.trunk.as_ref().map(|trunk| scenario.path(trunk.ends[0], trunk.ends[1])).unwrap_or_default();
    !path.is_empty() && scenario.path(from, to).windows(path.len()).any(|part| part == path)
}

/// Whether a trunk carries acknowledgments, and nothing else for a while. A virtual segment of 1500 bytes is up to 38 of them,
/// which leave at once and before their header (DEC-8, DEC-9). Where they alone fill a queue that counts packets, the header is
/// lost after each timeout; DEC-23 asks for a queue that header and data always fit.
fn acknowledgments_enter_trunk(scenario: &Scenario) -> bool {
    scenario.flows.iter().any(|flow| enters_trunk(scenario, [flow.ends[1], flow.ends[0]]))
}

/// As many full packets find room as before, and no more short ones.
fn count_packets(settings: &mut LinkSettings) {
    if let QueueLimit::Bytes(bytes) = settings.queue.limit() {
        let limit = QueueLimit::Packets((bytes / u64::from(settings.mtu)).max(1));
        let is_set = settings.queue.set("limit", &limit.to_string().into());
        debug_assert!(is_set.is_ok(), "{is_set:?}");
    }
}

/// The least room from one node to another.
fn room(scenario: &Scenario, [from, to]: [usize; 2]) -> Room {
    let rooms = scenario.path(from, to).into_iter().map(|(link, direction)| {
        let settings = &scenario.links[link].directions[direction];
        let mtu = u64::from(settings.mtu);
        let packets = settings.queue.limit().bytes(settings.mtu) / mtu;
        (packets, packets * mtu)
    });
    rooms.fold(Room { packets: u64::MAX, bytes: u64::MAX }, |least, (packets, bytes)| Room {
        packets: least.packets.min(packets),
        bytes: least.bytes.min(bytes),
    })
}

/// Fits circuits to the queues on their way.
pub(super) fn fit_circuits(scenario: &mut Scenario) {
    for index in 0..scenario.flows.len() {
        let room = room(scenario, scenario.flows[index].ends);
        scenario.flows[index].socket.fit_circuit(room);
    }
    if let Some(ends) = scenario.trunk.as_ref().map(|trunk| trunk.ends) {
        let room = room(scenario, ends);
        let is_circuit = |trunk: &&mut TrunkPlan| trunk.scheme.entry.fields().iter().any(|field| field.name == "vmss");
        let has_acknowledgments = acknowledgments_enter_trunk(scenario);
        if let Some(trunk) = scenario.trunk.as_mut().filter(is_circuit) {
            fit(&mut trunk.scheme.settings, room);
            if has_acknowledgments {
                shorten(&mut trunk.scheme.settings, room.longest_segment_of_acknowledgments());
            }
        }
        let answer = bound::round_trip(scenario, ends).max(bound::round_trip(scenario, [ends[1], ends[0]]));
        if let Some(trunk) = &mut scenario.trunk {
            fit_patience(&mut trunk.scheme.settings, answer);
        }
    }
}

/// A trunk that lets nothing pass beside it waits for answers, which take up to `answer`.
fn fit_patience(settings: &mut Vec<(String, String)>, answer: Duration) {
    let timeout = find(settings, "peer_timeout").and_then(|value| value.parse().ok()).unwrap_or(PEER_TIMEOUT);
    if find(settings, "fail") == Some("closed") && timeout < answer * 2 {
        replace(settings, "peer_timeout", answer * 2);
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
                    let places = settings.queue.limit().bytes(settings.mtu) / u64::from(settings.mtu);
                    assert!(packets <= places, "seed {seed}: {packets} packets, room for {places}");
                    short += u64::from(vmss == room(&scenario, [from, to]).longest_segment());
                    counted += u64::from(settings.queue.limit().packets().is_some());
                }
            }
        }
        assert!(short > 0 && counted > 20, "{short} {counted}");
    }

    #[test]
    fn behind_a_trunk_there_is_room_for_a_virtual_segment_of_acknowledgments() {
        let (mut short, mut free) = (0, 0);
        for seed in 0..1000 {
            let scenario = scenario(seed, &Tables::built_in());
            let Some(trunk) = &scenario.trunk else { continue };
            if !acknowledgments_enter_trunk(&scenario) {
                free += 1;
                continue;
            }
            let path = scenario.path(trunk.ends[0], trunk.ends[1]);
            let packets = vmss(&trunk.scheme.settings).div_ceil(40) + 1;
            for (link, direction) in path {
                let settings = &scenario.links[link].directions[direction];
                let places = settings.queue.limit().bytes(settings.mtu) / u64::from(settings.mtu);
                assert!(packets * 2 <= places, "seed {seed}: {packets} packets twice, room for {places}");
            }
            short += 1;
        }
        assert!(short > 20 && free > 5, "{short} {free}");
    }

    #[test]
    fn what_bbr_has_in_flight_fits_half_of_a_queue() {
        let drawn = [("controller", "bbr"), ("controls", "8"), ("vmss", "3000")];
        let fitted = |packets: u64| {
            let mut settings = drawn.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec();
            fit(&mut settings, Room { packets, bytes: packets * 1500 });
            ["controller", "controls", "vmss"].map(|key| find(&settings, key).map(str::to_owned))
        };
        let expected = |values: [Option<&str>; 3]| values.map(|value| value.map(str::to_owned));
        assert_eq!(fitted(31), expected([None, Some("8"), Some("3000")]));
        assert_eq!(fitted(53), expected([Some("bbr"), Some("1"), Some("2484")]));
        assert_eq!(fitted(400), expected([Some("bbr"), Some("8"), Some("3000")]));
    }

    #[test]
    fn behind_a_trunk_there_is_no_ring() {
        let mut trunks = 0;
        for seed in 0..300 {
            let scenario = scenario(seed, &Tables::built_in());
            let Some([from, to]) = scenario.trunk.as_ref().map(|trunk| trunk.ends) else { continue };
            let (link, direction) = scenario.path(from, to)[0];
            assert!(!matches!(scenario.links[link].directions[direction].queue, Queue::Ring(_)), "seed {seed}");
            trunks += 1;
        }
        assert!(trunks > 20, "{trunks}");
    }

    #[test]
    fn a_trunk_that_is_closed_waits_for_answers() {
        let mut fitted = 0;
        for seed in 0..3000 {
            let scenario = scenario(seed, &Tables::built_in());
            let Some(trunk) = &scenario.trunk else { continue };
            let settings = &trunk.scheme.settings;
            let timeout = find(settings, "peer_timeout").map_or(PEER_TIMEOUT, |value| value.parse().unwrap());
            let least = bound::round_trip(&scenario, trunk.ends) * 2;
            fitted += u32::from(find(settings, "fail") == Some("closed") && timeout == least);
            assert!(find(settings, "fail") != Some("closed") || timeout >= least, "seed {seed}");
        }
        assert!(fitted > 0);
    }

    #[test]
    fn a_trunk_that_a_circuit_enters_keeps_one_queue() {
        let (mut entered, mut free) = (0, 0);
        for seed in 0..1000 {
            let scenario = scenario(seed, &Tables::built_in());
            let Some(trunk) = scenario.trunk.as_ref().map(|trunk| &trunk.scheme.settings) else { continue };
            if find(trunk, "headers") != Some("udp") {
                assert_eq!(find(trunk, "queue"), None, "seed {seed}");
            } else if scenario.flows.iter().all(|flow| flow.socket.vmss().is_none()) {
                assert_eq!(find(trunk, "queue"), None, "seed {seed}");
                free += 1;
            } else {
                entered += u32::from(find(trunk, "queue") == Some(ONE_QUEUE));
            }
        }
        assert!(entered > 10 && free > 5, "{entered} {free}");
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
