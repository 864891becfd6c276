//! Parameters as one documented struct each, from which files, help and docs are derived.
//!
//! [`parameters!`](crate::parameters!) declares a struct whose fields carry a doc sentence, a
//! default and a source (paper section, RFC, item code). The struct can then be listed
//! ([`Parameters::fields`]) and set by name from what a file says ([`Parameters::set`]).

pub use crate::refusal::ParameterError;
use crate::time::Duration;
use crate::units::{ByteSize, Probability, Rate};
use crate::value::{Value, ValueError, ValueType};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::num::NonZeroU8;

/// One parameter as help and docs show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Key in files.
    pub name: &'static str,
    /// What kind of value, with an example: `duration, "25ms"`.
    pub kind: &'static str,
    /// What it does, one sentence or two.
    pub about: &'static str,
    /// Current value as text; the default in a default struct.
    pub value: String,
    /// Paper section, RFC or item code the default comes from.
    pub source: &'static str,
}

/// A struct of parameters; implemented by [`parameters!`](crate::parameters!).
pub trait Parameters {
    /// Every parameter with its current value, in declaration order.
    fn fields(&self) -> Vec<Field>;
    /// Sets the parameter `key`.
    ///
    /// # Errors
    /// Unknown name, or a value of the wrong kind.
    fn set(&mut self, key: &str, value: &Value) -> Result<(), ParameterError>;
    /// The defaults but for these parameters, each a name and its value.
    ///
    /// # Errors
    /// As [`Parameters::set`].
    fn with<K: AsRef<str>, V: Into<Value>>(settings: impl IntoIterator<Item = (K, V)>) -> Result<Self, ParameterError>
    where
        Self: Sized + Default,
    {
        let mut parameters = Self::default();
        for (key, value) in settings {
            parameters.set(key.as_ref(), &value.into())?;
        }
        Ok(parameters)
    }
}

macro_rules! numbers {
    ($($type:ty => $kind:literal,)+) => { $(
        impl ValueType for $type {
            const KIND: &'static str = $kind;
            fn read(value: &Value) -> Result<Self, ValueError> {
                let text = value.scalar()?;
                Ok(text.trim().parse().map_err(|error| {
                    format!("'{text}' is not a valid value ({error}); write {}", $kind)
                })?)
            }
            fn write(&self) -> String { self.to_string() }
        }
    )+ };
}

numbers! {
    bool => "boolean, true or false",
    u8 => "integer, 0 to 255",
    u16 => "integer, 0 to 65535",
    u32 => "integer",
    u64 => "integer",
    NonZeroU8 => "integer, 1 to 255",
    String => "text",
}

macro_rules! quantities {
    ($($type:ty => $kind:literal,)+) => { $(
        impl ValueType for $type {
            const KIND: &'static str = $kind;
            fn read(value: &Value) -> Result<Self, ValueError> {
                Ok(value.scalar()?.parse().map_err(|error: crate::units::UnitError| error.to_string())?)
            }
            fn write(&self) -> String { self.to_string() }
        }
    )+ };
}

quantities! {
    Rate => "rate, \"10Mbit\"",
    Duration => "duration, \"25ms\"",
    ByteSize => "size, \"75kB\"",
    Probability => "probability, \"2%\"",
}

/// `"auto"` leaves the choice to the software.
impl<T: ValueType> ValueType for Option<T> {
    const KIND: &'static str = T::KIND;
    fn read(value: &Value) -> Result<Self, ValueError> {
        match value.scalar() {
            Ok(text) if text.trim() == "auto" => Ok(None),
            _ => T::read(value).map(Some),
        }
    }
    fn write(&self) -> String {
        self.as_ref().map_or_else(|| "auto".to_string(), ValueType::write)
    }
}

