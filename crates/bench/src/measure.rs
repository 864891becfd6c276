//! What a program costs: it is run as the only child of a process made for that, so that the kernel's account of
//! children is its own.

use anyhow::{Context, ensure};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

/// One run of a simulator.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// CPU seconds, user and system.
    pub cpu: f64,
    /// Most memory, bytes.
    pub memory: u64,
    /// Data packets that senders sent.
    pub packets: f64,
    /// Bytes that arrived.
    pub bytes: f64,
    /// Events, where the program says so.
    pub events: Option<f64>,
}

/// Runs a command, passes its output on and adds a line with CPU microseconds and memory in KiB.
pub fn as_only_child(command: &[String]) -> anyhow::Result<ExitCode> {
    let status = Command::new(&command[0]).args(&command[1..]).stdin(Stdio::null()).status();
    let status = status.with_context(|| format!("cannot run {}", command[0]))?;
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let cpu = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    println!("{cpu} {}", usage.max_rss());
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs `program` with `arguments`, which prints data packets, bytes and maybe events.
pub fn run(program: &Path, arguments: &[String]) -> anyhow::Result<Cost> {
    let lines = numbers_printed(program, arguments)?;
    let [.., result, cost] = &lines[..] else { anyhow::bail!("{} printed too little", program.display()) };
    ensure!(cost.len() == 2, "{} printed something else", program.display());
    Ok(Cost {
        cpu: cost[0] / 1e6,
        memory: cost[1] as u64 * 1024,
        packets: result[0],
        bytes: result[1],
        events: result.get(2).copied(),
    })
}

/// CPU seconds of a run.
pub fn cpu(program: &Path, arguments: &[impl AsRef<OsStr>]) -> anyhow::Result<f64> {
    let lines = numbers_printed(program, arguments)?;
    let cost = lines.last().with_context(|| format!("nothing is known of {}", program.display()))?;
    Ok(cost[0] / 1e6)
}

/// The lines of at least two numbers that a program prints, among others, and [`as_only_child`] behind them.
fn numbers_printed(program: &Path, arguments: &[impl AsRef<OsStr>]) -> anyhow::Result<Vec<Vec<f64>>> {
    let ours = std::env::current_exe()?;
    let output = Command::new(ours).arg("measure").arg("--").arg(program).args(arguments).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let failure = || format!("{} failed: {}{text}", program.display(), String::from_utf8_lossy(&output.stderr));
    ensure!(output.status.success(), failure());
    let numbers = |line: &str| line.split_whitespace().map(str::parse).collect::<Result<Vec<f64>, _>>().ok();
    Ok(text.lines().filter_map(numbers).filter(|line| line.len() >= 2).collect())
}

/// Instructions of a run, as valgrind counts them; `None` without valgrind.
pub fn instructions(program: &Path, arguments: &[String]) -> Option<f64> {
    let output = Command::new("valgrind")
        .args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"])
        .arg(program)
        .args(arguments)
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().find(|line| line.contains("I refs:") || line.contains("I   refs:"))?;
    line.rsplit(' ').next()?.replace(',', "").parse().ok()
}
