//! The BPF file system, whose files keep programs and maps in the kernel.

use std::ffi::CString;
use std::io;
use std::mem::MaybeUninit;

/// `BPF_FS_MAGIC` of linux/magic.h.
const MAGIC: u32 = 0xcafe_4a11;

/// True if it is mounted at `path`.
pub fn is_mounted(path: &str) -> bool {
    let Ok(path) = CString::new(path) else { return false };
    let mut found = MaybeUninit::<libc::statfs>::uninit();
    // SAFETY: the path ends with a zero and statfs writes a whole structure if it succeeds.
    let result = unsafe { libc::statfs(path.as_ptr(), found.as_mut_ptr()) };
    // SAFETY: it succeeded.
    result == 0 && unsafe { found.assume_init() }.f_type as u32 == MAGIC
}

/// Mounts it at `path`, an existing directory.
///
/// # Errors
/// The system's words.
pub fn mount(path: &str) -> io::Result<()> {
    let path = CString::new(path)?;
    let kind = c"bpf";
    // SAFETY: all three strings end with a zero, and there are no options.
    super::check(unsafe { libc::mount(kind.as_ptr(), path.as_ptr(), kind.as_ptr(), 0, std::ptr::null()) })?;
    Ok(())
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
