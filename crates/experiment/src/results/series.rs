//! How the first run of each cell went over time, for figures and reports.
//!
//! `{"schema": "airtcp.series/1", "cells": [{"at": {…}, "flows": [{"name", "at_ms", "goodput_bps", "cwnd_bytes",
//! "rtt_us", "repairs", "delivered_bytes", "acked_bytes"}], "levels": {"links.air.forward.queue_bytes": [[at_ns, bytes], …]}}]}`:
//! columns of equal length, goodput averaged since the sample before; levels where a figure over time shows them.

use super::Results;
use super::summary::at_of;
use crate::world::{FlowOutcome, Sample};
use serde_json::{Value, json};

/// The series of every cell that is done.
pub fn of(results: &Results<'_>) -> Value {
    let cells = results.scenario.cells.iter().enumerate().filter_map(|(index, cell)| {
        let first = results.outcomes(index)?.first()?;
        let flows: Vec<Value> = first.flows.iter().map(flow).collect();
        let mut row = json!({"at": at_of(cell), "flows": flows});
        if !first.levels.is_empty() {
            row["levels"] = first.levels.iter().map(|level| (level.name.clone(), json!(level.samples))).collect();
        }
        Some(row)
    });
    json!({"schema": "airtcp.series/1", "cells": cells.collect::<Vec<_>>()})
}

fn flow(flow: &FlowOutcome) -> Value {
    let column = |value: fn(&Sample) -> u64| flow.series.iter().map(value).collect::<Vec<u64>>();
    let before = std::iter::once(Sample::default()).chain(flow.series.iter().copied());
    let goodput = before.zip(&flow.series).map(|(before, now)| {
        let nanos = now.at.saturating_sub(before.at).as_nanos().max(1);
        let bits = u128::from(now.delivered.saturating_sub(before.delivered)) * 8_000_000_000;
        u64::try_from(bits / u128::from(nanos)).unwrap_or(u64::MAX)
    });
    json!({
        "name": flow.name,
        "at_ms": column(|sample| sample.at.as_millis()),
        "goodput_bps": goodput.collect::<Vec<u64>>(),
        "cwnd_bytes": column(|sample| sample.cwnd),
        "rtt_us": column(|sample| sample.rtt.as_micros()),
        "repairs": column(|sample| sample.repairs),
        "delivered_bytes": column(|sample| sample.delivered),
        "acked_bytes": column(|sample| sample.acked),
    })
}
