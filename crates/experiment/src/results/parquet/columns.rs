//! Rows of plain values into a Parquet file: uncompressed, dictionaries for text, nothing of the clock or the machine.

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

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    /// Unsigned, 64 bits; may be missing.
    Integer,
    /// May be missing.
    Real,
}

/// One value of a row.
#[derive(Clone, Copy, Debug)]
pub(super) enum Field<'a> {
    Text(&'a str),
    Integer(Option<u64>),
    Real(Option<f64>),
}

/// Rows held in memory before they are written as one row group.
const ROWS_PER_GROUP: usize = 65_536;

/// A file that is being written.
pub(super) struct Writer {
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
    pub(super) fn create(path: &Path, columns: &[(&str, Kind)]) -> io::Result<Writer> {
        let fields = columns.iter().map(|(name, kind)| field(name, *kind).map(Arc::new)).collect::<Result<_, _>>();
        let schema = Type::group_type_builder("airtcp").with_fields(fields.map_err(other)?).build().map_err(other)?;
        let created_by = format!("airtcp version {}", env!("CARGO_PKG_VERSION"));
        let properties = WriterProperties::builder().set_created_by(created_by).build();
        let file = BufWriter::new(File::create(path)?);
        let file = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties)).map_err(other)?;
        let columns = columns.iter().map(|(_, kind)| Column::of(*kind)).collect();
        Ok(Writer { file, columns, rows: 0 })
    }

    /// One row; a field for each column, of its kind.
    pub(super) fn put<'a>(&mut self, fields: impl Iterator<Item = Field<'a>>) -> io::Result<()> {
        let mut count = 0;
        for (column, field) in self.columns.iter_mut().zip(fields) {
            column.put(field);
            count += 1;
        }
        debug_assert_eq!(count, self.columns.len());
        self.rows += 1;
        if self.rows == ROWS_PER_GROUP { self.write_group() } else { Ok(()) }
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
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

    fn put(&mut self, field: Field<'_>) {
        match (self, field) {
            (Column::Text(values), Field::Text(text)) => values.push(text.into()),
            (Column::Integer(values, levels), Field::Integer(number)) => {
                levels.push(i16::from(number.is_some()));
                // Parquet keeps an unsigned integer in the bits of a signed one.
                values.extend(number.map(u64::cast_signed));
            }
            (Column::Real(values, levels), Field::Real(number)) => {
                levels.push(i16::from(number.is_some()));
                values.extend(number);
            }
            _ => unreachable!("a field of another kind than its column"),
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
