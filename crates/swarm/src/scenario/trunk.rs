//! A random trunk: a scheme along the path of a flow, over links that leave its header packets alone.

use super::{Scenario, SchemePlan, TrunkPlan, link};
use crate::Tables;
use crate::draw::Draw;
use crate::parameters::{Reach, Scale};
use crate::site;
use airtcp_schemes::{Placement, SchemeEntry};

/// Schemes that read TCP headers would mistake header packets for duplicate acknowledgments (docs/decoupling.md). These
/// schemes carry any packet.
const TRANSPARENT: [&str; 3] = ["arq", "fec", "local-recovery"];

/// Parameters whose moderate values make a control TCP as slow as one likes: progress is asked for with their defaults.
const SLOW: [&str; 3] = ["delayed_ack", "delayed_ack_timeout", "rto_tick"];

/// A trunk for one of the flows, if its path is free of schemes that read TCP.
pub(super) fn draw_trunk(draw: &mut Draw, scenario: &Scenario, tables: &Tables<'_>) -> Option<TrunkPlan> {
    let along: Vec<SchemeEntry> =
        tables.schemes.iter().filter(|entry| entry.placement == Placement::Path).copied().collect();
    if along.is_empty() || !draw.percent(40) {
        return None;
    }
    let ends = scenario.flows[draw.index(scenario.flows.len())].ends;
    let hops = scenario.path(ends[0], ends[1]);
    let carries = |(place, hop): (usize, &(usize, usize))| match &scenario.links[hop.0].scheme {
        None => true,
        // The trunk's own element is before the first link.
        Some(scheme) => place > 0 && TRANSPARENT.contains(&scheme.entry.slug),
    };
    if !hops.iter().enumerate().all(carries) {
        return None;
    }
    let directions = hops.iter().map(|(link, direction)| &scenario.links[*link].directions[*direction]);
    let rate = directions.clone().filter_map(|direction| direction.rate.constant()).min();
    let mtu = directions.map(|direction| direction.mtu).min()?;
    let least_packets = link::least_queue(scenario.flows.len());
    let entry = draw.pick(&along);
    let scale = Scale { reach: Reach::Moderate, rate, least_packets, mtu };
    let mut settings = site::draw_settings(draw, &entry, &scale);
    settings.retain(|(key, _)| !SLOW.contains(&key.as_str()));
    Some(TrunkPlan { ends, scheme: SchemePlan { entry, settings } })
}
