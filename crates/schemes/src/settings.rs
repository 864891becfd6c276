//! The settings of a scheme: typed, and the only thing that an element is made from besides its place.

use crate::{SchemeEntry, Site};
use airtcp_core::parameters::{Field, ParameterError, Parameters};
use airtcp_core::{Element, Given, Value};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// An element, or the setting that it cannot be made with.
pub type Made = Result<Box<dyn Element + Send>, ParameterError>;

/// What a table of a file sets of a scheme, and the elements that follow from it.
pub trait SchemeSettings: Parameters + Send + Sync {
    /// Those that were set, with their values.
    fn given(&self) -> Vec<Field>;

    /// Makes the element of one box.
    ///
    /// # Errors
    /// TypedSettings that do not go together, or not with this place.
    fn make(&self, site: &mut Site<'_>) -> Made;
}

/// Settings of one scheme, and the function that makes its elements from them.
struct TypedSettings<S> {
    values: Given<S>,
    make: fn(&S, &mut Site<'_>) -> Made,
}

/// The default settings of a scheme whose elements `make` makes: what [`SchemeEntry::settings`] returns.
pub fn settings_for<S: Parameters + Default + Send + Sync + 'static>(
    make: fn(&S, &mut Site<'_>) -> Made,
) -> Box<dyn SchemeSettings> {
    Box::new(TypedSettings { values: Given::default(), make })
}

impl<S: Parameters> Parameters for TypedSettings<S> {
    fn fields(&self) -> Vec<Field> {
        self.values.fields()
    }

    fn set(&mut self, key: &str, value: &Value) -> Result<(), ParameterError> {
        self.values.set(key, value)
    }
}

impl<S: Parameters + Send + Sync> SchemeSettings for TypedSettings<S> {
    fn given(&self) -> Vec<Field> {
        self.values.given()
    }

    fn make(&self, site: &mut Site<'_>) -> Made {
        (self.make)(&self.values.parameters, site)
    }
}

/// A scheme of the table and its settings.
#[derive(Clone)]
pub struct SchemeChoice {
    /// Its line in the table.
    pub entry: SchemeEntry,
    /// What its elements are made from.
    pub settings: Arc<dyn SchemeSettings>,
}

impl From<&SchemeEntry> for SchemeChoice {
    fn from(entry: &SchemeEntry) -> Self {
        SchemeChoice { entry: *entry, settings: (entry.settings)().into() }
    }
}

impl SchemeEntry {
    /// Its parameters with their defaults.
    pub fn fields(&self) -> Vec<Field> {
        (self.settings)().fields()
    }

    /// The scheme with its defaults but for these, each a name and its value.
    ///
    /// # Errors
    /// As [`Parameters::set`].
    pub fn with<K: AsRef<str>, V: Into<Value>>(
        &self,
        settings: impl IntoIterator<Item = (K, V)>,
    ) -> Result<SchemeChoice, ParameterError> {
        let mut chosen = (self.settings)();
        for (key, value) in settings {
            chosen.set(key.as_ref(), &value.into())?;
        }
        Ok(SchemeChoice { entry: *self, settings: chosen.into() })
    }
}
