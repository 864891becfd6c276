//! The tables of [`super::data`] as Parquet files: uncompressed, dictionaries for text and fractions, whole numbers as differences
//! from row to row, nothing of the clock or the machine, so that in the simulator a seed gives the same bytes.

use super::Results;
use super::data::{self, Kind, TABLES, Table, Value};
use super::summary::Summary;
use parquet::basic::{Encoding, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::{DEFAULT_WRITE_BATCH_SIZE, WriterProperties, WriterPropertiesBuilder};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{ColumnPath, Type};
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;
use std::sync::Arc;

/// Rows held in memory before they are written as one row group.
const ROWS_PER_GROUP: usize = 65_536;

/// Rows given to the encoder at a time: as many as it takes at a time by itself, so that its pages end where they would.
const ROWS_PER_BATCH: usize = DEFAULT_WRITE_BATCH_SIZE;

/// Writes a file for each table into `directory`.
///
/// # Errors
/// The file system's.
pub fn write(directory: &Path, results: &Results<'_>, summary: &Summary) -> io::Result<()> {
    let create = |table: &&Table| Writer::create(&directory.join(table.file), &data::columns(results.scenario, table));
    let mut writers = TABLES.iter().map(create).collect::<io::Result<Vec<_>>>()?;
    data::rows(results, summary, &mut |table, row| writers[table.index].put(row))?;
    writers.into_iter().try_for_each(Writer::finish)
}

/// A file that is being written.
struct Writer {
    file: SerializedFileWriter<BufWriter<File>>,
    columns: Vec<Column>,
    rows: usize,
}

/// The values of one column that wait for their row group; levels say which are there.
enum Column {
    Text(Runs<ByteArray>),
    Integer(Vec<i64>, Runs<i16>),
    Real(Vec<f64>, Runs<i16>),
}

/// Items many of which are as the one before: each different one, and how many of it follow each other.
struct Runs<T>(Vec<(T, usize)>);

impl Writer {
    fn create(path: &Path, columns: &[(String, Kind)]) -> io::Result<Writer> {
        let fields = columns.iter().map(|(name, kind)| field(name, *kind).map(Arc::new)).collect::<Result<_, _>>();
        let schema = Type::group_type_builder("airtcp").with_fields(fields.map_err(other)?).build().map_err(other)?;
        let created_by = format!("airtcp version {}", env!("CARGO_PKG_VERSION"));
        let properties = WriterProperties::builder().set_created_by(created_by);
        let properties =
            columns.iter().fold(properties, |properties, (name, kind)| encoded(properties, name, *kind)).build();
        let file = BufWriter::new(File::create(path)?);
        let file = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties)).map_err(other)?;
        let columns = columns.iter().map(|(_, kind)| Column::of(*kind)).collect();
        Ok(Writer { file, columns, rows: 0 })
    }

    /// One row; a value for each column, of its kind.
    fn put(&mut self, row: [&[Value<'_>]; 2]) -> io::Result<()> {
        debug_assert_eq!(row[0].len() + row[1].len(), self.columns.len());
        let (key, rest) = self.columns.split_at_mut(row[0].len());
        for (columns, values) in [(key, row[0]), (rest, row[1])] {
            columns.iter_mut().zip(values).for_each(|(column, value)| column.put(*value));
        }
        self.rows += 1;
        if self.rows == ROWS_PER_GROUP { self.write_group() } else { Ok(()) }
    }

    fn finish(mut self) -> io::Result<()> {
        self.write_group()?;
        self.file.close().map(drop).map_err(other)
    }

    fn write_group(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.rows) == 0 {
            return Ok(());
        }
        let mut group = self.file.next_row_group().map_err(other)?;
        for column in &mut self.columns {
            let mut writer = group.next_column().map_err(other)?.expect("as many columns as in the schema");
            column.write(&mut writer).map_err(other)?;
            writer.close().map_err(other)?;
        }
        group.close().map(drop).map_err(other)
    }
}

impl Column {
    fn of(kind: Kind) -> Column {
        match kind {
            Kind::Text => Column::Text(Runs::new()),
            Kind::Integer => Column::Integer(Vec::new(), Runs::new()),
            Kind::Real => Column::Real(Vec::new(), Runs::new()),
        }
    }

    fn put(&mut self, value: Value<'_>) {
        match (self, value) {
            (Column::Text(values), Value::Text(text)) => {
                values.put(|last| last.data() == text.as_bytes(), || text.into());
            }
            (Column::Integer(values, levels), Value::Integer(number)) => {
                levels.put_level(number.is_some());
                if let Some(number) = number {
                    // Parquet keeps an unsigned integer in the bits of a signed one.
                    values.push(number.cast_signed());
                }
            }
            (Column::Real(values, levels), Value::Real(number)) => {
                levels.put_level(number.is_some());
                if let Some(number) = number {
                    values.push(number);
                }
            }
            _ => unreachable!("a value of another kind than its column"),
        }
    }

