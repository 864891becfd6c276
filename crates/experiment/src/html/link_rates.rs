//! What gateways believe that a link carries, beside what it carried: a panel of a card for each link direction whose rate
//! varies and that some box sends into.

use crate::results::series::{CellSeries, Columns};
use crate::scenario::{Hop, On, Paths, ResolvedScenario, Step};
use serde::Serialize;

/// A link direction of a cell, for the script.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LinkRate {
    /// `links.air.forward`.
    link: String,
    /// What it carried.
    real: Columns,
    /// What each box that sends into it believed.
    beliefs: Vec<Columns>,
    /// Flows whose data go this way.
    flows: Vec<String>,
}

impl LinkRate {
    /// How many samples it has, all lines together.
    pub fn samples(&self) -> usize {
        self.real.samples() + self.beliefs.iter().map(Columns::samples).sum::<usize>()
    }
}

/// The link directions of a cell of which both is known; each line goes through `thin`.
pub fn of(cell: &ResolvedScenario, series: &CellSeries, thin: impl Fn(&Columns) -> Columns) -> Vec<LinkRate> {
    let paths = Paths::new(cell.nodes.len(), &cell.links, &cell.wlans);
    let hops = (0..cell.links.len()).flat_map(|link| [true, false].map(|forward| Hop { link, forward }));
    let rates = hops.filter_map(|hop| {
        let link = hop.name(cell);
        let real = thin(series.links.iter().find(|columns| columns.name == link)?);
        let boxes = boxes_before(cell, &paths, hop);
        let before = series.schemes.iter().filter(|columns| boxes.contains(&columns.name));
        let rate_alone = |columns: &Columns| {
            let mut columns = thin(columns);
            columns.columns.retain(|key, _| ["at_ms", "rate_bps"].contains(&key.as_str()));
            columns
        };
        let knows = |columns: &&Columns| columns.column("rate_bps").iter().any(|bps| *bps > 0);
        let beliefs: Vec<Columns> = before.filter(knows).map(rate_alone).collect();
        let flows = cell.flows.iter().filter(|flow| passes(&paths, [flow.from, flow.to], hop));
        let flows = flows.map(|flow| flow.name.clone()).collect();
        (!beliefs.is_empty()).then_some(LinkRate { link, real, beliefs, flows })
    });
    rates.collect()
}

/// Names of the boxes whose packets go into `hop`, at once or after other links of their path.
fn boxes_before(cell: &ResolvedScenario, paths: &Paths, hop: Hop) -> Vec<String> {
    let between = cell.links[hop.link].between;
    let node = |on: On| match on {
        On::Link(link) => (link == hop.link).then(|| between[usize::from(!hop.forward)]),
        On::Path(from, to) if passes(paths, [from, to], hop) => Some(from),
        On::Path(from, to) if passes(paths, [to, from], hop) => Some(to),
        On::Path(..) | On::Wlan(_) => None,
    };
    let name = |name: &str, node: usize| format!("schemes.{name}.{}", cell.nodes[node]);
    cell.schemes.iter().filter_map(|scheme| Some(name(&scheme.name, node(scheme.on)?))).collect()
}

fn passes(paths: &Paths, [from, to]: [usize; 2], hop: Hop) -> bool {
    paths.between(from, to).is_some_and(|steps| steps.contains(&Step::Link(hop)))
}
