//! Random flows: where they go, when, how much, and how their ends are configured.

use super::socket::draw_socket;
use super::{FlowPlan, Scenario, bound};
use crate::Tables;
use crate::draw::Draw;
use crate::parameters::{self, Reach, Scale};
use airtcp_core::parameters::Parameters;
use airtcp_core::{ByteSize, Duration};
use airtcp_tcp::{Config, RtoRule};

/// Draws a flow for the links of `scenario`.
pub(super) fn draw_flow(draw: &mut Draw, scenario: &Scenario, tables: &Tables<'_>) -> FlowPlan {
    let from = draw.index(scenario.nodes);
    let to = (from + 1 + draw.index(scenario.nodes - 1)) % scenario.nodes;
    let hops = scenario.path(from, to).into_iter().chain(scenario.path(to, from));
    let mtu = hops.map(|(link, direction)| scenario.links[link].directions[direction].mtu).min().unwrap_or(1500);
    let mut tcp = draw_config(draw, mtu, tables);
    // Below the round trip the retries of a SYN are over before its answer can be there.
    tcp.max_rto = tcp.max_rto.max(bound::round_trip(scenario, [from, to]));
    let start = Duration::from_nanos(draw.below(scenario.heal.as_nanos() * 5 / 4));
    let size = draw.percent(70).then(|| draw_size(draw, scenario.near_wrap));
    let ipv6 = draw.percent(50);
    let socket = draw_socket(draw, scenario, [from, to], mtu, size.is_none(), tables);
    // The data TCP of a decoupling socket sends one segment again for a timeout (DEC-32), however many are lost, and a
    // control TCP with a window of a segment or two repairs nothing else but by timeouts. Where these back off up to
    // two minutes, and no repair is a sample, short files end in time even so.
    let most = if socket.backs_off(tcp.timestamps) { SHORT * u64::from(tcp.mtu) } else { u64::MAX };
    let size = size.map(|size| size.min(most));
    FlowPlan { ends: [from, to], socket, tcp, start, size, ipv6 }
}

/// Shortens files of which timeouts repair one segment each to as many as are repaired in [`REPAIRS`].
pub(super) fn shorten(scenario: &mut Scenario) {
    for index in 0..scenario.flows.len() {
        let flow = &scenario.flows[index];
        let Some((size, wait)) = flow.size.zip(bound::repair_wait(scenario, flow)) else { continue };
        let segments = (REPAIRS.as_nanos() / wait.as_nanos().max(1)).max(SHORT);
        scenario.flows[index].size = Some(size.min(segments * bound::segment(&flow.tcp)));
    }
}

/// Packets of a file that hardly anything but long timeouts repairs.
const SHORT: u64 = 10;
/// Time that the timeouts of a file take if each repairs one segment and files are not short: TCP's longest timeout.
const REPAIRS: Duration = Duration::from_secs(120);

/// Everything from nothing to a few hundred packets; across the wrap where there is one.
fn draw_size(draw: &mut Draw, near_wrap: bool) -> u64 {
    if near_wrap && draw.percent(40) {
        return draw.between(400_000, 700_000);
    }
    draw.magnitude(0, 300_000)
}

/// Timeouts in a row that no healthy network causes, however short they are: the time after which a connection gives up
/// follows from its longest RTO, which is drawn.
const RETRIES: u32 = 1000;

/// SYNs that outlast whatever holds up their answer.
const SYN_RETRIES: u32 = 200;

/// Has SYNs and their answers outlast what holds them up: the faults and the timeouts that other flows cost them behind
/// full queues, or a trunk that lets nothing through yet ([`bound`] says for how long) or has a full queue of its own. A flow
/// that never ends may lock others out of a queue of some packets for longer (RFC 2309 section 2): each of its acknowledgments frees
/// a place, which its next packet takes before another's SYN comes; SYNs that come in step with that are dropped, each.
pub(super) fn outlast_waits(scenario: &mut Scenario) {
    for index in 0..scenario.flows.len() {
        let flow = &scenario.flows[index];
        let wait = scenario.heal + bound::timeouts(scenario, flow);
        let is_beside = |other: (usize, &FlowPlan)| other.0 != index && other.1.size.is_none();
        let may_be_locked_out = scenario.flows.iter().enumerate().any(is_beside);
        if scenario.trunk.is_some() || may_be_locked_out || patience(&flow.tcp) < wait {
            scenario.flows[index].tcp.syn_retries = SYN_RETRIES;
        }
    }
}

