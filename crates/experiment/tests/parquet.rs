//! The Parquet files, read back.

use crate::common::{DEMO, made_up, read};
use airtcp_experiment::results::{self, Results, RunOptions, data, parquet as files};
use airtcp_experiment::{Scenario, Simulator};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};
use std::fs::File;
use std::path::{Path, PathBuf};

fn write(name: &str, results: &Results<'_>) -> PathBuf {
    let directory = std::env::temp_dir().join(format!("airtcp-parquet-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    files::write(&directory, results, &results::summary::Summary::of(results, "")).unwrap();
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
fn a_varied_key_is_a_number_in_base_units_beside_its_label() {
    let sets = ["vary.links.air.loss=[\"0\", \"3.162%\", \"5%\"]", "vary.links.air.delay=[\"1ms\", \"0.5s\"]"];
    let scenario = read(DEMO, &[&["runs=1", "flows.bulk.controller=cubic"], &sets[..]].concat()).unwrap();
    let directory = write("numbers", &made_up(&scenario));
    let found: Vec<[Field; 4]> = rows(&directory, "metrics.parquet")
        .iter()
        .filter(|row| *field(row, "name") == text("rtt_ns.p50") && *field(row, "schemes.repair.kind") == text("none"))
        .map(|row| {
            ["links.air.loss", "links.air.loss_ratio", "links.air.delay", "links.air.delay_ns"]
                .map(|name| field(row, name).clone())
        })
        .collect();
    let losses = [("0", 0.0), ("3.162%", 0.03162), ("5%", 0.05)];
    let delays = [("1ms", 1e6), ("0.5s", 5e8)];
    let expected = losses.iter().flat_map(|(loss, ratio)| {
        delays.iter().map(|(delay, nanos)| [text(loss), Field::Double(*ratio), text(delay), Field::Double(*nanos)])
    });
    assert_eq!(found, expected.collect::<Vec<_>>());
    let columns: Vec<String> = data::columns(&scenario, data::TABLES[0]).into_iter().map(|(name, _)| name).collect();
    let varied = ["links.air.loss", "links.air.loss_ratio", "links.air.delay", "links.air.delay_ns"];
    assert!(varied.iter().all(|name| columns.contains(&(*name).into())), "{columns:?}");
    assert!(!columns.contains(&"schemes.repair.kind_number".into()), "words have no numbers");
    std::fs::remove_dir_all(directory).unwrap();
}

#[test]
fn cells_have_the_medians_and_intervals_of_the_summary() {
    let demo = read(DEMO, &["runs=7", "seed=7"]).unwrap();
    let results = made_up(&demo);
    let directory = write("cells", &results);
    let summary = results::summary::Summary::of(&results, "");
    let cells = rows(&directory, "cells.parquet");
    let told: Vec<&Row> = cells.iter().filter(|row| *field(row, "name") == text("goodput_bps")).collect();
    assert_eq!(told.len(), summary.cells.len());
    for (row, cell) in told.iter().zip(&summary.cells) {
        let reading = cell.readings.get("goodput_bps").unwrap();
        let [low, high] = reading.ci95.unwrap();
        assert_eq!(
            ["median", "low", "high"].map(|name| field(row, name).clone()),
            [reading.median, low, high].map(Field::Double)
        );
    }
    let counts: Vec<&Row> = cells.iter().filter(|row| *field(row, "name") == text("sender.rtos")).collect();
    assert!(!counts.is_empty());
    std::fs::remove_dir_all(directory).unwrap();
}

#[test]
fn the_first_run_of_each_cell_is_there_over_time() {
    let sets = ["duration=3s", "warmup=1s", "runs=2", "flows.bulk.controller=cubic", "links.air.loss=5%"];
    let scenario = read(DEMO, &sets).unwrap();
    let results = simulate(&scenario, 1);
    let directory = write("series", &results);
    let found = rows(&directory, "series.parquet");
    let flows = results.cells.iter().filter_map(|cell| match cell {
        results::CellState::Done(runs) => Some(&runs[0].flows[0].series),
        _ => None,
    });
    let samples: Vec<_> = flows.flatten().collect();
    let of_flows: Vec<&Row> = found.iter().filter(|row| *field(row, "of") == text("flow")).collect();
    assert!(samples.len() > 100 && of_flows.len() == samples.len(), "{} {}", samples.len(), of_flows.len());
    for (row, sample) in of_flows.iter().zip(samples) {
        assert_eq!(*field(row, "run"), Field::ULong(0));
        assert_eq!(*field(row, "at_ns"), Field::ULong(sample.at.as_nanos()));
        assert_eq!(*field(row, "cwnd_bytes"), Field::ULong(sample.cwnd));
        assert_eq!(*field(row, "rtt_ns"), Field::ULong(sample.rtt.as_nanos()));
        assert_eq!(*field(row, "delivered_bytes"), Field::ULong(sample.delivered));
        assert_eq!((field(row, "rate_bps"), field(row, "level")), (&Field::Null, &Field::Null));
    }
    std::fs::remove_dir_all(directory).unwrap();
}

#[test]
fn a_seed_gives_the_same_bytes_on_one_and_two_threads() {
    let scenario = read(DEMO, &["duration=2s", "warmup=1s", "runs=2", "flows.bulk.controller=cubic"]).unwrap();
    let (one, two) = (write("one", &simulate(&scenario, 1)), write("two", &simulate(&scenario, 2)));
    for name in data::TABLES.map(|table| table.file) {
        assert_eq!(std::fs::read(one.join(name)).unwrap(), std::fs::read(two.join(name)).unwrap(), "{name}");
    }
    std::fs::remove_dir_all(one).unwrap();
    std::fs::remove_dir_all(two).unwrap();
}
