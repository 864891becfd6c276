//! One table of a scenario, read strictly: every key is known, has the right kind, and errors name its line.

use super::document::{Entry, Node, Origin, Table, Value};
use super::error::{Problem, ScenarioError};
use airtcp_core::parameters::{self, ParameterError, nearest};

/// A table and how errors call it.
pub struct Keys<'a> {
    /// The keys and values.
    pub table: &'a Table,
    /// As in the file: `[links.air]`.
    pub name: String,
    /// Where it stands.
    pub origin: &'a Origin,
    /// Argument of `airtcp show` that lists its keys.
    pub show: String,
}

impl<'a> Keys<'a> {
    /// The value of `entry` as a table called `name`.
    ///
    /// # Errors
    /// It is something else.
    pub fn of(entry: &'a Entry, name: &str, show: &str) -> Result<Keys<'a>, ScenarioError> {
        match &entry.node.value {
            Value::Table(table) => {
                Ok(Keys { table, name: format!("[{name}]"), origin: &entry.origin, show: show.to_owned() })
            }
            other => {
                let table = name.rsplit_once('.').map_or("the file".to_owned(), |(above, _)| format!("[{above}]"));
                let expected = "a table".to_owned();
                Err(Problem::WrongType { key: entry.key.clone(), table, expected, found: other.kind() }
                    .at(&entry.origin))
            }
        }
    }

    /// Refuses every key that is not one of `valid`.
    ///
    /// # Errors
    /// The first unknown key, with the most similar valid one.
    pub fn only(&self, valid: &[&str]) -> Result<(), ScenarioError> {
        match self.table.entries.iter().find(|entry| !valid.contains(&entry.key.as_str())) {
            None => Ok(()),
            Some(entry) => Err(self.unknown(entry, valid)),
        }
    }

    /// The error for an unknown key.
    pub fn unknown(&self, entry: &Entry, valid: &[&str]) -> ScenarioError {
        let nearest = nearest(&entry.key, valid).map(str::to_owned);
        let (key, table, show) = (entry.key.clone(), self.name.clone(), self.show.clone());
        Problem::UnknownKey { key, table, nearest, show }.at(&entry.origin)
    }

    /// The value of `key`, which has to be there.
    ///
    /// # Errors
    /// It is not; `example` shows what to write.
    pub fn required(&self, key: &str, example: &str) -> Result<&'a Entry, ScenarioError> {
        self.table.get(key).ok_or_else(|| {
            let (key, table, example) = (key.to_owned(), self.name.clone(), example.to_owned());
            Problem::MissingKey { key, table, example }.at(self.origin)
        })
    }

    /// The value of `key` read as a parameter.
    ///
    /// # Errors
    /// A list or table, or text that cannot be read.
    pub fn value<T: parameters::Value>(&self, key: &str) -> Result<Option<T>, ScenarioError> {
        let Some(entry) = self.table.get(key) else { return Ok(None) };
        let text = self.scalar(entry, T::KIND)?;
        T::read(&text).map(Some).map_err(|reason| self.bad(entry, reason))
    }

    /// The text of a scalar.
    ///
    /// # Errors
    /// A list or table; `expected` says what should stand there.
    pub fn scalar(&self, entry: &Entry, expected: &str) -> Result<String, ScenarioError> {
        entry.node.scalar().ok_or_else(|| self.wrong_type(entry, expected))
    }

    /// The texts of a list, or of a single value.
    ///
    /// # Errors
    /// Anything but scalars.
    pub fn texts(&self, entry: &'a Entry, expected: &str) -> Result<Vec<(String, &'a Node)>, ScenarioError> {
        let items: Vec<&Node> = match &entry.node.value {
            Value::List(items) => items.iter().collect(),
            _ => vec![&entry.node],
        };
        let text = |node: &'a Node| node.scalar().map(|text| (text, node));
        items.into_iter().map(|node| text(node).ok_or_else(|| self.wrong_type(entry, expected))).collect()
    }

    /// The error for a value of the wrong kind.
    pub fn wrong_type(&self, entry: &Entry, expected: &str) -> ScenarioError {
        Problem::WrongType {
            key: entry.key.clone(),
            table: self.name.clone(),
            expected: expected.to_owned(),
            found: entry.node.value.kind(),
        }
        .at(&entry.node.origin)
    }

    /// The error for a value that cannot be read.
    pub fn bad(&self, entry: &Entry, reason: impl Into<String>) -> ScenarioError {
        Problem::BadValue {
            key: entry.key.clone(),
            table: self.name.clone(),
            reason: reason.into(),
            show: self.show.clone(),
        }
        .at(&entry.node.origin)
    }

    /// The error of a parameter struct, at the line of its key; `valid` are all keys of the table.
    pub fn parameter(&self, entry: &Entry, error: ParameterError, valid: &[&str]) -> ScenarioError {
        match error {
            ParameterError::Unknown { .. } => self.unknown(entry, valid),
            ParameterError::BadValue { reason, .. } => self.bad(entry, reason),
        }
    }

    /// The error for a name that nothing has.
    pub fn no_such(
        &self,
        what: &'static str,
        name: &str,
        key: &str,
        origin: &Origin,
        choices: Vec<String>,
    ) -> ScenarioError {
        let (name, key, table) = (name.to_owned(), key.to_owned(), self.name.clone());
        Problem::NoSuch { what, name, key, table, choices }.at(origin)
    }
}
