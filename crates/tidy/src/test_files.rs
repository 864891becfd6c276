//! Test files of a crate whose tests are one binary: `tests/main.rs` must name every one of them, or it would never run.

use crate::Violation;
use crate::tree::TreeFile;

/// Files beside a `tests/main.rs` that it does not declare as modules.
pub fn check(files: &[TreeFile]) -> Vec<Violation> {
    let mains = files.iter().filter_map(|file| Some((file.path.strip_suffix("tests/main.rs")?, file.text.as_deref()?)));
    mains
        .flat_map(|(folder, main)| {
            let beside = move |file: &&TreeFile| {
                let name =
                    file.path.strip_prefix(folder).and_then(|path| path.strip_prefix("tests/")?.strip_suffix(".rs"));
                name.is_some_and(|name| {
                    name != "main" && !name.contains('/') && !main.lines().any(|line| line == format!("mod {name};"))
                })
            };
            files
                .iter()
                .filter(beside)
                .map(|file| Violation::of(&file.path, "never runs: tests/main.rs does not name it"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_a_test_file_that_main_does_not_name() {
        let file = |path: &str, text: &str| TreeFile { path: path.into(), bytes: 0, text: Some(text.into()) };
        let main = file("crates/a/tests/main.rs", "mod b;\nmod common;\n");
        let named = file("crates/a/tests/b.rs", "");
        let inside = file("crates/a/tests/common/d.rs", "");
        let alone = file("crates/e/tests/f.rs", "");
        assert_eq!(check(&[main.clone(), named, inside, alone]), []);
        assert_eq!(check(&[main, file("crates/a/tests/c.rs", "")]).len(), 1);
    }
}
