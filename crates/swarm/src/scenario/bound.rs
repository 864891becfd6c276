//! How long what remains after healing may take: a share of the slowest link on the path, the window's limit, and the
//! timers that faults left behind.
//!
//! The bound is generous on purpose, since TCP shares a link unevenly: a flow that exceeds it has stalled.

use super::{FlowPlan, Scenario, SchemePlan};
use airtcp_core::parameters::Parameters;
use airtcp_core::{ByteSize, Duration, Rate};
use airtcp_link::LinkSettings;
use airtcp_schemes::papers::fast_tcp::{self, FastTcpSettings, Mode};
use airtcp_tcp::{Config, RecoveryKind};

/// A flow may get so much less than its equal share.
const UNFAIRNESS: u64 = 10;
/// A circuit sends the packets of a virtual segment at once and the header packet, which must not be lost, last: where a
/// short queue has room for few such bursts, that costs timeouts.
const BURSTINESS: u64 = 4;
/// Timeouts after healing that competing flows may cost each other.
const TIMEOUTS: u64 = 12;
/// Headers and retransmissions: bytes on the wire for a byte of the file.
const OVERHEAD: u64 = 2;
/// Bytes that an endless flow is given the time for in the last part.
const LAST_BYTES: u64 = 10_000;

/// IP bytes of the shortest acknowledgment (FTC-U10).
const SHORTEST_ACK: u64 = 40;
/// A control TCP doubles its RTO up to here, as any TCP.
const CONTROL_MAX_RTO: Duration = Duration::from_secs(120);
/// Lowest timeout of a trunk's control TCP: two ticks.
const CONTROL_RTO: Duration = Duration::from_secs(1);

/// When the scenario is over.
pub fn end(scenario: &Scenario) -> Duration {
    let files = scenario.flows.iter().map(|flow| deadline(scenario, flow));
    files.max().unwrap_or(scenario.heal).saturating_add(last_part(scenario))
}

/// The part at the end in which every endless flow delivers something.
pub fn last_part(scenario: &Scenario) -> Duration {
    let endless = scenario.flows.iter().filter(|flow| flow.size.is_none());
    endless.map(|flow| needed(scenario, flow, LAST_BYTES)).max().unwrap_or(Duration::from_millis(100))
}

/// When a file must be complete; for an endless flow, when it must be back at work.
pub fn deadline(scenario: &Scenario, flow: &FlowPlan) -> Duration {
    let begin = stalled_until(scenario, flow.start.max(scenario.heal));
    // Timers doubled during the outage: the pending one is at most as long as the wait before it.
    let (least, longest) = timers(flow);
    let pending = longest.min(begin * 2 + flow.tcp.initial_rto + least);
    begin + pending * 2 + needed(scenario, flow, flow.size.unwrap_or(LAST_BYTES))
}

/// When a trunk lets packets through again: its control TCP's timers doubled too, and it opens within seconds.
fn stalled_until(scenario: &Scenario, begin: Duration) -> Duration {
    if scenario.trunk.is_some() { begin + begin * 4 + CONTROL_RTO * 4 } else { begin }
}

/// Flows of equal shares in a bottleneck: all those of a trunk may be together worth one.
fn shares(scenario: &Scenario) -> u64 {
    let flows = scenario.flows.len() as u64;
    if scenario.trunk.is_some() { flows * (flows + 1) } else { flows }
}

fn needed(scenario: &Scenario, flow: &FlowPlan, size: u64) -> Duration {
    let share = bottleneck(scenario, flow).bps() / shares(scenario);
    let overhead = if flow.socket.timers().is_some() { OVERHEAD * BURSTINESS } else { OVERHEAD };
    let bits = (size + 20 * u64::from(flow.tcp.mtu)) * 8 * overhead * UNFAIRNESS;
    let sending = Duration::from_nanos((u128::from(bits) * 1_000_000_000 / u128::from(share.max(1))) as u64);
    let (rtt, wait) = (round_trip(scenario, flow.ends), wait_behind_endless(scenario, flow));
    let rto = rto(flow, rtt + wait);
    let repairs = repair_wait(scenario, flow).filter(|_| flow.size.is_some());
    let repairs = repairs.map_or(Duration::ZERO, |wait| wait * size.div_ceil(segment(&flow.tcp)));
    let rounds = size / window(flow) + 8;
    let of_trunk = if scenario.trunk.is_some() { (CONTROL_RTO + rtt * 2) * TIMEOUTS } else { Duration::ZERO };
    let repairs = repairs + doubled_waits(flow, size, rto);
    let round = (rtt + longest_delay(&flow.tcp)) * 2 + wait;
    sending + round * rounds + rto * TIMEOUTS + repairs + of_trunk
}

