//! The ceiling: the goodput that no repair can exceed.
//!
//! *Ceiling* = rate of the bottleneck in IP bits per second × (1 − PER of the data direction) × payload ÷ IP size of
//! a full segment, each link of the path taken by itself, so that it is capped by the wired part; and at most one
//! receive window per round trip. PER is the long-run share of full-size packets that the loss model takes, with
//! those that arrive damaged; what reordering, outages and acknowledgments cost is not taken off. Of flows that
//! share a bottleneck the ceiling is counted once.

use crate::scenario::{FlowSpec, Hop, ResolvedScenario, path};
use airtcp_core::Probability;
use std::collections::BTreeMap;

/// Most application bits per second that all flows together can get; `None` where nothing limits them.
pub fn ceiling_bps(scenario: &ResolvedScenario) -> Option<f64> {
    // For each bottleneck direction: what it carries, and what the windows of its flows allow.
    let mut bottlenecks: BTreeMap<(usize, bool), (f64, f64)> = BTreeMap::new();
    let mut unlimited_link = 0.0;
    for flow in &scenario.flows {
        let hops = path(&scenario.links, scenario.nodes.len(), flow.from, flow.to)?;
        let window = window_bps(scenario, flow, &hops);
        let slowest = hops
            .iter()
            .filter_map(|hop| Some((goodput_bps(scenario, flow, *hop)?, *hop)))
            .min_by(|(a, _), (b, _)| a.total_cmp(b));
        match slowest {
            None if window.is_infinite() => return None,
            None => unlimited_link += window,
            Some((bps, hop)) => {
                let entry = bottlenecks.entry((hop.link, hop.forward)).or_insert((bps, 0.0));
                entry.0 = entry.0.max(bps);
                entry.1 += window;
            }
        }
    }
    let limited: f64 = bottlenecks.values().map(|(link, window)| link.min(*window)).sum();
    Some(limited + unlimited_link)
}

/// What one link carries of one flow, in application bits per second.
fn goodput_bps(scenario: &ResolvedScenario, flow: &FlowSpec, hop: Hop) -> Option<f64> {
    let settings = hop.settings(scenario);
    let packet = flow.config.mtu.min(settings.mtu);
    let segment = flow.sizes().payload.saturating_sub(flow.config.mtu.saturating_sub(packet));
    let per = settings.loss.mean(packet);
    let arrives = as_ratio(per.complement()) * as_ratio(settings.corrupt.complement());
    Some(settings.rate?.bps() as f64 * arrives * f64::from(segment) / f64::from(packet))
}

fn window_bps(scenario: &ResolvedScenario, flow: &FlowSpec, hops: &[Hop]) -> f64 {
    let one_way = |hop: &Hop| hop.settings(scenario).delay.as_nanos() + hop.back().settings(scenario).delay.as_nanos();
    let round_trip: u64 = hops.iter().map(one_way).sum();
    let window = flow.config.receive_buffer.0 as f64;
    if round_trip == 0 { f64::INFINITY } else { window * 8e9 / round_trip as f64 }
}

fn as_ratio(probability: Probability) -> f64 {
    if probability == Probability::ALWAYS { 1.0 } else { probability.fixed() as f64 / 2f64.powi(64) }
}
