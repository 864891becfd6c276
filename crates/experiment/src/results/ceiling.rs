//! The ceiling: the goodput that no repair can exceed.
//!
//! What all flows together can get at most over the links that they take: each carries its rate in IP bits per second,
//! where it varies the mean of what the run's seed gives it while the run is measured, ×
//! (1 − PER of the data direction) × payload ÷ IP size of a full segment; and each flow gets at most one receive window
//! per round trip and no more than its socket sends. Where flows share links it is the largest sum that fits all of them, by linear programming. PER is the
//! long-run share of full-size packets that the loss model takes, with those that arrive damaged; what reordering,
//! outages and acknowledgments cost is not taken off.

use crate::scenario::{FlowSpec, Hop, Paths, ResolvedScenario, Step};
use airtcp_core::{Duration, Probability, Rate};
use airtcp_schemes::socket::PacketSizes;
use microlp::{ComparisonOp, OptimizationDirection, Problem};
use std::collections::BTreeMap;

/// Flows that the same links limit in the same way.
struct Group {
    /// Each link that they share with others, and what it carries if it carries nothing else.
    links: Vec<(Hop, f64)>,
    /// What they get at most if those links were no limit.
    most: f64,
}

/// Most application bits per second that all flows together can get; `None` where nothing limits them, and for flows
/// over 802.11 cells. `seed` is that of the run; it makes no difference where no rate varies by chance.
pub fn ceiling_bps(scenario: &ResolvedScenario, seed: u64) -> Option<f64> {
    let paths = Paths::new(scenario.nodes.len(), &scenario.links, &scenario.wlans);
    let group = |[from, to]: [usize; 2], full: PacketSizes, most: &dyn Fn(&[Hop]) -> f64| {
        let hops: Vec<Hop> = paths.between(from, to)?.into_iter().map(Step::link).collect::<Option<_>>()?;
        // What arrives while the run is measured left each link so much earlier.
        let before = |at: usize| {
            hops[at..].iter().map(|hop| hop.settings(scenario).delay.nominal()).fold(Duration::ZERO, |a, b| a + b)
        };
        let links = hops.iter().enumerate().filter_map(|(at, hop)| {
            Some((*hop, goodput_bps(scenario, full, *hop, rate_bps(scenario, seed, *hop, before(at))?)))
        });
        Some(Group { links: links.collect(), most: most(&hops) })
    };
    let of_flows = scenario
        .flows
        .iter()
        .map(|flow| group([flow.from, flow.to], flow.sizes(), &|hops: &[Hop]| own_bps(scenario, flow, hops)));
    // As many connections as it takes: no window limits them, and chance may ask for more than the load.
    let of_workloads = scenario
        .workloads
        .iter()
        .map(|workload| group([workload.from, workload.to], workload.sizes_of_packets(), &|_: &[Hop]| f64::INFINITY));
    let each = of_flows.chain(of_workloads).collect::<Option<Vec<Group>>>()?;
    let groups = bounded(joined(bounded(each)));
    let (free, sharing): (Vec<Group>, Vec<Group>) = groups.into_iter().partition(|group| group.links.is_empty());
    let free: f64 = free.iter().map(|group| group.most).sum();
    free.is_finite().then(|| free + most_together(&sharing))
}

/// A link of one group alone becomes a bound of that group.
fn bounded(mut groups: Vec<Group>) -> Vec<Group> {
    let mut users: BTreeMap<Hop, u32> = BTreeMap::new();
    groups.iter().flat_map(|group| &group.links).for_each(|(hop, _)| *users.entry(*hop).or_default() += 1);
    for group in &mut groups {
        let (shared, own) =
            std::mem::take(&mut group.links).into_iter().partition(|(hop, bps)| users[hop] > 1 && *bps > 0.0);
        group.links = shared;
        group.most = own.iter().fold(group.most, |most, (_, bps): &(Hop, f64)| most.min(*bps));
    }
    groups
}

