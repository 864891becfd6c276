//! Documents that name a file of the repository name one that exists.

use crate::Violation;

/// Directories at the root: a `code span` that starts with one of them is taken for a path.
const DIRECTORIES: [&str; 11] =
    ["crates", "scripts", "scenarios", "examples", "docs", "papers", "fuzz", "bench", "tests", "packaging", ".ci"];

/// Links and code spans of a Markdown file whose file is missing; `exists` answers for a path from the root.
pub fn check(path: &str, text: &str, exists: impl Fn(&str) -> bool) -> Vec<Violation> {
    let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
    let mut found = Vec::new();
    let mut in_fence = false;
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_fence = !in_fence;
            continue;
        }
        if in_fence {
            continue;
        }
        let linked = link_targets(line).map(|target| join(directory, target));
        let named = code_spans(line).filter(|span| is_path(span)).map(|span| join("", span));
        for target in linked.chain(named) {
            if !exists(&target) {
                found.push(Violation::at(path, index + 1, format!("'{target}' does not exist")));
            }
        }
    }
    found
}

/// Targets of `[text](target)` that lie in the repository, without their fragment.
fn link_targets(line: &str) -> impl Iterator<Item = &str> {
    line.match_indices("](").filter_map(|(at, _)| {
        let target = line[at + 2..].split([')', ' ']).next()?;
        let file = target.split('#').next()?;
        (!file.is_empty() && !file.contains(':')).then_some(file)
    })
}

fn code_spans(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

fn is_path(span: &str) -> bool {
    let plain = span.chars().all(|c| c.is_ascii_alphanumeric() || "_-./".contains(c));
    plain && span.split_once('/').is_some_and(|(first, _)| DIRECTORIES.contains(&first))
}

/// The path from the root of `target` as seen from `directory`.
pub(crate) fn join(directory: &str, target: &str) -> String {
    let mut parts: Vec<&str> = if target.starts_with('/') { Vec::new() } else { directory.split('/').collect() };
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.retain(|part| !part.is_empty());
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missing(path: &str, text: &str) -> Vec<String> {
        let exists = |path: &str| ["README.md", "docs/a.md", "crates/core"].contains(&path);
        check(path, text, exists).into_iter().map(|violation| violation.to_string()).collect()
    }

    #[test]
    fn finds_a_link_to_a_file_that_is_not_there() {
        assert_eq!(missing("README.md", "see\n[a](docs/b.md#part)"), ["README.md:2: 'docs/b.md' does not exist"]);
    }

    #[test]
    fn finds_a_path_in_a_code_span_that_is_not_there() {
        assert_eq!(missing("docs/a.md", "in `crates/cote`"), ["docs/a.md:1: 'crates/cote' does not exist"]);
    }

    #[test]
    fn follows_links_from_the_directory_of_the_document() {
        assert_eq!(missing("docs/a.md", "[r](../README.md) [self](a.md) [top](#top) `crates/core/`"), [""; 0]);
    }

    #[test]
    fn leaves_the_web_patterns_and_fenced_blocks_alone() {
        assert_eq!(
            missing("README.md", "[w](https://example.org/x) `crates/*/src` `crates/{a,b}`\n```\n[a](b.md)\n```"),
            [""; 0]
        );
    }
}