/// Has repeated segments fit the links where timeouts do not back off: all flows together may repeat as much as half of
/// the slowest link on their way carries.
///
/// With an RTO of 200 ms, packets of 9000 bytes and 300 kbit/s, one flow alone fills the link with copies of a segment,
/// for good: the queue delays each acknowledgment, and without backoff or timestamps nothing tells the flow so.
pub(super) fn repeat_within_reason(scenario: &mut Scenario) {
    let flows = scenario.flows.len() as u32;
    for index in 0..scenario.flows.len() {
        let flow = &scenario.flows[index];
        let least = bound::bottleneck(scenario, flow).serialisation(flow.tcp.mtu.saturating_mul(2 * flows), &mut 0);
        let tcp = &mut scenario.flows[index].tcp;
        if !tcp.rto_backoff {
            tcp.min_rto = tcp.min_rto.max(least);
            tcp.max_rto = tcp.max_rto.max(tcp.min_rto);
        }
    }
}

/// How long a connection repeats its SYN before it fails.
fn patience(tcp: &Config) -> Duration {
    let waits = (0..=tcp.syn_retries).scan(tcp.initial_rto, |wait, _| {
        let this = (*wait).min(tcp.max_rto);
        *wait = if tcp.rto_backoff { this.saturating_mul(2) } else { this };
        Some(this)
    });
    waits.fold(Duration::ZERO, Duration::saturating_add)
}

/// Any parameters but those by which a connection is told to give up, those that the simulator sets, and the tick of the
/// host's clock, without which the kept seeds keep their networks.
fn draw_config(draw: &mut Draw, mtu: u32, tables: &Tables<'_>) -> Config {
    const FIXED: [&str; 26] = [
        "controller",
        "mtu",
        "auto_read",
        "syn_retries",
        "syn_linear_timeouts",
        "max_retries",
        "keepalive",
        "keepalive_time",
        "keepalive_interval",
        "keepalive_probes",
        "time_wait",
        "random_seed",
        "jiffy",
        "delayed_ack_longest",
        "quick_acks_after_idle",
        "sack_compression",
        "sack_compression_delay",
        "sack_compression_slack",
        "sack_compression_acks",
        "window_growth",
        "receive_autotuning",
        "send_autotuning",
        "gro_flush_timeout",
        "ecn_answer",
        "pacing",
        "tso",
    ];
    let mut config = Config::without_habits();
    let mut fields = config.fields();
    fields.retain(|field| !FIXED.contains(&field.name));
    let scale = Scale { reach: Reach::Moderate, rate: None, least_packets: 2, mtu };
    for (key, value) in parameters::draw_settings(draw, &fields, &scale) {
        // A value drawn for a field's kind always parses; a test of the parameters verifies this.
        let _ = config.set(&key, &value.into());
    }
    // Without congestion control a flow floods its first queue; it belongs into a decoupling socket.
    let controlled: Vec<_> = tables.controllers.iter().filter(|entry| entry.slug != "unlimited").copied().collect();
    let entry = draw.pick(&controlled);
    config.controller = parameters::draw_controller(draw, &entry);
    config.mtu = if draw.percent(80) { mtu } else { draw.between(u64::from(mtu / 2), u64::from(mtu)) as u32 };
    if draw.percent(20) {
        config.receive_buffer = ByteSize(draw.magnitude(scale.least_size(), 100_000));
    }
    // A pending timer delays all progress after healing, so it is limited to the length of the run.
    config.max_rto = config.max_rto.min(draw.span(Duration::from_secs(2), Duration::from_secs(8))).max(config.min_rto);
    config.initial_rto = config.initial_rto.min(Duration::from_secs(3));
    // Its SYNs outlast the faults whatever their interval.
    config.syn_linear_timeouts = 0;
    config.syn_retries = if config.rto_backoff { config.syn_retries } else { SYN_RETRIES };
    // What it sent may wait for a control TCP, whose timeouts are longer than these.
    config.max_retries = RETRIES;
    config.rto_tick = config.rto_tick.map(|tick| tick.min(Duration::from_millis(500)));
    match config.rto_rule {
        RtoRule::Linux => {}
        RtoRule::Rfc6298 => config.min_rto = config.min_rto.max(Duration::from_millis(50)),
        // Below the round trip everything would be sent again for ever.
        RtoRule::Constant => config.min_rto = config.max_rto,
    }
    draw_habits(&mut config);
    config
}

