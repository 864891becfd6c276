//! Every threshold of a paper's claims has a line that says where it comes from.
//!
//! The table of `papers/<slug>/thresholds.md` has a row for each: the claim, then `key = value` as `paper.toml` has it. A
//! number that is changed in one of the two only is found, so none changes without a word.

use crate::Violation;
use crate::tree::TreeFile;
use std::collections::BTreeSet;

/// Keys of a check that hold a threshold.
const KEYS: [&str; 7] = ["at_least", "at_most", "by", "tolerance", "between", "apart", "printed"];

type Found = BTreeSet<(String, String)>;

/// What the papers' two files do not agree on.
pub fn check(files: &[TreeFile]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in files.iter().filter(|file| file.path.starts_with("papers/")) {
        let Some(folder) = file.path.strip_suffix("thresholds.md") else { continue };
        let paper = files.iter().find(|other| other.path == format!("{folder}paper.toml"));
        let (Some(lines), Some(paper)) = (&file.text, paper.and_then(|paper| paper.text.as_deref())) else { continue };
        let (stated, there) = match thresholds(paper) {
            Ok(there) => (rows(lines), there),
            Err(error) => {
                violations.push(Violation::of(&file.path, format!("paper.toml: {error}")));
                continue;
            }
        };
        let say = |(claim, threshold): &(String, String), what: &str| {
            Violation::of(&file.path, format!("{claim} `{threshold}` {what}"))
        };
        violations.extend(there.difference(&stated).map(|missing| say(missing, "has no line")));
        violations.extend(stated.difference(&there).map(|stale| say(stale, "is not in paper.toml")));
    }
    violations
}

/// The claim and the threshold of each row of a table.
fn rows(text: &str) -> Found {
    let row = |line: &str| {
        let mut cells = line.strip_prefix('|')?.split('|').map(str::trim);
        let (claim, threshold) = (cells.next()?, cells.next()?);
        let threshold = threshold.strip_prefix('`')?.strip_suffix('`')?;
        Some((claim.to_owned(), threshold.to_owned()))
    };
    text.lines().filter_map(row).collect()
}

/// The thresholds of a `paper.toml`.
fn thresholds(text: &str) -> Result<Found, String> {
    let paper: toml::Table = text.parse().map_err(|error: toml::de::Error| error.message().to_owned())?;
    let list = |value: Option<&toml::Value>| value.and_then(toml::Value::as_array).cloned().unwrap_or_default();
    let mut found = Found::new();
    for claim in list(paper.get("claims")) {
        let id = claim.get("id").and_then(toml::Value::as_str).unwrap_or_default();
        for check in list(claim.get("checks")) {
            let tables = [Some(&check), check.get("quick")].into_iter().flatten().filter_map(toml::Value::as_table);
            for (key, value) in tables.flatten().filter(|(key, _)| KEYS.contains(&key.as_str())) {
                found.insert((id.to_owned(), format!("{key} = {value}")));
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAPER: &str = "[[claims]]\nid = \"ABC-C1\"\nchecks = [{ kind = \"ratio\", at_least = 1.1, quick = { at_least = 1 } }, \
        { kind = \"within\", printed = [1.04, 1.07] }]\n";
    const LINES: &str = "| claim | threshold | from |\n|---|---|---|\n| ABC-C1 | `at_least = 1.1` | ours |\n\
        | ABC-C1 | `at_least = 1` | ours |\n| ABC-C1 | `printed = [1.04, 1.07]` | Table 1 |\n";

    fn found(paper: &str, lines: &str) -> Vec<String> {
        let file = |path: &str, text: &str| TreeFile { path: path.into(), bytes: 0, text: Some(text.into()) };
        let files = [file("papers/x/paper.toml", paper), file("papers/x/thresholds.md", lines)];
        check(&files).iter().map(|violation| violation.rule.clone()).collect()
    }

    #[test]
    fn every_threshold_has_its_line() {
        assert_eq!(found(PAPER, LINES), [""; 0]);
    }

    #[test]
    fn a_changed_threshold_is_found_in_both_files() {
        let changed = PAPER.replace("at_least = 1.1", "at_least = 1.05");
        assert_eq!(
            found(&changed, LINES),
            ["ABC-C1 `at_least = 1.05` has no line", "ABC-C1 `at_least = 1.1` is not in paper.toml"]
        );
    }
}
