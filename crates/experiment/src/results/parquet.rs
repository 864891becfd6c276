//! The tables of [`super::data`] as Parquet files: uncompressed, dictionaries for text and fractions, whole numbers as differences
//! from row to row, nothing of the clock or the machine, so that in the simulator a seed gives the same bytes.

use super::Results;
use super::data::{self, Kind, Rows, TABLES, Table, Value, Values};
use super::summary::Summary;
use parquet::basic::{Encoding, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::{DEFAULT_WRITE_BATCH_SIZE, WriterProperties, WriterPropertiesBuilder};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{ColumnPath, Type};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// Rows held in memory before they are written as one row group.
const ROWS_PER_GROUP: usize = 65_536;

/// Rows given to the encoder at a time: as many as it takes at a time by itself, so that its pages end where they would.
const ROWS_PER_BATCH: usize = DEFAULT_WRITE_BATCH_SIZE;

const _: () = assert!(ROWS_PER_GROUP.is_multiple_of(ROWS_PER_BATCH), "a row group ends with a batch");

/// Writes a file for each table into `directory`.
///
/// # Errors
/// The file system's.
pub fn write(directory: &Path, results: &Results<'_>, summary: &Summary) -> io::Result<()> {
    let create = |table: &&Table| Writer::create(&directory.join(table.file), &data::columns(results.scenario, table));
    let mut writers = TABLES.iter().map(create).collect::<io::Result<Vec<_>>>()?;
    data::rows(results, summary, &mut |table, rows| writers[table.index].put(&rows))?;
    writers.into_iter().try_for_each(Writer::finish)
}

/// A file that is being written.
struct Writer {
    file: SerializedFileWriter<Unhurried>,
    columns: Vec<Column>,
    rows: usize,
}

/// A file that what was written reaches when there is enough of it: the encoder would have it there after every column.
struct Unhurried(BufWriter<File>);

impl Write for Unhurried {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        self.0.write(part)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The values of one column that wait for their row group.
enum Column {
    Text(Runs<ByteArray>),
    Integer(Numbers<i64>),
    Real(Numbers<f64>),
}

/// Numbers of a column, some of which may be missing.
struct Numbers<T> {
    /// Those that are there, in a list of their own for each batch of rows: no list becomes so long that it has to move.
    batches: Vec<Vec<T>>,
    /// Which are there.
    levels: Runs<i16>,
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
        let file = Unhurried(BufWriter::new(File::create(path)?));
        let file = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties)).map_err(other)?;
        let columns = columns.iter().map(|(_, kind)| Column::of(*kind)).collect();
        Ok(Writer { file, columns, rows: 0 })
    }

    fn put(&mut self, rows: &Rows<'_>) -> io::Result<()> {
        debug_assert_eq!(rows.columns().count(), self.columns.len());
        let mut begin = 0;
        while begin < rows.count {
            let room = ROWS_PER_BATCH - self.rows % ROWS_PER_BATCH;
            let is_new = room == ROWS_PER_BATCH;
            let here = begin..rows.count.min(begin + room);
            for (column, values) in self.columns.iter_mut().zip(rows.columns()) {
                column.put(values, here.clone(), is_new);
            }
            self.rows += here.len();
            begin = here.end;
            if self.rows == ROWS_PER_GROUP {
                self.write_group()?;
            }
        }
        Ok(())
    }

    fn finish(mut self) -> io::Result<()> {
        self.write_group()?;
        self.file.into_inner().map_err(other)?.0.flush()
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
            Kind::Integer => Column::Integer(Numbers::new()),
            Kind::Real => Column::Real(Numbers::new()),
        }
    }

    /// Those of `values` that belong to the rows `here`, of which the first `is_new` if a batch begins with it.
    fn put(&mut self, values: Values<'_>, here: Range<usize>, is_new: bool) {
        let times = here.len();
        match (self, values) {
            (Column::Text(texts), Values::Same(Value::Text(text))) => {
                texts.put(times, |last| last.data() == text.as_bytes(), || text.into());
            }
            // Parquet keeps an unsigned integer in the bits of a signed one.
            (Column::Integer(numbers), Values::Same(Value::Integer(number))) => {
                numbers.put(number.map(u64::cast_signed), times, is_new);
            }
            (Column::Integer(numbers), Values::Integers(each)) => {
                numbers.put_each(each[here].iter().map(|number| number.cast_signed()), is_new);
            }
            (Column::Real(numbers), Values::Same(Value::Real(number))) => numbers.put(number, times, is_new),
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
            Column::Integer(numbers) => numbers.write::<Int64Type>(writer),
            Column::Real(numbers) => numbers.write::<DoubleType>(writer),
        }
    }
}

