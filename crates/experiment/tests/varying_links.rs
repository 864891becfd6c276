//! Links that vary, from the file to the results.

use crate::common::{CATALOGUE, DEMO, demo_with, error_of_set, read};
use airtcp_experiment::Simulator;
use airtcp_experiment::results::summary::{self, Summary};
use airtcp_experiment::results::{self, Results, RunOptions, directory};
use airtcp_experiment::scenario::{Scenario, ScenarioError, Source};
use std::path::Path;

fn simulate(scenario: &Scenario, threads: usize) -> Results<'_> {
    results::run(scenario, &Simulator::default(), RunOptions { threads }, &mut ())
}

/// The demo's plain cell without loss, with this rate.
fn with_rate(rate: &str) -> Vec<String> {
    let sets = [
        &format!("links.air.rate={rate}"),
        "links.air.loss=0%",
        "flows.bulk.controller=cubic",
        "schemes.repair.kind=none",
        // Its start leaves no hole that is filled in the measured time.
        "flows.bulk.habits=none",
        "runs=2",
        "duration=10s",
    ];
    sets.iter().map(|set| (*set).to_string()).collect()
}

const TRACE: &str = "second,down_mbit,up_mbit\n0,8,2\n1,4,1\n";

fn scenario(rate: &str) -> Result<Scenario, ScenarioError> {
    let source = Source { file: "demo.toml".into(), text: DEMO.into() };
    let mut open = |name: &str| match name {
        "traces/here.csv" | "here.csv" => Ok(Source { file: name.into(), text: TRACE.into() }),
        _ => Source::read(&Path::new("nowhere").join(name)),
    };
    Scenario::read(&source, &with_rate(rate), &CATALOGUE, &mut open)
}

/// Median share of the ceiling of the only cell.
fn of_ceiling(results: &Results<'_>) -> f64 {
    Summary::of(results, "x").cells[0].readings.get("of_ceiling").unwrap().median
}

#[test]
fn a_flow_gets_what_a_link_that_varies_carries() {
    for (rate, mbps) in [("8Mbit, 4Mbit from 6s", 6.0), ("{ trace = \"traces/here.csv\" }", 6.0)] {
        let scenario = scenario(rate).unwrap();
        let results = simulate(&scenario, 1);
        let cell = &Summary::of(&results, "x").cells[0];
        // Of 8 s that are measured, half at each rate; 1448 of 1500 bytes are the application's. A packet may have left before.
        let ceiling = (mbps * 1e6 * 1448.0 / 1500.0) as u64;
        assert!(cell.ceiling_bps.unwrap().abs_diff(ceiling) < 5000, "{rate}: {:?}", cell.ceiling_bps);
        let share = of_ceiling(&results);
        assert!((0.97..=1.001).contains(&share), "{rate}: {share}");
    }
}

#[test]
fn each_run_of_what_is_drawn_has_a_ceiling_of_its_own() {
    let scenario = scenario("{ kind = \"walk\" }").unwrap();
    let results = simulate(&scenario, 1);
    let ceilings: Vec<f64> = results.runs(0).unwrap().iter().map(|run| run.ceiling_bps.unwrap()).collect();
    assert_ne!(ceilings[0], ceilings[1]);
    let share = of_ceiling(&results);
    assert!((0.9..=1.001).contains(&share), "{share}");
}

#[test]
fn the_results_keep_the_trace_and_their_name_depends_on_it() {
    let scenario = scenario("{ trace = \"traces/here.csv\" }").unwrap();
    let root = std::env::temp_dir().join(format!("airtcp-varying-{}", std::process::id()));
    let results = simulate(&scenario, 1);
    let sim = directory::write(&root, &results, "sim", &serde_json::json!({})).unwrap().directory;
    assert_eq!(std::fs::read_to_string(sim.join("here.csv")).unwrap(), TRACE);
    let again = Scenario::load(&sim.join("scenario.toml"), &[], &CATALOGUE).unwrap();
    assert_eq!(again.hash, scenario.hash);
    std::fs::write(sim.join("here.csv"), TRACE.replace("0,8,2", "0,9,2")).unwrap();
    assert_ne!(Scenario::load(&sim.join("scenario.toml"), &[], &CATALOGUE).unwrap().hash, scenario.hash);
    std::fs::remove_dir_all(&root).unwrap();
}

#[test]
fn the_reverse_direction_takes_the_second_column() {
    let scenario = scenario("{ trace = \"here.csv\" }").unwrap();
    let air = &scenario.cells[0].scenario.links[1];
    let nominal = |rate: &airtcp_link::LinkRate| rate.nominal().unwrap().bps();
    assert_eq!((nominal(&air.forward.rate), nominal(&air.reverse.rate)), (6_000_000, 1_500_000));
}

#[test]
fn traces_that_ship_need_no_file() {
    for name in ["cellular.csv", "satellite.csv"] {
        let scenario = scenario(&format!("{{ trace = \"{name}\" }}")).unwrap();
        let air = &scenario.cells[0].scenario.links[1];
        assert!(air.forward.rate.nominal() > air.reverse.rate.nominal(), "{name}");
    }
}

#[test]
fn what_is_wrong_with_a_trace_is_said_with_its_line() {
    let error = |rate: &str| scenario(rate).unwrap_err().to_string();
    let missing = error("{ trace = \"nowhere.csv\" }");
    assert!(missing.contains("trace 'nowhere.csv': No such file"), "{missing}");
    assert!(missing.contains("cellular.csv, satellite.csv ship"), "{missing}");
    let column = error("{ trace = \"here.csv\", column = \"sideways\" }");
    assert!(column.contains("trace 'here.csv': it has no column 'sideways'"), "{column}");
    let zero = error_of_set("links.air.rate=5Mbit, 0Mbit from 3s");
    assert!(zero.contains("let nothing pass"), "{zero}");
    let order = read(DEMO, &["links.air.delay=5ms, 6ms from 2s, 7ms from 1s"]).unwrap_err().to_string();
    assert!(order.contains("'7ms from 1s' is not later"), "{order}");
}

#[test]
fn steps_are_a_list_or_a_text_which_may_vary() {
    let text = demo_with("rate = \"10Mbit\"", "rate = [\"10Mbit\", \"2Mbit from 5s\"]");
    let scenario = read(&text, &[]).unwrap();
    assert!(scenario.cells[0].scenario.links[1].forward.rate.is_varying());
    let varied = demo_varied("links.air.rate = [\"10Mbit\", \"10Mbit, 2Mbit from 5s\", { kind = \"walk\" }]");
    assert_eq!(varied.axes.iter().find(|(name, _)| name == "links.air.rate").unwrap().1.len(), 3);
}

fn demo_varied(line: &str) -> Scenario {
    let text = demo_with("[vary]", &format!("[vary]\n{line}\n#"));
    read(&text, &[]).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_summary_of_a_link_that_varies_is_the_same_on_one_and_two_threads() {
    let scenario = scenario("{ kind = \"walk\" }").unwrap();
    let text = |threads| summary::to_text(&Summary::of(&simulate(&scenario, threads), "x"));
    assert_eq!(text(1), text(2));
}
