//! A result in one sentence: what its schemes changed, against the same cells without any. A difference counts where the
//! intervals say so, so a result with one run of each cell tells none.

use super::baselines;
use super::summary::{CellSummary, Reading, Summary, by_cell};
use crate::metric::Unit;
use crate::scenario::Scenario;
use indexmap::IndexSet;

/// A cell with schemes, and the one without.
struct Pair<'a> {
    with: &'a CellSummary,
    plain: &'a CellSummary,
}

/// The sentence; `None` if no cell has one without schemes beside it.
pub fn headline(scenario: &Scenario, summary: &Summary) -> Option<String> {
    let cells = by_cell(scenario, &summary.cells, |cell| &cell.at);
    let with = (0..cells.len()).filter(|index| !scenario.cells[*index].scenario.schemes.is_empty());
    let baselines = baselines(scenario);
    let pair = |index: usize| Some(Pair { with: cells[index]?, plain: cells[baselines[index]?]? });
    let pairs: Vec<Pair<'_>> = with.filter_map(pair).collect();
    if pairs.is_empty() {
        return None;
    }
    let kinds = scenario.cells.iter().flat_map(|cell| &cell.scenario.schemes).map(|scheme| scheme.kind.as_str());
    let schemes = kinds.collect::<IndexSet<_>>().into_iter().collect::<Vec<_>>().join(" or ");
    if pairs.iter().any(|pair| pair.with.seeds.len() < 2) {
        return Some(format!(
            "One run of each cell does not tell what {schemes} changes, because runs differ: repeat with --set runs=3 or more."
        ));
    }
    let goodput = Differences::between(&pairs, |pair| {
        Some((
            pair.with.readings.get("times_baseline")?,
            Reading { median: 1.0, ci95: Some([1.0; 2]), runs: Vec::new() },
        ))
    });
    let times = |ratio: f64, _: f64| format!("{} × plain", Unit::Times.write(ratio));
    let cells = if pairs.len() == 1 { " cell".to_owned() } else { format!(" of {} cells", pairs.len()) };
    let mut parts = vec![format!("goodput is {}", goodput.words(&cells, "", ["up to ", "down to "], times))];
    for probe in &scenario.cells[0].scenario.probes {
        let name = format!("probes.{}.rtt_ns.p95", probe.name);
        let round_trip = |cell: &CellSummary| cell.readings.get(&name);
        let waits = Differences::between(&pairs, |pair| Some((round_trip(pair.with)?, round_trip(pair.plain)?)));
        let by = |with: f64, plain: f64| format!("{} ms", Unit::Millis.write((with - plain).abs()));
        let words = waits.words("", "by ", ["up to "; 2], by);
        parts.push(format!("the 95th percentile of the round trips of {} is {words}", probe.name));
    }
    Some(format!("With {schemes}, {}.", parts.join("; ")))
}

/// Where a measure is higher with schemes, and where it is lower; the two medians where they differ most.
#[derive(Default)]
struct Differences {
    higher: Side,
    lower: Side,
}

#[derive(Default)]
struct Side {
    cells: usize,
    most: Option<(f64, f64)>,
}

impl Differences {
    /// `values` of a pair, with schemes and without.
    fn between(pairs: &[Pair<'_>], values: impl Fn(&Pair<'_>) -> Option<(Reading, Reading)>) -> Differences {
        let mut differences = Differences::default();
        for (with, plain) in pairs.iter().filter_map(values) {
            let (Some([low, high]), Some([plain_low, plain_high])) = (with.ci95, plain.ci95) else { continue };
            if low > plain_high {
                differences.higher.add(with.median, plain.median);
            } else if high < plain_low {
                differences.lower.add(with.median, plain.median);
            }
        }
        differences
    }

    /// `before` stands before a difference, and `up_to` before the largest of several, upwards and downwards.
    fn words(&self, cells: &str, before: &str, up_to: [&str; 2], size: impl Fn(f64, f64) -> String) -> String {
        let words = |side: &Side, up_to: &str, cells: &str| match side.most {
            Some((with, plain)) if side.cells == 1 => format!("in 1{cells} ({before}{})", size(with, plain)),
            Some((with, plain)) => format!("in {}{cells} ({before}{up_to}{})", side.cells, size(with, plain)),
            None => format!("in none{cells}"),
        };
        format!("higher {} and lower {}", words(&self.higher, up_to[0], cells), words(&self.lower, up_to[1], ""))
    }
}

impl Side {
    fn add(&mut self, with: f64, plain: f64) {
        self.cells += 1;
        let size = |(with, plain): (f64, f64)| (with - plain).abs();
        self.most = self.most.into_iter().chain([(with, plain)]).max_by(|a, b| size(*a).total_cmp(&size(*b)));
    }
}
