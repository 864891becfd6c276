//! What can be wrong with a scenario: one sentence each, with file, line, key and the nearest valid one.

use super::document::Origin;
use airtcp_core::parameters::nearest;

/// A problem and the line it stands on: `demo.toml:24: unknown key 'dealy' in [links.air]; did you mean 'delay'? (airtcp show link)`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{origin}: {problem}")]
pub struct ScenarioError {
    /// Where it stands.
    pub origin: Origin,
    /// What it is.
    pub problem: Box<Problem>,
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The file, or its base, cannot be read.
    #[error("cannot be read: {0}")]
    Unreadable(String),
    /// A recorded rate, delay or loss that cannot be read.
    #[error("trace '{file}': {reason}")]
    Trace {
        /// The file as written.
        file: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Not TOML.
    #[error("not valid TOML: {0}")]
    Syntax(String),
    /// `schema` is not one that this version reads.
    #[error("schema {0} is not known here; this version reads 'schema = 1'")]
    Schema(String),
    /// A key that nothing reads.
    #[error("unknown key '{key}' in {table}{}{}", did_you_mean(.nearest), see(.show))]
    UnknownKey {
        /// The key as written.
        key: String,
        /// The table it stands in.
        table: String,
        /// The most similar key that is read there.
        nearest: Option<String>,
        /// Argument of `airtcp show` that lists the keys.
        show: String,
    },
    /// A key that has to be there and is not.
    #[error("missing key '{key}' in {table}; write for example {example}")]
    MissingKey {
        /// The key.
        key: String,
        /// The table it belongs in.
        table: String,
        /// A line that would do.
        example: String,
    },
    /// A value of another kind than the key takes.
    #[error("'{key}' in {table} takes {expected}, not {found}")]
    WrongType {
        /// The key.
        key: String,
        /// The table it stands in.
        table: String,
        /// The kind it takes.
        expected: String,
        /// The kind it has.
        found: &'static str,
    },
    /// A value that cannot be read: a bad unit, a number out of range, no such choice.
    #[error("bad value for '{key}' in {table}: {reason}{}", see(.show))]
    BadValue {
        /// The key.
        key: String,
        /// The table it stands in.
        table: String,
        /// What is wrong with it.
        reason: String,
        /// Argument of `airtcp show` that lists the keys.
        show: String,
    },
    /// A name that nothing has.
    #[error("there is no {what} '{name}' ({key} in {table}){}", did_you_mean_or_one_of(.name, .choices))]
    NoSuch {
        /// `node`, `link`, `scheme`, `controller`, …
        what: &'static str,
        /// The name as written.
        name: String,
        /// The key that names it.
        key: String,
        /// The table that key stands in.
        table: String,
        /// The names there are.
        choices: Vec<String>,
    },
    /// A network that cannot be.
    #[error("impossible topology: {0}")]
    Topology(String),
    /// `[vary]` cannot be used as it is written.
    #[error("'{path}' in [vary] {reason}")]
    Vary {
        /// Dotted path of what varies.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A figure that cannot be drawn as it is written.
    #[error("figure '{name}' {reason}")]
    Figure {
        /// Its name.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// `base` cannot be followed.
    #[error("base: {0}")]
    Base(String),
    /// A `--set` that cannot be applied.
    #[error("{0}")]
    Set(String),
}

impl Problem {
    /// The problem, standing at `origin`.
    pub fn at(self, origin: &Origin) -> ScenarioError {
        ScenarioError { origin: origin.clone(), problem: Box::new(self) }
    }
}

fn did_you_mean(nearest: &Option<String>) -> String {
    nearest.as_ref().map_or_else(String::new, |name| format!("; did you mean '{name}'?"))
}

fn see(show: &str) -> String {
    if show.is_empty() { String::new() } else { format!(" (airtcp show {show})") }
}

fn did_you_mean_or_one_of(name: &str, choices: &[String]) -> String {
    let names: Vec<&str> = choices.iter().map(String::as_str).collect();
    // One letter is near every other.
    let near = nearest(name, &names).filter(|_| name.chars().count() > 2);
    match near {
        Some(near) => format!("; did you mean '{near}'?"),
        None if names.is_empty() => "; there are none".to_owned(),
        None => format!("; there are: {}", names.join(", ")),
    }
}
