//! Tables and reports.

use crate::common::{DEMO, demo_with, made_up, read};
use airtcp_experiment::Scenario;
use airtcp_experiment::html::{self, Stored, StoredWorld};
use airtcp_experiment::results::Results;
use airtcp_experiment::results::series::Series;
use airtcp_experiment::results::summary::{CellSummary, Reading, Summary};
use airtcp_experiment::table::{Layout, Style, TextTable, markdown};
use insta::assert_snapshot;
use serde_json::json;
use std::borrow::Cow;

fn text(scenario: &Scenario, results: &Results<'_>) -> String {
    let layout = Layout::of(scenario, &scenario.tables[0]);
    TextTable::new(&layout, Style::default()).render(&|cell| CellSummary::of(results, cell).map(Cow::Owned))
}

fn stored(scenario: &Scenario) -> Stored<'static> {
    let results = made_up(scenario);
    let (summary, series) = (Summary::of(&results, "results/demo/live"), Series::of(&results));
    let manifest = json!({"version": "0", "machine": {"kernel": "Linux 6"}});
    let world = StoredWorld { name: "live".into(), summary, series, manifest };
    Stored { directory: "results/demo".into(), scenario: Cow::Owned(scenario.clone()), worlds: vec![Cow::Owned(world)] }
}

#[test]
fn a_table_of_the_demo() {
    let demo = read(DEMO, &["runs=3"]).unwrap();
    assert_snapshot!(text(&demo, &made_up(&demo)));
}

#[test]
fn a_table_without_rows_or_columns() {
    let demo = read(DEMO, &["links.air.loss=1%", "flows.bulk.controller=cubic", "schemes.repair.kind=gsnoop"]).unwrap();
    assert_snapshot!(text(&demo, &made_up(&demo)));
}

#[test]
fn the_same_table_as_markdown() {
    let demo = read(DEMO, &["runs=3", "flows.bulk.controller=cubic"]).unwrap();
    let results = made_up(&demo);
    let layout = Layout::of(&demo, &demo.tables[0]);
    assert_snapshot!(markdown(&layout, &|cell| CellSummary::of(&results, cell).map(Cow::Owned)));
}

#[test]
fn every_line_of_a_table_is_as_long_as_its_columns() {
    let demo = read(DEMO, &[]).unwrap();
    let table = text(&demo, &made_up(&demo));
    let lengths: Vec<usize> = table.lines().skip(3).map(|line| line.chars().count()).collect();
    assert!(lengths.windows(2).all(|pair| pair[0] == pair[1]), "{table}");
}

#[test]
fn colours_are_only_where_they_are_wanted() {
    let demo = read(DEMO, &[]).unwrap();
    let layout = Layout::of(&demo, &demo.tables[0]);
    let header = |coloured| TextTable::new(&layout, Style { coloured }).header();
    assert!(header(true).contains('\x1b') && !header(false).contains('\x1b'));
}

#[test]
fn a_report_needs_nothing_from_elsewhere() {
    let demo = read(DEMO, &[]).unwrap();
    let page = html::render(&[stored(&demo)]);
    let without_namespace = page.replace("http://www.w3.org/2000/svg", "");
    for mark in ["http://", "https://", "src=", "@import", "url(", "{{"] {
        assert!(!without_namespace.contains(mark), "the page contains '{mark}'");
    }
    assert!(page.len() < 1_000_000, "{} bytes", page.len());
    assert!(page.contains("4 cells not run: /dev/net/tun is missing"));
}

#[test]
fn nothing_that_a_file_says_becomes_markup() {
    let nasty = "</script><script>alert(1)</script>";
    let text = demo_with("about = \"Two", &format!("about = \"{nasty} Two"));
    let text = text.replacen("burst = 5 }", &format!("burst = 5, label = \"{nasty}\" }}"), 1);
    let page = html::render(&[stored(&read(&text, &[]).unwrap())]);
    assert!(!page.contains("<script>alert"));
    assert_eq!(page.matches("</script>").count(), 2, "the data's and the drawing's own");
}

#[test]
fn several_results_stand_in_one_report() {
    let (one, two) = (read(DEMO, &[]).unwrap(), read(DEMO, &["duration=30s"]).unwrap());
    let page = html::render(&[stored(&one), stored(&two)]);
    assert_eq!(page.matches("<h1>").count(), 4, "in short, side by side, and one each");
    assert!(page.contains(&one.hash) && page.contains(&two.hash));
}

