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
