//! Asking a daemon of this machine to read its file again or to go on as a new program, and hearing what became of that.

use super::config::socket_name;
use super::reload::Reloads;
use super::status::ask;
use crate::sys::{clock, process};
use airtcp_core::Duration;
use serde::Deserialize;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// A new program is checked first, and may take 20 s; a new worker has to start, may take 10 s, and may fail.
const PATIENCE: Duration = Duration::from_secs(60);
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
    let pid = supervisor(&run_directory.join(format!("{name}.pid"))).or(before.as_ref().map(|told| told.pid));
    let pid = pid.ok_or_else(|| nobody(run_directory, name))?;
    process::send_signal(pid, libc::SIGHUP).map_err(|source| RequestError::Signal { pid, source })?;
    let asked = before.map_or(0, |told| told.reloads.asked);
    hear(run_directory, name, |told| (told.reloads.asked > asked).then_some(told.reloads))
}

/// Asks the gateway `name` to go on as the program that is installed now, and waits until that works: the process id of its
/// worker then. `Err` inside if it refuses.
///
/// # Errors
/// Why nothing is known of it.
pub fn ask_upgrade(run_directory: &Path, name: &str) -> Result<Result<u32, String>, RequestError> {
    let before = told(run_directory, name);
    let Some(pid) = supervisor(&run_directory.join(format!("{name}.pid"))) else {
        return Err(match before {
            Some(_) => RequestError::Forwarder(name.to_owned()),
            None => nobody(run_directory, name),
        });
    };
    process::send_signal(pid, libc::SIGUSR2).map_err(|source| RequestError::Signal { pid, source })?;
    let (worker, refused) = before.map_or((0, 0), |told| (told.pid, told.reloads.refused));
    hear(run_directory, name, |told| {
        if told.reloads.refused > refused {
            return Some(Err(told.reloads.last));
        }
        // A daemon that begins counts restarts and reloads from nothing.
        let is_first = told.restarts == 0 && told.reloads.asked == 0;
        (is_first && told.pid != worker).then_some(Ok(told.pid))
    })
}

fn told(run_directory: &Path, name: &str) -> Option<Told> {
    ask(run_directory, name, "status").ok().and_then(|text| serde_json::from_str(&text).ok())
}

fn nobody(run_directory: &Path, name: &str) -> RequestError {
    RequestError::Nobody { name: name.to_owned(), path: run_directory.join(socket_name(name)) }
}

/// Asks for the status until it has what is waited for.
fn hear<T>(run_directory: &Path, name: &str, wanted: impl Fn(Told) -> Option<T>) -> Result<T, RequestError> {
    let end = clock::now() + PATIENCE;
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
    let of_gateway = |name: &String| supervisor(&run_directory.join(format!("{name}.pid"))) == Some(pid);
    let of_forwarder = |name: &String| told(run_directory, name).is_some_and(|told| told.pid == pid);
    let files = std::fs::read_dir(run_directory).into_iter().flatten().flatten();
    let stem = |file: std::fs::DirEntry| Path::new(&file.file_name()).file_stem()?.to_str().map(str::to_owned);
    let names: Vec<String> = files.filter_map(stem).collect();
    names.iter().find(|name| of_gateway(name)).or_else(|| names.iter().find(|name| of_forwarder(name))).cloned()
}

/// The process that holds the lock of a pid file; `None` if none does.
fn supervisor(path: &Path) -> Option<u32> {
    let file = File::open(path).ok()?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => std::fs::read_to_string(path).ok()?.trim().parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pid_file_that_nobody_holds_names_nobody() {
        let path = std::env::temp_dir().join(format!("airtcp-pid-{}", std::process::id()));
        std::fs::write(&path, "4711\n").unwrap();
        assert_eq!(supervisor(&path), None);
        let holder = File::open(&path).unwrap();
        holder.lock().unwrap();
        assert_eq!(supervisor(&path), Some(4711));
        let directory = path.with_extension("directory");
        std::fs::create_dir(&directory).unwrap();
        std::fs::rename(&path, directory.join("air.pid")).unwrap();
        assert_eq!(name_of(&directory, 4711).as_deref(), Some("air"));
        assert_eq!(name_of(&directory, 4712), None);
        drop(holder);
        assert_eq!(name_of(&directory, 4711), None);
        std::fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn who_does_not_run_is_named_and_where_it_was_looked_for() {
        let error = ask_reload(Path::new("/nonexistent"), "wlan0").unwrap_err().to_string();
        assert!(error.contains("'wlan0'") && error.contains("/nonexistent/wlan0.sock"), "{error}");
    }
}
