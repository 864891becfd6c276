//! How the first run of each cell went over time, for figures and reports.
//!
//! `{"schema": "airtcp.series/1", "cells": [{"at": {…}, "flows": [{"name", "at_ms", "goodput_bps", "cwnd_bytes",
//! "rtt_us", "repairs", "delivered_bytes", "acked_bytes"}], "links": [{"name", "at_ms", "rate_bps"}], "schemes": [{"name",
//! "at_ms", "rate_bps", "link_wait_us", "queue_bytes"}], "levels": {"links.air.forward.queue_bytes": [[at_ns, bytes], …]}}]}`:
//! columns of equal length, goodput and the rates of links averaged since the sample before; what boxes of schemes believe of
//! their links beside what the links did; levels where a figure over time shows them.

use super::Results;
use super::summary::{Labels, at_of};
use crate::world::{Belief, BeliefSample, FlowOutcome, Level, Sample};
use airtcp_core::Duration;
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
    pub flows: Vec<Columns>,
    /// Link directions whose rate varies, by name (`links.air.forward`), with the rate that they had.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Columns>,
    /// Boxes of schemes that know a rate, by name (`schemes.repair.a`), with what they believe of the link before them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub schemes: Vec<Columns>,
    /// Time since the start in ns, and the level, by the level's name.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub levels: IndexMap<String, Vec<(u64, u64)>>,
}

/// A flow, link direction or box: columns of equal length by their names, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Columns {
    /// A flow's is that of the scenario.
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
                flows: first.flows.iter().map(Columns::of_flow).collect(),
                links: first.link_rates.iter().map(Columns::of_link).collect(),
                schemes: first.beliefs.iter().map(Columns::of_belief).collect(),
                levels: levels.collect(),
            })
        });
        Series { schema: "airtcp.series/1".into(), cells: cells.collect() }
    }
}

/// Application bits per second of each sample since the one before.
pub(super) fn goodput_bps(series: &[Sample]) -> impl Iterator<Item = u64> {
    let before = std::iter::once(Sample::default()).chain(series.iter().copied());
    before.zip(series).map(|(before, now)| {
        let nanos = now.at.saturating_sub(before.at).as_nanos().max(1);
        let bits = u128::from(now.delivered.saturating_sub(before.delivered)) * 8_000_000_000;
        u64::try_from(bits / u128::from(nanos)).unwrap_or(u64::MAX)
    })
}

impl Columns {
    fn new<const N: usize>(name: &str, columns: [(&str, Vec<u64>); N]) -> Columns {
        Columns { name: name.to_owned(), columns: columns.map(|(name, column)| (name.into(), column)).into() }
    }

    fn of_flow(flow: &FlowOutcome) -> Columns {
        let column = |value: fn(&Sample) -> u64| flow.series.iter().map(value).collect::<Vec<u64>>();
        let columns = [
            ("at_ms", column(|sample| sample.at.as_millis())),
            ("goodput_bps", goodput_bps(&flow.series).collect()),
            ("cwnd_bytes", column(|sample| sample.cwnd)),
            ("rtt_us", column(|sample| sample.rtt.as_micros())),
            ("repairs", column(|sample| sample.repairs)),
            ("delivered_bytes", column(|sample| sample.delivered)),
            ("acked_bytes", column(|sample| sample.acked)),
        ];
        Columns::new(&flow.name, columns)
    }

    fn of_link(rate: &Level) -> Columns {
        let at = rate.samples.iter().map(|(at, _)| Duration::from_nanos(*at).as_millis());
        let bps = rate.samples.iter().map(|(_, bps)| *bps);
        Columns::new(&rate.name, [("at_ms", at.collect()), ("rate_bps", bps.collect())])
    }

    fn of_belief(belief: &Belief) -> Columns {
        let column = |value: fn(&BeliefSample) -> u64| belief.samples.iter().map(value).collect::<Vec<u64>>();
        let columns = [
            ("at_ms", column(|sample| sample.at.as_millis())),
            ("rate_bps", column(|sample| sample.rate_bps)),
            ("link_wait_us", column(|sample| sample.link_wait.as_micros())),
            ("queue_bytes", column(|sample| sample.queue_bytes)),
        ];
        Columns::new(&belief.name, columns)
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
