//! Parameters that files write as a table: `{ kind = "gilbert-elliott", mean = "2%", burst = 5 }`.
//!
//! The text of such a parameter is a TOML inline table, so a file parser can hand over what stands in the file, and
//! what [`write`] returns can stand in a file. Which kinds there are, and which keys each has, is listed in
//! [`Table::KINDS`].

use airtcp_core::parameters::{Field, ParameterError, no_such_choice};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// One kind of table, as help and docs list it.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Value of the key `kind`; empty where a table has no kinds to choose from.
    pub name: &'static str,
    /// What it models, one sentence.
    pub about: &'static str,
    /// Its keys with their defaults.
    pub fields: fn() -> Vec<Field>,
}

/// A parameter made of parameters, perhaps of one of several kinds.
pub trait Table: Sized {
    /// Every kind; the first is meant where a table names none.
    const KINDS: &'static [Kind];
    /// The defaults of the kind called `name`.
    fn of_kind(name: &str) -> Option<Self>;
    /// Which kind this is.
    fn kind(&self) -> &'static str;
    /// Its keys with their values.
    fn fields(&self) -> Vec<Field>;
    /// Sets one key from text.
    ///
    /// # Errors
    /// Unknown key, or a value of the wrong kind.
    fn set(&mut self, key: &str, value: &str) -> Result<(), ParameterError>;
    /// Whether the values make sense together.
    ///
    /// # Errors
    /// A sentence that says what to change.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }
}

/// Reads an inline table.
///
/// # Errors
/// A sentence: bad syntax, unknown kind or key with the nearest there is, bad value, values that contradict each other.
pub fn read<T: Table>(text: &str) -> Result<T, String> {
    let entries = entries(text)?;
    let mut table = match entries.iter().find(|(key, _)| *key == "kind") {
        Some((_, name)) => T::of_kind(name).ok_or_else(|| {
            let names: Vec<&str> = T::KINDS.iter().map(|kind| kind.name).collect();
            no_such_choice(name, &names)
        })?,
        None => T::of_kind(T::KINDS[0].name).ok_or("this table has no default kind; name one")?,
    };
    for (key, value) in entries.iter().filter(|(key, _)| *key != "kind") {
        table.set(key, value).map_err(|error| error.to_string())?;
    }
    table.check()?;
    Ok(table)
}

/// Writes an inline table that reads back.
pub fn write<T: Table>(table: &T) -> String {
    let kind = Some(table.kind()).filter(|kind| !kind.is_empty()).map(|kind| format!("kind = \"{kind}\""));
    let fields = table.fields().into_iter().map(|field| {
        let is_number = field.value.bytes().all(|byte| byte.is_ascii_digit());
        let is_bare = is_number || ["true", "false"].contains(&field.value.as_str());
        if is_bare {
            format!("{} = {}", field.name, field.value)
        } else {
            format!("{} = \"{}\"", field.name, field.value)
        }
    });
    let entries: Vec<String> = kind.into_iter().chain(fields).collect();
    format!("{{ {} }}", entries.join(", "))
}

/// The keys and values of an inline table of scalars.
fn entries(text: &str) -> Result<Vec<(&str, &str)>, String> {
    let bad = || format!("'{text}' is not a table; write for example {{ key = \"value\", other = 5 }}");
    let mut rest = text.trim().strip_prefix('{').and_then(|text| text.strip_suffix('}')).ok_or_else(bad)?.trim();
    let mut entries = Vec::new();
    while !rest.is_empty() {
        let (key, after) = rest.split_once('=').ok_or_else(bad)?;
        let after = after.trim_start();
        let (value, after) = match after.chars().next() {
            Some(quote @ ('"' | '\'')) => after[1..].split_once(quote).ok_or_else(bad)?,
            _ => after.split_at(after.find(',').unwrap_or(after.len())),
        };
        let after = after.trim_start();
        rest = match after.strip_prefix(',') {
            Some(more) => more.trim_start(),
            None if after.is_empty() => after,
            None => return Err(bad()),
        };
        entries.push((key.trim(), value.trim()));
    }
    Ok(entries)
}

/// Declares an enum of tables, one variant a kind: `Variant(Struct) = "name", "about";`
macro_rules! kinds {
    ($(#[$meta:meta])* $vis:vis enum $name:ident {
        $($(#[doc = $doc:literal])+ $variant:ident($type:ident) = $label:literal;)+
    }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        $vis enum $name { $($(#[doc = $doc])+ $variant($type),)+ }

        impl $crate::table::Table for $name {
            const KINDS: &'static [$crate::table::Kind] = &[$($crate::table::Kind {
                name: $label,
                about: concat!($($doc),+).trim_ascii(),
                fields: || ::airtcp_core::parameters::Parameters::fields(&$type::default()),
            },)+];
            fn of_kind(name: &str) -> Option<Self> {
                match name { $($label => Some($name::$variant($type::default())),)+ _ => None }
            }
            fn kind(&self) -> &'static str {
                match self { $($name::$variant(_) => $label,)+ }
            }
            fn fields(&self) -> ::alloc::vec::Vec<::airtcp_core::parameters::Field> {
                match self { $($name::$variant(table) => ::airtcp_core::parameters::Parameters::fields(table),)+ }
            }
            fn set(&mut self, key: &str, value: &str) -> Result<(), ::airtcp_core::parameters::ParameterError> {
                match self { $($name::$variant(table) => ::airtcp_core::parameters::Parameters::set(table, key, value),)+ }
            }
            fn check(&self) -> Result<(), ::alloc::string::String> {
                match self { $($name::$variant(table) => table.check(),)+ }
            }
        }
    };
}

/// Makes one parameter struct with a `check` a table without kinds.
macro_rules! single_kind {
    ($type:ident, $about:literal) => {
        impl $crate::table::Table for $type {
            const KINDS: &'static [$crate::table::Kind] = &[$crate::table::Kind {
                name: "",
                about: $about,
                fields: || ::airtcp_core::parameters::Parameters::fields(&$type::default()),
            }];
            fn of_kind(name: &str) -> Option<Self> {
                name.is_empty().then(Self::default)
            }
            fn kind(&self) -> &'static str {
                ""
            }
            fn fields(&self) -> ::alloc::vec::Vec<::airtcp_core::parameters::Field> {
                ::airtcp_core::parameters::Parameters::fields(self)
            }
            fn set(&mut self, key: &str, value: &str) -> Result<(), ::airtcp_core::parameters::ParameterError> {
                ::airtcp_core::parameters::Parameters::set(self, key, value)
            }
            fn check(&self) -> Result<(), ::alloc::string::String> {
                $type::check(self)
            }
        }

        impl ::airtcp_core::parameters::Value for $type {
            const KIND: &'static str = concat!("table, ", $about);
            fn read(text: &str) -> Result<Self, ::alloc::string::String> {
                $crate::table::read(text)
            }
            fn write(&self) -> ::alloc::string::String {
                $crate::table::write(self)
            }
        }
    };
}
pub(crate) use {kinds, single_kind};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_and_bare_values_are_read() {
        let read = entries(" { a = \"x, y\", b=5 , c = 'z'} ").unwrap();
        assert_eq!(read, [("a", "x, y"), ("b", "5"), ("c", "z")]);
        assert_eq!(entries("{}").unwrap(), []);
    }

    #[test]
    fn text_that_is_no_table_is_refused() {
        for text in ["", "5%", "{ a }", "{ a = \"x }", "{ a = \"x\" b = 5 }", "{ a = 5"] {
            assert!(entries(text).is_err(), "{text}");
        }
    }
}
