//! The acceptance protocol: runs `airtcp` on the protocol's scenarios and judges what it reports.
//!
//! It uses the command as a user would and reads its `--json`, so it depends on no crate of ours. One line per demand:
//! PASS or FAIL, value, target. The exit status is 0 if every line passed.
//!
//! `airtcp-accept [PART…]` runs only the named parts: `simulator`, `live-loss-free`, `live-cubic`, `live-bbr`, `live-50mbit`.
#![forbid(unsafe_code)]

mod judge;
mod protocol;

use airtcp_accept::command;
use judge::Verdict;
use protocol::Run;
use std::process::ExitCode;

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
        let summary = match command::summary(&run.arguments) {
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
