//! Every entry of the table of metrics reaches everything that is made from it.

use crate::common::{DEMO, Scratch, read};
use airtcp_core::Duration;
use airtcp_experiment::metric::{self, Metric};
use airtcp_experiment::paper::decide::{self, Bounds};
use airtcp_experiment::results::summary::{CellSummary, Summary};
use airtcp_experiment::results::{self, CellState, Results, parquet as files};
use airtcp_experiment::table::measure::Measure;
use airtcp_experiment::world::{
    Dynamics, FlowOutcome, Path, Percentiles, ProbeOutcome, Queue, RequestClass, SchemeOutcome, WorkloadOutcome,
};
use airtcp_experiment::{RunOutcome, Scenario};
use parquet::file::reader::{FileReader, SerializedFileReader};
use std::collections::BTreeSet;

/// A run that tells every metric there is.
fn telling() -> RunOutcome {
    let flow = |name: &str| FlowOutcome {
        name: name.into(),
        window: Duration::from_secs(1),
        window_bytes: 1000,
        segment_bytes: 1000,
        completion: Some(Duration::from_secs(2)),
        transfer: Some(Duration::from_secs(1)),
        acknowledged_missing: Some(0),
        controller: vec![("decisions".into(), 4), ("random".into(), 1)],
        control: vec![("rtos".into(), 1), ("datagrams".into(), 10), ("datagrams_lost".into(), 1)],
        delay: Some(Percentiles { p50: 1, p95: 2, p99: 3 }),
        ..FlowOutcome::default()
    };
    let wlan = metric::all().filter_map(|metric| metric.name.strip_prefix("wlan."));
    let queue =
        Queue { bytes_max: 1, first_drop: Some(Duration::from_secs(1)), headers_max: Some(1), headers_mean: Some(0.5) };
    RunOutcome {
        flows: vec![flow("bulk"), flow("other1")],
        schemes: vec![SchemeOutcome { name: "repair".into(), counters: [("repairs".to_owned(), 3)].into() }],
        wlan: wlan.map(|name| (name.to_owned(), 1)).collect(),
        queue: Some(queue),
        workloads: vec![workload()],
        probes: vec![ProbeOutcome { name: "ping".into(), sent: 3, received: 2, ..ProbeOutcome::default() }],
        path: Some(Path::default()),
        dynamics: Dynamics { rate_variation_ppm: Some(1), convergence: Some(Duration::from_secs(1)) },
        ..RunOutcome::default()
    }
}

fn scenario() -> Scenario {
    let text = format!("{DEMO}\n[flows.other]\nfrom = \"sender\"\nto = \"receiver\"\nsize = \"1kB\"\ncount = 1\n");
    read(&text, &["runs=1", "links.air.loss=5%", "flows.bulk.controller=cubic"]).unwrap()
}

fn told(scenario: &Scenario) -> Results<'_> {
    let mut results = Results::new(scenario, "live");
    for (state, cell) in results.cells.iter_mut().zip(&scenario.cells) {
        let mut run = telling();
        run.schemes.truncate(cell.scenario.schemes.len());
        *state = CellState::Done(vec![run]);
    }
    results
}

fn names_of(metric: &Metric) -> Vec<String> {
    let names: Vec<String> =
        metric.members.in_run(&telling()).iter().map(|member| metric.named(member).into_owned()).collect();
    assert!(!names.is_empty(), "the run of this test does not tell {}", metric.name);
    names
}

/// One with requests of every size.
fn workload() -> WorkloadOutcome {
    let times = Some(Percentiles { p50: 10, p95: 20, p99: 30 });
    let class =
        |name: &str| RequestClass { name: name.into(), requests: 9, unfinished: 1, completion: times, slowdown: times };
    let classes = ["short", "medium", "long"].map(class).into();
    WorkloadOutcome { name: "web".into(), all: class("all"), classes, ..WorkloadOutcome::default() }
}

#[test]
fn every_metric_is_found_by_claims_in_the_summary_and_in_tables() {
    let scenario = scenario();
    let results = told(&scenario);
    let with_scheme = scenario.cells.iter().position(|cell| cell.scenario.schemes.len() == 1).unwrap();
    let cell = CellSummary::of(&results, with_scheme).unwrap();
    for metric in metric::all() {
        for name in names_of(metric) {
            assert_eq!(metric::find(&name).map(|(found, _)| found.name), Some(metric.name));
            assert!(results::values(&results, with_scheme, &name).is_some(), "claims do not find {name}");
            assert_ne!(Measure::named(&name).text(&cell), "–", "the summary has no {name}");
        }
    }
}

#[test]
fn every_metric_is_in_the_parquet_file() {
    let scenario = scenario();
    let directory = Scratch::new("metrics");
    let results = told(&scenario);
    files::write(directory.path(), &results, &Summary::of(&results, "")).unwrap();
    let file = std::fs::File::open(directory.path().join("metrics.parquet")).unwrap();
    let column = |row: parquet::record::Row| {
        let name = row.get_column_iter().find(|(column, _)| *column == "name").map(|(_, field)| field.to_string());
        name.unwrap().trim_matches('"').to_owned()
    };
    let rows = SerializedFileReader::new(file).unwrap();
    let found: BTreeSet<String> = rows.get_row_iter(None).unwrap().map(|row| column(row.unwrap())).collect();
    let all: BTreeSet<String> = metric::all().flat_map(names_of).collect();
    assert_eq!(found, all);
}

#[test]
fn a_path_that_loses_pings_is_not_better_than_one_that_delivers_them_late() {
    let scenario = scenario();
    let mut results = told(&scenario);
    let measured = scenario.cells[0].scenario.measured().as_nanos();
    let late = Percentiles { p50: 40_000_000, p95: 500_000_000, p99: 600_000_000 };
    let early = Percentiles { p50: 30_000_000, p95: 90_000_000, p99: 95_000_000 };
    let lost = Percentiles { p95: measured, p99: measured, ..early };
    for (cell, rtt, rtt_or_lost) in [(0, late, late), (1, early, lost)] {
        let CellState::Done(runs) = &mut results.cells[cell] else { panic!("every cell is done") };
        runs[0].probes[0] = ProbeOutcome { rtt, rtt_or_lost, ..runs[0].probes[0].clone() };
    }
    let not_above = |name: &str, a: usize, b: usize| {
        let [a, b] = [a, b].map(|cell| results::values(&results, cell, name).unwrap());
        decide::difference(&a, &b, Bounds { at_least: None, at_most: Some(0.0), by_median: false }).holds
    };
    assert!(not_above("probes.ping.rtt_ns.p95", 1, 0), "those that came know nothing of the others");
    let name = "probes.ping.rtt_or_lost_ns.p95";
    assert!(not_above(name, 0, 1) && !not_above(name, 1, 0) && not_above(name, 1, 1));
    let shown = CellSummary::of(&results, 1).unwrap().readings.get(name).unwrap();
    assert_eq!(shown.median, measured as f64, "a number like any other in files");
}

#[test]
fn the_docs_list_every_metric() {
    let docs = include_str!("../../../docs/results.md");
    let row = |metric: &Metric| {
        let unit = metric.unit.label();
        format!("| `{}` | {unit} | {} |\n", metric.name, metric.about).replace("|  |", "| |")
    };
    let table: String = metric::all().map(row).collect();
    assert!(docs.contains(&table), "docs/results.md does not have this table of metrics:\n{table}");
}
