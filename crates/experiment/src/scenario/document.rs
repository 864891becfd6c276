//! A TOML document as a tree in which every key and value knows the line it was written on.
//!
//! Numbers stay text: a scenario never passes through floating point on its way in.

use std::fmt;
use std::sync::Arc;

/// Where something was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The file as the user named it, or `--set …`.
    pub file: Arc<str>,
    /// Line from 1; 0 where lines mean nothing.
    pub line: u32,
}

impl Origin {
    /// The file as a whole.
    pub fn of_file(file: &str) -> Self {
        Origin { file: file.into(), line: 0 }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line == 0 { f.write_str(&self.file) } else { write!(f, "{}:{}", self.file, self.line) }
    }
}

/// A value and where it stands.
#[derive(Clone, Debug)]
pub struct Node {
    /// What it is.
    pub value: Value,
    /// Where it stands.
    pub origin: Origin,
}

/// What a TOML value can be.
#[derive(Clone, Debug)]
pub enum Value {
    /// A string.
    Text(String),
    /// An integer or float as written.
    Number(String),
    /// `true` or `false`.
    Boolean(bool),
    /// An array.
    List(Vec<Node>),
    /// A table.
    Table(Table),
}

impl Value {
    /// The kind as error messages name it.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Text(_) => "text",
            Value::Number(_) => "a number",
            Value::Boolean(_) => "a boolean",
            Value::List(_) => "a list",
            Value::Table(_) => "a table",
        }
    }
}

impl Node {
    /// The value as a parameter reads it: a scalar's text.
    pub fn scalar(&self) -> Option<String> {
        match &self.value {
            Value::Text(text) | Value::Number(text) => Some(text.clone()),
            Value::Boolean(value) => Some(value.to_string()),
            Value::List(_) | Value::Table(_) => None,
        }
    }

    /// The value as parameters read it, without its lines.
    pub fn to_value(&self) -> airtcp_core::Value {
        use airtcp_core::Value as Plain;
        match &self.value {
            Value::Text(text) => Plain::Text(text.clone()),
            Value::Number(text) => Plain::Number(text.clone()),
            Value::Boolean(value) => Plain::Boolean(*value),
            Value::List(items) => Plain::List(items.iter().map(Node::to_value).collect()),
            Value::Table(table) => {
                Plain::Table(table.entries.iter().map(|entry| (entry.key.clone(), entry.node.to_value())).collect())
            }
        }
    }
}

/// One `key = value`.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Where the key stands.
    pub origin: Origin,
    /// The value.
    pub node: Node,
}

/// Keys and values in the order of the file.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// In the order of the file; keys are unique.
    pub entries: Vec<Entry>,
}

impl Table {
    /// The entry called `key`.
    pub fn get(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// The table called `key`, if it is one.
    pub fn table(&self, key: &str) -> Option<&Table> {
        match &self.get(key)?.node.value {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }

    /// The table called `key`, to be changed.
    pub fn table_mut(&mut self, key: &str) -> Option<&mut Table> {
        match &mut self.entries.iter_mut().find(|entry| entry.key == key)?.node.value {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }

    /// The value at a dotted path.
    pub fn at(&self, path: &[String]) -> Option<&Node> {
        let (first, rest) = path.split_first()?;
        let node = &self.get(first)?.node;
        match (&node.value, rest.is_empty()) {
            (_, true) => Some(node),
            (Value::Table(table), false) => table.at(rest),
            _ => None,
        }
    }

    /// The names of what stands in the table under `key`.
    pub fn names(&self, key: &str) -> Vec<String> {
        self.table(key).into_iter().flat_map(|table| &table.entries).map(|entry| entry.key.clone()).collect()
    }

    /// Removes and returns the entry called `key`.
    pub fn remove(&mut self, key: &str) -> Option<Entry> {
        let index = self.entries.iter().position(|entry| entry.key == key)?;
        Some(self.entries.remove(index))
    }

    /// Puts `node` under `key`, in the place of what was there.
    pub fn put(&mut self, key: &str, node: Node) {
        let entry = Entry { key: key.to_owned(), origin: node.origin.clone(), node };
        match self.entries.iter_mut().find(|entry| entry.key == key) {
            Some(old) => *old = entry,
            None => self.entries.push(entry),
        }
    }

    /// Puts `node` at a dotted path, making the tables on the way.
    ///
    /// # Errors
    /// The part of the path that is a value and not a table.
    pub fn put_at(&mut self, path: &[String], node: Node) -> Result<(), String> {
        let Some((first, rest)) = path.split_first() else { return Ok(()) };
        if rest.is_empty() {
            self.put(first, node);
            return Ok(());
        }
        if self.get(first).is_none() {
            self.put(first, Node { value: Value::Table(Table::default()), origin: node.origin.clone() });
        }
        let entry = self.entries.iter_mut().find(|entry| entry.key == *first);
        match entry.map(|entry| &mut entry.node.value) {
            Some(Value::Table(table)) => table.put_at(rest, node).map_err(|below| format!("{first}.{below}")),
            _ => Err(first.clone()),
        }
    }

    /// Removes what stands at a dotted path, and the tables that it leaves empty.
    pub fn remove_at(&mut self, path: &[String]) {
        let Some((first, rest)) = path.split_first() else { return };
        let is_now_empty = match self.entries.iter_mut().find(|entry| entry.key == *first) {
            None => return,
            Some(entry) => match &mut entry.node.value {
                Value::Table(table) if !rest.is_empty() => {
                    table.remove_at(rest);
                    table.entries.is_empty()
                }
                _ => rest.is_empty(),
            },
        };
        if is_now_empty {
            self.remove(first);
        }
    }
}

/// Splits `links.air.loss`; a part in double quotes may hold dots.
pub fn split_path(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut quoted = false;
    for c in text.trim().chars() {
        match c {
            '"' => quoted = !quoted,
            '.' if !quoted => parts.push(String::new()),
            c => parts.last_mut().expect("starts with one part").push(c),
        }
    }
    parts.iter().map(|part| part.trim().to_owned()).collect()
}

/// Joins what [`split_path`] split.
pub fn join_path(parts: &[String]) -> String {
    let quote = |part: &String| if part.contains('.') { format!("\"{part}\"") } else { part.clone() };
    parts.iter().map(quote).collect::<Vec<_>>().join(".")
}
