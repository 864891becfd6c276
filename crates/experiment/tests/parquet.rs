//! `runs.parquet` and `counters.parquet`, read back.

use crate::common::{DEMO, made_up, read};
use airtcp_experiment::results::{self, Results, RunOptions, parquet as files};
use airtcp_experiment::{Scenario, Simulator};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};
use std::fs::File;
use std::path::{Path, PathBuf};

fn write(name: &str, results: &Results<'_>) -> PathBuf {
    let directory = std::env::temp_dir().join(format!("airtcp-parquet-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    files::write(&directory, results).unwrap();
    directory
}

fn rows(directory: &Path, name: &str) -> Vec<Row> {
    let reader = SerializedFileReader::new(File::open(directory.join(name)).unwrap()).unwrap();
    reader.get_row_iter(None).unwrap().collect::<Result<_, _>>().unwrap()
}

fn field<'a>(row: &'a Row, name: &str) -> &'a Field {
    let found = row.get_column_iter().find(|(column, _)| *column == name);
    found.unwrap_or_else(|| panic!("no column '{name}' in {row}")).1
}

fn text(value: &str) -> Field {
    Field::Str(value.into())
}

fn simulate(scenario: &Scenario, threads: usize) -> Results<'_> {
    results::run(scenario, &Simulator::default(), RunOptions { threads }, &mut ())
}

#[test]
fn every_run_and_flow_is_a_row_with_its_labels_and_numbers() {
    let demo = read(DEMO, &["runs=3", "seed=7"]).unwrap();
    let results = made_up(&demo);
    let directory = write("runs", &results);
    let rows = rows(&directory, "runs.parquet");
    let done = results.cells.iter().filter(|cell| matches!(cell, results::CellState::Done(_))).count();
    assert_eq!(rows.len(), 3 * done);
    // The last run of the cell with 5 % loss, CUBIC and a scheme: 9.1 Mbit/s and 1000 times the seed.
    let is_it = |row: &&Row| {
        *field(row, "links.air.loss") == text("5%")
            && *field(row, "flows.bulk.controller") == text("cubic")
            && *field(row, "schemes.repair.kind") == text("gsnoop")
            && *field(row, "run") == Field::ULong(2)
    };
    let row = rows.iter().find(is_it).expect("the run is there");
    assert_eq!((field(row, "seed"), field(row, "cell")), (&Field::ULong(9), &Field::ULong(9)));
    assert_eq!(*field(row, "goodput_bps"), Field::Double(9_109_000.0));
    assert_eq!(*field(row, "measured_bytes"), Field::ULong(9_109_000 / 8 * 18));
    assert_eq!(*field(row, "measured_ns"), Field::ULong(18_000_000_000));
    assert_eq!((field(row, "flow"), field(row, "completion_ns")), (&text("bulk"), &Field::Null));
    let Field::Double(ceiling) = field(row, "ceiling_bps") else { panic!("{row}") };
    assert_eq!(ceiling.round(), 9_170_667.0);
    std::fs::remove_dir_all(directory).unwrap();
}

#[test]
fn every_counter_of_a_scheme_and_every_loss_is_a_row() {
    let demo = read(DEMO, &["runs=1", "links.air.loss=5%", "flows.bulk.controller=cubic"]).unwrap();
    let results = made_up(&demo);
    let directory = write("counters", &results);
    let found: Vec<String> = rows(&directory, "counters.parquet")
        .iter()
        .map(|row| {
            ["schemes.repair.kind", "of", "place", "name", "count"].map(|name| field(row, name).to_string()).join(" ")
        })
        .collect();
    let quoted = [
        "\"none\" \"drops\" \"links.air.forward\" \"loss\" 750",
        "\"gsnoop\" \"scheme\" \"repair\" \"repairs\" 501",
        "\"gsnoop\" \"drops\" \"links.air.forward\" \"loss\" 750",
    ];
    assert_eq!(found, quoted);
    std::fs::remove_dir_all(directory).unwrap();
}

#[test]
fn a_seed_gives_the_same_bytes_on_one_and_two_threads() {
    let scenario = read(DEMO, &["duration=2s", "warmup=1s", "runs=2", "flows.bulk.controller=cubic"]).unwrap();
    let (one, two) = (write("one", &simulate(&scenario, 1)), write("two", &simulate(&scenario, 2)));
    for name in ["runs.parquet", "metrics.parquet", "counters.parquet"] {
        assert_eq!(std::fs::read(one.join(name)).unwrap(), std::fs::read(two.join(name)).unwrap(), "{name}");
    }
    std::fs::remove_dir_all(one).unwrap();
    std::fs::remove_dir_all(two).unwrap();
}
