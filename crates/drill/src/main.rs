//! `airtcp-drill FILE…`: plays scripts against our TCP, and with `--kernel` against Linux's, too.

use airtcp_drill::{Kernel, Ours, Script, play};
use anyhow::Context;
use clap::Parser;
use std::path::{Path, PathBuf};
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
    let mut failed = 0;
    let scripts = scripts(&arguments.paths)?;
    for path in &scripts {
        let problems = play_file(path, arguments.kernel)?;
        failed += usize::from(!problems.is_empty());
        println!("{}  {}", if problems.is_empty() { "PASS" } else { "FAIL" }, path.display());
        problems.iter().for_each(|problem| println!("      {problem}"));
    }
    println!("{} of {} scripts", scripts.len() - failed, scripts.len());
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn scripts(paths: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for path in paths {
        if path.is_dir() {
            let entries = std::fs::read_dir(path).with_context(|| format!("cannot read {}", path.display()))?;
            let entries = entries.collect::<Result<Vec<_>, _>>()?;
            found.extend(entries.iter().map(std::fs::DirEntry::path).filter(|path| is_script(path)));
        } else {
            found.push(path.clone());
        }
    }
    found.sort();
    Ok(found)
}

fn is_script(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "pkt")
}

fn play_file(path: &Path, kernel: bool) -> anyhow::Result<Vec<String>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let script = Script::parse(&text).map_err(|error| anyhow::anyhow!("{}:{error}", path.display()))?;
    let mut problems = Vec::new();
    problems.extend(play(&script, &mut Ours::new(&script)).err().map(|difference| difference.to_string()));
    if kernel {
        let mut kernel = Kernel::new(&script)?;
        problems.extend(play(&script, &mut kernel).err().map(|difference| difference.to_string()));
    }
    Ok(problems)
}
