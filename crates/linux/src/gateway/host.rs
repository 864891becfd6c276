//! Who runs a supervisor: reads the configuration, starts workers and keeps the log.

use super::config::Config;
use crate::notice::{Level, Notice, What};
use airtcp_core::Duration;
use std::process::Command;

/// Events of a supervisor, for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// A worker diverts traffic.
    Running {
        /// Its process.
        pid: u32,
        /// How it takes packets, in words.
        how: String,
    },
    /// Something that an operator should know.
    Note(Notice),
    /// A worker is gone; the kernel forwards plainly until the next one runs.
    Restarting {
        /// Why it is gone.
        why: String,
        /// Pause before the next one.
        after: Duration,
    },
    /// The link is not there; the gateway starts when it is.
    Waiting {
        /// Its name.
        link: String,
    },
    /// A reload was applied; how.
    Reloaded {
        /// In words.
        text: String,
    },
    /// A reload was refused: all stays as it was.
    Kept {
        /// Why.
        why: String,
    },
    /// The end was requested.
    Ending,
}

impl Report {
    /// As a line of the log.
    pub fn notice(self) -> Notice {
        match self {
            Report::Running { pid, how } => {
                Notice::info(What::Running, format!("running, worker {pid}; packets are taken {how}"))
            }
            Report::Note(notice) => notice,
            Report::Restarting { why, after } => {
                let text = format!("{why}; the kernel forwards, next worker in {after}");
                Notice { level: Level::Error, what: What::Restarting, text }
            }
            Report::Waiting { link } => Notice::warning(What::Waiting, format!("waiting for the interface {link}")),
            Report::Reloaded { text } => Notice::info(What::Reloaded, format!("reload: {text}")),
            Report::Kept { why } => {
                let text = format!("reload refused, all stays as it was: {why}");
                Notice { level: Level::Error, what: What::ReloadRefused, text }
            }
            Report::Ending => Notice::info(What::Ending, "ending"),
        }
    }
}

/// What another program is started by.
pub struct Upgrade {
    /// In the place of this process.
    pub daemon: Command,
    /// Its worker.
    pub worker: Command,
}

/// Who runs a supervisor.
pub trait Host {
    /// What starts a worker of the program that runs, whatever is installed by now: it runs [`super::worker::main`].
    fn worker(&mut self) -> Command;

    /// Reads the configuration again.
    ///
    /// # Errors
    /// What is wrong with it, where, and what to do.
    fn reload(&mut self) -> Result<Config, String>;

    /// What this process is to go on as: the program that is installed now, after it said that it can ([`super::upgrade`]).
    ///
    /// # Errors
    /// Why it cannot.
    fn upgrade(&mut self) -> Result<Upgrade, String>;

    /// Hears what happens.
    fn report(&mut self, report: Report);

    /// The supervisor goes on; called twice a second at least.
    fn beat(&mut self) {}
}