/// What the timeouts take that competing flows may cost a SYN, whose acknowledgment no scheme holds.
pub(super) fn timeouts(scenario: &Scenario, flow: &FlowPlan) -> Duration {
    rto(flow, round_trip(scenario, flow.ends)) * TIMEOUTS
}

/// How long acknowledgments of a flow may wait in ACK buffers of Fast-TCP behind those of flows that never end.
///
/// In paper mode one buffer has the acknowledgments of all flows (FTC-5, FTC-U8), and they leave d apart, or more while the
/// queue is at its thresholds. Data are not lost by that, so the window of a flow that never ends grows until it or the
/// buffer is full (FTC-X4), and each round of another flow waits for as long. (Seed 31246: behind a window of 6 MiB each
/// round of four packets took 166 s.) What files leave in the buffer is gone when they are.
fn wait_behind_endless(scenario: &Scenario, flow: &FlowPlan) -> Duration {
    let hops = scenario.path(flow.ends[0], flow.ends[1]);
    let waits = hops.into_iter().filter(|hop| is_shared_with_endless(scenario, flow, *hop));
    let waits = waits.filter_map(|(link, direction)| {
        let plan = &scenario.links[link];
        let fast_tcp = plan.scheme.as_ref().filter(|_| direction == 0).and_then(fast_tcp)?;
        (fast_tcp.mode == Mode::Paper && !fast_tcp.per_flow).then(|| full_ack_buffer(&fast_tcp, &plan.directions[0]))
    });
    waits.fold(Duration::ZERO, Duration::saturating_add)
}

/// Whether data of another flow, which never ends, pass the link in that direction, too.
fn is_shared_with_endless(scenario: &Scenario, flow: &FlowPlan, hop: (usize, usize)) -> bool {
    let mut others = scenario.flows.iter().filter(|other| other.size.is_none() && !std::ptr::eq(*other, flow));
    others.any(|other| scenario.path(other.ends[0], other.ends[1]).contains(&hop))
}

/// The settings of Fast-TCP, if the scheme is that.
fn fast_tcp(scheme: &SchemePlan) -> Option<FastTcpSettings> {
    if scheme.entry.slug != fast_tcp::ENTRY.slug {
        return None;
    }
    let mut settings = FastTcpSettings::default();
    let is_set = scheme.settings.iter().try_for_each(|(key, value)| settings.set(key, &value.as_str().into()));
    is_set.ok().map(|()| settings)
}

/// How long a full ACK buffer takes to empty, with all thresholds reached.
fn full_ack_buffer(settings: &FastTcpSettings, link: &LinkSettings) -> Duration {
    let of_packet = || settings.rate.or(link.rate.constant()).map(|rate| rate.serialisation(link.mtu, &mut 0));
    let spacing = settings.spacing.or_else(of_packet).unwrap_or_default();
    let thresholds = settings.threshold.as_ref().map_or(1, |thresholds| thresholds.level(u64::MAX));
    spacing.saturating_mul((settings.ack_buffer.0 / SHORTEST_ACK).saturating_mul(1 + thresholds))
}

/// How long an acknowledgment may wait at the receiver.
fn longest_delay(tcp: &Config) -> Duration {
    let delay = tcp.delayed_ack_timeout.max(tcp.delayed_ack_longest.unwrap_or_default());
    delay + tcp.gro_flush_timeout.unwrap_or_default()
}

