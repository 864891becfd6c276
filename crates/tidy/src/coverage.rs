//! Which rules and claims of the specification have code and a test.
//!
//! `docs/spec-items.toml` lists the items. A *rule* has code if its item code stands in the sources outside tests, and
//! a test if a test's name begins with it (`GSN-11`: `gsn_11_…`), so that the test is about this rule; a word in a
//! comment is none. A *claim* has code if a
//! `papers/*/paper.toml` states it, and a test if that file gives it a check other than named tests, or if the named
//! tests are there, or a test of that name is. A *check* (`SPEC-8-12`: `spec_8_12_…`) is a test.

use crate::Violation;
use crate::rust::{code_only, test_spans};
use crate::tree::TreeFile;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// Where the items are listed.
pub const ITEMS: &str = "docs/spec-items.toml";

/// One system of the specification.
#[derive(Clone, Debug)]
pub struct System {
    /// Name of its folder.
    pub slug: String,
    /// True if every item must have code and a test.
    pub exists: bool,
    /// Rules, claims, checks; each by number.
    pub items: Vec<Item>,
}

/// What sort of item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sort {
    /// Something to implement.
    Rule,
    /// Something the paper says.
    Claim,
    /// A test the specification asks for.
    Check,
}

/// One item.
#[derive(Clone, Debug)]
pub struct Item {
    /// `GSN-11`.
    pub code: String,
    /// In a few words.
    pub title: String,
    /// What sort.
    pub sort: Sort,
}

/// What is there.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// Item codes in sources outside tests.
    code: BTreeSet<String>,
    /// Names of tests.
    tests: BTreeSet<String>,
    /// Claims of the papers: whether a check measures or computes something, and the tests that are named.
    claims: BTreeMap<String, (bool, Vec<String>)>,
}

/// Reads [`ITEMS`].
///
/// # Errors
/// A sentence: not TOML, or not of the form that the file's first lines say.
pub fn systems(text: &str) -> Result<Vec<System>, String> {
    let List { systems } = toml::from_str(text).map_err(|error| format!("{ITEMS}: {error}"))?;
    systems.into_iter().map(|(slug, written)| system(slug, written)).collect()
}

/// The file as it is written.
#[derive(Deserialize)]
struct List {
    systems: BTreeMap<String, Written>,
}

#[derive(Deserialize)]
struct Written {
    exists: bool,
    #[serde(default)]
    rules: BTreeMap<String, String>,
    #[serde(default)]
    claims: BTreeMap<String, String>,
    #[serde(default)]
    checks: BTreeMap<String, String>,
}

fn system(slug: String, written: Written) -> Result<System, String> {
    let Written { exists, rules, claims, checks } = written;
    let sorts = [(Sort::Rule, rules), (Sort::Claim, claims), (Sort::Check, checks)];
    let of =
        |(sort, items): (Sort, BTreeMap<_, _>)| items.into_iter().map(move |(code, title)| Item { code, title, sort });
    let mut items: Vec<Item> = sorts.into_iter().flat_map(of).collect();
    // The table comes sorted as text: GSN-10 before GSN-2.
    items.sort_by_key(|item| (item.sort, item.code.len(), item.code.clone()));
    if items.is_empty() {
        Err(format!("{ITEMS}: [systems.{slug}] has no items"))
    } else {
        Ok(System { slug, exists, items })
    }
}

/// Looks through the sources and the papers.
///
/// # Errors
/// A paper that is not TOML.
pub fn evidence(files: &[TreeFile]) -> Result<Evidence, String> {
    let mut evidence = Evidence::default();
    for file in files {
        let Some(text) = &file.text else { continue };
        if file.path.ends_with(".rs") && !file.path.starts_with("crates/tidy/") {
            evidence.read_source(&file.path, text);
        } else if file.path.starts_with("papers/") && file.path.ends_with("/paper.toml") {
            evidence.read_paper(&file.path, text)?;
        }
    }
    Ok(evidence)
}

