//! Parameters that files write as a table: `{ kind = "gilbert-elliott", mean = "2%", burst = 5 }`.
//!
//! Which kinds there are, and which keys each has, is listed in [`Table::KINDS`]. What [`write()`] returns can stand in a
//! file.

use airtcp_core::parameters::{Field, ParameterError, no_such_choice, unknown};
use airtcp_core::{Value, ValueError};
use alloc::format;
use alloc::string::String;
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
    /// Every kind; where a table names none, the first that has all of its keys is meant.
    const KINDS: &'static [Kind];
    /// The defaults of the kind called `name`.
    fn of_kind(name: &str) -> Option<Self>;
    /// Which kind this is.
    fn kind(&self) -> &'static str;
    /// Its keys with their values.
    fn fields(&self) -> Vec<Field>;
    /// Sets one key.
    ///
    /// # Errors
    /// Unknown key, or a value of the wrong kind.
    fn set(&mut self, key: &str, value: &Value) -> Result<(), ParameterError>;
    /// Whether the values make sense together.
    ///
    /// # Errors
    /// A sentence that says what to change.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }
}

/// Reads a table.
///
/// # Errors
/// No table, unknown kind or key with the nearest there is, bad value, values that contradict each other.
pub fn read<T: Table>(value: &Value) -> Result<T, ValueError> {
    let Value::Table(entries) = value else {
        let text = value.scalar()?;
        return Err(format!("'{text}' is not a table; write for example {{ key = \"value\", other = 5 }}").into());
    };
    let mut table = match entries.iter().find(|(key, _)| key == KIND) {
        Some((_, name)) => of_kind(name)?,
        None => T::of_kind(kind_of(T::KINDS, entries)).ok_or("this table has no default kind; name one")?,
    };
    for (key, value) in entries.iter().filter(|(key, _)| key != KIND) {
        table.set(key, value).map_err(|error| with_kind(&table, error))?;
    }
    table.check()?;
    Ok(table)
}

/// The kind that a table means which names none: the first that has all of its keys, or else the first.
fn kind_of(kinds: &[Kind], entries: &[(String, Value)]) -> &'static str {
    let has_all = |kind: &&Kind| {
        let fields = (kind.fields)();
        entries.iter().all(|(key, _)| fields.iter().any(|field| field.name == key))
    };
    kinds.iter().find(has_all).unwrap_or(&kinds[0]).name
}

/// The key that says which kind.
const KIND: &str = "kind";

fn of_kind<T: Table>(name: &Value) -> Result<T, ValueError> {
    let Ok(text) = name.scalar() else {
        return Err(ParameterError::WrongType { key: KIND, found: name.kind() }.into());
    };
    T::of_kind(text).ok_or_else(|| {
        let names: Vec<&str> = T::KINDS.iter().map(|kind| kind.name).collect();
        no_such_choice(text, &names).into()
    })
}

/// An unknown key may be nearest to `kind`.
fn with_kind<T: Table>(table: &T, error: ParameterError) -> ParameterError {
    let ParameterError::Unknown { key, .. } = error else { return error };
    let kind = Some(KIND).filter(|_| !table.kind().is_empty());
    let known: Vec<&str> = table.fields().iter().map(|field| field.name).chain(kind).collect();
    unknown(&key, &known)
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

/// Declares an enum of tables, one variant a kind: `Variant(Struct) = "name";`, its documentation the sentence for help.
/// With `as Trait`, a method `settings` gives whatever kind it is as that trait, which every kind must then have.
macro_rules! kinds {
    ($(#[$meta:meta])* $vis:vis enum $name:ident as $trait:ident {
        $($(#[doc = $doc:literal])+ $variant:ident($type:ty) = $label:literal;)+
    }) => {
        $crate::table::kinds! {
            $(#[$meta])*
            $vis enum $name { $($(#[doc = $doc])+ $variant($type) = $label;)+ }
        }

        impl $name {
            fn settings(&self) -> &dyn $trait {
                match self { $($name::$variant(table) => table,)+ }
            }
        }
    };
    ($(#[$meta:meta])* $vis:vis enum $name:ident {
        $($(#[doc = $doc:literal])+ $variant:ident($type:ty) = $label:literal;)+
    }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        $vis enum $name { $($(#[doc = $doc])+ $variant($type),)+ }

        impl $crate::table::Table for $name {
            const KINDS: &'static [$crate::table::Kind] = &[$($crate::table::Kind {
                name: $label,
                about: concat!($($doc),+).trim_ascii(),
                fields: || ::airtcp_core::parameters::Parameters::fields(&<$type>::default()),
            },)+];
            fn of_kind(name: &str) -> Option<Self> {
                match name { $($label => Some($name::$variant(<$type>::default())),)+ _ => None }
            }
            fn kind(&self) -> &'static str {
                match self { $($name::$variant(_) => $label,)+ }
            }
            fn fields(&self) -> ::alloc::vec::Vec<::airtcp_core::parameters::Field> {
                match self { $($name::$variant(table) => ::airtcp_core::parameters::Parameters::fields(table),)+ }
            }
            fn set(&mut self, key: &str, value: &::airtcp_core::Value) -> Result<(), ::airtcp_core::parameters::ParameterError> {
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
            fn set(
                &mut self,
                key: &str,
                value: &::airtcp_core::Value,
            ) -> Result<(), ::airtcp_core::parameters::ParameterError> {
                ::airtcp_core::parameters::Parameters::set(self, key, value)
            }
            fn check(&self) -> Result<(), ::alloc::string::String> {
                $type::check(self)
            }
        }

        impl ::airtcp_core::ValueType for $type {
            const KIND: &'static str = concat!("table, ", $about);
            fn read(value: &::airtcp_core::Value) -> Result<Self, ::airtcp_core::ValueError> {
                $crate::table::read(value)
            }
            fn write(&self) -> ::alloc::string::String {
                $crate::table::write(self)
            }
        }
    };
}
pub(crate) use {kinds, single_kind};
