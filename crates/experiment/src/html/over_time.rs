//! What each cell did over time, as data for `over_time.js`: a card for each row of the first table, whose lines are
//! what the columns of that table compare.
//!
//! A page stays a few megabytes: series are thinned, evenly, so that all worlds of a page together have at most
//! [`MAX_SAMPLES`] samples, and rows of a large sweep that still do not fit are named as left out.

use super::stored::StoredWorld;
use crate::scenario::Scenario;
use crate::table::{Layout, Row, title_of};
use serde_json::{Value, json};

/// Samples of all flows on a page; one takes about 30 bytes.
pub const MAX_SAMPLES: usize = 60_000;
/// A series with fewer samples shows nothing any more.
const FEWEST: usize = 25;

/// The cards of one world.
pub struct Cards {
    /// For the script.
    pub data: Value,
    /// Rows without a card, for want of room.
    pub left_out: usize,
}

/// The cards of `world`, of at most `room` samples; `None` if there is nothing to draw.
pub fn cards(scenario: &Scenario, world: &StoredWorld, room: usize) -> Option<Cards> {
    let spec = scenario.tables.first()?;
    let layout = Layout::of(scenario, spec);
    let total: usize = world.series["cells"].as_array().into_iter().flatten().map(samples).sum();
    let flows =
        world.series["cells"].as_array().into_iter().flatten().map(|cell| flows_of(cell).count()).sum::<usize>();
    let share = (room / flows.max(1)).max(FEWEST);
    let (mut cards, mut left_out, mut used) = (Vec::new(), 0, 0);
    for row in &layout.rows {
        let lines = lines(scenario, world, &layout, row, if total > room { share } else { usize::MAX });
        let size: usize = lines.iter().map(samples).sum();
        if lines.is_empty() {
            continue;
        }
        if used + size > room {
            left_out += 1;
            continue;
        }
        used += size;
        let labels = spec.rows.iter().zip(&row.labels).map(|(axis, label)| format!("{} {label}", title_of(axis)));
        cards.push(json!({"title": labels.collect::<Vec<_>>().join(" · "), "lines": lines}));
    }
    (!cards.is_empty() || left_out > 0).then_some(Cards { data: cards.into(), left_out })
}

fn lines(scenario: &Scenario, world: &StoredWorld, layout: &Layout, row: &Row, most: usize) -> Vec<Value> {
    let line = |(group, &cell): (&crate::table::Group, &usize)| {
        let series = world.series_of(scenario, cell)?;
        let summary = world.cell(scenario, cell)?;
        let flows: Vec<Value> = flows_of(&series).map(|flow| thinned(flow, most)).collect();
        Some(json!({"name": group.title, "ceiling": summary["ceiling_bps"], "flows": flows}))
    };
    layout.groups.iter().zip(&row.cells).filter_map(line).collect()
}

fn flows_of(cell: &Value) -> impl Iterator<Item = &Value> {
    cell["flows"].as_array().into_iter().flatten()
}

fn samples(cell: &Value) -> usize {
    flows_of(cell).map(|flow| flow["at_ms"].as_array().map_or(0, Vec::len)).sum()
}

/// The same flow with at most about `most` samples: of each group the last, and the mean of the rates.
fn thinned(flow: &Value, most: usize) -> Value {
    let columns = flow.as_object().into_iter().flatten();
    let length = flow["at_ms"].as_array().map_or(0, Vec::len);
    let group = length.div_ceil(most.max(1)).max(1);
    let thin = |(key, column): (&String, &Value)| {
        let Some(values) = column.as_array().filter(|_| group > 1) else { return (key.clone(), column.clone()) };
        let of_group = |values: &[Value]| match key.as_str() {
            "goodput_bps" => mean(values),
            _ => values.last().cloned().unwrap_or_default(),
        };
        (key.clone(), values.chunks(group).map(of_group).collect())
    };
    Value::Object(columns.map(thin).collect())
}

fn mean(values: &[Value]) -> Value {
    let sum: u64 = values.iter().filter_map(Value::as_u64).sum();
    (sum / values.len().max(1) as u64).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_the_mean_of_rates_and_the_last_of_the_rest() {
        let flow = json!({"name": "bulk", "at_ms": [1, 2, 3, 4, 5], "goodput_bps": [10, 20, 30, 40, 50], "repairs": [0, 1, 2, 3, 4]});
        let expected = json!({"name": "bulk", "at_ms": [2, 4, 5], "goodput_bps": [15, 35, 50], "repairs": [1, 3, 4]});
        assert_eq!(thinned(&flow, 3), expected);
        assert_eq!(thinned(&flow, 5), flow);
    }
}