/// Groups that the same links limit alike become one.
fn joined(groups: Vec<Group>) -> Vec<Group> {
    let mut alike: BTreeMap<Vec<(Hop, u64)>, Group> = BTreeMap::new();
    for group in groups {
        let key = group.links.iter().map(|(hop, bps)| (*hop, bps.to_bits())).collect();
        let all = alike.entry(key).or_insert(Group { most: 0.0, links: group.links });
        all.most += group.most;
    }
    alike.into_values().collect()
}

/// The largest sum that fits all links.
fn most_together(groups: &[Group]) -> f64 {
    let links = || groups.iter().flat_map(|group| &group.links);
    // The solver's tolerances are for numbers about one.
    let unit = links().map(|(_, bps)| *bps).fold(1.0, f64::max);
    let mut problem = Problem::new(OptimizationDirection::Maximize);
    let mut shares: BTreeMap<Hop, Vec<_>> = BTreeMap::new();
    for group in groups {
        let goodput = problem.add_var(1.0, (0.0, group.most / unit));
        for (hop, bps) in &group.links {
            shares.entry(*hop).or_default().push((goodput, unit / bps));
        }
    }
    for share in shares.values() {
        problem.add_constraint(share.as_slice(), ComparisonOp::Le, 1.0);
    }
    let solution = problem.solve().ok().and_then(|outcome| outcome.into_solution().ok());
    solution.expect("nothing sent fits, and every link is a bound").objective() * unit
}

/// What one link carries of one flow with full packets like these, in application bits per second.
fn goodput_bps(scenario: &ResolvedScenario, full: PacketSizes, hop: Hop, rate_bps: f64) -> f64 {
    let settings = hop.settings(scenario);
    let packet = (full.header + full.payload).min(settings.mtu);
    let segment = packet.saturating_sub(full.header);
    let per = settings.loss.mean(packet);
    let arrives = as_ratio(per.complement()) * as_ratio(settings.corrupt.complement());
    rate_bps * arrives * f64::from(segment) / f64::from(packet)
}

/// What a link carries while the run is measured, but so much `before`, headers included.
fn rate_bps(scenario: &ResolvedScenario, seed: u64, hop: Hop, before: Duration) -> Option<f64> {
    let rate = &hop.settings(scenario).rate;
    if !rate.is_varying() {
        return rate.constant().map(|rate| rate.bps() as f64);
    }
    let [from, until] = [scenario.warmup, scenario.duration].map(|time| time.saturating_sub(before));
    let bits = rate.bits(seed, &hop.name(scenario), from, until)?;
    Some(bits as f64 * 1e9 / scenario.measured().as_nanos() as f64)
}

/// What a flow gets at most wherever it goes: a window per round trip, and what its socket sends.
fn own_bps(scenario: &ResolvedScenario, flow: &FlowSpec, hops: &[Hop]) -> f64 {
    let full = flow.sizes();
    let payload = |rate: Rate| rate.bps() as f64 * f64::from(full.payload) / f64::from(full.header + full.payload);
    let sent = flow.socket.settings.most().map_or(f64::INFINITY, payload);
    window_bps(scenario, flow, hops).min(sent)
}

fn window_bps(scenario: &ResolvedScenario, flow: &FlowSpec, hops: &[Hop]) -> f64 {
    let one_way = |hop: &Hop| {
        hop.settings(scenario).delay.nominal().as_nanos() + hop.back().settings(scenario).delay.nominal().as_nanos()
    };
    let round_trip: u64 = hops.iter().map(one_way).sum();
    let window = flow.config.receive_buffer.0 as f64;
    if round_trip == 0 { f64::INFINITY } else { window * 8e9 / round_trip as f64 }
}

fn as_ratio(probability: Probability) -> f64 {
    if probability == Probability::ALWAYS { 1.0 } else { probability.fixed() as f64 / 2f64.powi(64) }
}
