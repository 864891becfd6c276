//! What figures over time show: columns of flows, queues of links, levels of schemes.

use super::document::Table;
use super::topology::Hop;
use super::{LinkSpec, ResolvedScenario};
use crate::catalogue::Catalogue;
use airtcp_core::Gauge;
use airtcp_sim::Level;

/// The `x` of a figure over time.
pub const TIME: &str = "time";

/// Columns that every flow has; a figure adds the flows up.
pub const FLOW_COLUMNS: [&str; 4] = ["goodput_bps", "cwnd_bytes", "delivered_bytes", "acked_bytes"];

const QUEUE: &str = "queue_bytes";
const HEADERS: &str = "header_packets";
const RATE: &str = "rate_bps";
const DIRECTIONS: [&str; 2] = ["forward", "reverse"];

/// A level that a run records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LevelSpec {
    /// As figures name it: `links.air.forward.queue_bytes`, `schemes.router.held_bytes`.
    pub name: String,
    /// What it is.
    pub kind: LevelKind,
}

/// Where a level comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LevelKind {
    /// The simulator records it.
    Recorded(Level),
    /// The rate of a link, which follows from its settings and the seed, in every world.
    Rate(Hop),
}

impl LevelSpec {
    /// The rate over time in the run with `seed`: its mean since the sample before, at each time of a sample in ns. `None` for
    /// another level.
    pub fn rate_over_time(&self, scenario: &ResolvedScenario, seed: u64) -> Option<Vec<(u64, u64)>> {
        let LevelKind::Rate(hop) = self.kind else { return None };
        Some(mean_rates(hop, scenario, seed))
    }
}

fn mean_rates(hop: Hop, scenario: &ResolvedScenario, seed: u64) -> Vec<(u64, u64)> {
    let every = scenario.sample_every();
    let count = scenario.duration.as_nanos() / every.as_nanos();
    let means = hop.settings(scenario).rate.means(seed, &hop.name(scenario), every, count).unwrap_or_default();
    (1..).zip(means).map(|(sample, mean)| (every.as_nanos() * sample, mean.bps())).collect()
}

/// The same of each link direction whose rate varies, by its name.
pub fn varying_rates(scenario: &ResolvedScenario, seed: u64) -> Vec<(String, Vec<(u64, u64)>)> {
    let hops = (0..scenario.links.len()).flat_map(|link| [true, false].map(|forward| Hop { link, forward }));
    let varying = hops.filter(|hop| hop.settings(scenario).rate.is_varying());
    varying.map(|hop| (hop.name(scenario), mean_rates(hop, scenario, seed))).collect()
}

/// Everything that a figure over time can show of this file.
pub(super) fn names(document: &Table, catalogue: &Catalogue<'_>) -> Vec<String> {
    let queues = document
        .names("links")
        .into_iter()
        .flat_map(|link| DIRECTIONS.map(|direction| format!("links.{link}.{direction}")))
        .flat_map(|direction| [QUEUE, HEADERS, RATE].map(|level| format!("{direction}.{level}")));
    let gauges = document
        .names("schemes")
        .into_iter()
        .flat_map(|scheme| gauges(catalogue).map(move |gauge| format!("schemes.{scheme}.{}", gauge.label())));
    let nodes = document.names("nodes");
    let beliefs = document
        .names("schemes")
        .into_iter()
        .flat_map(|scheme| nodes.iter().map(move |node| format!("schemes.{scheme}.{node}.{RATE}")).collect::<Vec<_>>());
    FLOW_COLUMNS.map(str::to_owned).into_iter().chain(queues).chain(gauges).chain(beliefs).collect()
}

fn gauges<'a>(catalogue: &Catalogue<'a>) -> impl Iterator<Item = Gauge> + 'a {
    Gauge::COMMON.iter().chain(catalogue.schemes.iter().flat_map(|entry| entry.reports.gauges)).copied()
}

/// The levels among these names, which figures over time ask for, in a cell with these links.
pub(super) fn wanted<'a>(
    names: impl Iterator<Item = &'a str>,
    links: &[LinkSpec],
    catalogue: &Catalogue<'_>,
) -> Vec<LevelSpec> {
    let mut wanted: Vec<LevelSpec> = Vec::new();
    for name in names {
        if let Some(kind) = level(name, links, catalogue).filter(|_| wanted.iter().all(|level| level.name != name)) {
            wanted.push(LevelSpec { name: name.to_owned(), kind });
        }
    }
    wanted
}

fn level(name: &str, links: &[LinkSpec], catalogue: &Catalogue<'_>) -> Option<LevelKind> {
    let (owner, what) = name.rsplit_once('.')?;
    if let Some(scheme) = owner.strip_prefix("schemes.") {
        // What a single box believes is in every series (`CellSeries::schemes`).
        if scheme.contains('.') {
            return None;
        }
        let gauge = gauges(catalogue).find(|gauge| gauge.label() == what)?;
        return Some(LevelKind::Recorded(Level::Gauge { scheme: scheme.to_owned(), gauge }));
    }
    let (link, direction) = owner.strip_prefix("links.")?.rsplit_once('.')?;
    let index = links.iter().position(|known| known.name == link)?;
    let (link, reverse) = (index.into(), direction == DIRECTIONS[1]);
    Some(match what {
        RATE => LevelKind::Rate(Hop { link: index, forward: !reverse }),
        HEADERS => LevelKind::Recorded(Level::Headers { link, reverse }),
        _ => LevelKind::Recorded(Level::Queue { link, reverse }),
    })
}
