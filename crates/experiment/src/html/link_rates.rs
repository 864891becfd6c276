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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Catalogue;
    use crate::scenario::{Scenario, Source};
    use serde_json::json;

    const FILE: &str = r#"
schema = 1
duration = "2s"

[nodes]
sender = {}
a = {}
b = {}
receiver = {}

[links.wire]
between = ["sender", "a"]

[links.air]
between = ["a", "b"]
rate = ["10Mbit", "5Mbit from 1s"]

[links.lan]
between = ["b", "receiver"]

[flows.down]
from = "sender"
to = "receiver"

[flows.up]
from = "receiver"
to = "sender"

[schemes.repair]
kind = "gsnoop"
on = "air"
"#;

    fn cell() -> ResolvedScenario {
        let source = Source { file: "rates.toml".into(), text: FILE.into() };
        let scenario = Scenario::read(&source, &[], &Catalogue::BUILT_IN, &mut |_| unreachable!("no base"));
        scenario.expect("a scenario").cells.swap_remove(0).scenario
    }

    /// Both directions of the air, and what both gateways believe: `far` of the one at `b`.
    fn series(far: u64) -> CellSeries {
        let rate = |name: &str, bps: u64| json!({"name": name, "at_ms": [1, 2], "rate_bps": [bps, bps]});
        let near = json!({"name": "schemes.repair.a", "at_ms": [1, 2], "rate_bps": [0, 9], "queue_bytes": [5, 6]});
        let file = json!({
            "links": [rate("links.air.forward", 10), rate("links.air.reverse", 20)],
            "schemes": [near, rate("schemes.repair.b", far)],
        });
        serde_json::from_value(file).expect("a cell")
    }

    fn shown(cell: &ResolvedScenario, far: u64) -> Vec<(String, Vec<String>, Vec<String>)> {
        let rates = of(cell, &series(far), Columns::clone).into_iter();
        let names = |columns: Vec<Columns>| columns.into_iter().map(|columns| columns.name).collect();
        rates.map(|rate| (rate.link, names(rate.beliefs), rate.flows)).collect()
    }

    #[test]
    fn each_gateway_is_held_against_the_direction_that_it_sends_into() {
        let row = |link: &str, node: &str, flow: &str| {
            (format!("links.air.{link}"), vec![format!("schemes.repair.{node}")], vec![flow.to_owned()])
        };
        let both = [row("forward", "a", "down"), row("reverse", "b", "up")];
        assert_eq!(shown(&cell(), 7), both);
        assert_eq!(shown(&cell(), 0), both[..1], "who never knew a rate is not shown");
        let mut cell = cell();
        cell.schemes[0].on = On::Path(0, 3);
        assert!(shown(&cell, 7).is_empty(), "the gateways of that path are elsewhere");
        cell.nodes.swap(0, 1);
        cell.nodes.swap(2, 3);
        assert_eq!(shown(&cell, 7), both, "they send over several links");
    }

    #[test]
    fn only_what_is_drawn_is_in_the_page() {
        let rates = of(&cell(), &series(7), Columns::clone);
        let keys: Vec<&str> = rates[0].beliefs[0].columns.keys().map(String::as_str).collect();
        assert_eq!((keys, rates[0].samples()), (vec!["at_ms", "rate_bps"], 4));
    }
}
