//! The tracked files of the repository.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Files larger than this do not belong in the repository.
pub const MAX_FILE_BYTES: u64 = 1 << 20;

/// A tracked file, or one that would be if it were added now.
#[derive(Clone, Debug)]
pub struct TreeFile {
    /// Path from the root of the repository, with `/`.
    pub path: String,
    /// Length in bytes.
    pub bytes: u64,
    /// Content, if it is UTF-8.
    pub text: Option<String>,
}

/// The root of this repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository has a root")
}

/// Reads every file under `root` that git tracks or does not ignore. Panics with a sentence where git cannot tell.
pub fn files(root: &Path) -> Vec<TreeFile> {
    let listed = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .expect("git is needed to know which files belong to the tree");
    assert!(listed.status.success(), "git ls-files: {}", String::from_utf8_lossy(&listed.stderr));
    let names = String::from_utf8(listed.stdout).expect("paths are UTF-8");
    let mut files: Vec<TreeFile> =
        names.split('\0').filter(|name| !name.is_empty()).filter_map(|name| read(root, name)).collect();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files.dedup_by(|a, b| a.path == b.path);
    files
}

/// `None` for a file that is tracked and was removed without telling git.
fn read(root: &Path, name: &str) -> Option<TreeFile> {
    let content = std::fs::read(root.join(name)).ok()?;
    Some(TreeFile { path: name.to_owned(), bytes: content.len() as u64, text: String::from_utf8(content).ok() })
}

/// Files that are too large to be tracked.
pub fn check_sizes(files: &[TreeFile]) -> Vec<crate::Violation> {
    files
        .iter()
        .filter(|file| file.bytes > MAX_FILE_BYTES)
        .map(|file| {
            crate::Violation::of(
                &file.path,
                format!("{} bytes; a tracked file has at most {MAX_FILE_BYTES}", file.bytes),
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_this_very_file() {
        let files = files(&root());
        let this = files.iter().find(|file| file.path == "crates/tidy/src/tree.rs").expect("listed");
        assert!(this.text.as_deref().is_some_and(|text| text.contains("lists_this_very_file")));
    }

    #[test]
    fn finds_a_file_just_above_the_limit_and_not_one_at_it() {
        let file = |bytes| TreeFile { path: "a.bin".into(), bytes, text: None };
        assert!(check_sizes(&[file(MAX_FILE_BYTES)]).is_empty());
        assert_eq!(check_sizes(&[file(MAX_FILE_BYTES + 1)]).len(), 1);
    }
}
