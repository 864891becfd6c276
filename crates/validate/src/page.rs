//! docs/validation.md: a section for each part, each between two marks, so that a part can be run by itself.

use airtcp_experiment::marked;
use anyhow::Context;
use std::fmt;
use std::path::{Path, PathBuf};

/// What a part found.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// Heading.
    pub title: &'static str,
    /// Which things are compared, how, and when they count as equal.
    pub about: String,
    /// Names of columns.
    pub columns: Vec<&'static str>,
    /// Rows, as long as `columns`.
    pub rows: Vec<Vec<String>>,
    /// Below the table.
    pub notes: Vec<String>,
    /// Lines that do not hold.
    pub failed: usize,
}

impl Section {
    /// Adds a row and its verdict.
    pub fn row(&mut self, mut cells: Vec<String>, holds: bool) {
        cells.push(if holds { "holds" } else { "**does not hold**" }.to_owned());
        self.failed += usize::from(!holds);
        self.rows.push(cells);
    }
}

impl fmt::Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "## {}\n\n{}\n", self.title, self.about)?;
        if !self.columns.is_empty() {
            writeln!(f, "| {} |", self.columns.join(" | "))?;
            writeln!(f, "|{}", "---|".repeat(self.columns.len()))?;
            self.rows.iter().try_for_each(|row| writeln!(f, "| {} |", row.join(" | ")))?;
        }
        self.notes.iter().try_for_each(|note| writeln!(f, "\n{note}"))
    }
}

const HEAD: &str = "# Validation\n
Written by `make validate`; `cargo run --release -p airtcp-validate -- PART` runs one part and replaces its section. A\npart without a section here has not been run.\n";

/// Puts the section in its place, in the file as it is.
pub fn replace(part: &str, section: &Section) -> anyhow::Result<()> {
    let path = path();
    let old = std::fs::read_to_string(&path).unwrap_or_else(|_| HEAD.to_owned());
    let new = marked::replaced(&old, part, &section.to_string());
    std::fs::write(&path, new).with_context(|| format!("cannot write {}", path.display()))
}

fn path() -> PathBuf {
    root().join("docs/validation.md")
}

/// The workspace.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
