//! Which testbeds exist, who owns them, and removing those whose owner is dead.
//!
//! A testbed enters itself under [`RUN_DIR`] before it makes anything, with the process id and
//! start time of its owner; all its namespaces carry its run id in their names. A start time
//! tells a living owner from another process that got the same id later. Only namespaces named
//! by a registered dead run are removed, with the processes in them.

use super::TestbedError;
use super::ip;
use crate::sys::netns::{NAMED, sysctl_path};
use crate::sys::process;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

/// Where testbeds are registered.
pub const RUN_DIR: &str = "/run/airtcp/testbed";

/// First part of the name of every namespace of ours.
const PREFIX: &str = "airtcp-";

/// Testbeds of this process, for taking them down on a signal.
static OWN: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// A testbed's entry; dropping it removes its namespaces and then the entry.
#[derive(Debug)]
pub(super) struct Registration {
    run_id: String,
    prefix: String,
}

impl Registration {
    /// Enters a new run of this process and makes a namespace for each node.
    ///
    /// Both happen under the lock that [`remove_own`] takes too: a signal finds either nothing
    /// of this run or all of it.
    pub fn new<'a>(nodes: impl Iterator<Item = &'a str>) -> Result<Self, TestbedError> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let pid = std::process::id();
        let run_id = format!("{pid}-{}", COUNT.fetch_add(1, Ordering::Relaxed));
        let start = start_time(pid).ok_or_else(|| TestbedError::Unavailable("/proc is not mounted".into()))?;
        let directory = entry_of(&run_id);
        let action = || TestbedError::io(format!("write {}", directory.display()));
        let lock = Lock::take()?;
        fs::create_dir_all(&directory).map_err(action())?;
        fs::write(directory.join("owner"), format!("{pid} {start}\n")).map_err(action())?;
        OWN.lock().unwrap_or_else(|poison| poison.into_inner()).push(run_id.clone());
        let registration = Registration { prefix: prefix_of(&run_id), run_id };
        let names = nodes.map(|node| registration.namespace_name(node));
        ip::batch_under(&lock.0, &names.map(|name| format!("netns add {name}")).collect::<Vec<_>>())?;
        Ok(registration)
    }

    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The name of a node's namespace.
    pub fn namespace_name(&self, node: &str) -> String {
        format!("{}{node}", self.prefix)
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        if let Err(error) = remove_run(&self.run_id) {
            tracing::warn!("testbed {} not removed, the next start will: {error}", self.run_id);
        }
        OWN.lock().unwrap_or_else(|poison| poison.into_inner()).retain(|id| *id != self.run_id);
    }
}

/// Takes down the testbeds of this process, without their owners' help, and lets it make no new
/// ones: it is about to end.
pub(super) fn remove_own() {
    // Without the lock there is still more to gain than to lose by going on.
    let lock = Lock::take();
    std::mem::forget(lock);
    let own = OWN.lock().map(|mut own| std::mem::take(&mut *own)).unwrap_or_default();
    for run_id in own {
        if let Err(error) = remove_run(&run_id) {
            tracing::warn!("testbed {run_id} not removed, the next start will: {error}");
        }
    }
}

/// Removes everything that runs whose owner is dead have left: namespaces, the processes in
/// them, registry entries, an extended list of congestion controllers. Returns how many runs
/// were removed.
pub fn remove_leftovers() -> Result<usize, TestbedError> {
    let _lock = Lock::take()?;
    AllowedList::put_back_left_over()?;
    let Ok(entries) = fs::read_dir(RUN_DIR) else { return Ok(0) };
    let mut removed = 0;
    for entry in entries.flatten().filter(|entry| entry.path().is_dir()) {
        let run_id = entry.file_name().to_string_lossy().into_owned();
        if !owner_lives(&entry.path()) {
            tracing::info!("removing what the killed run {run_id} left");
            remove_run(&run_id)?;
            removed += 1;
        }
    }
    Ok(removed)
}

fn entry_of(run_id: &str) -> PathBuf {
    Path::new(RUN_DIR).join(run_id)
}

fn prefix_of(run_id: &str) -> String {
    format!("{PREFIX}{run_id}-")
}

fn remove_run(run_id: &str) -> Result<(), TestbedError> {
    let prefix = prefix_of(run_id);
    let names = namespaces_with(&prefix);
    for name in &names {
        kill_processes_in(name);
    }
    let commands: Vec<String> = names.iter().map(|name| format!("netns del {name}")).collect();
    ip::batch_all(&commands)?;
    match fs::remove_dir_all(entry_of(run_id)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(TestbedError::io(format!("remove the entry of run {run_id}"))(error))
        }
        _ => Ok(()),
    }
}

