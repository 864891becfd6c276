//! The scenario that lies beside a result gives the same result again, to the byte.

use crate::common::{DEMO, demo_with};
use airtcp_experiment::results::{self, Results, RunOptions, directory};
use airtcp_experiment::scenario::Source;
use airtcp_experiment::{Catalogue, Scenario, Simulator};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;

const SWEEP: &str = include_str!("../../../scenarios/sweep.toml");
const SHORT: [&str; 2] = ["duration=2s", "warmup=0.5s"];

fn read(text: &str, sets: &[&str]) -> Scenario {
    let source = Source { file: "some.toml".into(), text: text.into() };
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    let mut base = |name: &str| Ok(Source { file: name.into(), text: DEMO.into() });
    Scenario::read(&source, &sets, &Catalogue::BUILT_IN, &mut base).unwrap_or_else(|error| panic!("{error}"))
}

fn simulate(scenario: &Scenario, threads: usize) -> Results<'_> {
    results::run(scenario, &Simulator::default(), RunOptions { threads }, &mut ())
}

/// Every file of a result but the manifest, which tells of time and machine.
fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for folder in [directory.to_owned(), directory.join("figures")] {
        for entry in std::fs::read_dir(folder).into_iter().flatten().map(Result::unwrap) {
            if entry.path().is_file() && entry.file_name() != "manifest.json" {
                found.insert(entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap());
            }
        }
    }
    found
}

/// Runs `text`, then what it left as `scenario.toml`, on another number of threads; returns the names of its files.
fn runs_again_to_the_byte(name: &str, text: &str, sets: &[&str]) -> Vec<String> {
    let root = std::env::temp_dir().join(format!("airtcp-reproduce-{name}-{}", std::process::id()));
    let scenario = read(text, sets);
    let place = directory::write(&root, &simulate(&scenario, 1), "sim", &json!({})).unwrap().directory;
    let first = files(&place);
    let again = Scenario::load(&place.join("scenario.toml"), &[], &Catalogue::BUILT_IN).unwrap();
    assert_eq!((&again.name, &again.hash, &again.resolved), (&scenario.name, &scenario.hash, &scenario.resolved));
    let second_place = directory::write(&root, &simulate(&again, 2), "sim", &json!({})).unwrap().directory;
    assert_eq!(second_place, place);
    let second = files(&place);
    for (name, bytes) in &first {
        assert_eq!(second.get(name), Some(bytes), "{name} differs");
    }
    std::fs::remove_dir_all(root).unwrap();
    first.into_keys().collect()
}

#[test]
fn the_sweep_of_log_range_labelled_tables_and_figures() {
    let sets = [&SHORT[..], &["runs=2", "vary.links.air.loss={ log = [\"0.1%\", \"10%\"], steps = 3 }"]].concat();
    let files = runs_again_to_the_byte("sweep", SWEEP, &sets);
    let expected = ["goodput-over-loss.csv", "goodput-over-loss.svg", "runs.parquet", "summary.json"];
    for name in expected {
        assert!(files.iter().any(|file| file == name), "{name} is missing in {files:?}");
    }
}

#[test]
fn the_demo_with_a_table_in_a_list_and_another_seed() {
    runs_again_to_the_byte("demo", DEMO, &[&SHORT[..], &["runs=2", "seed=18446744073709551615"]].concat());
}

#[test]
fn a_linear_range_several_flows_and_a_label_that_has_to_be_quoted() {
    let text = demo_with(
        "[schemes.repair]",
        "[flows.\"odd flow\"]\nfrom = \"receiver\"\nto = \"sender\"\nstart = \"100ms\"\nsize = \"50kB\"\nip = 6\n\n[schemes.repair]",
    );
    let text = text.replacen(
        "schemes.repair.kind = [\"none\", \"gsnoop\"]",
        "links.air.delay = { linear = [\"1ms\", \"9ms\"], steps = 3 }",
        1,
    );
    let text = text.replacen("burst = 5 }", "burst = 5, label = \"a \\\"burst\\\" \\\\ of\\t5\" }", 1);
    let text = text.replacen("columns = \"schemes.repair.kind\"", "columns = \"links.air.delay\"", 1);
    runs_again_to_the_byte("quoted", &text, &[&SHORT[..], &["flows.bulk.controller=reno"]].concat());
}

#[test]
fn what_was_set_on_the_command_line() {
    let sets = ["vary.links.air.delay=[\"5ms\", \"20ms\"]", "links.air.loss=2%", "flows.bulk.controller=cubic"];
    runs_again_to_the_byte("set", DEMO, &[&SHORT[..], &sets].concat());
}

#[test]
fn the_sweep_as_a_user_finds_it_is_whole() {
    let sweep = read(SWEEP, &[]);
    assert_eq!((sweep.cells.len(), sweep.runs, sweep.figures.len()), (40, 7, 1));
    assert_eq!(sweep.logarithmic, ["links.air.loss"]);
    assert_eq!(sweep.axes[2].1, ["plain", "snoop", "gsnoop (paper)", "gsnoop"]);
    assert_eq!(sweep.tables[0].columns, ["schemes.repair"], "the demo's tables show what the demo varies");
}
