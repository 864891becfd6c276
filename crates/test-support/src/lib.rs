//! What tests of several crates need. Nothing in the product depends on this crate.
#![forbid(unsafe_code)]

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard};

/// Tells why the test that calls this does not run: printed, and a line in the file that `AIRTCP_SKIP_LOG` names, which
/// `make test` counts.
///
/// # Panics
/// The file cannot be written.
pub fn skip(reason: &str) {
    let test = this_test();
    println!("skipped: {test}: {reason}");
    if let Some(path) = std::env::var_os("AIRTCP_SKIP_LOG") {
        log_to(Path::new(&path), &test, reason);
    }
}

/// True where qemu-user runs this test, as `scripts/test-arm64` says.
pub fn is_emulated() -> bool {
    std::env::var_os("AIRTCP_QEMU_USER").is_some()
}

/// True, with the test told as skipped, where qemu-user runs it: of what a program asks the kernel for, that does not pass on `what`.
///
/// # Panics
/// As [`skip`].
pub fn skip_emulated(what: &str) -> bool {
    let is_emulated = is_emulated();
    if is_emulated {
        skip(&format!("qemu-user does not pass on {what}"));
    }
    is_emulated
}

fn log_to(path: &Path, test: &str, reason: &str) {
    let mut log = File::options().append(true).create(true).open(path).expect("AIRTCP_SKIP_LOG names a file");
    // In one write: other tests write beside it.
    log.write_all(format!("{test}: {reason}\n").as_bytes()).expect("AIRTCP_SKIP_LOG can be written");
}

/// The name of the test that calls this, with its modules: each runs in a thread of that name, also one at a time.
fn this_test() -> String {
    std::thread::current().name().unwrap_or("a test").to_owned()
}

/// Waits for the turn of a test that measures time: one after the other, also when cargo runs threads. `None`, with the reason
/// told, where it cannot run.
pub fn turn(can_run: Result<(), String>) -> Option<MutexGuard<'static, ()>> {
    static TURN: Mutex<()> = Mutex::new(());
    match can_run {
        Ok(()) => Some(TURN.lock().unwrap_or_else(|poison| poison.into_inner())),
        Err(reason) => {
            skip(&reason);
            None
        }
    }
}

/// True for the long form of tests (`make test-long`).
pub fn is_long() -> bool {
    std::env::var_os("AIRTCP_TEST_LONG").is_some()
}

/// A Python that may have pandas, DuckDB and Dask: `AIRTCP_PYTHON`, else what `scripts/setup python` made, else the system's.
pub fn python() -> PathBuf {
    let made = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/venv/bin/python");
    match std::env::var_os("AIRTCP_PYTHON") {
        Some(path) => path.into(),
        None if made.exists() => made,
        None => "python3".into(),
    }
}

/// An empty directory of one test's own, gone at its end.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    /// `name` is for people who find it.
    ///
    /// # Panics
    /// It cannot be made.
    pub fn new(name: &str) -> Scratch {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let (process, number) = (std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(format!("airtcp-{name}-{process}-{number}"));
        // What a killed process of the same number left.
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a temporary directory");
        Scratch(path)
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Its path, for command lines.
    ///
    /// # Panics
    /// The system's temporary directory is not UTF-8.
    pub fn text(&self) -> &str {
        self.0.to_str().expect("UTF-8")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skipped_test_is_a_line_behind_those_of_others() {
        let scratch = Scratch::new("skip");
        let log = scratch.path().join("log");
        log_to(&log, "one", "no root");
        log_to(&log, "other", "no nft");
        assert_eq!(std::fs::read_to_string(log).unwrap(), "one: no root\nother: no nft\n");
    }

    #[test]
    fn a_test_knows_its_name() {
        assert_eq!(this_test(), "tests::a_test_knows_its_name");
    }

    #[test]
    fn two_directories_of_one_name_are_two_and_gone_at_the_end() {
        let (one, other) = (Scratch::new("two"), Scratch::new("two"));
        assert!(one.path().is_dir() && other.path().is_dir() && one.path() != other.path());
        let path = one.path().to_owned();
        std::fs::write(path.join("file"), "").unwrap();
        drop(one);
        assert!(!path.exists() && other.path().exists());
    }
}
