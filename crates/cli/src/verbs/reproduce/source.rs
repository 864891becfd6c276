//! Runs the tests that claims name, where the source tree and cargo are there.

use crate::output::say;
use airtcp_experiment::paper::TestRuns;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

type Wanted<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

/// What became of `wanted`: packages and their tests, by name or the beginning of a name.
pub(super) fn run(wanted: &Wanted<'_>) -> TestRuns {
    if wanted.is_empty() {
        return TestRuns::NONE;
    }
    say!("airtcp: running the tests that claims name");
    let built = folders().and_then(|folders| Ok((folders, programs()?)));
    let mut runs = BTreeMap::new();
    for (package, names) in wanted {
        let found = built.as_ref().map_err(Clone::clone).and_then(|(folders, programs)| {
            let folder = folders.get(*package).ok_or(format!("there is no package {package} in this tree"))?;
            outcomes(programs.iter().filter(|program| program.folder == *folder), names)
        });
        for name in names {
            let verdict = found.as_ref().map_err(Clone::clone).and_then(|found| verdict(found, name));
            runs.insert(((*package).to_owned(), (*name).to_owned()), verdict);
        }
    }
    TestRuns::Run(runs)
}

/// The packages of the workspace that the working directory is in, each with its folder.
fn folders() -> Result<BTreeMap<String, PathBuf>, String> {
    let metadata = cargo(&["metadata", "--no-deps", "--offline", "--format-version", "1"])?;
    let metadata: Value = serde_json::from_slice(&metadata.stdout).map_err(|error| error.to_string())?;
    let package = |package: &Value| {
        let manifest = Path::new(package["manifest_path"].as_str()?);
        Some((package["name"].as_str()?.to_owned(), manifest.parent()?.to_owned()))
    };
    Ok(metadata["packages"].as_array().into_iter().flatten().filter_map(package).collect())
}

/// A program of tests, of the package in a folder.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Program {
    folder: PathBuf,
    path: String,
}

/// All programs of tests, built. Of the whole workspace, as `make test` builds them: of one package alone cargo would build all
/// that it needs once more.
fn programs() -> Result<BTreeSet<Program>, String> {
    let build = ["test", "--quiet", "--no-run", "--lib", "--tests", "--message-format=json", "--workspace"];
    let built = cargo(&build)?;
    Ok(String::from_utf8_lossy(&built.stdout).lines().filter_map(program).collect())
}

/// Tests of `programs` that ran, and whether they passed: at least those whose names begin with one of `names`.
fn outcomes<'a>(
    programs: impl Iterator<Item = &'a Program>,
    names: &BTreeSet<&str>,
) -> Result<Vec<(String, bool)>, String> {
    let mut found = Vec::new();
    for Program { folder, path } in programs {
        // Several names are alternatives. What does not pass exits with an error, which its lines say.
        let output = Command::new(path).args(names).current_dir(folder).output();
        let output = output.map_err(|error| format!("{path}: {error}"))?;
        found.extend(String::from_utf8_lossy(&output.stdout).lines().filter_map(outcome));
    }
    Ok(found)
}

fn cargo(arguments: &[&str]) -> Result<Output, String> {
    let output = Command::new("cargo").args(arguments).output();
    let output = output.map_err(|_| "there is no cargo here to run its tests".to_owned())?;
    if output.status.success() {
        return Ok(output);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let reason = said.lines().find(|line| line.starts_with("error")).unwrap_or("cargo failed");
    Err(format!("its tests cannot be run here: {reason}"))
}

/// The program of tests that a line of cargo's messages tells of.
fn program(line: &str) -> Option<Program> {
    let message: Value = serde_json::from_str(line).ok()?;
    let is_test = message["profile"]["test"] == true;
    let path = message["executable"].as_str().filter(|_| is_test)?.to_owned();
    Some(Program { folder: Path::new(message["manifest_path"].as_str()?).parent()?.to_owned(), path })
}

/// `test a::b::name ... ok`: the name, and whether it passed; one that was left out says nothing.
fn outcome(line: &str) -> Option<(String, bool)> {
    let (path, outcome) = line.strip_prefix("test ")?.split_once(" ... ")?;
    let name = path.split(" - ").next()?.rsplit("::").next()?;
    (!outcome.starts_with("ignored")).then(|| (name.to_owned(), outcome.starts_with("ok")))
}

/// Whether every test passed whose name is `beginning`, or goes on after it with anything but a digit.
fn verdict(found: &[(String, bool)], beginning: &str) -> Result<bool, String> {
    let is_meant =
        |name: &str| name.strip_prefix(beginning).is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()));
    let mut meant = found.iter().filter(|(name, _)| is_meant(name)).peekable();
    if meant.peek().is_none() {
        return Err(format!("there is no test {beginning}"));
    }
    Ok(meant.all(|(_, passed)| *passed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_a_test_program_are_read() {
        assert_eq!(outcome("test a::b::gsn_c7_x ... ok"), Some(("gsn_c7_x".into(), true)));
        assert_eq!(outcome("test gsn_c7_x - should panic ... FAILED"), Some(("gsn_c7_x".into(), false)));
        assert_eq!(outcome("test a::slow ... ignored"), None);
        assert_eq!(outcome("test result: ok. 3 passed"), None);
    }

    #[test]
    fn a_name_stands_for_all_tests_that_begin_with_it_and_none_that_go_on_with_a_digit() {
        let found = [("ast_c1_a", true), ("ast_c1_b", true), ("ast_c12", false)];
        let found = found.map(|(name, passed)| (name.to_owned(), passed));
        assert_eq!(verdict(&found, "ast_c1"), Ok(true));
        assert_eq!(verdict(&found, "ast_c12"), Ok(false));
        assert_eq!(verdict(&found, "ast_c2"), Err("there is no test ast_c2".into()));
    }

    #[test]
    fn only_programs_of_tests_are_run() {
        let line = |test: bool, path: &str| {
            format!(
                "{{\"manifest_path\": \"/x/Cargo.toml\", \"profile\": {{\"test\": {test}}}, \"executable\": {path}}}"
            )
        };
        let expected = Program { folder: "/x".into(), path: "target/a".into() };
        assert_eq!(program(&line(true, "\"target/a\"")), Some(expected));
        assert_eq!((program(&line(false, "\"target/a\"")), program(&line(true, "null"))), (None, None));
    }
}
