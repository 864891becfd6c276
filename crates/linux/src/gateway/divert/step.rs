//! One action of setting up or taking down, as an operator would type it.

use super::error::DivertError;
use crate::gateway::command;
use std::fmt;
use std::path::Path;

/// An action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Write a value to a file under /proc/sys.
    Write {
        /// The file.
        path: String,
        /// The value.
        value: &'static str,
    },
    /// Run a command.
    Run(Vec<String>),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Write { path, value } => write!(f, "echo {value} > {path}"),
            Step::Run(words) => f.write_str(&words.join(" ")),
        }
    }
}

/// The command in `line`.
pub fn run(line: &str) -> Step {
    Step::Run(line.split_whitespace().map(str::to_owned).collect())
}

/// Does it.
pub fn perform(step: &Step) -> Result<(), DivertError> {
    match step {
        Step::Run(words) => command::output(words).map(drop).map_err(DivertError::from),
        Step::Write { path, value } => write_setting(path, value),
    }
}

/// A setting that already has its value need not be writable.
fn write_setting(path: &str, value: &str) -> Result<(), DivertError> {
    if std::fs::read_to_string(path).is_ok_and(|present| present.trim() == value) {
        return Ok(());
    }
    std::fs::write(Path::new(path), value).map_err(|source| DivertError::Setting { path: path.to_owned(), source })
}
