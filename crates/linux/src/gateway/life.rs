//! One worker process, as its supervisor sees it: what it says, and what it is told.

use super::config::Config;
use super::host::{Host, Report};
use super::orders::{Order, Orders};
use crate::notice::Notice;
use crate::sys::clock;
use crate::sys::poll::PollSet;
use crate::sys::process::{
    Requested, Signals, die_with_parent, in_own_group, reap_orphans, send_signal, set_nonblocking,
};
use airtcp_core::{Duration, Instant};
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A worker that is silent for longer is killed.
pub const SILENCE: Duration = Duration::from_secs(1);
/// A starting worker may take longer: it runs `ip` and `nft` a dozen times.
const START_PATIENCE: Duration = Duration::from_secs(10);
/// An ending worker may take this long before it is killed.
const END_PATIENCE: Duration = Duration::from_secs(3);
/// The supervisor says so often that it goes on.
pub const BEAT: Duration = Duration::from_millis(500);
/// How long a worker may take to answer a reload.
const RELOAD_PATIENCE: Duration = Duration::from_secs(5);

/// One worker process.
pub struct Life {
    child: Child,
    orders: ChildStdin,
    lines: ChildStdout,
    partial: Vec<u8>,
    heard: Instant,
    /// It takes packets.
    pub ready: bool,
    /// That was told.
    announced: bool,
    /// How it takes packets, until it was told.
    how: String,
    failure: Option<String>,
    notes: Vec<Notice>,
    /// What it was asked to work with, and when.
    pub asked: Option<(Config, Instant)>,
    answers: VecDeque<Answer>,
}

/// Why [`Life::watch`] returned.
pub enum Wake {
    /// It takes packets from now on, a reload or an upgrade is wanted, or more of these.
    Turn {
        /// It takes packets from now on.
        is_ready: bool,
    },
    /// It answered a reload.
    Answered(Answer),
    /// The end was requested.
    Requested,
    /// It is silent or gone.
    Gone(String),
}

/// What a worker says to another configuration.
pub enum Answer {
    /// It is applied.
    Reloaded(String),
    /// It cannot be applied.
    Kept(String),
    /// A new worker can apply it.
    Replace(String),
}

impl Life {
    /// Starts one.
    ///
    /// # Errors
    /// The system cannot.
    pub fn start(orders: Orders, mut command: Command) -> io::Result<Life> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = die_with_parent(in_own_group(&mut command)).spawn()?;
        let mut input = child.stdin.take().expect("piped");
        // A worker that ends without reading them says why by itself.
        let _ = input.write_all(&Order::Start(Box::new(orders)).line());
        set_nonblocking(input.as_fd())?;
        let lines = child.stdout.take().expect("piped");
        set_nonblocking(lines.as_fd())?;
        Ok(Life {
            child,
            orders: input,
            lines,
            partial: Vec::new(),
            heard: clock::now(),
            ready: false,
            announced: false,
            how: String::new(),
            failure: None,
            notes: Vec::new(),
            asked: None,
            answers: VecDeque::new(),
        })
    }

    /// Asks it to work with another configuration.
    pub fn ask(&mut self, config: Config) {
        let is_told = self.tell(&Order::Reload(Box::new(config.clone())));
        self.asked = Some((config, clock::now()));
        if !is_told {
            self.answers.push_back(Answer::Replace("it does not take orders".into()));
        }
    }

    /// Gives an order; false if there was no room for it.
    pub fn tell(&mut self, order: &Order) -> bool {
        self.orders.write_all(&order.line()).is_ok()
    }

    /// Listens until there is something to decide. Adds to `wanted` what was asked for, whatever else it tells.
    pub fn watch(&mut self, signals: &Signals, wanted: &mut Requested, host: &mut dyn Host) -> Wake {
        loop {
            host.beat();
            if let Some(answer) = self.answers.pop_front() {
                return Wake::Answered(answer);
            }
            let patience = if self.ready { SILENCE } else { START_PATIENCE };
            let left = (self.heard + patience).saturating_since(clock::now());
            let mut set = PollSet::new();
            set.add_readable(signals.as_fd());
            set.add_readable(self.lines.as_fd());
            if let Err(error) = set.wait(Some(left.min(BEAT))) {
                return Wake::Gone(format!("the supervisor cannot wait: {error}"));
            }
            let requested = signals.take();
            *wanted = wanted.or(requested);
            if requested.end {
                return Wake::Requested;
            }
            let ended = self.hear();
            let is_news = self.ready && !self.announced;
            if is_news {
                self.announced = true;
                host.report(Report::Running { pid: self.child.id(), how: std::mem::take(&mut self.how) });
            }
            self.notes.drain(..).for_each(|notice| host.report(Report::Note(notice)));
            if ended {
                let why = self.failure.take();
                return Wake::Gone(why.unwrap_or_else(|| "the worker ended unexpectedly".into()));
            }
            // Judged after reading: a supervisor that was stopped itself finds the beats waiting.
            if clock::now() >= self.heard + patience {
                return Wake::Gone(format!("the worker was silent for {} ms", patience.as_millis()));
            }
            let is_late = |asked: Instant| clock::now() >= asked + RELOAD_PATIENCE;
            if self.answers.is_empty() && self.asked.as_ref().is_some_and(|(_, asked)| is_late(*asked)) {
                self.answers.push_back(Answer::Replace("it does not answer".into()));
            }
            if requested.reload || requested.upgrade || is_news {
                return Wake::Turn { is_ready: is_news };
            }
        }
    }

    /// Reads what the worker wrote; true if it closed its side.
    fn hear(&mut self) -> bool {
        let mut buffer = [0; 4096];
        loop {
            match self.lines.read(&mut buffer) {
                Ok(0) => return true,
                Ok(length) => {
                    self.heard = clock::now();
                    self.partial.extend_from_slice(&buffer[..length]);
                    while let Some(end) = self.partial.iter().position(|byte| *byte == b'\n') {
                        let line: Vec<u8> = self.partial.drain(..=end).collect();
                        self.understand(&String::from_utf8_lossy(&line[..end]));
                    }
                }
                Err(error) => return error.kind() != io::ErrorKind::WouldBlock,
            }
        }
    }

    fn understand(&mut self, line: &str) {
        if let Some(how) = line.strip_prefix("ready: ") {
            self.ready = true;
            self.how = how.to_owned();
        } else if let Some(why) = line.strip_prefix("failed: ") {
            self.failure = Some(why.to_owned());
        } else if let Some(text) = line.strip_prefix("note: ") {
            self.notes.extend(Notice::parse(text));
        } else if let Some(text) = line.strip_prefix("reloaded: ") {
            self.answers.push_back(Answer::Reloaded(text.to_owned()));
        } else if let Some(why) = line.strip_prefix("kept: ") {
            self.answers.push_back(Answer::Kept(why.to_owned()));
        } else if let Some(why) = line.strip_prefix("replace: ") {
            self.answers.push_back(Answer::Replace(why.to_owned()));
        }
    }

    /// Asks the worker to end in good order, then makes it.
    pub fn end(&mut self) {
        let _ = send_signal(self.child.id(), libc::SIGTERM);
        // One that is stopped cannot hear until it is continued.
        let _ = send_signal(self.child.id(), libc::SIGCONT);
        let deadline = clock::now() + END_PATIENCE;
        while clock::now() < deadline {
            if !matches!(self.child.try_wait(), Ok(None)) {
                reap_orphans();
                return;
            }
            let _ = self.hear();
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        self.kill();
    }

    /// Kills the worker if it still runs, waits for it, and removes what it left.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        reap_orphans();
    }
}
