//! Checks of the source tree itself: what the compiler and clippy cannot see, as tests.
//!
//! Every check is a function from text to [`Violation`]s, tested here on a planted violation; `tests/tree.rs` runs
//! each one over the tracked files of this repository. Nothing in the product depends on this crate.
#![forbid(unsafe_code)]

pub mod circles;
pub mod claims;
pub mod commands;
pub mod coverage;
pub mod dependencies;
pub mod layers;
pub mod lines;
pub mod links;
pub mod pages;
pub mod rust;
pub mod test_files;
pub mod text;
pub mod thresholds;
pub mod tree;

use std::fmt;

/// A place in the tree that breaks a rule, and the rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Path from the root of the repository.
    pub path: String,
    /// Line, from 1; 0 means the whole file.
    pub line: usize,
    /// What is wrong and what to do.
    pub rule: String,
}

impl Violation {
    /// A violation in one line of a file.
    pub fn at(path: &str, line: usize, rule: impl Into<String>) -> Self {
        Violation { path: path.to_owned(), line, rule: rule.into() }
    }

    /// A violation of a file as a whole.
    pub fn of(path: &str, rule: impl Into<String>) -> Self {
        Self::at(path, 0, rule)
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.rule),
            line => write!(f, "{}:{line}: {}", self.path, self.rule),
        }
    }
}