/// What the timeouts take if each segment waits for one of its own, twice as long as the one before: so the TCPs of a
/// decoupling socket repair what is lost where [`SocketPlan::backs_off`](super::SocketPlan::backs_off) says so. Its file is
/// short; of an endless flow each timeout that competing flows cost it may be the longest. (Seed 120211, whose circuit is beside BBR
/// in a queue of a quarter of a BDP: in each of several waits of 120 s what was sent again was lost once more.)
fn doubled_waits(flow: &FlowPlan, size: u64, rto: Duration) -> Duration {
    if !flow.socket.backs_off(flow.tcp.timestamps) {
        return Duration::ZERO;
    }
    let (_, longest) = timers(flow);
    if flow.size.is_none() {
        return longest * TIMEOUTS;
    }
    let waits = (0..size.div_ceil(segment(&flow.tcp))).scan(rto, |wait, _| {
        let this = (*wait).min(longest);
        *wait = this.saturating_mul(2);
        Some(this)
    });
    waits.fold(Duration::ZERO, Duration::saturating_add)
}

/// A timeout of a path that takes `rtt` with all queues full.
fn rto(flow: &FlowPlan, rtt: Duration) -> Duration {
    let (least, longest) = timers(flow);
    (least + rtt * 3).min(longest).max(rtt)
}

/// How long each segment waits if timeouts repair one segment each and all that a full queue drops waits for them.
///
/// So is the recovery `one-segment` of a TCP: after a timeout it counts all other segments as in flight, and where these fill
/// the window no new segment tells of the next hole. Without timestamps no repair is a sample of the round trip (RFC 6298,
/// section 3), and each timeout is longer than the one before.
pub(super) fn repair_wait(scenario: &Scenario, flow: &FlowPlan) -> Option<Duration> {
    let rtt = round_trip(scenario, flow.ends) + wait_behind_endless(scenario, flow);
    let own = (flow.socket.choice.is_tcp() && flow.tcp.recovery == RecoveryKind::OneSegment).then(|| {
        let rto = rto(flow, rtt);
        if flow.tcp.rto_backoff && !flow.tcp.timestamps { rto.max(flow.tcp.max_rto) } else { rto }
    });
    // A proxy's half has timestamps if the host's has, and Linux's longest timeout.
    let of_proxy = passes_a_proxy_of_one_segment(scenario, flow).then(|| {
        let rto = rtt * 3;
        if flow.tcp.timestamps { rto } else { rto.max(Config::default().max_rto) }
    });
    own.max(of_proxy)
}

/// Whether a split connection on the way of the flow's data repairs by the recovery `one-segment`.
fn passes_a_proxy_of_one_segment(scenario: &Scenario, flow: &FlowPlan) -> bool {
    let [from, to] = flow.ends;
    let mut schemes = scenario.path(from, to).into_iter().filter_map(|(link, _)| scenario.links[link].scheme.as_ref());
    schemes.any(|scheme| scheme.settings.iter().any(|(key, value)| key == "recovery" && value == "one-segment"))
}

/// Bytes of a file in a segment, at least: what IPv6, TCP and its timestamps leave.
pub(super) fn segment(tcp: &Config) -> u64 {
    u64::from(tcp.mtu.saturating_sub(40 + 20 + 12).max(1))
}

/// The least and the longest RTO of the connections that carry a flow: a circuit's control TCPs have timers of their own.
fn timers(flow: &FlowPlan) -> (Duration, Duration) {
    let (least, longest) = (flow.tcp.min_rto, flow.tcp.max_rto);
    match flow.socket.timers() {
        None => (least, longest),
        Some(control) => (least.max(control), longest.max(CONTROL_MAX_RTO)),
    }
}

/// Bytes that may be in flight, whatever limits them.
fn window(flow: &FlowPlan) -> u64 {
    let segment = u64::from(flow.tcp.mtu) / 2;
    let receive = flow.tcp.receive_buffer.0.min(if flow.tcp.window_scaling { u64::MAX } else { 65_535 });
    let send = flow.tcp.send_buffer.map_or(u64::MAX, |size| size.0);
    let congestion = flow.tcp.max_cwnd.map_or(u64::MAX, |segments| u64::from(segments) * segment);
    (receive / 2).min(send / 2).min(congestion).max(segment)
}

