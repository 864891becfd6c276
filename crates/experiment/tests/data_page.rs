//! docs/data.md says of every column what the files hold.

use airtcp_experiment::metric::{self, Metric};
use airtcp_experiment::results::data::{Column, KEY, RUN, TABLES, Table};

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
