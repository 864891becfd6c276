//! Running `airtcp` as a user would, and reading what it reports.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Runs the command of the same build in the workspace; its progress goes to the terminal, its summary comes back.
///
/// # Errors
/// A sentence, if it does not run or does not succeed.
pub fn summary(arguments: &[String]) -> Result<Value, String> {
    let output = Command::new(airtcp())
        .args(arguments)
        .current_dir(root())
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("airtcp does not start ({error}); build it: make release"))?;
    if !output.status.success() {
        return Err(format!("airtcp ended with {}", output.status));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("airtcp --json printed no JSON: {error}"))
}

/// The `airtcp` of the same build.
fn airtcp() -> PathBuf {
    let beside = std::env::current_exe().ok().and_then(|path| Some(path.parent()?.join("airtcp")));
    beside.unwrap_or_else(|| PathBuf::from("airtcp"))
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
