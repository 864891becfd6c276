//! `[workloads.<name>]` in files, and what its results say.

use crate::common::read_with;
use airtcp_core::Duration;
use airtcp_experiment::catalogue::Catalogue;
use airtcp_experiment::metric;
use airtcp_experiment::results::ceiling_bps;
use airtcp_experiment::scenario::ResolvedScenario;
use airtcp_experiment::simulator::Simulator;
use airtcp_experiment::{RunOutcome, World};

const FILE: &str = r#"schema = 1
duration = "20s"
warmup = "2s"

[nodes]
server = {}
r = {}
client = {}

[links.narrow]
between = ["server", "r"]
rate = "10Mbit"
delay = "20ms"
queue = "600kB"

[links.wide]
between = ["r", "client"]
rate = "1Gbit"

[workloads.web]
from = "server"
to = "client"
KEYS
"#;

fn cell(keys: &str) -> Result<ResolvedScenario, String> {
    let text = FILE.replace("KEYS", keys);
    let scenario = read_with(&text, &[], &Catalogue::BUILT_IN).map_err(|error| error.to_string())?;
    Ok(scenario.cells[0].scenario.clone())
}

fn run(keys: &str) -> (ResolvedScenario, RunOutcome) {
    let cell = cell(keys).unwrap();
    let outcome = Simulator::default().run(&cell, 1).unwrap();
    (cell, outcome)
}

fn value(cell: &ResolvedScenario, outcome: &RunOutcome, name: &str) -> f64 {
    let run = metric::Run { scenario: cell, outcome, ceiling_bps: None, baseline: None };
    let (metric, member) = metric::find(name).unwrap_or_else(|| panic!("no metric {name}"));
    metric.of(&run, member).unwrap_or_else(|| panic!("the run does not tell {name}"))
}

#[test]
fn a_lone_request_has_a_slowdown_of_one() {
    // One in two seconds on average: they hardly ever meet.
    for (size, most) in [("14kB", 1.02), ("100kB", 1.05), ("1MB", 1.25)] {
        let bytes: u64 = size.replace("kB", "000").replace("MB", "000000").parse().unwrap();
        let load = bytes * 8 / 2;
        let (cell, outcome) = run(&format!("load = \"{load}bit\"\nsizes = \"{size}\"\ngrace = \"3s\""));
        let slowdown = value(&cell, &outcome, "workloads.web.slowdown.p50");
        assert!((0.99..most).contains(&slowdown), "{size}: {slowdown}");
    }
}

#[test]
fn the_load_is_that_of_the_file_and_requests_count_that_begin_in_the_measured_time() {
    let (cell, outcome) = run("load = \"4Mbit\"\nsizes = \"caida\"\nlargest = \"100kB\"");
    let goodput = value(&cell, &outcome, "workloads.web.goodput_bps");
    assert!((3_600_000.0..4_400_000.0).contains(&goodput), "{goodput}");
    assert!((goodput - value(&cell, &outcome, "goodput_bps")).abs() < 1.0, "no flow is beside it");
    // 4 Mbit/s in answers of 5955 bytes, counted from 2 s to 15 s.
    let requests = value(&cell, &outcome, "workloads.web.requests");
    assert!((requests - 13.0 * 4e6 / 8.0 / 5955.0).abs() < 100.0, "{requests}");
    assert_eq!(value(&cell, &outcome, "workloads.web.unfinished"), 0.0);
    let ceiling = ceiling_bps(&cell, 1).unwrap();
    assert!((ceiling - 10e6 * 1448.0 / 1500.0).abs() < 1.0, "{ceiling}");
}

#[test]
fn requests_are_the_same_whatever_the_network_does_with_them() {
    let keys = "load = \"4Mbit\"";
    let one = &cell(keys).unwrap().workloads[0];
    let mut other = cell(keys).unwrap();
    other.links[0].forward.delay = other.links[1].forward.delay.clone();
    let length = Duration::from_secs(20);
    assert_eq!(one.arrivals(3, length), other.workloads[0].arrivals(3, length));
    assert_ne!(one.arrivals(3, length), one.arrivals(4, length));
}

#[test]
fn what_cannot_be_is_said_with_what_to_write() {
    for (keys, said) in [
        ("", "load = \"84Mbit\""),
        ("load = \"4Mbit\"\nsizes = \"video\"", "is none of caida, web-search"),
        ("load = \"4Mbit\"\nlargest = \"0B\"", "no request that small"),
        ("load = \"4Mbit\"\ngrace = \"18s\"", "nothing is left to count"),
        ("load = \"4Mbit\"\nconnections = 0", "from 1 to 10000"),
        ("load = \"4Mbit\"\nrequest = \"0B\"", "16B to 65536B"),
        ("load = \"90Gbit\"\nsizes = \"100B\"", "too many"),
        ("load = \"4Mbit\"\nsizes = { file = \"none.csv\" }", "none.csv"),
        ("load = \"4Mbit\"\nmtu = 9000", "give the workload an MTU of 1500"),
        ("load = \"4Mbit\"\ncontroler = \"bbr\"", "controller"),
    ] {
        let error = cell(keys).unwrap_err();
        assert!(error.contains(said), "{keys}: {error}");
    }
}

#[test]
fn a_table_of_ones_own_is_drawn_from() {
    let text = FILE.replace("KEYS", "load = \"4Mbit\"\nsizes = { file = \"mine.csv\" }");
    let directory = std::env::temp_dir().join(format!("airtcp-workloads-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("mine.csv"), "# bytes, share\n1000, 0\n3000, 1\n").unwrap();
    let path = directory.join("own.toml");
    std::fs::write(&path, text).unwrap();
    let scenario = airtcp_experiment::scenario::Scenario::load(&path, &[], &Catalogue::BUILT_IN).unwrap();
    let arrivals = scenario.cells[0].scenario.workloads[0].arrivals(1, Duration::from_secs(20));
    let mean = arrivals.iter().map(|arrival| arrival.size).sum::<u64>() / arrivals.len() as u64;
    assert!(arrivals.iter().all(|arrival| (1000..=3000).contains(&arrival.size)) && mean.abs_diff(2000) < 40, "{mean}");
    assert!(scenario.traces.contains_key("mine.csv"), "results keep a copy");
    std::fs::remove_dir_all(&directory).unwrap();
}
