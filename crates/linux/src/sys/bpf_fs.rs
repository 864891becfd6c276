//! The BPF file system, whose files keep programs and maps in the kernel.

use nix::mount::{MsFlags, mount as mount_fs};
use nix::sys::statfs::{BPF_FS_MAGIC, statfs};
use std::io;

/// True if it is mounted at `path`.
pub fn is_mounted(path: &str) -> bool {
    statfs(path).is_ok_and(|found| found.filesystem_type() == BPF_FS_MAGIC)
}

/// Mounts it at `path`, an existing directory.
///
/// # Errors
/// The system's words.
pub fn mount(path: &str) -> io::Result<()> {
    Ok(mount_fs(Some("bpf"), path, Some("bpf"), MsFlags::empty(), None::<&str>)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_file_system_is_not_taken_for_it() {
        assert!(!is_mounted("/proc") && !is_mounted("/no/such/directory"));
        assert!(mount("/no/such/directory").is_err());
    }
}
