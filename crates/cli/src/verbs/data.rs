//! `airtcp show data`: the columns of the Parquet files.

use super::topic::{Key, Section, Topic};
use airtcp_experiment::results::data::{Column, KEY, RUN, TABLES};

/// Every column of every file.
pub(super) fn topic() -> Topic {
    let keys = |columns: &[Column]| columns.iter().map(key).collect();
    let tables = TABLES
        .iter()
        .map(|table| Section { title: format!("{}: a row is {}", table.file, table.about), keys: keys(table.columns) });
    let first = Section { title: "in every file, behind the varied keys".into(), keys: keys(KEY) };
    let second = Section { title: "behind that, but in cells.parquet".into(), keys: keys(RUN) };
    Topic {
        name: "data".into(),
        about: "The columns of the Parquet files that a run leaves.".into(),
        notes: vec![
            "A varied key has a column with its label and, where its values are numbers, one with the number in base units: links.air.loss and links.air.loss_ratio.".into(),
            "Numbers that are not known are missing. `airtcp show metrics` lists the names in metrics.parquet.".into(),
        ],
        sections: [first, second].into_iter().chain(tables).collect(),
        example: "import pandas\nruns = pandas.read_parquet(\"results/NAME-HASH/sim/runs.parquet\")\n".into(),
    }
}

fn key(column: &Column) -> Key {
    let about = format!("{} ({})", column.about, column.kind.name());
    Key { name: column.name.into(), kind: column.kind.name().into(), about, ..Key::default() }
}
