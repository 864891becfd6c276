//! Tables and reports.

mod common;

use airtcp_experiment::Scenario;
use airtcp_experiment::html::{self, Stored, StoredWorld};
use airtcp_experiment::results::{Results, series, summary};
use airtcp_experiment::table::{Layout, Style, TextTable, markdown};
use common::{DEMO, demo_with, made_up, read};
use insta::assert_snapshot;
use serde_json::json;

fn text(scenario: &Scenario, results: &Results<'_>) -> String {
    let layout = Layout::of(scenario, &scenario.tables[0]);
    TextTable::new(&layout, Style::default()).render(&|cell| summary::cell(results, cell))
}

fn stored(scenario: &Scenario) -> Stored {
    let results = made_up(scenario);
    let (summary, series) = (summary::of(&results, "results/demo/live"), series::of(&results));
    let manifest = json!({"version": "0", "machine": {"kernel": "Linux 6"}});
    let world = StoredWorld { name: "live".into(), summary, series, manifest };
    Stored { directory: "results/demo".into(), scenario: scenario.clone(), worlds: vec![world] }
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
    assert_snapshot!(markdown(&layout, &|cell| summary::cell(&results, cell)));
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
    assert_eq!(page.matches("<h1>").count(), 2);
    assert!(page.contains(&one.hash) && page.contains(&two.hash));
}
