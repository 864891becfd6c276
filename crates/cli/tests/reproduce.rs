//! `airtcp reproduce` as a user meets it.

use airtcp_test_support::Scratch;
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

fn airtcp(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_airtcp")).args(arguments).env_remove("RUST_LOG").output().expect("it starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

/// A folder with the paper that `airtcp show paper --example` prints, changed by `edit`.
struct Folder(Scratch);

impl Folder {
    fn new(name: &str, edit: impl Fn(String) -> String) -> Self {
        let scratch = Scratch::new(&format!("reproduce-{name}"));
        let paper = edit(text(&airtcp(&["show", "paper", "--example"]).stdout));
        std::fs::write(scratch.path().join("paper.toml"), paper).expect("it can be written");
        Folder(scratch)
    }

    fn command(&self, more: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_airtcp"));
        command.args(["reproduce", self.0.text(), "--quick", "--results"]).arg(self.0.path().join("results"));
        command.args(more).env_remove("RUST_LOG");
        command
    }

    fn reproduce(&self, more: &[&str]) -> Output {
        self.command(more).output().expect("it starts")
    }

    /// What an interrupted reproduction left of its one experiment.
    fn journal(&self) -> Option<PathBuf> {
        let below = |path: PathBuf| std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
        let experiments = below(self.0.path().join("results")).flat_map(below);
        experiments.map(|path| path.join(".sim.partial")).find(|path| path.exists())
    }
}

#[test]
fn a_paper_ends_with_a_row_per_claim_and_a_report_that_shows_them() {
    let folder = Folder::new("rows", |paper| paper);
    let output = folder.reproduce(&[]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let rows = text(&output.stdout);
    let row = rows.lines().find(|line| line.starts_with("GSN-C1")).expect("a row");
    assert!(row.contains("holds") && row.ends_with("Goodput is at least doubled"), "{row}");
    let report = rows.lines().find_map(|line| line.strip_prefix("report   ")).expect("the report's path");
    let report = std::fs::read_to_string(report).unwrap();
    assert!(report.contains("GSN-C1") && report.contains("mine-e1"), "claims above results");
}

#[test]
fn the_report_of_a_paper_can_be_written_again_and_its_experiments_stand_beside_others() {
    let folder = Folder::new("again", |paper| paper);
    let rows = text(&folder.reproduce(&[]).stdout);
    let path = |key: &str| rows.lines().find_map(|line| line.strip_prefix(key)).expect("a path").to_owned();
    let (results, report) = (path("results  "), path("report   "));
    let first = std::fs::read(&report).unwrap();
    std::fs::remove_file(&report).unwrap();
    assert_eq!(text(&airtcp(&["report", &results]).stdout).trim_end(), report);
    assert!(std::fs::read(&report).unwrap() == first, "the same page");
    let both = folder.0.path().join("both.html");
    let output = airtcp(&["report", &results, &results, "--output", both.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn json_is_the_claims_and_nothing_else() {
    let folder = Folder::new("json", |paper| paper);
    let output = folder.reproduce(&["--json", "--threads", "1"]);
    let claims: Value = serde_json::from_slice(&output.stdout).expect("stdout is JSON");
    assert_eq!((&claims["schema"], &claims["claims"][0]["id"]), (&"airtcp.claims/1".into(), &"GSN-C1".into()));
    let written = PathBuf::from(claims["directory"].as_str().unwrap()).join("claims.json");
    assert_eq!(std::fs::read_to_string(written).unwrap(), text(&output.stdout));
}

#[test]
fn a_claim_that_does_not_hold_is_a_finding_and_no_failure() {
    let folder = Folder::new("finding", |paper| paper.replace("at_least = 2 }", "at_least = 2000 }"));
    let output = folder.reproduce(&[]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("does not hold"), "{}", text(&output.stdout));
}

#[test]
fn the_claim_of_the_example_fails_under_its_mutation() {
    let folder = Folder::new("mutation", |paper| paper);
    let output = folder.reproduce(&["--mutations"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let rows = text(&output.stdout);
    let row = rows.lines().find(|line| line.starts_with("GSN-C1")).expect("a row");
    assert!(row.contains("does not hold"), "{row}");
}

#[test]
fn the_control_fails_and_names_a_comparative_claim_that_holds_without_the_scheme() {
    let sound = Folder::new("sound", |paper| paper);
    assert_eq!(sound.reproduce(&["--control"]).status.code(), Some(0));
    let vacuous = Folder::new("vacuous", |paper| paper.replace("at_least = 2 }", "at_least = 1 }"));
    let output = vacuous.reproduce(&["--control"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("GSN-C1"), "{}", text(&output.stderr));
}

#[test]
fn runs_of_another_build_are_bad_input_until_one_says_what_to_do() {
    let many = |paper: String| paper.replace("runs = 2\nduration = \"5s\"", "runs = 50\nduration = \"60s\"");
    let folder = Folder::new("build", many);
    let mut child = folder.command(&["--threads", "1"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let journal = loop {
        assert!(child.try_wait().unwrap().is_none(), "it ended before a run was kept");
        std::thread::sleep(Duration::from_millis(10));
        let kept = folder.journal().filter(|path| std::fs::read_to_string(path).unwrap().lines().count() > 1);
        if let Some(path) = kept {
            break path;
        }
    };
    child.kill().unwrap();
    child.wait().unwrap();
    let kept = std::fs::read_to_string(&journal).unwrap();
    let build = concat!("\"build\":\"", env!("CARGO_PKG_VERSION"), " ");
    assert!(kept.contains(build));
    std::fs::write(&journal, kept.replacen(build, "\"build\":\"0.0.9 ", 1)).unwrap();
    let output = folder.reproduce(&[]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("--resume uses them, --fresh drops them"), "{}", text(&output.stderr));
}

#[test]
fn a_paper_that_is_not_there_and_a_mistake_in_one_are_bad_input() {
    let unknown = airtcp(&["reproduce", "no-such-paper"]);
    assert_eq!((unknown.status.code(), text(&unknown.stdout)), (Some(2), String::new()));
    assert!(text(&unknown.stderr).contains("there is no paper 'no-such-paper'"), "{}", text(&unknown.stderr));
    let folder = Folder::new("mistake", |paper| paper.replace("at_least", "at_lest"));
    let output = folder.reproduce(&[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("did you mean 'at_least'?"), "{}", text(&output.stderr));
}
