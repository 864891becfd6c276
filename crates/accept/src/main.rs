//! The acceptance protocol: runs `airtcp` on the protocol's scenarios and judges what it reports.
//!
//! It uses the command as a user would and reads its `--json`, so it depends on no crate of ours. One line per demand:
//! PASS or FAIL, value, target. The exit status is 0 if every line passed.
//!
//! `airtcp-accept [PART…]` runs only the named parts: `simulator`, `live-loss-free`, `live-cubic`, `live-bbr`, `live-50mbit`.
#![forbid(unsafe_code)]

mod judge;
mod protocol;

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

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
        println!("== {}: airtcp {}", part.name, part.arguments.join(" "));
        match run(&part.arguments) {
            Ok(summary) => {
                for verdict in part.demands.iter().map(|demand| judge::judge(demand, &summary)) {
                    println!("{verdict}");
                    failed += usize::from(!verdict.passed);
                }
            }
            Err(reason) => {
                println!("FAIL  {}: {reason}", part.name);
                failed += part.demands.len();
            }
        }
    }
    println!("{}", if failed == 0 { "accepted".to_owned() } else { format!("not accepted: {failed} demands not met") });
    ExitCode::from(u8::from(failed != 0))
}

/// Runs the command beside this one; its progress goes to the terminal, its summary comes back.
fn run(arguments: &[&str]) -> Result<Value, String> {
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
