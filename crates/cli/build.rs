//! Tells the program from which revision it was built.

use std::path::Path;
use std::process::Command;

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    // A changed source file may make a modified checkout of a clean one; a commit appends to the log of HEAD.
    println!("cargo:rerun-if-changed={}", root.join("crates").display());
    if let Some(log) = git(&root, &["rev-parse", "--path-format=absolute", "--git-path", "logs/HEAD"])
        && Path::new(&log).exists()
    {
        println!("cargo:rerun-if-changed={log}");
    }
    println!("cargo:rustc-env=AIRTCP_REVISION={}", revision(&root).unwrap_or_else(|| "unknown".into()));
}

fn revision(root: &Path) -> Option<String> {
    // A copy of the sources inside somebody else's repository is no checkout of ours.
    let top = git(root, &["rev-parse", "--show-toplevel"])?;
    if std::fs::canonicalize(top).ok()? != std::fs::canonicalize(root).ok()? {
        return None;
    }
    let commit = git(root, &["rev-parse", "HEAD"])?;
    let changes = git(root, &["status", "--porcelain", "--", "crates", "scenarios", "Cargo.toml", "Cargo.lock"])?;
    Some(if changes.is_empty() { commit } else { format!("{commit}-modified") })
}

fn git(root: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(root).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
