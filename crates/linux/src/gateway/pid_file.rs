//! The file that tells whom to stop: it is locked as long as its gateway runs.

use super::config::Config;
use crate::sys::directory::PrivateDirectory;
use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// One that this process holds; removed at the end.
pub struct PidFile {
    /// Where it is.
    pub directory: PrivateDirectory,
    name: String,
    /// Why it tells nothing, if it does not.
    pub unwritten: Option<String>,
    /// Holds the lock, also where somebody removed the file.
    _file: File,
}

impl PidFile {
    /// That of a gateway; `None` if another gateway of this name runs.
    ///
    /// # Errors
    /// The run directory cannot be used.
    pub fn lock(config: &Config) -> io::Result<Option<PidFile>> {
        let directory = PrivateDirectory::open(&config.run_directory)?;
        let name = config.pid_name();
        let mut options = File::options();
        options.write(true).create(true).truncate(false).custom_flags(libc::O_NOFOLLOW);
        let mut file = options.open(directory.file(&name))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        // A full disk is no reason not to repair packets.
        let written = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
        let unwritten =
            written.err().map(|error| format!("{} has no process id: {error}", config.pid_path().display()));
        Ok(Some(PidFile { directory, name, unwritten, _file: file }))
    }
}

impl Drop for PidFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(self.directory.file(&self.name));
    }
}

/// The process that runs the gateway `name`; `None` if none does.
pub fn supervisor(run_directory: &Path, name: &str) -> Option<u32> {
    let path = run_directory.join(format!("{name}.pid"));
    let file = File::open(&path).ok()?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => std::fs::read_to_string(&path).ok()?.trim().parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_tells_who_runs_as_long_as_that_runs() {
        let run_directory = std::env::temp_dir().join(format!("airtcp-pid-{}", std::process::id()));
        let config = Config { run_directory: run_directory.clone(), ..Config::new("gsnoop", "air") };
        let held = PidFile::lock(&config).unwrap().expect("nobody else holds it");
        assert!(PidFile::lock(&config).unwrap().is_none());
        let known = ["air", "other"].map(|name| supervisor(&run_directory, name));
        assert_eq!(known, [Some(std::process::id()), None]);
        drop(held);
        // One that was killed leaves it.
        std::fs::write(config.pid_path(), "4711\n").unwrap();
        assert_eq!(supervisor(&run_directory, "air"), None);
        std::fs::remove_dir_all(&run_directory).unwrap();
    }
}
