//! How many lines of production code each crate has: code without blank lines, comments and tests.

use crate::layers::crate_of;
use crate::rust::{code_only, is_test_file, without_tests};
use crate::tree::TreeFile;
use std::collections::BTreeMap;

/// Lines of production code by crate, for every crate under `crates/`.
pub fn production(files: &[TreeFile]) -> BTreeMap<&str, usize> {
    let mut counted = BTreeMap::new();
    for file in files.iter().filter(|file| file.path.ends_with(".rs") && !is_test_file(&file.path)) {
        if let (Some(name), Some(text)) = (crate_of(&file.path), file.text.as_deref()) {
            *counted.entry(name).or_default() += code_lines(text);
        }
    }
    counted
}

/// Lines with code on them; a line of a string literal counts where its first or last line does.
fn code_lines(text: &str) -> usize {
    without_tests(&code_only(text)).lines().filter(|line| !line.trim().is_empty()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_code_and_neither_comments_nor_tests() {
        let text = "//! About.\n\nuse a::B; // b\n/* c\n*/\nfn f() {\n}\n#[cfg(test)]\nmod tests {\n}\n";
        let file = |path: &str| TreeFile { path: path.to_owned(), bytes: 0, text: Some(text.to_owned()) };
        let files = ["crates/a/src/lib.rs", "crates/a/src/b/tests.rs", "crates/a/tests/c.rs", "crates/d/src/e.rs"];
        let files = files.map(file);
        assert_eq!(production(&files), BTreeMap::from([("a", 3), ("d", 3)]));
    }
}
