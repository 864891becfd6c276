//! What each cell did over time, as data for `over_time.js`: a card for each row of the first table, whose lines are
//! what the columns of that table compare.
//!
//! A page stays a few megabytes: series are thinned, evenly, so that all worlds of a page together have at most
//! [`MAX_SAMPLES`] samples, and rows of a large sweep that still do not fit are named as left out.

use super::link_rates::{self, LinkRate};
use super::stored::StoredWorld;
use crate::results::series::{CellSeries, Columns};
use crate::results::summary::CellSummary;
use crate::scenario::Scenario;
use crate::table::{Group, Layout, Row, title_of};
use serde::Serialize;
use std::borrow::Cow;

/// Samples of all flows, links and gateways on a page; one takes about 30 bytes.
pub const MAX_SAMPLES: usize = 60_000;
/// A series with fewer samples shows nothing any more.
const FEWEST: usize = 25;

/// The cards of one world.
pub struct Cards<'a> {
    /// Those for which there is room.
    pub all: Vec<Card<'a>>,
    /// Rows without a card, for want of room.
    pub left_out: usize,
    /// Whether a card shows what gateways believe of a link.
    pub has_beliefs: bool,
}

/// A row, for the script.
#[derive(Serialize)]
pub struct Card<'a> {
    title: String,
    lines: Vec<Line<'a>>,
}

/// The cards of `world`, of at most `room` samples; `None` if there is nothing to draw.
pub fn cards<'a>(scenario: &'a Scenario, world: &'a StoredWorld, room: usize) -> Option<Cards<'a>> {
    let spec = scenario.tables.first()?;
    let layout = Layout::of(scenario, spec);
    let found = Found { summaries: world.cells(scenario), series: world.series_of_cells(scenario) };
    let all = || world.series.cells.iter().flat_map(shown);
    let (total, series) = (all().map(Columns::samples).sum::<usize>(), all().count());
    let share = (room / series.max(1)).max(FEWEST);
    let (mut cards, mut left_out, mut used, mut has_beliefs) = (Vec::new(), 0, 0, false);
    for row in &layout.rows {
        let lines = lines(scenario, &found, &layout, row, if total > room { share } else { usize::MAX });
        let size: usize = lines.iter().map(Line::samples).sum();
        if lines.is_empty() {
            continue;
        }
        if used + size > room {
            left_out += 1;
            continue;
        }
        used += size;
        has_beliefs |= lines.iter().any(|line| !line.rates.is_empty());
        let labels = spec.rows.iter().zip(&row.labels).map(|(axis, label)| format!("{} {label}", title_of(axis)));
        cards.push(Card { title: labels.collect::<Vec<_>>().join(" · "), lines });
    }
    (!cards.is_empty() || left_out > 0).then_some(Cards { all: cards, left_out, has_beliefs })
}

/// What may be drawn of a cell: beliefs only where there is a rate to hold them against.
fn shown(cell: &CellSeries) -> impl Iterator<Item = &Columns> {
    let has_both = !cell.links.is_empty() && !cell.schemes.is_empty();
    let rates = cell.links.iter().chain(&cell.schemes).filter(move |_| has_both);
    cell.flows.iter().chain(rates)
}

/// What there is of each cell.
struct Found<'a> {
    summaries: Vec<Option<&'a CellSummary>>,
    series: Vec<Option<&'a CellSeries>>,
}

/// What one column of the table compares, for the script.
#[derive(Serialize)]
struct Line<'a> {
    name: String,
    ceiling: Option<u64>,
    flows: Vec<Cow<'a, Columns>>,
    rates: Vec<LinkRate>,
}

impl Line<'_> {
    fn samples(&self) -> usize {
        let of_flows = self.flows.iter().map(|flow| flow.samples()).sum::<usize>();
        of_flows + self.rates.iter().map(LinkRate::samples).sum::<usize>()
    }
}

fn lines<'a>(scenario: &Scenario, found: &Found<'a>, layout: &Layout, row: &Row, most: usize) -> Vec<Line<'a>> {
    let line = |(group, &cell): (&Group, &usize)| {
        let series = found.series[cell]?;
        Some(Line {
            name: group.title.clone(),
            ceiling: found.summaries[cell]?.ceiling_bps,
            flows: series.flows.iter().map(|flow| thinned(flow, most)).collect(),
            rates: link_rates::of(&scenario.cells[cell].scenario, series, |rate| thinned(rate, most).into_owned()),
        })
    };
    layout.groups.iter().zip(&row.cells).filter_map(line).collect()
}

/// The same with at most about `most` samples: of each group the last, and the mean of the rates.
fn thinned(all: &Columns, most: usize) -> Cow<'_, Columns> {
    let group = all.samples().div_ceil(most.max(1)).max(1);
    if group == 1 {
        return Cow::Borrowed(all);
    }
    let thin = |(key, values): (&String, &Vec<u64>)| {
        let of_group = |values: &[u64]| match key.ends_with("_bps") {
            true => values.iter().sum::<u64>() / values.len() as u64,
            false => values[values.len() - 1],
        };
        (key.clone(), values.chunks(group).map(of_group).collect())
    };
    Cow::Owned(Columns { name: all.name.clone(), columns: all.columns.iter().map(thin).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn flow(value: Value) -> Columns {
        serde_json::from_value(value).expect("a flow")
    }

    #[test]
    fn thinning_keeps_the_mean_of_rates_and_the_last_of_the_rest() {
        let all = flow(
            json!({"name": "bulk", "at_ms": [1, 2, 3, 4, 5], "goodput_bps": [10, 20, 30, 40, 50], "repairs": [0, 1, 2, 3, 4]}),
        );
        let few = flow(json!({"name": "bulk", "at_ms": [2, 4, 5], "goodput_bps": [15, 35, 50], "repairs": [1, 3, 4]}));
        assert_eq!(*thinned(&all, 3), few);
        assert_eq!(*thinned(&all, 5), all);
    }

    #[test]
    fn beliefs_take_room_only_where_there_is_a_rate_to_hold_them_against() {
        let one = flow(json!({"name": "one", "at_ms": [1]}));
        let cell = |links: &[Columns]| CellSeries {
            flows: vec![one.clone()],
            links: links.to_vec(),
            schemes: vec![one.clone()],
            ..CellSeries::default()
        };
        assert_eq!((shown(&cell(&[])).count(), shown(&cell(&[one.clone(), one.clone()])).count()), (1, 4));
    }
}
