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

    /// What is read from each table of the section under `key`, in the order of the file; nothing if there is none.
    ///
    /// # Errors
    /// The first that cannot be read.
    pub fn each<T>(
        &self,
        key: &str,
        show: &str,
        mut read: impl FnMut(&Keys<'a>) -> Result<T, ScenarioError>,
    ) -> Result<Vec<T>, ScenarioError> {
        let Some(section) = self.table.get(key) else { return Ok(Vec::new()) };
        let section = self.below(section, show)?;
        section.table.entries.iter().map(|entry| read(&Keys::of(entry, &section.place, show)?)).collect()
    }

    /// The key that leads to this table: the name of what it describes.
    pub fn name(&self) -> &str {
        match &self.place {
            Place::Table(path) => path.last().map_or("", String::as_str),
            _ => "",
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

    /// Sets every key of this table but `own` in `parameters`.
    ///
    /// # Errors
    /// A key that is neither, or a value that cannot be read; `expected` says what should stand there.
    pub fn set_all(&self, parameters: &mut dyn Parameters, own: &[&str], expected: &str) -> Result<(), ScenarioError> {
        let mut entries = self.table.entries.iter().filter(|entry| !own.contains(&entry.key.as_str()));
        if entries.clone().all(|entry| parameters.set(&entry.key, &entry.node.to_value()).is_ok()) {
            return Ok(());
        }
        // Only to say what is wrong it takes a list of all that may stand here.
        let fields = parameters.fields();
        let valid: Vec<&str> = own.iter().copied().chain(fields.iter().map(|field| field.name)).collect();
        self.only(&valid)?;
        entries.try_for_each(|entry| self.set(parameters, entry, expected, &valid))
    }

    /// Sets the options in the table that `entry` has as its value, which belong to `what`; `show` lists them.
    ///
    /// # Errors
    /// As [`Keys::set_all`], or that `what` has no options.
    pub fn options<'b>(
        &self,
        entry: &'b Entry,
        show: &str,
        options: &mut dyn Parameters,
        what: &str,
    ) -> Result<Keys<'b>, ScenarioError> {
        let keys = self.below(entry, show)?;
        match keys.table.entries.first() {
            Some(first) if options.fields().is_empty() => Err(keys.bad(first, format!("{what} has no options"))),
            _ => keys.set_all(options, &[], "a single value").map(|()| keys),
        }
    }

    /// Which of `known` the key names, if it is there; `what` says what they are.
    ///
    /// # Errors
    /// None of them.
    pub fn one_of(
        &self,
        key: &str,
        what: &'static str,
        known: &[impl AsRef<str>],
    ) -> Result<Option<usize>, ScenarioError> {
        let Some(entry) = self.table.get(key) else { return Ok(None) };
        let name = self.scalar(entry, &format!("the name of a {what}"))?;
        self.index_of(&name, (what, key), &entry.node.origin, known).map(Some)
    }

    /// Where in `known` the `name` is that stands at `origin`; the key that names `what`.
    ///
    /// # Errors
    /// Nowhere.
    pub fn index_of(
        &self,
        name: &str,
        (what, key): (&'static str, &str),
        origin: &Origin,
        known: &[impl AsRef<str>],
    ) -> Result<usize, ScenarioError> {
        let choices = || known.iter().map(|known| known.as_ref().to_owned()).collect();
        let index = known.iter().position(|known| known.as_ref() == name);
        index.ok_or_else(|| self.no_such(what, name, key, origin, choices()))
    }

    /// Which of `known` the keys `from` and `to` name, which have to be there; `examples` of both.
    ///
    /// # Errors
    /// One is missing, or none of them.
    pub fn ends(
        &self,
        examples: [&str; 2],
        what: &'static str,
        known: &[impl AsRef<str>],
    ) -> Result<[usize; 2], ScenarioError> {
        let end = |key: &str, example: &str| {
            self.required(key, &format!("{key} = \"{example}\""))?;
            Ok(self.one_of(key, what, known)?.unwrap_or_default())
        };
        Ok([end("from", examples[0])?, end("to", examples[1])?])
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
        let (key, table, show) = (entry.key.clone(), self.place.to_string(), self.show.clone());
        Problem::BadValue { key, table, reason: reason.into(), show }.at(&entry.node.origin)
    }

    /// The error for the value of `key`, at its line, or that of the table if it was left out.
    pub fn refuse(&self, key: &str, reason: impl Into<String>) -> ScenarioError {
        let (name, table, show) = (key.to_owned(), self.place.to_string(), self.show.clone());
        let origin = self.table.get(key).map_or(self.origin, |entry| &entry.node.origin);
        Problem::BadValue { key: name, table, reason: reason.into(), show }.at(origin)
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
