//! Whether the kernel can be asked here.

use airtcp_drill::Kernel;
use std::io::Write;

/// Says why not, if so, where `make test` looks for it.
pub fn can_run(test: &str) -> bool {
    let Err(reason) = Kernel::check_available() else { return true };
    eprintln!("skipped: {test}: {reason}");
    if let Some(path) = std::env::var_os("AIRTCP_SKIP_LOG") {
        let mut log = std::fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
        writeln!(log, "{test}: {reason}").unwrap();
    }
    false
}
