//! Why a value or a parameter is refused. A value can be a table of parameters, so each error can hold the other.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};

/// Why a value cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    /// A list or table where a single value belongs.
    #[error("a single value belongs here")]
    WrongType,
    /// A sentence that says what is wrong.
    #[error("{0}")]
    Reason(String),
    /// Something in a table is wrong.
    #[error("{0}")]
    Within(#[from] ParameterError),
}

impl From<String> for ValueError {
    fn from(reason: String) -> Self {
        ValueError::Reason(reason)
    }
}

impl From<&str> for ValueError {
    fn from(reason: &str) -> Self {
        ValueError::Reason(reason.to_string())
    }
}

/// Why a parameter could not be set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParameterError {
    /// There is no parameter of that name.
    #[error("unknown key '{key}'{}", suggestion(.nearest))]
    Unknown {
        /// The name given.
        key: String,
        /// The most similar name there is.
        nearest: Option<&'static str>,
    },
    /// The value cannot be read.
    #[error("bad value for '{key}': {reason}")]
    BadValue {
        /// The parameter.
        key: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// A list or table where a single value belongs.
    #[error("'{key}' takes a single value, not {found}")]
    WrongType {
        /// The parameter.
        key: &'static str,
        /// What stands there: `a list`.
        found: &'static str,
    },
    /// The value is a table, and something in it is wrong.
    #[error("bad value for '{key}': {error}")]
    Within {
        /// The parameter.
        key: &'static str,
        /// What is wrong in the table.
        error: Box<ParameterError>,
    },
}

impl ParameterError {
    /// The value of `key` does not make sense, for this reason: a sentence that says what to write.
    pub fn bad(key: &'static str, reason: impl Into<String>) -> Self {
        ParameterError::BadValue { key, reason: reason.into() }
    }

    /// The parameter that was to be set.
    pub fn key(&self) -> &str {
        match self {
            ParameterError::Unknown { key, .. } => key,
            ParameterError::BadValue { key, .. }
            | ParameterError::WrongType { key, .. }
            | ParameterError::Within { key, .. } => key,
        }
    }

    /// The error of the parameter `key`, for which `found` was refused: `a list`.
    #[doc(hidden)]
    pub fn refused(key: &'static str, found: &'static str, error: ValueError) -> Self {
        match error {
            ValueError::Reason(reason) => ParameterError::BadValue { key, reason },
            ValueError::WrongType => ParameterError::WrongType { key, found },
            ValueError::Within(error) => ParameterError::Within { key, error: Box::new(error) },
        }
    }
}

fn suggestion(nearest: &Option<&'static str>) -> String {
    nearest.map_or_else(String::new, |name| format!("; did you mean '{name}'?"))
}
