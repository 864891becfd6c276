//! What the kernel itself complains of while a test runs.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;

/// Words of the kernel's own checks, and of what loads programs into it.
const COMPLAINTS: [&str; 8] =
    ["WARNING:", "BUG:", "Oops", "general protection", "refcount_t:", "Call Trace:", "bpf", "newzag"];

/// The kernel's log (`/dev/kmsg`) from some moment on.
pub struct KernelLog(File);

impl KernelLog {
    /// # Errors
    /// Not root, or a container without the device.
    pub fn from_now() -> io::Result<KernelLog> {
        let mut file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open("/dev/kmsg")?;
        file.seek(SeekFrom::End(0))?;
        Ok(KernelLog(file))
    }

    /// Warnings and worse about the kernel's own state since the last call.
    pub fn complaints(&mut self) -> Vec<String> {
        let mut found = Vec::new();
        // A read is one record.
        let mut record = vec![0; 8192];
        loop {
            match self.0.read(&mut record) {
                Ok(0) => return found,
                Ok(length) => found.extend(complaint(&String::from_utf8_lossy(&record[..length]))),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return found,
                // Overwritten before it was read: the next read goes on behind it.
                Err(error) if error.raw_os_error() == Some(libc::EPIPE) => {}
                Err(error) => panic!("/dev/kmsg: {error}"),
            }
        }
    }
}

/// The text of a record, `priority,number,time,flags;text`, if it is a warning (4) or worse with a word of ours.
fn complaint(record: &str) -> Option<String> {
    let (prefix, text) = record.split_once(';')?;
    let priority: u32 = prefix.split(',').next()?.parse().ok()?;
    let is_one = priority & 7 <= 4 && COMPLAINTS.iter().any(|word| text.contains(word));
    is_one.then(|| text.trim_end().to_owned())
}

#[test]
fn a_warning_of_the_kernels_own_checks_is_a_complaint_and_news_are_not() {
    let warning = "4,345,3476247564,-;WARNING: CPU: 1 PID: 7 at kernel/bpf/core.c:1\n";
    assert_eq!(complaint(warning).as_deref(), Some("WARNING: CPU: 1 PID: 7 at kernel/bpf/core.c:1"));
    assert_eq!(complaint("6,346,3476247564,-;bpf: loaded\n"), None);
    assert_eq!(complaint("4,347,3476247564,-;sched: RT throttling activated\n"), None);
}
