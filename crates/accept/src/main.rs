//! The acceptance protocol: runs `airtcp` on the protocol's scenarios and judges what it reports.
//!
//! It uses the command as a user would and reads its `--json`, so it depends on no crate of ours. One line per demand:
//! PASS or FAIL, value, target. The exit status is 0 if every line passed.
//!
//! `airtcp-accept [PART…]` runs only the named parts: `simulator`, `live-loss-free`, `live-cubic`, `live-bbr`, `live-50mbit`.
#![forbid(unsafe_code)]

mod judge;
mod protocol;

use judge::Verdict;
use protocol::Run;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// How often a run is made whose link was not what it should be.
const ATTEMPTS: usize = 3;

fn main() -> ExitCode {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let parts = protocol::parts();
    if let Some(unknown) = wanted.iter().find(|name| !parts.iter().any(|part| part.name == name.as_str())) {
        let names: Vec<&str> = parts.iter().map(|part| part.name).collect();
        eprintln!("airtcp-accept: no part '{unknown}'; there are: {}", names.join(", "));
        return ExitCode::from(2);
    }
    let mut failed = 0;
    for part in parts.iter().filter(|part| wanted.is_empty() || wanted.iter().any(|name| name == part.name)) {
        println!("== {}", part.name);
        failed += part.runs.iter().map(failures).sum::<usize>();
    }
    println!("{}", if failed == 0 { "accepted".to_owned() } else { format!("not accepted: {failed} demands not met") });
    ExitCode::from(u8::from(failed != 0))
}

/// Makes a run and prints a line per demand; returns how many were not met. Whether the link is what it should be is
/// measured before the traffic begins, so a run made again for that is not chosen by its outcome.
fn failures(run: &Run) -> usize {
    let mut attempt = 1;
    loop {
        println!("airtcp {}", run.arguments.join(" "));
        let summary = match summary(&run.arguments) {
            Ok(summary) => summary,
            Err(reason) => {
                println!("FAIL  {reason}");
                return run.demands.len();
            }
        };
        let verdicts: Vec<Verdict> = run.demands.iter().map(|demand| judge::judge(demand, &summary)).collect();
        if attempt < ATTEMPTS && verdicts.iter().any(|verdict| verdict.is_void) {
            println!("void  the emulator did not hold its rate, delay or loss; once more");
            attempt += 1;
            continue;
        }
        verdicts.iter().for_each(|verdict| println!("{verdict}"));
        return verdicts.iter().filter(|verdict| !verdict.passed).count();
    }
}

/// Runs the command beside this one; its progress goes to the terminal, its summary comes back.
fn summary(arguments: &[String]) -> Result<Value, String> {
    let output = Command::new(airtcp())
        .args(arguments)
        .current_dir(root())
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("airtcp does not start ({error}); build it: make release"))?;
    if !output.status.success() {
        return Err(format!("airtcp ended with {}", output.status));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("airtcp --json printed no JSON: {error}"))
}

/// The `airtcp` of the same build.
fn airtcp() -> PathBuf {
    let beside = std::env::current_exe().ok().and_then(|path| Some(path.parent()?.join("airtcp")));
    beside.unwrap_or_else(|| PathBuf::from("airtcp"))
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
