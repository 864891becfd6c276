//! The result in one sentence.

use crate::common::{DEMO, read};
use airtcp_experiment::Scenario;
use airtcp_experiment::results::headline;
use airtcp_experiment::results::summary::{CellSummary, Summary, at_of};
use insta::assert_snapshot;
use serde_json::{Value, json};

/// CUBIC and BBR, each plain and with gateways, beside a ping.
fn scenario() -> Scenario {
    let ping = "[probes.ping]\nfrom = \"sender\"\nto = \"receiver\"\nevery = \"50ms\"\n\n[vary]";
    read(&DEMO.replacen("[vary]", ping, 1), &["links.air.loss=1%", "runs=3"]).unwrap()
}

fn interval([low, high]: [f64; 2]) -> Value {
    json!({"median": f64::midpoint(low, high), "ci95": [low, high]})
}

/// Each cell's goodput over that of plain forwarding, and the ping's 95th percentile in ms.
fn summary(scenario: &Scenario, runs: usize, cells: [([f64; 2], [f64; 2]); 4]) -> Summary {
    let cell = |(index, (times, ping)): (usize, ([f64; 2], [f64; 2]))| -> CellSummary {
        let ping = interval(ping.map(|ms| ms * 1e6));
        serde_json::from_value(json!({
            "at": at_of(&scenario.cells[index]),
            "seeds": vec![1; runs],
            "times_baseline": interval(times),
            "probes": [{"name": "ping", "rtt_ns": {"p95": ping}}],
        }))
        .unwrap()
    };
    Summary { cells: cells.into_iter().enumerate().map(cell).collect(), ..Summary::default() }
}

const PLAIN: [f64; 2] = [1.0, 1.0];

#[test]
fn what_is_higher_and_lower_is_counted_and_the_largest_differences_are_told() {
    let scenario = scenario();
    let cells = [(PLAIN, [70.0, 72.0]), ([6.0, 8.0], [61.0, 63.0]), (PLAIN, [70.0, 72.0]), ([1.5, 2.5], [60.0, 66.0])];
    assert_snapshot!(headline(&scenario, &summary(&scenario, 3, cells)).unwrap(), @"With gsnoop, goodput is higher in 2 of 2 cells (up to 7.00 × plain) and lower in none; the 95th percentile of the round trips of ping is higher in none and lower in 2 (by up to 9.00 ms).");
}

#[test]
fn a_loss_is_told_like_a_gain_and_what_overlaps_is_neither() {
    let scenario = scenario();
    let cells = [(PLAIN, [70.0, 72.0]), ([0.8, 0.9], [71.0, 75.0]), (PLAIN, [70.0, 72.0]), ([0.9, 1.1], [73.0, 75.0])];
    assert_snapshot!(headline(&scenario, &summary(&scenario, 3, cells)).unwrap(), @"With gsnoop, goodput is higher in none of 2 cells and lower in 1 (0.850 × plain); the 95th percentile of the round trips of ping is higher in 1 (by 3.00 ms) and lower in none.");
}

#[test]
fn single_runs_tell_no_difference() {
    let scenario = scenario();
    let cells = [(PLAIN, [70.0, 70.0]), ([8.3, 8.3], [60.0, 60.0]), (PLAIN, [70.0, 70.0]), ([2.2, 2.2], [60.0, 60.0])];
    assert_snapshot!(headline(&scenario, &summary(&scenario, 1, cells)).unwrap(), @"One run of each cell does not tell what gsnoop changes, because runs differ: repeat with --set runs=3 or more.");
}

#[test]
fn without_a_cell_to_compare_with_there_is_no_sentence() {
    let scenario = scenario();
    let all = summary(&scenario, 3, [(PLAIN, [1.0, 1.0]); 4]);
    let with = Summary { cells: vec![all.cells[1].clone(), all.cells[3].clone()], ..Summary::default() };
    assert_eq!(headline(&scenario, &with), None);
    let plain = Summary { cells: vec![all.cells[0].clone(), all.cells[2].clone()], ..Summary::default() };
    assert_eq!(headline(&scenario, &plain), None);
}