    /// Writes the values and forgets them.
    fn write(&mut self, writer: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        match self {
            Column::Text(values) => {
                let writer = writer.typed::<ByteArrayType>();
                values.take_batches(|batch| writer.write_batch(batch, None, None).map(drop))
            }
            Column::Integer(values, levels) => write_numbers::<Int64Type>(writer, values, levels),
            Column::Real(values, levels) => write_numbers::<DoubleType>(writer, values, levels),
        }
    }
}

/// Writes `values`, of which `levels` say where they are, and forgets both.
fn write_numbers<T: DataType>(
    writer: &mut SerializedColumnWriter<'_>,
    values: &mut Vec<T::T>,
    levels: &mut Runs<i16>,
) -> Result<(), ParquetError> {
    let (writer, values) = (writer.typed::<T>(), std::mem::take(values));
    let mut rest = values.as_slice();
    levels.take_batches(|batch| {
        let here;
        (here, rest) = rest.split_at(batch.iter().filter(|level| **level == 1).count());
        writer.write_batch(here, Some(batch), None).map(drop)
    })
}

impl<T: Clone> Runs<T> {
    fn new() -> Runs<T> {
        Runs(Vec::new())
    }

    /// One more: the last again if it `is_same`, else what `make` makes.
    fn put(&mut self, is_same: impl FnOnce(&T) -> bool, make: impl FnOnce() -> T) {
        match self.0.last_mut() {
            Some((last, times)) if is_same(last) => *times += 1,
            _ => self.0.push((make(), 1)),
        }
    }

    /// Gives all to `put`, [`ROWS_PER_BATCH`] at a time, and forgets them.
    fn take_batches<E>(&mut self, mut put: impl FnMut(&[T]) -> Result<(), E>) -> Result<(), E> {
        let mut batch = Vec::with_capacity(ROWS_PER_BATCH);
        for (item, mut times) in std::mem::take(&mut self.0) {
            if batch.is_empty() && times >= ROWS_PER_BATCH {
                batch.resize(ROWS_PER_BATCH, item.clone());
                while times >= ROWS_PER_BATCH {
                    put(&batch)?;
                    times -= ROWS_PER_BATCH;
                }
                batch.clear();
            }
            while times > 0 {
                let here = times.min(ROWS_PER_BATCH - batch.len());
                batch.extend(std::iter::repeat_n(&item, here).cloned());
                times -= here;
                if batch.len() == ROWS_PER_BATCH {
                    put(&batch)?;
                    batch.clear();
                }
            }
        }
        if batch.is_empty() { Ok(()) } else { put(&batch) }
    }
}

impl Runs<i16> {
    fn put_level(&mut self, is_there: bool) {
        let level = i16::from(is_there);
        self.put(|last| *last == level, || level);
    }
}

fn field(name: &str, kind: Kind) -> Result<Type, ParquetError> {
    let (physical, logical, repetition) = match kind {
        Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String), Repetition::REQUIRED),
        Kind::Integer => (Physical::INT64, Some(LogicalType::integer(64, false)), Repetition::OPTIONAL),
        Kind::Real => (Physical::DOUBLE, None, Repetition::OPTIONAL),
    };
    Type::primitive_type_builder(name, physical).with_logical_type(logical).with_repetition(repetition).build()
}

/// Whole numbers here are counters, times and levels: each is near the one before or the same, and a dictionary, which looks every
/// value up, would be neither smaller nor as fast.
fn encoded(properties: WriterPropertiesBuilder, name: &str, kind: Kind) -> WriterPropertiesBuilder {
    let column = ColumnPath::new(vec![name.to_owned()]);
    match kind {
        Kind::Integer => properties
            .set_column_dictionary_enabled(column.clone(), false)
            .set_column_encoding(column, Encoding::DELTA_BINARY_PACKED),
        Kind::Text | Kind::Real => properties,
    }
}

fn other(error: ParquetError) -> io::Error {
    io::Error::other(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_come_back_in_full_batches_but_for_the_last() {
        let lengths = [1, 0, 1023, 1, 3000, 2, 1024, 5000, 1];
        let all: Vec<usize> = (0..).zip(lengths).flat_map(|(item, length)| vec![item; length]).collect();
        for rows in [0, 1, 1023, 1024, 1025, 2048, all.len()] {
            let mut runs = Runs::new();
            all[..rows].iter().for_each(|item| runs.put(|last| last == item, || *item));
            let mut batches: Vec<Vec<usize>> = Vec::new();
            let put = |batch: &[usize]| -> Result<(), ()> {
                batches.push(batch.to_vec());
                Ok(())
            };
            runs.take_batches(put).expect("each is taken");
            assert!(batches.iter().rev().skip(1).all(|batch| batch.len() == ROWS_PER_BATCH));
            assert!(batches.iter().all(|batch| !batch.is_empty()));
            assert_eq!(batches.concat(), all[..rows]);
            assert!(runs.0.is_empty());
        }
    }
}
