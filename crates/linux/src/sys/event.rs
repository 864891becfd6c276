//! A descriptor that one thread sets and another waits for (`eventfd`).

use nix::sys::eventfd::{EfdFlags, EventFd};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// Set or not set; readable while set.
#[derive(Debug)]
pub struct Event(EventFd);

impl Event {
    /// A new one, not set.
    ///
    /// # Errors
    /// EMFILE when the process has no descriptors left.
    pub fn new() -> io::Result<Self> {
        Ok(Event(EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC)?))
    }

    /// Sets it; setting it twice is setting it once.
    pub fn set(&self) {
        // The only possible failure is "set 2^64 - 1 times".
        let _ = self.0.write(1);
    }

    /// Resets it; true if it was set.
    pub fn take(&self) -> bool {
        self.0.read().is_ok()
    }
}

impl AsFd for Event {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
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
