//! A table as Arrow: an object that any library with the Arrow PyCapsule interface reads without a copy.

use airtcp_experiment::results::Results;
use airtcp_experiment::results::data::{self, Kind, Rows, TABLES, Value, Values};
use airtcp_experiment::results::summary::Summary;
use arrow_array::builder::{Float64Builder, StringBuilder, UInt64Builder};
use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchIterator};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};
use std::convert::Infallible;
use std::ops::Range;
use std::sync::Arc;

/// Rows of a batch: as many as of a row group in the files.
const ROWS_PER_BATCH: usize = 65_536;

/// Rows with named columns. pandas, Polars, DuckDB and pyarrow take it as it is; `to_pydict()` needs nothing else.
#[pyclass(frozen, module = "airtcp")]
pub(crate) struct Table {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

#[pymethods]
impl Table {
    /// The names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    fn __len__(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    fn __repr__(&self) -> String {
        format!("<airtcp.Table of {} rows: {}>", self.__len__(), self.columns().join(", "))
    }

    /// A list for each column, by its name.
    fn to_pydict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let columns = PyDict::new(py);
        for (index, field) in self.schema.fields().iter().enumerate() {
            let values = PyList::empty(py);
            for batch in &self.batches {
                append(&values, batch.column(index))?;
            }
            columns.set_item(field.name(), values)?;
        }
        Ok(columns)
    }

    /// The Arrow PyCapsule interface: a stream of record batches.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface lets a producer ignore a schema that it was asked for.
        drop(requested_schema);
        let batches = self.batches.clone().into_iter().map(Ok::<_, ArrowError>);
        let reader = RecordBatchIterator::new(batches, Arc::clone(&self.schema));
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new(py, stream, Some(c"arrow_array_stream".into()))
    }
}

fn append(values: &Bound<'_, PyList>, column: &ArrayRef) -> PyResult<()> {
    match column.data_type() {
        DataType::Utf8 => column.as_string::<i32>().iter().try_for_each(|value| values.append(value)),
        DataType::UInt64 => column.as_primitive::<UInt64Type>().iter().try_for_each(|value| values.append(value)),
        _ => column.as_primitive::<Float64Type>().iter().try_for_each(|value| values.append(value)),
    }
}

/// Every table of some results, of which `summary` was made, in the order of [`TABLES`].
pub(crate) fn of(results: &Results<'_>, summary: &Summary) -> Vec<Table> {
    let mut builders: Vec<Builder> =
        TABLES.iter().map(|table| Builder::new(data::columns(results.scenario, table))).collect();
    let put = data::rows::<Infallible>(results, summary, &mut |table, rows| {
        builders[table.index].put(&rows);
        Ok(())
    });
    match put {
        Ok(()) => builders.into_iter().map(Builder::finish).collect(),
        Err(never) => match never {},
    }
}

/// A table that is being filled.
struct Builder {
    schema: SchemaRef,
    columns: Vec<Column>,
    rows: usize,
    batches: Vec<RecordBatch>,
}

enum Column {
    Text(StringBuilder),
    Integer(UInt64Builder),
    Real(Float64Builder),
}

impl Builder {
    fn new(columns: Vec<(String, Kind)>) -> Builder {
        let field = |(name, kind): &(String, Kind)| match kind {
            Kind::Text => Field::new(name, DataType::Utf8, false),
            Kind::Integer => Field::new(name, DataType::UInt64, true),
            Kind::Real => Field::new(name, DataType::Float64, true),
        };
        let schema = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<Field>>()));
        let column = |(_, kind): &(String, Kind)| match kind {
            Kind::Text => Column::Text(StringBuilder::new()),
            Kind::Integer => Column::Integer(UInt64Builder::new()),
            Kind::Real => Column::Real(Float64Builder::new()),
        };
        Builder { schema, columns: columns.iter().map(column).collect(), rows: 0, batches: Vec::new() }
    }

    fn put(&mut self, rows: &Rows<'_>) {
        let mut begin = 0;
        while begin < rows.count {
            let here = begin..rows.count.min(begin + ROWS_PER_BATCH - self.rows);
            for (column, values) in self.columns.iter_mut().zip(rows.columns()) {
                column.put(values, here.clone());
            }
            self.rows += here.len();
            begin = here.end;
            if self.rows == ROWS_PER_BATCH {
                self.close_batch();
            }
        }
    }

    fn close_batch(&mut self) {
        self.rows = 0;
        let arrays = self.columns.iter_mut().map(|column| -> ArrayRef {
            match column {
                Column::Text(values) => Arc::new(values.finish()),
                Column::Integer(values) => Arc::new(values.finish()),
                Column::Real(values) => Arc::new(values.finish()),
            }
        });
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), arrays.collect());
        self.batches.push(batch.expect("columns of equal length, as the schema has them"));
    }

    fn finish(mut self) -> Table {
        if self.rows > 0 {
            self.close_batch();
        }
        Table { schema: self.schema, batches: self.batches }
    }
}

impl Column {
    fn put(&mut self, values: Values<'_>, here: Range<usize>) {
        let times = here.len();
        match (self, values) {
            (Column::Text(texts), Values::Same(Value::Text(text))) => {
                (0..times).for_each(|_| texts.append_value(text));
            }
            (Column::Integer(numbers), Values::Same(Value::Integer(Some(number)))) => {
                numbers.append_value_n(number, times);
            }
            (Column::Integer(numbers), Values::Same(Value::Integer(None))) => numbers.append_nulls(times),
            (Column::Integer(numbers), Values::Integers(each)) => numbers.append_slice(&each[here]),
            (Column::Real(numbers), Values::Same(Value::Real(Some(number)))) => numbers.append_value_n(number, times),
            (Column::Real(numbers), Values::Same(Value::Real(None))) => numbers.append_nulls(times),
            _ => unreachable!("a value of another kind than its column"),
        }
    }
}