/// The part of a page that puts results side by side.
fn side_by_side(results: &[Stored<'_>]) -> String {
    let page = html::render(results);
    let from = page.find("Side by side").expect("several results are compared");
    let rest = &page[from..];
    rest[..rest.find("<header").unwrap_or(rest.len())].to_owned()
}

/// The rows of the first measure's table.
fn first_rows(part: &str) -> Vec<&str> {
    let body = part.split("data-title").nth(1).expect("a measure is compared");
    let body = &body[body.find("<tbody>").unwrap()..body.find("</tbody>").unwrap()];
    body.split("<tr>").skip(1).collect()
}

#[test]
fn results_side_by_side_tell_what_was_asked_differently() {
    let (one, two) = (read(DEMO, &[]).unwrap(), read(DEMO, &["links.air.delay=20ms"]).unwrap());
    let part = side_by_side(&[stored(&one), stored(&two)]);
    assert!(part.contains("<th scope=\"row\">links.air.delay</th><td>5ms</td><td>20ms</td>"), "{part}");
    assert!(!part.contains("<th scope=\"row\">links.wire.delay</th>"), "what is the same is not listed");
}

#[test]
fn a_difference_is_clear_only_where_intervals_do_not_overlap() {
    let (one, two) = (read(DEMO, &["runs=3"]).unwrap(), read(DEMO, &["runs=3", "seed=2"]).unwrap());
    let (before, mut after) = (stored(&one), stored(&two));
    let part = side_by_side(&[before.clone(), after.clone()]);
    assert_eq!(first_rows(&part).len(), 16, "the cells that were run");
    assert!(part.contains("higher in 0 of 16 cells, lower in 0, no clear difference in 16"), "{part}");
    let goodput = Reading { median: 4_800_500.0, ci95: Some([4_800_000.0, 4_801_000.0]), runs: Vec::new() };
    after.worlds[0].to_mut().summary.cells[0].readings.put("goodput_bps", &goodput);
    let part = side_by_side(&[before, after]);
    assert!(first_rows(&part)[0].contains("<td class=\"differs\">−50.0 %</td>"), "{}", first_rows(&part)[0]);
    assert!(part.contains("higher in 0 of 16 cells, lower in 1, no clear difference in 15"), "{part}");
}

#[test]
fn a_key_that_one_result_fixes_meets_the_value_it_has_in_the_other() {
    let (all, fixed) = (read(DEMO, &[]).unwrap(), read(DEMO, &["links.air.loss=5%"]).unwrap());
    let part = side_by_side(&[stored(&all), stored(&fixed)]);
    let rows = first_rows(&part);
    assert_eq!(rows.len(), 4);
    assert!(rows.iter().all(|row| row.contains("scope=\"row\">5%</th>")), "{rows:?}");
    assert!(part.contains("12 cells only in A"));
}

#[test]
fn two_worlds_of_one_scenario_stand_side_by_side() {
    let demo = read(DEMO, &[]).unwrap();
    let mut both = stored(&demo);
    let mut simulated = both.worlds[0].clone();
    simulated.to_mut().name = "simulator".into();
    both.worlds.insert(0, simulated);
    let part = side_by_side(&[both]);
    assert!(part.contains("live against simulator: higher in 0 of 16 cells"), "{part}");
    assert!(part.contains("The scenarios are equal."));
}

#[test]
fn a_report_of_a_large_sweep_stays_small() {
    let text = DEMO.replacen(
        "links.air.loss = [\"0%\", \"1%\", \"5%\", \"10%\",\n  { kind = \"gilbert-elliott\", mean = \"2%\", burst = 5 }]",
        "links.air.loss = { linear = [\"0%\", \"9%\"], steps = 100 }",
        1,
    );
    let sweep = read(&text, &["runs=1"]).unwrap();
    assert_eq!(sweep.cells.len(), 400);
    let mut stored = stored(&sweep);
    let long: Vec<u64> = (0..200).map(|at| 1_000_000 + 1000 * at).collect();
    for cell in &mut stored.worlds[0].to_mut().series.cells {
        for column in ["at_ms", "goodput_bps", "cwnd_bytes", "rtt_us", "repairs"] {
            cell.flows[0].columns[column].clone_from(&long);
        }
    }
    let page = html::render(&[stored]);
    assert!(page.len() < 4_000_000, "{} bytes", page.len());
    assert!(!page.contains("left out here"), "thinner, but all of them");
}
