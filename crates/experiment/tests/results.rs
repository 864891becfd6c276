//! From runs to `summary.json`.

use crate::common::{DEMO, demo_with, made_up, read, summary_json};
use airtcp_experiment::results::summary::{self, Summary};
use airtcp_experiment::results::{self, Results, RunOptions, baseline_of, ceiling_bps, directory};
use airtcp_experiment::{Scenario, Simulator};
use serde_json::{Value, json};

/// The demo, short enough for a test.
const SHORT: [&str; 4] = ["duration=3s", "warmup=1s", "runs=2", "flows.bulk.controller=cubic"];

fn simulate(scenario: &Scenario, threads: usize) -> Results<'_> {
    results::run(scenario, &Simulator::default(), RunOptions { threads }, &mut ())
}

fn text(results: &Results<'_>) -> String {
    summary::to_text(&Summary::of(results, "results/x/sim"))
}

fn ceiling(text: &str) -> u64 {
    ceiling_bps(&read(text, &[]).unwrap().cells[0].scenario, 1).expect("a link has a rate").round() as u64
}

#[test]
fn a_summary_is_the_same_on_one_and_two_threads() {
    let scenario = read(DEMO, &SHORT).unwrap();
    assert_eq!(text(&simulate(&scenario, 1)), text(&simulate(&scenario, 2)));
}

#[test]
fn the_resolved_scenario_gives_the_same_summary() {
    let scenario = read(DEMO, &SHORT).unwrap();
    let again = read(&scenario.resolved, &[]).unwrap();
    assert_eq!(text(&simulate(&again, 1)), text(&simulate(&scenario, 1)));
}

#[test]
fn another_seed_gives_another_summary() {
    let sets = [&SHORT[..], &["links.air.loss=5%"]].concat();
    let (one, two) = (read(DEMO, &sets).unwrap(), read(DEMO, &[&sets[..], &["seed=7"]].concat()).unwrap());
    let hashes = |scenario| summary_json(&simulate(scenario, 1))["cells"][0]["trace_hash"].clone();
    assert_ne!(hashes(&one), hashes(&two));
}

#[test]
fn an_idle_node_changes_nothing_else() {
    let sets = [&SHORT[..], &["links.air.loss=5%"]].concat();
    let alone = read(DEMO, &sets).unwrap();
    let crowded = read(&demo_with("receiver = {}", "receiver = {}\nidle = {}"), &sets).unwrap();
    let goodput = |scenario| summary_json(&simulate(scenario, 1))["cells"][1]["goodput_bps"].clone();
    assert_eq!(goodput(&alone), goodput(&crowded));
}

#[test]
fn marks_of_a_queue_are_listed_and_only_where_there_are_any() {
    let queue = "links.air.queue={ kind = \"codel\", ecn = true }";
    let marks = |ecn: &str| {
        let scenario = read(DEMO, &[&SHORT[..], &["links.air.loss=0%", queue, ecn]].concat()).unwrap();
        summary_json(&simulate(&scenario, 1))["cells"][0]["marks"].clone()
    };
    let marked = marks("flows.bulk.ecn=true");
    assert_eq!(marked[0]["where"], "links.air.forward");
    assert!(marked[0]["packets"].as_u64().unwrap() > 0, "{marked}");
    assert_eq!(marks("flows.bulk.ecn=false"), Value::Null);
}

#[test]
fn ast_17_fairness_is_of_what_is_due_to_each() {
    // One of them may have twice as much in flight, and neither fills the link.
    let other = "\n[flows.other]\nfrom = \"sender\"\nto = \"receiver\"\nmax_cwnd = 8\n";
    let jain = |weight: &str| {
        let sets = [&SHORT[..], &["links.air.loss=0%", "flows.bulk.max_cwnd=16", weight]].concat();
        let scenario = read(&format!("{DEMO}{other}"), &sets).unwrap();
        summary_json(&simulate(&scenario, 1))["cells"][0]["jain"]["median"].as_f64().unwrap()
    };
    assert!((jain("flows.bulk.weight=1") - 0.9).abs() < 0.01, "{}", jain("flows.bulk.weight=1"));
    assert!(jain("flows.bulk.weight=2") > 0.999, "{}", jain("flows.bulk.weight=2"));
}

#[test]
fn a_controller_that_only_the_kernel_has_is_skipped_with_a_sentence() {
    let text = demo_with("[\"cubic\", \"bbr\"]", "[\"cubic\", \"illinois\"]");
    let scenario = read(&text, &["duration=3s", "runs=1", "links.air.loss=0%"]).unwrap();
    let results = simulate(&scenario, 1);
    let summary = summary_json(&results);
    assert_eq!(summary["cells"].as_array().unwrap().len(), 2);
    assert_eq!(summary["skipped"][0]["at"]["flows.bulk.controller"], "illinois");
    assert!(summary["skipped"][0]["reason"].as_str().unwrap().contains("--live"));
    assert_eq!(results.failures(), [""; 0], "skipped is not failed");
}

