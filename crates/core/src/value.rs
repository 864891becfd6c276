//! Values as a file writes them, and the types that read them.
//!
//! A number stays as it was written, so it never passes through floating point. A quantity (`"25ms"`) is text in a file
//! and is read once, by the type of the parameter that it is for.

pub use crate::refusal::ValueError;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// What a file can write after `key =`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Text, which quantities and names are too.
    Text(String),
    /// An integer or decimal fraction, as written.
    Number(String),
    /// `true` or `false`.
    Boolean(bool),
    /// `[ … ]`.
    List(Vec<Value>),
    /// `{ key = …, … }`, in the order of the file.
    Table(Vec<(String, Value)>),
}

impl Value {
    /// What it is, as error messages name it.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Text(_) => "text",
            Value::Number(_) => "a number",
            Value::Boolean(_) => "a boolean",
            Value::List(_) => "a list",
            Value::Table(_) => "a table",
        }
    }

    /// The literal of a single value, without quotes.
    ///
    /// # Errors
    /// It is a list or a table.
    pub fn scalar(&self) -> Result<&str, ValueError> {
        match self {
            Value::Text(text) | Value::Number(text) => Ok(text),
            Value::Boolean(true) => Ok("true"),
            Value::Boolean(false) => Ok("false"),
            Value::List(_) | Value::Table(_) => Err(ValueError::WrongType),
        }
    }
}

/// What `key=text` means on a command line: a table if the text is one in braces, with single values in it; else text.
impl From<&str> for Value {
    fn from(text: &str) -> Self {
        inline_table(text).map_or_else(|| Value::Text(text.to_string()), Value::Table)
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

impl From<&String> for Value {
    fn from(text: &String) -> Self {
        text.as_str().into()
    }
}

impl From<&Value> for Value {
    fn from(value: &Value) -> Self {
        value.clone()
    }
}

/// Keys and values of `{ key = "value", other = 5 }`; `None` if that is not what `text` is.
fn inline_table(text: &str) -> Option<Vec<(String, Value)>> {
    let mut rest = text.trim().strip_prefix('{')?.strip_suffix('}')?.trim();
    let mut entries = Vec::new();
    while !rest.is_empty() {
        let (key, after) = rest.split_once('=')?;
        let after = after.trim_start();
        let (value, after) = match after.chars().next() {
            Some(quote @ ('"' | '\'')) => after[1..].split_once(quote).map(|(text, after)| (quoted(text), after))?,
            _ => {
                let (literal, after) = after.split_at(after.find(',').unwrap_or(after.len()));
                (bare(literal.trim()), after)
            }
        };
        let after = after.trim_start();
        rest = match after.strip_prefix(',') {
            Some(more) => more.trim_start(),
            None if after.is_empty() => after,
            None => return None,
        };
        entries.push((key.trim().to_string(), value));
    }
    Some(entries)
}

fn quoted(text: &str) -> Value {
    Value::Text(text.trim().to_string())
}

fn bare(literal: &str) -> Value {
    match literal {
        "true" => Value::Boolean(true),
        "false" => Value::Boolean(false),
        _ => Value::Number(literal.to_string()),
    }
}

/// A type that a parameter can have.
pub trait ValueType: Sized {
    /// Kind and example for help.
    const KIND: &'static str;
    /// Reads the value.
    ///
    /// # Errors
    /// What is wrong with it.
    fn read(value: &Value) -> Result<Self, ValueError>;
    /// Writes the value as text that reads back.
    fn write(&self) -> String;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_in_braces_is_a_table_of_single_values() {
        let value = |text: &str| Value::Text(text.to_string());
        let Value::Table(entries) = Value::from(" { a = \"x, y\", b=5 , c = 'z', d = true} ") else { panic!() };
        let expected = [("a", value("x, y")), ("b", Value::Number("5".into())), ("c", value("z"))];
        assert!(entries.iter().zip(&expected).all(|(is, (key, value))| is.0 == *key && is.1 == *value), "{entries:?}");
        assert_eq!(entries[3].1, Value::Boolean(true));
        assert_eq!(Value::from("{}"), Value::Table(Vec::new()));
    }

    #[test]
    fn text_that_is_no_table_stays_text() {
        for text in ["", "5%", "{ a }", "{ a = \"x }", "{ a = \"x\" b = 5 }", "{ a = 5"] {
            assert_eq!(Value::from(text), Value::Text(text.to_string()));
        }
    }

    #[test]
    fn lists_and_tables_are_not_single_values() {
        assert_eq!(Value::Boolean(false).scalar(), Ok("false"));
        assert_eq!(Value::List(Vec::new()).scalar(), Err(ValueError::WrongType));
        assert_eq!(Value::from("{ a = 1 }").scalar(), Err(ValueError::WrongType));
    }
}
