//! What a look at the machine found: a sentence, how much it matters, and what to do about it.

use serde::Serialize;

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// As it should be.
    Good,
    /// It works, with a cost or a risk.
    Warning,
    /// It cannot work.
    Refusal,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How much it matters.
    pub level: Level,
    /// What was found, in a sentence.
    pub what: String,
    /// What to do about it; empty if there is nothing to do.
    pub fix: String,
}

impl Finding {
    /// All is well.
    pub fn good(what: impl Into<String>) -> Finding {
        Finding { level: Level::Good, what: what.into(), fix: String::new() }
    }
    /// It works, but.
    pub fn warning(what: impl Into<String>, fix: impl Into<String>) -> Finding {
        Finding { level: Level::Warning, what: what.into(), fix: fix.into() }
    }
    /// It cannot work.
    pub fn refusal(what: impl Into<String>, fix: impl Into<String>) -> Finding {
        Finding { level: Level::Refusal, what: what.into(), fix: fix.into() }
    }
}
