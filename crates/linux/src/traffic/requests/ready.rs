//! Which of many sockets are ready.

use crate::sys::poll::PollSet;
use airtcp_core::Duration;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use std::io;
use std::os::fd::AsFd;

/// Looked at in one turn.
const AT_ONCE: usize = 256;

/// The sockets of one end, each by its number.
pub(super) struct Ready {
    epoll: Epoll,
    /// epoll's own timeout is in milliseconds, too long for a request that is due.
    wait: PollSet,
    events: Vec<EpollEvent>,
}

impl Ready {
    pub fn new() -> io::Result<Ready> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        Ok(Ready { epoll, wait: PollSet::new(), events: vec![EpollEvent::empty(); AT_ONCE] })
    }

    /// From now on `socket` counts, by `number`: for reading or for writing.
    pub fn add(&self, socket: impl AsFd, number: u64, for_writing: bool) -> io::Result<()> {
        Ok(self.epoll.add(socket, EpollEvent::new(flags(for_writing), number))?)
    }

    /// It is to be ready for something else.
    pub fn change(&self, socket: impl AsFd, number: u64, for_writing: bool) -> io::Result<()> {
        Ok(self.epoll.modify(socket, &mut EpollEvent::new(flags(for_writing), number))?)
    }

    /// The numbers of those that are ready, after at most `timeout`.
    pub fn wait(&mut self, timeout: Duration) -> io::Result<Vec<u64>> {
        self.wait.clear();
        self.wait.add_readable(self.epoll.0.as_fd());
        if self.wait.wait(Some(timeout))? == 0 {
            return Ok(Vec::new());
        }
        let ready = self.epoll.wait(&mut self.events, EpollTimeout::ZERO)?;
        Ok(self.events[..ready].iter().map(EpollEvent::data).collect())
    }
}

fn flags(for_writing: bool) -> EpollFlags {
    if for_writing { EpollFlags::EPOLLOUT } else { EpollFlags::EPOLLIN }
}