/// Declares an enum of named choices usable as a parameter.
#[macro_export]
macro_rules! choices {
    ($(#[$meta:meta])* $vis:vis enum $name:ident { $($(#[$doc:meta])* $variant:ident = $label:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $vis enum $name { $($(#[$doc])* $variant,)+ }

        impl $crate::ValueType for $name {
            const KIND: &'static str = concat!("one of", $(" \"", $label, "\"",)+);
            fn read(value: &$crate::Value) -> Result<Self, $crate::ValueError> {
                match value.scalar()? { $($label => Ok($name::$variant),)+
                    text => Err($crate::parameters::no_such_choice(text, &[$($label),+]).into()) }
            }
            fn write(&self) -> $crate::parameters::Text {
                match self { $($name::$variant => $label.into(),)+ }
            }
        }
    };
}

/// Declares a struct of parameters: `/// about` `pub name: Type = default, "source";`
#[macro_export]
macro_rules! parameters {
    ($(#[$meta:meta])* $vis:vis struct $name:ident {
        $($(#[doc = $about:literal])+ $field_vis:vis $field:ident: $type:ty = $default:expr, $source:literal;)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        $vis struct $name { $($(#[doc = $about])+ $field_vis $field: $type,)* }

        impl Default for $name {
            fn default() -> Self { $name { $($field: $default,)* } }
        }

        impl $crate::parameters::Parameters for $name {
            fn fields(&self) -> $crate::parameters::Fields {
                [$($crate::parameters::Field {
                    name: stringify!($field),
                    kind: <$type as $crate::ValueType>::KIND,
                    about: concat!($($about),+).trim_ascii(),
                    value: $crate::ValueType::write(&self.$field),
                    source: $source,
                },)*].into_iter().collect()
            }
            fn set(&mut self, key: &str, value: &$crate::Value) -> Result<(), $crate::parameters::ParameterError> {
                match key {
                    $(stringify!($field) => {
                        self.$field = $crate::ValueType::read(value).map_err(|error| {
                            $crate::parameters::ParameterError::refused(stringify!($field), value.kind(), error)
                        })?;
                    })*
                    _ => return Err($crate::parameters::unknown(key, &[$(stringify!($field)),*])),
                }
                Ok(())
            }
        }
    };
}

/// Nothing to set.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoParameters;

impl Parameters for NoParameters {
    fn fields(&self) -> Vec<Field> {
        Vec::new()
    }

    fn set(&mut self, key: &str, _: &Value) -> Result<(), ParameterError> {
        Err(unknown(key, &[]))
    }
}

#[doc(hidden)]
pub type Text = String;
#[doc(hidden)]
pub type Fields = Vec<Field>;

/// The error for a key that is none of `known`.
pub fn unknown(key: &str, known: &[&'static str]) -> ParameterError {
    ParameterError::Unknown { key: key.to_string(), nearest: nearest(key, known) }
}

#[doc(hidden)]
pub fn no_such_choice(text: &str, choices: &[&'static str]) -> String {
    let hint = nearest(text, choices)
        .map_or_else(|| format!("; choose one of {}", choices.join(", ")), |near| format!("; did you mean '{near}'?"));
    format!("'{text}' is not a choice{hint}")
}

/// The candidate most like `word`, if one is close enough to be a plausible typing error.
pub fn nearest<'a>(word: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let limit = (word.chars().count() / 2).clamp(1, 3);
    candidates
        .iter()
        .map(|candidate| (edit_distance(word, candidate), *candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Optimal string alignment distance: insertions, deletions, substitutions, neighbour swaps.
fn edit_distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows: Vec<Vec<usize>> = (0..=a.len()).map(|i| alloc::vec![i; b.len() + 1]).collect();
    for (j, cell) in rows[0].iter_mut().enumerate() {
        *cell = j;
    }
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let substitute = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = substitute.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    choices! {
        /// A choice.
        pub enum Colour {
            /// Red.
            Red = "red",
            /// Green.
            Green = "green",
        }
    }
    parameters! {
        /// An example.
        pub struct Example {
            /// How long to wait.
            pub delay: Duration = Duration::from_millis(25), "RFC 1";
            /// Rate, or the link's.
            pub rate: Option<Rate> = None, "ours";
            /// Which one.
            pub colour: Colour = Colour::Red, "ours";
        }
    }

    #[test]
    fn fields_are_listed_with_value_and_source() {
        let fields = Example::default().fields();
        assert_eq!(fields.len(), 3);
        assert_eq!((fields[0].name, fields[0].value.as_str()), ("delay", "25ms"));
        assert_eq!(fields[0].about, "How long to wait.");
        assert_eq!((fields[1].value.as_str(), fields[1].source), ("auto", "ours"));
    }

    #[test]
    fn values_are_set_by_name() {
        let example = Example::with([("delay", "1s"), ("rate", "5Mbit"), ("colour", "green")]).unwrap();
        assert_eq!(example.delay, Duration::from_secs(1));
        assert_eq!(example.rate, Some(Rate::from_bps(5_000_000)));
        assert_eq!(example.colour, Colour::Green);
    }

    #[test]
    fn errors_name_the_nearest_key_and_choice() {
        let mut example = Example::default();
        let error = example.set("dealy", &"1s".into()).unwrap_err();
        assert_eq!(error.to_string(), "unknown key 'dealy'; did you mean 'delay'?");
        let error = example.set("colour", &"gren".into()).unwrap_err();
        assert!(error.to_string().contains("did you mean 'green'?"));
        assert!(example.set("delay", &"1 parsec".into()).is_err());
    }

    #[test]
    fn a_far_word_gets_no_suggestion() {
        assert_eq!(nearest("dealy", &["delay", "rate"]), Some("delay"));
        assert_eq!(nearest("xyz", &["delay", "rate"]), None);
    }
}
