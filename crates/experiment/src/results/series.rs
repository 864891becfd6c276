//! How the first run of each cell went over time, for figures and reports.
//!
//! `{"schema": "airtcp.series/1", "cells": [{"at": {…}, "flows": [{"name", "at_ms", "goodput_bps", "cwnd_bytes",
//! "rtt_us", "repairs", "delivered_bytes", "acked_bytes"}], "levels": {"links.air.forward.queue_bytes": [[at_ns, bytes], …]}}]}`:
//! columns of equal length, goodput averaged since the sample before; levels where a figure over time shows them.

use super::Results;
use super::summary::{Labels, at_of};
use crate::world::{FlowOutcome, Sample};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

/// The whole file. What is missing in a file is empty here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Series {
    /// Format of the file.
    pub schema: String,
    /// Cells that were run, in the order of the scenario.
    pub cells: Vec<CellSeries>,
}

/// The first run of a cell.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CellSeries {
    /// Which cell it is.
    pub at: Labels,
    /// In the order of the scenario.
    pub flows: Vec<FlowSeries>,
    /// Time since the start in ns, and the level, by the level's name.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub levels: IndexMap<String, Vec<(u64, u64)>>,
}

/// One flow: columns of equal length by their names, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowSeries {
    /// Name in the scenario.
    pub name: String,
    /// `at_ms` and the others.
    #[serde(flatten)]
    pub columns: IndexMap<String, Vec<u64>>,
}

impl Series {
    /// Of every cell that is done.
    pub fn of(results: &Results<'_>) -> Series {
        let cells = results.scenario.cells.iter().enumerate().filter_map(|(index, cell)| {
            let first = results.outcomes(index)?.first()?;
            let levels = first.levels.iter().map(|level| (level.name.clone(), level.samples.clone()));
            Some(CellSeries {
                at: at_of(cell),
                flows: first.flows.iter().map(FlowSeries::of).collect(),
                levels: levels.collect(),
            })
        });
        Series { schema: "airtcp.series/1".into(), cells: cells.collect() }
    }
}

impl FlowSeries {
    fn of(flow: &FlowOutcome) -> FlowSeries {
        let column = |value: fn(&Sample) -> u64| flow.series.iter().map(value).collect::<Vec<u64>>();
        let before = std::iter::once(Sample::default()).chain(flow.series.iter().copied());
        let goodput = before.zip(&flow.series).map(|(before, now)| {
            let nanos = now.at.saturating_sub(before.at).as_nanos().max(1);
            let bits = u128::from(now.delivered.saturating_sub(before.delivered)) * 8_000_000_000;
            u64::try_from(bits / u128::from(nanos)).unwrap_or(u64::MAX)
        });
        let columns = [
            ("at_ms", column(|sample| sample.at.as_millis())),
            ("goodput_bps", goodput.collect()),
            ("cwnd_bytes", column(|sample| sample.cwnd)),
            ("rtt_us", column(|sample| sample.rtt.as_micros())),
            ("repairs", column(|sample| sample.repairs)),
            ("delivered_bytes", column(|sample| sample.delivered)),
            ("acked_bytes", column(|sample| sample.acked)),
        ];
        FlowSeries { name: flow.name.clone(), columns: columns.map(|(name, column)| (name.into(), column)).into() }
    }

    /// A column; empty if there is none of that name.
    pub fn column(&self, name: &str) -> &[u64] {
        self.columns.get(name).map_or(&[], Vec::as_slice)
    }

    /// How many samples there are.
    pub fn samples(&self) -> usize {
        self.column("at_ms").len()
    }
}
