//! `manifest.json`: by whom and on what the results were made.

use airtcp_experiment::results::METHOD;
use serde_json::{Value, json};
use std::time::{Duration, UNIX_EPOCH};

/// Revision of the checkout this was built from, with `-modified` if files were changed since; or `unknown`.
const REVISION: &str = env!("AIRTCP_REVISION");

/// The part of the manifest that describes the run itself.
pub(crate) struct Work<'a> {
    /// `simulator` or `live`.
    pub(crate) world: &'a str,
    /// Threads of the simulator.
    pub(crate) threads: usize,
    /// Runs that an interrupted process had done before.
    pub(crate) resumed_runs: usize,
    /// How long this process took.
    pub(crate) wall: Duration,
}

#[expect(clippy::disallowed_methods, reason = "tells the user how long a run took; nothing simulated sees it")]
pub(crate) fn wall_clock() -> std::time::Instant {
    std::time::Instant::now()
}

/// The manifest of a run.
pub(crate) fn manifest(work: &Work<'_>) -> Value {
    json!({
        "schema": "airtcp.manifest/1",
        "version": env!("CARGO_PKG_VERSION"),
        "revision": REVISION,
        "world": work.world,
        "command": std::env::args().collect::<Vec<_>>(),
        "threads": work.threads,
        "resumed_runs": work.resumed_runs,
        "wall_seconds": work.wall.as_secs_f64(),
        "interval": METHOD,
        "machine": {
            "system": std::env::consts::OS,
            "architecture": std::env::consts::ARCH,
            "kernel": kernel(),
            "cpu": processor(),
            "cpus": threads_available(),
        },
    })
}

/// Tells this program from any other that might give other results: the same source built anew counts as another.
pub(crate) fn build() -> String {
    let program = std::env::current_exe().and_then(std::fs::metadata);
    let written = program.as_ref().ok().and_then(|program| program.modified().ok()?.duration_since(UNIX_EPOCH).ok());
    let (size, written) = (program.map_or(0, |program| program.len()), written.unwrap_or_default().as_nanos());
    format!("{} {REVISION} {size} {written}", env!("CARGO_PKG_VERSION"))
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
