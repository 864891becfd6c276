//! What the supervisor writes to a worker's standard input, a line of JSON each.

use super::config::Config;
use super::reload::Reloads;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};

/// What a worker does with packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Hands them to the scheme.
    Scheme,
    /// Writes them back unseen: the yardstick of the benchmark.
    Bare,
}

/// The first of the orders.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Orders {
    /// The configuration.
    pub config: Config,
    /// What to do with packets.
    pub mode: Mode,
    /// Workers before this one.
    pub restarts: u64,
    /// What became of reloads until now.
    pub reloads: Reloads,
}

/// An order.
#[derive(Debug, Serialize, Deserialize)]
pub enum Order {
    /// Begin.
    Start(Box<Orders>),
    /// Take the place of the worker that runs, which is at the other end of this descriptor.
    Inherit(Box<Orders>, i32),
    /// Lend the heir what you have, at the other end of where orders come in.
    Lend,
    /// Stop, and leave it to the heir.
    Yield,
    /// Another daemon looks after you from now on, whose first worker you are.
    Adopted,
    /// Work with this configuration from now on, if you can.
    Reload(Box<Config>),
    /// What became of a reload, for the status.
    Told(Reloads),
}

impl Order {
    /// As a line.
    pub fn line(&self) -> Vec<u8> {
        let mut line = serde_json::to_vec(self).expect("orders have string keys only");
        line.push(b'\n');
        line
    }
}

/// The worker's end.
pub struct Inbox {
    input: File,
    unread: VecDeque<u8>,
    is_open: bool,
}

impl Inbox {
    /// Of this process.
    ///
    /// # Errors
    /// There is no standard input.
    pub fn open() -> io::Result<Inbox> {
        Ok(Inbox { input: io::stdin().as_fd().try_clone_to_owned()?.into(), unread: VecDeque::new(), is_open: true })
    }

    /// Where an heir listens.
    pub fn socket(&self) -> BorrowedFd<'_> {
        self.input.as_fd()
    }

    /// What to wait for; nothing once the supervisor has closed its end.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.is_open.then(|| self.input.as_fd())
    }

    /// The next order: waits for it as long as reading does. `None` if there is none, or none any more.
    ///
    /// # Errors
    /// It is not understood.
    pub fn take(&mut self) -> Result<Option<Order>, serde_json::Error> {
        let mut buffer = [0; 4096];
        loop {
            if let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.unread.drain(..=end).collect();
                return serde_json::from_slice(&line).map(Some);
            }
            match self.input.read(&mut buffer) {
                Ok(length) if length > 0 => self.unread.extend(&buffer[..length]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                _ => {
                    self.is_open = false;
                    return Ok(None);
                }
            }
        }
    }
}
