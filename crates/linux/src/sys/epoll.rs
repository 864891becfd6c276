//! Waiting for thousands of file descriptors (`epoll`), with nanosecond deadlines.

use super::poll::PollSet;
use airtcp_core::Duration;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use std::io;
use std::os::fd::BorrowedFd;

/// Events taken at a time.
const EVENTS: usize = 256;

/// A set of descriptors.
pub struct EventSet {
    epoll: Epoll,
    set: PollSet,
}

/// A descriptor that is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    /// What it was added as.
    pub token: u64,
    /// It has something to read, or has ended.
    pub to_read: bool,
    /// It has room, or has ended.
    pub to_write: bool,
    /// It broke.
    pub is_broken: bool,
}

impl EventSet {
    /// An empty set.
    ///
    /// # Errors
    /// The process has no descriptors left.
    pub fn new() -> io::Result<EventSet> {
        Ok(EventSet { epoll: Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?, set: PollSet::new() })
    }

    /// Adds a descriptor that is looked at as long as it is readable. It leaves the set when it is closed.
    ///
    /// # Errors
    /// The kernel has no memory.
    pub fn add_readable(&self, fd: BorrowedFd<'_>, token: u64) -> io::Result<()> {
        Ok(self.epoll.add(fd, EpollEvent::new(EpollFlags::EPOLLIN, token))?)
    }

    /// Adds a descriptor of which each change is told once.
    ///
    /// # Errors
    /// The kernel has no memory.
    pub fn add_changes(&self, fd: BorrowedFd<'_>, token: u64) -> io::Result<()> {
        let flags = EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT | EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLET;
        Ok(self.epoll.add(fd, EpollEvent::new(flags, token))?)
    }

    /// Takes a descriptor out that stays open.
    ///
    /// # Errors
    /// It is not in the set.
    pub fn remove(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        Ok(self.epoll.delete(fd)?)
    }

    /// Sleeps until something is ready or `timeout` is over; `None` waits for ever.
    ///
    /// # Errors
    /// What `epoll_wait` says; an interrupting signal is not an error.
    pub fn wait(&mut self, timeout: Option<Duration>) -> io::Result<Vec<Ready>> {
        // The kernel's own timeout has milliseconds.
        self.set.clear();
        self.set.add_readable(std::os::fd::AsFd::as_fd(&self.epoll.0));
        if self.set.wait(timeout)? == 0 {
            return Ok(Vec::new());
        }
        let mut events = [EpollEvent::empty(); EVENTS];
        let count = match self.epoll.wait(&mut events, EpollTimeout::ZERO) {
            Ok(count) => count,
            Err(nix::errno::Errno::EINTR) => 0,
            Err(error) => return Err(error.into()),
        };
        let ready = |event: &EpollEvent| {
            let has = |flags: EpollFlags| event.events().intersects(flags);
            let is_over = EpollFlags::EPOLLERR | EpollFlags::EPOLLHUP;
            Ready {
                token: event.data(),
                to_read: has(EpollFlags::EPOLLIN | EpollFlags::EPOLLRDHUP | is_over),
                to_write: has(EpollFlags::EPOLLOUT | is_over),
                is_broken: has(EpollFlags::EPOLLERR),
            }
        };
        Ok(events[..count].iter().map(ready).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_change_is_told_once_and_a_readable_descriptor_as_long_as_it_is() {
        let mut set = EventSet::new().unwrap();
        let [(a, mut a_end), (b, mut b_end)] = [UnixStream::pair().unwrap(), UnixStream::pair().unwrap()];
        set.add_readable(a.as_fd(), 1).unwrap();
        set.add_changes(b.as_fd(), 2).unwrap();
        let short = Some(Duration::from_millis(20));
        let writable: Vec<u64> = set.wait(short).unwrap().iter().map(|ready| ready.token).collect();
        assert_eq!(writable, [2]);
        a_end.write_all(b"x").unwrap();
        b_end.write_all(b"x").unwrap();
        let first = set.wait(short).unwrap();
        assert!(first.len() == 2 && first.iter().all(|ready| ready.to_read && !ready.is_broken), "{first:?}");
        let again: Vec<u64> = set.wait(short).unwrap().iter().map(|ready| ready.token).collect();
        assert_eq!(again, [1]);
    }
}