/// Habits of Linux that are options: half of the flows have some. They have a stream of their own, which follows from what
/// was drawn before, so that the kept seeds keep their networks.
fn draw_habits(config: &mut Config) {
    let mut draw = Draw::new(config.receive_buffer.0 ^ config.min_rto.as_nanos(), "habits");
    if draw.percent(50) {
        return;
    }
    let mut has = || draw.percent(50);
    config.quick_acks_after_idle = has();
    config.sack_compression = has();
    config.window_growth = has();
    config.receive_autotuning = has();
    config.send_autotuning = has();
    config.pacing = has();
    config.tso = has();
    config.delayed_ack_longest = has().then(|| config.delayed_ack_timeout.max(Duration::from_millis(200)));
    config.sack_compression_acks = draw.between(0, 60) as u32;
    let wait = draw.span(Duration::ZERO, Duration::from_millis(5));
    config.gro_flush_timeout = draw.percent(50).then_some(wait);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::scenario;

    #[test]
    fn a_syn_is_repeated_for_as_long_as_full_queues_may_hold_up_its_answer() {
        let (mut few, mut many) = (0, 0);
        for seed in 0..300 {
            let scenario = scenario(seed, &Tables::built_in());
            for flow in scenario.flows.iter().filter(|flow| flow.tcp.rto_backoff && scenario.trunk.is_none()) {
                let round_trip = bound::round_trip(&scenario, flow.ends);
                assert!(patience(&flow.tcp) >= round_trip.saturating_mul(12), "seed {seed}: {round_trip}");
                *if flow.tcp.syn_retries == SYN_RETRIES { &mut many } else { &mut few } += 1;
            }
        }
        assert!(few > 20 && many > 20, "{few} {many}");
    }

    #[test]
    fn what_is_repeated_without_backoff_takes_half_of_a_link_at_most() {
        let mut found = 0;
        for seed in 0..300 {
            let scenario = scenario(seed, &Tables::built_in());
            for (index, link) in scenario.links.iter().enumerate() {
                for (direction, settings) in link.directions.iter().enumerate() {
                    let uses =
                        |flow: &&FlowPlan| scenario.path(flow.ends[0], flow.ends[1]).contains(&(index, direction));
                    let repeating = scenario.flows.iter().filter(uses).filter(|flow| !flow.tcp.rto_backoff);
                    // Bits a second: a segment for each of the shortest timeouts.
                    let load = |tcp: &Config| u64::from(tcp.mtu) * 8 * 1_000_000_000 / tcp.min_rto.as_nanos().max(1);
                    let rate = settings.rate.constant().map_or(0, |rate| rate.bps());
                    let sum: u64 = repeating.map(|flow| load(&flow.tcp)).sum();
                    assert!(sum <= rate / 2, "seed {seed}, l{index}: {sum} bit/s of {rate}");
                }
            }
            found += scenario.flows.iter().filter(|flow| !flow.tcp.rto_backoff).count();
        }
        assert!(found > 20, "{found}");
    }

    #[test]
    fn behind_a_trunk_a_syn_is_repeated_for_as_long_as_the_trunk_may_let_nothing_through() {
        let mut found = 0;
        for seed in 0..100 {
            let scenario = scenario(seed, &Tables::built_in());
            for flow in scenario.flows.iter().filter(|_| scenario.trunk.is_some()) {
                found += 1;
                // Each interval is the initial RTO at least.
                let least = flow.tcp.initial_rto.min(flow.tcp.max_rto).saturating_mul(u64::from(flow.tcp.syn_retries));
                assert!(least > scenario.heal.saturating_mul(5), "seed {seed}: {least}");
            }
        }
        assert!(found > 20, "{found}");
    }
}
