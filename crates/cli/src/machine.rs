//! `manifest.json`: by whom and on what the results were made.

use serde_json::{Value, json};

/// The manifest of a run.
pub(crate) fn manifest(world: &str, threads: usize, wall: std::time::Duration) -> Value {
    json!({
        "schema": "airtcp.manifest/1",
        "version": env!("CARGO_PKG_VERSION"),
        "world": world,
        "command": std::env::args().collect::<Vec<_>>(),
        "threads": threads,
        "wall_seconds": wall.as_secs_f64(),
        "machine": {
            "system": std::env::consts::OS,
            "architecture": std::env::consts::ARCH,
            "kernel": kernel(),
            "cpu": processor(),
            "cpus": threads_available(),
        },
    })
}

/// How many threads this process may use.
pub(crate) fn threads_available() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

fn kernel() -> Option<String> {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").ok()?;
    Some(format!("Linux {}", release.trim()))
}

fn processor() -> Option<String> {
    let info = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = info.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}
