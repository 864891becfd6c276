//! A controller of the table with its settings.

use super::{CONTROLLERS, Controller, ControllerEntry, find};
use airtcp_core::parameters::ParameterError;
use airtcp_core::{Value, ValueError, ValueType};
use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::ops::Deref;

/// An entry and settings that it takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControllerChoice {
    entry: ControllerEntry,
    settings: Vec<(String, String)>,
}

impl ControllerChoice {
    /// `entry` with `settings`, key and value as text.
    ///
    /// # Errors
    /// A key that the controller does not have, or a value it refuses.
    pub fn new(entry: ControllerEntry, settings: &[(String, String)]) -> Result<Self, ParameterError> {
        (entry.make)(settings)?;
        Ok(ControllerChoice { entry, settings: settings.to_vec() })
    }

    /// A controller for one connection.
    pub fn build(&self) -> Box<dyn Controller> {
        (self.entry.make)(&self.settings).expect("the settings were taken before")
    }

    /// What differs from the defaults, as it was written.
    pub fn settings(&self) -> &[(String, String)] {
        &self.settings
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
        ControllerChoice { entry, settings: Vec::new() }
    }
}

impl Default for ControllerChoice {
    fn default() -> Self {
        CONTROLLERS[0].into()
    }
}

/// `newzag`, or `newzag lda=original clock=10ms`. Reads built-in names only; who has entries of its own resolves the name
/// with [`find`].
impl ValueType for ControllerChoice {
    const KIND: &'static str = ControllerEntry::KIND;
    fn read(value: &Value) -> Result<Self, ValueError> {
        let mut words = value.scalar()?.split_whitespace();
        let entry = find(words.next().unwrap_or_default(), &[])?;
        let setting = |word: &str| match word.split_once('=') {
            Some((key, value)) => Ok((key.to_owned(), value.to_owned())),
            None => Err(format!("'{word}' is not a setting of '{}'; write KEY=VALUE", entry.slug)),
        };
        let settings = words.map(setting).collect::<Result<Vec<_>, _>>()?;
        Ok(ControllerChoice::new(entry, &settings).map_err(|error| format!("{error} ('{}')", entry.slug))?)
    }
    fn write(&self) -> String {
        let mut text = self.entry.slug.to_string();
        for (key, value) in &self.settings {
            text += &format!(" {key}={value}");
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
            let defaults = (entry.fields)().into_iter().map(|field| (field.name.to_owned(), field.value));
            let chosen = ControllerChoice::new(*entry, &defaults.collect::<Vec<_>>()).unwrap();
            assert_eq!(names(&*chosen.build()), names(&*ControllerChoice::from(*entry).build()));
        }
    }
}
