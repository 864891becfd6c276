//! The tables of [`super::data`] as Parquet files: uncompressed, dictionaries for text, nothing of the clock or the machine, so
//! that in the simulator a seed gives the same bytes.

use super::Results;
use super::data::{self, Kind, TABLES, Table, Value};
use super::summary::Summary;
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;
use std::sync::Arc;

/// Rows held in memory before they are written as one row group.
const ROWS_PER_GROUP: usize = 65_536;

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
    Text(Vec<ByteArray>),
    Integer(Vec<i64>, Vec<i16>),
    Real(Vec<f64>, Vec<i16>),
}

impl Writer {
    fn create(path: &Path, columns: &[(String, Kind)]) -> io::Result<Writer> {
        let fields = columns.iter().map(|(name, kind)| field(name, *kind).map(Arc::new)).collect::<Result<_, _>>();
        let schema = Type::group_type_builder("airtcp").with_fields(fields.map_err(other)?).build().map_err(other)?;
        let created_by = format!("airtcp version {}", env!("CARGO_PKG_VERSION"));
        let properties = WriterProperties::builder().set_created_by(created_by).build();
        let file = BufWriter::new(File::create(path)?);
        let file = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties)).map_err(other)?;
        let columns = columns.iter().map(|(_, kind)| Column::of(*kind)).collect();
        Ok(Writer { file, columns, rows: 0 })
    }

    /// One row; a value for each column, of its kind.
    fn put(&mut self, row: &[Value<'_>]) -> io::Result<()> {
        debug_assert_eq!(row.len(), self.columns.len());
        self.columns.iter_mut().zip(row).for_each(|(column, value)| column.put(*value));
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
            Kind::Text => Column::Text(Vec::new()),
            Kind::Integer => Column::Integer(Vec::new(), Vec::new()),
            Kind::Real => Column::Real(Vec::new(), Vec::new()),
        }
    }

    fn put(&mut self, value: Value<'_>) {
        match (self, value) {
            (Column::Text(values), Value::Text(text)) => {
                // Most rows have the text of the one before, which they share.
                let same = values.last().filter(|last| last.data() == text.as_bytes());
                let value = same.cloned().unwrap_or_else(|| text.into());
                values.push(value);
            }
            (Column::Integer(values, levels), Value::Integer(number)) => {
                levels.push(i16::from(number.is_some()));
                // Parquet keeps an unsigned integer in the bits of a signed one.
                values.extend(number.map(u64::cast_signed));
            }
            (Column::Real(values, levels), Value::Real(number)) => {
                levels.push(i16::from(number.is_some()));
                values.extend(number);
            }
            _ => unreachable!("a value of another kind than its column"),
        }
    }

    /// Writes the values and forgets them.
    fn write(&mut self, writer: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        match self {
            Column::Text(values) => {
                writer.typed::<ByteArrayType>().write_batch(&std::mem::take(values), None, None)?;
            }
            Column::Integer(values, levels) => {
                let (values, levels) = (std::mem::take(values), std::mem::take(levels));
                writer.typed::<Int64Type>().write_batch(&values, Some(&levels), None)?;
            }
            Column::Real(values, levels) => {
                let (values, levels) = (std::mem::take(values), std::mem::take(levels));
                writer.typed::<DoubleType>().write_batch(&values, Some(&levels), None)?;
            }
        }
        Ok(())
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

fn other(error: ParquetError) -> io::Error {
    io::Error::other(error)
}
