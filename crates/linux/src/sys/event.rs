//! A descriptor that one thread sets and another waits for (`eventfd`).

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Set or not set; readable while set.
#[derive(Debug)]
pub struct Event {
    fd: OwnedFd,
}

impl Event {
    /// A new one, not set.
    ///
    /// # Errors
    /// EMFILE when the process has no descriptors left.
    pub fn new() -> io::Result<Self> {
        // SAFETY: no pointers.
        let fd = super::check(unsafe { libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC) })?;
        // SAFETY: the descriptor was just made and belongs to nobody else.
        Ok(Event { fd: unsafe { OwnedFd::from_raw_fd(fd) } })
    }

    /// Sets it; setting it twice is setting it once.
    pub fn set(&self) {
        let one = 1u64;
        // SAFETY: eight readable bytes. The only possible failure is "set 2^64 - 1 times".
        unsafe { libc::write(self.fd.as_raw_fd(), (&raw const one).cast(), 8) };
    }

    /// Resets it; true if it was set.
    pub fn take(&self) -> bool {
        let mut count = 0u64;
        // SAFETY: eight writable bytes.
        unsafe { libc::read(self.fd.as_raw_fd(), (&raw mut count).cast(), 8) == 8 }
    }
}

impl AsFd for Event {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_taken_once_however_often_it_was_set() {
        let event = Event::new().unwrap();
        assert!(!event.take());
        event.set();
        event.set();
        assert!(event.take());
        assert!(!event.take());
    }
}
