//! The acceptance protocol: runs `airtcp` on the protocol's scenarios and judges what it reports.
//!
//! It uses the command as a user would and reads its `--json`, so it depends on no crate of ours. One line per demand:
//! PASS or FAIL, value, target. The exit status is 0 if every line passed.
//!
//! `airtcp-accept [PART…]` runs only the named parts: `simulator`, `live-loss-free`, `live-cubic`, `live-bbr`, `live-50mbit`,
//! `live-newzag`, `live-fast-tcp`.
#![forbid(unsafe_code)]

mod gain;
mod judge;
mod protocol;
mod queue;

use airtcp_accept::command;
use judge::Verdict;
use protocol::Trial;
use serde_json::Value;
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
        failed += part.trials.iter().map(failures).sum::<usize>();
    }
    println!("{}", if failed == 0 { "accepted".to_owned() } else { format!("not accepted: {failed} demands not met") });
    ExitCode::from(u8::from(failed != 0))
}

/// Makes a trial and prints a line per demand; returns how many were not met. Whether the link is what it should be is
/// measured before the traffic begins, so a run made again for that is not chosen by its outcome.
fn failures(trial: &Trial) -> usize {
    let mut attempt = 1;
    loop {
        let verdicts = match verdicts(trial) {
            Ok(verdicts) => verdicts,
            Err(reason) => {
                println!("FAIL  {reason}");
                return match trial {
                    Trial::Run(run) => run.demands.len(),
                    Trial::Twin(_) => 1,
                    Trial::Queue(queue) => queue.demands.len(),
                };
            }
        };
        if attempt < ATTEMPTS && verdicts.iter().any(|verdict| verdict.is_void) {
            println!("void  the emulator did not hold its rate, delay or loss; once more");
            attempt += 1;
            continue;
        }
        verdicts.iter().for_each(|verdict| println!("{verdict}"));
        return verdicts.iter().filter(|verdict| !verdict.passed).count();
    }
}

fn verdicts(trial: &Trial) -> Result<Vec<Verdict>, String> {
    match trial {
        Trial::Run(run) => {
            let summary = summary(&run.arguments)?;
            Ok(run.demands.iter().map(|demand| judge::judge(demand, &summary)).collect())
        }
        Trial::Queue(trial) => {
            let summary = summary(&trial.arguments)?;
            let judge = |demand| queue::judge(demand, trial.controller, trial.case, &summary);
            Ok(trial.demands.iter().map(judge).collect())
        }
        Trial::Twin(twin) => {
            let simulated = summary(&twin.simulated)?;
            Ok(vec![gain::judge(&twin.gain, &summary(&twin.live)?, &simulated)])
        }
    }
}

fn summary(arguments: &[String]) -> Result<Value, String> {
    println!("airtcp {}", arguments.join(" "));
    command::summary(arguments)
}