/// The lowest rate on the path, there and back, of links and of the schemes on them, less what a code adds to the data.
pub(super) fn bottleneck(scenario: &Scenario, flow: &FlowPlan) -> Rate {
    let [from, to] = flow.ends;
    let rates = scenario.path(from, to).into_iter().chain(scenario.path(to, from)).flat_map(|(link, direction)| {
        let plan = &scenario.links[link];
        let scheme = plan.scheme.iter().flat_map(|scheme| &scheme.settings);
        let set = scheme.filter(|(key, _)| key.ends_with("rate")).filter_map(|(_, value)| value.parse::<Rate>().ok());
        let expansion = plan.scheme.as_ref().map_or(1, expansion);
        let rates = set.chain(plan.directions[direction].rate.constant());
        rates.map(move |rate| Rate::from_bps(rate.bps() / expansion)).collect::<Vec<_>>()
    });
    rates.min().unwrap_or(Rate::from_bps(1_000_000_000))
}

/// Packets that leave for one of data where redundancy `r` was drawn: a block may have one packet.
fn expansion(scheme: &SchemePlan) -> u64 {
    let r = scheme.settings.iter().find(|(key, _)| key == "r");
    r.and_then(|(_, value)| value.parse::<u64>().ok()).map_or(1, |r| 1 + r)
}

/// Propagation and full queues, those of schemes among them, there and back.
pub(super) fn round_trip(scenario: &Scenario, [from, to]: [usize; 2]) -> Duration {
    let hops = scenario.path(from, to).into_iter().chain(scenario.path(to, from));
    let times = hops.map(|(link, direction)| {
        let scheme = scenario.links[link].scheme.iter().flat_map(|scheme| &scheme.settings);
        let of_scheme = scheme.filter(|(key, _)| key == "queue").filter_map(|(_, size)| size.parse::<ByteSize>().ok());
        let plan = &scenario.links[link].directions[direction];
        let of_link = plan.queue.limit().bytes(plan.mtu);
        let bytes = of_scheme.map(|size| size.0).chain([of_link]).max().unwrap_or(0);
        let waiting = plan
            .rate
            .constant()
            .map_or(Duration::ZERO, |rate| rate.serialisation(u32::try_from(bytes).unwrap_or(u32::MAX), &mut 0));
        plan.delay.longest() + waiting
    });
    times.fold(tunnel(scenario), Duration::saturating_add)
}

