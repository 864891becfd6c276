//! One table of a file, read strictly: every key is known, has the right kind, and errors name its line.

use super::document::{Entry, Node, Origin, Table, Value};
use super::error::{Problem, ScenarioError};
use super::place::Place;
use airtcp_core::parameters::{ParameterError, Parameters, nearest};
use airtcp_core::{ValueError, ValueType};

/// A table and where it stands.
pub struct Keys<'a> {
    /// The keys and values.
    pub table: &'a Table,
    /// Which table of the file it is.
    pub place: Place,
    /// Where it stands.
    pub origin: &'a Origin,
    /// Argument of `airtcp show` that lists its keys.
    pub show: String,
}

impl<'a> Keys<'a> {
    /// The file as a whole; `show` is the argument of `airtcp show` that lists its keys.
    pub fn of_file(table: &'a Table, origin: &'a Origin, show: &str) -> Self {
        Keys { table, place: Place::File, origin, show: show.to_owned() }
    }

    /// The value of `entry`, which stands in the table at `above`, as a table.
    ///
    /// # Errors
    /// It is something else.
    pub fn of(entry: &'a Entry, above: &Place, show: &str) -> Result<Self, ScenarioError> {
        let Value::Table(table) = &entry.node.value else {
            let (key, found) = (entry.key.clone(), entry.node.value.kind());
            let problem = Problem::WrongType { key, table: above.to_string(), expected: "a table".into(), found };
            return Err(problem.at(&entry.origin));
        };
        Ok(Keys { table, place: above.below(&entry.key), origin: &entry.origin, show: show.to_owned() })
    }

    /// The value of `entry`, which stands in this table, as a table.
    ///
    /// # Errors
    /// It is something else.
    pub fn below<'b>(&self, entry: &'b Entry, show: &str) -> Result<Keys<'b>, ScenarioError> {
        Keys::of(entry, &self.place, show)
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
        let (key, table, show) = (entry.key.clone(), self.place.to_string(), self.show.clone());
        Problem::UnknownKey { key, table, nearest, show }.at(&entry.origin)
    }

    /// The value of `key`, which has to be there.
    ///
    /// # Errors
    /// It is not; `example` shows what to write.
    pub fn required(&self, key: &str, example: &str) -> Result<&'a Entry, ScenarioError> {
        self.table.get(key).ok_or_else(|| {
            let (key, table, example) = (key.to_owned(), self.place.to_string(), example.to_owned());
            Problem::MissingKey { key, table, example }.at(self.origin)
        })
    }

    /// The value of `key`, if it is there.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn value<T: ValueType>(&self, key: &str) -> Result<Option<T>, ScenarioError> {
        let Some(entry) = self.table.get(key) else { return Ok(None) };
        T::read(&entry.node.to_value()).map(Some).map_err(|error| match error {
            ValueError::WrongType => self.wrong_type(entry, T::KIND),
            ValueError::Reason(reason) => self.bad(entry, reason),
            ValueError::Within(error) => self.within(entry, error),
        })
    }

    /// Sets the parameter that `entry` names; `valid` are all keys of this table.
    ///
    /// # Errors
    /// It is unknown or cannot be read; `expected` says what should stand there.
    pub fn set(
        &self,
        parameters: &mut dyn Parameters,
        entry: &Entry,
        expected: &str,
        valid: &[&str],
    ) -> Result<(), ScenarioError> {
        parameters.set(&entry.key, &entry.node.to_value()).map_err(|error| match error {
            ParameterError::WrongType { .. } => self.wrong_type(entry, expected),
            error => self.parameter(entry, error, valid),
        })
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
            table: self.place.to_string(),
            expected: expected.to_owned(),
            found: entry.node.value.kind(),
        }
        .at(&entry.node.origin)
    }

    /// The error for a value that cannot be read.
    pub fn bad(&self, entry: &Entry, reason: impl Into<String>) -> ScenarioError {
        Problem::BadValue {
            key: entry.key.clone(),
            table: self.place.to_string(),
            reason: reason.into(),
            show: self.show.clone(),
        }
        .at(&entry.node.origin)
    }

    /// The error of a parameter, at the line of its key; `valid` are all keys of the table.
    pub fn parameter(&self, entry: &Entry, error: ParameterError, valid: &[&str]) -> ScenarioError {
        match error {
            ParameterError::Unknown { .. } => self.unknown(entry, valid),
            ParameterError::BadValue { reason, .. } => self.bad(entry, reason),
            ParameterError::WrongType { .. } => self.wrong_type(entry, "a single value"),
            ParameterError::Within { error, .. } => self.within(entry, *error),
        }
    }

    /// The error of a parameter in the table that `entry` has as its value.
    fn within(&self, entry: &Entry, error: ParameterError) -> ScenarioError {
        let below = self.below(entry, &self.show).ok();
        let found = below.as_ref().and_then(|below| Some((below, below.table.get(error.key())?)));
        match (found, error) {
            (Some((below, inner)), ParameterError::Unknown { nearest, .. }) => below.unknown(inner, nearest.as_slice()),
            (Some((below, inner)), error @ ParameterError::WrongType { .. }) => below.parameter(inner, error, &[]),
            (_, error) => self.bad(entry, error.to_string()),
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
        let (name, key, table) = (name.to_owned(), key.to_owned(), self.place.to_string());
        Problem::NoSuch { what, name, key, table, choices }.at(origin)
    }
}