fn namespaces_with(prefix: &str) -> Vec<String> {
    let Ok(entries) = fs::read_dir(NAMED) else { return Vec::new() };
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with(prefix)).collect()
}

/// A namespace lives as long as a process is in it, named or not. Those in a testbed's were
/// started by its owner or by what its owner started.
fn kill_processes_in(name: &str) {
    let Ok(namespace) = fs::metadata(Path::new(NAMED).join(name)) else { return };
    let link = format!("net:[{}]", namespace.ino());
    let Ok(processes) = fs::read_dir("/proc") else { return };
    for process in processes.flatten() {
        let Some(pid) = process.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        let inside = fs::read_link(process.path().join("ns/net"));
        if pid != std::process::id() && inside.is_ok_and(|inside| inside.as_os_str() == &*link) {
            // It may have ended by itself just now.
            let _ = process::send_signal(pid, libc::SIGKILL);
        }
    }
}

fn owner_lives(entry: &Path) -> bool {
    let owner = fs::read_to_string(entry.join("owner")).unwrap_or_default();
    let mut words = owner.split_whitespace();
    let pid = words.next().and_then(|word| word.parse::<u32>().ok());
    let start = words.next().and_then(|word| word.parse::<u64>().ok());
    match (pid, start) {
        (Some(pid), Some(start)) => start_time(pid) == Some(start),
        // The lock is held from making the directory to writing the file: this one's writer died.
        _ => false,
    }
}

/// When a process started, in clock ticks since boot (proc(5), field 22); `None` if it is gone
/// or only a zombie.
fn start_time(pid: u32) -> Option<u64> {
    parse_start_time(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

fn parse_start_time(stat: &str) -> Option<u64> {
    // The name in parentheses may hold anything, also ") 1 2".
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    if state == "Z" || state == "X" {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

/// Held while the registry or a setting of the root namespace changes.
#[derive(Debug)]
pub(super) struct Lock(File);

impl Lock {
    pub fn take() -> Result<Self, TestbedError> {
        let path = Path::new(RUN_DIR).with_extension("lock");
        let open = || -> io::Result<File> {
            fs::create_dir_all(RUN_DIR)?;
            let file = File::options().create(true).truncate(false).write(true).open(&path)?;
            file.lock()?;
            Ok(file)
        };
        open().map(Lock).map_err(TestbedError::io(format!("lock {}", path.display())))
    }
}

/// The root namespace's list of congestion controllers for everybody, extended for a moment.
#[derive(Debug)]
pub(super) struct AllowedList {
    before: String,
}

const ALLOWED: &str = "net/ipv4/tcp_allowed_congestion_control";

impl AllowedList {
    fn saved() -> PathBuf {
        Path::new(RUN_DIR).join("allowed-before")
    }

    /// Adds `controller`; the list as it was is on disk first.
    pub fn extend(controller: &str) -> io::Result<Self> {
        let before = fs::read_to_string(sysctl_path(ALLOWED))?.trim().to_string();
        fs::write(Self::saved(), &before)?;
        let list = AllowedList { before };
        if let Err(error) = fs::write(sysctl_path(ALLOWED), format!("{} {controller}", list.before)) {
            fs::remove_file(Self::saved())?;
            return Err(error);
        }
        Ok(list)
    }

    pub fn put_back(self) -> Result<(), TestbedError> {
        Self::write_back(&self.before)
    }

    fn put_back_left_over() -> Result<(), TestbedError> {
        match fs::read_to_string(Self::saved()) {
            Ok(before) if !before.is_empty() => Self::write_back(&before),
            _ => Ok(()),
        }
    }

    fn write_back(before: &str) -> Result<(), TestbedError> {
        fs::write(sysctl_path(ALLOWED), before)
            .and_then(|()| fs::remove_file(Self::saved()))
            .map_err(TestbedError::io("put net.ipv4.tcp_allowed_congestion_control back"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_lives_and_its_start_time_is_stable() {
        let pid = std::process::id();
        assert!(start_time(pid).is_some());
        assert_eq!(start_time(pid), start_time(pid));
    }

    #[test]
    fn a_strange_process_name_does_not_confuse_the_fields() {
        let stat = "7 (a) Z (b) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4242 20";
        assert_eq!(parse_start_time(stat), Some(4242));
        assert_eq!(parse_start_time("7 (a) Z 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4242"), None);
        assert_eq!(parse_start_time("rubbish"), None);
    }
}
