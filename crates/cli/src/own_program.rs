//! The program that runs, to be started again.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The kernel's name for it.
const RUNNING: &str = "/proc/self/exe";

/// By its path, by which lists of processes name it; by another name if a build has removed it.
///
/// # Errors
/// `/proc` is not mounted.
pub(crate) fn own_program() -> io::Result<PathBuf> {
    Ok(what_runs(&std::env::current_exe()?))
}

/// The same for a program that was at `path` when it started, also if another one was installed there since.
pub(crate) fn what_runs(path: &Path) -> PathBuf {
    let file = |path: &Path| path.metadata().map(|found| (found.dev(), found.ino())).ok();
    match (file(path), file(Path::new(RUNNING))) {
        (installed, Some(running)) if installed != Some(running) => RUNNING.into(),
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// A copy of this test is removed while it runs, and starts itself again.
    #[test]
    fn what_was_removed_can_be_started_again() {
        const ROLE: &str = "AIRTCP_TEST_OWN_PROGRAM";
        if airtcp_test_support::skip_emulated("the start of a program without a path") {
            return;
        }
        let start = |program: PathBuf, role: &str| {
            Command::new(program)
                .args(["--exact", "own_program::tests::what_was_removed_can_be_started_again"])
                .env(ROLE, role)
                .status()
        };
        match std::env::var(ROLE).as_deref() {
            Ok("again") => {}
            Ok(_) => {
                std::fs::remove_file(std::env::current_exe().unwrap()).unwrap();
                assert!(start(own_program().unwrap(), "again").unwrap().success());
                // Another one is there now.
                let (path, other) = (std::env::current_exe().unwrap(), Path::new("/bin/false"));
                assert_eq!([what_runs(&path), what_runs(other)], [Path::new(RUNNING); 2]);
                assert!(start(what_runs(other), "again").unwrap().success());
            }
            Err(_) => {
                let path = std::env::current_exe().unwrap();
                assert_eq!(what_runs(&path), path);
                let copy = std::env::temp_dir().join(format!("airtcp-own-program-{}", std::process::id()));
                std::fs::copy(std::env::current_exe().unwrap(), &copy).unwrap();
                assert!(start(copy.clone(), "removed").unwrap().success());
                assert!(!copy.exists());
            }
        }
    }
}