/// What waits in a trunk's own queue, at the lowest rate there is.
fn tunnel(scenario: &Scenario) -> Duration {
    let Some(trunk) = &scenario.trunk else { return Duration::ZERO };
    let packets = trunk.scheme.settings.iter().find(|(key, _)| key == "tunnel");
    let packets = packets.and_then(|(_, value)| value.parse::<u32>().ok()).unwrap_or(50);
    let rates =
        scenario.links.iter().flat_map(|link| &link.directions).filter_map(|direction| direction.rate.constant());
    rates.min().map_or(Duration::ZERO, |rate| rate.serialisation(packets.saturating_mul(1500), &mut 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tables;
    use crate::scenario::{LinkPlan, SocketPlan, scenario};

    #[test]
    fn a_file_whose_timeouts_double_is_short_and_has_time_for_each_of_them() {
        let mut found = 0;
        for seed in 0..300 {
            let scenario = scenario(seed, &Tables::built_in());
            for flow in &scenario.flows {
                let Some(size) = flow.size.filter(|_| flow.socket.backs_off(flow.tcp.timestamps)) else { continue };
                found += 1;
                let segments = size.div_ceil(segment(&flow.tcp));
                assert!(size <= 10 * u64::from(flow.tcp.mtu), "seed {seed}: {size}");
                // The least RTO of a control TCP is a second.
                let doubled = (0..segments).map(|n| Duration::from_secs((1 << n.min(20)).min(120)));
                let doubled = doubled.fold(Duration::ZERO, Duration::saturating_add);
                let begin = flow.start.max(scenario.heal);
                assert!(deadline(&scenario, flow) - begin >= doubled, "seed {seed}");
            }
        }
        assert!(found > 20, "{found}");
    }

    #[test]
    fn an_endless_flow_whose_timeouts_double_has_time_for_the_longest_of_them() {
        let mut found = 0;
        for seed in 0..300 {
            let scenario = scenario(seed, &Tables::built_in());
            for flow in &scenario.flows {
                if flow.size.is_none() && flow.socket.backs_off(flow.tcp.timestamps) {
                    found += 1;
                    assert!(last_part(&scenario) >= CONTROL_MAX_RTO * TIMEOUTS, "seed {seed}");
                }
            }
        }
        assert!(found > 5, "{found}");
    }

    #[test]
    fn what_delays_an_acknowledgment_counts_in_each_round() {
        let ms = Duration::from_millis;
        let tcp = Config {
            delayed_ack_timeout: ms(40),
            delayed_ack_longest: Some(ms(200)),
            gro_flush_timeout: Some(ms(5)),
            ..Config::default()
        };
        assert_eq!((longest_delay(&tcp), longest_delay(&Config::without_habits())), (ms(205), ms(40)));
    }

    #[test]
    fn a_file_that_timeouts_repair_one_by_one_is_short_and_has_time_for_each_segment() {
        let mut found = 0;
        for seed in 0..300 {
            let scenario = scenario(seed, &Tables::built_in());
            for flow in &scenario.flows {
                let Some((size, wait)) = flow.size.zip(repair_wait(&scenario, flow)) else { continue };
                found += 1;
                let segments = size.div_ceil(segment(&flow.tcp));
                assert!(segments <= 10 || wait * segments <= Duration::from_secs(120), "seed {seed}: {segments}");
                let begin = flow.start.max(scenario.heal);
                assert!(deadline(&scenario, flow) - begin >= wait * segments, "seed {seed}");
            }
        }
        assert!(found > 20, "{found}");
    }

    /// Two flows to the far end of a link with Fast-TCP: one that never ends, and a file.
    fn behind_fast_tcp(settings: &[(&str, &str)]) -> Scenario {
        let direction = LinkSettings { rate: Rate::from_bps(600_000).into(), mtu: 1500, ..LinkSettings::default() };
        let settings = settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let scheme = Some(SchemePlan { entry: fast_tcp::ENTRY, settings });
        let links = vec![LinkPlan { ends: [0, 1], directions: [direction.clone(), direction], scheme }];
        let flow = |size| FlowPlan {
            ends: [0, 1],
            socket: SocketPlan::tcp(),
            tcp: Config::without_habits(),
            start: Duration::ZERO,
            size,
            ipv6: false,
        };
        let flows = vec![flow(None), flow(Some(LAST_BYTES))];
        Scenario { seed: 1, nodes: 2, links, flows, trunk: None, heal: Duration::ZERO, near_wrap: false }
    }

    fn wait_of_file(scenario: &Scenario) -> Duration {
        wait_behind_endless(scenario, &scenario.flows[1])
    }

    #[test]
    fn a_file_behind_an_endless_flow_in_a_full_ack_buffer_has_time_for_that_wait_in_each_round() {
        let mode = ("mode", "paper");
        let scenario = behind_fast_tcp(&[mode]);
        // 250 kB of 40 bytes each, two packets of 20 ms apart.
        let wait = Duration::from_secs(250);
        assert_eq!(wait_of_file(&scenario), wait);
        assert!(deadline(&scenario, &scenario.flows[1]) >= wait * (8 + TIMEOUTS));
        let set = [("spacing", "1ms"), ("threshold", "9kB, 18kB"), ("ack_buffer", "4kB")];
        let small = behind_fast_tcp(&[[mode].as_slice(), &set].concat());
        assert_eq!(wait_of_file(&small), Duration::from_millis(300));
        assert_eq!(wait_of_file(&behind_fast_tcp(&[mode, ("rate", "300kbit")])), wait * 2);
    }

    #[test]
    fn acknowledgments_wait_only_where_those_of_another_flow_fill_one_buffer_for_all() {
        let paper = || behind_fast_tcp(&[("mode", "paper")]);
        let (mut lone, mut against) = (paper(), paper());
        lone.flows[0].size = Some(LAST_BYTES);
        against.flows[0].ends = [1, 0];
        let mut back = paper();
        back.flows.iter_mut().for_each(|flow| flow.ends = [1, 0]);
        let per_flow = behind_fast_tcp(&[("mode", "paper"), ("per_flow", "true")]);
        for scenario in [lone, against, back, per_flow, behind_fast_tcp(&[])] {
            assert_eq!(wait_of_file(&scenario), Duration::ZERO, "{scenario}");
        }
        let endless = paper();
        assert_eq!(wait_behind_endless(&endless, &endless.flows[0]), Duration::ZERO, "its own are its clock");
    }
}
