//! The program that runs, to be started again.

use std::io;
use std::path::{Path, PathBuf};

/// The kernel's name for it.
const RUNNING: &str = "/proc/self/exe";

/// Its path now.
///
/// # Errors
/// `/proc` is not mounted.
pub(crate) fn own_program() -> io::Result<PathBuf> {
    Ok(or_what_runs(&std::env::current_exe()?))
}

/// `path`, if it is still there. A build may have removed it: what runs can then be started by another name.
fn or_what_runs(path: &Path) -> PathBuf {
    if path.exists() { path.to_owned() } else { RUNNING.into() }
}

/// The program of this process, also where another one was installed at its `path`.
pub(crate) fn what_runs(path: &Path) -> PathBuf {
    if Path::new(RUNNING).exists() { RUNNING.into() } else { path.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// A copy of this test is removed while it runs, and starts itself again.
    #[test]
    fn what_was_removed_can_be_started_again() {
        const ROLE: &str = "AIRTCP_TEST_OWN_PROGRAM";
        if airtcp_test_support::is_emulated("the start of a program without a path") {
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
                assert!(start(what_runs(&own_program().unwrap()), "again").unwrap().success());
            }
            Err(_) => {
                let copy = std::env::temp_dir().join(format!("airtcp-own-program-{}", std::process::id()));
                std::fs::copy(std::env::current_exe().unwrap(), &copy).unwrap();
                assert!(start(copy.clone(), "removed").unwrap().success());
                assert!(!copy.exists());
            }
        }
    }
}
