//! Pages that have what the program has: docs/data.md every column of the files, docs/rfc9743.md every row of its scenario.

use airtcp_experiment::metric::{self, Metric};
use airtcp_experiment::results::data::{Column, KEY, RUN, TABLES, Table};
use airtcp_experiment::{Catalogue, Scenario};
use std::collections::BTreeSet;

#[test]
fn the_page_has_every_column_and_every_metric() {
    let page = include_str!("../../../docs/data.md");
    let row = |column: &Column| format!("| `{}` | {} | {} |\n", column.name, column.kind.name(), column.about);
    let rows = |columns: &[Column]| columns.iter().map(row).collect::<String>();
    let head = "| column | type | meaning |\n|---|---|---|\n";
    let table =
        |table: &&Table| format!("\n### {}\n\nA row is {}.\n\n{head}{}", table.file, table.about, rows(table.columns));
    let metric = |metric: &Metric| format!("| `{}` | {} | {} |\n", metric.name, metric.unit.base(), metric.about);
    let dictionary = format!(
        "{head}{}\nand behind that, but in `cells.parquet`,\n\n{head}{}{}\n## Names of metrics\n\nA name in `<…>` stands for a flow, a probe, a workload or a counter.\n\n| name | unit of `value` | meaning |\n|---|---|---|\n{}",
        rows(KEY),
        rows(RUN),
        TABLES.iter().map(table).collect::<String>(),
        metric::all().map(metric).collect::<String>(),
    );
    assert!(page.ends_with(&dictionary), "docs/data.md does not end with this:\n{dictionary}");
}

#[test]
fn the_page_about_rfc_9743_has_every_row_of_its_scenario_and_no_other() {
    let text = include_str!("../../../scenarios/rfc9743.toml");
    let scenario = Scenario::of_text("rfc9743.toml", text, &[], &Catalogue::BUILT_IN).unwrap();
    let (_, labels) = scenario.axes.iter().find(|(axis, _)| axis == "cases.row").expect("rows vary");
    let labels: BTreeSet<&str> =
        labels.iter().map(String::as_str).filter(|label| !label.starts_with("alone: ")).collect();
    let page = include_str!("../../../docs/rfc9743.md");
    let first_cell = |line: &'static str| line.strip_prefix("| ")?.split(" | ").next();
    let is_row = |cell: &&str| cell.starts_with(|c: char| c.is_ascii_digit());
    assert_eq!(page.lines().filter_map(first_cell).filter(is_row).collect::<BTreeSet<_>>(), labels);
}
