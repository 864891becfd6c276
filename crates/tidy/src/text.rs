//! What no file of the tree may hold, and how long a source file may be.

use crate::Violation;

/// A source file with more lines than this has more than one job.
pub const MAX_LINES: usize = 800;

/// Marks of unfinished work, spelled in halves so that this file does not hold them.
const UNFINISHED: [[&str; 2]; 5] =
    [["TO", "DO"], ["FIX", "ME"], ["todo", "!("], ["unimplemented", "!("], ["#[ig", "nore"]];

/// Lines of a merge that was not finished begin so, spelled in halves as above.
const CONFLICTS: [[&str; 2]; 2] = [["<<<<", "<<< "], [">>>>", ">>> "]];

/// First parts of paths that exist on somebody's machine only.
const MACHINE_DIRECTORIES: [&str; 4] = ["work", "root", "home", "tmp"];

/// Unfinished work: everything that is in the tree works and is tested.
pub fn check_finished(path: &str, text: &str) -> Vec<Violation> {
    let marks = UNFINISHED.map(|halves| halves.concat());
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for mark in &marks {
            if line.match_indices(mark.as_str()).any(|(at, _)| stands_alone(line, at, mark.len())) {
                found.push(Violation::at(path, index + 1, format!("'{mark}': finish it or file an issue")));
            }
        }
        if CONFLICTS.iter().any(|halves| line.starts_with(&halves.concat())) {
            found.push(Violation::at(path, index + 1, "a conflict of a merge: resolve it"));
        }
    }
    found
}

/// Paths of the machine the file was written on.
pub fn check_portable(path: &str, text: &str) -> Vec<Violation> {
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for directory in MACHINE_DIRECTORIES {
            let prefix = format!("/{directory}/");
            if line.match_indices(&prefix).any(|(at, _)| starts_a_path(line, at)) {
                found.push(Violation::at(
                    path,
                    index + 1,
                    format!("'{prefix}…' is a path of one machine; use a relative one"),
                ));
            }
        }
    }
    found
}

/// Length of a source file.
pub fn check_length(path: &str, text: &str) -> Vec<Violation> {
    let lines = text.lines().count();
    if lines <= MAX_LINES {
        return Vec::new();
    }
    vec![Violation::of(path, format!("{lines} lines; split by responsibility before {MAX_LINES}"))]
}

fn stands_alone(line: &str, at: usize, length: usize) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let within_word = line[..at].ends_with(is_word);
    let goes_on = line[..at + length].ends_with(is_word) && line[at + length..].starts_with(is_word);
    !within_word && !goes_on
}

fn starts_a_path(line: &str, at: usize) -> bool {
    !line[..at].ends_with(|c: char| c.is_alphanumeric() || "._-*/}>)~$".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_every_mark_of_unfinished_work() {
        for halves in UNFINISHED {
            let planted = format!("fn f() {{\n    // {} later\n}}", halves.concat());
            let found = check_finished("a.rs", &planted);
            assert_eq!(found.len(), 1, "{planted}");
            assert_eq!(found[0].line, 2);
        }
        for halves in CONFLICTS {
            assert_eq!(check_finished("a.md", &format!("one\n{}HEAD\n", halves.concat())).len(), 1);
        }
    }

    #[test]
    fn takes_no_longer_word_for_a_mark() {
        let words =
            format!("{}S mas{} {}_list", UNFINISHED[0].concat(), UNFINISHED[2].concat(), UNFINISHED[0].concat());
        assert_eq!(check_finished("a.md", &words), []);
    }

    #[test]
    fn finds_a_path_of_one_machine() {
        for directory in MACHINE_DIRECTORIES {
            let planted = format!("ok\nsee `/{directory}/x`");
            assert_eq!(check_portable("a.md", &planted)[0].line, 2);
        }
    }

    #[test]
    fn takes_no_tail_of_a_path_for_a_machine_path() {
        let fine = MACHINE_DIRECTORIES.map(|directory| format!("docs/{directory}/x $root/{directory}/x")).join("\n");
        assert_eq!(check_portable("a.md", &fine), []);
    }

    #[test]
    fn finds_a_file_one_line_too_long_and_not_one_at_the_limit() {
        assert_eq!(check_length("a.rs", &"x\n".repeat(MAX_LINES)), []);
        assert_eq!(check_length("a.rs", &"x\n".repeat(MAX_LINES + 1)).len(), 1);
    }
}
