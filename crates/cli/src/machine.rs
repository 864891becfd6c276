//! `manifest.json`: by whom and on what the results were made.

use airtcp_experiment::results::METHOD;
use serde_json::{Value, json};
use std::fs::File;
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

/// Revision of the checkout this was built from, with `-modified` if files were changed since; or `unknown`.
const REVISION: &str = env!("AIRTCP_REVISION");

/// The part of the manifest that describes the run itself.
pub(crate) struct Work<'a> {
    /// `simulator` or `live`.
    pub(crate) world: &'a str,
    /// Threads of the simulator.
    pub(crate) threads: usize,
    /// Runs that an interrupted process had done before, or others of a sweep that several share.
    pub(crate) resumed_runs: usize,
    /// Every build that made runs, this one last.
    pub(crate) builds: &'a [String],
    /// How long this process took.
    pub(crate) wall: Duration,
    /// Of that, what all threads together spent in runs, where it was measured.
    pub(crate) in_runs: Option<Duration>,
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
        "builds": work.builds,
        "wall_seconds": work.wall.as_secs_f64(),
        "run_seconds": work.in_runs.map(|time| time.as_secs_f64()),
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

/// Tells this program from any other that might give other results, by what is in its file: a copy on another machine is
/// the same build.
pub(crate) fn build() -> String {
    let content = std::env::current_exe().and_then(|path| hash_of(&path));
    let content = content.map_or_else(|_| "unknown".to_owned(), |hash| format!("{hash:016x}"));
    format!("{} {REVISION} {content}", env!("CARGO_PKG_VERSION"))
}

fn hash_of(path: &Path) -> io::Result<u64> {
    let (mut file, mut hasher, mut part) = (File::open(path)?, DefaultHasher::new(), vec![0; 1 << 20]);
    loop {
        match file.read(&mut part)? {
            0 => return Ok(hasher.finish()),
            length => hasher.write(&part[..length]),
        }
    }
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
