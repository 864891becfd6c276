//! A controller of the table with its settings.

use super::{CONTROLLERS, Controller, ControllerEntry, ControllerSettings, find};
use airtcp_core::parameters::{Field, ParameterError};
use airtcp_core::{Value, ValueError, ValueType};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Deref;

/// An entry and its settings.
#[derive(Clone)]
pub struct ControllerChoice {
    entry: ControllerEntry,
    settings: Arc<dyn ControllerSettings>,
}

impl ControllerEntry {
    /// The controller with its defaults but for these, each a name and its value.
    ///
    /// # Errors
    /// A key that the controller does not have, or a value that it refuses.
    pub fn with<K: AsRef<str>, V: Into<Value>>(
        &self,
        settings: impl IntoIterator<Item = (K, V)>,
    ) -> Result<ControllerChoice, ParameterError> {
        let mut chosen = (self.settings)();
        for (key, value) in settings {
            chosen.set(key.as_ref(), &value.into())?;
        }
        Ok(ControllerChoice::new(*self, chosen))
    }
}

impl ControllerChoice {
    /// `entry` with `settings` that are its own.
    pub fn new(entry: ControllerEntry, settings: Box<dyn ControllerSettings>) -> Self {
        ControllerChoice { entry, settings: settings.into() }
    }

    /// A controller for one connection.
    pub fn build(&self) -> Box<dyn Controller> {
        self.settings.build()
    }

    /// The settings that somebody made, with their values.
    pub fn given(&self) -> Vec<Field> {
        self.settings.given()
    }
}

impl PartialEq for ControllerChoice {
    fn eq(&self, other: &Self) -> bool {
        self.entry == other.entry && self.settings.fields() == other.settings.fields()
    }
}
impl Eq for ControllerChoice {}

impl fmt::Debug for ControllerChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.write())
    }
}

impl Deref for ControllerChoice {
    type Target = ControllerEntry;
    fn deref(&self) -> &ControllerEntry {
        &self.entry
    }
}

impl From<ControllerEntry> for ControllerChoice {
    fn from(entry: ControllerEntry) -> Self {
        ControllerChoice::new(entry, (entry.settings)())
    }
}

impl Default for ControllerChoice {
    fn default() -> Self {
        CONTROLLERS[0].into()
    }
}

/// `newzag`, or `newzag lda=original clock=10ms`. Reads built-in names only; a caller with entries of its own resolves
/// the name with [`find`].
impl ValueType for ControllerChoice {
    const KIND: &'static str = ControllerEntry::KIND;
    fn read(value: &Value) -> Result<Self, ValueError> {
        let mut words = value.scalar()?.split_whitespace();
        let entry = find(words.next().unwrap_or_default(), &[])?;
        let no_setting = |word| format!("'{word}' is not a setting of '{}'; write KEY=VALUE", entry.slug);
        let settings = words.map(|word| word.split_once('=').ok_or_else(|| no_setting(word)));
        let settings = settings.collect::<Result<Vec<_>, _>>()?;
        Ok(entry.with(settings).map_err(|error| format!("{error} ('{}')", entry.slug))?)
    }
    fn write(&self) -> String {
        let mut text = self.entry.slug.to_string();
        for Field { name, value, .. } in self.given() {
            text += &format!(" {name}={value}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_reads_back_what_it_writes() {
        for text in ["cubic", "newzag", "newzag lda=original y=-6 clock=10ms", "blind45 share=20%"] {
            assert_eq!(ControllerChoice::read(&text.into()).unwrap().write(), text);
        }
    }

    #[test]
    fn settings_that_the_controller_does_not_have_are_refused_by_name() {
        let error = |text: &str| ControllerChoice::read(&Value::from(text)).unwrap_err().to_string();
        assert_eq!(error("newzag lad=original"), "unknown key 'lad'; did you mean 'lda'? ('newzag')");
        assert_eq!(error("reno lda=original"), "unknown key 'lda' ('reno')");
        assert!(error("newzag y=-9").contains("'-9' is not a choice"));
        assert_eq!(error("newzag original"), "'original' is not a setting of 'newzag'; write KEY=VALUE");
        assert!(error("newzga").contains("did you mean 'newzag'?"));
    }

    #[test]
    fn every_controller_can_be_built_with_its_defaults_and_tells_the_same_counters_each_time() {
        let names = |controller: &dyn Controller| {
            let mut names = Vec::new();
            controller.get_info(&mut |name, _| names.push(name));
            names
        };
        for entry in CONTROLLERS {
            let chosen = entry.with(entry.fields().into_iter().map(|field| (field.name, field.value))).unwrap();
            assert_eq!(names(&*chosen.build()), names(&*ControllerChoice::from(*entry).build()));
        }
    }
}