#[test]
fn the_ceiling_is_rate_times_survival_times_payload() {
    let at_loss =
        |loss: &str| ceiling(demo_with("loss = \"0%\"", &format!("loss = {loss}")).split("[vary]").next().unwrap());
    assert_eq!(at_loss("\"0%\""), 9_653_333);
    assert_eq!(at_loss("\"5%\""), 9_170_667);
    assert_eq!(at_loss("{ kind = \"gilbert-elliott\", mean = \"2%\", burst = 5 }"), 9_460_267);
    // (1 - 1e-6)^12000 of full-size packets survive.
    assert_eq!(at_loss("{ kind = \"bit-error\", rate = \"1e-6\" }"), 9_538_186);
}

#[test]
fn the_ceiling_is_capped_by_the_wired_part_and_the_window() {
    let plain = DEMO.split("[vary]").next().unwrap();
    let slow_wire = plain.replacen("rate = \"100Mbit\"", "rate = \"4Mbit\"", 1);
    assert_eq!(ceiling(&slow_wire), 3_861_333);
    // 30 kB in each round trip of 60.2 ms.
    let small_window = plain.replacen("controller = \"cubic\"", "controller = \"cubic\"\nreceive_buffer = \"30kB\"", 1);
    assert_eq!(ceiling(&small_window), 3_986_711);
}

#[test]
fn flows_that_share_a_bottleneck_share_its_ceiling() {
    let plain = DEMO.split("[vary]").next().unwrap();
    let second = "[flows.second]\nfrom = \"sender\"\nto = \"receiver\"\n\n[schemes.repair]";
    assert_eq!(ceiling(&plain.replacen("[schemes.repair]", second, 1)), 9_653_333);
    let back = second.replace("sender", "x").replace("receiver", "sender").replace("\"x\"", "\"receiver\"");
    assert_eq!(ceiling(&plain.replacen("[schemes.repair]", &back, 1)), 2 * 9_653_333 + 1, "both directions of the air");
}

/// `flows` from hosts of their own, with an access of 10 Mbit/s each, into a core.
fn access(core: &str, flows: &str) -> u64 {
    ceiling(&format!(
        "schema = 1\nduration = \"5s\"\n[nodes]\nhost = {{ count = 2 }}\nrouter = {{}}\nserver = {{}}\n\
         [links.access]\nbetween = [\"host\", \"router\"]\nrate = \"10Mbit\"\ndelay = \"1ms\"\n\
         [links.core]\nbetween = [\"router\", \"server\"]\ndelay = \"1ms\"\n{core}\n{flows}"
    ))
}

#[test]
fn links_before_a_shared_one_and_the_shared_one_are_both_limits() {
    let to_server = "[flows.up]\nfrom = \"host\"\nto = \"server\"";
    assert_eq!(access("rate = \"15Mbit\"", to_server), 14_480_000);
    assert_eq!(access("rate = \"30Mbit\"", to_server), 2 * 9_653_333 + 1);
    assert_eq!(access("", to_server), 2 * 9_653_333 + 1);
}

#[test]
fn a_flow_that_takes_two_shared_links_gives_way_to_those_that_take_one() {
    let three = "[links.core2]\nbetween = [\"server\", \"end\"]\nrate = \"10Mbit\"\ndelay = \"1ms\"\n[nodes.end]\n\
                 [flows.long]\nfrom = \"router\"\nto = \"end\"\n[flows.one]\nfrom = \"router\"\nto = \"server\"\n\
                 [flows.other]\nfrom = \"server\"\nto = \"end\"";
    assert_eq!(access("rate = \"10Mbit\"", three), 2 * 9_653_333 + 1);
}

#[test]
fn ipv6_has_larger_headers() {
    let plain = DEMO.split("[vary]").next().unwrap();
    assert_eq!(ceiling(&plain.replacen("controller = \"cubic\"", "controller = \"cubic\"\nip = 6", 1)), 9_520_000);
}

#[test]
fn a_cell_is_compared_with_the_same_cell_without_a_scheme() {
    let demo = read(DEMO, &[]).unwrap();
    for (index, cell) in demo.cells.iter().enumerate() {
        let baseline = &demo.cells[baseline_of(&demo, index).unwrap()];
        assert!(baseline.scenario.schemes.is_empty());
        assert_eq!(baseline.at[..2], cell.at[..2]);
    }
    let only = read(DEMO, &["schemes.repair.kind=gsnoop"]).unwrap();
    assert_eq!(baseline_of(&only, 0), None);
}

