//! Parameters that remember which of them were set.

use crate::Value;
use crate::parameters::{Field, ParameterError, Parameters};
use alloc::vec::Vec;

/// Parameters and the names of those that somebody set, whatever the defaults are.
#[derive(Clone, Debug, Default)]
pub struct Given<P> {
    /// All of them.
    pub parameters: P,
    names: Vec<&'static str>,
}

impl<P: Parameters> Given<P> {
    /// Those that were set, in that order, with their values.
    pub fn given(&self) -> Vec<Field> {
        let fields = self.parameters.fields();
        self.names.iter().filter_map(|name| fields.iter().find(|field| field.name == *name)).cloned().collect()
    }
}

impl<P: Parameters> Parameters for Given<P> {
    fn fields(&self) -> Vec<Field> {
        self.parameters.fields()
    }

    fn set(&mut self, key: &str, value: &Value) -> Result<(), ParameterError> {
        self.parameters.set(key, value)?;
        let field = self.parameters.fields().into_iter().find(|field| field.name == key);
        self.names.extend(field.map(|field| field.name).filter(|name| !self.names.contains(name)));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    crate::parameters! {
        struct Example {
            /// One.
            one: u32 = 1, "ours";
            /// Two.
            two: u32 = 2, "ours";
        }
    }

    #[test]
    fn what_was_set_is_known_even_where_it_is_the_default() {
        let mut example = Given::<Example>::default();
        for (key, value) in [("two", "2"), ("one", "5"), ("two", "3")] {
            example.set(key, &value.into()).unwrap();
        }
        assert!(example.set("three", &"3".into()).is_err());
        let given: Vec<_> = example.given().into_iter().map(|field| (field.name, field.value)).collect();
        assert_eq!(given, [("two", "3".into()), ("one", "5".into())]);
        assert_eq!(Given::<Example>::default().given(), []);
    }
}
