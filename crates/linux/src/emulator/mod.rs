//! The live link emulator: `airtcp_link` on the wall clock, between TUN devices.
//!
//! There is no netem where this runs, and the simulator's own link is the better choice anyway:
//! the same code decides rate, delay, queueing and loss in both worlds. One thread carries all
//! links of a testbed in both directions: it takes a packet from one device, gives it to the
//! link, and writes it to the other device when the link says it has arrived.
//!
//! The thread runs under SCHED_FIFO on a core of its own choice and sleeps in `ppoll` until
//! the next packet or the next release. Measured: releases are then late by 40 µs at the 99th
//! percentile, against 3 ms as a normal task; spinning instead would meet the kernel's limit on
//! real-time tasks and stop for 50 ms.
//!
//! | file | job |
//! |---|---|
//! | `worker` | the thread: wait, take, release |
//! | `direction` | one direction of one link, and its counters |
//! | `passage` | how long packets are on their way between hosts |
//! | `report` | what is told about a run |
//! | `self_test` | known traffic before a run: does the link do what was asked? |

mod direction;
mod passage;
mod report;
mod self_test;
mod worker;

pub use passage::{PassageReport, Percentiles};
pub use report::{DirectionReport, EmulatorReport, ReleaseError};
pub use self_test::{LinkTest, SelfTest, self_test};

use crate::sys::event::Event;
use crate::sys::tun::Tun;
use airtcp_core::{Duration, Instant};
use airtcp_link::LinkSettings;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use worker::{Command, Worker};

/// How the emulator's thread runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmulatorOptions {
    /// SCHED_FIFO priority, 1 to 99; gateways run below it.
    pub priority: u8,
    /// Core to stay on; `None` takes the last one this process may use.
    pub core: Option<usize>,
    /// Seed of the links' random streams until the first [`Emulator::restart`].
    pub seed: u64,
}

impl Default for EmulatorOptions {
    fn default() -> Self {
        EmulatorOptions { priority: 50, core: None, seed: 1 }
    }
}

/// A link's two devices and what packets between them meet.
#[derive(Debug)]
pub struct LinkDevices {
    /// The link's name.
    pub name: String,
    /// The devices at its first and second end.
    pub ends: [Tun; 2],
    /// Addresses of the nodes there, for passages between them.
    pub addresses: [Vec<IpAddr>; 2],
    /// From the first to the second end, and back.
    pub settings: [LinkSettings; 2],
}

/// Why the emulator does not run.
#[derive(Debug, thiserror::Error)]
pub enum EmulatorError {
    /// A kernel call failed.
    #[error("link emulator: cannot {action}: {source}")]
    Io {
        /// What was attempted.
        action: &'static str,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The thread has ended.
    #[error("the link emulator has stopped; its log says why")]
    Stopped,
    /// The number of settings is not the number of links.
    #[error("{given} pairs of link settings were given for {links} links")]
    Settings {
        /// Links of the emulator.
        links: usize,
        /// Pairs given.
        given: usize,
    },
}

/// A running emulator. Dropping it stops the thread and closes the devices.
#[derive(Debug)]
pub struct Emulator {
    commands: SyncSender<Command>,
    wake: Arc<Event>,
    links: usize,
    thread: Option<JoinHandle<()>>,
}

impl Emulator {
    /// Starts the thread; links run from now on.
    pub fn start(links: Vec<LinkDevices>, options: EmulatorOptions) -> Result<Emulator, EmulatorError> {
        let io = |action| move |source| EmulatorError::Io { action, source };
        let wake = Arc::new(Event::new().map_err(io("make an event descriptor"))?);
        let (commands, inbox) = sync_channel(16);
        let count = links.len();
        let worker_wake = Arc::clone(&wake);
        let thread = std::thread::Builder::new()
            .name("airtcp-emulator".into())
            .spawn(move || Worker::new(links, options, inbox, worker_wake).run())
            .map_err(io("start a thread"))?;
        Ok(Emulator { commands, wake, links: count, thread: Some(thread) })
    }

    /// Begins a run: empty links with fresh random streams, counters at zero, and time (for
    /// outages) counted from the instant returned, on CLOCK_MONOTONIC. `settings` replaces
    /// those of every link, in their order. Passages are measured after `warmup`.
    pub fn restart(
        &self,
        seed: u64,
        settings: Option<Vec<[LinkSettings; 2]>>,
        warmup: Duration,
    ) -> Result<Instant, EmulatorError> {
        if let Some(settings) = &settings
            && settings.len() != self.links
        {
            return Err(EmulatorError::Settings { links: self.links, given: settings.len() });
        }
        self.ask(|reply| Command::Restart { seed, settings, warmup, reply })
    }

    /// What happened since the last restart.
    pub fn report(&self) -> Result<EmulatorReport, EmulatorError> {
        self.ask(Command::Report)
    }

    fn ask<T>(&self, command: impl FnOnce(SyncSender<T>) -> Command) -> Result<T, EmulatorError> {
        let (reply, answer): (_, Receiver<T>) = sync_channel(1);
        self.commands.send(command(reply)).map_err(|_| EmulatorError::Stopped)?;
        self.wake.set();
        answer.recv().map_err(|_| EmulatorError::Stopped)
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            // If the thread is gone already there is nobody to tell.
            let _ = self.commands.send(Command::Stop);
            self.wake.set();
            let _ = thread.join();
        }
    }
}
