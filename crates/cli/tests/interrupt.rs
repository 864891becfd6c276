//! A sweep that is interrupted or killed goes on where it was.

use airtcp_test_support::Scratch;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

/// 100 runs on one thread: long enough to be interrupted.
const SWEEP: [&str; 12] = [
    "run",
    "demo",
    "--threads",
    "1",
    "--set",
    "duration=10s",
    "--set",
    "runs=10",
    "--set",
    "flows.bulk.controller=cubic",
    "--json",
    "--results",
];

fn sweep(results: &Path) -> Command {
    // These tests may run under nohup.
    let mut command = Command::new("env");
    command
        .args(["--default-signal=HUP", env!("CARGO_BIN_EXE_airtcp")])
        .args(SWEEP)
        .arg(results)
        .env_remove("RUST_LOG")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Lines of the journal: one says whose it is, each other is a finished run.
fn kept(results: &Path) -> usize {
    let journals =
        std::fs::read_dir(results).into_iter().flatten().flatten().map(|entry| entry.path().join(".sim.partial"));
    journals.filter_map(|path| std::fs::read_to_string(path).ok()).map(|text| text.lines().count()).sum()
}

fn end(child: Child, signal: &str) -> Output {
    let status = Command::new("kill").args([signal, &child.id().to_string()]).status().expect("kill is there");
    assert!(status.success());
    child.wait_with_output().expect("it ends")
}

/// Starts the sweep and ends it with `signal` when it has kept `runs` more.
fn interrupt(results: &Path, runs: usize, signal: &str) -> Output {
    let goal = kept(results).max(1) + runs;
    let mut child = sweep(results).spawn().expect("it starts");
    while kept(results) < goal {
        assert!(child.try_wait().expect("it runs").is_none(), "the sweep was over before it could be interrupted");
        std::thread::sleep(Duration::from_millis(1));
    }
    end(child, signal)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn ctrl_c_and_kill_cost_no_finished_run_and_change_no_byte() {
    let results = Scratch::new("bytes");
    let whole = sweep(results.path()).output().expect("it runs");
    assert!(whole.status.success(), "{}", text(&whole.stderr));
    for entry in std::fs::read_dir(results.path()).unwrap() {
        std::fs::remove_dir_all(entry.unwrap().path()).unwrap();
    }

    for signal in ["-INT", "-HUP"] {
        let interrupted = interrupt(results.path(), 5, signal);
        assert_eq!(interrupted.status.code(), Some(130), "{}", text(&interrupted.stderr));
        assert_eq!(text(&interrupted.stdout), "", "half a result is none");
        assert!(text(&interrupted.stderr).contains("the same command continues"), "{}", text(&interrupted.stderr));
    }
    let killed = interrupt(results.path(), 5, "-KILL");
    assert_eq!(killed.status.code(), None);
    assert!(text(&killed.stderr).contains("continuing an interrupted sweep after"), "{}", text(&killed.stderr));
    let earlier = kept(results.path()) - 1;
    assert!((15..100).contains(&earlier), "{earlier}");

    let last = sweep(results.path()).output().expect("it runs");
    assert!(last.status.success(), "{}", text(&last.stderr));
    assert_eq!(text(&last.stdout), text(&whole.stdout));
    assert_eq!(kept(results.path()), 0, "nothing is left of the interruption");
    let summary: Value = serde_json::from_slice(&last.stdout).unwrap();
    let manifest = PathBuf::from(summary["directory"].as_str().unwrap()).join("manifest.json");
    let manifest: Value = serde_json::from_slice(&std::fs::read(manifest).unwrap()).unwrap();
    // The last line may have been torn by the kill.
    assert!(manifest["resumed_runs"].as_u64().unwrap().abs_diff(earlier as u64) <= 1, "{manifest}");
}

#[test]
fn sigterm_is_an_interruption_too_and_fresh_forgets_it() {
    let results = Scratch::new("fresh");
    let interrupted = interrupt(results.path(), 3, "-TERM");
    assert_eq!(interrupted.status.code(), Some(130), "{}", text(&interrupted.stderr));
    let fresh = sweep(results.path()).arg("--fresh").output().expect("it runs");
    assert!(fresh.status.success() && !text(&fresh.stderr).contains("continuing"), "{}", text(&fresh.stderr));
}

/// What a process has had of the processor so far, in its own code.
fn processor_time(process: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).expect("it runs");
    // Behind the name in brackets, the twelfth field, in hundredths of a second.
    let ticks = stat.rsplit(')').next().and_then(|fields| fields.split_whitespace().nth(11)?.parse::<u64>().ok());
    Duration::from_millis(ticks.expect("a number") * 10)
}

#[test]
fn sigterm_does_not_wait_for_a_long_run() {
    let results = Scratch::new("long");
    let mut command = Command::new(env!("CARGO_BIN_EXE_airtcp"));
    command.args(["run", "demo", "--set", "duration=1000000s", "--results"]).arg(results.path());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    // The journal is there once it listens, and who has had so much of the processor simulates.
    while kept(results.path()) == 0 || processor_time(child.id()) < Duration::from_millis(300) {
        std::thread::sleep(Duration::from_millis(1));
    }
    let ended = end(child, "-TERM");
    assert_eq!(ended.status.code(), Some(130), "{}", text(&ended.stderr));
    // So slow, it has begun no run by then.
    if !airtcp_test_support::is_emulated() {
        assert!(text(&ended.stderr).contains("simulated runs in progress are dropped"), "{}", text(&ended.stderr));
    }
}