impl Evidence {
    fn read_source(&mut self, path: &str, text: &str) {
        let parts: Vec<&str> = path.split('/').collect();
        let is_test_file = parts.iter().any(|part| ["tests", "tests.rs", "fuzz_targets"].contains(part));
        let code = code_only(text);
        let spans = test_spans(&code);
        for (at, item) in codes(text) {
            if !is_test_file && !spans.iter().any(|span| span.contains(&at)) {
                self.code.insert(item);
            }
        }
        let is_test = |at: usize| is_test_file || spans.iter().any(|span| span.contains(&at));
        let functions = code.match_indices("fn ").filter(|(at, _)| is_test(*at));
        self.tests.extend(functions.map(|(at, _)| word(&code[at + 3..]).to_owned()));
    }

    fn read_paper(&mut self, path: &str, text: &str) -> Result<(), String> {
        let paper: toml::Table = text.parse().map_err(|error| format!("{path}: {error}"))?;
        let list = |value: Option<&toml::Value>| value.and_then(toml::Value::as_array).cloned().unwrap_or_default();
        for claim in list(paper.get("claims")) {
            let Some(id) = claim.get("id").and_then(toml::Value::as_str) else { continue };
            let (mut measures, mut tests) = (claim.get("not_checkable").is_some(), Vec::new());
            for check in list(claim.get("checks")) {
                match check.get("kind").and_then(toml::Value::as_str) {
                    Some("test") => {
                        let names = list(check.get("tests"));
                        tests.extend(names.iter().filter_map(toml::Value::as_str).map(str::to_owned));
                    }
                    _ => measures = true,
                }
            }
            self.claims.insert(id.to_owned(), (measures, tests));
        }
        Ok(())
    }

    fn has_test_named(&self, beginning: &str) -> bool {
        // `gsn_1` does not begin `gsn_11_…`.
        let goes_on = |name: &str| {
            name.strip_prefix(beginning).is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
        };
        self.tests
            .range(beginning.to_owned()..)
            .take_while(|name| name.starts_with(beginning))
            .any(|name| goes_on(name))
    }

    /// Whether an item has code and a test.
    pub fn of(&self, item: &Item) -> (bool, bool) {
        let named = self.has_test_named(&item.code.to_ascii_lowercase().replace('-', "_"));
        match item.sort {
            Sort::Rule => (self.code.contains(&item.code), named),
            Sort::Claim => match self.claims.get(&item.code) {
                Some((measures, tests)) => {
                    let are_there = tests.iter().all(|test| self.has_test_named(test));
                    (true, are_there && (*measures || !tests.is_empty()))
                }
                None => (false, named),
            },
            Sort::Check => (true, named),
        }
    }
}

/// Items of systems that exist and lack code or a test.
pub fn check(systems: &[System], evidence: &Evidence) -> Vec<Violation> {
    let items = systems.iter().filter(|system| system.exists).flat_map(|system| &system.items);
    items
        .filter_map(|item| missing(item, evidence).map(|what| (item, what)))
        .map(|(item, what)| Violation::of(ITEMS, format!("{} has {what}: {}", item.code, item.title)))
        .collect()
}

/// What an item lacks, in words.
pub fn missing(item: &Item, evidence: &Evidence) -> Option<&'static str> {
    match evidence.of(item) {
        (true, true) => None,
        (false, true) => Some("no code"),
        (true, false) => Some("no test"),
        (false, false) => Some("no code and no test"),
    }
}

/// Item codes of rules in a text, `GSN-11`, and where they begin; `GSN-C8` and `GSN-U4` are none.
fn codes(text: &str) -> Vec<(usize, String)> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    for (dash, _) in text.match_indices('-') {
        let Some(start) = dash.checked_sub(3).filter(|start| bytes[*start..dash].iter().all(u8::is_ascii_uppercase))
        else {
            continue;
        };
        let is_word = |at: usize| bytes.get(at).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
        let digits = bytes[dash + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let end = dash + 1 + digits;
        if digits > 0 && !is_word(end) && !start.checked_sub(1).is_some_and(is_word) {
            found.push((start, text[start..end].to_owned()));
        }
    }
    found
}

