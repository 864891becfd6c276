//! What is read: a file's text.

use super::document::Origin;
use super::error::{Problem, ScenarioError};
use std::path::Path;

/// A file's name, as errors show it, and its text.
#[derive(Clone, Debug)]
pub struct Source {
    /// As the user named it.
    pub file: String,
    /// Its content.
    pub text: String,
}

impl Source {
    /// Reads a file.
    ///
    /// # Errors
    /// The system's, as a sentence.
    pub fn read(path: &Path) -> Result<Source, ScenarioError> {
        let file = path.display().to_string();
        match std::fs::read_to_string(path) {
            Ok(text) => Ok(Source { file, text }),
            Err(error) => Err(Problem::Unreadable(error.to_string()).at(&Origin::of_file(&file))),
        }
    }
}
