//! Asking a daemon of this machine to read its file again or to go on as a new program, and hearing what became of that.

use super::config::socket_name;
use super::pid_file::supervisor;
use super::reload::Reloads;
use super::status::ask;
use crate::sys::{clock, process};
use airtcp_core::Duration;
use serde::Deserialize;
use std::io;
use std::path::{Path, PathBuf};

/// A new program is checked first, and may take 20 s; a new worker has to start, may take 10 s, and may fail.
const PATIENCE: Duration = Duration::from_secs(60);
/// The same where no worker runs that could tell: one that was killed is there again by then.
const PATIENCE_WITHOUT_WORKER: Duration = Duration::from_secs(5);
/// Between two looks.
const LOOK: std::time::Duration = std::time::Duration::from_millis(50);

/// Why nothing is known to have become of it.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// There is nobody to ask.
    #[error("no gateway or forwarder named '{name}' runs here ({path} has none); `airtcp status` lists them")]
    Nobody {
        /// Who was asked for.
        name: String,
        /// Where.
        path: PathBuf,
    },
    /// It could not be asked.
    #[error("process {pid} cannot be told: {source}; run this as the user that runs it (sudo)")]
    Signal {
        /// Which.
        pid: u32,
        /// What the system says.
        source: io::Error,
    },
    /// It says nothing.
    #[error("'{0}' was asked and tells nothing of it yet, as no worker of it runs: its log says what became of it")]
    NoAnswer(String),
    /// It is a forwarder.
    #[error("'{0}' is a forwarder, in whose process connections end: stop and start it when they may break")]
    Forwarder(String),
}

/// What of a status matters here.
#[derive(Deserialize)]
struct Told {
    pid: u32,
    /// Only of a gateway.
    #[serde(default)]
    restarts: u64,
    #[serde(default)]
    reloads: Reloads,
}

/// Asks the daemon `name` to read its file again, and waits for what becomes of it.
///
/// # Errors
/// Why nothing is known of it.
pub fn ask_reload(run_directory: &Path, name: &str) -> Result<Reloads, RequestError> {
    let before = told(run_directory, name);
    // A gateway's status is its worker's.
    let pid = supervisor(run_directory, name).or(before.as_ref().map(|told| told.pid));
    let pid = pid.ok_or_else(|| nobody(run_directory, name))?;
    process::send_signal(pid, libc::SIGHUP).map_err(|source| RequestError::Signal { pid, source })?;
    let patience = patience(before.as_ref());
    let asked = before.map_or(0, |told| told.reloads.asked);
    hear(run_directory, name, patience, |told| (told.reloads.asked > asked).then_some(told.reloads))
}

/// Asks the gateway `name` to go on as the program that is installed now, and waits until that works: the process id of its
/// worker then. `Err` inside if it refuses.
///
/// # Errors
/// Why nothing is known of it.
pub fn ask_upgrade(run_directory: &Path, name: &str) -> Result<Result<u32, String>, RequestError> {
    let before = told(run_directory, name);
    let Some(pid) = supervisor(run_directory, name) else {
        return Err(match before {
            Some(_) => RequestError::Forwarder(name.to_owned()),
            None => nobody(run_directory, name),
        });
    };
    process::send_signal(pid, libc::SIGUSR2).map_err(|source| RequestError::Signal { pid, source })?;
    let patience = patience(before.as_ref());
    let (worker, refused) = before.map_or((0, 0), |told| (told.pid, told.reloads.refused));
    hear(run_directory, name, patience, |told| {
        // A daemon that begins counts restarts from nothing, and may have reloaded already.
        if told.restarts == 0 && told.pid != worker {
            return Some(Ok(told.pid));
        }
        (told.reloads.refused > refused).then_some(Err(told.reloads.last))
    })
}

fn told(run_directory: &Path, name: &str) -> Option<Told> {
    ask(run_directory, name, "status").ok().and_then(|text| serde_json::from_str(&text).ok())
}

fn patience(before: Option<&Told>) -> Duration {
    if before.is_some() { PATIENCE } else { PATIENCE_WITHOUT_WORKER }
}

fn nobody(run_directory: &Path, name: &str) -> RequestError {
    RequestError::Nobody { name: name.to_owned(), path: run_directory.join(socket_name(name)) }
}

/// Asks for the status until it has what is waited for.
fn hear<T>(
    run_directory: &Path,
    name: &str,
    patience: Duration,
    wanted: impl Fn(Told) -> Option<T>,
) -> Result<T, RequestError> {
    let end = clock::now() + patience;
    while clock::now() < end {
        std::thread::sleep(LOOK);
        if let Some(answer) = told(run_directory, name).and_then(&wanted) {
            return Ok(answer);
        }
    }
    Err(RequestError::NoAnswer(name.to_owned()))
}

/// The name of the daemon whose process this is: a gateway's supervisor, or a forwarder.
pub fn name_of(run_directory: &Path, pid: u32) -> Option<String> {
    let of_gateway = |name: &String| supervisor(run_directory, name) == Some(pid);
    let of_forwarder = |name: &String| told(run_directory, name).is_some_and(|told| told.pid == pid);
    let files = std::fs::read_dir(run_directory).into_iter().flatten().flatten();
    let stem = |file: std::fs::DirEntry| Path::new(&file.file_name()).file_stem()?.to_str().map(str::to_owned);
    let names: Vec<String> = files.filter_map(stem).collect();
    names.iter().find(|name| of_gateway(name)).or_else(|| names.iter().find(|name| of_forwarder(name))).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::config::Config;
    use crate::gateway::pid_file::PidFile;

    #[test]
    fn a_gateway_is_known_by_its_process() {
        let run_directory = std::env::temp_dir().join(format!("airtcp-requests-{}", std::process::id()));
        let config = Config { run_directory: run_directory.clone(), ..Config::new("gsnoop", "air") };
        let held = PidFile::lock(&config).unwrap();
        let own = std::process::id();
        assert_eq!([own, own + 1].map(|pid| name_of(&run_directory, pid)), [Some("air".to_owned()), None]);
        drop(held);
        assert_eq!(name_of(&run_directory, own), None);
        std::fs::remove_dir_all(&run_directory).unwrap();
    }

    #[test]
    fn who_does_not_run_is_named_and_where_it_was_looked_for() {
        let error = ask_reload(Path::new("/nonexistent"), "wlan0").unwrap_err().to_string();
        assert!(error.contains("'wlan0'") && error.contains("/nonexistent/wlan0.sock"), "{error}");
    }
}
