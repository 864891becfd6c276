//! From TOML text to a [`Table`] with lines.

use super::document::{Entry, Node, Origin, Table, Value};
use super::error::{Problem, ScenarioError};
use std::sync::Arc;
use toml::de::{DeTable, DeValue};

/// Reads a whole file; `file` is its name in errors.
///
/// # Errors
/// Not TOML, or a date, which nothing here takes.
pub fn parse(file: &str, text: &str) -> Result<Table, ScenarioError> {
    let lines = Lines::of(file, text);
    let table = DeTable::parse(text).map_err(|error| lines.syntax_error(&error))?;
    lines.table(table.get_ref())
}

/// Reads one value, as after `=`.
///
/// # Errors
/// Not a TOML value.
pub fn parse_value(file: &str, text: &str) -> Result<Node, ScenarioError> {
    let mut lines = Lines::of(file, text);
    lines.starts.clear();
    let value = DeValue::parse(text).map_err(|error| lines.syntax_error(&error))?;
    lines.node(value.get_ref(), 0)
}

struct Lines {
    file: Arc<str>,
    /// Offsets at which lines begin; empty where lines mean nothing.
    starts: Vec<usize>,
}

impl Lines {
    fn of(file: &str, text: &str) -> Self {
        let after_breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Lines { file: file.into(), starts: std::iter::once(0).chain(after_breaks).collect() }
    }

    fn origin(&self, offset: usize) -> Origin {
        let line = self.starts.partition_point(|start| *start <= offset);
        Origin { file: self.file.clone(), line: u32::try_from(line).unwrap_or(u32::MAX) }
    }

    fn syntax_error(&self, error: &toml::de::Error) -> ScenarioError {
        let message = error.message().replace('\n', ", ");
        Problem::Syntax(message).at(&self.origin(error.span().map_or(0, |span| span.start)))
    }

    fn table(&self, table: &DeTable<'_>) -> Result<Table, ScenarioError> {
        let mut keyed: Vec<_> = table.iter().collect();
        // A dotted key's first part carries the place where it was first written.
        keyed.sort_by_key(|(key, value)| (key.span().start, value.span().start));
        let entry = |(key, value): (&toml::Spanned<_>, &toml::Spanned<DeValue<'_>>)| {
            let key: (&std::borrow::Cow<'_, str>, usize) = (key.get_ref(), key.span().start);
            Ok(Entry {
                key: key.0.to_string(),
                origin: self.origin(key.1),
                node: self.node(value.get_ref(), value.span().start)?,
            })
        };
        Ok(Table { entries: keyed.into_iter().map(entry).collect::<Result<_, _>>()? })
    }

    fn node(&self, value: &DeValue<'_>, offset: usize) -> Result<Node, ScenarioError> {
        let origin = self.origin(offset);
        let value = match value {
            DeValue::String(text) => Value::Text(text.to_string()),
            DeValue::Integer(integer) if integer.radix() == 10 => Value::Number(integer.as_str().to_owned()),
            DeValue::Integer(integer) => {
                let digits = integer.as_str();
                let value = u64::from_str_radix(digits, integer.radix());
                let value = value.map_err(|_| Problem::Syntax(format!("'{integer}' is too large")).at(&origin))?;
                Value::Number(value.to_string())
            }
            DeValue::Float(float) => Value::Number(float.as_str().to_owned()),
            DeValue::Boolean(value) => Value::Boolean(*value),
            DeValue::Datetime(_) => {
                return Err(
                    Problem::Syntax("a date or time means nothing here; write \"2s\" for a span".into()).at(&origin)
                );
            }
            DeValue::Array(list) => Value::List(
                list.iter().map(|item| self.node(item.get_ref(), item.span().start)).collect::<Result<_, _>>()?,
            ),
            DeValue::Table(table) => Value::Table(self.table(table)?),
        };
        Ok(Node { value, origin })
    }
}
