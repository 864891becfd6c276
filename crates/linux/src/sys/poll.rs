//! Waiting for file descriptors with nanosecond deadlines (`ppoll`).

use airtcp_core::Duration;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// File descriptors to wait for, and what became ready.
#[derive(Default)]
pub struct PollSet {
    entries: Vec<libc::pollfd>,
}

/// Which entry of a [`PollSet`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot(usize);

impl PollSet {
    /// An empty set.
    pub fn new() -> Self {
        PollSet::default()
    }

    /// Forgets all entries (keeps the memory).
    pub fn clear(&mut self) {
        self.entries.clear();
    }

    /// Waits for `fd` to become readable.
    pub fn add_readable(&mut self, fd: BorrowedFd<'_>) -> Slot {
        self.entries.push(libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 });
        Slot(self.entries.len() - 1)
    }

    /// Waits for room in `fd`.
    pub fn add_writable(&mut self, fd: BorrowedFd<'_>) -> Slot {
        self.entries.push(libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLOUT, revents: 0 });
        Slot(self.entries.len() - 1)
    }

    /// Sleeps until something is ready or `timeout` is over; `None` waits for ever.
    ///
    /// # Errors
    /// What `ppoll` says; an interrupting signal is not an error, nothing is ready then.
    pub fn wait(&mut self, timeout: Option<Duration>) -> io::Result<usize> {
        let spec = timeout.map(|timeout| libc::timespec {
            tv_sec: (timeout.as_nanos() / 1_000_000_000) as libc::time_t,
            tv_nsec: (timeout.as_nanos() % 1_000_000_000) as libc::c_long,
        });
        let spec_pointer = spec.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: the entries are valid for the call, their number is given, the timespec is
        // null or lives until the end of this function, and no signal mask is passed.
        let result = unsafe {
            libc::ppoll(self.entries.as_mut_ptr(), self.entries.len() as libc::nfds_t, spec_pointer, std::ptr::null())
        };
        match super::check(result) {
            Ok(ready) => Ok(ready as usize),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                self.entries.iter_mut().for_each(|entry| entry.revents = 0);
                Ok(0)
            }
            Err(error) => Err(error),
        }
    }

    /// True if the entry has what was waited for, or ended.
    pub fn is_ready(&self, slot: Slot) -> bool {
        self.entries[slot.0].revents != 0
    }

    /// True if the other side hung up or the descriptor broke.
    pub fn is_broken(&self, slot: Slot) -> bool {
        self.entries[slot.0].revents & (libc::POLLERR | libc::POLLHUP | libc::POLLNVAL) != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    #[test]
    fn only_the_descriptor_with_data_is_ready() {
        let (quiet, _quiet_end) = UnixStream::pair().unwrap();
        let (busy, mut busy_end) = UnixStream::pair().unwrap();
        busy_end.write_all(b"x").unwrap();
        let mut set = PollSet::new();
        let quiet_slot = set.add_readable(quiet.as_fd());
        let busy_slot = set.add_readable(busy.as_fd());
        assert_eq!(set.wait(Some(Duration::from_millis(50))).unwrap(), 1);
        assert!(set.is_ready(busy_slot) && !set.is_ready(quiet_slot));
    }

    #[test]
    fn waiting_ends_at_the_timeout() {
        let (quiet, _end) = UnixStream::pair().unwrap();
        let mut set = PollSet::new();
        set.add_readable(quiet.as_fd());
        let before = crate::sys::clock::now();
        assert_eq!(set.wait(Some(Duration::from_millis(5))).unwrap(), 0);
        assert!(crate::sys::clock::now().saturating_since(before) >= Duration::from_millis(5));
    }
}
