//! `airtcp-drill FILE…`: plays scripts against our TCP, and with `--kernel` against Linux's, too.

use airtcp_drill::{Difference, Ours, Script, collection, play};
use clap::Parser;
use std::path::PathBuf;
use std::process::ExitCode;

/// Plays drill scripts (docs/drills.md).
#[derive(Parser)]
struct Arguments {
    /// Scripts, or directories of them.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Also against the kernel's TCP (root).
    #[arg(long)]
    kernel: bool,
}

fn main() -> anyhow::Result<ExitCode> {
    let arguments = Arguments::parse();
    let (mut played, mut failed) = (0, 0);
    for path in &arguments.paths {
        for (path, script) in collection::read(path)? {
            let differences = differences(&script, arguments.kernel)?;
            played += 1;
            failed += usize::from(!differences.is_empty());
            println!("{}  {}", if differences.is_empty() { "PASS" } else { "FAIL" }, path.display());
            differences.iter().for_each(|difference| println!("      {difference}"));
        }
    }
    println!("{} of {played} scripts", played - failed);
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn differences(script: &Script, kernel: bool) -> anyhow::Result<Vec<Difference>> {
    let ours = play(script, &mut Ours::new(script)).err();
    let kernels = if kernel { collection::play_on_kernel(script)? } else { None };
    Ok(ours.into_iter().chain(kernels).collect())
}
