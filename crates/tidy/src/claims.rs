//! Each claim of the acceptance files has a number of its own: notes and pages name claims by it.

use crate::Violation;
use crate::tree::TreeFile;
use std::collections::BTreeMap;

/// Claims whose number another one has.
pub fn check(files: &[TreeFile]) -> Vec<Violation> {
    let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
    let mut found = Vec::new();
    for file in files.iter().filter(|file| file.path.starts_with("acceptance/")) {
        for id in file.text.as_deref().unwrap_or_default().lines().filter_map(id) {
            if let Some(first) = seen.insert(id, &file.path) {
                found.push(Violation::of(
                    &file.path,
                    format!("claim {id} stands in {first} already: give it a free number"),
                ));
            }
        }
    }
    found
}

fn id(line: &str) -> Option<&str> {
    line.strip_prefix("id = \"")?.strip_suffix('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_stands_twice_is_found_and_one_of_another_folder_is_not() {
        let file = |path: &str, text: &str| TreeFile { path: path.into(), text: Some(text.into()), bytes: 0 };
        let files = [
            file("acceptance/a.toml", "id = \"ACC-C1\"\nid = \"ACC-C2\""),
            file("acceptance/b.toml", "id = \"ACC-C2\""),
            file("papers/c.toml", "id = \"ACC-C1\""),
        ];
        assert_eq!(check(&files).len(), 1);
    }
}