fn word(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "[systems.x]\nexists = true\nrules = { ABC-1 = \"one\", ABC-11 = \"eleven\" }\nclaims = { ABC-C1 = \"c\" }\n\
        checks = { SPEC-8-12 = \"s\" }\n[systems.y]\nexists = false\nrules = { DEF-1 = \"d\" }\n";

    fn lacks(files: &[(&str, &str)]) -> Vec<String> {
        let file =
            |(path, text): &(&str, &str)| TreeFile { path: (*path).into(), bytes: 0, text: Some((*text).into()) };
        let evidence = evidence(&files.iter().map(file).collect::<Vec<_>>()).unwrap();
        let violations = check(&systems(LIST).unwrap(), &evidence);
        violations.iter().map(|violation| violation.rule.split(':').next().unwrap().to_owned()).collect()
    }

    const CODE: (&str, &str) = (
        "crates/a/src/lib.rs",
        "// ABC-1 and ABC-11\nfn f() {}\n#[cfg(test)]\nmod tests {\n#[test]\nfn abc_1_works() {}\nfn abc_11_works() {}\n}\n",
    );
    const PAPER: (&str, &str) =
        ("papers/x/paper.toml", "[[claims]]\nid = \"ABC-C1\"\nchecks = [{ kind = \"ratio\" }]\n");
    const SPEC: (&str, &str) = ("crates/a/tests/t.rs", "#[test]\nfn spec_8_12_holds() {}\n");

    #[test]
    fn nothing_is_missing_where_every_item_has_code_and_test() {
        assert_eq!(lacks(&[CODE, PAPER, SPEC]), [""; 0]);
    }

    #[test]
    fn every_item_without_code_or_test_is_named() {
        let all = [
            "ABC-1 has no code and no test",
            "ABC-11 has no code and no test",
            "ABC-C1 has no code and no test",
            "SPEC-8-12 has no test",
        ];
        assert_eq!(lacks(&[]), all);
    }

    #[test]
    fn a_rule_in_a_comment_of_a_test_is_no_code() {
        let test = ("crates/a/src/tests.rs", "// ABC-1\nfn abc_1_works() {}\nfn abc_11_works() {}");
        assert_eq!(lacks(&[test, PAPER, SPEC]), ["ABC-1 has no code", "ABC-11 has no code"]);
    }

    #[test]
    fn a_rule_in_a_comment_of_a_test_is_no_test() {
        let code =
            ("crates/a/src/lib.rs", "// ABC-1 ABC-11\n#[cfg(test)]\nmod tests {\n// ABC-11\nfn abc_1_works() {}\n}");
        assert_eq!(lacks(&[code, PAPER, SPEC]), ["ABC-11 has no test"]);
    }

    #[test]
    fn a_test_of_rule_eleven_is_none_of_rule_one() {
        let code = ("crates/a/src/lib.rs", "// ABC-1 ABC-11\n#[cfg(test)]\nmod tests { fn abc_11_works() {} }");
        assert_eq!(lacks(&[code, PAPER, SPEC]), ["ABC-1 has no test"]);
    }

    #[test]
    fn a_function_outside_tests_is_no_test() {
        let code = ("crates/a/src/lib.rs", "// ABC-1 ABC-11\nfn abc_1() {}\nfn abc_11() {}");
        assert_eq!(lacks(&[code, PAPER, SPEC]), ["ABC-1 has no test", "ABC-11 has no test"]);
    }

    #[test]
    fn a_claim_shown_by_tests_needs_each_of_them() {
        let paper = (
            "papers/x/paper.toml",
            "[[claims]]\nid = \"ABC-C1\"\nchecks = [{ kind = \"test\", tests = [\"spec_8_12\", \"abc_c1\"] }]\n",
        );
        assert_eq!(lacks(&[CODE, paper, SPEC]), ["ABC-C1 has no test"]);
        let test = ("crates/b/tests/t.rs", "fn abc_c1_is_so() {}");
        assert_eq!(lacks(&[CODE, paper, SPEC, test]), [""; 0]);
    }

    #[test]
    fn codes_are_whole_words() {
        let found: Vec<String> = codes("GSN-11, (DEC-2) XGSN-3 GSN-4b GSN-C5 GSN-U6 gsn-7 GSN- GSN-8/9")
            .into_iter()
            .map(|(_, code)| code)
            .collect();
        assert_eq!(found, ["GSN-11", "DEC-2", "GSN-8"]);
    }
}