impl<T: Copy> Numbers<T> {
    fn new() -> Numbers<T> {
        Numbers { batches: Vec::new(), levels: Runs::new() }
    }

    /// The same number, or none, `times` times.
    fn put(&mut self, number: Option<T>, times: usize, is_new: bool) {
        match number {
            Some(number) => self.put_each(std::iter::repeat_n(number, times), is_new),
            None => {
                if is_new {
                    self.batches.push(Vec::new());
                }
                self.levels.put_level(0, times);
            }
        }
    }

    fn put_each(&mut self, numbers: impl ExactSizeIterator<Item = T>, is_new: bool) {
        if is_new {
            self.batches.push(Vec::with_capacity(ROWS_PER_BATCH));
        }
        self.levels.put_level(1, numbers.len());
        self.batches.last_mut().expect("the first row begins a batch").extend(numbers);
    }

    /// Writes the numbers and forgets them.
    fn write<D: DataType<T = T>>(&mut self, writer: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        let writer = writer.typed::<D>();
        let mut batches = self.batches.drain(..);
        self.levels.take_batches(|levels| {
            let numbers = batches.next().expect("as many batches of numbers as of levels");
            writer.write_batch(&numbers, Some(levels), None).map(drop)
        })
    }
}

impl<T: Clone> Runs<T> {
    fn new() -> Runs<T> {
        Runs(Vec::new())
    }

    /// More of one item: of the last if it `is_same`, else of what `make` makes.
    fn put(&mut self, times: usize, is_same: impl FnOnce(&T) -> bool, make: impl FnOnce() -> T) {
        match self.0.last_mut() {
            Some((last, so_far)) if is_same(last) => *so_far += times,
            _ => self.0.push((make(), times)),
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
    fn put_level(&mut self, level: i16, times: usize) {
        self.put(times, |last| *last == level, || level);
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
    use ::parquet::file::reader::{FileReader, SerializedFileReader};
    use ::parquet::record::{Field, Row};
    use airtcp_test_support::Scratch;

    /// Seventy blocks of rows: some columns have a number in each row, some none in a whole block.
    #[test]
    fn blocks_that_go_on_behind_batches_and_row_groups_come_back() {
        let scratch = Scratch::new("parquet-blocks");
        let path = scratch.path().join("blocks.parquet");
        let columns = [("who", Kind::Text), ("count", Kind::Integer), ("share", Kind::Real)];
        let mut writer = Writer::create(&path, &columns.map(|(name, kind)| (name.to_owned(), kind))).unwrap();
        let (mut expected, mut first) = (Vec::new(), 0_u64);
        for block in 0..70 {
            let who = ["one", "two"][block / 3 % 2];
            let each: Vec<u64> = (first..first + 999).collect();
            let share = (block % 2 == 0).then_some(block as f64 / 8.0);
            let counts = if block % 5 == 4 { Values::Same(Value::Integer(None)) } else { Values::Integers(&each) };
            let values = [counts, Values::Same(Value::Real(share))];
            writer.put(&Rows { count: 999, key: &[Value::Text(who)], values: &values }).unwrap();
            let share = share.map_or(Field::Null, Field::Double);
            expected.extend(each.iter().map(|count| {
                let count = if block % 5 == 4 { Field::Null } else { Field::ULong(*count) };
                [Field::Str(who.to_owned()), count, share.clone()]
            }));
            first += 999;
        }
        writer.finish().unwrap();
        let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
        assert_eq!(reader.num_row_groups(), 2);
        let rows: Vec<Row> = reader.get_row_iter(None).unwrap().collect::<Result<_, _>>().unwrap();
        assert_eq!(rows.len(), expected.len());
        for (row, expected) in rows.iter().zip(&expected) {
            assert!(row.get_column_iter().map(|(_, field)| field).eq(expected), "{row}");
        }
    }

    #[test]
    fn runs_come_back_in_full_batches_but_for_the_last() {
        let lengths = [1, 0, 1023, 1, 3000, 2, 1024, 5000, 1];
        let all: Vec<usize> = (0..).zip(lengths).flat_map(|(item, length)| vec![item; length]).collect();
        for rows in [0, 1, 1023, 1024, 1025, 2048, all.len()] {
            let mut runs = Runs::new();
            all[..rows].iter().for_each(|item| runs.put(1, |last| last == item, || *item));
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
