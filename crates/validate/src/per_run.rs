//! What a metric was in each run: the summary has only the median of some, `metrics.parquet` has every value.

use anyhow::Context;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Row, RowAccessor};
use std::fs::File;
use std::path::{Path, PathBuf};

/// A directory for the results of one part, gone when dropped.
pub struct Results(PathBuf);

impl Results {
    /// An empty one.
    ///
    /// # Errors
    /// The system's temporary directory cannot be written.
    pub fn new(part: &str) -> anyhow::Result<Results> {
        let path = std::env::temp_dir().join(format!("airtcp-validate-{part}-{}", std::process::id()));
        std::fs::create_dir_all(&path).with_context(|| format!("cannot make {}", path.display()))?;
        Ok(Results(path))
    }

    /// Its path, for `--results`.
    pub fn path(&self) -> anyhow::Result<&str> {
        self.0.to_str().context("the temporary directory has a name that is no text")
    }

    /// The values of `metric` in the runs of `world` ("live" or "sim"), cell by cell.
    ///
    /// # Errors
    /// There are none.
    pub fn values(&self, world: &str, metric: &str) -> anyhow::Result<Vec<Vec<f64>>> {
        let mut cells: Vec<Vec<f64>> = Vec::new();
        for row in SerializedFileReader::new(File::open(self.file(world)?)?)?.get_row_iter(None)? {
            let row = row?;
            if row.get_string(column(&row, "name")?)? == metric {
                let cell = usize::try_from(row.get_ulong(column(&row, "cell")?)?)?;
                cells.resize(cells.len().max(cell + 1), Vec::new());
                cells[cell].push(row.get_double(column(&row, "value")?)?);
            }
        }
        anyhow::ensure!(!cells.is_empty(), "no {world} run tells {metric}");
        Ok(cells)
    }

    /// The table of all metrics of `world`: results are in a directory named after the scenario.
    fn file(&self, world: &str) -> anyhow::Result<PathBuf> {
        let file_in = |scenario: &Path| scenario.join(world).join("metrics.parquet");
        let scenarios = std::fs::read_dir(&self.0)?.map(|entry| entry.map(|entry| file_in(&entry.path())));
        let found = scenarios.collect::<Result<Vec<_>, _>>()?.into_iter().find(|file| file.exists());
        found.with_context(|| format!("{} has no results of the {world} world", self.0.display()))
    }
}

impl Drop for Results {
    fn drop(&mut self) {
        // A few small files in the system's temporary directory stay otherwise.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn column(row: &Row, name: &str) -> anyhow::Result<usize> {
    let place = row.get_column_iter().position(|(column, _)| column == name);
    place.with_context(|| format!("metrics.parquet has no column {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::root;
    use airtcp_experiment::results::{CellState, Results as Told, parquet as files, summary::Summary};
    use airtcp_experiment::world::Queue;
    use airtcp_experiment::{Catalogue, RunOutcome, Scenario};

    /// Most bytes in a queue in each run of each cell.
    const BYTES: [&[u64]; 3] = [&[100, 101], &[], &[120]];

    /// What a run of `world` leaves of a scenario whose second cell was not run.
    fn leave(results: &Results, world: &str, more: u64) -> PathBuf {
        let scenario = Scenario::load(&root().join("validation/kernel-start.toml"), &[], &Catalogue::BUILT_IN).unwrap();
        let mut told = Told::new(&scenario, "sim");
        let run = |bytes: &u64| {
            let queue = Queue { bytes_max: bytes + more, first_drop: None, headers_max: None, headers_mean: None };
            RunOutcome { queue: Some(queue), ..RunOutcome::default() }
        };
        for (state, bytes) in told.cells.iter_mut().zip(BYTES).filter(|(_, bytes)| !bytes.is_empty()) {
            *state = CellState::Done(bytes.iter().map(run).collect());
        }
        let directory = results.0.join("kernel-start").join(world);
        std::fs::create_dir_all(&directory).unwrap();
        files::write(&directory, &told, &Summary::of(&told, "")).unwrap();
        directory
    }

    #[test]
    fn each_run_is_found_in_its_world_and_its_cell() {
        let results = Results::new("test-worlds").unwrap();
        leave(&results, "live", 0);
        leave(&results, "sim", 1000);
        let cells = |world| results.values(world, "queue.bytes_max").unwrap();
        assert_eq!(cells("live"), [vec![100.0, 101.0], vec![], vec![120.0]]);
        assert_eq!(cells("sim"), [vec![1100.0, 1101.0], vec![], vec![1120.0]]);
    }

    #[test]
    fn what_is_not_there_is_an_error_that_names_it() {
        let results = Results::new("test-missing").unwrap();
        let error = |world, metric| results.values(world, metric).unwrap_err().to_string();
        assert!(error("live", "queue.bytes_max").contains("no results of the live world"));
        leave(&results, "live", 0);
        assert_eq!(error("live", "queue.lengths"), "no live run tells queue.lengths");
        assert!(error("sim", "queue.bytes_max").contains("no results of the sim world"));
    }

    #[test]
    fn the_directory_is_gone_afterwards() {
        let results = Results::new("test-gone").unwrap();
        let path = leave(&results, "live", 0);
        assert!(path.join("metrics.parquet").exists());
        drop(results);
        assert!(!path.exists());
    }
}