#[test]
fn a_cell_has_the_shape_that_was_promised() {
    let demo = read(DEMO, &["runs=3"]).unwrap();
    let summary = summary_json(&made_up(&demo));
    let cell = summary["cells"].as_array().unwrap().iter().find(|cell| {
        cell["at"] == json!({"links.air.loss": "5%", "flows.bulk.controller": "cubic", "schemes.repair.kind": "gsnoop"})
    });
    let cell = cell.expect("the cell was run");
    let expected = json!({
        "world": "live", "seeds": [1, 2, 3], "measured_ns": 18_000_000_000u64,
        "at": {"links.air.loss": "5%", "flows.bulk.controller": "cubic", "schemes.repair.kind": "gsnoop"},
        "ceiling_bps": 9_170_667,
        "goodput_bps": {"median": 9_102_000, "ci95": [9_101_000, 9_103_000], "runs": [9_101_000, 9_102_000, 9_103_000]},
        "throughput_bps": {"median": 9_428_867, "ci95": [9_427_831, 9_429_903]},
        "of_ceiling": {"median": 0.9925, "ci95": [0.9924, 0.9926]},
        "times_baseline": {"median": 47.847, "ci95": [47.602, 48.094], "baseline": {"schemes.repair.kind": "none"}},
        "jain": {"median": 1.0, "ci95": [1.0, 1.0]},
        "rtt_ns": {"p50": 62_000_000, "p95": 75_000_000, "p99": 90_000_000},
        "sender": {"retransmitted_segments": 52, "rtos": 0, "acked_bytes": 0},
        "queue": {"drops": 0},
        "longest_stall_ns": 0,
        "scheme": {"kind": "gsnoop", "keeps_end_to_end": true, "repairs": 502},
        "drops": [{"where": "links.air.forward", "reason": "loss", "packets": 750}],
        "checks": {"conservation": "passed", "stream": "passed"},
        "emulator": {"valid": true, "rate_error_ratio": 0.00041, "release_error_p99_ns": 0, "loss_asked_ratio": 0.0, "loss_seen_ratio": 0.0}
    });
    assert_eq!(*cell, expected);
    let reason = json!({"world": "live", "at": {"links.air.loss": "10%", "flows.bulk.controller": "cubic", "schemes.repair.kind": "none"}, "reason": "/dev/net/tun is missing"});
    assert_eq!(summary["skipped"][0], reason);
}

#[test]
fn a_check_that_does_not_hold_is_named_with_its_seed() {
    let demo = read(DEMO, &["runs=3"]).unwrap();
    let results = made_up(&demo);
    let failures = results.failures();
    assert_eq!(failures[0], "5%, bbr, none: stream: one byte is wrong (seed 2)");
    let failed = |cell: &&Value| cell["checks"]["stream"] == "failed";
    let summary = summary_json(&results);
    assert_eq!(summary["cells"].as_array().unwrap().iter().filter(failed).count(), 2);
}

#[test]
fn a_directory_is_replaced_as_a_whole() {
    let root = std::env::temp_dir().join(format!("airtcp-results-{}", std::process::id()));
    let demo = read(DEMO, &["runs=1"]).unwrap();
    let results = made_up(&demo);
    let first = directory::write(&root, &results, "live", &json!({})).unwrap().directory;
    std::fs::write(first.join("stale"), "from an older version").unwrap();
    let second = directory::write(&root, &results, "live", &json!({})).unwrap().directory;
    let mut names: Vec<String> =
        std::fs::read_dir(&second).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    let expected = [
        "cells.parquet",
        "counters.parquet",
        "manifest.json",
        "metrics.parquet",
        "runs.parquet",
        "scenario.toml",
        "series.json",
        "series.parquet",
        "summary.json",
    ];
    assert_eq!(names, expected);
    let above = std::fs::read_dir(second.parent().unwrap()).unwrap().count();
    assert_eq!((first == second, above), (true, 1), "nothing is left beside it");
    let summary: Value = serde_json::from_slice(&std::fs::read(second.join("summary.json")).unwrap()).unwrap();
    assert_eq!(summary["directory"], second.display().to_string());
    std::fs::remove_dir_all(root).unwrap();
}

#[test]
fn a_case_is_compared_with_the_case_of_the_same_senders_without_a_scheme() {
    let cases = "cases.who = [\n { label = \"plain\", schemes.repair = { kind = \"none\" } },\n { label = \"plain reno\", schemes.repair = { kind = \"none\" }, flows.bulk.controller = \"reno\" },\n { label = \"reno\", flows.bulk.controller = \"reno\" },\n { label = \"cubic\" },\n]";
    let text = demo_with("schemes.repair.kind = [\"none\", \"gsnoop\"]", cases);
    let text = text.replacen("flows.bulk.controller = [\"cubic\", \"bbr\"]\n", "", 1).replacen(
        "schemes.repair.kind\"",
        "cases.who\"",
        1,
    );
    let scenario = read(&text.replacen(", \"flows.bulk.controller\"]", "]", 1), &["links.air.loss=1%"]).unwrap();
    let baselines: Vec<_> = (0..4).map(|cell| baseline_of(&scenario, cell)).collect();
    assert_eq!(baselines, [Some(0), Some(1), Some(1), Some(0)]);
}
