//! Asking a daemon of this machine to read its file again, and hearing what became of that.

use super::config::socket_name;
use super::reload::Reloads;
use super::status::ask;
use crate::sys::{clock, process};
use airtcp_core::Duration;
use serde::Deserialize;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// A new worker has to start, and may fail.
const PATIENCE: Duration = Duration::from_secs(25);
/// Between two looks.
const LOOK: std::time::Duration = std::time::Duration::from_millis(50);

/// Why nothing is known to have become of it.
#[derive(Debug, thiserror::Error)]
pub enum ReloadError {
    /// There is nobody to ask.
    #[error("no gateway or forwarder named '{name}' runs here ({path} has none); `airtcp status` lists them")]
    Nobody {
        /// Who was asked for.
        name: String,
        /// Where.
        path: PathBuf,
    },
    /// It could not be asked.
    #[error("process {pid} cannot be told to reload: {source}; run this as the user that runs it (sudo)")]
    Signal {
        /// Which.
        pid: u32,
        /// What the system says.
        source: io::Error,
    },
    /// It says nothing.
    #[error(
        "'{0}' was asked to reload and tells nothing of it yet, as no worker of it runs: its log says what became of it"
    )]
    NoAnswer(String),
}

/// What of a status matters here.
#[derive(Deserialize)]
struct Told {
    pid: u32,
    #[serde(default)]
    reloads: Reloads,
}

/// Asks the daemon `name`, and waits for what becomes of it.
///
/// # Errors
/// Why nothing is known of it.
pub fn ask_reload(run_directory: &Path, name: &str) -> Result<Reloads, ReloadError> {
    let told = || ask(run_directory, name, "status").ok().and_then(|text| serde_json::from_str::<Told>(&text).ok());
    let before = told();
    // A gateway's status is its worker's.
    let pid = supervisor(&run_directory.join(format!("{name}.pid"))).or(before.as_ref().map(|told| told.pid));
    let path = run_directory.join(socket_name(name));
    let pid = pid.ok_or_else(|| ReloadError::Nobody { name: name.to_owned(), path })?;
    process::send_signal(pid, libc::SIGHUP).map_err(|source| ReloadError::Signal { pid, source })?;
    let asked = before.map_or(0, |told| told.reloads.asked);
    let end = clock::now() + PATIENCE;
    while clock::now() < end {
        std::thread::sleep(LOOK);
        if let Some(told) = told().filter(|told| told.reloads.asked > asked) {
            return Ok(told.reloads);
        }
    }
    Err(ReloadError::NoAnswer(name.to_owned()))
}

/// The name of the daemon whose process this is: a gateway's supervisor, or a forwarder.
pub fn name_of(run_directory: &Path, pid: u32) -> Option<String> {
    let of_gateway = |name: &String| supervisor(&run_directory.join(format!("{name}.pid"))) == Some(pid);
    let of_forwarder = |name: &String| {
        let told = ask(run_directory, name, "status").ok();
        told.and_then(|text| serde_json::from_str::<Told>(&text).ok()).is_some_and(|told| told.pid == pid)
    };
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
